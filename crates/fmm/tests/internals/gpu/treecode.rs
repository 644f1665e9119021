//! The treecode against direct sums.

use std::io::Write;

use super::sums::against_direct;
use super::{gpu, relative, uneven};
use fmm::{Backend, Densities, Kernel, Mode, Options, Plan, Potentials, Precision, Truncation};
use samples::{ChargeKind, Distribution, Random};

fn treecode(kappa: f64, tolerance: f64) -> Options {
    Options::default()
        .kernel(Kernel::Yukawa { kappa })
        .tolerance(tolerance)
        .mode(Mode::Treecode)
        .backend(Backend::Cuda)
}

/// Points moved and scaled.
fn moved(points: &[[f64; 3]], scale: f64, by: [f64; 3]) -> Vec<[f64; 3]> {
    points.iter().map(|x| std::array::from_fn(|i| scale * x[i] + by[i])).collect()
}

fn assert_below(what: &str, errors: [f64; 2], tolerance: f64) {
    writeln!(std::io::stderr(), "  {what}: {:.1e} {:.1e}", errors[0], errors[1]).unwrap();
    assert!(errors.iter().all(|&e| e <= tolerance), "{what}: {errors:?}");
}

#[test]
fn treecode_sums_meet_every_tolerance() {
    if gpu("treecode_sums_meet_every_tolerance").is_none() {
        return;
    }
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        let sources = distribution.points(12_000, &mut Random::new(31));
        for exponent in [2, 3, 4, 5, 6, 7, 8, 10] {
            let tolerance = 10f64.powi(-exponent);
            for (j, kappa) in [0.0, 0.7, 25.0].into_iter().enumerate() {
                let count = if (i + j).is_multiple_of(2) { 150 } else { 2500 };
                let targets: Vec<[f64; 3]> = distribution.points(count, &mut Random::new(32));
                let gradient = (i + j + exponent as usize).is_multiple_of(2);
                let dipoles = (i + j + exponent as usize).is_multiple_of(3);
                let options = treecode(kappa, tolerance).gradient(gradient).dipoles(dipoles);
                let kind = ChargeKind::Mixed;
                let errors = against_direct(&sources, Some(&targets), &options, kind, 1);
                let name = distribution.name();
                let what = format!("1e-{exponent} {name} {kappa} {count} {gradient} {dipoles}");
                assert_below(&what, errors, tolerance);
            }
        }
    }
}

#[test]
fn treecode_gradients_dipoles_densities_and_targets() {
    if gpu("treecode_gradients_dipoles_densities_and_targets").is_none() {
        return;
    }
    let points = uneven(5000, 12);
    // Some targets on sources, some far outside.
    let mut targets = Distribution::Sphere.points(300, &mut Random::new(13));
    targets.extend_from_slice(&points[..500]);
    targets.push([40.0, -30.0, 20.0]);
    for (tolerance, precision, kappa) in [
        (1e-4, None, 0.0),
        (1e-5, Some(Precision::Single), 0.0),
        (1e-8, Some(Precision::Double), 0.0),
        (1e-5, Some(Precision::Single), 5.0),
        (1e-8, Some(Precision::Double), 40.0),
    ] {
        for (gradient, dipoles, k) in [
            (false, false, 1),
            (false, false, 6),
            (true, false, 3),
            (false, true, 1),
            (true, true, 1),
            (true, true, 7),
        ] {
            for targets in [None, Some(&targets[..])] {
                let options = treecode(kappa, tolerance)
                    .precision(precision)
                    .gradient(gradient)
                    .dipoles(dipoles)
                    .densities(k)
                    .leaf_size(Some(50));
                let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, k);
                let kinds = format!("gradient {gradient} dipoles {dipoles} k {k}");
                let what = format!("{tolerance:.0e} {kappa} {kinds} {}", targets.is_some());
                assert_below(&what, errors, tolerance);
            }
        }
    }
}

#[test]
fn treecode_expansions_alone_at_targets_anywhere() {
    if gpu("treecode_expansions_alone_at_targets_anywhere").is_none() {
        return;
    }
    let sources = Distribution::Cube.points(5000, &mut Random::new(41));
    let near = Distribution::Cube.points(300, &mut Random::new(42));
    let places = [
        ("the sources", None),
        ("next to them", Some(moved(&near, 1.0, [1.01, 0.0, 0.0]))),
        ("around", Some(moved(&near, 9.0, [-4.0; 3]))),
        ("far", Some(moved(&near, 1.0, [40.0, 3.0, -7.0]))),
        ("very far", Some(moved(&near, 1.0, [1e5, 0.0, 0.0]))),
        ("a speck", Some(moved(&near, 1e-5, [0.4, 0.6, 0.7]))),
    ];
    for (what, targets) in &places {
        for (tolerance, precision) in
            [(1e-3, None), (1e-5, Some(Precision::Single)), (1e-9, Some(Precision::Double))]
        {
            // One point a leaf: hardly any pairs.
            let options =
                treecode(0.0, tolerance).precision(precision).gradient(true).leaf_size(Some(1));
            let kind = ChargeKind::Positive;
            let errors = against_direct(&sources, targets.as_deref(), &options, kind, 1);
            assert_below(&format!("{what} {tolerance:e}"), errors, tolerance);
        }
    }
}

