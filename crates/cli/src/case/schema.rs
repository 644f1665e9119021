//! Every key that a case file may hold, in one table: the reader checks against it, and so does
//! docs/case-file.md.

/// What a key's value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Any text on one line.
    Text,
    /// A path, relative to the case file.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words or a list of them.
    Choices(&'static [&'static str]),
    /// A name or a list of names.
    Names,
    /// A table of names, each with a name or a list of names.
    Groups,
    /// A list of numbers.
    Numbers,
    /// A number in low ..= high.
    Number { low: f64, high: f64 },
    /// A number in low ..= high, or a word.
    NumberOr { low: f64, high: f64, word: &'static str },
    /// true or false.
    Bool,
    /// Three numbers, each in -high ..= high.
    Vector { high: f64 },
    /// A whole number in low ..= high.
    Integer { low: i64, high: i64 },
}

/// What happens when a key is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It is an error.
    Error,
    /// The default, in the words of the documentation.
    Default(&'static str),
}

/// One key of one table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table's name, "" for the top of the file.
    pub table: &'static str,
    pub name: &'static str,
    pub(crate) kind: ValueKind,
    pub absent: Absent,
}

/// The only version of the format so far.
pub const FORMAT: i64 = 1;

/// The tables, in the order of the documentation.
pub const TABLES: [&str; 20] = [
    "mesh",
    "medium",
    "stack",
    "layer",
    "dielectric",
    "molecule",
    "surface",
    "conductor",
    "plane",
    "charge",
    "external",
    "probe",
    "diffusion",
    "solver",
    "fmm",
    "output",
    "reduce",
    "sensitivity",
    "film",
    "sweep",
];

/// Those of them that are arrays of tables.
const ARRAYS: [&str; 12] = [
    "layer",
    "dielectric",
    "molecule",
    "surface",
    "conductor",
    "plane",
    "charge",
    "probe",
    "reduce",
    "sensitivity",
    "film",
    "sweep",
];

/// What of a layer a sensitivity is of.
pub(crate) const OF_LAYERS: [&str; 2] = ["permittivity", "thickness"];

pub const UNITS: [&str; 6] = ["m", "cm", "mm", "um", "nm", "angstrom"];
pub(crate) const CHARGE_UNITS: [&str; 2] = ["C", "e"];
/// Axes that a plane can be perpendicular to.
pub(crate) const AXES: [&str; 3] = ["x", "y", "z"];
/// Kinds of planes: images have the opposite charge, or the same.
pub(crate) const PLANES: [&str; 2] = ["ground", "symmetric"];
pub(crate) const METHODS: [&str; 3] = ["auto", "fmm", "dense"];
/// Values of `density`.
pub(crate) const DENSITIES: [&str; 2] = ["constant", "linear"];
/// Values of `formats`.
pub(crate) const FORMATS: [&str; 4] = ["matrix_market", "spice", "palace", "q3d"];
/// Values of `viewers`.
pub(crate) const VIEWERS: [&str; 3] = ["chimerax", "pymol", "vmd"];
pub(crate) const VTK_MODES: [&str; 3] = ["compressed", "plain", "none"];

/// Kinds of molecular surfaces.
pub(crate) const SURFACES: [&str; 4] = ["ses", "gaussian", "vdw", "sas"];
/// What becomes of their cavities.
pub(crate) const CAVITIES: [&str; 2] = ["keep", "drop"];

/// Tolerances that the FMM and the solver are built and tested for: lowest and highest.
pub(crate) const TOLERANCES: (f64, f64) = (1e-12, 0.1);
const TOLERANCE: ValueKind = ValueKind::Number { low: TOLERANCES.0, high: TOLERANCES.1 };

/// Accuracies that arithmetic supports: lowest and highest.
pub(crate) const ACCURACIES: (f64, f64) = (farad::FINEST, 0.1);
const ACCURACY: ValueKind = ValueKind::Number { low: ACCURACIES.0, high: ACCURACIES.1 };

/// Wide enough for scaled units, narrow enough that farads neither overflow nor vanish.
const PERMITTIVITY: ValueKind = ValueKind::Number { low: 1e-12, high: 1e12 };

/// What is beyond layers.
pub(crate) const GROUND: &str = "ground";
const HALF_SPACE: ValueKind = ValueKind::NumberOr { low: 1e-12, high: 1e12, word: GROUND };

/// Volts, coulombs, volts per metre, coordinates: small enough to be squared and summed.
const LARGEST: f64 = 1e30;
const QUANTITY: ValueKind = ValueKind::Number { low: -LARGEST, high: LARGEST };
const POSITIVE: ValueKind = ValueKind::Number { low: 1e-30, high: LARGEST };

/// Inverse screening lengths and ionic strengths.
const SCREENING: ValueKind = ValueKind::Number { low: 0.0, high: 1e15 };

