//! Capacitances of bodies whose answer is known, and the ways to get them against each other.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::sync::Mutex;

use bem::{
    Capacitance, Conductors, Density, Error, Method, NoProgress, Progress, SolveOptions, Stage,
    StopReason, capacitance,
};
use mesh::Mesh;
use mesh::generate::{Bus, Cube, Disk, Plate, Resolution, Sphere, SphereBase, TwoSpheres};

fn reference() -> serde_json::Value {
    serde_json::from_str(include_str!("data/capacitance.json")).unwrap()
}

/// Each physical group is a conductor.
fn solve_with(mesh: &Mesh, options: &SolveOptions) -> Capacitance {
    let group = |&m: &u32| mesh.memberships[m as usize].first().copied();
    let of_triangle: Vec<Option<u32>> = mesh.membership.iter().map(group).collect();
    let conductors = Conductors { of_triangle: &of_triangle, count: mesh.groups.len() };
    let answer = capacitance(mesh, conductors, options, &NoProgress).unwrap();
    for solve in &answer.solves {
        assert_eq!(solve.reason, StopReason::Converged, "{solve:?}");
        assert!(solve.relative_residual <= options.tolerance);
    }
    answer
}

fn options(method: Method, tolerance: f64) -> SolveOptions {
    SolveOptions::default().method(method).tolerance(tolerance)
}

fn one(mesh: &Mesh, method: Method) -> f64 {
    solve_with(mesh, &options(method, 1e-7)).maxwell[0][0]
}

fn sphere(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution }.build().unwrap()
}

fn cube(elements: usize, grade: f64) -> Mesh {
    Cube { edge: 1.0, grade, resolution: Resolution::Elements(elements) }.build().unwrap()
}

fn two_spheres(distance: f64, elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    TwoSpheres { radius: 1.0, distance, base: SphereBase::Octahedron, resolution }.build().unwrap()
}

/// Largest difference of two matrices relative to the largest entry.
fn difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    let largest = a.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
}

#[test]
fn sphere_converges_with_second_order() {
    let levels = [128, 512, 2048, 8192];
    let errors: Vec<f64> = levels.iter().map(|&n| 1.0 - one(&sphere(n), Method::Auto)).collect();
    for pair in errors.windows(2) {
        // Inscribed facets: from below; second order with a remainder of fourth.
        assert!(pair[1] > 0.0);
        let order = (pair[0] / pair[1]).log2();
        assert!((order - 2.0).abs() < 0.1, "order {order}");
    }
    assert!(errors[3] < 4.95e-4, "bempp-cl has 4.9e-4 at 8,192: {}", errors[3]);
}

#[test]
fn cube_is_approached_from_below() {
    let exact = reference()["cube"]["value"].as_f64().unwrap();
    let error = |n, grade| 1.0 - one(&cube(n, grade), Method::Fmm) / exact;
    let uniform = error(8200, 1.0);
    assert!(uniform > 0.0 && uniform < 4.7e-4, "uniform {uniform:.2e}");
    let graded = error(7000, 1000.0);
    assert!(graded > 0.0 && graded < 1e-5, "graded {graded:.2e}");
}

#[test]
fn open_surfaces() {
    let exact = &reference();
    let resolution = Resolution::Elements(3000);
    let plate = Plate { width: 1.0, height: 1.0, grade: 30.0, resolution }.build().unwrap();
    let disk = Disk { radius: 1.0, grade: 30.0, resolution }.build().unwrap();
    let plate = one(&plate, Method::Fmm) / exact["square_plate"]["value"].as_f64().unwrap() - 1.0;
    let disk = one(&disk, Method::Fmm) / exact["disk"]["value"].as_f64().unwrap() - 1.0;
    // A lower bound on the meshed body: the plate is meshed exactly, the disk from within.
    assert!(plate < 5e-6 && plate > -5e-4, "{plate:.2e}");
    assert!(disk < 0.0 && disk > -2e-3, "{disk:.2e}");
}

#[test]
fn two_spheres_give_the_full_symmetric_matrix() {
    let exact = &reference()["two_unit_spheres_distance_3"];
    let exact = [exact["c11"].as_f64().unwrap(), exact["c12"].as_f64().unwrap()];
    let error = |n| {
        let answer = solve_with(&two_spheres(3.0, n), &options(Method::Fmm, 1e-8));
        let c = &answer.maxwell;
        let asymmetry = (c[0][1] - c[1][0]).abs() / c[0][0];
        assert!(asymmetry < 1e-6, "{asymmetry:.1e}");
        [c[0][0] / exact[0] - 1.0, c[0][1] / exact[1] - 1.0]
    };
    let (coarse, fine) = (error(1024), error(4096));
    for k in 0..2 {
        let order = (coarse[k] / fine[k]).log2();
        assert!((order - 2.0).abs() < 0.15, "entry {k}: order {order}");
    }
}

