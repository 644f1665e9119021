use mesh::generate::{Cube, Cylinder, Disk, Plate, Resolution, Sphere, SphereBase, Torus};
use mesh::internals::lift::{DIGITS, UNIT, too_bent};
use mesh::lift::{smooth, smooth_by};
use mesh::quality::areas;
use mesh::topology::Topology;
use mesh::vector::{Vector, add, norm, scale, sub};
use mesh::{Mesh, Patches, curved, quality};
use std::f64::consts::PI;

fn area(mesh: &Mesh) -> f64 {
    areas(mesh).iter().sum()
}

/// The order of convergence of the area of meshes of `build` with these numbers of triangles.
fn rate(build: impl Fn(Resolution) -> Mesh, counts: [usize; 2], exact: f64) -> f64 {
    let [coarse, fine] = counts.map(|count| {
        let mesh = smooth(&build(Resolution::Elements(count)), 40.0);
        mesh.validate().unwrap();
        assert!(curved::folds(&mesh).is_empty());
        ((area(&mesh) / exact - 1.0).abs(), mesh.triangles.len() as f64)
    });
    2.0 * (coarse.0 / fine.0).ln() / (fine.1 / coarse.1).ln()
}

#[test]
fn middles_of_spheres_are_on_them() {
    for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
        let build = |resolution| Sphere { radius: 3.0, base, resolution }.build().unwrap();
        let mesh = smooth(&build(Resolution::Elements(400)), 40.0);
        let nodes = &mesh.patches.as_ref().unwrap().nodes;
        assert!(nodes.iter().all(|&x| (norm(x) - 3.0).abs() < 1e-12));
        let found = rate(build, [320, 1280], 36.0 * PI);
        assert!(found > 3.7, "{base:?} {found}");
    }
    let torus =
        |resolution| Torus { ring_radius: 2.0, tube_radius: 0.5, resolution }.build().unwrap();
    let found = rate(torus, [1000, 4000], 4.0 * PI * PI);
    assert!(found > 2.8, "{found}");
}

#[test]
fn what_is_flat_stays_flat() {
    let resolution = Resolution::Elements(300);
    let cube = Cube { edge: 1.4, grade: 3.0, resolution }.build().unwrap();
    let plate = Plate { width: 1.0, height: 2.0, grade: 2.0, resolution }.build().unwrap();
    for mesh in [cube, plate] {
        let lifted = smooth(&mesh, 40.0);
        assert_eq!(lifted.patches, Some(Patches::straight(&mesh, 2)));
        assert_eq!(smooth(&lifted, 40.0), lifted);
    }
    // With all edges smooth, a cube is round.
    let cube = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
    let round = smooth(&cube, 100.0);
    assert!(Topology::of(&round).whole.signed_volume > 8.01);
}

