//! Strengths of any size, and points whose distances differ by many orders of magnitude.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use fmm::{Densities, Options, Plan, Potentials, Precision, direct};
use samples::{ChargeKind, Distribution, Random};

fn potentials<'a>(sums: &'a mut [f64], gradient: &'a mut [f64]) -> Potentials<'a> {
    Potentials { potential: Some(sums), gradient: (!gradient.is_empty()).then_some(gradient) }
}

/// Relative L2 error.
fn error(found: &[f64], exact: &[f64]) -> f64 {
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
    let norm: f64 = exact.iter().map(|b| b * b).sum();
    (difference / norm).sqrt()
}

/// Potentials and gradients of `count` densities.
fn apply(
    points: &[[f64; 3]],
    options: &Options,
    densities: Densities<'_>,
    count: usize,
) -> [Vec<f64>; 2] {
    let mut plan = Plan::new(points, None, options).unwrap();
    let n = count * points.len();
    let mut potential = vec![f64::NAN; n];
    let mut gradient = vec![f64::NAN; if options.gradient { 3 * n } else { 0 }];
    plan.apply(densities, potentials(&mut potential, &mut gradient)).unwrap();
    [potential, gradient]
}

#[test]
fn strengths_of_any_size_give_the_sums_of_small_ones() {
    let points = Distribution::Sphere.points(3000, &mut Random::new(41));
    let mut random = Random::new(42);
    let charges = ChargeKind::Mixed.charges(&points, &mut random);
    let dipoles: Vec<f64> = (0..3 * points.len()).map(|_| random.uniform() - 0.5).collect();
    // Powers of two, so that sums scale without rounding: 1e-50, 1e39, and beyond what squares can
    // hold.
    let factors = [-166, 130, -600, 600].map(|exponent| 2f64.powi(exponent));
    for (tolerance, precision) in [(1e-4, None), (1e-4, Some(Precision::Double)), (1e-6, None)] {
        for (with_charges, with_dipoles) in [(true, false), (false, true), (true, true)] {
            let options = Options::default()
                .tolerance(tolerance)
                .precision(precision)
                .gradient(true)
                .dipoles(with_dipoles)
                .densities(factors.len() + 1);
            // Of different sizes in one sum: each density has a scale of its own.
            let several = |values: &[f64]| -> Vec<f64> {
                let factors = [1.0].into_iter().chain(factors);
                factors.flat_map(|factor| values.iter().map(move |v| factor * v)).collect()
            };
            let (charges, dipoles) = (several(&charges), several(&dipoles));
            let densities = Densities {
                charges: with_charges.then_some(&charges[..]),
                dipoles: with_dipoles.then_some(&dipoles[..]),
            };
            let sums = apply(&points, &options, densities, factors.len() + 1);
            for sums in sums {
                let (plain, scaled) = sums.split_at(sums.len() / (factors.len() + 1));
                assert!(plain.iter().all(|v| v.is_finite() && *v != 0.0));
                for (scaled, factor) in scaled.chunks(plain.len()).zip(factors) {
                    let unscaled: Vec<f64> = scaled.iter().map(|v| v / factor).collect();
                    // Groups of densities are added in different orders: rounding of working
                    // precision.
                    let error = error(&unscaled, plain);
                    let what = format!("{tolerance:e} {precision:?} {with_charges} {with_dipoles}");
                    assert!(error < 2e-6, "{what} {factor:e}: {error:.2e}");
                }
            }
        }
    }
}

#[test]
fn strengths_and_sides_of_any_size_go_together() {
    // Dipoles weigh by the side of the root: small moments of tiny bodies and large ones of huge
    // bodies.
    let unit = Distribution::Cube.points(2000, &mut Random::new(43));
    let mut random = Random::new(44);
    let moments: Vec<f64> = (0..3 * unit.len()).map(|_| random.uniform() - 0.5).collect();
    for (size, moment) in [(1e-30, 1e-30), (1e30, 1e30), (1e-12, 1e20), (1e12, 1e-20)] {
        let points: Vec<[f64; 3]> = unit.iter().map(|x| x.map(|c| size * c)).collect();
        let dipoles: Vec<f64> = moments.iter().map(|d| moment * d).collect();
        let densities = Densities { charges: None, dipoles: Some(&dipoles) };
        let options = Options::default().tolerance(1e-4).gradient(true).dipoles(true);
        let [potential, gradient] = apply(&points, &options, densities, 1);
        let (mut exact, mut exact_gradient) =
            (vec![0.0; points.len()], vec![0.0; 3 * points.len()]);
        let mut sums = potentials(&mut exact, &mut exact_gradient);
        direct::sum(fmm::Kernel::Laplace, &points, &points, densities, &mut sums).unwrap();
        assert!(error(&potential, &exact) < 1e-4, "{size:e} {moment:e}");
        assert!(error(&gradient, &exact_gradient) < 1e-4, "{size:e} {moment:e}");
    }
}

