//! From the text of a case file to a [`Case`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use toml::de::DeTable;

use bem::SolveOptions;
use farad::{
    Amount, Atom, Charge, Conductor, Description, Dielectric, Diffusion, Fault, ProbePoints,
    SURROUNDINGS, Setting,
};

use super::choices::{Format, Overrides, Viewer, VtkMode};
use super::definition::{Case, SourceText};
use super::diagnostics::{self, Defect, Located, Sort};
use super::document::{Defects, Section};
use super::known::Known;
use super::named_files::existing;
use super::places::{self, Entry, Places};
use super::{
    described, faults, film, foreign, goal, map, misnamed, molecule, plane, probe, reduce, salt,
    sensitivity, stack, surface, sweep,
};
use crate::files;
use crate::molecules;
use crate::paths;
use crate::report::units::LengthUnit;
use crate::surfaces::{check_stack, fastcap_model, has_nets, is_layout, layout};
use crate::terminal::exit::{Exit, Failure};

/// No case file is this long. A mesh passed by mistake is, and should not be read whole.
const LARGEST: u64 = 4 << 20;

impl Case {
    /// Reads and checks the file at `path`; all its defects come in one failure.
    pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Self, Failure> {
        load(path, overrides)
    }
}

fn load(path: &Path, overrides: &Overrides) -> Result<Case, Failure> {
    let known = Known::default();
    let load = |path: &Path| known.load(path);
    if has_nets(path) {
        check_stack(path, overrides.stack.as_deref())?;
    }
    let text = if farad::fastcap::is_name(path) {
        let model = fastcap_model(path, overrides.lenient, &load)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        described::of_list(&model, path, &file, overrides)?
    } else if overrides.unit.is_some() {
        let (what, help) = if is_layout(path) {
            ("a layout that names its unit", "leave it out")
        } else if molecules::is_pqr(path) {
            ("a molecule in angstrom", "leave it out")
        } else {
            read_text(path)?; // tells what is no case file
            ("a case file", "change `unit` in its [mesh] table")
        };
        return Err(Failure::with_help(
            Exit::Usage,
            format!(
                "--unit is for FastCap's files, which name none, and {} is {what}",
                path.display()
            ),
            help,
        ));
    } else if is_layout(path) {
        let model = layout(path, overrides.stack.as_deref(), overrides.lenient, &load)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        described::of_layout(&model, path, &file, overrides)?
    } else if molecules::is_pqr(path) {
        described::of_molecule(path)?
    } else {
        read_text(path)?
    };
    let mut case = parse(path, &text, overrides)?;
    if let Some(mesh) = &case.mesh {
        check_stack(mesh, case.stack.as_deref())?;
    }
    read_files(&mut case)?;
    Ok(Case { known, ..case })
}

/// Reads the atoms and points that the case names files of.
fn read_files(case: &mut Case) -> Result<(), Failure> {
    let Case { description, places, molecules, atoms, .. } = case;
    for (dielectric, entry) in description.dielectrics.iter_mut().zip(&mut places.dielectrics) {
        let read = match &entry.file {
            Some(file) => molecules::atoms(&file.value)?,
            None => Vec::new(),
        };
        entry.lines = read.iter().map(|atom| atom.line).collect();
        dielectric.atoms = read.iter().map(|atom| Atom::from_pqr(atom, description.unit)).collect();
        atoms.push(read);
    }
    for molecule in molecules {
        let atoms = &atoms[molecule.dielectric];
        molecules::check_radii(&molecule.file, atoms)?;
        if molecule.has_usual_density {
            molecule.options.resolution = molecules::usual_resolution(atoms);
        }
    }
    for (probe, entry) in description.probes.iter_mut().zip(&places.probes) {
        if let Some(file) = &entry.file {
            probe.place = ProbePoints::Points(probe::points(&file.value)?);
        }
    }
    map::add(case)
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    if let Some((what, help)) = foreign::by_name(path) {
        return Err(not_a_case(path, what, help));
    }
    if size > LARGEST {
        return Err(not_a_case(path, "it is longer than 4 MiB", foreign::HELP));
    }
    let bytes = files::bytes(path)?;
    if let Some((what, help)) = foreign::by_content(&bytes) {
        return Err(not_a_case(path, what, help));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        not_a_case(path, &format!("line {line} is not UTF-8 text"), foreign::HELP)
    })
}

