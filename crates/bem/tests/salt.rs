//! Charges in spheres in salt water, against Kirkwood's series.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::sync::Mutex;

use bem::{
    Cells, Density, Error, FixedCharge, Medium, Method, NoProgress, Progress, Screened,
    SolveOptions, Stage, StopReason, poisson_boltzmann,
};
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::patch::{node_count, node_places};
use mesh::{Mesh, Patches};

/// kcal/mol of e^2/(4 pi eps0) per angstrom.
const KCAL: f64 = 332.063_713;

/// x k_n'(x) / k_n(x) of the modified spherical Bessel functions of the second kind, n = 0, 1, ...
fn logarithmic_derivatives(x: f64, count: usize) -> Vec<f64> {
    if x == 0.0 {
        return (0..count).map(|n| -(n as f64 + 1.0)).collect();
    }
    // Ratios k_n / k_(n-1).
    let mut ratios = vec![1.0, 1.0 + 1.0 / x];
    for n in 1..count {
        ratios.push(1.0 / ratios[n] + (2 * n + 1) as f64 / x);
    }
    (0..count).map(|n| if n == 0 { -1.0 - x } else { -x / ratios[n] - (n as f64 + 1.0) }).collect()
}

fn legendre(n: usize, x: f64) -> f64 {
    let (mut p, mut q) = (1.0, x);
    if n == 0 {
        return 1.0;
    }
    for k in 1..n {
        (p, q) = (q, ((2 * k + 1) as f64 * x * q - k as f64 * p) / (k + 1) as f64);
    }
    q
}

/// Reaction energy of charges in a sphere around which layers without ions lie, each up to its
/// radius with its permittivity, and beyond the last a medium with ions.
fn kirkwood(layers: &[[f64; 2]], outside: Medium, charges: &[([f64; 3], f64)]) -> f64 {
    let [[radius, inside], ..] = *layers else { return 0.0 };
    let [.., [last, _]] = *layers else { return 0.0 };
    let norm = |x: &[f64; 3]| x.iter().map(|c| c * c).sum::<f64>().sqrt();
    let mut energy = 0.0;
    for (n, l) in logarithmic_derivatives(outside.kappa * last, 60).into_iter().enumerate() {
        let order = n as f64;
        // eps r phi' / phi at the boundary of the sphere, from the outside in.
        let mut l = l * outside.permittivity;
        for pair in layers.windows(2).rev() {
            let [[below, _], [above, eps]] = [pair[0], pair[1]];
            // r^-(n+1) + d r^n, relative to the radius above.
            let d = (-(order + 1.0) - l / eps) / (l / eps - order);
            let t: f64 = below / above;
            let (down, up) = (t.powi(-(n as i32 + 1)), d * t.powi(n as i32));
            l = eps * (-(order + 1.0) * down + order * up) / (down + up);
        }
        let factor = (inside * (order + 1.0) + l) / (inside * order - l);
        for (x, q) in charges {
            for (y, p) in charges {
                let (a, b) = (norm(x), norm(y));
                let dot: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                let cosine = if a * b > 0.0 { dot / (a * b) } else { 1.0 };
                let radial = (a * b / (radius * radius)).powi(n as i32) / radius;
                energy += 0.5 * q * p * factor * radial * legendre(n, cosine) / inside;
            }
        }
    }
    energy
}

fn sphere(radius: f64, elements: usize, order: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    let flat = Sphere { radius, base: SphereBase::Icosahedron, resolution }.build().unwrap();
    if order == 1 { flat } else { curved(flat, order, radius) }
}

/// Triangles of an order with their nodes on a sphere.
fn curved(mut mesh: Mesh, order: usize, radius: f64) -> Mesh {
    let mut nodes = Vec::with_capacity(node_count(order) * mesh.triangles.len());
    for t in 0..mesh.triangles.len() {
        let corners = mesh.corners(t);
        for at in node_places(order) {
            let x: [f64; 3] = std::array::from_fn(|c| {
                (0..3).map(|k| corners[k][c] * at[k] as f64 / order as f64).sum()
            });
            let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            // Corners are those of the mesh to the last digit.
            nodes.push(match at.iter().position(|&k| k == order) {
                Some(k) => corners[k],
                None => x.map(|x| x * radius / length),
            });
        }
    }
    mesh.patches = Some(Patches { order, nodes });
    mesh.validate().unwrap();
    mesh
}

fn energy(screened: &Screened, charges: &[FixedCharge]) -> f64 {
    let (points, regions): (Vec<[f64; 3]>, Vec<u32>) =
        charges.iter().map(|q| (q.position, q.region)).unzip();
    let values = screened.values(&points, &regions, charges, false).unwrap();
    0.5 * charges.iter().zip(values.reaction).map(|(q, v)| q.charge * v).sum::<f64>()
}

