use mesh::Mesh;
use mesh::creases::{Creases, find};
use mesh::generate::{Cube, Disk, Plate, Resolution, Sphere, SphereBase};
use mesh::internals::creases::none;
use mesh::vector::{Vector, norm, scale};

/// Of all triangles, as one surface.
fn of(mesh: &Mesh, angle_degrees: f64) -> Creases {
    find(mesh, |_| Some(0), angle_degrees)
}

fn mesh_of(vertices: Vec<Vector>, triangles: Vec<[u32; 3]>) -> Mesh {
    let membership = vec![0; triangles.len()];
    let mesh =
        Mesh { vertices, triangles, membership, memberships: vec![vec![]], ..Mesh::default() };
    mesh.validate().unwrap();
    mesh
}

/// Sheets of unit squares from the z axis out, at these angles; vertices 0 and 1 are on the
/// axis.
fn sheets(angles: &[f64]) -> Mesh {
    let mut vertices = vec![[0.0; 3], [0.0, 0.0, 1.0]];
    let mut triangles = Vec::new();
    for (k, angle) in (0..).zip(angles) {
        let (y, x) = angle.to_radians().sin_cos();
        vertices.extend([[x, y, 0.0], [x, y, 1.0]]);
        let (low, high) = (2 + 2 * k, 3 + 2 * k);
        triangles.extend([[0, low, high], [0, high, 1]]);
    }
    mesh_of(vertices, triangles)
}

#[test]
fn a_cube_has_its_twelve_edges_and_no_diagonals() {
    for n in [1, 2, 5] {
        let resolution = Resolution::Elements(12 * n * n);
        let cube = Cube { edge: 1.4, grade: 1.0, resolution }.build().unwrap();
        let creases = of(&cube, 40.0);
        assert_eq!(creases.edges().len(), 12 * n);
        let extremes = |v: u32| cube.vertices[v as usize].map(|x| (x.abs() - 0.7).abs() < 1e-12);
        for &(p, q) in creases.edges() {
            assert!(p < q && creases.is_sharp(p, q) && creases.is_sharp(q, p));
            // Both ends are on the same two faces.
            let [a, b] = [p, q].map(|v| cube.vertices[v as usize]);
            assert_eq!((0..3).filter(|&k| extremes(p)[k] && a[k] == b[k]).count(), 2);
        }
        for v in 0..cube.vertices.len() as u32 {
            let faces = extremes(v).iter().filter(|on| **on).count();
            assert_eq!(creases.is_on(v), faces > 1);
        }
        let sides = |[a, b, c]: [u32; 3]| [(a, b), (b, c), (c, a)];
        let sharp = cube.triangles.iter().flat_map(|&t| sides(t));
        assert_eq!(sharp.filter(|&edge| creases.is_sharp(edge.0, edge.1)).count(), 24 * n);
        // The angle is that between normals, and has to be exceeded by more than rounding.
        assert_eq!(of(&cube, 89.0), creases);
        assert_eq!(of(&cube, 90.0), none(cube.vertices.len()));
        assert!(!creases.is_on(u32::MAX) && !creases.is_sharp(0, u32::MAX));
    }
}

#[test]
fn curved_triangles_meet_as_their_tangent_planes_do() {
    let resolution = Resolution::Elements(72);
    let sphere = Sphere { radius: 3.0, base: SphereBase::Octahedron, resolution };
    // Normals of facets differ by more.
    assert!(of(&sphere.build().unwrap(), 20.0).edges().len() > 50);
    for order in 2..=4 {
        let curved = sphere.build_curved(order).unwrap();
        assert_eq!(of(&curved, 5.0), none(38));
    }
}

