//! The resolved case: every default filled in, paths relative to the file itself.

use std::fmt::Display;
use std::path::Path;

use farad::{
    Amount, Conductor, Description, Diffusion, Film, Parameter, Place, ProbePoints, Problem,
    Reduction, Sensitivity, Setting, SurfaceMedia, Toward, axis_name,
};

use super::choices::{density_name, method_name};
use super::definition::Case;
use super::molecule::{self, Molecule};
use super::schema::{FORMAT, OF_LAYERS};
use super::toml_text::{list, string, vector};
use super::{plane, stack};
use crate::paths;
use crate::report::units::shortest as number;

/// A case file under construction.
#[derive(Default)]
struct Document(Vec<String>);

impl Document {
    /// Adds a table: its heading, keys with values as TOML has them, and a blank line.
    fn table<'k>(
        &mut self,
        heading: &str,
        entries: impl IntoIterator<Item = (&'k str, impl Display)>,
    ) {
        self.0.push(heading.to_owned());
        self.0.extend(entries.into_iter().map(|(key, value)| format!("{key} = {value}")));
        self.0.push(String::new());
    }
}

impl Case {
    /// The case with every default filled in, as the text of a case file that lies in `folder` and
    /// writes its results there; `problem` has the conductors that were found in the mesh.
    pub(crate) fn resolved(&self, folder: &Path, problem: &Problem) -> String {
        text(self, folder, problem)
    }
}

fn text(case: &Case, folder: &Path, problem: &Problem) -> String {
    let Case { description, options, .. } = case;
    let mut document = Document(vec![
        format!(
            "# Every setting of a run of farad {}. It can be run again as it is:",
            env!("CARGO_PKG_VERSION")
        ),
        "# paths are relative to this file, and the results go to the folder that it lies in."
            .to_owned(),
        format!("format = {}", FORMAT),
        format!("title = {}", string(&case.title)),
        String::new(),
    ]);
    document.table(
        "[mesh]",
        case.mesh
            .iter()
            .map(|mesh| ("file", string(&paths::relative(folder, mesh))))
            .chain([("unit", string(description.unit.name()))])
            .chain(case.mesh.iter().map(|_| ("ignore", list(&description.ignore))))
            .chain(
                case.stack.iter().map(|stack| ("stack", string(&paths::relative(folder, stack)))),
            )
            .chain(description.lenient.then(|| ("lenient", "true".to_owned())))
            .chain(case.smooth.map(|angle| ("smooth", number(angle)))),
    );
    let permittivity = ("relative_permittivity", number(description.relative_permittivity));
    let temperature = case.temperature.map(|kelvin| ("temperature", number(kelvin)));
    let kappa = |kappa: f64| (kappa > 0.0).then(|| ("kappa", number(kappa)));
    // In layers it is that of one of them.
    if case.description.stack.is_none() {
        document.table(
            "[medium]",
            [permittivity].into_iter().chain(kappa(description.kappa)).chain(temperature),
        );
    }
    media(&mut document, case, folder);
    conductors(&mut document, problem);
    sources(&mut document, description);
    probes(&mut document, case, folder);
    if let Some(Diffusion { temperature, viscosity }) = &description.diffusion {
        let liquid = [("temperature", number(*temperature)), ("viscosity", number(*viscosity))];
        document.table("[diffusion]", liquid);
    }
    let goal = case.goal.iter().flat_map(|goal| {
        let accuracy = [
            ("accuracy", number(goal.accuracy)),
            ("accuracy_of", string(&goal.target.to_string())),
        ];
        accuracy.into_iter().chain(goal.max_seconds.map(|limit| ("max_time", number(limit))))
    });
    let nets = (!description.nets.is_empty()).then(|| ("nets", list(&description.nets)));
    let error_bars = [("error_bars", description.error_bars.to_string())];
    document.table(
        "[solver]",
        goal.chain(nets).chain(error_bars).chain([
            ("tolerance", number(options.tolerance)),
            ("method", string(method_name(options.method))),
            ("density", string(density_name(options.density))),
            ("restart", options.restart.to_string()),
            ("max_iterations", options.max_iterations.to_string()),
        ]),
    );
    if let Some(tolerance) = options.fmm_tolerance {
        document.table("[fmm]", [("tolerance", number(tolerance))]);
    }
    let viewers: Vec<String> = case.viewers.iter().map(|v| v.name().to_owned()).collect();
    let formats: Vec<String> = case.formats.iter().map(|f| f.name().to_owned()).collect();
    document.table(
        "[output]",
        [
            ("directory", string(".")),
            ("vtk", string(case.vtk.name())),
            ("vtk_excitations", case.vtk_excitations.to_string()),
            ("vtk_series", case.vtk_series.to_string()),
            ("forces", description.forces.to_string()),
            ("polarisability", description.polarisability.to_string()),
            ("formats", list(&formats)),
            ("spice_threshold", number(case.spice_threshold)),
        ]
        .into_iter()
        .chain((!case.viewers.is_empty()).then(|| ("viewers", list(&viewers))))
        .chain(case.map_spacing.map(|spacing| ("dx", number(spacing)))),
    );
    reductions(&mut document, description);
    sensitivities(&mut document, description);
    films(&mut document, description);
    document.0.join("\n")
}

