use mesh::Mesh;
use mesh::contact::{Touch, contacts};
use mesh::generate::{Cube, Plate, Resolution};
use mesh::join::joined;
use mesh::patch::MAX_ORDER;
use mesh::vector::{Vector, add, scale, sub};

/// Two bodies, the second moved, as two conductors; and the same at other sizes and places,
/// where nothing may change.
fn touches(first: &Mesh, second: &Mesh, shift: Vector) -> Option<Touch> {
    let mut other = second.clone();
    for vertex in &mut other.vertices {
        *vertex = add(*vertex, shift);
    }
    if let Some(patches) = &mut other.patches {
        patches.nodes.iter_mut().for_each(|x| *x = add(*x, shift));
    }
    let both = joined(vec![("a".into(), first.clone()), ("b".into(), other)]);
    let owner = |t: usize| Some(u32::from(t >= first.triangles.len()));
    let owners: Vec<_> = (0..both.triangles.len()).map(owner).collect();
    let mut found = Vec::new();
    for (factor, origin) in [(1.0, 0.0), (1e-9, 0.0), (1e9, 3.0), (1.0, -700.0)] {
        let mut mesh = both.clone();
        for vertex in &mut mesh.vertices {
            *vertex = vertex.map(|x| factor * (x + origin));
        }
        mesh.with_patches(|mesh, patches| {
            patches.nodes.iter_mut().flatten().for_each(|x| *x = factor * (*x + origin));
            patches.put_corners(mesh);
        });
        found.push(contacts(&mesh, &owners).first().map(|contact| contact.touch));
        // In one conductor there are none, whatever touches.
        assert_eq!(contacts(&mesh, &vec![Some(3); mesh.triangles.len()]), []);
    }
    assert!(found.iter().all(|touch| *touch == found[0]), "{shift:?}: {found:?}");
    found[0]
}

fn cube(edge: f64, elements: usize) -> Mesh {
    Cube { edge, grade: 1.0, resolution: Resolution::Elements(elements) }.build().unwrap()
}

#[test]
fn lines_and_points_of_contact_are_found_with_and_without_common_vertices() {
    // 2 x 2, 3 x 3 and 5 x 5 squares a face: no vertices in common but at corners.
    let (two, three, five) = (cube(1.0, 48), cube(1.0, 108), cube(0.5, 300));
    let along_an_edge = [1.0, 1.0, 0.0];
    assert_eq!(touches(&two, &two, along_an_edge), Some(Touch::Line));
    assert_eq!(touches(&two, &three, along_an_edge), Some(Touch::Line));
    assert_eq!(touches(&two, &three, [1.0, 1.0, 0.37]), Some(Touch::Line));
    assert_eq!(touches(&two, &three, [1.0, 1.0, 1.0]), Some(Touch::Point));
    // An edge on a face, and a face on a face, which shares no corner with it.
    assert_eq!(touches(&two, &five, [0.1, 0.75, 0.05]), Some(Touch::Line));
    // With a gap of 1e-6, and apart.
    assert_eq!(touches(&two, &two, [1.000001, 1.0, 0.0]), None);
    assert_eq!(touches(&two, &three, [1.0, 1.000001, 0.37]), None);
    assert_eq!(touches(&two, &five, [0.1, 0.750001, 0.05]), None);
    assert_eq!(touches(&two, &two, [3.0, 0.0, 0.0]), None);
    // On either side of the gap that counts as none, by the longest sides of the triangles.
    let gap = |share: f64| [1.0 + share * TOUCHING_OF_HALF, 1.0, 0.0];
    assert_eq!(touches(&two, &two, gap(0.5)), Some(Touch::Line));
    assert_eq!(touches(&two, &two, gap(2.0)), None);
}

/// A billionth of the diagonal of a square with sides of a half.
const TOUCHING_OF_HALF: f64 = 1e-9 * std::f64::consts::FRAC_1_SQRT_2;

#[test]
fn curved_bodies_touch_where_their_nodes_are_the_same() {
    use mesh::generate::{Cylinder, Sphere, SphereBase};
    for order in 2..=MAX_ORDER {
        let resolution = Resolution::Elements(200);
        let cylinder = |radius: f64, length: f64| {
            Cylinder { radius, length, resolution }.build_curved(order).unwrap()
        };
        let rod = cylinder(1.0, 2.0);
        // End to end, by the same triangles; by others, some of them flat; by a line of the
        // mantles; and with gaps.
        assert_eq!(touches(&rod, &rod, [0.0, 0.0, 2.0]), Some(Touch::Line));
        assert_eq!(touches(&rod, &cylinder(0.7, 2.0), [0.0, 0.0, 2.0]), Some(Touch::Line));
        assert_eq!(touches(&rod, &rod, [2.0, 0.0, 0.37]), Some(Touch::Line));
        assert_eq!(touches(&rod, &rod, [0.0, 0.0, 2.000001]), None);
        assert_eq!(touches(&rod, &rod, [2.000001, 0.0, 0.37]), None);
        // A vertex on a vertex, and balls whose boxes meet, but neither triangles nor chords.
        let base = SphereBase::Octahedron;
        let resolution = Resolution::Elements(32);
        let ball = Sphere { radius: 1.0, base, resolution }.build_curved(order).unwrap();
        assert_eq!(touches(&ball, &ball, [2.0, 0.0, 0.0]), Some(Touch::Point));
        assert_eq!(touches(&ball, &ball, [1.2, 1.2, 1.2]), None);
        // Flat triangles would touch: the middle of a chord is on a corner of the cube.
        let box_ = cube(1.0, 48);
        let corner = scale(-0.5, [1.0; 3]);
        let chord = scale(0.5, add([1.0, 0.0, 0.0], [0.5f64.sqrt(), 0.5f64.sqrt(), 0.0]));
        assert_eq!(touches(&ball, &box_, sub(chord, corner)), None);
    }
}

#[test]
fn walls_on_plates_and_crossing_edges_are_found() {
    let plate = |width: f64, height: f64, elements: usize| {
        let resolution = Resolution::Elements(elements);
        Plate { width, height, grade: 1.0, resolution }.build().unwrap()
    };
    let floor = plate(2.0, 2.0, 32);
    // Upright, its lower side in the floor or above it.
    let mut wall = plate(0.7, 1.0, 18);
    for vertex in &mut wall.vertices {
        *vertex = [vertex[0], 0.01, vertex[1] + 0.5];
    }
    assert_eq!(touches(&floor, &wall, [0.03, 0.0, 0.0]), Some(Touch::Line));
    assert_eq!(touches(&floor, &wall, [0.03, 0.0, 1e-7]), None);
    // On a corner of its own; by an edge across the floor's edge.
    let mut tilted = wall.clone();
    for vertex in &mut tilted.vertices {
        let [x, y, z] = *vertex;
        let (x, z) = (0.8 * (x + 0.35) - 0.6 * z, 0.6 * (x + 0.35) + 0.8 * z);
        *vertex = [x, y, z];
    }
    assert_eq!(touches(&floor, &tilted, [0.0; 3]), Some(Touch::Point));
    let mut lower = wall.clone();
    for vertex in &mut lower.vertices {
        *vertex = [0.2 - vertex[2], 1.0 + vertex[0], -vertex[0]];
    }
    assert_eq!(touches(&floor, &lower, [0.01, 0.0, 0.0]), Some(Touch::Line));
}