fn salt_water() -> Medium {
    Medium { permittivity: 80.0, kappa: 0.125 }
}

fn without_ions(permittivity: f64) -> Medium {
    Medium { permittivity, kappa: 0.0 }
}

/// Charges in spheres one in the other, by triangles of an order.
fn by_layers(
    layers: &[[f64; 2]],
    outside: Medium,
    charges: &[([f64; 3], f64)],
    (elements, order, density): (usize, usize, Density),
) -> Screened {
    let options = SolveOptions::default().density(density).tolerance(1e-6);
    solved(layers, outside, charges, (elements, order), &options)
}

fn solved(
    layers: &[[f64; 2]],
    outside: Medium,
    charges: &[([f64; 3], f64)],
    (elements, order): (usize, usize),
    options: &SolveOptions,
) -> Screened {
    let mut spheres = Vec::new();
    let mut sides = Vec::new();
    for (k, [radius, _]) in layers.iter().enumerate() {
        let mesh = sphere(*radius, elements, order);
        sides.extend(vec![[k as u32 + 1, k as u32]; mesh.triangles.len()]);
        spheres.push((k.to_string(), mesh));
    }
    let all = mesh::join::joined(spheres);
    let media: Vec<Medium> =
        layers.iter().map(|[_, eps]| without_ions(*eps)).chain([outside]).collect();
    let cells = Cells { media: &media, sides: &sides };
    poisson_boltzmann(&all, cells, &fixed(charges), options, &NoProgress).unwrap()
}

fn fixed(charges: &[([f64; 3], f64)]) -> Vec<FixedCharge> {
    let charge =
        |&(position, charge): &([f64; 3], f64)| FixedCharge { position, charge, region: 0 };
    charges.iter().map(charge).collect()
}

/// The error of the energy relative to Kirkwood's.
fn error(
    layers: &[[f64; 2]],
    outside: Medium,
    charges: &[([f64; 3], f64)],
    how: (usize, usize, Density),
) -> f64 {
    let screened = by_layers(layers, outside, charges, how);
    assert_eq!(screened.info.reason, StopReason::Converged);
    // Of the second kind: no more on finer meshes.
    assert!(screened.info.iterations <= 12, "{}", screened.info.iterations);
    let found = energy(&screened, &fixed(charges));
    let exact = kirkwood(layers, outside, charges);
    found / exact - 1.0
}

#[test]
fn kirkwoods_sphere_converges_by_order() {
    let charges = [([1.0, 1.0, 1.0], 1.0)];
    let layers = [[4.0, 4.0]];
    // The published value, with the constant that it was computed with.
    let exact = KCAL * kirkwood(&layers, salt_water(), &charges);
    assert!((exact + 12.258_363).abs() < 1e-5, "{exact}");
    let errors = |counts: [usize; 2], order: usize, density: Density| {
        counts.map(|n| error(&layers, salt_water(), &charges, (n, order, density)).abs())
    };
    // The charge is 2.3 from the surface, which triangles of the first mesh are not small for.
    for (counts, density) in [([500, 2000], Density::Constant), ([320, 1280], Density::Linear)] {
        // Of the second order in the size of triangles, half as large in the second mesh.
        let [coarse, fine] = errors(counts, 1, density);
        assert!((3.3..5.0).contains(&(coarse / fine)), "{density:?}: {coarse:.1e} {fine:.1e}");
    }
    let [coarse, fine] = errors([320, 1280], 2, Density::Linear);
    assert!(coarse / fine > 7.0, "{coarse:.1e} {fine:.1e}");
    // 1e-4 is asked for with 5,000.
    assert!(fine < 1e-4, "{fine:.1e}");
}

/// Errors of constant densities are c / N with one c, whether triangles are so large that the
/// charge is next to all of them, or to none.
#[test]
fn errors_do_not_jump_where_charges_are_no_longer_next_to_triangles() {
    let outside = Medium { permittivity: 78.4, kappa: 0.0736 };
    for (radius, charge) in [(1.811, [0.0; 3]), (5.0, [0.0, 2.6, 2.6])] {
        let of = |elements: usize| {
            let how = (elements, 1, Density::Constant);
            error(&[[radius, 2.0]], outside, &[(charge, 1.0)], how) * elements as f64
        };
        let constants = [180, 320, 500, 980].map(of);
        let [least, most] = [f64::min, f64::max]
            .map(|pick| constants.iter().map(|c| c.abs()).reduce(pick).unwrap());
        // The second charge is a quarter of the radius from the surface, which a mesh of 180
        // triangles is not fine for.
        assert!(most < 1.3 * least, "{constants:?}");
    }
}

