//! Sums of the Yukawa kernel: matrices against their CPU twins, whole sums against direct ones.

use std::io::Write;

use super::rotated_matrices::{dense, wanted};
use super::sums::against_direct;
use super::{boxes, gpu, relative, trees, uneven};
use fmm::internals::gpu::WORTH_IT;
use fmm::internals::gpu::expansions::Expansions;
use fmm::internals::gpu::lists::{Boxes, Lists};
use fmm::internals::gpu::rotated_matrices::{RotatedMatrices, Wanted};
use fmm::internals::gpu::tables::padded_columns;
use fmm::internals::gpu::truncation::Chosen;
use fmm::internals::screened::Screening;
use fmm::internals::translate::Kind;
use fmm::internals::truncation::TruncationNumbers;
use fmm::{Backend, Kernel, Mode, Options, Plan, Precision, Stencil};
use samples::{ChargeKind, Distribution, Random};

#[test]
fn rotated_matrices_are_their_cpu_twins() {
    let Some(device) = gpu("rotated_matrices_are_their_cpu_twins") else { return };
    for root in [1e-3, 5.0, 300.0, 1e5] {
        let screening = Screening { root };
        let far =
            |offset, finer_target, level, p| wanted(Kind::M2l { finer_target }, offset, level, p);
        let mut all = vec![
            far([4, 0, 0], 0, 2, 1),
            far([0, 0, -4], 0, 2, 9),
            far([-4, 6, -6], 0, 3, 14),
            far([4, 6, 6], 0, 3, 7),
            far([7, 3, -5], -1, 3, 12),
            far([-1, 9, 5], 1, 4, 33),
            wanted(Kind::M2m, [1, -1, 1], 2, 11),
            wanted(Kind::M2m, [-1, -1, -1], 5, 20),
            wanted(Kind::L2l, [-1, 1, 1], 3, 11),
            wanted(Kind::L2l, [1, 1, -1], 1, 30),
        ];
        let sizes: Vec<usize> = all.iter().map(|w| w.lda * padded_columns(w.p)).collect();
        let values = device.upload(&vec![f64::NAN; sizes.iter().sum()]).unwrap();
        let mut address = values.address();
        for (w, size) in all.iter_mut().zip(&sizes) {
            w.address = address;
            address += 8 * *size as u64;
        }
        let rotated = RotatedMatrices::new(&device, Precision::Double, screening, &all).unwrap();
        // In two parts, as groups of matrices are made.
        rotated.make(device.stream(), 0, 4).unwrap();
        rotated.make(device.stream(), 4, all.len() - 4).unwrap();
        let found = values.to_vec().unwrap();
        let mut rest = &found[..];
        for w in &all {
            let expected = dense(w, screening);
            let (own, more) = rest.split_at(expected.len());
            rest = more;
            let largest = expected.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            for (i, (found, expected)) in own.iter().zip(&expected).enumerate() {
                let error = (found - expected).abs();
                // Rounding of sums of p terms; NaN is none.
                assert!(error <= 1e-12 * largest, "{root} {w:?} {i}: {found:e} {expected:e}");
            }
        }
    }
}

