//! Sums by every way compared with direct sums.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{errors, exact, largest_difference};
use fgt::{Bandwidths, Grid, Mode, Options, Plan, Sums, Targets, direct};
use samples::{Distribution, Random, mixed_charges};

const N: usize = 700;

/// Every tolerance for sums of one bandwidth: the error of each is at most the tolerance itself.
fn every_tolerance<const D: usize>(distribution: Distribution, length: f64, seed: u64) {
    let random = &mut Random::new(seed);
    let points: Vec<[f64; D]> = distribution.points(N, random);
    let charges = mixed_charges(N, random);
    let bandwidths = Bandwidths::Same(length * length);
    let exact = exact(&points, bandwidths, &points, &charges);
    for decade in 2..=12 {
        let tolerance = 10f64.powi(-decade);
        for gradient in [false, true] {
            for mode in [Mode::Auto, Mode::Grid, Mode::Pairs] {
                // Grids over isolated points have more nodes than a test has time for.
                if mode == Mode::Grid && (length < 0.3 || decade % 2 == 1) {
                    continue;
                }
                let options = Options::default().tolerance(tolerance).gradient(gradient).mode(mode);
                let plan = Plan::new(&points, bandwidths, Targets::Sources, &options).unwrap();
                let [error, slope] = errors(&plan, &charges, &exact, gradient);
                assert!(
                    error <= tolerance && slope <= tolerance,
                    "{D}d {distribution:?} {length} {options:?}: {error:.2e} {slope:.2e}"
                );
                assert!(mode != Mode::Grid || plan.info().grids == 1);
            }
        }
    }
}

fn every_bandwidth<const D: usize>() {
    for (seed, distribution) in Distribution::ALL.into_iter().enumerate() {
        for length in [1e-3, 0.05, 0.3, 3.0, 1e4] {
            every_tolerance::<D>(distribution, length, seed as u64);
        }
    }
}

#[test]
fn every_tolerance_holds_on_a_line() {
    every_bandwidth::<1>();
}

#[test]
fn every_tolerance_holds_in_a_plane() {
    every_bandwidth::<2>();
}

#[test]
fn every_tolerance_holds_in_space() {
    every_bandwidth::<3>();
}

fn variable_bandwidths<const D: usize>(bandwidths: &dyn Fn(&mut Random) -> f64) {
    let random = &mut Random::new(5);
    for distribution in [Distribution::Cube, Distribution::Sphere, Distribution::GradedPlate] {
        let sources: Vec<[f64; D]> = distribution.points(N, random);
        let targets: Vec<[f64; D]> = distribution.points(N / 2, random);
        let charges = mixed_charges(N, random);
        let lengths: Vec<f64> = (0..N).map(|_| bandwidths(random).powi(2)).collect();
        let bandwidths = Bandwidths::Each(&lengths);
        let exact = exact(&sources, bandwidths, &targets, &charges);
        for tolerance in [1e-2, 3e-4, 1e-6, 1e-8, 1e-10, 1e-12] {
            for (gradient, mode) in [(false, Mode::Auto), (true, Mode::Auto), (true, Mode::Pairs)] {
                let options = Options::default().tolerance(tolerance).gradient(gradient).mode(mode);
                let to = Targets::Points(&targets);
                let plan = Plan::new(&sources, bandwidths, to, &options).unwrap();
                let [error, slope] = errors(&plan, &charges, &exact, gradient);
                assert!(
                    error <= tolerance && slope <= tolerance,
                    "{D}d {distribution:?} {options:?}: {error:.2e} {slope:.2e}"
                );
            }
        }
    }
}

#[test]
fn bandwidths_may_span_six_decades() {
    // Lengths from a thousandth of the domain to a thousand of it.
    let lengths = |random: &mut Random| 10f64.powf(6.0 * random.uniform() - 3.0);
    variable_bandwidths::<1>(&lengths);
    variable_bandwidths::<2>(&lengths);
    variable_bandwidths::<3>(&lengths);
}

#[test]
fn bandwidths_may_be_those_of_atoms() {
    let radii = [0.10, 0.12, 0.17, 0.152, 0.155, 0.18];
    let lengths = |random: &mut Random| radii[random.below(radii.len())];
    variable_bandwidths::<2>(&lengths);
    variable_bandwidths::<3>(&lengths);
}

#[test]
fn interpolation_between_bandwidths_by_the_grid_keeps_every_tolerance() {
    let random = &mut Random::new(6);
    let points: Vec<[f64; 2]> = Distribution::Cube.points(N, random);
    let charges = mixed_charges(N, random);
    for low in [0.3, 30.0] {
        let lengths: Vec<f64> = (0..N).map(|_| (low * (1.0 + random.uniform())).powi(2)).collect();
        let bandwidths = Bandwidths::Each(&lengths);
        let exact = exact(&points, bandwidths, &points, &charges);
        for decade in 2..=12 {
            let options =
                Options::default().tolerance(10f64.powi(-decade)).mode(Mode::Grid).gradient(true);
            let plan = Plan::new(&points, bandwidths, Targets::Sources, &options).unwrap();
            assert!(plan.info().channels > 1 && plan.info().groups == 1);
            let [error, slope] = errors(&plan, &charges, &exact, true);
            let most = options.tolerance;
            assert!(error <= most && slope <= most, "{low} {most:e}: {error:.2e} {slope:.2e}");
        }
    }
}

