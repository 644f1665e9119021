//! From the text of a case file to a [`Case`].

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use farad::{Description, Fault};

use super::choices::{Overrides, VtkMode};
use super::definition::{Case, SourceText};
use super::diagnostics::{self, Defect, Defects, Sort};
use super::document::Section;
use super::known::Known;
use super::places::{self, Places};
use super::table::Table as _;
use super::tables::medium::{Ions, Solution, implausible};
use super::tables::named_files::existing;
use super::tables::{
    DiffusionTable, ExternalTable, FmmTable, MediumTable, MeshTable, MoleculeTable, OutputTable,
    SCHEMA, SolverTable, TopTable, charge, conductor, dielectric, diffusion, film, molecule, plane,
    probe, reduce, sensitivity, stack, surface, sweep,
};
use super::values::Names;
use super::{faults, map, misnamed};
use crate::paths;
use crate::report::units::LengthUnit;
use crate::terminal::exit::Failure;

/// The case that a text says; all its defects come in one failure.
pub fn parse(path: &Path, text: &str, overrides: &Overrides) -> Result<Case, Failure> {
    let (document, syntax) = DeTable::parse_recoverable(text);
    let defects = Defects::default();
    let source = SourceText { path: path.to_owned(), text: text.to_owned() };
    let top = Section::top(SCHEMA, &document, &defects);
    let case = from_document(&top, source, overrides);

    let mut found = defects.into_inner();
    if !syntax.is_empty() {
        found = without_echoes(text, found, &syntax);
    }
    match case {
        Some(case) if found.is_empty() => Ok(case),
        case => {
            let of_mesh = case.iter().flat_map(|case| misnamed::unknown_names(case, &found));
            let all = of_mesh.collect::<Vec<_>>().into_iter().chain(found).collect();
            Err(diagnostics::failure(path, text, all))
        }
    }
}

/// Syntax errors, and the other defects that they cannot have caused.
fn without_echoes(text: &str, found: Vec<Defect>, syntax: &[toml::de::Error]) -> Vec<Defect> {
    let line_of = |offset: usize| text.as_bytes()[..offset].iter().filter(|&&b| b == b'\n').count();
    let mut all: Vec<Defect> = syntax
        .iter()
        .map(|error| {
            let message = format!("not valid TOML: {}", error.message());
            Defect::new(Sort::Syntax, error.span().unwrap_or(0..0), message)
        })
        .collect();
    let lines: Vec<usize> = all.iter().map(|defect| line_of(defect.span.offset())).collect();
    let independent = |defect: &Defect| {
        defect.sort != Sort::Missing && !lines.contains(&line_of(defect.span.offset()))
    };
    all.extend(found.into_iter().filter(independent));
    all
}