#[test]
fn fast_and_dense_agree() {
    let resolution = Resolution::Elements(1500);
    let bus = Bus { bars: 2, width: 1.0, spacing: 1.0, gap: 1.0, grade: 5.0, resolution }
        .build()
        .unwrap();
    for (name, mesh) in [
        ("graded cube", cube(1200, 300.0)),
        ("two spheres, narrow gap", two_spheres(2.02, 1500)),
        ("bus", bus),
    ] {
        let dense = solve_with(&mesh, &options(Method::Dense, 1e-6));
        let fast = solve_with(&mesh, &options(Method::Fmm, 1e-6));
        let allowed = 10.0 * fast.fmm_tolerance.unwrap();
        let found = difference(&dense.maxwell, &fast.maxwell);
        assert!(found < allowed, "{name}: {found:.1e}");
        assert!(fast.fmm_error_sampled.unwrap() < fast.fmm_tolerance.unwrap());
    }
}

/// Two square plates face each other, panel by panel: the closer, the more their entries cancel.
#[test]
fn facing_sheets() {
    for gap in [0.1, 1e-2, 1e-3, 1e-5] {
        let resolution = Resolution::Elements(200);
        let mut mesh = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
        let (vertices, triangles) = (mesh.vertices.len() as u32, mesh.triangles.len());
        mesh.vertices.extend(mesh.vertices.clone().iter().map(|v| [v[0], v[1], v[2] + gap]));
        mesh.triangles.extend(mesh.triangles.clone().iter().map(|t| t.map(|v| v + vertices)));
        let of_triangle: Vec<Option<u32>> =
            (0..2 * triangles).map(|i| Some(u32::from(i >= triangles))).collect();
        let conductors = Conductors { of_triangle: &of_triangle, count: 2 };
        let solve =
            |method| capacitance(&mesh, conductors, &options(method, 1e-6), &NoProgress).unwrap();
        let (dense, fast) = (solve(Method::Dense), solve(Method::Fmm));
        let finer = options(Method::Dense, 1e-6).quadrature_increment(2);
        let finer = capacitance(&mesh, conductors, &finer, &NoProgress).unwrap();
        let (fast, finer) =
            (difference(&dense.maxwell, &fast.maxwell), difference(&dense.maxwell, &finer.maxwell));
        // Ten times the fast sum's tolerance, and what the issue asks of quadrature.
        assert!(fast < 3e-6, "gap {gap}: {fast:.1e}");
        assert!(finer < 1e-6, "gap {gap}: {finer:.1e}");
        // Above the ideal plate's by the stray field.
        let ideal = 1.0 / (4.0 * std::f64::consts::PI * gap);
        let ratio = -dense.maxwell[0][1] / ideal;
        assert!(ratio > 1.0 && ratio < 1.0 + 10.0 * gap, "gap {gap}: {ratio}");
    }
}

#[test]
fn size_and_place_change_nothing_but_rounding() {
    let mesh = two_spheres(2.5, 1000);
    let moved = |scale: f64, shift: f64| {
        let mut mesh = mesh.clone();
        let place =
            |v: &mut [f64; 3]| *v = [v[0] + shift, v[1] - shift, v[2] + shift].map(|x| x * scale);
        mesh.vertices.iter_mut().for_each(place);
        mesh
    };
    // A shift of 1,000 sizes rounds the coordinates themselves to 1e-13 of the size. Rounding also
    // moves points between the boxes of the fast sum, which changes it within its tolerance.
    for (method, allowed) in [(Method::Dense, 1e-11), (Method::Fmm, 3e-9)] {
        let base = solve_with(&mesh, &options(method, 1e-8)).maxwell;
        for (scale, shift) in [(1e-9, 0.0), (1e9, 0.0), (1.0, 4500.0)] {
            let answer = solve_with(&moved(scale, shift), &options(method, 1e-8)).maxwell;
            let answer: Vec<Vec<f64>> =
                answer.iter().map(|row| row.iter().map(|c| c / scale).collect()).collect();
            let found = difference(&base, &answer);
            assert!(found < allowed, "{method:?} {scale} {shift}: {found:.1e}");
        }
    }
}

