//! From the text of a case file to a [`Case`].

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use toml::de::DeTable;

use bem::SolveOptions;
use farad::{Amount, Charge, Description, Diffusion, Fault};

use super::choices::{Format, Overrides, Viewer, VtkMode};
use super::definition::{Case, SourceText};
use super::diagnostics::{self, Defect, Located, Sort};
use super::document::{Defects, Section};
use super::known::Known;
use super::named_files::existing;
use super::places::{self, Places};
use super::{
    conductor, dielectric, faults, film, goal, map, misnamed, molecule, plane, probe, reduce, salt,
    sensitivity, stack, surface, sweep,
};
use crate::paths;
use crate::report::units::LengthUnit;
use crate::terminal::exit::Failure;

/// The case that a text says; all its defects come in one failure.
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
    let (conductors, of_conductors) = conductor::read(top, &ignore).into_iter().unzip();
    let (ignore, of_ignore) = places::split(ignore);
    let medium = top.section("medium");
    let surroundings = if top.has("molecule") { molecule::WATER } else { 1.0 };
    let permittivity = medium.number("relative_permittivity");
    let permittivity = permittivity.map_or(surroundings, |number| number.value);
    let mut solution = salt::Solution::new(&medium, unit);
    let kappa = solution.kappa(&medium, permittivity);
    let mut dielectrics = dielectric::read(top, base, &mut solution);
    let (molecules, more) =
        molecule::read(top, base, &dielectrics, overrides.pqr.as_deref(), permittivity);
    dielectrics.extend(more);
    let (dielectrics, of_dielectrics) = dielectrics.into_iter().unzip();
    let (surfaces, of_surfaces) = surface::read(top).into_iter().unzip();
    let (planes, of_planes) = places::split(plane::read(top));
    let options = read_solver(top, overrides);
    let goal = goal::read(top, overrides);
    // Solves to an accuracy choose tolerances themselves.
    let of_goal = goal.as_ref().map(|goal| farad::TOLERANCE_PER_ACCURACY * goal.accuracy);
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