/// Every key.
pub const KEYS: [Key; 106] = [
    key("", "format", ValueKind::Integer { low: FORMAT, high: FORMAT }, Absent::Error),
    key("", "title", ValueKind::Text, Absent::Default("the case file's name without `.toml`")),
    key("mesh", "file", ValueKind::Path, Absent::Error),
    key("mesh", "unit", ValueKind::Choice(&UNITS), Absent::Error),
    key("mesh", "ignore", ValueKind::Names, Absent::Default("[]")),
    key("mesh", "lenient", ValueKind::Bool, Absent::Default("false")),
    key("mesh", "stack", ValueKind::Path, Absent::Default("none")),
    key("mesh", "smooth", ValueKind::Number { low: 0.0, high: 180.0 }, Absent::Default("none")),
    key("medium", "relative_permittivity", PERMITTIVITY, Absent::Default("1.0")),
    key("medium", "kappa", SCREENING, Absent::Default("0.0")),
    key("medium", "ionic_strength", SCREENING, Absent::Default("0.0")),
    key("medium", "temperature", POSITIVE, Absent::Default("none")),
    key("stack", "axis", ValueKind::Choice(&AXES), Absent::Default("z")),
    key("stack", "at", QUANTITY, Absent::Default("0.0")),
    key("stack", "below", HALF_SPACE, Absent::Default("1.0")),
    key("stack", "above", HALF_SPACE, Absent::Default("1.0")),
    key("layer", "thickness", POSITIVE, Absent::Error),
    key("layer", "relative_permittivity", PERMITTIVITY, Absent::Error),
    key("dielectric", "name", ValueKind::Text, Absent::Error),
    key("dielectric", "relative_permittivity", PERMITTIVITY, Absent::Error),
    key("dielectric", "kappa", SCREENING, Absent::Default("0.0")),
    key("dielectric", "ionic_strength", SCREENING, Absent::Default("0.0")),
    key("dielectric", "group", ValueKind::Names, Absent::Error),
    key("dielectric", "charges", ValueKind::Path, Absent::Default("none")),
    key("molecule", "pqr", ValueKind::Path, Absent::Error),
    key("molecule", "name", ValueKind::Text, Absent::Default("the file's name without `.pqr`")),
    key("molecule", "relative_permittivity", PERMITTIVITY, Absent::Default("4.0")),
    key("molecule", "surface", ValueKind::Choice(&SURFACES), Absent::Default("ses")),
    key("molecule", "probe", ValueKind::Number { low: 0.0, high: 1e6 }, Absent::Default("1.4")),
    key("molecule", "density", POSITIVE, Absent::Default("4.0")),
    key(
        "molecule",
        "elements",
        ValueKind::Integer { low: 20, high: 1 << 30 },
        Absent::Default("-"),
    ),
    key("molecule", "order", ValueKind::Integer { low: 1, high: 2 }, Absent::Default("1")),
    key("molecule", "stern", ValueKind::Number { low: 0.0, high: 1e6 }, Absent::Default("none")),
    key("molecule", "cavities", ValueKind::Choice(&CAVITIES), Absent::Default("keep")),
    key("surface", "group", ValueKind::Names, Absent::Error),
    key("surface", "front", PERMITTIVITY, Absent::Error),
    key("surface", "back", PERMITTIVITY, Absent::Default("that of `front`")),
    key("conductor", "name", ValueKind::Text, Absent::Error),
    key("conductor", "group", ValueKind::Names, Absent::Error),
    key("conductor", "potential", QUANTITY, Absent::Default("none")),
    key("conductor", "charge", QUANTITY, Absent::Default("none")),
    key("plane", "axis", ValueKind::Choice(&AXES), Absent::Error),
    key("plane", "at", QUANTITY, Absent::Default("0.0")),
    key("plane", "kind", ValueKind::Choice(&PLANES), Absent::Error),
    key("charge", "position", ValueKind::Vector { high: LARGEST }, Absent::Error),
    key("charge", "charge", QUANTITY, Absent::Error),
    key("charge", "unit", ValueKind::Choice(&CHARGE_UNITS), Absent::Default("C")),
    key(
        "external",
        "field",
        ValueKind::Vector { high: LARGEST },
        Absent::Default("[0.0, 0.0, 0.0]"),
    ),
    key("probe", "name", ValueKind::Text, Absent::Error),
    key("probe", "file", ValueKind::Path, Absent::Default("-")),
    key("probe", "from", ValueKind::Vector { high: LARGEST }, Absent::Default("-")),
    key("probe", "to", ValueKind::Vector { high: LARGEST }, Absent::Default("-")),
    key("probe", "count", ValueKind::Integer { low: 2, high: 100_000_000 }, Absent::Default("-")),
    key("probe", "low", ValueKind::Vector { high: LARGEST }, Absent::Default("-")),
    key("probe", "high", ValueKind::Vector { high: LARGEST }, Absent::Default("-")),
    key("probe", "counts", ValueKind::Numbers, Absent::Default("-")),
    key("diffusion", "temperature", POSITIVE, Absent::Error),
    key("diffusion", "viscosity", POSITIVE, Absent::Error),
    key("solver", "tolerance", TOLERANCE, Absent::Default("1e-6")),
    key("solver", "accuracy", ACCURACY, Absent::Default("none")),
    key("solver", "accuracy_of", ValueKind::Text, Absent::Default("`\"all\"`")),
    key("solver", "max_time", POSITIVE, Absent::Default("none")),
    key("solver", "nets", ValueKind::Names, Absent::Default("all")),
    key("solver", "error_bars", ValueKind::Bool, Absent::Default("true")),
    key("solver", "method", ValueKind::Choice(&METHODS), Absent::Default("auto")),
    key(
        "solver",
        "density",
        ValueKind::Choice(&DENSITIES),
        Absent::Default("constant; linear for an accuracy below 5e-3"),
    ),
    key("solver", "restart", ValueKind::Integer { low: 2, high: 1000 }, Absent::Default("60")),
    key(
        "solver",
        "max_iterations",
        ValueKind::Integer { low: 1, high: 100_000 },
        Absent::Default("200"),
    ),
    key("fmm", "tolerance", TOLERANCE, Absent::Default("0.3 times the solver's")),
    key(
        "output",
        "directory",
        ValueKind::Path,
        Absent::Default("`<case>.out` next to the case file"),
    ),
    key("output", "vtk", ValueKind::Choice(&VTK_MODES), Absent::Default("compressed")),
    key(
        "output",
        "vtk_excitations",
        ValueKind::Integer { low: 0, high: 1_000_000_000 },
        Absent::Default("64"),
    ),
    key("output", "vtk_series", ValueKind::Bool, Absent::Default("false")),
    key("output", "forces", ValueKind::Bool, Absent::Default("false")),
    key("output", "polarisability", ValueKind::Bool, Absent::Default("false")),
    key("output", "formats", ValueKind::Choices(&FORMATS), Absent::Default("[]")),
    key("output", "viewers", ValueKind::Choices(&VIEWERS), Absent::Default("[]")),
    key("output", "dx", ValueKind::Number { low: 0.01, high: 100.0 }, Absent::Default("none")),
    key(
        "output",
        "spice_threshold",
        ValueKind::Number { low: 0.0, high: 1.0 },
        Absent::Default("1e-3"),
    ),
    key("reduce", "name", ValueKind::Text, Absent::Error),
    key("reduce", "group", ValueKind::Groups, Absent::Default("none")),
    key("reduce", "grounded", ValueKind::Names, Absent::Default("[]")),
    key("reduce", "floating", ValueKind::Names, Absent::Default("[]")),
    key("reduce", "between", ValueKind::Names, Absent::Default("none")),
    key("sensitivity", "name", ValueKind::Text, Absent::Error),
    key("sensitivity", "shift", ValueKind::Names, Absent::Default("none")),
    key("sensitivity", "permittivity", ValueKind::Text, Absent::Default("none")),
    key("sensitivity", "layer", ValueKind::Integer { low: 0, high: 1000 }, Absent::Default("none")),
    key("sensitivity", "of", ValueKind::Choice(&OF_LAYERS), Absent::Default("permittivity")),
    key("film", "name", ValueKind::Text, Absent::Error),
    key("film", "on", ValueKind::Names, Absent::Default("none")),
    key("film", "medium", ValueKind::Text, Absent::Default("none")),
    key("film", "layer", ValueKind::Integer { low: 0, high: 1001 }, Absent::Default("none")),
    key("film", "interface", ValueKind::Integer { low: 0, high: 1000 }, Absent::Default("none")),
    key("film", "thickness", POSITIVE, Absent::Error),
    key("film", "relative_permittivity", PERMITTIVITY, Absent::Error),
    key("film", "cutoff", POSITIVE, Absent::Default("none")),
    key("sweep", "name", ValueKind::Text, Absent::Error),
    key("sweep", "values", ValueKind::Numbers, Absent::Default("required unless")),
    key("sweep", "set", ValueKind::Text, Absent::Default("-")),
    key("sweep", "move", ValueKind::Names, Absent::Default("-")),
    key("sweep", "along", ValueKind::Numbers, Absent::Default("required with")),
    key("sweep", "turn", ValueKind::Names, Absent::Default("-")),
    key("sweep", "axis", ValueKind::Numbers, Absent::Default("required with")),
    key("sweep", "centre", ValueKind::Numbers, Absent::Default("[0, 0, 0]")),
    key("sweep", "files", ValueKind::Names, Absent::Default("-")),
];

const fn key(table: &'static str, name: &'static str, kind: ValueKind, absent: Absent) -> Key {
    Key { table, name, kind, absent }
}

/// Where a table's keys stand: "in [mesh]", "at the top of the file".
pub(crate) fn place(table: &str) -> String {
    let preposition = if table.is_empty() { "at" } else { "in" };
    format!("{preposition} {}", heading(table))
}

/// The keys of one table.
pub(crate) fn keys_of(table: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.table == table)
}

/// How a table is written: `[mesh]`, `[[conductor]]`, or words for the top of the file.
pub fn heading(table: &str) -> String {
    match table {
        "" => "the top of the file".to_owned(),
        array if ARRAYS.contains(&array) => format!("[[{array}]]"),
        other => format!("[{other}]"),
    }
}
