//! Error estimates against errors: of capacitances and energies whose limits are known.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    Capacitance, ChildCharges, Conductors, Density, Electrostatics, ErrorEstimate, Excitation,
    Images, Media, Mirror, NoProgress, PointCharge, Prepared, SolveOptions, SurfaceCharge,
    capacitance,
};
use mesh::Mesh;
use mesh::generate::{Cube, Plate, Resolution, Sphere, SphereBase};
use mesh::mirror::Plane;
use mesh::refine;

const TOLERANCE: f64 = 1e-8;

/// A solve and its estimate: all triangles of conductor 0, or an interface.
fn solved(
    mesh: &Mesh,
    conductor: Option<u32>,
    permittivity: [f64; 2],
    excitation: &Excitation,
    images: &Images,
) -> (Electrostatics, ErrorEstimate) {
    let n = mesh.triangles.len();
    let (conductor, permittivity) = (vec![conductor; n], vec![permittivity; n]);
    let media = Media {
        conductor: &conductor,
        conductors: excitation.potentials.len(),
        permittivity: &permittivity,
        images,
        bodies: &[],
    };
    let options = SolveOptions::default().tolerance(TOLERANCE);
    let mut prepared = Prepared::new(mesh, media, 1, &options).unwrap();
    let excitations = std::slice::from_ref(excitation);
    let answer = prepared.solve(excitations, &NoProgress).unwrap();
    let estimate = prepared
        .system()
        .error_estimate(excitations, &answer, &vec![1.0; mesh.triangles.len()], true)
        .unwrap();
    (answer, estimate)
}

/// Capacitance and, if asked for, estimate of a metal surface, which is NaN otherwise.
fn metal(mesh: &Mesh, is_estimated: bool) -> [f64; 2] {
    let unit = Excitation::default().potentials(vec![1.0]);
    if !is_estimated {
        let all = vec![Some(0); mesh.triangles.len()];
        let conductors = Conductors { of_triangle: &all, count: 1 };
        let options = SolveOptions::default().tolerance(TOLERANCE);
        return [
            capacitance(mesh, conductors, &options, &NoProgress).unwrap().maxwell[0][0],
            f64::NAN,
        ];
    }
    let (answer, estimate) = solved(mesh, Some(0), [1.0; 2], &unit, &Images::default());
    [answer.responses[0].conductor_charge[0], estimate.of_conductors[0][0]]
}

fn refined(mesh: &Mesh, times: u32) -> Vec<Mesh> {
    let mut all = vec![mesh.clone()];
    for k in 0..times as usize {
        all.push(refine::uniform(&all[k], |_, x| x).unwrap());
    }
    all
}

/// The limit of three values whose differences fall by a constant ratio.
fn limit([a, b, c]: [f64; 3]) -> f64 {
    c - (c - b).powi(2) / ((c - b) - (b - a))
}

fn last<const N: usize>(values: &[f64]) -> [f64; N] {
    std::array::from_fn(|k| values[values.len() - N + k])
}

fn cube(triangles: usize) -> Mesh {
    let resolution = Resolution::Elements(triangles);
    Cube { edge: 1.0, grade: 1.0, resolution }.build().unwrap()
}

fn sphere(triangles: usize) -> Mesh {
    let resolution = Resolution::Elements(triangles);
    Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution }.build().unwrap()
}

/// Shares of the error that estimates find: two-level estimates against the limit of flat
/// refinement. On polyhedra with small angles all of it; where densities are singular less, the
/// next finer densities leaving 2^(-4/3) of the error at edges of 90 degrees and a half at rims.
#[test]
fn estimates_find_most_of_the_error_of_capacitances() {
    let resolution = Resolution::Elements(12);
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    for (name, mesh, exact, low, high) in [
        ("sphere", sphere(80), None, 0.9, 1.1),
        // Helsing & Perfekt 2013.
        ("cube", cube(12), Some(0.660_678_154_099_57), 0.6, 0.8),
        ("plate", plate, None, 0.45, 0.65),
    ] {
        let found: Vec<[f64; 2]> = refined(&mesh, 3)
            .iter()
            .enumerate()
            .map(|(k, mesh)| metal(mesh, (1..3).contains(&k)))
            .collect();
        let values: Vec<f64> = found.iter().map(|found| found[0]).collect();
        let exact = exact.unwrap_or_else(|| limit(last(&values)));
        for [value, estimate] in &found[1..3] {
            let share = estimate / (exact - value);
            assert!((low..high).contains(&share), "{name}: {share:.2} of the error of {value}");
        }
    }
}