fn reductions(document: &mut Document, description: &Description) {
    for Reduction { name, groups, grounded, floating, between } in &description.reductions {
        let members = groups.iter().map(|(name, all)| format!("{} = {}", string(name), list(all)));
        let members = members.collect::<Vec<_>>().join(", ");
        let groups = (!groups.is_empty()).then(|| ("group", format!("{{ {members} }}")));
        let lists = [("grounded", grounded), ("floating", floating)];
        let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
        let between = between.as_ref().map(|two| ("between", list(two)));
        let named = [("name", string(name))].into_iter().chain(groups);
        let lists = lists.map(|(key, names)| (key, list(names)));
        document.table("[[reduce]]", named.chain(lists).chain(between));
    }
}

fn sensitivities(document: &mut Document, description: &Description) {
    for Sensitivity { name, by } in &description.sensitivities {
        let of_layer = |layer: &usize, of| (("layer", layer.to_string()), Some(("of", string(of))));
        let (by, of) = match by {
            Parameter::Shift(names) => (("shift", list(names)), None),
            Parameter::Permittivity(name) => (("permittivity", string(name)), None),
            Parameter::OfLayer(layer) => of_layer(layer, OF_LAYERS[0]),
            Parameter::Thickness(layer) => of_layer(layer, OF_LAYERS[1]),
        };
        let entries = [("name", string(name)), by].into_iter().chain(of);
        document.table("[[sensitivity]]", entries);
    }
}

fn films(document: &mut Document, description: &Description) {
    for Film { name, place, thickness, relative_permittivity, cutoff } in &description.films {
        let (place, toward) = match place {
            Place::On { names, toward } => (("on", list(names)), toward.as_ref()),
            Place::Interface(interface) => (("interface", interface.to_string()), None),
        };
        let toward = toward.map(|toward| match toward {
            Toward::Medium(name) => ("medium", string(name)),
            Toward::Layer(layer) => ("layer", layer.to_string()),
        });
        let film = [
            ("thickness", number(*thickness)),
            ("relative_permittivity", number(*relative_permittivity)),
        ];
        let cutoff = cutoff.map(|cutoff| ("cutoff", number(cutoff)));
        let entries = [("name", string(name)), place].into_iter().chain(toward);
        document.table("[[film]]", entries.chain(film).chain(cutoff));
    }
}

