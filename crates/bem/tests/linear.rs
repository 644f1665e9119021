//! Densities that are linear on each triangle.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    Capacitance, Charges, Conductors, Density, Electrostatics, Excitation, Images, Media, Method,
    Mirror, NoProgress, PointCharge, Prepared, SolveOptions, StopReason, SurfaceCharge,
    capacitance, dipole_moment, forces, sampled_residual,
};
use mesh::Mesh;
use mesh::generate::{Cube, Plate, Resolution};
use mesh::mirror::Plane;

/// C/(4 pi eps0) of the unit cube (Helsing & Perfekt 2013).
const CUBE: f64 = 0.660_678_154_099_57;

fn options(method: Method, tolerance: f64, density: Density) -> SolveOptions {
    SolveOptions::default().method(method).tolerance(tolerance).density(density)
}

fn cube(n: usize, grade: f64) -> Mesh {
    Cube { edge: 1.0, grade, resolution: Resolution::Elements(n) }.build().unwrap()
}

fn alone(mesh: &Mesh, options: &SolveOptions) -> Capacitance {
    let all = vec![Some(0); mesh.triangles.len()];
    capacitance(mesh, Conductors { of_triangle: &all, count: 1 }, options, &NoProgress).unwrap()
}

/// Whatever the tolerance, the sizes of triangles and the gaps between them, fast solves are dense
/// ones to it; and linear densities are worth it.
#[test]
fn fast_solves_are_dense_ones_to_the_tolerance() {
    for (n, grade, gain) in [(192, 1.0, 3.0), (432, 30.0, 6.0), (768, 300.0, 9.0)] {
        let mesh = cube(n, grade);
        let dense = |density| alone(&mesh, &options(Method::Dense, 1e-9, density)).maxwell[0][0];
        let (constant, linear) = (dense(Density::Constant), dense(Density::Linear));
        // Both are from below.
        assert!(linear < CUBE && CUBE - constant > gain * (CUBE - linear), "{constant} {linear}");
        for tolerance in [1e-4, 1e-6, 1e-8] {
            let found = alone(&mesh, &options(Method::Fmm, tolerance, Density::Linear));
            let error = (found.maxwell[0][0] / linear - 1.0).abs();
            assert!(error < tolerance, "{n} {grade} {tolerance:e}: {error:.1e}");
            // As constant densities have 10 to 20.
            let iterations = found.solves[0].iterations;
            assert!(iterations < 45, "{n} {grade} {tolerance:e}: {iterations}");
        }
    }
}

/// Three sheets over each other, as close as a thousandth of a triangle and not aligned: nearly as
/// few iterations as constant densities take.
#[test]
fn stacks_of_sheets_converge() {
    let resolution = Resolution::Elements(200);
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    for gap in [1e-3, 1e-4] {
        let sheet = |k: u8| {
            let (mut moved, k) = (plate.clone(), f64::from(k));
            let offsets = [0.013 * k, -0.007 * k, gap * k];
            moved.vertices.iter_mut().for_each(|v| *v = std::array::from_fn(|i| v[i] + offsets[i]));
            moved
        };
        let sheets = (0..3).map(|k| (k.to_string(), sheet(k))).collect();
        let stack = mesh::join::joined(sheets);
        let owner: Vec<Option<u32>> =
            (0..stack.triangles.len()).map(|t| Some(stack.groups_of(t)[0])).collect();
        let conductors = Conductors { of_triangle: &owner, count: 3 };
        let iterations = |density| {
            let options = options(Method::Fmm, 1e-6, density);
            let solves = capacitance(&stack, conductors, &options, &NoProgress).unwrap().solves;
            assert!(solves.iter().all(|solve| solve.reason == StopReason::Converged), "{solves:?}");
            solves.iter().map(|solve| solve.iterations).max().unwrap()
        };
        let [constant, linear] = [Density::Constant, Density::Linear].map(iterations);
        assert!(linear <= 3 * constant / 2, "gap {gap}: {linear} iterations, {constant}");
    }
}