#[test]
fn layers_without_ions_are_layers() {
    let charges = [([1.0, 1.0, 1.0], 1.0), ([-1.5, 0.3, 0.8], -0.6), ([0.2, -2.0, -1.0], 0.5)];
    let how = (320, 2, Density::Linear);
    // Ions kept away from the sphere; a coat of another permittivity besides.
    for layers in [&[[4.0, 4.0], [6.0, 80.0]][..], &[[4.0, 2.0], [5.0, 20.0], [7.0, 80.0]]] {
        let found = error(layers, salt_water(), &charges, how).abs();
        // Three times what one sphere has.
        assert!(found < 1.5e-3, "{found:.1e}");
    }
}

#[test]
fn ions_in_salt_have_borns_energy() {
    for kappa in [0.0, 1e-6, 0.01, 1.0, 30.0] {
        let outside = Medium { permittivity: 78.5, kappa };
        let charges = [([0.0; 3], 1.0)];
        let born = 0.5 / 2.0 * (1.0 / (78.5 * (1.0 + 2.0 * kappa)) - 1.0 / 2.0);
        assert!((kirkwood(&[[2.0, 2.0]], outside, &charges) / born - 1.0).abs() < 1e-12);
        let found = error(&[[2.0, 2.0]], outside, &charges, (320, 2, Density::Linear)).abs();
        assert!(found < 5e-4, "kappa {kappa}: {found:.1e}");
    }
}

/// Potentials and fields at points: outside by the exact series of a central charge, and each the
/// gradient of the other; close to the surface too.
#[test]
fn values_at_points_are_those_of_the_solution() {
    let (radius, charges) = (2.0, [([0.0; 3], 1.0)]);
    let screened = by_layers(&[[radius, 4.0]], salt_water(), &charges, (320, 2, Density::Linear));
    let charges = fixed(&charges);
    let outside = |r: f64| {
        let kappa = 0.125;
        (-kappa * (r - radius)).exp() / (80.0 * (1.0 + kappa * radius) * r)
    };
    for (r, region) in [(2.02, 1), (2.3, 1), (5.0, 1), (40.0, 1), (1.97, 0), (1.0, 0)] {
        let along = [0.48, 0.6, 0.64];
        let at = |r: f64| along.map(|x| x * r);
        let step = 1e-3;
        let points = [at(r), at(r - step), at(r + step)];
        let values = screened.values(&points, &[region; 3], &charges, true).unwrap();
        let of = |k: usize| values.reaction[k] + values.source[k];
        let exact = match region {
            1 => outside(r),
            _ => outside(radius) + (1.0 / r - 1.0 / radius) / 4.0,
        };
        // Inside, most of the charge's own potential is cancelled.
        let error = (of(0) - exact).abs() / exact.max(values.source[0]);
        assert!(error < 1.5e-3, "{r}: {error:.1e}");
        let slope: f64 = (0..3).map(|k| values.gradient[0][k] * along[k]).sum();
        let difference = (of(2) - of(1)) / (2.0 * step);
        assert!((slope / difference - 1.0).abs() < 2e-3, "{r}: {slope} {difference}");
    }
}

/// A cavity with water, whose normals point either way, and ions in several regions: potentials do
/// not depend on which way normals point, and converge on flat triangles with one density each.
#[test]
fn nested_surfaces_do_not_spoil_each_other() {
    // Water in a shell of protein in water; the charge in the water.
    let (layers, charges) = ([[3.0, 100.0], [5.0, 1.0]], [([0.0, 0.0, 1.0], 1.0)]);
    let outside = Medium { permittivity: 50.0, kappa: 0.0 };
    let exact = kirkwood(&layers, outside, &charges);
    let media = [without_ions(100.0), without_ions(1.0), outside];
    let error = |elements: usize, flipped: bool| {
        let mut inner = sphere(3.0, elements, 1);
        let mut of_inner = [1, 0];
        if flipped {
            inner.triangles.iter_mut().for_each(|corners| corners.swap(0, 1));
            of_inner.swap(0, 1);
        }
        let count = inner.triangles.len();
        let spheres = vec![("a".to_owned(), inner), ("b".to_owned(), sphere(5.0, elements, 1))];
        let mesh = mesh::join::joined(spheres);
        let sides: Vec<[u32; 2]> =
            (0..mesh.triangles.len()).map(|t| if t < count { of_inner } else { [2, 1] }).collect();
        let cells = Cells { media: &media, sides: &sides };
        let (fixed, options) = (fixed(&charges), SolveOptions::default());
        let screened = poisson_boltzmann(&mesh, cells, &fixed, &options, &NoProgress).unwrap();
        energy(&screened, &fixed) / exact - 1.0
    };
    for elements in [320, 1280] {
        let (outward, inward) = (error(elements, false), error(elements, true));
        // Of the second order: 2e-2 with 320.
        assert!((outward - inward).abs() < 1e-4, "{elements}: {outward:.1e} {inward:.1e}");
        assert!(outward.abs() < 10.0 / elements as f64, "{elements}: {outward:.1e}");
    }
}

