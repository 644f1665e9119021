//! The treecode: the promise of the tolerance, against direct double-precision sums, for targets
//! that are few or many, inside, outside and far from the sources.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use fmm::{Backend, Densities, Kernel, Mode, Options, Plan, Potentials, Precision, direct};
use samples::{ChargeKind, Distribution, Random};

/// Strengths of two densities.
struct Strengths {
    charges: Vec<f64>,
    dipoles: Option<Vec<f64>>,
}

impl Strengths {
    fn new(sources: &[[f64; 3]], dipoles: bool, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let charges =
            (0..2).flat_map(|_| ChargeKind::Mixed.charges(sources, &mut random)).collect();
        let moments = (0..6 * sources.len()).map(|_| 0.01 * (random.uniform() - 0.5));
        Self { charges, dipoles: dipoles.then(|| moments.collect()) }
    }

    fn densities(&self) -> Densities<'_> {
        Densities { charges: Some(&self.charges), dipoles: self.dipoles.as_deref() }
    }
}

/// Errors of potentials and gradients of two densities, at up to 600 targets.
///
/// They are relative to the root of what squares of the potentials (gradients) of random signs are
/// on average, which the tolerance is about: the potential at one target may be near zero.
fn errors(
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    dipoles: bool,
    options: &Options,
) -> [f64; 2] {
    let options = options.clone().mode(Mode::Treecode).gradient(true).dipoles(dipoles).densities(2);
    let strengths = Strengths::new(sources, dipoles, 21);
    let mut plan = Plan::new(sources, targets, &options).unwrap();
    assert_eq!(plan.info().mode, Mode::Treecode);
    let m = targets.unwrap_or(sources).len();
    let (mut potential, mut gradient) = (vec![f64::NAN; 2 * m], vec![f64::NAN; 6 * m]);
    // Twice: the second sum must not remember the first.
    for _ in 0..2 {
        let sums = Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
        plan.apply(strengths.densities(), sums).unwrap();
    }
    let step = m.div_ceil(600).max(1);
    let at: Vec<[f64; 3]> = targets.unwrap_or(sources).iter().copied().step_by(step).collect();
    let at = &at[..];
    let pick = |values: &[f64], width: usize| -> Vec<f64> {
        let rows = |of: &[f64]| of.chunks(width).step_by(step).collect::<Vec<_>>().concat();
        values.chunks((m * width).max(1)).flat_map(rows).collect()
    };
    assert!(potential.iter().chain(&gradient).all(|value| value.is_finite()));
    let (potential, gradient) = (pick(&potential, 1), pick(&gradient, 3));
    let (mut exact, mut slopes) = (vec![0.0; 2 * at.len()], vec![0.0; 6 * at.len()]);
    let mut sums = Potentials { potential: Some(&mut exact), gradient: Some(&mut slopes) };
    direct::sum(options.kernel, sources, at, strengths.densities(), &mut sums).unwrap();
    let mut expected = [0.0; 2];
    let kappa = options.kernel.kappa();
    for x in at {
        for (j, y) in sources.iter().enumerate() {
            let r2: f64 = (0..3).map(|i| (x[i] - y[i]) * (x[i] - y[i])).sum();
            if r2 > 0.0 {
                let t = kappa * r2.sqrt();
                let of_charge = (-2.0 * t).exp() / r2;
                let slope = of_charge * (1.0 + t) * (1.0 + t) / r2;
                for density in 0..2 {
                    let q = strengths.charges[density * sources.len() + j];
                    expected[0] += q * q * of_charge;
                    expected[1] += q * q * slope;
                }
            }
        }
    }
    let error = |found: &[f64], exact: &[f64], expected: f64| {
        let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
        let norm: f64 = exact.iter().map(|b| b * b).sum();
        (difference / f64::max(norm, expected).max(f64::MIN_POSITIVE)).sqrt()
    };
    [error(&potential, &exact, expected[0]), error(&gradient, &slopes, expected[1])]
}

fn assert_below(what: &str, errors: [f64; 2], tolerance: f64) {
    for error in errors {
        assert!(error <= tolerance, "{what}: {error:.2e}, more than {tolerance:.0e}");
    }
}

/// Points moved and scaled.
fn moved(points: Vec<[f64; 3]>, scale: f64, by: [f64; 3]) -> Vec<[f64; 3]> {
    points.into_iter().map(|x| std::array::from_fn(|i| scale * x[i] + by[i])).collect()
}

#[test]
fn every_tolerance_holds_at_few_and_at_many_targets() {
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        let sources = distribution.points(3000, &mut Random::new(31));
        let few: Vec<[f64; 3]> = distribution.points(40, &mut Random::new(32));
        let many: Vec<[f64; 3]> = distribution.points(300, &mut Random::new(33));
        for exponent in 2..=10 {
            let tolerance = 10f64.powi(-exponent);
            // Each kappa meets each distribution and each tolerance; so do few and many targets,
            // dipoles and none.
            let j = (i + exponent as usize) % 3;
            let kappa = [0.0, 0.7, 25.0][j];
            let kernel = Kernel::Yukawa { kappa };
            let options = Options::default().tolerance(tolerance).kernel(kernel);
            let dipoles = (i + exponent as usize).is_multiple_of(2);
            let targets =
                if (i / 2 + exponent as usize / 2).is_multiple_of(2) { &few } else { &many };
            let found = errors(&sources, Some(targets), dipoles, &options);
            let what = format!("{distribution:?} 1e-{exponent} {kappa} {}", targets.len());
            assert_below(&what, found, tolerance);
        }
    }
}