#[test]
fn grids_are_the_points_that_they_have() {
    let random = &mut Random::new(7);
    let sources: Vec<[f64; 3]> = Distribution::Sphere.points(N, random);
    let charges = mixed_charges(N, random);
    let grid = Grid { origin: [-1.5, 1.2, -0.7], spacing: [0.31, -0.22, 0.19], shape: [9, 11, 8] };
    let points = grid.points();
    // The last axis is fastest.
    let close = |a: [f64; 3], b: [f64; 3]| largest_difference(&a, &b) < 1e-15;
    assert!(points.len() == 9 * 11 * 8 && close(points[1], [-1.5, 1.2, -0.7 + 0.19]));
    assert!(close(points[8 * 11 + 8], [-1.5 + 0.31, 1.2 - 0.22, -0.7]));
    for length in [0.05, 0.4, 8.0] {
        let bandwidths = Bandwidths::Same(length * length);
        let exact = exact(&sources, bandwidths, &points, &charges);
        for (tolerance, mode) in [(1e-4, Mode::Auto), (1e-8, Mode::Grid), (1e-11, Mode::Auto)] {
            let options = Options::default().tolerance(tolerance).gradient(true).mode(mode);
            let plan = Plan::new(&sources, bandwidths, Targets::Grid(&grid), &options).unwrap();
            let [error, slope] = errors(&plan, &charges, &exact, true);
            assert!(error <= tolerance && slope <= tolerance, "{length}: {error:.2e} {slope:.2e}");
        }
    }
}

#[test]
fn a_lone_source_makes_a_gaussian() {
    for (length, at) in [(0.7, [0.3, -0.2, 0.9]), (1e-3, [3e-4, 2e-4, -5e-4])] {
        let bandwidth = length * length;
        for mode in [Mode::Auto, Mode::Grid, Mode::Direct, Mode::Pairs] {
            for decade in [2, 5, 8, 12] {
                let tolerance = 10f64.powi(-decade);
                let options = Options::default().tolerance(tolerance).gradient(true).mode(mode);
                let targets = [at, [0.0; 3]];
                let to = Targets::Points(&targets);
                let plan =
                    Plan::new(&[[0.0; 3]], Bandwidths::Same(bandwidth), to, &options).unwrap();
                let (mut values, mut gradients) = ([f64::NAN; 2], [f64::NAN; 6]);
                let sums = Sums { values: Some(&mut values), gradients: Some(&mut gradients) };
                plan.apply(&[3.0], sums).unwrap();
                let value = 3.0 * (-at.iter().map(|x| x * x).sum::<f64>() / bandwidth).exp();
                // The scales are 3 and 3 sqrt(2 / bandwidth).
                assert!(largest_difference(&values, &[value, 3.0]) <= 3.0 * tolerance);
                let mut gradient = [0.0; 6];
                for axis in 0..3 {
                    gradient[axis] = -2.0 * at[axis] / bandwidth * value;
                }
                let error = largest_difference(&gradients, &gradient);
                assert!(error <= 3.0 * tolerance * (2.0 / bandwidth).sqrt(), "{mode:?} {error:e}");
            }
        }
    }
}

#[test]
fn a_lattice_has_the_sum_of_poisson() {
    // The sum of exp(-(x - h n)^2 / delta) over all n is sqrt(pi delta) / h (1 + 2 sum_k
    // exp(-(pi k)^2 delta / h^2) cos(2 pi k x / h)). The lattice ends 30 lengths from the targets.
    let spacing = 0.01;
    let sources: Vec<[f64; 1]> = (-3000..=3000).map(|n| [spacing * f64::from(n)]).collect();
    let charges = vec![1.0; sources.len()];
    let targets: Vec<[f64; 1]> = (0..50).map(|i| [0.0013 * f64::from(i)]).collect();
    for ratio in [0.05f64, 0.3, 1.0, 1000.0] {
        let bandwidth = ratio * spacing * spacing;
        let value = |x: f64| {
            let k = |k: i32| {
                let k = f64::from(k) * std::f64::consts::PI;
                2.0 * (-k * k * ratio).exp() * (2.0 * k * x / spacing).cos()
            };
            (std::f64::consts::PI * ratio).sqrt() * (1.0 + (1..12).map(k).sum::<f64>())
        };
        let exact: Vec<f64> = targets.iter().map(|x| value(x[0])).collect();
        let scale = exact.iter().fold(1.0f64, |a, &b| a.max(b));
        for (tolerance, mode) in
            [(1e-12, Mode::Auto), (1e-5, Mode::Auto), (1e-9, Mode::Grid), (1e-12, Mode::Direct)]
        {
            let options = Options::default().tolerance(tolerance).mode(mode);
            let to = Targets::Points(&targets);
            let plan = Plan::new(&sources, Bandwidths::Same(bandwidth), to, &options).unwrap();
            let mut values = vec![f64::NAN; targets.len()];
            plan.apply(&charges, Sums { values: Some(&mut values), gradients: None }).unwrap();
            let error = largest_difference(&values, &exact) / scale;
            assert!(error <= tolerance, "{ratio} {options:?}: {error:.2e}");
        }
    }
}

