//! Surfaces of different bodies that go through each other or touch.

use std::collections::HashSet;

use mesh::Mesh;
use mesh::conductors::Assignment;
use mesh::contact::{Contact, Touch, contacts};
use mesh::intersect::{Intersection, intersections};
use mesh::topology::Topology;

use crate::description::Description;
use crate::fault::{Fault, Note, Touching};
use crate::media::Chosen;

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

#[cfg(test)]
mod tests {
    use crate::testing::{cube, joined, sphere};
    use crate::{Description, Error, Fault, Note, Problem};
    use mesh::Mesh;
    use mesh::generate::{Resolution, Sphere, SphereBase};
    use mesh::lift::smooth;
    use mesh::transform::{Motion, moved};

    fn set_up(mesh: Mesh) -> Result<Vec<Note>, Vec<Fault>> {
        match Problem::new(Description::default(), mesh) {
            Ok(problem) => Ok(problem.notes),
            Err(Error::Faults(faults)) => Err(faults),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn conductors_that_go_through_each_other_are_refused() {
        let other = moved(&sphere(), |_| true, &Motion::along([0.9, 0.1, 0.2]));
        let faults = set_up(joined([("a", sphere()), ("b", other)])).unwrap_err();
        let [Fault::Crossing { what: "conductors", pairs, first: [a, b], only_curved: false }] =
            &faults[..]
        else {
            panic!("{faults:?}")
        };
        assert!(*pairs > 1 && a.1 != b.1, "{faults:?}");
    }

    #[test]
    fn bodies_count_as_they_are_made_curved() {
        let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(32));
        let sphere = Sphere { radius: 1.0, base, resolution }.build().unwrap();
        let at = |distance: f64| {
            let shift = [distance / 3f64.sqrt(); 3];
            joined([("a", sphere.clone()), ("b", moved(&sphere, |_| true, &Motion::along(shift)))])
        };
        assert_eq!(set_up(at(1.9)), Ok(vec![]));
        let faults = set_up(smooth(&at(1.9), 60.0)).unwrap_err();
        let [Fault::Crossing { only_curved: true, .. }] = &faults[..] else { panic!("{faults:?}") };
        assert!(faults[0].to_string().contains("the curved triangles do"), "{}", faults[0]);
        assert_eq!(set_up(smooth(&at(2.02), 60.0)), Ok(vec![]));
    }

    #[test]
    fn conductors_that_touch_are_refused_or_told() {
        let two_cubes = |at| set_up(joined([("a", cube([0.0; 3])), ("b", cube(at))]));
        for at in [[1.0, 1.0, 0.3], [1.0, 1.0, 0.0]] {
            let faults = two_cubes(at).unwrap_err();
            assert!(
                matches!(&faults[..], [Fault::Touching(found)] if found.pairs == 1),
                "{faults:?}"
            );
        }
        let notes = two_cubes([1.0, 1.0, 1.0]).unwrap();
        let [Note::Touching(found)] = &notes[..] else { panic!("{notes:?}") };
        assert_eq!(found.at, [0.5, 0.5, 0.5]);
        assert_eq!(two_cubes([1.5, 0.0, 0.0]), Ok(vec![]));
    }
}