fn media(document: &mut Document, case: &Case, folder: &Path) {
    let Case { description, places, .. } = case;
    let made = |molecule: &Molecule| {
        let stern = molecule.stern.map(|stern| stern.dielectric);
        [Some(molecule.dielectric), stern]
    };
    let is_molecule = |index| case.molecules.iter().any(|of| made(of).contains(&Some(index)));
    let dielectrics = description.dielectrics.iter().zip(&places.dielectrics).enumerate();
    for (_, (dielectric, entry)) in dielectrics.filter(|(index, _)| !is_molecule(*index)) {
        let file = entry.file.as_ref();
        let charges = file.map(|file| ("charges", string(&paths::relative(folder, &file.value))));
        let body = [
            ("name", string(&dielectric.name)),
            ("relative_permittivity", number(dielectric.relative_permittivity)),
            ("group", list(&dielectric.groups)),
        ];
        let kappa = (dielectric.kappa > 0.0).then(|| ("kappa", number(dielectric.kappa)));
        document.table("[[dielectric]]", body.into_iter().chain(kappa).chain(charges));
    }
    for molecule in &case.molecules {
        let dielectric = &description.dielectrics[molecule.dielectric];
        document.table("[[molecule]]", molecule::table(molecule, dielectric, folder));
    }
    for SurfaceMedia { groups, sides: [front, back] } in &description.surfaces {
        document.table(
            "[[surface]]",
            [("group", list(groups)), ("front", number(*front)), ("back", number(*back))],
        );
    }
}

/// The conductors as a case file has to list them. Those that are components of a mesh without
/// groups cannot be listed.
fn conductors(document: &mut Document, problem: &Problem) {
    let listed = &problem.description().conductors;
    if listed.is_empty()
        && problem.mesh().groups.is_empty()
        && !problem.conductors().names.is_empty()
    {
        let comment = "# The mesh has no groups: each body joined by shared edges is a conductor.";
        document.0.extend([comment.to_owned(), String::new()]);
        return;
    }
    let found: Vec<Conductor>;
    let conductors = if listed.is_empty() {
        found = problem.conductors().names.iter().map(|name| Conductor::new(name)).collect();
        &found
    } else {
        listed
    };
    for Conductor { name, groups, setting } in conductors {
        let setting = setting.map(|setting| match setting {
            Setting::Potential(volt) => ("potential", number(volt)),
            Setting::Charge(coulomb) => ("charge", number(coulomb)),
        });
        let own = [("name", string(name)), ("group", list(groups))];
        document.table("[[conductor]]", own.into_iter().chain(setting));
    }
}

/// Planes, charges and the external field.
fn sources(document: &mut Document, description: &Description) {
    if let Some(stack) = &description.stack {
        let beyond = |of| match stack::beyond(of) {
            Ok(eps) => number(eps),
            Err(word) => string(word),
        };
        document.table(
            "[stack]",
            [
                ("axis", string(axis_name(stack.axis))),
                ("at", number(stack.at)),
                ("below", beyond(stack.below)),
                ("above", beyond(stack.above)),
            ],
        );
        for layer in &stack.layers {
            let eps = number(layer.permittivity);
            let own = [("thickness", number(layer.thickness)), ("relative_permittivity", eps)];
            document.table("[[layer]]", own);
        }
    }
    for mirror in &description.planes {
        document.table(
            "[[plane]]",
            [
                ("axis", string(axis_name(mirror.plane.axis))),
                ("at", number(mirror.plane.at)),
                ("kind", string(plane::kind(mirror))),
            ],
        );
    }
    for charge in &description.charges {
        let (amount, unit) = match charge.amount {
            Amount::Coulomb(amount) => (amount, "C"),
            Amount::Elementary(amount) => (amount, "e"),
        };
        document.table(
            "[[charge]]",
            [
                ("position", vector(&charge.position)),
                ("charge", number(amount)),
                ("unit", string(unit)),
            ],
        );
    }
    document.table("[external]", [("field", vector(&description.field))]);
}

fn probes(document: &mut Document, case: &Case, folder: &Path) {
    let probes = case.description.probes.iter().zip(&case.places.probes);
    for (probe, entry) in probes.filter(|(_, entry)| !entry.is_made) {
        let mut entries = vec![("name", string(&probe.name))];
        match &probe.place {
            ProbePoints::Points(_) => entries.extend(
                entry
                    .file
                    .iter()
                    .map(|file| ("file", string(&paths::relative(folder, &file.value)))),
            ),
            ProbePoints::Line { from, to, count } => entries.extend([
                ("from", vector(from)),
                ("to", vector(to)),
                ("count", count.to_string()),
            ]),
            ProbePoints::Grid { low, high, counts } => entries.extend([
                ("low", vector(low)),
                ("high", vector(high)),
                ("counts", format!("{counts:?}")),
            ]),
        }
        document.table("[[probe]]", entries);
    }
}