#[test]
fn higher_quadrature_orders_change_less_than_a_millionth() {
    for (name, mesh) in [
        ("sphere", sphere(200)),
        ("graded cube", cube(432, 300.0)),
        ("narrow gap", two_spheres(2.02, 1000)),
    ] {
        for method in [Method::Dense, Method::Fmm] {
            let at = |quadrature_increment| {
                let options = options(method, 1e-8).quadrature_increment(quadrature_increment);
                solve_with(&mesh, &options).maxwell
            };
            let found = difference(&at(0), &at(2));
            assert!(found < 1e-6, "{name} {method:?}: {found:.1e}");
        }
    }
}

#[test]
fn density_integrates_to_the_charge_and_ignored_triangles_have_none() {
    let mesh = two_spheres(3.0, 500);
    let group = |&m: &u32| mesh.memberships[m as usize].first().copied();
    let of_triangle: Vec<Option<u32>> =
        mesh.membership.iter().map(group).map(|g| g.filter(|&g| g == 1).map(|_| 0)).collect();
    let conductors = Conductors { of_triangle: &of_triangle, count: 1 };
    let answer = capacitance(&mesh, conductors, &options(Method::Auto, 1e-8), &NoProgress).unwrap();
    let mut charge = 0.0;
    for (i, triangle) in mesh.triangles.iter().enumerate() {
        let area = bem::Triangle::new(triangle.map(|v| mesh.vertices[v as usize])).area();
        charge += area * answer.density[0][i];
        assert_eq!(answer.density[0][i] == 0.0, of_triangle[i].is_none());
    }
    // Q / eps = 4 pi C at 1 V.
    let expected = 4.0 * std::f64::consts::PI * answer.maxwell[0][0];
    assert!((charge / expected - 1.0).abs() < 1e-12);
}

#[test]
fn many_triangles_go_through_the_fast_sum() {
    let mesh = cube(7000, 1.0);
    let answer = solve_with(&mesh, &SolveOptions::default());
    assert_eq!(answer.method, Method::Fmm);
    assert!(answer.solves[0].iterations <= 12);
    assert_eq!(answer.solves[0].history.len(), answer.solves[0].iterations + 1);
}

struct StopAt(Stage);

impl Progress for StopAt {
    fn advance(&self, stage: Stage, done: u64, _: u64) -> bool {
        !(stage == self.0 && done > 0)
    }
}

/// How far each stage got, and how far it was to get.
#[derive(Default)]
struct Reports(Mutex<Vec<(Stage, u64, u64)>>);

impl Progress for Reports {
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool {
        self.0.lock().unwrap().push((stage, done, total));
        true
    }
}

#[test]
fn the_near_field_is_reported_to_its_end() {
    let mesh = sphere(512);
    let of_triangle = vec![Some(0); mesh.triangles.len()];
    let conductors = Conductors { of_triangle: &of_triangle, count: 1 };
    for density in [Density::Constant, Density::Linear] {
        let (reports, options) = (Reports::default(), options(Method::Fmm, 1e-6).density(density));
        capacitance(&mesh, conductors, &options, &reports).unwrap();
        let reports = reports.0.into_inner().unwrap();
        let near = reports.iter().filter(|(stage, ..)| *stage == Stage::NearField);
        let near: Vec<(u64, u64)> = near.map(|(_, done, total)| (*done, *total)).collect();
        assert!(near.iter().any(|(done, total)| done == total), "{near:?}");
        assert!(near.iter().all(|(done, total)| done <= total), "{near:?}");
        // Rows of a block may take long.
        assert!(density == Density::Linear || near.len() > 10, "{near:?}");
    }
}

#[test]
fn it_stops_when_asked_and_says_what_does_not_fit() {
    let mesh = sphere(512);
    let of_triangle = vec![Some(0); mesh.triangles.len()];
    let conductors = Conductors { of_triangle: &of_triangle, count: 1 };
    for stage in [Stage::Plan, Stage::NearField, Stage::Solve] {
        let stopped = capacitance(&mesh, conductors, &options(Method::Fmm, 1e-6), &StopAt(stage));
        assert!(matches!(stopped, Err(Error::Interrupted)), "{stage:?}");
    }
    for method in [Method::Dense, Method::Fmm] {
        let options = options(method, 1e-6).memory_limit(Some(1000));
        let refused = capacitance(&mesh, conductors, &options, &NoProgress);
        assert!(matches!(refused, Err(Error::Memory { .. })));
    }
    let short = Conductors { of_triangle: &of_triangle[1..], count: 1 };
    let refused = capacitance(&mesh, short, &SolveOptions::default(), &NoProgress);
    assert!(matches!(refused, Err(Error::Length { .. })));
}