#[test]
fn densities_are_summed_each_by_itself_and_linearly() {
    let random = &mut Random::new(9);
    let sources: Vec<[f64; 2]> = Distribution::Plummer.points(N, random);
    let targets: Vec<[f64; 2]> = Distribution::Cube.points(300, random);
    let lengths: Vec<f64> = (0..N).map(|_| 10f64.powf(2.0 * random.uniform() - 2.0)).collect();
    let k = 6;
    let mut charges = mixed_charges(5 * N, random);
    // The last is the first less twice the second.
    let last: Vec<f64> = (0..N).map(|j| charges[j] - 2.0 * charges[N + j]).collect();
    charges.extend(last);
    for mode in [Mode::Auto, Mode::Pairs, Mode::Direct] {
        let options = Options::default().tolerance(1e-5).gradient(true).mode(mode);
        let to = Targets::Points(&targets);
        let plan = Plan::new(&sources, Bandwidths::Each(&lengths), to, &options).unwrap();
        let mut values = vec![f64::NAN; k * targets.len()];
        let mut gradients = vec![f64::NAN; 2 * k * targets.len()];
        let sums = Sums { values: Some(&mut values), gradients: Some(&mut gradients) };
        plan.apply(&charges, sums).unwrap();
        let m = targets.len();
        for density in 0..k {
            let mut value = vec![f64::NAN; m];
            let mut gradient = vec![f64::NAN; 2 * m];
            let sums = Sums { values: Some(&mut value), gradients: Some(&mut gradient) };
            plan.apply(&charges[density * N..(density + 1) * N], sums).unwrap();
            // Rounding alone: sums of some hundred terms below 1, slopes of some 1000.
            let all = &values[density * m..(density + 1) * m];
            assert!(largest_difference(all, &value) < 1e-12);
            let all = &gradients[2 * density * m..2 * (density + 1) * m];
            assert!(largest_difference(all, &gradient) < 1e-9);
        }
        let combined: Vec<f64> = (0..m).map(|i| values[i] - 2.0 * values[m + i]).collect();
        assert!(largest_difference(&combined, &values[5 * m..]) < 1e-12);
    }
}

#[test]
fn values_are_the_same_with_and_without_gradients_and_gradients_come_alone() {
    let random = &mut Random::new(10);
    let points: Vec<[f64; 3]> = Distribution::Cube.points(N, random);
    let charges = mixed_charges(N, random);
    let options = Options::default().gradient(true);
    let plan = Plan::new(&points, Bandwidths::Same(0.1), Targets::Sources, &options).unwrap();
    let (mut both, mut slopes) = (vec![0.0; N], vec![0.0; 3 * N]);
    let sums = Sums { values: Some(&mut both), gradients: Some(&mut slopes) };
    plan.apply(&charges, sums).unwrap();
    let (mut values, mut gradients) = (vec![1.0; N], vec![1.0; 3 * N]);
    plan.apply(&charges, Sums { values: Some(&mut values), gradients: None }).unwrap();
    plan.apply(&charges, Sums { values: None, gradients: Some(&mut gradients) }).unwrap();
    assert!(largest_difference(&both, &values) < 1e-12);
    assert!(largest_difference(&slopes, &gradients) < 1e-11);
}

#[test]
fn the_direct_sum_is_that_of_its_definition() {
    let random = &mut Random::new(11);
    let sources: Vec<[f64; 2]> = Distribution::Cube.points(37, random);
    let targets: Vec<[f64; 2]> = Distribution::Cube.points(29, random);
    let lengths: Vec<f64> = (0..37).map(|_| 0.01 + random.uniform()).collect();
    let charges = mixed_charges(37, random);
    let (mut values, mut gradients) = (vec![0.0; 29], vec![0.0; 58]);
    let sums = &mut Sums { values: Some(&mut values), gradients: Some(&mut gradients) };
    direct::sum(&sources, Bandwidths::Each(&lengths), &targets, &charges, sums).unwrap();
    for (i, x) in targets.iter().enumerate() {
        let (mut value, mut slope) = (0.0, [0.0; 2]);
        for (j, y) in sources.iter().enumerate() {
            let r = [x[0] - y[0], x[1] - y[1]];
            let term = charges[j] * (-(r[0] * r[0] + r[1] * r[1]) / lengths[j]).exp();
            value += term;
            (0..2).for_each(|a| slope[a] -= 2.0 * r[a] / lengths[j] * term);
        }
        // Rounding of 37 terms: of values below 1, of slopes below 10.
        assert!((values[i] - value).abs() < 1e-14);
        assert!((0..2).all(|a| (gradients[2 * i + a] - slope[a]).abs() < 2e-13));
    }
}
