//! Screened sums: the promise of the tolerance, from hardly any screening to boxes that do not feel
//! each other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use fmm::{Densities, Error, Kernel, Mode, Options, Plan, Potentials, Precision, direct};
use samples::{ChargeKind, Distribution, Random};

/// Relative L2 error.
fn error(found: &[f64], exact: &[f64]) -> f64 {
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
    let norm: f64 = exact.iter().map(|b| b * b).sum();
    (difference / norm).sqrt()
}

/// Errors of potential and gradient of charges, with dipoles if asked for, at some 300 points.
fn measure(points: &[[f64; 3]], dipoles: bool, options: &Options) -> [f64; 2] {
    let n = points.len();
    let mut random = Random::new(11);
    let charges = ChargeKind::Mixed.charges(points, &mut random);
    let moments: Vec<f64> = (0..3 * n).map(|_| 0.01 * (random.uniform() - 0.5)).collect();
    let moments = dipoles.then_some(&moments[..]);
    let densities = Densities { charges: Some(&charges), dipoles: moments };
    let options = options.clone().gradient(true).dipoles(dipoles);
    let mut plan = Plan::new(points, None, &options).unwrap();
    let (mut potential, mut gradient) = (vec![0.0; n], vec![0.0; 3 * n]);
    let potentials = Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
    plan.apply(densities, potentials).unwrap();
    let step = n.div_ceil(300);
    let at: Vec<[f64; 3]> = points.iter().copied().step_by(step).collect();
    let (mut exact, mut slopes) = (vec![0.0; at.len()], vec![0.0; 3 * at.len()]);
    let mut potentials = Potentials { potential: Some(&mut exact), gradient: Some(&mut slopes) };
    direct::sum(options.kernel, points, &at, densities, &mut potentials).unwrap();
    let found: Vec<f64> = potential.iter().copied().step_by(step).collect();
    let found_slopes: Vec<f64> = gradient.chunks(3).step_by(step).flatten().copied().collect();
    [error(&found, &exact), error(&found_slopes, &slopes)]
}

#[test]
fn errors_stay_below_the_tolerance() {
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        let points = distribution.points(4000, &mut Random::new(5));
        for (j, kappa) in [1e-3, 2.0, 30.0, 500.0].into_iter().enumerate() {
            // Each tolerance meets each distribution and each kappa; so do dipoles and none.
            let tolerance = [1e-2, 1e-5, 1e-7, 1e-10][(i + j) % 4];
            let dipoles = (i / 2 + j) % 2 == 0;
            let kernel = Kernel::Yukawa { kappa };
            let options = Options::default().tolerance(tolerance).kernel(kernel);
            for error in measure(&points, dipoles, &options) {
                assert!(error < tolerance, "{distribution:?} {kappa} {tolerance:e}: {error:e}");
            }
        }
    }
}

#[test]
fn expansions_alone_are_exact_to_their_truncation() {
    // One point a leaf and no pairs of far boxes summed directly: translations of many levels.
    let points = Distribution::Cube.points(800, &mut Random::new(6));
    for kappa in [0.5, 10.0] {
        let kernel = Kernel::Yukawa { kappa };
        for precision in [Precision::Single, Precision::Double] {
            let tolerance = if precision == Precision::Single { 1e-4 } else { 1e-9 };
            let options = Options::default()
                .tolerance(tolerance)
                .kernel(kernel)
                .precision(Some(precision))
                .leaf_size(Some(1));
            for error in measure(&points, true, &options) {
                assert!(error < tolerance, "{kappa} {precision:?}: {error:e}");
            }
        }
    }
}

#[test]
fn without_screening_it_is_the_laplace_kernel() {
    let points = Distribution::Sphere.points(4000, &mut Random::new(7));
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(8));
    let sums = |kernel| {
        let options = Options::default().tolerance(1e-9).kernel(kernel);
        let mut plan = Plan::new(&points, None, &options).unwrap();
        let mut potential = vec![0.0; points.len()];
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let potentials = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, potentials).unwrap();
        potential
    };
    let laplace = sums(Kernel::Laplace);
    assert_eq!(sums(Kernel::Yukawa { kappa: 0.0 }), laplace);
    // exp(-kappa r) / r - 1 / r is -kappa, and charges add up to about 20.
    assert!(error(&sums(Kernel::Yukawa { kappa: 1e-13 }), &laplace) < 1e-9);
}

#[test]
fn lengths_have_no_unit() {
    let points = Distribution::Plummer.points(3000, &mut Random::new(9));
    for unit in [1e-9, 1.0, 1e12] {
        let scaled: Vec<_> = points.iter().map(|x| x.map(|c| c * unit)).collect();
        let kernel = Kernel::Yukawa { kappa: 2.0 / unit };
        let options = Options::default().tolerance(1e-6).kernel(kernel);
        let [potential, gradient] = measure(&scaled, false, &options);
        assert!(potential < 1e-6 && gradient < 1e-6, "{unit}: {potential:e} {gradient:e}");
    }
}

