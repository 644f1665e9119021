//! Whole sums against direct ones.

use std::io::Write;

use super::{gpu, relative, uneven};
use fmm::{Backend, Densities, Options, Plan, Potentials, Precision, direct};
use samples::{ChargeKind, Distribution, Random};

/// Potential and gradient against direct sums, several densities and kinds of strengths.
pub(super) fn against_direct(
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    options: &Options,
    kind: ChargeKind,
    k: usize,
) -> [f64; 2] {
    let n = sources.len();
    let places = targets.unwrap_or(sources);
    let m = places.len();
    let mut random = Random::new(77);
    let charges: Vec<f64> = (0..k).flat_map(|_| kind.charges(sources, &mut random)).collect();
    let dipoles: Vec<f64> = (0..3 * k * n).map(|_| 0.05 * (random.uniform() - 0.5)).collect();
    let densities =
        Densities { charges: Some(&charges), dipoles: options.dipoles.then_some(&dipoles[..]) };
    let mut plan = Plan::new(sources, targets, options).unwrap();
    assert_eq!(plan.info().backend, options.backend);
    let mut worst = [0.0f64; 2];
    let (mut exact, mut exact_gradient) = (vec![0.0; k * m], vec![0.0; 3 * k * m]);
    let mut outputs =
        Potentials { potential: Some(&mut exact), gradient: Some(&mut exact_gradient) };
    direct::sum(options.kernel, sources, places, densities, &mut outputs).unwrap();
    // Twice: the stages alone come before the recorded graph, and must leave nothing behind.
    for _ in 0..2 {
        let mut potential = vec![f64::NAN; k * m];
        let mut gradient = vec![f64::NAN; if options.gradient { 3 * k * m } else { 0 }];
        let outputs = Potentials {
            potential: Some(&mut potential),
            gradient: options.gradient.then_some(&mut gradient[..]),
        };
        plan.apply(densities, outputs).unwrap();
        worst[0] = worst[0].max(relative(&potential, &exact));
        if options.gradient {
            worst[1] = worst[1].max(relative(&gradient, &exact_gradient));
        }
    }
    worst
}

#[test]
fn sums_meet_their_tolerance() {
    if gpu("sums_meet_their_tolerance").is_none() {
        return;
    }
    for tolerance in [1e-2, 1e-4, 1e-5, 1e-7, 1e-10] {
        for distribution in Distribution::ALL {
            for kind in [ChargeKind::Mixed, ChargeKind::Positive, ChargeKind::PlaneWave] {
                let points = distribution.points(12_000, &mut Random::new(8));
                let options = Options::default()
                    .tolerance(tolerance)
                    .backend(Backend::Cuda)
                    .leaf_size(Some(60));
                let [error, _] = against_direct(&points, None, &options, kind, 1);
                writeln!(
                    std::io::stderr(),
                    "  {tolerance:.0e} {} {kind:?}: {error:.2e}",
                    distribution.name()
                )
                .unwrap();
                assert!(error < tolerance, "{tolerance} {distribution:?} {kind:?}: {error:e}");
            }
        }
    }
}

#[test]
fn gradients_dipoles_densities_and_targets() {
    if gpu("gradients_dipoles_densities_and_targets").is_none() {
        return;
    }
    for backend in [Backend::Cuda, Backend::Hybrid] {
        gradients_dipoles_densities_and_targets_on(backend);
    }
}

fn gradients_dipoles_densities_and_targets_on(backend: Backend) {
    let points = uneven(5000, 12);
    // Some targets on sources, some far outside.
    let mut targets = Distribution::Sphere.points(3000, &mut Random::new(13));
    targets.extend_from_slice(&points[..500]);
    targets.push([40.0, -30.0, 20.0]);
    for (tolerance, precision) in
        [(1e-4, None), (1e-5, Some(Precision::Single)), (1e-8, Some(Precision::Double))]
    {
        for (gradient, dipoles, k) in [
            (false, false, 1),
            (false, false, 6),
            (true, false, 1),
            (false, true, 1),
            (true, true, 1),
            (true, false, 3),
            (true, true, 7),
        ] {
            for targets in [None, Some(&targets[..])] {
                let options = Options::default()
                    .tolerance(tolerance)
                    .precision(precision)
                    .gradient(gradient)
                    .dipoles(dipoles)
                    .densities(k)
                    .backend(backend)
                    .leaf_size(Some(50));
                let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, k);
                writeln!(
                    std::io::stderr(),
                    "  {backend:?} {tolerance:.0e} gradient {gradient} dipoles {dipoles} k {k} targets {}: {:.1e} {:.1e}",
                    targets.is_some(),
                    errors[0],
                    errors[1]
                )
                .unwrap();
                assert!(
                    errors.iter().all(|&e| e < tolerance),
                    "{backend:?} {tolerance} {gradient} {dipoles} {k}: {errors:?}"
                );
            }
        }
    }
}