/// The potential at a charge in a cube, from finer meshes and from the estimate. In a medium of
/// high permittivity the potential changes over coarse panels by little else than error, which
/// estimates therefore exceed.
#[test]
fn estimates_find_the_error_of_solvation_energies() {
    for (permittivity, low, high) in [([80.0, 2.0], 1.0, 4.5), ([1.0, 10.0], 0.4, 0.9)] {
        let charge =
            PointCharge { position: [0.3, 0.2, -0.1], charge: 1.0, permittivity: permittivity[1] };
        let excitation = Excitation::default().charges(vec![charge]);
        let images = Images::default();
        let found: Vec<[f64; 2]> = refined(&cube(48), 3)
            .iter()
            .map(|mesh| {
                let (answer, estimate) = solved(mesh, None, permittivity, &excitation, &images);
                let surface = SurfaceCharge::new(mesh, &answer.responses[0].charge);
                [surface.potential(charge.position), -estimate.of_interfaces[0][0]]
            })
            .collect();
        let values: Vec<f64> = found.iter().map(|found| found[0]).collect();
        let exact = limit(last(&values));
        for [value, estimate] in &found[1..3] {
            let share = estimate / (exact - value);
            assert!(
                (low..high).contains(&share),
                "{permittivity:?}: {share:.2} of that of {value}"
            );
        }
    }
}

/// Half a sphere with its image has the estimate of the whole.
#[test]
fn images_are_part_of_estimates() {
    let plane = Mirror { plane: Plane { axis: 2, at: 0.0 }, odd: false };
    // Its triangles are each other's images.
    let octahedron =
        Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution: Resolution::Elements(512) };
    let octahedron = octahedron.build().unwrap();
    let mut half = octahedron.clone();
    half.triangles.retain(|corners| {
        corners.iter().map(|&v| octahedron.vertices[v as usize][2]).sum::<f64>() > 0.0
    });
    half.membership.truncate(half.triangles.len());
    assert_eq!(2 * half.triangles.len(), octahedron.triangles.len());
    let unit = Excitation::default().potentials(vec![1.0]);
    let (_, of_whole) = solved(&octahedron, Some(0), [1.0; 2], &unit, &Images::default());
    let (_, of_half) = solved(&half, Some(0), [1.0; 2], &unit, &Images::new(&[plane]));
    let ratio = of_half.of_conductors[0][0] / of_whole.of_conductors[0][0];
    // Fast sums to 1e-6 against residuals of some 1e-3.
    assert!((ratio - 1.0).abs() < 1e-2, "{ratio}");
}

/// At a rim the density changes across it and not along it.
#[test]
fn sides_along_a_rim_have_little_to_gain() {
    let resolution = Resolution::Elements(512);
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    let unit = Excitation::default().potentials(vec![1.0]);
    let (_, estimate) = solved(&plate, Some(0), [1.0; 2], &unit, &Images::default());
    let (mut along, mut across) = (0.0, 0.0);
    for (corners, sides) in plate.triangles.iter().zip(&estimate.sides[0]) {
        for k in 0..3 {
            let ends = [corners[k], corners[(k + 1) % 3]].map(|v| plate.vertices[v as usize]);
            // Away from the corners of the plate.
            let lies = |axis: usize| ends.iter().all(|x| x[axis].abs() > 0.5 - 1e-9);
            let middle = |axis: usize| ends.iter().all(|x| x[axis].abs() < 0.4);
            let starts = |axis: usize| ends.iter().any(|x| x[axis].abs() > 0.5 - 1e-9);
            for (axis, other) in [(0, 1), (1, 0)] {
                if middle(other) && lies(axis) {
                    along += sides[k];
                } else if middle(other) && starts(axis) {
                    across += sides[k];
                }
            }
        }
    }
    assert!(across > 0.0 && along < 0.1 * across, "{along:e} along, {across:e} across");
}