/// Nothing depends on where the molecule is, how it is turned, and what it is measured in.
#[test]
fn solutions_move_with_the_mesh() {
    let (elements, charge) = (320, [1.0, 1.0, 1.0]);
    let mesh = sphere(4.0, elements, 1);
    let turned = |[x, y, z]: [f64; 3]| [0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y, z];
    let solve = |place: &dyn Fn([f64; 3]) -> [f64; 3], unit: f64| {
        let mut mesh = mesh.clone();
        mesh.vertices.iter_mut().for_each(|x| *x = place(*x));
        let media = [without_ions(4.0), Medium { permittivity: 80.0, kappa: 0.125 / unit }];
        let sides = vec![[1, 0]; mesh.triangles.len()];
        let cells = Cells { media: &media, sides: &sides };
        let charges = [FixedCharge { position: place(charge), charge: 1.0, region: 0 }];
        let options = SolveOptions::default().tolerance(1e-8);
        let screened = poisson_boltzmann(&mesh, cells, &charges, &options, &NoProgress).unwrap();
        unit * energy(&screened, &charges)
    };
    let first = solve(&|x| x, 1.0);
    let moved = solve(&|x| turned(x).map(|x| x + 700.0), 1.0);
    let scaled = solve(&|x| turned(x).map(|x| 1e-10 * x), 1e-10);
    for other in [moved, scaled] {
        // Fast sums to a third of 1e-8, and the correction in single precision.
        assert!((other / first - 1.0).abs() < 1e-6, "{first} {other}");
    }
}

/// Notes how far a solve came.
#[derive(Default)]
struct Stages(Mutex<Vec<Stage>>);

impl Progress for Stages {
    fn advance(&self, stage: Stage, _: u64, _: u64) -> bool {
        self.0.lock().unwrap().push(stage);
        true
    }
}

/// Before anything is made where a regular near field does not fit; while it is made where there
/// are more close pairs, as of two spheres next to each other.
#[test]
fn what_does_not_fit_is_refused_before_its_memory_is_taken() {
    let radii = [20.0, 20.1];
    let mut mesh = Mesh::default();
    for radius in radii {
        mesh = mesh::join::with_group(mesh, "", sphere(radius, 500, 1));
    }
    let inner = mesh.triangles.len() / 2;
    let sides = |t: usize| if t < inner { [1, 0] } else { [2, 1] };
    let sides: Vec<[u32; 2]> = (0..mesh.triangles.len()).map(sides).collect();
    let media = [without_ions(4.0), without_ions(80.0), salt_water()];
    let cells = Cells { media: &media, sides: &sides };
    for (method, density) in [
        (Method::Auto, Density::Constant),
        (Method::Auto, Density::Linear),
        (Method::Dense, Density::Constant),
    ] {
        let mut ends = Vec::new();
        let mut limit = 1e5;
        loop {
            let options = SolveOptions::default().method(method).density(density);
            let options = options.tolerance(1e-3).memory_limit(Some(limit as u64));
            let stages = Stages::default();
            match poisson_boltzmann(&mesh, cells, &[], &options, &stages) {
                Ok(_) => break,
                Err(Error::Memory { needed, available, .. }) => {
                    assert!(needed > available && available == limit as u64);
                }
                Err(error) => panic!("{error}"),
            }
            ends.push(stages.0.lock().unwrap().last().copied());
            limit *= 1.1;
        }
        let of = |end: Option<Stage>| ends.iter().filter(|found| **found == end).count();
        let (at_once, later) = (of(None), of(Some(Stage::NearField)));
        assert!(at_once > 10 && later > 0 && at_once + later == ends.len(), "{ends:?}");
    }
}
/// The most that a residual of whole rows may be, in tolerances.
const PROMISE: f64 = 5.0;