#[test]
fn points_close_to_each_other_and_to_faces_lose_no_digits() {
    if gpu("points_close_to_each_other_and_to_faces_lose_no_digits").is_none() {
        return;
    }
    // Pairs at distances down to 1e-9 of the cube, also across the faces of boxes, and exact
    // doubles.
    let mut random = Random::new(21);
    let mut points = Distribution::Cube.points(4000, &mut random);
    for i in 0..1000 {
        let mut p = points[i];
        p[i % 3] += 10f64.powi(-(3 + (i % 7) as i32));
        points.push(p);
        let face = [0.5, points[i][1], points[i][2]];
        points.push([face[0] - 1e-8, face[1], face[2]]);
        points.push([face[0] + 1e-8, face[1], face[2]]);
        if i % 10 == 0 {
            points.push(points[i]);
        }
    }
    for gradient in [false, true] {
        let options = Options::default()
            .tolerance(1e-5)
            .precision(Some(Precision::Single))
            .gradient(gradient)
            .backend(Backend::Cuda);
        let errors = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
        assert!(errors.iter().all(|&e| e < 1e-6), "{errors:?}");
    }
}

/// Every source has a twin next to it without charge, as a panel in an interface of layers has an
/// image: the few distances do not count for the tolerance.
#[test]
fn sources_next_to_others_without_charge_keep_their_tolerance() {
    if gpu("sources_next_to_others_without_charge_keep_their_tolerance").is_none() {
        return;
    }
    let mut random = Random::new(23);
    let targets = Distribution::Cube.points(6000, &mut random);
    let charges: Vec<f64> = targets.iter().map(|_| random.uniform()).collect();
    let twins = targets.iter().map(|[x, y, z]| [*x, *y, z + 1e-9]);
    let sources: Vec<[f64; 3]> = targets.iter().copied().chain(twins).collect();
    let mut exact = [vec![0.0; targets.len()], vec![0.0; 3 * targets.len()]];
    let [potential, gradient] = &mut exact;
    let mut outputs = Potentials { potential: Some(potential), gradient: Some(gradient) };
    let own = Densities { charges: Some(&charges), dipoles: None };
    direct::sum(fmm::Kernel::Laplace, &targets, &targets, own, &mut outputs).unwrap();
    let mut strengths = charges.clone();
    strengths.resize(sources.len(), 0.0);
    for (backend, with_gradient) in
        [(Backend::Cuda, false), (Backend::Cuda, true), (Backend::Hybrid, false)]
    {
        let options = Options::default()
            .tolerance(1e-6)
            .leaf_size(Some(60))
            .gradient(with_gradient)
            .backend(backend);
        let mut plan = Plan::new(&sources, Some(&targets), &options).unwrap();
        let mut found = [vec![0.0; targets.len()], vec![0.0; 3 * targets.len()]];
        let [potential, gradient] = &mut found;
        let outputs = Potentials {
            potential: Some(potential),
            gradient: with_gradient.then_some(&mut gradient[..]),
        };
        plan.apply(Densities { charges: Some(&strengths), dipoles: None }, outputs).unwrap();
        for (found, exact) in found.iter().zip(&exact).take(1 + usize::from(with_gradient)) {
            let error = relative(found, exact);
            assert!(error < 1e-6, "{backend:?}, gradient {with_gradient}: {error:e}");
        }
    }
}

#[test]
fn small_sums_of_every_kind() {
    // Every kernel, at sizes that memory checkers get through.
    if gpu("small_sums_of_every_kind").is_none() {
        return;
    }
    let points = uneven(700, 31);
    for (precision, dipoles) in [(Precision::Single, true), (Precision::Double, false)] {
        let options = Options::default()
            .tolerance(1e-3)
            .precision(Some(precision))
            .gradient(true)
            .dipoles(dipoles)
            .densities(2)
            .backend(Backend::Cuda)
            .leaf_size(Some(12));
        let targets = &points[100..400];
        for targets in [None, Some(targets)] {
            let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, 2);
            assert!(errors.iter().all(|&e| e < 1e-3), "{precision:?}: {errors:?}");
        }
    }
}

