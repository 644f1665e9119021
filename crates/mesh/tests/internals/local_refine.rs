use mesh::generate::{Cube, Resolution, Sphere, SphereBase};
use mesh::internals::local_refine::{EQUAL, longest_side};
use mesh::internals::locate::distance_squared;
use mesh::local_refine::{Sizes, around_points};
use mesh::refine::Error;
use mesh::topology::Topology;
use mesh::vector::{norm, sub};
use mesh::{Mesh, quality};

fn smallest_angle(mesh: &Mesh) -> f64 {
    (0..mesh.triangles.len())
        .flat_map(|t| {
            let [a, b, c] = mesh.corners(t);
            [(a, b, c), (b, c, a), (c, a, b)].map(|(a, b, c)| {
                let (u, v) = (sub(b, a), sub(c, a));
                (mesh::vector::dot(u, v) / (norm(u) * norm(v))).clamp(-1.0, 1.0).acos()
            })
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn triangles_next_to_points_are_small_and_the_surface_is_the_same() {
    let sphere = Sphere {
        radius: 1.0,
        base: SphereBase::Icosahedron,
        resolution: Resolution::Elements(320),
    };
    let cube = Cube { edge: 1.3, grade: 1.0, resolution: Resolution::Elements(432) };
    for mesh in [sphere.build().unwrap(), cube.build().unwrap()] {
        let middle = |t: usize| -> [f64; 3] {
            let [a, b, c] = mesh.corners(t);
            std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0)
        };
        let points =
            [middle(7).map(|x| 1.001 * x), mesh.vertices[20].map(|x| 1.0003 * x), middle(100)];
        let (ratio, floor) = (0.7, 1e-4);
        let sizes = Sizes { coarse: 2.0, ratio, floor, most: 100_000 };
        let fine = around_points(&mesh, &points, sizes).unwrap();
        fine.validate().unwrap();
        for t in 0..fine.triangles.len() {
            let corners = fine.corners(t);
            let distance = points
                .iter()
                .map(|p| distance_squared(*p, corners).sqrt())
                .fold(f64::INFINITY, f64::min);
            assert!(longest_side(corners) <= ratio * distance.max(floor) * EQUAL, "{t}");
        }
        // Graded: some 60 triangles for each halving of the distance, not thousands.
        let added = fine.triangles.len() - mesh.triangles.len();
        assert!(added > 300 && added < 5000, "{added}");
        let area = |mesh: &Mesh| quality::areas(mesh).iter().sum::<f64>();
        assert!((area(&fine) / area(&mesh) - 1.0).abs() < 1e-12);
        let topology = Topology::of(&fine);
        assert_eq!(topology.components.len(), 1);
        let volume = |mesh: &Mesh| Topology::of(mesh).whole.signed_volume;
        assert!((volume(&fine) / volume(&mesh) - 1.0).abs() < 1e-12);
        // Cutting the side next to the smallest angle of a right isosceles triangle leaves
        // atan(1/3) of its 45 degrees.
        let bound = (1.0f64 / 3.0).atan() / 45f64.to_radians();
        let (fine, mesh) = (smallest_angle(&fine), smallest_angle(&mesh));
        assert!(fine > 0.99 * bound * mesh, "{fine} {mesh}");
    }
}

/// Equal triangles, as sets of points, however the mesh is numbered, and moved with it.
#[test]
fn the_order_of_triangles_makes_no_difference() {
    let cube = Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(192) };
    let mesh = cube.build().unwrap();
    let points = [[0.1, 0.15, 0.5 + 1e-3], [-0.5 - 3e-3, 0.25, 0.125]];
    let sizes = Sizes { coarse: 2.0, ratio: 1.0, floor: 1e-9, most: 100_000 };
    let set = |mesh: &Mesh, shift: f64| {
        let key = |t: usize| {
            let mut corners =
                mesh.corners(t).map(|v| v.map(|x| ((x - shift) * 1e9).round() as i64));
            corners.sort_unstable();
            corners
        };
        let mut keys: Vec<_> = (0..mesh.triangles.len()).map(key).collect();
        keys.sort_unstable();
        keys
    };
    let expected = set(&around_points(&mesh, &points, sizes).unwrap(), 0.0);
    assert!(expected.len() > 400, "{}", expected.len());
    let mut other = mesh.clone();
    other.triangles.reverse();
    other.triangles.iter_mut().for_each(|t| t.rotate_left(1));
    let count = other.vertices.len() as u32;
    other.vertices.reverse();
    other.triangles.iter_mut().for_each(|t| *t = t.map(|v| count - 1 - v));
    assert_eq!(set(&around_points(&other, &points, sizes).unwrap(), 0.0), expected);
    let shift = 0.37;
    other.vertices.iter_mut().for_each(|v| *v = v.map(|x| x + shift));
    let points = points.map(|p| p.map(|x| x + shift));
    assert_eq!(set(&around_points(&other, &points, sizes).unwrap(), shift), expected);
}

#[test]
fn what_needs_nothing_stays_and_too_much_is_an_error() {
    let cube = Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(192) };
    let mesh = cube.build().unwrap();
    let sizes = Sizes { coarse: 2.0, ratio: 1.0, floor: 1e-9, most: 300 };
    assert_eq!(around_points(&mesh, &[[0.0; 3]], sizes).unwrap(), mesh);
    assert_eq!(around_points(&mesh, &[], sizes).unwrap(), mesh);
    let close = [[0.1, 0.1, 0.5 + 1e-6]];
    assert!(matches!(around_points(&mesh, &close, sizes), Err(Error::TooMany(_))));
}