#[test]
fn targets_may_be_the_sources_outside_and_far_away() {
    let sources = Distribution::Cube.points(3000, &mut Random::new(41));
    let near = Distribution::Cube.points(300, &mut Random::new(42));
    let slice: Vec<[f64; 3]> = Distribution::Cube
        .points(300, &mut Random::new(43))
        .into_iter()
        .map(|[x, y]: [f64; 2]| [x, y, 0.5])
        .collect();
    let places = [
        ("the sources", None),
        ("a slice", Some(slice)),
        ("next to them", Some(moved(near.clone(), 1.0, [1.01, 0.0, 0.0]))),
        ("around", Some(moved(near.clone(), 9.0, [-4.0; 3]))),
        ("far", Some(moved(near.clone(), 1.0, [40.0, 3.0, -7.0]))),
        ("very far", Some(moved(near.clone(), 1.0, [1e5, 0.0, 0.0]))),
        ("a speck", Some(moved(near, 1e-5, [0.4, 0.6, 0.7]))),
    ];
    for (what, targets) in &places {
        for (tolerance, precision) in
            [(1e-3, None), (1e-6, None), (1e-9, None), (1e-4, Some(Precision::Double))]
        {
            let options = Options::default().tolerance(tolerance).precision(precision);
            let found = errors(&sources, targets.as_deref(), tolerance < 1e-5, &options);
            assert_below(&format!("{what} {tolerance:e}"), found, tolerance);
        }
    }
}

#[test]
fn clusters_and_screening_lengths_of_all_sizes() {
    let mut sources = Vec::new();
    for (i, scale) in [1.0, 1e-2, 1e-4, 1e-6].into_iter().enumerate() {
        let points = Distribution::Plummer.points(1200, &mut Random::new(51 + i as u64));
        sources.extend(moved(points, scale, [0.3 * i as f64, 0.1, -0.2]));
    }
    // At the sources, some of them at their very places.
    let targets: Vec<[f64; 3]> = sources.iter().copied().step_by(17).collect();
    for kappa in [0.0, 1.0, 300.0, 1e5] {
        for tolerance in [1e-4, 1e-8] {
            let kernel = Kernel::Yukawa { kappa };
            let options = Options::default().tolerance(tolerance).kernel(kernel);
            let found = errors(&sources, Some(&targets), false, &options);
            assert_below(&format!("{kappa} {tolerance:e}"), found, tolerance);
        }
    }
}

#[test]
fn expansions_alone_keep_the_tolerance() {
    // One point a leaf: hardly any pairs.
    let sources = Distribution::Cube.points(3000, &mut Random::new(61));
    let targets = Distribution::Cube.points(200, &mut Random::new(62));
    for kappa in [0.0, 5.0] {
        for (tolerance, precision) in [(1e-4, Precision::Single), (1e-9, Precision::Double)] {
            let options = Options::default()
                .tolerance(tolerance)
                .precision(Some(precision))
                .kernel(Kernel::Yukawa { kappa })
                .leaf_size(Some(1));
            let found = errors(&sources, Some(&targets), true, &options);
            assert_below(&format!("{kappa} {tolerance:e}"), found, tolerance);
        }
    }
}

#[test]
fn one_source_one_target_and_none() {
    let one = [[0.1, 0.2, 0.3]];
    let cloud = Distribution::Cube.points(2000, &mut Random::new(71));
    let inside = [[0.5, 0.5, 0.5]];
    let outside = [[7.0, 0.5, 0.5]];
    let options = Options::default().tolerance(1e-6);
    let none: [[f64; 3]; 0] = [];
    let cases: [[&[[f64; 3]]; 2]; 7] = [
        [&one, &inside],
        [&one, &one],
        [&one, &cloud],
        [&cloud, &inside],
        [&cloud, &outside],
        [&none, &inside],
        [&cloud, &none],
    ];
    for (i, [sources, targets]) in cases.into_iter().enumerate() {
        assert_below(&format!("case {i}"), errors(sources, Some(targets), false, &options), 1e-6);
    }
}

#[test]
fn the_mode_is_chosen_by_the_sizes_and_reported() {
    let sources = Distribution::Cube.points(60_000, &mut Random::new(81));
    let at = |count: usize| {
        let targets = Distribution::Cube.points(count, &mut Random::new(82));
        let options = Options::default().mode(Mode::Auto).tolerance(1e-5);
        let mut plan = Plan::new(&sources, Some(&targets), &options).unwrap();
        let charges = ChargeKind::Mixed.charges(&sources, &mut Random::new(83));
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let (mut found, mut exact) = (vec![0.0; count], vec![0.0; count]);
        let sums = Potentials { potential: Some(&mut found), gradient: None };
        plan.apply(densities, sums).unwrap();
        let mut sums = Potentials { potential: Some(&mut exact), gradient: None };
        direct::sum(Kernel::Laplace, &sources, &targets, densities, &mut sums).unwrap();
        let difference: f64 = found.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum();
        let norm: f64 = exact.iter().map(|b| b * b).sum();
        assert!(difference <= 1e-10 * norm);
        plan.info().mode
    };
    assert_eq!(at(3), Mode::Direct);
    assert_eq!(at(2000), Mode::Treecode);
    // As many targets as sources: `Auto` is never slower than what it was.
    let options = Options::default().mode(Mode::Auto);
    assert_eq!(Plan::new(&sources, None, &options).unwrap().info().mode, Mode::Fmm);
}

#[test]
fn small_treecodes_stay_on_the_cpu() {
    let options = Options::default().mode(Mode::Treecode).backend(Backend::Auto);
    let plan = Plan::new(&[[0.0; 3]], None, &options).unwrap();
    assert_eq!((plan.info().mode, plan.info().backend), (Mode::Treecode, Backend::Cpu));
    assert_eq!(plan.info().fallback, None);
}
