//! Choices of a case and of the command line, and overrides by the command line.

use std::path::PathBuf;

use farad::{LengthUnit, Target};

use super::values::Word;

/// How the equations are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Method {
    /// Whichever the cost model says is faster
    Auto,
    /// GMRES over the fast multipole method
    Fmm,
    /// A dense matrix, factorised
    Dense,
}

impl From<Method> for bem::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Auto => Self::Auto,
            Method::Fmm => Self::Fmm,
            Method::Dense => Self::Dense,
        }
    }
}

/// How charge may vary over a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Density {
    /// The same everywhere on it
    Constant,
    /// Linear: three times the unknowns, far fewer triangles for digits beyond the third
    Linear,
}

impl From<Density> for bem::Density {
    fn from(density: Density) -> Self {
        match density {
            Density::Constant => Self::Constant,
            Density::Linear => Self::Linear,
        }
    }
}

/// How `surface.vtu` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VtkMode {
    /// zlib: smaller by about half.
    Compressed,
    /// Without compression, for readers that lack zlib.
    Plain,
    /// Not at all.
    None,
}

impl Word for VtkMode {
    const WORDS: &'static [&'static str] = &["compressed", "plain", "none"];
    const ALL: &'static [Self] = &[Self::Compressed, Self::Plain, Self::None];
}

/// A form of matrices that other programs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Matrix Market's coordinates of a symmetric matrix
    #[value(name = "matrix_market")]
    MatrixMarket,
    /// A subcircuit of capacitors
    Spice,
    /// The tables of Palace's terminals
    Palace,
    /// The text of Ansys Q3D
    Q3d,
}

impl Word for Format {
    const WORDS: &'static [&'static str] = &["matrix_market", "spice", "palace", "q3d"];
    const ALL: &'static [Self] = &[Self::MatrixMarket, Self::Spice, Self::Palace, Self::Q3d];
}

/// A program that shows molecules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Viewer {
    /// UCSF ChimeraX
    #[value(name = "chimerax")]
    ChimeraX,
    /// PyMOL
    #[value(name = "pymol")]
    PyMol,
    /// VMD
    #[value(name = "vmd")]
    Vmd,
}

impl Word for Viewer {
    const WORDS: &'static [&'static str] = &["chimerax", "pymol", "vmd"];
    const ALL: &'static [Self] = &[Self::ChimeraX, Self::PyMol, Self::Vmd];
}

/// Settings of the command line that override those of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub(crate) tolerance: Option<f64>,
    pub(crate) accuracy: Option<f64>,
    pub(crate) accuracy_target: Option<Target>,
    pub(crate) max_seconds: Option<f64>,
    pub(crate) method: Option<Method>,
    pub(crate) density: Option<Density>,
    /// Instead of the file's, unless empty.
    pub(crate) formats: Vec<Format>,
    /// Instead of the file's, unless empty.
    pub(crate) viewers: Vec<Viewer>,
    /// Instead of the file's, unless empty.
    pub(crate) nets: Vec<String>,
    /// Whether faults of the geometry are notes, where the case does not say so.
    pub(crate) lenient: bool,
    /// The stack file of a GDSII layout.
    pub(crate) stack: Option<PathBuf>,
    /// The unit of a FastCap file.
    pub(crate) unit: Option<LengthUnit>,
    /// The PQR file of the case's only molecule, instead of the one that it names.
    pub(crate) pqr: Option<PathBuf>,
}

impl Word for bem::Method {
    const WORDS: &'static [&'static str] = &["auto", "fmm", "dense"];
    const ALL: &'static [Self] = &[Self::Auto, Self::Fmm, Self::Dense];
}

impl Word for bem::Density {
    const WORDS: &'static [&'static str] = &["constant", "linear"];
    const ALL: &'static [Self] = &[Self::Constant, Self::Linear];
}

/// Units of length, largest first.
pub const UNITS: [&str; 6] = ["m", "cm", "mm", "um", "nm", "angstrom"];

impl Word for LengthUnit {
    const WORDS: &'static [&'static str] = &UNITS;
    const ALL: &'static [Self] = &LengthUnit::ALL;
}

/// An axis by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AxisIndex(pub(super) usize);

impl Word for AxisIndex {
    const WORDS: &'static [&'static str] = &["x", "y", "z"];
    const ALL: &'static [Self] = &[Self(0), Self(1), Self(2)];
}

/// The name of a kind of density.
pub(crate) fn density_name(density: bem::Density) -> &'static str {
    density.word()
}

/// The name of the method; an answer never has `auto`.
pub(crate) fn method_name(method: bem::Method) -> &'static str {
    method.word()
}