/// Points of every degree, between three regions: whole rows find the solve's own residual, whether
/// iterations have ended or not.
#[test]
fn whole_rows_have_the_residual_of_the_solve() {
    let charges = [([1.0, 1.0, 1.0], 1.0), ([-2.5, 1.0, 0.3], -0.4)];
    let layers = [[4.0, 4.0], [6.0, 80.0]];
    for (order, density) in
        [(1, Density::Constant), (1, Density::Linear), (2, Density::Linear), (3, Density::Linear)]
    {
        for (method, iterations) in [(Method::Fmm, 3), (Method::Fmm, 100), (Method::Dense, 100)] {
            let options = SolveOptions::default().density(density).tolerance(1e-5);
            let options = options.method(method).max_iterations(iterations);
            let screened = solved(&layers, salt_water(), &charges, (80, order), &options);
            let (own, ends) = (screened.info.relative_residual, iterations > 3);
            assert_eq!((own < 1e-5, own > 1e-3), (ends, !ends), "{own:.1e}");
            let found = screened.sampled_residual(&fixed(&charges)).unwrap();
            // 32 panels stand for 160.
            let ratio = found / own;
            assert!((0.5..2.0).contains(&ratio), "{order} {density:?} {method:?}: {ratio}");
        }
    }
}

#[test]
fn whole_rows_show_what_is_wrong() {
    let charges = [([1.0, 1.0, 1.0], 1.0)];
    let layers = [[4.0, 4.0]];
    let tolerance = 1e-6;
    let promise = PROMISE * tolerance;
    // Fewer points are summed without expansions.
    for (how, density) in
        [((1280, 1), Density::Constant), ((720, 1), Density::Linear), ((320, 3), Density::Linear)]
    {
        // The residual, and that with a charge that is larger by this.
        let of = |options: SolveOptions| {
            let options = options.density(density);
            let screened = solved(&layers, salt_water(), &charges, how, &options);
            assert!(screened.has_converged());
            [1.0, 1.0 + 1e-4].map(|times| {
                let charges = fixed(&[(charges[0].0, times)]);
                screened.sampled_residual(&charges).unwrap()
            })
        };
        let options = SolveOptions::default().tolerance(tolerance).method(Method::Fmm);
        let [right, scaled] = of(options.clone());
        assert!(0.0 < right && right < promise, "{right:.1e}");
        assert!((0.5e-4..2e-4).contains(&scaled), "{scaled:.1e}");
        let [by_poor_sums, _] = of(options.fmm_tolerance(Some(1e-3)));
        assert!(by_poor_sums > promise, "{by_poor_sums:.1e}");
    }
    let nothing = solved(&layers, salt_water(), &[], (180, 1), &SolveOptions::default());
    assert_eq!(nothing.sampled_residual(&[]).unwrap(), 0.0);
}

/// Next to high permittivities the layers of a body nearly cancel, and with them digits of entries.
#[test]
fn equations_next_to_high_permittivities_are_solved_to_the_tolerance() {
    let charges = [([0.5, 0.3, 0.1], 1.0)];
    let outside = Medium { permittivity: 1.0, kappa: 0.5 };
    for (permittivity, tolerance) in [(4e3, 1e-8), (1e2, 1e-8), (4e3, 1e-6)] {
        let layers = [[2.0, 3.0], [4.0, permittivity]];
        for (density, method) in
            [(Density::Linear, Method::Dense), (Density::Constant, Method::Fmm)]
        {
            let options = SolveOptions::default().density(density).tolerance(tolerance);
            let screened = solved(&layers, outside, &charges, (80, 1), &options.method(method));
            assert!(screened.has_converged());
            let found = screened.sampled_residual(&fixed(&charges)).unwrap();
            assert!(found < PROMISE * tolerance, "{permittivity} {tolerance}: {found:.1e}");
        }
    }
}

/// Kernels around points of strongly bent panels vary more along these than around those of flat
/// ones.
#[test]
fn equations_on_bent_panels_are_solved_to_the_tolerance() {
    let charges = [([1.0, 0.5, 0.3], 1.0)];
    let outside = Medium { permittivity: 1.0, kappa: 0.05 };
    for (elements, order) in [(20, 2), (20, 3), (20, 4), (80, 3)] {
        for tolerance in [1e-5, 1e-7] {
            let options = SolveOptions::default().density(Density::Linear).tolerance(tolerance);
            let options = options.method(Method::Dense);
            let screened = solved(&[[4.0, 78.5]], outside, &charges, (elements, order), &options);
            let found = screened.sampled_residual(&fixed(&charges)).unwrap();
            println!("{elements} {order} {tolerance:.0e}: {found:.1e}");
            assert!(found < PROMISE * tolerance, "{elements} {order} {tolerance}: {found:.1e}");
        }
    }
}