/// Reads every table; `None` when something required is missing or wrong, which is then among the
/// defects.
fn from_document(top: &Section<'_>, source: SourceText, overrides: &Overrides) -> Option<Case> {
    let base = source.path.parent().unwrap_or(Path::new(""));
    let stem = source.path.file_stem().unwrap_or_default();
    let head = TopTable::read(top);
    let surfaces = Surfaces::read(top, base, overrides);
    let medium: MediumTable = top.table();
    let solver: SolverTable = top.table();
    let output: OutputTable = top.table();

    let mut places = Places { mesh: surfaces.place.clone(), ..Places::default() };
    let mut description = Description::default()
        .unit(surfaces.unit.unwrap_or(LengthUnit::Metre))
        .lenient(surfaces.lenient);
    let usual = if top.has_table::<MoleculeTable>() { molecule::WATER } else { 1.0 };
    description.relative_permittivity = medium.relative_permittivity.value.unwrap_or(usual);
    (description.conductors, places.conductors) =
        conductor::read(top, &surfaces.ignore).into_iter().unzip();
    Names { items: description.ignore, places: places.ignore } = surfaces.ignore.clone();

    let mut solution = Solution::new(&medium, surfaces.unit);
    let ions = Ions { kappa: &medium.kappa, strength: &medium.ionic_strength };
    description.kappa = solution.kappa(top, ions, description.relative_permittivity);
    let mut dielectrics = dielectric::read(top, base, &mut solution);
    let given = molecule::Given {
        base,
        before: &dielectrics,
        instead: overrides.pqr.as_deref(),
        surroundings: description.relative_permittivity,
    };
    let molecule::Found { molecules, dielectrics: made } = molecule::read(top, &given);
    dielectrics.extend(made);
    (description.dielectrics, places.dielectrics) = dielectrics.into_iter().unzip();
    (description.surfaces, places.surfaces) = surface::read(top).into_iter().unzip();
    (description.planes, places.planes) = places::split(plane::read(top));

    let options = solver.options(&top.table::<FmmTable>(), overrides, description.has_salt());
    let goal = solver.goal(top, overrides);
    // Solves to an accuracy choose tolerances themselves.
    let of_goal = goal.as_ref().map(|goal| farad::TOLERANCE_PER_ACCURACY * goal.accuracy);
    if let Some(layers) = stack::read(top, of_goal.unwrap_or(options.tolerance)) {
        (description.stack, places.stack) = (Some(layers.value), layers.span);
    }
    (description.charges, places.charges) = places::split(charge::read(top));
    description.field = top.table::<ExternalTable>().field.or([0.0; 3]);
    read_requests(top, base, &mut description, &mut places);
    Names { items: description.nets, places: places.nets } = match overrides.nets.is_empty() {
        true => solver.nets.or(Names::default()),
        false => Names::of(&overrides.nets),
    };
    description.error_bars = solver.error_bars.or(true);
    description.forces = output.forces.value.unwrap_or(false);
    description.polarisability = output.polarisability.value.unwrap_or(false);
    let vtk = output.vtk.value.unwrap_or(VtkMode::Compressed);
    description.surface_values = vtk != VtkMode::None;

    let liquid = description.diffusion.as_ref().map(|liquid| liquid.temperature);
    solution.notes.extend(liquid.and_then(|kelvin| implausible("diffusion", kelvin)));
    description.by_ionic_strength = solution.by_strength;
    places.salt = solution.place;
    output.check_formats(top, overrides, &description, &places.nets);
    report_faults(top, &description, &places);
    let names: Vec<&str> = description.dielectrics.iter().map(|d| d.name.as_str()).collect();
    let sweeps = sweep::read(top, base, &names);
    if surfaces.is_missing() {
        return None;
    }
    let viewers = output.viewers(overrides);
    let usual_spacing = (!viewers.is_empty()).then_some(map::SPACING);
    let directory = output.directory.value.as_ref().map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| paths::ending_in(stem, ".out"));
    Some(Case {
        title: head.title.value.unwrap_or_else(|| stem.to_string_lossy().into_owned()),
        mesh: surfaces.mesh,
        molecules,
        atoms: Vec::new(),
        stack: surfaces.stack,
        smooth: surfaces.smooth,
        description,
        options,
        goal,
        // Without the "." of resolved cases, whose folder is that of the results.
        directory: base.join(directory).components().collect(),
        vtk,
        vtk_excitations: output.vtk_excitations.value.unwrap_or(64),
        vtk_series: output.vtk_series.value.unwrap_or(false),
        formats: output.formats(overrides),
        temperature: solution.temperature,
        notes: solution.notes,
        viewers,
        map_spacing: output.dx.value.or(usual_spacing),
        spice_threshold: output.spice_threshold.value.unwrap_or(1e-3),
        sweeps,
        places,
        source,
        known: Known::default(),
    })
}

/// Values of `[mesh]`, where the command line overrides the file.
struct Surfaces {
    /// Whether there must be a mesh: molecules need none.
    needs_mesh: bool,
    mesh: Option<PathBuf>,
    /// Where its name is.
    place: Range<usize>,
    /// The file that says what the layers of a GDSII layout are.
    stack: Option<PathBuf>,
    unit: Option<LengthUnit>,
    ignore: Names,
    smooth: Option<f64>,
    lenient: bool,
}

impl Surfaces {
    fn read(top: &Section<'_>, base: &Path, overrides: &Overrides) -> Self {
        let section = top.section(MeshTable::INFO);
        let table = MeshTable::read(&section);
        let needs_mesh = !top.has_table::<MoleculeTable>() || table.file.is_given();
        table.check(&section, needs_mesh);
        let unit = table.unit(needs_mesh);
        let mesh = table.file.located().and_then(|file| existing(top, base, "mesh", file));
        let stack = table.stack.located();
        let stack = stack.and_then(|file| existing(top, base, "stack file", file));
        Self {
            needs_mesh,
            place: mesh.as_ref().map_or(0..0, |file| file.span.clone()),
            mesh: mesh.map(|file| file.value),
            stack: overrides.stack.clone().or(stack.map(|file| file.value)),
            unit,
            ignore: table.ignore.or(Names::default()),
            smooth: table.smooth.value,
            lenient: table.lenient.or(false) || overrides.lenient,
        }
    }

    fn is_missing(&self) -> bool {
        self.needs_mesh && self.mesh.is_none()
    }
}

/// Reads requests beyond the capacitance matrix.
fn read_requests(
    top: &Section<'_>,
    base: &Path,
    description: &mut Description,
    places: &mut Places,
) {
    (description.probes, places.probes) = probe::read(top, base).into_iter().unzip();
    (description.reductions, places.reductions) = reduce::read(top).into_iter().unzip();
    (description.sensitivities, places.sensitivities) = sensitivity::read(top).into_iter().unzip();
    (description.films, places.films) = film::read(top).into_iter().unzip();
    description.diffusion = diffusion::read(top);
    places.diffusion = top.section(DiffusionTable::INFO).span();
}

/// Reports faults that need no mesh.
fn report_faults(top: &Section<'_>, description: &Description, places: &Places) {
    // Atoms are read later.
    let has_atoms = places.dielectrics.iter().any(|entry| entry.file.is_some());
    for fault in description.faults() {
        let waits = matches!(fault, Fault::NothingToProbe | Fault::DiffusionOfMedia);
        if !(has_atoms && waits) {
            top.report(faults::defect(description, places, &fault, true));
        }
    }
}
