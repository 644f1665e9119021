//! The resolved case: every default filled in, paths relative to the file itself.

use std::path::Path;

use farad::{Conductor, Problem};

use super::case_text::CaseText;
use super::definition::Case;
use super::tables::{
    ChargeTable, ConductorTable, DielectricTable, DiffusionTable, ExternalTable, FilmTable,
    FmmTable, LayerTable, MediumTable, MeshTable, MoleculeTable, OutputTable, PlaneTable,
    ProbeTable, ReduceTable, SensitivityTable, SolverTable, StackTable, SurfaceTable, TopTable,
};

impl Case {
    /// The case with every default filled in, as the text of a case file that lies in `folder` and
    /// writes its results there; `problem` has the conductors that were found in the mesh.
    pub(crate) fn resolved(&self, folder: &Path, problem: &Problem) -> String {
        text(self, folder, problem)
    }
}

fn text(case: &Case, folder: &Path, problem: &Problem) -> String {
    let description = &case.description;
    let mut text = CaseText::default();
    text.line(&format!(
        "# Every setting of a run of farad {}. It can be run again as it is:",
        env!("CARGO_PKG_VERSION")
    ));
    text.line(
        "# paths are relative to this file, and the results go to the folder that it lies in.",
    );
    text.table(&TopTable::of(&case.title));
    text.table(&MeshTable::of(case, folder));
    // In layers it is that of one of them.
    if description.stack.is_none() {
        text.table(&MediumTable::of(description, case.temperature));
    }
    media(&mut text, case, folder);
    conductors(&mut text, problem);
    if let Some(stack) = &description.stack {
        text.table(&StackTable::of(stack));
        text.tables(stack.layers.iter().map(LayerTable::of));
    }
    text.tables(description.planes.iter().map(PlaneTable::of));
    text.tables(description.charges.iter().map(ChargeTable::of));
    text.table(&ExternalTable { field: description.field.into(), ..ExternalTable::default() });
    let probes = description.probes.iter().zip(&case.places.probes);
    let probes = probes.filter(|(_, entry)| !entry.is_made);
    text.tables(probes.map(|(probe, entry)| ProbeTable::of(probe, entry, folder)));
    text.tables(description.diffusion.iter().map(DiffusionTable::of));
    text.table(&SolverTable::of(case));
    if let Some(tolerance) = case.options.fmm_tolerance {
        text.table(&FmmTable { tolerance: tolerance.into(), ..FmmTable::default() });
    }
    text.table(&OutputTable::of(case));
    text.tables(description.reductions.iter().map(ReduceTable::of));
    text.tables(description.sensitivities.iter().map(SensitivityTable::of));
    text.tables(description.films.iter().map(FilmTable::of));
    text.finish()
}

fn media(text: &mut CaseText, case: &Case, folder: &Path) {
    let Case { description, places, molecules, .. } = case;
    let is_made = |index: usize| {
        let layer =
            |index| molecules.iter().filter_map(|of| of.stern).any(|of| of.dielectric == index);
        molecules.iter().any(|of| of.dielectric == index) || layer(index)
    };
    let dielectrics = description.dielectrics.iter().zip(&places.dielectrics).enumerate();
    for (_, (dielectric, entry)) in dielectrics.filter(|(index, _)| !is_made(*index)) {
        text.table(&DielectricTable::of(dielectric, entry, folder));
    }
    for molecule in molecules {
        let dielectric = &description.dielectrics[molecule.dielectric];
        text.table(&MoleculeTable::of(molecule, dielectric, folder));
    }
    text.tables(description.surfaces.iter().map(SurfaceTable::of));
}

/// The conductors as a case file has to list them. Those that are components of a mesh without
/// groups cannot be listed.
fn conductors(text: &mut CaseText, problem: &Problem) {
    let listed = &problem.description().conductors;
    let found = &problem.conductors().names;
    if !listed.is_empty() {
        text.tables(listed.iter().map(ConductorTable::of));
    } else if problem.mesh().groups.is_empty() && !found.is_empty() {
        text.line("# The mesh has no groups: each body joined by shared edges is a conductor.");
        text.line("");
    } else {
        text.tables(found.iter().map(|name| ConductorTable::of(&Conductor::new(name))));
    }
}