/// Two plates of as many panels, one of them moved in its plane, with which of both each triangle
/// is of.
fn plates(gap: f64, elements: usize) -> (Mesh, Vec<Option<u32>>) {
    let resolution = Resolution::Elements(elements);
    let mut mesh = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    let (vertices, triangles) = (mesh.vertices.len() as u32, mesh.triangles.len());
    mesh.vertices.extend(mesh.vertices.clone().iter().map(|v| [v[0], v[1], v[2] + gap]));
    mesh.triangles.extend(mesh.triangles.clone().iter().map(|t| t.map(|v| v + vertices)));
    let of_triangle = (0..2 * triangles).map(|i| Some(u32::from(i >= triangles))).collect();
    (mesh, of_triangle)
}

/// Rounding leaves turned planes parallel or not: entries must not depend on it.
#[test]
fn turned_plates_keep_their_capacitance() {
    for gap in [0.1, 1e-3] {
        let (mesh, of_triangle) = plates(gap, 200);
        let conductors = Conductors { of_triangle: &of_triangle, count: 2 };
        for (method, tolerance) in [(Method::Dense, 1e-6), (Method::Fmm, 1e-10)] {
            let solve = |mesh: &Mesh| {
                capacitance(mesh, conductors, &options(method, tolerance), &NoProgress)
                    .unwrap()
                    .maxwell
            };
            let straight = solve(&mesh);
            for k in 1..=4 {
                // About three axes in turn.
                let mut turned = mesh.clone();
                for (axis, angle) in [(0, 0.046 * f64::from(k)), (1, 0.7), (2, 1.3)] {
                    let (sine, cosine) = angle.sin_cos();
                    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
                    for v in &mut turned.vertices {
                        (v[a], v[b]) = (cosine * v[a] - sine * v[b], sine * v[a] + cosine * v[b]);
                    }
                }
                let found = difference(&straight, &solve(&turned));
                // Rounding may give a pair the other of two rules, which are each good to 1e-5 of a
                // distant entry; without the term that rounding once took away it is 1e-4 to 5e-2.
                let allowed = if method == Method::Dense { 3e-8 } else { 3e-9 };
                assert!(found < allowed, "{method:?} gap {gap} turn {k}: {found:.1e}");
            }
        }
    }
}

/// What else is in the case, however large, changes nothing of how exactly the capacitance of a
/// conductor is found.
#[test]
fn small_and_far_conductors_are_as_exact_as_others() {
    let placed = |radius: f64, x: f64, elements: usize| {
        let mut mesh = sphere(elements);
        mesh.vertices
            .iter_mut()
            .for_each(|v| *v = [x + radius * v[0], radius * v[1], radius * v[2]]);
        mesh
    };
    // An ellipsoid of revolution of half axes 1 and 1e-4.
    let needle = || {
        let mut mesh = sphere(288);
        mesh.vertices.iter_mut().for_each(|v| *v = [v[0], 1e-4 * v[1], 1e-4 * v[2]]);
        mesh
    };
    let cases = [
        ("1:1e4", vec![placed(1.0, 0.0, 288), placed(1e-4, 1.05, 288)]),
        ("1:1e6", vec![placed(1.0, 0.0, 288), placed(1e-6, 1.5, 288)]),
        ("1e5 apart", vec![placed(1.0, 0.0, 288), placed(1.0, 1e5, 288)]),
        ("1e6 apart", vec![placed(1.0, 0.0, 288), placed(1.0, 1e6, 288)]),
        ("needle", vec![needle()]),
    ];
    for (name, parts) in cases {
        let count = parts.len();
        let mut of_triangle = Vec::new();
        let mut parts = parts.into_iter().enumerate();
        let mut add = |k: usize, mesh: &Mesh| {
            of_triangle.extend(std::iter::repeat_n(Some(k as u32), mesh.triangles.len()));
        };
        let (_, mut mesh) = parts.next().unwrap();
        add(0, &mesh);
        for (k, part) in parts {
            add(k, &part);
            let first = mesh.vertices.len() as u32;
            mesh.vertices.extend(part.vertices);
            mesh.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v + first)));
        }
        let conductors = Conductors { of_triangle: &of_triangle, count };
        for tolerance in [1e-4, 1e-6] {
            let solve = |method| {
                capacitance(&mesh, conductors, &options(method, tolerance), &NoProgress)
                    .unwrap()
                    .maxwell
            };
            let (dense, fast) = (solve(Method::Dense), solve(Method::Fmm));
            for i in 0..count {
                for j in 0..count {
                    // A residual of the tolerance on conductor i moves a charge of that times its
                    // own capacitance.
                    let allowed = 2.0 * tolerance;
                    let found = (dense[i][j] - fast[i][j]).abs() / dense[i][i];
                    assert!(found < allowed, "{name} at {tolerance:e}: C{i}{j} {found:.1e}");
                }
            }
        }
    }
}