#[test]
fn hybrid_sums_overlap_and_meet_their_tolerance() {
    if gpu("hybrid_sums_overlap_and_meet_their_tolerance").is_none() {
        return;
    }
    let points = uneven(30_000, 41);
    let targets = Distribution::Sphere.points(5000, &mut Random::new(42));
    for (tolerance, targets, k) in [(1e-4, None, 1), (1e-8, None, 2), (1e-5, Some(&targets[..]), 1)]
    {
        let options = Options::default()
            .tolerance(tolerance)
            .gradient(true)
            .dipoles(k == 1)
            .densities(k)
            .backend(Backend::Hybrid);
        let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, k);
        assert!(errors.iter().all(|&e| e < tolerance), "{tolerance} {k}: {errors:?}");
    }
    // The CPU translates while the GPU sums pairs.
    let points = Distribution::Cube.points(300_000, &mut Random::new(43));
    // Leaves so large that pairs take longer than all the rest.
    let options = Options::default().tolerance(1e-5).backend(Backend::Hybrid).leaf_size(Some(6000));
    let mut plan = Plan::new(&points, None, &options).unwrap();
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(44));
    let mut potential = vec![0.0; points.len()];
    // On a machine that is busy the CPU may come too late to one sum, not to all of them.
    let overlaps = (0..10).any(|_| {
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let outputs = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, outputs).unwrap();
        let of = |stage: &str| plan.timeline().iter().find(|s| s.stage == stage).unwrap();
        let (near, far) = (of("P2P"), of("M2L"));
        assert!(near.gpu && !far.gpu);
        near.begin < far.begin && far.begin < near.end
    });
    assert!(overlaps, "{:?}", plan.timeline());
}

#[test]
fn strengths_of_any_size_give_the_sums_of_small_ones() {
    if gpu("strengths_of_any_size_give_the_sums_of_small_ones").is_none() {
        return;
    }
    let points = uneven(3000, 51);
    let mut random = Random::new(52);
    let charges = ChargeKind::Mixed.charges(&points, &mut random);
    let dipoles: Vec<f64> = (0..3 * points.len()).map(|_| random.uniform() - 0.5).collect();
    // 1e-50, 1e39 and beyond what squares can hold, each among the plain strengths.
    for backend in [Backend::Cuda, Backend::Hybrid] {
        for factor in [-166, 130, -600, 600].map(|exponent| 2f64.powi(exponent)) {
            for (with_charges, with_dipoles) in [(true, false), (false, true), (true, true)] {
                let options = Options::default()
                    .tolerance(1e-4)
                    .gradient(true)
                    .dipoles(with_dipoles)
                    .densities(2)
                    .backend(backend);
                let twice = |values: &[f64]| -> Vec<f64> {
                    values.iter().copied().chain(values.iter().map(|v| factor * v)).collect()
                };
                let (charges, dipoles) = (twice(&charges), twice(&dipoles));
                let densities = Densities {
                    charges: with_charges.then_some(&charges[..]),
                    dipoles: with_dipoles.then_some(&dipoles[..]),
                };
                let mut plan = Plan::new(&points, None, &options).unwrap();
                let mut potential = vec![f64::NAN; 2 * points.len()];
                let mut gradient = vec![f64::NAN; 6 * points.len()];
                let outputs =
                    Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
                plan.apply(densities, outputs).unwrap();
                for sums in [potential, gradient] {
                    let (plain, scaled) = sums.split_at(sums.len() / 2);
                    let scaled: Vec<f64> = scaled.iter().map(|v| v / factor).collect();
                    // Atomic additions come in any order: rounding of single precision.
                    let error = relative(&scaled, plain);
                    assert!(error < 2e-6, "{backend:?} {factor:e}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn clusters_however_far_apart_keep_their_tolerance() {
    if gpu("clusters_however_far_apart_keep_their_tolerance").is_none() {
        return;
    }
    let mut random = Random::new(53);
    let one = Distribution::Sphere.points(400, &mut random);
    for exponent in [6, 8, 10, 12] {
        let apart = 10f64.powi(exponent);
        let mut points = one.clone();
        points.extend(one.iter().map(|x| [x[0] + apart, x[1], x[2]]));
        for tolerance in [1e-4, 1e-8, 1e-11] {
            for gradient in [false, true] {
                let options = Options::default()
                    .tolerance(tolerance)
                    .gradient(gradient)
                    .backend(Backend::Cuda);
                let errors = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
                assert!(
                    errors.iter().all(|&e| e <= tolerance),
                    "{apart:e} {tolerance}: {errors:?}"
                );
            }
        }
    }
}
