use fmm::{Densities, Error, Kernel, Mode, Options, Plan, Potentials, Precision, Stop};
use samples::{ChargeKind, Distribution, Random};
use simd::Level;

/// Potentials and gradients of charges and dipoles, two densities.
fn sums(points: &[[f64; 3]], options: &Options, simd: Level) -> Vec<f64> {
    let n = points.len();
    let mut random = Random::new(4);
    let charges: Vec<f64> =
        (0..2).flat_map(|_| ChargeKind::Mixed.charges(points, &mut random)).collect();
    let dipoles: Vec<f64> = (0..6 * n).map(|_| 0.1 * (random.uniform() - 0.5)).collect();
    let mut plan = Plan::at_level(points, None, options, simd).unwrap();
    let (mut potential, mut gradient) = (vec![0.0; 2 * n], vec![0.0; 6 * n]);
    let mut all = Vec::new();
    for dipoles in [None, Some(&dipoles[..])] {
        let densities = Densities { charges: Some(&charges), dipoles };
        let potentials =
            Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
        plan.apply(densities, potentials).unwrap();
        all.extend_from_slice(&potential);
        let potentials = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, potentials).unwrap();
        all.extend_from_slice(&potential);
        all.extend_from_slice(&gradient);
    }
    all
}

#[test]
fn every_instruction_set_gives_the_sums_of_one_lane() {
    let points = Distribution::Sphere.points(2000, &mut Random::new(3));
    // Rounding of a few thousand terms; a wrong lane would be off by 1e-2.
    // The tolerance decides how exact inverse distances are.
    let cases = [
        (Precision::Single, 1e-3, 1e-5),
        (Precision::Double, 1e-3, 1e-9),
        (Precision::Double, 1e-9, 1e-12),
    ];
    let sums_of = [(Mode::Fmm, 0.0), (Mode::Treecode, 0.0), (Mode::Treecode, 3.0)];
    for (i, (precision, tolerance, rounding)) in cases.into_iter().enumerate() {
        for (mode, kappa) in sums_of {
            let options = Options::default()
                .kernel(Kernel::Yukawa { kappa })
                .mode(mode)
                .tolerance(tolerance)
                .precision(Some(precision))
                .gradient(true)
                .dipoles(true);
            let expected = sums(&points, &options, Level::BASELINE);
            let norm: f64 = expected.iter().map(|v| v * v).sum();
            for level in Level::available().filter(|&level| level != Level::BASELINE) {
                let found = sums(&points, &options, level);
                let error: f64 = found.iter().zip(&expected).map(|(a, b)| (a - b) * (a - b)).sum();
                let error = (error / norm).sqrt();
                assert!(error < rounding, "{level:?} {precision:?} {mode:?} {kappa} {i}");
            }
        }
    }
}

#[test]
fn sums_end_on_request() {
    let points = Distribution::Sphere.points(20_000, &mut Random::new(5));
    let charges = vec![1.0; points.len()];
    for mode in [Mode::Fmm, Mode::Treecode, Mode::Direct] {
        let stop = Stop::default();
        let options = Options::default().mode(mode).stop(Some(stop.clone()));
        let mut plan = Plan::new(&points, None, &options).unwrap();
        let mut potential = vec![0.0; points.len()];
        let mut sum = || {
            let densities = Densities { charges: Some(&charges), dipoles: None };
            let into = Potentials { potential: Some(&mut potential), gradient: None };
            let result = plan.apply(densities, into);
            (result, potential.clone())
        };
        let expected = sum().1;
        // At whatever moment of whichever sum.
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                stop.set(true);
            });
            (0..10_000).find_map(|_| sum().0.err())
        });
        assert!(matches!(ended, Some(Error::Interrupted)), "{mode:?} {ended:?}");
        let again = sum().0.unwrap_err().to_string();
        assert_eq!(again, "the sum was interrupted");
        stop.set(false);
        let (result, found) = sum();
        result.unwrap();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
        assert!(found.iter().zip(&expected).all(close), "{mode:?}");
    }
}