/// A mesh by Gmsh: cells of the coarse level lie over each other on the two sides of a plate.
#[test]
fn iterations_stay_few_where_a_mesh_by_gmsh_is_refined() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../meshes/capacitor.msh");
    let (mut mesh, _) = mesh::files::read(&path).unwrap();
    for times in 0..3 {
        let solves = solve_with(&mesh, &options(Method::Fmm, 1e-6)).solves;
        let iterations: Vec<usize> = solves.iter().map(|solve| solve.iterations).collect();
        assert!(iterations.iter().all(|&n| n <= 11), "refined {times} times: {iterations:?}");
        mesh = mesh::refine::uniform(&mesh, |_, middle| middle).unwrap();
    }
}

/// Faces of a plate do not carry the charges of each other, least of all next to a narrow gap: one
/// of a hundredth of the width here.
#[test]
fn iterations_stay_few_where_plates_nearly_touch() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../meshes/capacitor.msh");
    let (mut mesh, _) = mesh::files::read(&path).unwrap();
    for vertex in &mut mesh.vertices {
        vertex[2] -= 0.9 * vertex[2].signum();
    }
    let mut turned = mesh.clone();
    for (_, triangle) in turned.triangles.iter_mut().enumerate().filter(|(i, _)| i % 3 == 0) {
        triangle.swap(0, 1);
    }
    for (mesh, orientation) in [(&mut mesh, "outward"), (&mut turned, "mixed")] {
        for times in 0..2 {
            let solves = solve_with(mesh, &options(Method::Fmm, 1e-6)).solves;
            let iterations: Vec<usize> = solves.iter().map(|solve| solve.iterations).collect();
            let few = iterations.iter().all(|&n| n <= 9);
            assert!(few, "{orientation}, refined {times} times: {iterations:?}");
            *mesh = mesh::refine::uniform(mesh, |_, middle| middle).unwrap();
        }
    }
}

/// Eight sheets, each next one turned, an eighth and a twentieth of a triangle's side apart: errors
/// of what the preconditioner takes for potentials must cancel as potentials do, and neighbourhoods
/// reach over several triangles of each sheet.
#[test]
fn iterations_stay_few_where_many_sheets_face_each_other() {
    let resolution = Resolution::Elements(800);
    let square = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    for (share, most) in [(8.0, 12), (20.0, 21)] {
        let sheet = |k: usize| {
            let (sin, cos) = (0.37 * k as f64).sin_cos();
            let mut mesh = square.clone();
            for [x, y, z] in &mut mesh.vertices {
                let height = 0.05 / share * k as f64;
                [*x, *y, *z] = [cos * *x - sin * *y, sin * *x + cos * *y, height];
            }
            (format!("sheet_{k}"), mesh)
        };
        let mesh = mesh::join::joined((0..8).map(sheet).collect());
        let solves = solve_with(&mesh, &options(Method::Fmm, 1e-6)).solves;
        let iterations: Vec<usize> = solves.iter().map(|solve| solve.iterations).collect();
        assert!(iterations.iter().all(|&n| n <= most), "1/{share}: {iterations:?}");
    }
}

#[test]
fn a_conductor_that_there_is_not_is_an_error() {
    let mesh = sphere(32);
    let mut of_triangle = vec![Some(0); mesh.triangles.len()];
    of_triangle[5] = Some(3);
    for count in [0, 1, 3] {
        let conductors = Conductors { of_triangle: &of_triangle, count };
        let error = capacitance(&mesh, conductors, &SolveOptions::default(), &NoProgress);
        let expected = if count == 0 { (0, 0) } else { (5, 3) };
        match error {
            Err(Error::Conductor { triangle, conductor, count: given }) => {
                assert_eq!((triangle, conductor, given), (expected.0, expected.1, count));
            }
            other => panic!("{count}: {other:?}"),
        }
    }
}