#[test]
fn screened_matrices_made_anew_are_those_that_stay() {
    let Some(device) = gpu("screened_matrices_made_anew_are_those_that_stay") else { return };
    let points = uneven(6000, 9);
    let screening = Screening { root: 12.0 };
    for precision in [Precision::Single, Precision::Double] {
        let p = 9;
        let (_, tree) = trees(&device, &points, None, 25);
        let lists = Lists::new(&device, &tree, Some(Stencil::Reduced)).unwrap();
        let levels = tree.depth() + 1;
        let numbers =
            TruncationNumbers { multipole: vec![p; levels], local: vec![p; levels], mean: 0.0 };
        let batches = (0..lists.batches.len()).map(|i| if i % 3 == 0 { 5 } else { p }).collect();
        let chosen = Chosen { batches, numbers };
        let stride = (p * p).next_multiple_of(4);
        let mut random = Random::new(1);
        let values: Vec<f64> = (0..stride * boxes(&tree)).map(|_| random.uniform() - 0.5).collect();
        let bytes = precision.encode(values.iter().copied());
        let translated = |limit: u64| -> Vec<f64> {
            let lists_of = Boxes { tree: &tree, lists: &lists };
            let all = Expansions::new(&device, precision, screening, lists_of, &chosen, limit);
            let all = all.unwrap();
            all.multipoles.values.write(&bytes).unwrap();
            for _ in 0..2 {
                all.locals.values.zero().unwrap();
                all.m2l(device.stream(), &lists).unwrap();
            }
            super::translations::numbers(precision, &all.locals.values.to_vec().unwrap())
        };
        let kept = translated(u64::MAX);
        assert!(kept.iter().any(|&v| v != 0.0));

        // Each pair through the twin of its own matrix.
        let mut expected = vec![0.0; values.len()];
        let mut far = vec![0; lists.begins[lists.batches.len()] as usize];
        lists.far.read(0, &mut far).unwrap();
        let mut matrices = std::collections::BTreeMap::new();
        for (i, batch) in lists.batches.iter().enumerate() {
            let kind = Kind::M2l { finer_target: -batch.finer_source as i8 };
            let level = batch.target_level();
            let key = (level, batch.finer_source, batch.offset);
            let w: Wanted = wanted(kind, batch.offset, level, p);
            let matrix = matrices.entry(key).or_insert_with(|| dense(&w, screening));
            let q = chosen.batches[i];
            for pair in &far[lists.begins[i] as usize..lists.begins[i + 1] as usize] {
                let (s, t) = (*pair as u32 as usize, (pair >> 32) as usize);
                for (k, n) in (0..q * q).flat_map(|k| (0..q * q).map(move |n| (k, n))) {
                    expected[t * stride + n] += matrix[k * w.lda + n] * values[s * stride + k];
                }
            }
        }
        let rounding = if precision == Precision::Single { 2e-6 } else { 1e-12 };
        for limit in [u64::MAX, 1] {
            let found = if limit == 1 { translated(limit) } else { kept.clone() };
            let error = relative(&found, &expected);
            writeln!(std::io::stderr(), "  {precision:?} {limit}: {error:.1e}").unwrap();
            assert!(error < rounding, "{precision:?} {limit}: {error:e}");
        }
    }
}

