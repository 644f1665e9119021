use mesh::check::Report;
use mesh::generate::{Cube, Resolution, SphereBase, TwoSpheres};
use mesh::transform::{Motion, moved};
use mesh::vector::{Vector, add, norm, sub};
use proptest::prelude::*;

const RESOLUTION: Resolution = Resolution::Elements(300);

#[test]
fn one_of_two_bodies_moves() {
    let base = SphereBase::Octahedron;
    let two = TwoSpheres { radius: 1.0, distance: 4.0, base, resolution: RESOLUTION };
    let mesh = two.build().unwrap();
    let right = |t: usize| mesh.groups_of(t) == [1];
    let result = moved(&mesh, right, &Motion::along([1.0, 2.0, 3.0]));
    assert_eq!(result.vertices.len(), mesh.vertices.len());
    assert_eq!(result.triangles, mesh.triangles);
    for t in 0..mesh.triangles.len() {
        let by = if right(t) { [1.0, 2.0, 3.0] } else { [0.0; 3] };
        assert_eq!(result.corners(t), mesh.corners(t).map(|corner| add(corner, by)));
    }
}

#[test]
fn a_face_comes_off_its_cube() {
    let cube = Cube { edge: 2.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap();
    let top = |t: usize| cube.corners(t).iter().all(|corner| corner[2] == 1.0);
    let result = moved(&cube, top, &Motion::along([0.0, 0.0, 1.0]));
    assert_eq!(result.validate(), Ok(()));
    let report = Report::of(&result).unwrap();
    assert_eq!(report.components.len(), 2);
    assert_eq!(report.quality.bounding_box, [[-1.0; 3], [1.0, 1.0, 2.0]]);
}

proptest! {
    #[test]
    fn motions_keep_distances_and_have_inverses(
        axis in prop::array::uniform3(0.1f64..1.0),
        centre in prop::array::uniform3(-2.0f64..2.0),
        angle in -7.0f64..7.0,
        p in prop::array::uniform3(-2.0f64..2.0),
        q in prop::array::uniform3(-2.0f64..2.0),
    ) {
        let turn = Motion { axis, centre, angle, shift: [0.0; 3] };
        let back = Motion { angle: -angle, ..turn };
        let off = |a: Vector, b: Vector| norm(sub(a, b));
        prop_assert!((off(turn.apply(p), turn.apply(q)) - off(p, q)).abs() < 1e-12);
        prop_assert!(off(back.apply(turn.apply(p)), p) < 1e-12);
        prop_assert!(off(turn.apply(centre), centre) < 1e-12);
    }
}

#[test]
fn a_quarter_turn_is_counter_clockwise() {
    let turn = Motion {
        axis: [0.0, 0.0, 2.0],
        centre: [1.0, 0.0, 0.0],
        angle: std::f64::consts::FRAC_PI_2,
        shift: [0.0, 0.0, 5.0],
    };
    let found = turn.apply([2.0, 0.0, 0.0]);
    assert!(norm(sub(found, [1.0, 1.0, 5.0])) < 1e-15, "{found:?}");
}