#[test]
fn several_densities_are_one_by_one() {
    let points = Distribution::Cube.points(3000, &mut Random::new(12));
    let n = points.len();
    let mut random = Random::new(13);
    const K: usize = 13;
    // Exact sums are taken at every tenth point.
    const STEP: usize = 10;
    let at: Vec<[f64; 3]> = points.iter().copied().step_by(STEP).collect();
    let charges: Vec<f64> = (0..K * n).map(|_| random.uniform() - 0.5).collect();
    let kernel = Kernel::Yukawa { kappa: 3.0 };
    let one = |charges: &[f64]| {
        let mut exact = vec![0.0; at.len()];
        let densities = Densities { charges: Some(charges), dipoles: None };
        let mut potentials = Potentials { potential: Some(&mut exact), gradient: None };
        direct::sum(kernel, &points, &at, densities, &mut potentials).unwrap();
        exact
    };
    let exact: Vec<Vec<f64>> = charges.chunks(n).map(one).collect();
    for tolerance in [1e-4, 1e-10] {
        let options = Options::default().tolerance(tolerance).kernel(kernel).densities(K);
        let mut plan = Plan::new(&points, None, &options).unwrap();
        let mut all = vec![0.0; K * n];
        let densities = Densities { charges: Some(&charges), dipoles: None };
        plan.apply(densities, Potentials { potential: Some(&mut all), gradient: None }).unwrap();
        assert!(all.iter().all(|value| value.is_finite()));
        for (k, (all, exact)) in all.chunks(n).zip(&exact).enumerate() {
            let found: Vec<f64> = all.iter().copied().step_by(STEP).collect();
            let error = error(&found, exact);
            assert!(error < tolerance, "{tolerance:e} {k}: {error:e}");
        }
    }
}

#[test]
fn kappa_is_checked() {
    for kappa in [-1.0, f64::NAN, f64::INFINITY] {
        let options = Options::default().kernel(Kernel::Yukawa { kappa });
        let refused = Plan::new(&[[0.0; 3]], None, &options);
        assert!(matches!(refused, Err(Error::Option { option: "kernel", .. })), "{kappa}");
        let densities = Densities { charges: Some(&[1.0]), dipoles: None };
        let mut potentials = Potentials { potential: Some(&mut [0.0]), gradient: None };
        let kernel = Kernel::Yukawa { kappa };
        let refused = direct::sum(kernel, &[[0.0; 3]], &[[1.0; 3]], densities, &mut potentials);
        assert!(matches!(refused, Err(Error::Option { option: "kernel", .. })), "{kappa}");
    }
}

/// Potentials and gradients of charges and dipoles.
fn sums_of_all(points: &[[f64; 3]], options: &Options) -> Result<Vec<f64>, Error> {
    let n = points.len();
    let (charges, dipoles) = (vec![1.0; n], vec![0.1; 3 * n]);
    let options = options.clone().gradient(true).dipoles(true);
    let mut plan = Plan::new(points, None, &options)?;
    let (mut potential, mut gradient) = (vec![0.0; n], vec![0.0; 3 * n]);
    plan.apply(
        Densities { charges: Some(&charges), dipoles: Some(&dipoles) },
        Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) },
    )?;
    Ok([potential, gradient].concat())
}

#[test]
fn any_kappa_gives_numbers_or_is_refused() {
    // Some coincide, and some nearly do.
    let mut points = Distribution::Cube.points(1200, &mut Random::new(3));
    points.extend_from_within(..50);
    let near: Vec<_> = points[..50].iter().map(|[x, y, z]| [x + 1e-11, *y, *z]).collect();
    points.extend(near);
    for mode in [Mode::Fmm, Mode::Treecode, Mode::Direct] {
        for tolerance in [1e-3, 1e-9] {
            let of = |kappa: f64| {
                let kernel = Kernel::Yukawa { kappa };
                let options = Options::default().kernel(kernel).mode(mode).tolerance(tolerance);
                sums_of_all(&points, &options)
            };
            let laplace = of(0.0).unwrap();
            for kappa in [5e-324, 1e-300, 1e-30] {
                let error = error(&of(kappa).unwrap(), &laplace);
                assert!(error < 2.0 * tolerance, "{mode:?} {tolerance:e} {kappa:e}: {error:e}");
            }
            for kappa in [1e3, 1e6, 9e8] {
                let found = of(kappa).unwrap();
                assert!(found.iter().all(|x| x.is_finite()), "{mode:?} {tolerance:e} {kappa:e}");
            }
            for kappa in [1e10, 1e20, 1e40, 1e200, 1e308] {
                let refused = of(kappa).unwrap_err().to_string();
                let words = ["kappa = 1e", "points", "apart", "at most 1e9", "unit of length"];
                assert!(words.iter().all(|word| refused.contains(word)), "{refused}");
            }
            // Points that all coincide, or one, have no pair to be screened, whatever their place.
            for (x, kappa) in [(0.0, 1e300), (1e-3, 1e308), (1e10, 1e300), (1.0, 1e12)] {
                let kernel = Kernel::Yukawa { kappa };
                let options = Options::default().kernel(kernel).mode(mode).tolerance(tolerance);
                for count in [1, 300] {
                    let found = sums_of_all(&vec![[x; 3]; count], &options).unwrap();
                    assert!(found.iter().all(|x| *x == 0.0), "{mode:?} {kappa:e} {x} {found:?}");
                }
            }
        }
    }
}

#[test]
fn sums_by_all_pairs_vanish_as_kappa_grows() {
    let points = Distribution::Cube.points(50, &mut Random::new(3));
    for kappa in [1e6, 1e10, 1e200, f64::MAX] {
        let (mut potential, mut gradient) = (vec![1.0; 50], vec![1.0; 150]);
        let (charges, dipoles) = (vec![1.0; 50], vec![1.0; 150]);
        let densities = Densities { charges: Some(&charges), dipoles: Some(&dipoles) };
        let mut potentials =
            Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
        let kernel = Kernel::Yukawa { kappa };
        direct::sum(kernel, &points, &points, densities, &mut potentials).unwrap();
        assert!(potential.iter().chain(&gradient).all(|x| *x == 0.0), "{kappa:e}");
    }
}
