//! Surfaces of different bodies that go through each other or touch.

use std::collections::HashSet;

use mesh::Mesh;
use mesh::conductors::Assignment;
use mesh::contact::{Contact, Touch, contacts};
use mesh::intersect::{Intersection, intersections};
use mesh::topology::Topology;

use crate::problem::fault::{Fault, Note, Touching};
use crate::problem::media::Chosen;
use crate::scene::description::Description;

/// Refuses surfaces of different bodies that go through each other, and parts of one dielectric's
/// surface that do. Within one conductor they do no more harm than making some of its surface an
/// inner one. A part that intersects itself, as molecular surfaces sometimes do, is returned as a
/// note.
pub(crate) fn check_crossings(
    description: &Description,
    mesh: &Mesh,
    assignment: &Assignment,
) -> Result<Vec<Note>, Vec<Fault>> {
    if description.dielectrics.is_empty() && assignment.names.len() + description.surfaces.len() < 2
    {
        return Ok(Vec::new());
    }
    let found = intersections(mesh);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let of_dielectrics =
        Chosen::by_lists(mesh, description.dielectrics.iter().map(|d| &d.groups[..]));
    let listed: Vec<&String> = description.surfaces.iter().flat_map(|s| &s.groups).collect();
    let of_surfaces = Chosen::by_lists(mesh, listed.iter().map(|&name| std::slice::from_ref(name)));
    let dielectrics_of = |triangle: u32| -> Vec<&str> {
        let lists = of_dielectrics.lists(triangle as usize).into_iter();
        lists.map(|list| description.dielectrics[list as usize].name.as_str()).collect()
    };
    let bodies = |triangle: u32| -> Vec<&str> {
        let conductor = assignment.of_triangle[triangle as usize]
            .map(|owner| assignment.names[owner as usize].as_str());
        let interfaces = match conductor {
            Some(_) => Vec::new(),
            None => of_surfaces.lists(triangle as usize),
        };
        let interfaces = interfaces.into_iter().map(|group| listed[group as usize].as_str());
        conductor.into_iter().chain(dielectrics_of(triangle)).chain(interfaces).collect()
    };
    let component_of = Topology::of(mesh).component_of;
    let of_dielectric = |pair: &Intersection| -> Option<&str> {
        let [a, b] = pair.triangles.map(dielectrics_of);
        a.into_iter().find(|name| b.contains(name))
    };
    let is_one_part = |pair: &Intersection| {
        let [a, b] = pair.triangles.map(|t| component_of[t as usize]);
        a == b
    };
    let is_fault = |pair: &&Intersection| {
        let [a, b] = pair.triangles.map(bodies);
        let different = !a.is_empty() && !b.is_empty() && !a.iter().any(|body| b.contains(body));
        different || (of_dielectric(pair).is_some() && !is_one_part(pair))
    };
    if let Some(first) = found.iter().find(is_fault) {
        let body = |t: u32| (t, bodies(t).first().copied().unwrap_or_default().to_owned());
        let what = match of_dielectric(first) {
            Some(_) => "parts of one body's surface",
            None if description.interfaces().next().is_none() => "conductors",
            None => "bodies",
        };
        let pairs = found.iter().filter(is_fault).count();
        let only_curved = mesh.patches.is_some() && {
            let flat = Mesh { patches: None, ..mesh.clone() };
            !intersections(&flat).iter().any(|pair| is_fault(&pair))
        };
        let first = first.triangles.map(body);
        return Err(vec![Fault::Crossing { what, pairs, first, only_curved }]);
    }
    let through_itself = |name: &String| {
        let own: Vec<_> = found.iter().filter(|pair| of_dielectric(pair) == Some(name)).collect();
        let first = own.first()?.triangles;
        Some(Note::ThroughItself { dielectric: name.clone(), pairs: own.len(), first })
    };
    Ok(description.dielectrics.iter().filter_map(|d| through_itself(&d.name)).collect())
}

/// Refuses conductors that touch along a line, whose mutual capacitance has no bound; contacts at
/// points are returned as a note.
pub(crate) fn check_contacts(
    description: &Description,
    mesh: &Mesh,
    assignment: &Assignment,
) -> Result<Option<Note>, Vec<Fault>> {
    let found = contacts(mesh, &assignment.of_triangle);
    let Some(first) = found.first() else { return Ok(None) };
    let owner = |t: u32| assignment.of_triangle[t as usize];
    let named = |t: u32| {
        let owner = owner(t).map_or("", |owner| assignment.names[owner as usize].as_str());
        (t, owner.to_owned())
    };
    let pair_of = |contact: &Contact| {
        let [a, b] = contact.triangles.map(owner);
        (a.min(b), a.max(b))
    };
    let pairs: HashSet<_> =
        found.iter().filter(|contact| contact.touch == first.touch).map(pair_of).collect();
    let touching = Touching {
        first: first.triangles.map(named),
        at: first.place,
        unit: description.unit.name(),
        pairs: pairs.len(),
    };
    match first.touch {
        Touch::Line => Err(vec![Fault::Touching(touching)]),
        Touch::Point => Ok(Some(Note::Touching(touching))),
    }
}