/// A rim of twelve sides turns by 30 degrees at each vertex, but for rounding.
#[test]
fn rounding_does_not_decide_what_is_smooth() {
    let resolution = Resolution::Elements(24);
    let mut mesh = Disk { radius: 1.0, grade: 1.0, resolution }.build().unwrap();
    for turn in [0.0, 0.3, 1.1] {
        let (sin, cos) = f64::sin_cos(turn);
        mesh.vertices.iter_mut().for_each(|[x, y, z]| {
            (*y, *z) = (cos * *y - sin * *z, sin * *y + cos * *z);
            (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
        });
        let [at, above] = [30.0, 31.0].map(|angle| smooth(&mesh, angle));
        assert_eq!(at, above);
        assert!((area(&at) / PI - 1.0).abs() < 2e-3, "{}", area(&at));
    }
}

#[test]
fn rims_stay_sharp_and_round() {
    let cylinder = |resolution| Cylinder { radius: 1.0, length: 2.0, resolution }.build().unwrap();
    let mesh = smooth(&cylinder(Resolution::Elements(400)), 40.0);
    for x in &mesh.patches.as_ref().unwrap().nodes {
        // All are on a cap or on the wall.
        let radius = x[0].hypot(x[1]);
        assert!((x[2].abs() - 1.0).abs() < 1e-12 || (radius - 1.0).abs() < 1e-12, "{x:?}");
        assert!(radius < 1.0 + 1e-12 && x[2].abs() < 1.0 + 1e-12);
    }
    let found = rate(cylinder, [400, 1600], 6.0 * PI);
    assert!(found > 3.5, "{found}");
    let disk = |resolution| Disk { radius: 1.0, grade: 1.0, resolution }.build().unwrap();
    let found = rate(disk, [150, 600], PI);
    assert!(found > 3.5, "{found}");
}

#[test]
fn orientation_makes_no_difference_and_normals_may_be_given() {
    let resolution = Resolution::Elements(72);
    let base = SphereBase::Octahedron;
    let mesh = Sphere { radius: 1.0, base, resolution }.build().unwrap();
    let mut turned = mesh.clone();
    for t in [3, 17, 18] {
        turned.triangles[t].swap(1, 2);
    }
    let lifted = smooth(&turned, 40.0);
    let nodes = &lifted.patches.as_ref().unwrap().nodes;
    assert!(nodes.iter().all(|&x| (norm(x) - 1.0).abs() < 1e-12));
    // Normals of an ellipsoid, whose middles they lift otherwise than those of the triangles.
    let ellipsoid = |x: Vector| [x[0], x[1], 1.1 * x[2]];
    let squashed =
        Mesh { vertices: mesh.vertices.iter().map(|&x| ellipsoid(x)).collect(), ..mesh.clone() };
    let normal = |x: &Vector| {
        let n = [x[0], x[1], x[2] / 1.1];
        scale(1.0 / norm(n), n)
    };
    let normals: Vec<Vector> = mesh.vertices.iter().map(normal).collect();
    let off = |lifted: Mesh| -> f64 {
        let nodes = &lifted.patches.as_ref().unwrap().nodes;
        nodes.iter().map(|x| (norm([x[0], x[1], x[2] / 1.1]) - 1.0).abs()).sum()
    };
    let (by_normals, unfit) = smooth_by(&squashed, 40.0, &normals);
    let (own, given) = (off(smooth(&squashed, 40.0)), off(by_normals.clone()));
    assert!(unfit == 0 && given < 0.3 * own, "{unfit} {given} {own}");
    // Which side they point to makes no difference.
    let inward: Vec<Vector> = normals.iter().map(|&n| scale(-1.0, n)).collect();
    assert_eq!(smooth_by(&squashed, 40.0, &inward), (by_normals, 0));
}

/// A mesh whose vertices are moved along its surface by up to `share` of its sides.
fn irregular(mesh: &Mesh, share: f64, onto: impl Fn(Vector) -> Vector) -> Mesh {
    let side = quality::Quality::of(mesh).edge_length.min;
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    let mut mesh = mesh.clone();
    for x in &mut mesh.vertices {
        *x = onto(add(*x, [0; 3].map(|_| share * side * random())));
    }
    mesh
}

/// Errors of area and volume, relative, by the triangles' normals and by exact ones.
fn errors(mesh: &Mesh, normal: impl Fn(Vector) -> Vector, exact: [f64; 2]) -> [[f64; 2]; 2] {
    let normals: Vec<Vector> = mesh.vertices.iter().map(|&x| normal(x)).collect();
    let (by_normals, unfit) = smooth_by(mesh, 60.0, &normals);
    assert_eq!(unfit, 0);
    [smooth(mesh, 60.0), by_normals].map(|lifted| {
        assert!(curved::folds(&lifted).is_empty());
        let volume = Topology::of(&lifted).whole.signed_volume;
        [(area(&lifted) / exact[0] - 1.0).abs(), (volume / exact[1] - 1.0).abs()]
    })
}

/// On spheres both are exact; on tori of irregular triangles middles are far nearer by exact
/// normals.
#[test]
fn exact_normals_are_no_worse_and_better_on_irregular_triangles() {
    let resolution = Resolution::Elements(720);
    let unit = |x: Vector| scale(1.0 / norm(x), x);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    let mesh = irregular(&sphere.build().unwrap(), 0.3, unit);
    let [own, given] = errors(&mesh, unit, [4.0 * PI, 4.0 / 3.0 * PI]);
    assert!((0..2).all(|k| given[k] < 1.01 * own[k]), "{given:?} {own:?}");
    for elements in [1000, 4000] {
        let resolution = Resolution::Elements(elements);
        let torus = Torus { ring_radius: 2.0, tube_radius: 0.5, resolution };
        let out = |[x, y, z]: Vector| {
            let to_ring = 2.0 / x.hypot(y);
            unit([x - to_ring * x, y - to_ring * y, z])
        };
        let onto = |x: Vector| {
            let to_ring = 2.0 / x[0].hypot(x[1]);
            add([to_ring * x[0], to_ring * x[1], 0.0], scale(0.5, out(x)))
        };
        let mesh = irregular(&torus.build().unwrap(), 0.25, onto);
        let [own, given] = errors(&mesh, out, [4.0 * PI * PI, PI * PI]);
        // Errors of estimates cancel in these; that of cubics between exact ends does not.
        assert!((0..2).all(|k| given[k] < 2.0 * own[k]), "{given:?} {own:?}");
        let off = |lifted: &Mesh| {
            let nodes = &lifted.patches.as_ref().unwrap().nodes;
            nodes.iter().map(|&x| norm(sub(x, onto(x)))).sum::<f64>()
        };
        let normals: Vec<Vector> = mesh.vertices.iter().map(|&x| out(x)).collect();
        let (own, given) = (off(&smooth(&mesh, 60.0)), off(&smooth_by(&mesh, 60.0, &normals).0));
        assert!(given < 0.25 * own, "{elements} {given} {own}");
    }
}

#[test]
fn normals_that_do_not_fit_are_counted_and_not_taken() {
    let resolution = Resolution::Elements(288);
    let base = SphereBase::Octahedron;
    let mesh = Sphere { radius: 1.0, base, resolution }.build().unwrap();
    let right = mesh.vertices.clone();
    let mut normals = right.clone();
    normals[3] = [0.0; 3];
    normals[10] = [f64::NAN, 0.0, 1.0];
    normals[20] = scale(1.1, right[20]);
    normals[30] = [right[30][1], -right[30][0], 0.0];
    normals[40] = scale(-1.0, right[40]);
    let (lifted, unfit) = smooth_by(&mesh, 40.0, &normals);
    assert_eq!(unfit, 4);
    let nodes = &lifted.patches.as_ref().unwrap().nodes;
    assert!(nodes.iter().all(|&x| (norm(x) - 1.0).abs() < 1e-12));
    // Fewer than there are vertices, and those of another surface.
    assert_eq!(smooth_by(&mesh, 40.0, &right[..100]).1, right.len() - 100);
    let other: Vec<Vector> =
        right.iter().map(|[x, y, z]| [*x, 0.8 * y - 0.6 * z, 0.6 * y + 0.8 * z]).collect();
    assert_eq!(smooth_by(&mesh, 40.0, &other), (smooth(&mesh, 40.0), right.len()));
    // Rounded to three digits their length is not quite 1, which makes no difference.
    let long: Vec<Vector> = right.iter().map(|&n| scale(1.0 + 0.9 * UNIT, n)).collect();
    let (lifted, unfit) = smooth_by(&mesh, 40.0, &long);
    let nodes = &lifted.patches.as_ref().unwrap().nodes;
    assert!(unfit == 0 && nodes.iter().all(|&x| (norm(x) - 1.0).abs() < 1e-12));
    // Nor does what they are off where those of the triangles are exact, however many.
    let resolution = Resolution::Elements(2000);
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    let tilted = [0.3 * DIGITS, 0.0, 1.0];
    assert_eq!(smooth_by(&plate, 40.0, &vec![tilted; plate.vertices.len()]).1, 0);
    // A cube has them within its faces alone.
    let cube = Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(108) };
    let cube = cube.build().unwrap();
    let (lifted, unfit) = smooth_by(&cube, 40.0, &vec![[0.0; 3]; cube.vertices.len()]);
    assert_eq!((lifted, unfit), (smooth(&cube, 40.0), 24));
}