#[test]
fn films_end_at_their_rims_and_spheres_nowhere() {
    let resolution = Resolution::Elements(720);
    let plate = Plate { width: 2.0, height: 1.0, grade: 2.0, resolution }.build().unwrap();
    let creases = of(&plate, 40.0);
    let is_rim = |v: u32| {
        let [x, y, _] = plate.vertices[v as usize];
        (x.abs() - 1.0).abs() < 1e-12 || (y.abs() - 0.5).abs() < 1e-12
    };
    let rim = (0..plate.vertices.len() as u32).filter(|&v| is_rim(v)).count();
    assert_eq!(creases.edges().len(), rim);
    assert!((0..plate.vertices.len() as u32).all(|v| creases.is_on(v) == is_rim(v)));
    let disk = Disk { radius: 1.0, grade: 1.0, resolution }.build().unwrap();
    assert!(of(&disk, 40.0).edges().iter().all(|&(p, q)| {
        [p, q].iter().all(|&v| (norm(disk.vertices[v as usize]) - 1.0).abs() < 1e-12)
    }));
    for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
        for elements in [720, 5000] {
            let resolution = Resolution::Elements(elements);
            let sphere = Sphere { radius: 3.0, base, resolution }.build().unwrap();
            assert_eq!(of(&sphere, 40.0), none(sphere.vertices.len()));
            // All its edges are bent.
            assert_eq!(of(&sphere, 0.0).edges().len(), 3 * sphere.triangles.len() / 2);
        }
    }
}

#[test]
fn sheets_meet_at_triple_lines_and_bend_beyond_the_angle() {
    let is_sharp = |angles: &[f64], limit| of(&sheets(angles), limit).is_sharp(0, 1);
    assert!(is_sharp(&[0.0], 40.0));
    assert!(is_sharp(&[0.0, 120.0, 240.0], 40.0) && is_sharp(&[0.0, 120.0, 240.0], 180.0));
    assert!(is_sharp(&[0.0, 90.0, 180.0, 270.0], 40.0));
    // From 0 degrees on the second sheet is flat at 180.
    for (angle, bend) in [(180.0, 0.0), (145.0, 35.0), (225.0, 45.0), (90.0, 90.0)] {
        assert!(is_sharp(&[0.0, angle], bend - 1.0), "{angle}");
        assert!(!is_sharp(&[0.0, angle], bend + 1.0), "{angle}");
        assert!(!is_sharp(&[0.0, angle], bend), "{angle}");
    }
    // Folded back onto itself, and nearly so.
    assert!(is_sharp(&[0.0, 0.0], 179.0) && is_sharp(&[0.0, 1e-6], 179.0));
}

#[test]
fn orientation_makes_no_difference() {
    for (angle, expected) in [(180.0, false), (150.0, false), (100.0, true), (0.0, true)] {
        for reversed in [vec![], vec![0, 1], vec![1], vec![2, 3], vec![0, 1, 2, 3]] {
            let mut mesh = sheets(&[0.0, angle]);
            reversed.iter().for_each(|&t: &usize| mesh.triangles[t].swap(0, 1));
            let creases = of(&mesh, 40.0);
            assert_eq!(creases.is_sharp(0, 1), expected, "{angle} {reversed:?}");
            // The diagonals of the squares stay flat, their outer sides are rims.
            assert_eq!(creases.edges().len(), 6 + usize::from(expected));
        }
    }
}

#[test]
fn surfaces_end_where_others_begin_and_dropped_triangles_are_not_there() {
    let flat = sheets(&[0.0, 180.0]);
    let sharp = |surface: &(dyn Fn(usize) -> Option<u32> + Sync), mesh: &Mesh| {
        find(mesh, surface, 40.0).is_sharp(0, 1)
    };
    assert!(!sharp(&|_| Some(7), &flat));
    assert!(sharp(&|t| Some((t / 2) as u32), &flat));
    assert!(sharp(&|t| (t / 2 == 0).then_some(0), &flat));
    assert!(!sharp(&|_| None, &flat));
    // Of three sheets one is dropped.
    let three = sheets(&[0.0, 90.0, 180.0]);
    assert!(!sharp(&|t| (t / 2 != 1).then_some(0), &three));
    assert!(sharp(&|t| (t / 2 != 0).then_some(0), &three));
}

#[test]
fn neither_the_unit_nor_triangles_without_area_matter() {
    let resolution = Resolution::Elements(48);
    let cube = Cube { edge: 1.0, grade: 1.0, resolution }.build().unwrap();
    let expected = of(&cube, 40.0);
    for unit in [1e-90, 1e99] {
        let mut scaled = cube.clone();
        scaled.vertices.iter_mut().for_each(|v| *v = scale(unit, *v));
        assert_eq!(of(&scaled, 40.0), expected);
    }
    let vertices = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.0]];
    let needle = mesh_of(vertices, vec![[0, 1, 2], [1, 0, 3], [2, 2, 2]]);
    let creases = of(&needle, 40.0);
    assert!(!creases.is_sharp(0, 1) && creases.is_sharp(0, 3));
}