/// A plate over another one, at gaps of down to a hundredth of a triangle: as constant densities.
#[test]
fn sheets_that_face_each_other_keep_their_digits() {
    let resolution = Resolution::Elements(200);
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    for gap in [0.1, 1e-2, 1e-3] {
        let mut above = plate.clone();
        above.vertices.iter_mut().for_each(|v| *v = [v[0] + 0.013, v[1] - 0.007, v[2] + gap]);
        let both = mesh::join::joined(vec![("a".into(), plate.clone()), ("b".into(), above)]);
        let owner: Vec<Option<u32>> =
            (0..both.triangles.len()).map(|t| Some(both.groups_of(t)[0])).collect();
        let conductors = Conductors { of_triangle: &owner, count: 2 };
        let error = |density| {
            let solve = |method| {
                let options = options(method, 1e-6, density);
                capacitance(&both, conductors, &options, &NoProgress).unwrap().maxwell
            };
            let (fast, exact) = (solve(Method::Fmm), solve(Method::Dense));
            let both = fast.iter().flatten().zip(exact.iter().flatten());
            both.map(|(c, of_dense)| (c - of_dense).abs() / exact[0][0]).fold(0.0, f64::max)
        };
        let (constant, linear) = (error(Density::Constant), error(Density::Linear));
        assert!(linear < 3.0 * constant.max(1e-6), "{gap:e}: {linear:.1e} {constant:.1e}");
    }
}

/// A cube of metal, half of it in a dielectric that covers it, a dielectric cube with a point
/// charge in it, and another charge, with these images.
fn everything(images: &Images, n: usize, density: Density, method: Method) -> Found {
    let place = |mesh: &Mesh, at: [f64; 3], size: f64| {
        let mut mesh = mesh.clone();
        let to = |x: f64, k: usize| at[k] + size * x;
        mesh.vertices.iter_mut().for_each(|v| *v = std::array::from_fn(|k| to(v[k], k)));
        mesh
    };
    let unit = cube(n, 1.0);
    let low = unit.vertices[0].iter().copied().fold(f64::INFINITY, f64::min);
    let metal = place(&unit, [0.4 - low, 0.3 - low, 0.5 - low], 1.0);
    let glass = place(&unit, [2.0 - low, 0.5 - low, 0.4 - low], 0.9);
    let film = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution: Resolution::Elements(n) };
    let film = place(&film.build().unwrap(), [0.9, 0.8, 2.2], 1.0);
    let mesh = mesh::join::joined(vec![
        ("metal".into(), metal),
        ("glass".into(), glass),
        ("film".into(), film),
    ]);
    let group = |t: usize| mesh.groups_of(t)[0];
    let triangles = 0..mesh.triangles.len();
    let conductor: Vec<Option<u32>> = triangles
        .clone()
        .map(|t| match group(t) {
            0 => Some(0),
            1 => None,
            _ => Some(1),
        })
        .collect();
    let permittivity: Vec<[f64; 2]> = triangles
        .map(|t| match group(t) {
            0 => [2.0, 2.0],
            1 => [2.0, 7.0],
            _ => [2.0, 2.0],
        })
        .collect();
    let media = Media {
        conductor: &conductor,
        conductors: 2,
        permittivity: &permittivity,
        images,
        bodies: &[],
    };
    let at =
        |k: usize| Excitation::default().potentials((0..2).map(|i| f64::from(i == k)).collect());
    let charge = |position, charge, permittivity| PointCharge { position, charge, permittivity };
    let sources = Excitation::default()
        .potentials(vec![0.3, -0.2])
        .charges(vec![charge([2.5, 1.0, 0.7], 1.0, 7.0), charge([1.6, 0.4, 1.1], -0.6, 2.0)]);
    let excitations = [at(0), at(1), sources];
    let options = options(method, 1e-7, density);
    let mut prepared = Prepared::new(&mesh, media, 3, &options).unwrap();
    let answer = prepared.solve(&excitations, &NoProgress).unwrap();
    for response in &answer.responses {
        assert_eq!(response.reason, StopReason::Converged, "{:?}", response.history);
    }
    let solved: Vec<(&Excitation, Charges<'_>)> =
        excitations.iter().zip(&answer.responses).map(|(e, r)| (e, r.into())).collect();
    for residual in sampled_residual(&mesh, media, &solved, 1e-7).unwrap() {
        // Corners of panels count more in a few rows than in all.
        assert!(residual.relative < 1e-6, "{residual:?}");
    }
    let driven = &answer.responses[2];
    let whole = images.mesh(&mesh);
    let (total, at_corners) =
        (images.charges(&driven.charge, 0), images.at_corners(&driven.at_corners, 0));
    let charges = Charges { total: &total, at_corners: &at_corners };
    let surface = SurfaceCharge::new(&whole, charges);
    let places: Vec<[f64; 3]> = excitations[2].charges.iter().map(|q| q.position).collect();
    let reaction = surface.evaluate(&Excitation::default(), &places, false).unwrap().potential;
    let near = surface.evaluate(&Excitation::default(), &[[1.405, 0.81, 0.9]], true).unwrap();
    let body = bem::Body {
        triangles: (0..mesh.triangles.len() as u32).filter(|&t| group(t as usize) == 1).collect(),
        charges: vec![0],
        permittivity: 2.0,
        about: [0.0; 3],
    };
    let all = excitations[2].with_images(images, |_| true);
    let force = forces(&whole, charges, &all, &[body]).unwrap()[0].force;
    let moment = dipole_moment(&mesh, driven);
    let mut numbers: Vec<f64> =
        answer.responses.iter().flat_map(|r| r.conductor_charge.clone()).collect();
    numbers.extend(reaction);
    numbers.extend(near.potential);
    let mut vectors = vec![force, moment];
    vectors.extend(near.field);
    Found { answer, numbers, vectors }
}