/// Two conductors: the matrix of estimates is symmetric, and entries off the diagonal are products.
#[test]
fn couplings_have_estimates_of_their_own() {
    let near = sphere(320);
    let mut both = near.clone();
    let far = near.vertices.iter().map(|[x, y, z]| [x + 2.5, 0.5 * y, 0.5 * z]);
    both.vertices.extend(far);
    let offset = near.vertices.len() as u32;
    both.triangles.extend(near.triangles.iter().map(|t| t.map(|v| v + offset)));
    both.membership.extend(near.membership.clone());
    // The finest mesh is there for the limit alone.
    let all: Vec<(f64, Option<ErrorEstimate>)> = refined(&both, 2)
        .iter()
        .enumerate()
        .map(|(level, mesh)| {
            let n = mesh.triangles.len();
            let owner: Vec<Option<u32>> = (0..n).map(|t| Some(u32::from(t >= n / 2))).collect();
            let permittivity = vec![[1.0; 2]; n];
            let media = Media {
                conductor: &owner,
                conductors: 2,
                permittivity: &permittivity,
                images: &Images::default(),
                bodies: &[],
            };
            let options = SolveOptions::default().tolerance(TOLERANCE);
            let unit = |k: usize| {
                Excitation::default().potentials((0..2).map(|c| f64::from(c == k)).collect())
            };
            let excitations = [unit(0), unit(1)];
            let mut prepared = Prepared::new(mesh, media, 2, &options).unwrap();
            let answer = prepared.solve(&excitations, &NoProgress).unwrap();
            let weights = vec![1.0; mesh.triangles.len()];
            let estimate = (level < 2).then(|| {
                prepared.system().error_estimate(&excitations, &answer, &weights, true).unwrap()
            });
            let found: Capacitance = answer.into_capacitance(1.0, &mesh::quality::areas(mesh));
            (found.maxwell[0][1], estimate)
        })
        .collect();
    let values: Vec<f64> = all.iter().map(|found| found.0).collect();
    let exact = limit(last(&values));
    for (value, estimate) in &all[..2] {
        let estimate = estimate.as_ref().unwrap();
        let of = &estimate.of_conductors;
        assert!((of[0][1] - of[1][0]).abs() < 1e-9 * of[0][0], "{of:?}");
        let share = of[0][1] / (exact - value);
        // Shares of panels have both signs.
        assert!((0.5..1.5).contains(&share), "{share:.2} of the error of {value}");
        assert!(of[0][1].abs() <= estimate.of_conductors_at_most[0][1] * (1.0 + 1e-12));
    }
}

/// By reciprocity the charge that a conductor at 1 V misses is the energy that it misses: local
/// densities have none, so all of it is what they induce.
#[test]
fn the_charge_that_is_missing_is_that_of_the_energy() {
    for density in [Density::Constant, Density::Linear] {
        for planes in [&[][..], &[Mirror { plane: Plane { axis: 0, at: -0.7 }, odd: true }]] {
            let (mesh, images) = (cube(192), Images::new(planes));
            let n = mesh.triangles.len();
            let media = Media {
                conductor: &vec![Some(0); n],
                conductors: 1,
                permittivity: &vec![[1.0; 2]; n],
                images: &images,
                bodies: &[],
            };
            let options = SolveOptions::default().tolerance(TOLERANCE).density(density);
            let mut prepared = Prepared::new(&mesh, media, 1, &options).unwrap();
            let unit = Excitation::default().potentials(vec![1.0]);
            let one = std::slice::from_ref(&unit);
            let answer = prepared.solve(one, &NoProgress).unwrap();
            let weights: Vec<f64> = (0..n).map(|t| 1.0 + (t % 3) as f64).collect();
            let estimate = prepared.system().error_estimate(one, &answer, &weights, true).unwrap();
            let local = prepared.missing(&unit, &answer.responses[0], &weights).unwrap();
            let induced = prepared.induced_by(&local, &NoProgress).unwrap();
            let size: f64 = local.total.iter().map(|q| q.abs()).sum();
            let charge = |of: &ChildCharges| of.total.iter().sum::<f64>();
            assert!(charge(&local).abs() < 1e-10 * size.max(estimate.of_conductors[0][0]));
            let (expected, found) = (estimate.of_conductors[0][0], charge(&induced));
            println!("{density:?}, {} planes: {expected:e} {found:e}", planes.len());
            assert!((found / expected - 1.0).abs() < 1e-3, "{expected:e} {found:e}");
        }
    }
}