/// A sliver of a sphere does not fold, but one of the halves does that it might be split into.
#[test]
fn slivers_whose_halves_would_fold_stay_straight() {
    let mut mesh = Mesh {
        vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 0.01, 0.0]],
        triangles: vec![[0, 1, 2]],
        membership: vec![0],
        memberships: vec![vec![]],
        ..Mesh::default()
    };
    let mut patches = Patches::straight(&mesh, 2);
    patches.nodes[3] = [0.5, 0.008, 0.05];
    patches.nodes[5] = [0.5, 0.013, 0.05];
    let [a, b, c] = curved::CORNERS;
    let middle = scale(0.5, add(a, b));
    let halves = [[a, middle, c], [middle, b, c]];
    let folds = halves.map(|h| curved::fold(2, &curved::part(2, &patches.nodes, h, 2)));
    assert!(folds[0].is_some() && folds[1].is_none());
    assert_eq!(curved::fold(2, &patches.nodes), None);
    mesh.patches = Some(patches);
    assert_eq!(too_bent(&mesh), [0]);
    mesh.vertices[2] = [1.0, 0.2, 0.0];
    let nodes = &mut mesh.patches.as_mut().unwrap().nodes;
    (nodes[2], nodes[4], nodes[5]) = ([1.0, 0.2, 0.0], [1.0, 0.1, 0.0], [0.5, 0.108, 0.05]);
    assert_eq!(too_bent(&mesh), [0; 0]);
}