struct Found {
    answer: Electrostatics,
    /// Charges of conductors, potentials.
    numbers: Vec<f64>,
    /// Force, dipole moment, field.
    vectors: Vec<[f64; 3]>,
}

#[test]
fn linear_densities_meet_dielectrics_charges_and_planes() {
    let mirror = |axis: usize, odd: bool| Mirror { plane: Plane { axis, at: 0.0 }, odd };
    for mirrors in [
        vec![],
        vec![mirror(2, true)],
        vec![mirror(0, false), mirror(1, false)],
        vec![mirror(0, true), mirror(1, false), mirror(2, true)],
    ] {
        let images = Images::new(&mirrors);
        let fast = everything(&images, 48, Density::Linear, Method::Fmm);
        let dense = everything(&images, 48, Density::Linear, Method::Dense);
        let size = dense.numbers.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        for (a, b) in fast.numbers.iter().zip(&dense.numbers) {
            assert!((a - b).abs() < 3e-7 * size, "{mirrors:?}: {a} {b}");
        }
        for (a, b) in fast.vectors.iter().zip(&dense.vectors) {
            let size = b.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-5 * size), "{mirrors:?}: {a:?} {b:?}");
        }
        // What constant densities come to.
        let even = everything(&images, 48, Density::Constant, Method::Dense);
        let finer = everything(&images, 432, Density::Constant, Method::Fmm);
        for ((linear, even), finer) in dense.numbers.iter().zip(&even.numbers).zip(&finer.numbers) {
            let (error, of_even) = ((linear - finer).abs(), (even - finer).abs());
            assert!(error < 0.6 * of_even.max(4e-3 * size), "{error:.1e} {of_even:.1e}");
        }
        assert!(fast.answer.gauss_defect < 1e-2 && dense.answer.gauss_defect < 1e-2);
    }
}