#[test]
fn screened_sums_meet_their_tolerance() {
    if gpu("screened_sums_meet_their_tolerance").is_none() {
        return;
    }
    // From hardly any screening to boxes that do not feel each other.
    for kappa in [1e-3, 2.0, 30.0, 500.0] {
        for tolerance in [1e-2, 1e-4, 1e-5, 1e-7, 1e-10] {
            for distribution in Distribution::ALL {
                for kind in [ChargeKind::Mixed, ChargeKind::Positive] {
                    let points = distribution.points(8000, &mut Random::new(8));
                    let options = Options::default()
                        .kernel(Kernel::Yukawa { kappa })
                        .tolerance(tolerance)
                        .backend(Backend::Cuda)
                        .leaf_size(Some(60));
                    let [error, _] = against_direct(&points, None, &options, kind, 1);
                    let name = distribution.name();
                    writeln!(
                        std::io::stderr(),
                        "  kappa {kappa} {tolerance:.0e} {name} {kind:?}: {error:.2e}"
                    )
                    .unwrap();
                    assert!(error < tolerance, "{kappa} {tolerance} {name} {kind:?}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn screened_gradients_dipoles_densities_and_targets() {
    if gpu("screened_gradients_dipoles_densities_and_targets").is_none() {
        return;
    }
    let points = uneven(5000, 12);
    // Some targets on sources, some far outside.
    let mut targets = Distribution::Sphere.points(3000, &mut Random::new(13));
    targets.extend_from_slice(&points[..500]);
    targets.push([40.0, -30.0, 20.0]);
    for (tolerance, precision, kappa) in [
        (1e-4, None, 0.3),
        (1e-5, Some(Precision::Single), 5.0),
        (1e-8, Some(Precision::Double), 1.0),
        (1e-8, Some(Precision::Double), 40.0),
    ] {
        for (gradient, dipoles, k) in [
            (false, false, 1),
            (false, false, 6),
            (true, false, 1),
            (false, true, 1),
            (true, true, 1),
            (true, false, 3),
            (true, true, 7),
        ] {
            for (targets, backend) in [
                (None, Backend::Cuda),
                (Some(&targets[..]), Backend::Cuda),
                (Some(&targets[..]), Backend::Hybrid),
            ] {
                let options = Options::default()
                    .kernel(Kernel::Yukawa { kappa })
                    .tolerance(tolerance)
                    .precision(precision)
                    .gradient(gradient)
                    .dipoles(dipoles)
                    .densities(k)
                    .backend(backend)
                    .leaf_size(Some(50));
                let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, k);
                let what = format!(
                    "{backend:?} kappa {kappa} {tolerance:.0e} gradient {gradient} \
                     dipoles {dipoles} k {k} targets {}: {:.1e} {:.1e}",
                    targets.is_some(),
                    errors[0],
                    errors[1]
                );
                writeln!(std::io::stderr(), "  {what}").unwrap();
                assert!(errors.iter().all(|&e| e < tolerance), "{what}");
            }
        }
    }
}

#[test]
fn small_screened_sums_of_every_kind() {
    // Every kernel, at sizes that memory checkers get through.
    if gpu("small_screened_sums_of_every_kind").is_none() {
        return;
    }
    let points = uneven(700, 31);
    for (precision, dipoles) in [(Precision::Single, true), (Precision::Double, false)] {
        for kappa in [0.5, 1e4, 1e7] {
            let options = Options::default()
                .kernel(Kernel::Yukawa { kappa })
                .tolerance(1e-3)
                .precision(Some(precision))
                .gradient(true)
                .dipoles(dipoles)
                .densities(2)
                .backend(Backend::Cuda)
                .leaf_size(Some(12));
            if kappa < 1.0 {
                for targets in [None, Some(&points[100..400])] {
                    let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, 2);
                    assert!(errors.iter().all(|&e| e < 1e-3), "{precision:?}: {errors:?}");
                }
                continue;
            }
            // Screened to nothing, or nearly so: numbers all the same.
            let mut plan = Plan::new(&points, None, &options).unwrap();
            let (n, charges) = (points.len(), vec![1.0; 2 * points.len()]);
            let (mut potential, mut gradient) = (vec![f64::NAN; 2 * n], vec![f64::NAN; 6 * n]);
            let densities = fmm::Densities { charges: Some(&charges), dipoles: None };
            let outputs =
                fmm::Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
            plan.apply(densities, outputs).unwrap();
            for value in potential.iter().chain(&gradient) {
                let small = value.abs() < 1e-30 || kappa < 1e5;
                assert!(value.is_finite() && small, "{precision:?} {kappa:e}: {value:e}");
            }
        }
    }
}

#[test]
fn screened_points_close_to_each_other_lose_no_digits() {
    if gpu("screened_points_close_to_each_other_lose_no_digits").is_none() {
        return;
    }
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
    for (gradient, kappa) in [(false, 1.0), (true, 1.0), (false, 100.0), (true, 100.0)] {
        let options = Options::default()
            .kernel(Kernel::Yukawa { kappa })
            .tolerance(1e-5)
            .precision(Some(Precision::Single))
            .gradient(gradient)
            .backend(Backend::Cuda);
        let errors = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
        assert!(errors.iter().all(|&e| e < 1e-6), "{gradient} {kappa}: {errors:?}");
    }
}

#[test]
fn other_screened_plans() {
    let there = gpu("other_screened_plans").is_some();
    let kernel = Kernel::Yukawa { kappa: 4.0 };
    let many = Distribution::Cube.points(WORTH_IT, &mut Random::new(8));
    let options = Options::default().kernel(kernel).backend(Backend::Auto).tolerance(1e-2);
    let plan = Plan::new(&many, None, &options).unwrap();
    assert_eq!(plan.info().backend == Backend::Cuda, there);
    if !there {
        return;
    }
    let points = &many[..3000];
    for precision in [Precision::Single, Precision::Double] {
        let options = Options::default()
            .kernel(kernel)
            .backend(Backend::Cuda)
            .mode(Mode::Direct)
            .precision(Some(precision))
            .gradient(true);
        let errors = against_direct(points, None, &options, ChargeKind::Mixed, 1);
        let rounding = if precision == Precision::Single { 1e-6 } else { 1e-12 };
        assert!(errors.iter().all(|&e| e < rounding), "{precision:?}: {errors:?}");
        // A given truncation number for all, without measured errors.
        let options = Options::default()
            .kernel(kernel)
            .backend(Backend::Cuda)
            .tolerance(1e-4)
            .precision(Some(precision))
            .truncation(fmm::Truncation::Fixed)
            .truncation_number(Some(12))
            .leaf_size(Some(40));
        let [error, _] = against_direct(points, None, &options, ChargeKind::Mixed, 1);
        assert!(error < 1e-4, "{precision:?}: {error:e}");
    }
}