fn not_a_case(path: &Path, what: &str, help: &str) -> Failure {
    Failure::with_help(Exit::BadInput, format!("{} is no case file: {what}", path.display()), help)
}

pub fn parse(path: &Path, text: &str, overrides: &Overrides) -> Result<Case, Failure> {
    let (document, syntax) = DeTable::parse_recoverable(text);
    let defects = Defects::default();
    let source = SourceText { path: path.to_owned(), text: text.to_owned() };
    let case = from_document(&Section::top(&document, &defects), source, overrides);

    let mut found = defects.into_inner();
    if !syntax.is_empty() {
        found = without_echoes(text, found, &syntax);
    }
    match case {
        Some(case) if found.is_empty() => Ok(case),
        case => {
            let of_mesh = case.iter().flat_map(|case| misnamed::beside(case, &found));
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

/// Reads every section; `None` when something required is missing or wrong, which is then among the
/// defects.
fn from_document(top: &Section<'_>, source: SourceText, overrides: &Overrides) -> Option<Case> {
    let base = source.path.parent().unwrap_or(Path::new(""));
    let stem = source.path.file_stem().unwrap_or_default();
    // Its range has one number.
    top.integer("format");
    let title =
        top.text("title").map_or_else(|| stem.to_string_lossy().into_owned(), |title| title.value);
    let mesh_section = top.section("mesh");
    // Molecules need no mesh.
    let needs_mesh = !top.has("molecule") || mesh_section.has("file");
    let mesh = needs_mesh.then(|| mesh_section.text("file")).flatten();
    let mesh = mesh.and_then(|file| existing(top, base, "mesh", file));
    let of_layout =
        mesh_section.text("stack").and_then(|file| existing(top, base, "stack file", file));
    let of_layout = overrides.stack.clone().or(of_layout.map(|file| file.value));
    let unit = (needs_mesh || mesh_section.has("unit")).then(|| mesh_section.choice("unit"));
    let unit = match unit {
        Some(unit) => unit.and_then(|unit| LengthUnit::from_name(&unit.value)),
        None => Some(LengthUnit::Angstrom),
    };
    if !needs_mesh {
        molecule::check_mesh(&mesh_section);
    }
    let ignore = mesh_section.names("ignore").unwrap_or_default();
    let smooth = mesh_section.number("smooth").map(|angle| angle.value);
    let lenient = mesh_section.boolean("lenient").unwrap_or(false) || overrides.lenient;
    let (conductors, of_conductors) = read_conductors(top, &ignore).into_iter().unzip();
    let (ignore, of_ignore) = places::split(ignore);
    let medium = top.section("medium");
    let surroundings = if top.has("molecule") { molecule::WATER } else { 1.0 };
    let permittivity = medium.number("relative_permittivity");
    let permittivity = permittivity.map_or(surroundings, |number| number.value);
    let mut solution = salt::Solution::new(&medium, unit);
    let kappa = solution.kappa(&medium, permittivity);
    let mut dielectrics = read_dielectrics(top, base, &mut solution);
    let (molecules, more) =
        molecule::read(top, base, &dielectrics, overrides.pqr.as_deref(), permittivity);
    dielectrics.extend(more);
    let (dielectrics, of_dielectrics) = dielectrics.into_iter().unzip();
    let (surfaces, of_surfaces) = surface::read(top).into_iter().unzip();
    let (planes, of_planes) = places::split(plane::read(top));
    let options = read_solver(top, overrides);
    let goal = goal::read(top, overrides);
    // Solves to an accuracy choose tolerances themselves.
    let of_goal = goal.as_ref().map(|goal| farad::OF_ACCURACY * goal.accuracy);
    let (stack, of_stack) = stack::read(top, of_goal.unwrap_or(options.tolerance))
        .map_or((None, 0..0), |stack| (Some(stack.value), stack.span));
    let (charges, of_charges) = places::split(read_charges(top));
    let (probes, of_probes) = probe::read(top, base).into_iter().unzip();
    let (reductions, of_reductions) = reduce::read(top).into_iter().unzip();
    let (sensitivities, of_sensitivities) = sensitivity::read(top).into_iter().unzip();
    let (films, of_films) = film::read(top).into_iter().unzip();
    let (output, diffusion) = (top.section("output"), top.section("diffusion"));
    let vtk = match output.choice("vtk").as_ref().map(|choice| choice.value.as_str()) {
        Some("plain") => VtkMode::Plain,
        Some("none") => VtkMode::None,
        _ => VtkMode::Compressed,
    };
    let (nets, of_nets) = match overrides.nets.is_empty() {
        true => places::split(top.section("solver").names("nets").unwrap_or_default()),
        false => (overrides.nets.clone(), Vec::new()),
    };
    let formats = read_formats(&output, overrides);
    let viewers = read_viewers(&output, overrides);
    let map_spacing = output.number("dx").map(|number| number.value);
    let map_spacing = map_spacing.or((!viewers.is_empty()).then_some(map::SPACING));
    if let (Some(format), false) = (formats.first(), nets.is_empty()) {
        let listed = output.choices("formats").into_iter().flatten().next();
        let place = listed.map(|word| word.span).or_else(|| of_nets.first().cloned());
        let name = format.name();
        let message =
            format!("\"{name}\" needs the whole matrix, not the columns of chosen nets alone");
        let defect = Defect::new(Sort::Value, place.unwrap_or(0..0), message);
        top.report(defect.help("leave out formats, or nets"));
    }
    let vtk_excitations =
        output.integer("vtk_excitations").and_then(|number| usize::try_from(number.value).ok());
    let vtk_series = output.boolean("vtk_series").unwrap_or(false);
    let spice_threshold = output.number("spice_threshold").map_or(1e-3, |number| number.value);
    let description = Description {
        unit: unit.unwrap_or(LengthUnit::Metre),
        relative_permittivity: permittivity,
        kappa,
        by_ionic_strength: solution.by_strength,
        ignore,
        conductors,
        dielectrics,
        surfaces,
        planes,
        stack,
        charges,
        lenient,
        field: top.section("external").vector("field").map_or([0.0; 3], |field| field.value),
        probes,
        diffusion: read_diffusion(&diffusion, top.has("diffusion")),
        forces: output.boolean("forces").unwrap_or(false),
        polarisability: output.boolean("polarisability").unwrap_or(false),
        surface_values: vtk != VtkMode::None,
        error_bars: top.section("solver").boolean("error_bars").unwrap_or(true),
        nets,
        reductions,
        sensitivities,
        films,
    };
    let liquid = description.diffusion.as_ref();
    solution
        .notes
        .extend(liquid.and_then(|liquid| salt::implausible("diffusion", liquid.temperature)));
    let places = Places {
        mesh: mesh.as_ref().map_or(0..0, |file| file.span.clone()),
        ignore: of_ignore,
        salt: solution.place,
        conductors: of_conductors,
        dielectrics: of_dielectrics,
        surfaces: of_surfaces,
        planes: of_planes,
        stack: of_stack,
        charges: of_charges,
        probes: of_probes,
        diffusion: diffusion.span(),
        reductions: of_reductions,
        sensitivities: of_sensitivities,
        films: of_films,
        nets: of_nets,
    };
    // Atoms are read later.
    let has_atoms = places.dielectrics.iter().any(|entry| entry.file.is_some());
    for fault in description.faults() {
        let waits = matches!(fault, Fault::NothingToProbe | Fault::DiffusionOfMedia);
        if !(has_atoms && waits) {
            top.report(faults::defect(&description, &places, &fault, true));
        }
    }
    let directory = output
        .text("directory")
        .map_or_else(|| paths::ending_in(stem, ".out"), |text| PathBuf::from(text.value));
    let names: Vec<&str> = description.dielectrics.iter().map(|d| d.name.as_str()).collect();
    let sweeps = sweep::read(top, base, &names);
    if needs_mesh && mesh.is_none() {
        return None;
    }
    // Without the "." of resolved cases, whose folder is that of the results.
    let directory = base.join(directory).components().collect();
    Some(Case {
        title,
        mesh: mesh.map(|file| file.value),
        molecules,
        atoms: Vec::new(),
        stack: of_layout,
        smooth,
        description,
        options,
        goal,
        directory,
        vtk,
        vtk_excitations: vtk_excitations.unwrap_or(64),
        vtk_series,
        formats,
        temperature: solution.temperature,
        notes: solution.notes,
        viewers,
        map_spacing,
        spice_threshold,
        sweeps,
        places,
        source,
        known: Known::default(),
    })
}

/// The forms that the command line names, or else the file; each once.
fn read_formats(output: &Section<'_>, overrides: &Overrides) -> Vec<Format> {
    let listed = output.choices("formats").unwrap_or_default();
    let of_file = listed.iter().filter_map(|word| {
        Format::value_variants().iter().copied().find(|format| format.name() == word.value)
    });
    let all = match overrides.formats.is_empty() {
        true => of_file.collect(),
        false => overrides.formats.clone(),
    };
    let is_wanted = |format: &Format| all.contains(format);
    Format::value_variants().iter().copied().filter(is_wanted).collect()
}

/// The viewers that the command line names, or else the file; each once.
fn read_viewers(output: &Section<'_>, overrides: &Overrides) -> Vec<Viewer> {
    let listed = output.choices("viewers").unwrap_or_default();
    let is_wanted = |viewer: &Viewer| match overrides.viewers.is_empty() {
        true => listed.iter().any(|word| word.value == viewer.name()),
        false => overrides.viewers.contains(viewer),
    };
    Viewer::value_variants().iter().copied().filter(is_wanted).collect()
}

/// Checks the names of media: each once, and none of them the surrounding medium's.
fn read_dielectrics(
    top: &Section<'_>,
    base: &Path,
    solution: &mut salt::Solution,
) -> Vec<(Dielectric, Entry)> {
    let mut names: HashMap<String, std::ops::Range<usize>> = HashMap::new();
    let mut dielectrics = Vec::new();
    for section in top.sections("dielectric") {
        let name = section.text("name");
        let permittivity = section.number("relative_permittivity");
        let groups = section.names("group").unwrap_or_default();
        let file = section.text("charges").and_then(|file| existing(top, base, "PQR file", file));
        let kappa =
            solution.kappa(&section, permittivity.as_ref().map_or(1.0, |number| number.value));
        let (Some(name), Some(permittivity)) = (name, permittivity) else { continue };
        if name.value == SURROUNDINGS {
            let message = format!("\"{SURROUNDINGS}\" is the name of [medium]");
            top.report(Defect::new(Sort::Value, name.span.clone(), message));
        }
        if let Some(first) = names.insert(name.value.clone(), name.span.clone()) {
            let message = format!("two dielectrics are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message).label("again here");
            let help = "for one dielectric of several bodies write group = [\"a\", \"b\"]";
            top.report(defect.first(first).help(help));
        }
        let (groups, places) = places::split(groups);
        let entry = Entry { name: name.span, groups: places, file, ..Entry::default() };
        let (name, relative_permittivity) = (name.value, permittivity.value);
        let body = Dielectric::new(&name, relative_permittivity);
        dielectrics.push((Dielectric { kappa, groups, ..body }, entry));
    }
    dielectrics
}

fn read_conductors(top: &Section<'_>, ignore: &[Located<String>]) -> Vec<(Conductor, Entry)> {
    let mut names: HashMap<String, std::ops::Range<usize>> = HashMap::new();
    let mut owners: HashMap<String, Located<String>> = ignore
        .iter()
        .map(|group| {
            let owner = Located { value: "[mesh] ignore".to_owned(), span: group.span.clone() };
            (group.value.clone(), owner)
        })
        .collect();
    let mut conductors = Vec::new();
    for section in top.sections("conductor") {
        let name = section.text("name");
        let groups = section.names("group").unwrap_or_default();
        let setting = read_setting(&section);
        let Some(name) = name else { continue };
        if let Some(first) = names.insert(name.value.clone(), name.span.clone()) {
            let message = format!("two conductors are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message).label("again here");
            let help = "for one conductor of several groups write group = [\"a\", \"b\"]";
            top.report(defect.first(first).help(help));
        }
        for group in &groups {
            let owner = Located {
                value: format!("conductor \"{}\"", name.value),
                span: group.span.clone(),
            };
            if let Some(earlier) = owners.insert(group.value.clone(), owner) {
                let message = format!("group \"{}\" is in {} already", group.value, earlier.value);
                let defect = Defect::new(Sort::Value, group.span.clone(), message);
                top.report(defect.label("again here").first(earlier.span));
            }
        }
        let (groups, places) = places::split(groups);
        let entry = Entry { name: name.span, groups: places, ..Entry::default() };
        conductors.push((Conductor { name: name.value, groups, setting }, entry));
    }
    conductors
}

/// A potential or a charge, not both.
fn read_setting(section: &Section<'_>) -> Option<Setting> {
    match (section.number("potential"), section.number("charge")) {
        (Some(potential), Some(charge)) => {
            let message = "the conductor has both a potential and a charge";
            let defect = Defect::new(Sort::Value, charge.span, message).first(potential.span);
            let help = "a conductor is held at a potential, or floats with a charge";
            section.report(defect.label("and here").help(help));
            None
        }
        (Some(potential), None) => Some(Setting::Potential(potential.value)),
        (None, charge) => charge.map(|charge| Setting::Charge(charge.value)),
    }
}

fn read_charges(top: &Section<'_>) -> Vec<Located<Charge>> {
    let read = |section: &Section<'_>| {
        let position = section.vector("position");
        let value = section.number("charge");
        let unit = section.choice("unit");
        let (Located { value: position, span }, charge) = (position?, value?.value);
        let amount = match unit {
            Some(unit) if unit.value == "e" => Amount::Elementary(charge),
            _ => Amount::Coulomb(charge),
        };
        Some(Located { value: Charge { position, amount }, span })
    };
    top.sections("charge").iter().filter_map(read).collect()
}

fn read_diffusion(section: &Section<'_>, is_there: bool) -> Option<Diffusion> {
    if !is_there {
        return None;
    }
    let (temperature, viscosity) = (section.number("temperature"), section.number("viscosity"));
    Some(Diffusion { temperature: temperature?.value, viscosity: viscosity?.value })
}

fn read_solver(top: &Section<'_>, overrides: &Overrides) -> SolveOptions {
    let section = top.section("solver");
    let usual = SolveOptions::default();
    let tolerance = section.number("tolerance").map_or(usual.tolerance, |number| number.value);
    let method = match section.choice("method").as_ref().map(|choice| choice.value.as_str()) {
        Some("fmm") => bem::Method::Fmm,
        Some("dense") => bem::Method::Dense,
        _ => bem::Method::Auto,
    };
    let density = match section.choice("density").as_ref().map(|choice| choice.value.as_str()) {
        Some("linear") => bem::Density::Linear,
        Some(_) => bem::Density::Constant,
        None => {
            let asked = section.number("accuracy").map(|number| number.value);
            overrides.accuracy.or(asked).map_or(usual.density, farad::density_for)
        }
    };
    let whole = |name, default| {
        section
            .integer(name)
            .and_then(|number| usize::try_from(number.value).ok())
            .unwrap_or(default)
    };
    SolveOptions {
        tolerance: overrides.tolerance.unwrap_or(tolerance),
        method: overrides.method.map_or(method, bem::Method::from),
        density: overrides.density.map_or(density, bem::Density::from),
        restart: whole("restart", usual.restart),
        max_iterations: whole("max_iterations", usual.max_iterations),
        fmm_tolerance: top.section("fmm").number("tolerance").map(|number| number.value),
        ..usual
    }
}
