//! Where surfaces are: whole and apart, between planes, in layers.

use mesh::Mesh;
use mesh::check::Defects;
use mesh::conductors::Assignment;

use crate::analysis::list;
use crate::problem::fault::{Fault, Note};
use crate::problem::media::Chosen;
use crate::problem::planes::Symmetry;
use crate::problem::{layers, meetings};
use crate::scene::description::Description;

/// Notes of surfaces that can be solved on: without defects, and where they meet as they may, or as
/// a lenient description allows.
pub(super) fn intact(
    description: &Description,
    mesh: &Mesh,
    assignment: &Assignment,
) -> Result<Vec<Note>, Vec<Fault>> {
    let defects = Defects::of(mesh);
    if !defects.is_empty() {
        return Err(vec![Fault::Defects(defects)]);
    }
    let crossings = meetings::check_crossings(description, mesh, assignment);
    let contacts = meetings::check_contacts(description, mesh, assignment);
    let contacts = contacts.map(|note| note.into_iter().collect());
    let mut notes = Vec::new();
    for checked in [crossings, contacts] {
        match checked {
            Err(faults) if description.lenient => {
                notes.extend(faults.into_iter().map(Note::Allowed));
            }
            checked => notes.extend(checked?),
        }
    }
    Ok(notes)
}

/// Surfaces among planes and layers.
pub(super) struct Placed {
    pub(super) symmetry: Symmetry,
    pub(super) in_layers: Option<layers::Place>,
}

impl Placed {
    pub(super) fn find(
        description: &Description,
        mesh: &Mesh,
        assignment: &Assignment,
    ) -> Result<Self, Vec<Fault>> {
        let is_conductor = |t: usize| assignment.of_triangle[t].is_some();
        let interfaces: Vec<String> = description.interfaces().cloned().collect();
        let interfaces = Chosen::by(mesh, &interfaces);
        let bounds = |t: usize| is_conductor(t) || interfaces.has(t);
        let symmetry = Symmetry::find(description, mesh, bounds, is_conductor)?;
        let Some(stack) = &description.stack else {
            return Ok(Self { symmetry, in_layers: None });
        };
        let place = layers::find(stack, mesh, bounds, is_conductor)?;
        let points = description.probes.iter().flat_map(|probe| probe.place.points());
        let symmetry = place.images(stack, mesh, symmetry, points)?;
        let is_interface = |t: usize| interfaces.has(t);
        let mut faults =
            layers::faults_of_media(stack, &place, mesh, &symmetry.images, is_interface);
        if place.is_in_several() {
            let refused = list::requested(description).filter_map(|a| a.name_in_one_layer());
            faults.extend(refused.map(|what| layers::in_several(stack, what)));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self { symmetry, in_layers: Some(place) })
    }
}
