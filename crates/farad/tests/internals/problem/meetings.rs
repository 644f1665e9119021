use farad::{Description, Error, Fault, Note, Problem};
use mesh::Mesh;
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::lift::smooth;
use mesh::transform::{Motion, moved};

use crate::testing::{cube, joined, sphere};

fn set_up(mesh: Mesh) -> Result<Vec<Note>, Vec<Fault>> {
    match Problem::new(Description::default(), mesh) {
        Ok(problem) => Ok(problem.notes().to_vec()),
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
fn conductors_that_touch_are_refused_or_reported() {
    let two_cubes = |at| set_up(joined([("a", cube([0.0; 3])), ("b", cube(at))]));
    for at in [[1.0, 1.0, 0.3], [1.0, 1.0, 0.0]] {
        let faults = two_cubes(at).unwrap_err();
        assert!(matches!(&faults[..], [Fault::Touching(found)] if found.pairs == 1), "{faults:?}");
    }
    let notes = two_cubes([1.0, 1.0, 1.0]).unwrap();
    let [Note::Touching(found)] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(found.at, [0.5, 0.5, 0.5]);
    assert_eq!(two_cubes([1.5, 0.0, 0.0]), Ok(vec![]));
}