#[test]
fn treecode_sums_agree_with_the_cpu_and_repeat() {
    if gpu("treecode_sums_agree_with_the_cpu_and_repeat").is_none() {
        return;
    }
    // More terms than any box needs: the rest is rounding.
    let sources = uneven(20_000, 17);
    let targets: Vec<[f64; 3]> = sources.iter().step_by(23).copied().collect();
    let charges = ChargeKind::Mixed.charges(&sources, &mut Random::new(18));
    for kappa in [0.0, 3.0] {
        let sums = |backend| {
            let options = treecode(kappa, 1e-10)
                .backend(backend)
                .gradient(true)
                .precision(Some(Precision::Double))
                .truncation(Truncation::Fixed)
                .truncation_number(Some(44))
                .leaf_size(Some(80));
            let mut plan = Plan::new(&sources, Some(&targets), &options).unwrap();
            let info = plan.info();
            assert_eq!((info.mode, info.backend), (Mode::Treecode, backend));
            assert!(info.m2p_count > 0 && info.m2l_count == 0);
            let m = targets.len();
            let (mut potential, mut gradient) = (vec![f64::NAN; m], vec![f64::NAN; 3 * m]);
            let densities = Densities { charges: Some(&charges), dipoles: None };
            let outputs =
                Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
            plan.apply(densities, outputs).unwrap();
            // The gradient is planned, not asked for.
            let mut again = vec![f64::NAN; m];
            let outputs = Potentials { potential: Some(&mut again), gradient: None };
            plan.apply(densities, outputs).unwrap();
            assert!(relative(&again, &potential) < 1e-14);
            [potential, gradient]
        };
        let (expected, found) = (sums(Backend::Cpu), sums(Backend::Cuda));
        for (found, expected) in found.iter().zip(&expected) {
            let error = relative(found, expected);
            writeln!(std::io::stderr(), "  {kappa}: {error:.1e}").unwrap();
            assert!(error < 1e-11, "{kappa}: {error:e}");
        }
    }
}

#[test]
fn small_treecode_sums_of_every_kind() {
    // Every kernel, at sizes that memory checkers get through.
    if gpu("small_treecode_sums_of_every_kind").is_none() {
        return;
    }
    let points = uneven(700, 31);
    for (precision, dipoles) in [(Precision::Single, true), (Precision::Double, false)] {
        for kappa in [0.0, 0.5] {
            for gradient in [false, true] {
                for targets in [None, Some(&points[100..200])] {
                    let options = treecode(kappa, 1e-3)
                        .precision(Some(precision))
                        .gradient(gradient)
                        .dipoles(dipoles)
                        .densities(2)
                        .leaf_size(Some(6));
                    let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, 2);
                    assert_below(&format!("{precision:?} {kappa} {gradient}"), errors, 1e-3);
                }
            }
        }
    }
    // Screened to nothing, and nothing in or out.
    for kappa in [1e4, 1e7] {
        let options = treecode(kappa, 1e-3).gradient(true).leaf_size(Some(6));
        let mut plan = Plan::new(&points, None, &options).unwrap();
        let (n, charges) = (points.len(), vec![1.0; points.len()]);
        let (mut potential, mut gradient) = (vec![f64::NAN; n], vec![f64::NAN; 3 * n]);
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let outputs = Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
        plan.apply(densities, outputs).unwrap();
        assert!(potential.iter().chain(&gradient).all(|v| v.is_finite()));
    }
    for (sources, targets) in [(&points[..0], &points[..3]), (&points[..3], &points[..0])] {
        let mut plan = Plan::new(sources, Some(targets), &treecode(0.0, 1e-5)).unwrap();
        let charges = vec![1.0; sources.len()];
        let mut potential = vec![f64::NAN; targets.len()];
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let potentials = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, potentials).unwrap();
        assert!(potential.iter().all(|&v| v == 0.0));
    }
    // A source and a target.
    let one = [[0.1, 0.2, 0.3]];
    for (sources, targets) in [(&one[..], &points[..]), (&points[..], &one[..])] {
        let options = treecode(0.0, 1e-5);
        let errors = against_direct(sources, Some(targets), &options, ChargeKind::Positive, 1);
        assert_below("one", errors, 1e-5);
    }
}