#[test]
fn clusters_however_far_apart_keep_every_tolerance() {
    // Two bodies with the distance between them in units of their size. Beyond 2^21 the octree
    // cannot divide them, and coordinates relative to its boxes lose what those of the caller hold.
    let mut random = Random::new(45);
    let one = Distribution::Sphere.points(400, &mut random);
    let other = Distribution::Cube.points::<3>(300, &mut random);
    for exponent in [3, 6, 7, 8, 9, 10, 12, 15] {
        let apart = 10f64.powi(exponent);
        let mut points = one.clone();
        points.extend(other.iter().map(|x| [x[0] + apart, x[1] - 0.3 * apart, x[2]]));
        let charges = ChargeKind::Mixed.charges(&points, &mut random);
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let (mut exact, mut exact_gradient) =
            (vec![0.0; points.len()], vec![0.0; 3 * points.len()]);
        let mut sums = potentials(&mut exact, &mut exact_gradient);
        direct::sum(fmm::Kernel::Laplace, &points, &points, densities, &mut sums).unwrap();
        for tolerance in [1e-4, 1e-6, 1e-8, 1e-10, 1e-12] {
            for gradient in [false, true] {
                let options = Options::default().tolerance(tolerance).gradient(gradient);
                let sums = apply(&points, &options, densities, 1);
                // The first body by itself: its coordinates are given in full.
                for (found, exact) in sums.iter().zip([&exact, &exact_gradient]) {
                    for part in [0..found.len() * 4 / 7, found.len() * 4 / 7..found.len()] {
                        let error = error(&found[part.clone()], &exact[part.clone()]);
                        assert!(
                            part.is_empty() || error <= tolerance,
                            "{apart:e} {tolerance:e} {gradient} {part:?}: {error:.2e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn clusters_however_far_apart_take_memory_by_their_points() {
    // A third cluster, large compared with boxes that cannot be split, across several of them; and
    // two clusters whose boxes touch.
    let of = |n: usize, apart: f64| -> Vec<[f64; 3]> {
        let mut random = Random::new(46);
        let mut points = Distribution::Sphere.points(n, &mut random);
        let more = Distribution::Cube.points::<3>(n, &mut random).into_iter();
        points.extend(more.map(|x| [x[0] + apart, x[1] - 0.3 * apart, x[2]]));
        let more = Distribution::Cube.points::<3>(n, &mut random).into_iter();
        let size = 4e-7 * apart;
        points.extend(more.map(|x| x.map(|x| size.max(1.0) * x + 0.41 * apart)));
        points
    };
    let options = Options::default().tolerance(1e-5);
    let costs = |points: &[[f64; 3]]| {
        let plan = Plan::new(points, None, &options).unwrap();
        let info = plan.info();
        [info.memory_bytes, info.p2p_pairs].map(|of_all| of_all as f64 / points.len() as f64)
    };
    let plain = costs(&of(2000, 3.0));
    for apart in [1e3, 1e6, 1e7, 1e8, 1e12, 1e15] {
        let points = of(2000, apart);
        // Clusters are small sums, with tops of trees and tables of their own.
        let taken = costs(&points);
        let times = [taken[0] / plain[0], taken[1] / plain[1]];
        assert!(times.iter().all(|&times| times < 3.0), "{apart:e}: {times:?} of bytes and pairs");
        let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(47));
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let [found, _] = apply(&points, &options, densities, 1);
        let picked: Vec<usize> = (0..points.len()).step_by(17).collect();
        let at: Vec<[f64; 3]> = picked.iter().map(|&i| points[i]).collect();
        let mut exact = vec![0.0; at.len()];
        let mut sums = potentials(&mut exact, &mut []);
        direct::sum(fmm::Kernel::Laplace, &points, &at, densities, &mut sums).unwrap();
        let found: Vec<f64> = picked.iter().map(|&i| found[i]).collect();
        // Each cluster by itself.
        for cluster in 0..3 {
            let own = |values: &[f64]| -> Vec<f64> {
                let is_own = |(i, _): &(&usize, &f64)| **i / 2000 == cluster;
                picked.iter().zip(values).filter(is_own).map(|(_, value)| *value).collect()
            };
            let error = error(&own(&found), &own(&exact));
            assert!(error <= options.tolerance, "{apart:e} {cluster}: {error:.2e}");
        }
    }
}

/// A cluster that the last level does not part, in the middle of points whose leaves are large.
#[test]
fn clusters_are_summed_next_to_large_leaves() {
    for (size, places) in [(1e-9, 2000), (1e-12, 2000), (0.0, 1)] {
        let mut random = Random::new(49);
        let mut points = Distribution::Cube.points::<3>(1000, &mut random);
        let cluster = Distribution::Cube.points::<3>(places, &mut random);
        points.extend((0..2000).map(|k| cluster[k % places].map(|x| 0.3 + size * x)));
        let charges = ChargeKind::Mixed.charges(&points, &mut random);
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let mut exact = vec![0.0; points.len()];
        let mut sums = potentials(&mut exact, &mut []);
        direct::sum(fmm::Kernel::Laplace, &points, &points, densities, &mut sums).unwrap();
        for tolerance in [1e-4, 1e-8] {
            let options = Options::default().tolerance(tolerance);
            let [found, _] = apply(&points, &options, densities, 1);
            for part in [0..1000, 1000..points.len()] {
                let error = error(&found[part.clone()], &exact[part.clone()]);
                assert!(error <= tolerance, "{size:e} {tolerance:e} {part:?}: {error:.2e}");
            }
        }
    }
}

#[test]
fn crowds_have_gradients_dipoles_and_targets_of_their_own() {
    let mut random = Random::new(48);
    let cluster = |n: usize, random: &mut Random| -> Vec<[f64; 3]> {
        let mut points = Distribution::Cube.points(n, random);
        let more = Distribution::Sphere.points::<3>(n, random).into_iter();
        points.extend(more.map(|x| [x[0] - 1e9, x[1], x[2] + 1e8]));
        points
    };
    let (sources, targets) = (cluster(700, &mut random), cluster(400, &mut random));
    let (n, m, k) = (sources.len(), targets.len(), 2);
    let charges: Vec<f64> = (0..k * n).map(|_| random.uniform() - 0.5).collect();
    let dipoles: Vec<f64> = (0..3 * k * n).map(|_| 0.1 * (random.uniform() - 0.5)).collect();
    let densities = Densities { charges: Some(&charges), dipoles: Some(&dipoles) };
    for kappa in [0.0, 0.5] {
        for mode in [fmm::Mode::Fmm, fmm::Mode::Treecode] {
            let kernel = fmm::Kernel::Yukawa { kappa };
            let options = Options::default().kernel(kernel).mode(mode).tolerance(1e-6);
            let options = options.gradient(true).dipoles(true).densities(k);
            let mut plan = Plan::new(&sources, Some(&targets), &options).unwrap();
            let (mut found, mut slopes) = (vec![f64::NAN; k * m], vec![f64::NAN; 3 * k * m]);
            // The second sum must not remember the first.
            for _ in 0..2 {
                plan.apply(densities, potentials(&mut found, &mut slopes)).unwrap();
            }
            let (mut exact, mut exact_slopes) = (vec![0.0; k * m], vec![0.0; 3 * k * m]);
            let mut sums = potentials(&mut exact, &mut exact_slopes);
            direct::sum(kernel, &sources, &targets, densities, &mut sums).unwrap();
            let errors = [error(&found, &exact), error(&slopes, &exact_slopes)];
            assert!(errors.iter().all(|error| *error < 1e-6), "{kappa} {mode:?}: {errors:?}");
        }
    }
}

#[test]
fn many_points_at_few_places_are_summed_as_few() {
    let places = [[0.3, -0.1, 0.2], [0.300_000_1, -0.1, 0.2], [7e9, 3.0, 0.2]];
    let points: Vec<[f64; 3]> = (0..60_000).map(|i| places[i % 3]).collect();
    let charges = vec![1.0 / 20_000.0; points.len()];
    let densities = Densities { charges: Some(&charges), dipoles: None };
    for mode in [fmm::Mode::Fmm, fmm::Mode::Treecode] {
        let options = Options::default().tolerance(1e-6).mode(mode);
        let info = Plan::new(&points, None, &options).unwrap().info().clone();
        let each = info.memory_bytes as usize / points.len();
        assert!(each < 1000 && info.p2p_pairs < 100 * points.len() as u64, "{mode:?}: {info:?}");
        let [found, _] = apply(&points, &options, densities, 1);
        // Points of one place are no pairs.
        let distance = |i: usize, j: usize| {
            places[i].iter().zip(places[j]).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
        };
        for (i, found) in found.iter().enumerate() {
            let others = (0..3).filter(|&j| j != i % 3);
            let exact: f64 = others.map(|j| 1.0 / distance(i % 3, j)).sum();
            assert!((found / exact - 1.0).abs() < 1e-6, "{mode:?} {i}: {found} {exact}");
        }
    }
}
