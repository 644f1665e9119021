use mesh::Mesh;
use mesh::generate::{ConcentricSpheres, Cube, Resolution, Sphere, SphereBase, TwoSpheres};
use mesh::orient::{Faced, Facing, enclosures, face};
use mesh::topology::Topology;
use mesh::vector::{Vector, add};
use proptest::prelude::*;

const RESOLUTION: Resolution = Resolution::Elements(300);

fn sphere(radius: f64) -> Mesh {
    Sphere { radius, base: SphereBase::Icosahedron, resolution: RESOLUTION }.build().unwrap()
}

fn add_to(mesh: &mut Mesh, other: &Mesh, shift: Vector) {
    let first = mesh.vertices.len() as u32;
    mesh.vertices.extend(other.vertices.iter().map(|v| add(*v, shift)));
    mesh.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    mesh.membership.resize(mesh.triangles.len(), 0);
}

/// A ball with two cavities, one of which holds a smaller ball, next to another ball.
fn nested() -> Mesh {
    let mut mesh = sphere(10.0);
    add_to(&mut mesh, &sphere(3.0), [-4.0, 0.0, 0.0]);
    add_to(&mut mesh, &sphere(3.0), [4.0, 0.0, 0.0]);
    add_to(&mut mesh, &sphere(1.0), [4.5, 0.0, 0.0]);
    add_to(&mut mesh, &sphere(2.0), [0.0, 13.0, 0.0]);
    mesh
}

#[test]
fn nesting_is_found_whatever_the_normals() {
    let mut mesh = nested();
    for corners in mesh.triangles.iter_mut().skip(100) {
        corners.swap(0, 1);
    }
    face(&mut mesh, Facing::Outward);
    let found = enclosures(&mesh, &Topology::of(&mesh));
    let depths: Vec<u32> = found.iter().map(|e| e.depth).collect();
    let parents: Vec<Option<u32>> = found.iter().map(|e| e.parent).collect();
    assert_eq!(depths, [0, 1, 1, 2, 0]);
    assert_eq!(parents, [None, Some(0), Some(0), Some(2), None]);
    let ball = 4.0 / 3.0 * std::f64::consts::PI;
    // The 180 facets lie within the ball.
    assert!((0.9..1.0).contains(&(found[3].volume / ball)));
}

#[test]
fn normals_are_turned_out_of_each_body_or_out_of_the_solid() {
    let mut mesh = nested();
    let volumes = |mesh: &Mesh| -> Vec<bool> {
        Topology::of(mesh).components.iter().map(|part| part.signed_volume > 0.0).collect()
    };
    assert_eq!(face(&mut mesh, Facing::Outward), Faced::default());
    let faced = face(&mut mesh, Facing::OutOfSolid);
    assert_eq!(volumes(&mesh), [true, false, false, true, true]);
    let third = mesh.triangles.len() / 5;
    assert_eq!(faced.turned, 2 * third);
    face(&mut mesh, Facing::Outward);
    assert_eq!(volumes(&mesh), [true; 5]);
}

#[test]
fn open_and_one_sided_surfaces_are_left_as_they_are() {
    let mut mesh = sphere(1.0);
    mesh.triangles.pop();
    mesh.membership.pop();
    let before = mesh.clone();
    assert_eq!(face(&mut mesh, Facing::Outward).open, [0]);
    assert_eq!(mesh, before);

    // A band of seven triangles with half a turn: Moebius.
    let mut band = Mesh { memberships: vec![vec![]], ..Mesh::default() };
    for k in 0..7 {
        let angle = std::f64::consts::TAU * f64::from(k) / 7.0;
        band.vertices.push([angle.cos(), angle.sin(), f64::from(k % 2)]);
    }
    band.triangles = (0..7).map(|k| [k, (k + 1) % 7, (k + 2) % 7]).collect();
    band.membership = vec![0; 7];
    assert_eq!(face(&mut band, Facing::Outward).unorientable, [0]);
}

#[test]
fn bodies_that_touch_from_within_are_inside() {
    let cube = |edge| Cube { edge, grade: 1.0, resolution: RESOLUTION }.build().unwrap();
    let mut mesh = cube(4.0);
    add_to(&mut mesh, &cube(2.0), [1.0, 1.0, 1.0]);
    let found = enclosures(&mesh, &Topology::of(&mesh));
    assert_eq!((found[0].depth, found[1].depth), (0, 1));
    // One surface twice: neither is in the other.
    let mut mesh = cube(2.0);
    add_to(&mut mesh, &cube(2.0), [0.0; 3]);
    let found = enclosures(&mesh, &Topology::of(&mesh));
    assert_eq!((found[0].depth, found[1].depth), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn any_triangles_turned_are_turned_back(flips in prop::collection::vec(any::<bool>(), 300)) {
        let concentric = ConcentricSpheres {
            inner_radius: 1.0, outer_radius: 2.0, base: SphereBase::Octahedron, resolution: RESOLUTION,
        };
        let apart = TwoSpheres { radius: 1.0, distance: 3.0, base: SphereBase::Octahedron, resolution: RESOLUTION };
        for mesh in [concentric.build().unwrap(), apart.build().unwrap()] {
            let mut changed = mesh.clone();
            for (corners, _) in changed.triangles.iter_mut().zip(&flips).filter(|(_, flip)| **flip) {
                corners.swap(1, 2);
            }
            let faced = face(&mut changed, Facing::Outward);
            prop_assert_eq!(faced.turned, flips.iter().take(mesh.triangles.len()).filter(|flip| **flip).count());
            prop_assert_eq!(changed, mesh);
        }
    }
}
