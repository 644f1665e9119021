//! Kernels against their CPU twins and oracles. They skip with a printed reason where there is no GPU, unless
//! FARAD_REQUIRE_GPU=1.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::gpu::{Arg, Device, Grid};

use super::expansions::Expansions;
use super::kernels::{self, count, kernel};
use super::lists::Lists;
use super::orders::Orders;
use super::primitives::{Scan, Sort};
use super::{tables, tree};
use crate::morton::MAX_DEPTH;
use crate::samples::{ChargeKind, Distribution, Random};
use crate::tree as cpu;
use crate::{
    Backend, Densities, Mode, Options, Plan, Potentials, Precision, Stencil, Truncation, direct,
};

/// The GPU, or `None` after saying why the test is skipped.
fn gpu(test: &str) -> Option<Device> {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let device = super::device(0);
    let counter = if device.is_ok() { &RAN } else { &SKIPPED };
    counter.fetch_add(1, Ordering::Relaxed);
    let counts = format!(
        "GPU tests: {} ran, {} skipped",
        RAN.load(Ordering::Relaxed),
        SKIPPED.load(Ordering::Relaxed)
    );
    // Past the harness, which hides what passing tests print.
    let mut out = std::io::stderr().lock();
    match device {
        Ok(device) => {
            writeln!(out, "{test} runs on {} ({counts})", device.info().name).unwrap();
            Some(device)
        }
        Err(error) => {
            writeln!(out, "{test} skipped: {error} ({counts})").unwrap();
            let required = std::env::var("FARAD_REQUIRE_GPU").is_ok_and(|v| v == "1");
            assert!(!required, "FARAD_REQUIRE_GPU=1, but: {error}");
            None
        }
    }
}

fn relative(found: &[f64], exact: &[f64]) -> f64 {
    assert_eq!(found.len(), exact.len());
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    (difference / exact.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

#[test]
fn prefix_sums_are_those_of_a_loop() {
    let Some(device) = gpu("prefix_sums_are_those_of_a_loop") else { return };
    let scan = Scan::new(&device).unwrap();
    let mut random = Random::new(1);
    for n in [1, 31, 2048, 2049, 5_000_000] {
        let values: Vec<u32> = (0..n).map(|_| random.below(100) as u32).collect();
        let buffer = device.upload(&values).unwrap();
        scan.run(&device, &buffer, n).unwrap();
        let mut sum = 0;
        let expected: Vec<u32> = values
            .iter()
            .map(|v| {
                sum += v;
                sum - v
            })
            .collect();
        assert_eq!(buffer.to_vec().unwrap(), expected, "n = {n}");
    }
}

#[test]
fn a_sum_too_large_for_the_memory_is_refused() {
    let Some(device) = gpu("a_sum_too_large_for_the_memory_is_refused") else { return };
    let points = Distribution::Cube.points(50_000, &mut Random::new(5));
    let options = Options { backend: Backend::Cuda, densities: 10_000_000, ..Options::default() };
    match Plan::new(&points, None, &options) {
        Err(crate::Error::Gpu(::gpu::Error::OutOfMemory { needed, free })) => {
            // Charges and potentials of that many densities, in double precision, and no more than the GPU has.
            assert!(needed > 16 * 50_000 * 10_000_000 && free <= device.info().memory);
        }
        other => panic!("{:?}", other.map(|plan| plan.info().clone())),
    }
}

#[test]
fn sorting_is_stable_and_complete() {
    let Some(device) = gpu("sorting_is_stable_and_complete") else { return };
    let sort = Sort::of_points(&device).unwrap();
    let mut random = Random::new(2);
    for n in [2, 4096, 100_001] {
        // Many equal keys, and all 63 bits.
        let keys: Vec<u64> = (0..n)
            .map(|i| {
                let key = (random.uniform() * 9.2e18) as u64;
                if i % 3 == 0 { key >> 55 << 55 } else { key }
            })
            .collect();
        let mut expected: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
        expected.sort();
        let mut keys = device.upload(&keys).unwrap();
        let mut values = device.upload(&(0..n as u32).collect::<Vec<_>>()).unwrap();
        sort.run(&device, &mut keys, &mut values, n, 63).unwrap();
        let found: Vec<(u64, u32)> =
            keys.to_vec().unwrap().into_iter().zip(values.to_vec().unwrap()).collect();
        assert_eq!(found, expected, "n = {n}");
    }
}

/// Tree on the CPU and on the device.
fn trees(
    device: &Device,
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    leaf_size: usize,
) -> (cpu::Tree, tree::Tree) {
    let sets: Vec<&[[f64; 3]]> = std::iter::once(sources).chain(targets).collect();
    let root = cpu::Root::around(&sets);
    let order = cpu::Order::new(&root, sources);
    let target_order = targets.map(|t| cpu::Order::new(&root, t));
    let expected = cpu::Tree::new(&order, target_order.as_ref(), leaf_size);

    let buffers: Vec<_> = sets.iter().map(|s| device.upload(s.as_flattened()).unwrap()).collect();
    let of_device = tree::root(device, &buffers.iter().collect::<Vec<_>>(), 1.0).unwrap();
    assert_eq!(of_device, root);
    let found = tree::Order::new(device, &root, &buffers[0]).unwrap();
    assert_eq!(found.keys.to_vec().unwrap(), order.keys);
    assert_eq!(found.index.to_vec().unwrap(), order.index);
    let boxes = found.occupied(device).unwrap();
    for (level, &boxes) in boxes.iter().enumerate() {
        let mut prefixes: Vec<u64> =
            order.keys.iter().map(|k| k >> (3 * (MAX_DEPTH - level))).collect();
        prefixes.dedup();
        assert_eq!(boxes, prefixes.len(), "level {level}");
    }
    let found_targets = buffers.get(1).map(|b| tree::Order::new(device, &root, b).unwrap());
    let found = tree::Tree::new(device, &root, &found, found_targets.as_ref(), leaf_size).unwrap();
    (expected, found)
}

/// Points that make a deep and uneven tree.
fn uneven(count: usize, seed: u64) -> Vec<[f64; 3]> {
    Distribution::Plummer.points(count, &mut Random::new(seed))
}

#[test]
fn trees_are_the_cpu_s() {
    let Some(device) = gpu("trees_are_the_cpu_s") else { return };
    let targets = Distribution::Sphere.points(5000, &mut Random::new(5));
    for (points, targets) in [
        (Distribution::Cube.points(20_000, &mut Random::new(3)), None),
        (uneven(20_000, 4), None),
        (uneven(7000, 6), Some(&targets[..])),
        (vec![[0.5, 0.5, 0.5]; 100], None),
    ] {
        let (expected, found) = trees(&device, &points, targets, 25);
        let mut cells = vec![tree::Cell::default(); found.len()];
        found.cells.read(0, &mut cells).unwrap();
        assert_eq!(found.len(), expected.cells.len());
        for (cell, twin) in cells.iter().zip(&expected.cells) {
            assert_eq!(cell.place, twin.place);
            assert_eq!(cell.level, u32::from(twin.level));
            assert_eq!(cell.child_count, u32::from(twin.child_count));
            assert_eq!(cell.parent, twin.parent);
            assert_eq!(cell.sources, [twin.sources.start, twin.sources.end]);
            assert_eq!(cell.targets, [twin.targets.start, twin.targets.end]);
            if twin.child_count > 0 {
                assert_eq!(cell.first_child, twin.first_child);
            }
        }
    }
}

#[test]
fn lists_are_the_cpu_s() {
    let Some(device) = gpu("lists_are_the_cpu_s") else { return };
    let targets = Distribution::Sphere.points(5000, &mut Random::new(5));
    for stencil in [Stencil::Reduced, Stencil::Full] {
        for (points, targets) in [
            (Distribution::Cube.points(20_000, &mut Random::new(3)), None),
            (uneven(20_000, 4), None),
            (uneven(7000, 6), Some(&targets[..])),
        ] {
            let (twin, tree) = trees(&device, &points, targets, 25);
            let lists = Lists::new(&device, &tree, Some(stencil)).unwrap();
            let expected = crate::lists::Lists::new(&twin, stencil, 512);
            let split = |pairs: Vec<u64>| -> Vec<(u32, u32)> {
                pairs.into_iter().map(|p| (p as u32, (p >> 32) as u32)).collect()
            };
            let mut far = vec![0; lists.begins[lists.batches.len()] as usize];
            lists.far.read(0, &mut far).unwrap();
            let far = split(far);
            let mut found = far.clone();
            let mut wanted = Vec::new();
            for chunk in &expected.chunks {
                for batch in &chunk.batches {
                    let first = twin.levels[batch.source_level as usize].start;
                    for pair in &chunk.pairs[batch.pairs.start as usize..batch.pairs.end as usize] {
                        let target = chunk.cells.start as u32 + pair[1];
                        wanted.push((first as u32 + pair[0], target));
                    }
                }
            }
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted);
            for (i, batch) in lists.batches.iter().enumerate() {
                for &(s, t) in &far[lists.begins[i] as usize..lists.begins[i + 1] as usize] {
                    let (s, t) = (&twin.cells[s as usize], &twin.cells[t as usize]);
                    assert_eq!(crate::lists::offset(s, t), batch.offset);
                    assert_eq!(batch.source_level, u32::from(s.level));
                    assert_eq!(batch.target_level(), t.level as usize);
                }
            }
            let mut near = vec![0; lists.near_count];
            lists.near.read(0, &mut near).unwrap();
            let mut near = split(near);
            let mut wanted = Vec::new();
            let mut pairs = 0;
            for (row, &t) in expected.near.cells.iter().enumerate() {
                for &s in expected.near.row(row) {
                    wanted.push((s, t));
                    pairs += twin.cells[s as usize].sources.len() as u64
                        * twin.cells[t as usize].targets.len() as u64;
                }
            }
            near.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(near, wanted);
            assert_eq!(lists.pairs, pairs);
        }
    }
}

#[test]
fn dense_translations_obey_the_addition_theorem() {
    const P: usize = 26;
    let Some(device) = gpu("dense_translations_obey_the_addition_theorem") else { return };
    let roots = device.upload(&tables::root_factorials(4 * P)).unwrap();
    // Target minus source in half sides of the smaller box, and how much finer the source is.
    for (offset, finer) in
        [([4, 0, 0], 0), ([0, -6, 2], 0), ([-4, 6, -6], 0), ([7, 3, -5], 1), ([-1, 9, 5], -1)]
    {
        let (rows, columns) = (tables::padded_rows(P), tables::padded_columns(P));
        let matrix = device.buffer::<f64>(rows * columns).unwrap();
        let address = matrix.address();
        let words = [
            offset[0] as u32,
            offset[1] as u32,
            offset[2] as u32,
            finer as u32,
            P as u32,
            rows as u32,
            address as u32,
            (address >> 32) as u32,
        ];
        let vector = device.upload(&words).unwrap();
        let shared = tables::fill_shared(P);
        let fill = kernel(&device, &kernels::M2L, &[("PRECISION", 64)], "m2l_fill").unwrap();
        fill.allow_shared(shared).unwrap();
        let grid = Grid { blocks: [1, 3], threads: 256, shared };
        fill.launch(device.stream(), grid, &[vector.arg(), roots.arg()]).unwrap();
        let matrix = matrix.to_vec().unwrap();
        let (of_source, of_target) =
            if finer >= 0 { (1.0, f64::from(1 << finer)) } else { (f64::from(1 << -finer), 1.0) };
        // Points well inside their boxes, so that the series has converged.
        let (y, x) = ([0.11, -0.14, 0.09], [-0.12, 0.08, 0.13]);
        let (source, target) = (tables::regular(P, y), tables::regular(P, x));
        let mut sum = 0.0;
        for k in 0..P * P {
            for n in 0..P * P {
                sum += target[n] * matrix[k * rows + n] * source[k];
            }
        }
        let r2: f64 = (0..3)
            .map(|i| 0.5 * f64::from(offset[i]) + of_target * x[i] - of_source * y[i])
            .map(|d| d * d)
            .sum();
        let error = sum / of_target * r2.sqrt() - 1.0;
        // (0.21 + 0.21) / 2 to the 26th is 1e-17 for equal boxes, 1e-13 at a ratio of two.
        assert!(error.abs() < 1e-12, "{offset:?} {finer}: {error:e}");
    }
}

#[test]
fn tiles_of_translations_are_products() {
    let Some(device) = gpu("tiles_of_translations_are_products") else { return };
    let points = uneven(6000, 9);
    for precision in [Precision::Single, Precision::Double] {
        for p in [1usize, 3, 7, 12, 14] {
            let (_, tree) = trees(&device, &points, None, 25);
            let lists = Lists::new(&device, &tree, Some(Stencil::Reduced)).unwrap();
            let levels = tree.depth() + 1;
            // Batches with lower truncation numbers than what is stored, too.
            let batches: Vec<usize> = (0..lists.batches.len())
                .map(|i| if i % 3 == 0 { p.div_ceil(2) } else { p })
                .collect();
            let orders =
                Orders { batches, multipole: vec![p; levels], local: vec![p; levels], mean: 0.0 };
            let expansions = Expansions::new(&device, precision, &tree, &lists, &orders).unwrap();
            let stride = (p * p).next_multiple_of(4);
            let mut random = Random::new(1);
            let values: Vec<f64> =
                (0..stride * tree.len()).map(|_| random.uniform() - 0.5).collect();
            let bytes = tables::reals(precision, values.iter().copied());
            expansions.multipoles.values.write(&bytes).unwrap();
            expansions.locals.values.zero().unwrap();
            expansions.m2l(device.stream(), &lists).unwrap();
            let found = numbers(precision, &expansions.locals.values.to_vec().unwrap());

            let mut expected = vec![0.0; values.len()];
            let mut far = vec![0; lists.begins[lists.batches.len()] as usize];
            lists.far.read(0, &mut far).unwrap();
            for (i, batch) in lists.batches.iter().enumerate() {
                let q = orders.batches[i];
                let matrix = matrix(&device, batch.offset, batch.finer_source, q);
                let rows = tables::padded_rows(q);
                for pair in &far[lists.begins[i] as usize..lists.begins[i + 1] as usize] {
                    let (s, t) = (*pair as u32 as usize, (pair >> 32) as usize);
                    for k in 0..q * q {
                        for n in 0..q * q {
                            expected[t * stride + n] +=
                                matrix[k * rows + n] * values[s * stride + k];
                        }
                    }
                }
            }
            let rounding = if precision == Precision::Single { 1e-6 } else { 1e-14 };
            let error = relative(&found, &expected);
            assert!(error < rounding, "p {p} {precision:?}: {error:e}");
        }
    }
}

fn numbers(precision: Precision, bytes: &[u8]) -> Vec<f64> {
    match precision {
        Precision::Single => {
            bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_ne_bytes(*b))).collect()
        }
        Precision::Double => {
            bytes.as_chunks::<8>().0.iter().map(|b| f64::from_ne_bytes(*b)).collect()
        }
    }
}

/// The M2L matrix in double precision.
fn matrix(device: &Device, offset: [i32; 3], finer: i32, p: usize) -> Vec<f64> {
    let roots = device.upload(&tables::root_factorials(4 * p)).unwrap();
    let rows = tables::padded_rows(p);
    let matrix = device.buffer::<f64>(rows * tables::padded_columns(p)).unwrap();
    let address = matrix.address();
    let words = [
        offset[0] as u32,
        offset[1] as u32,
        offset[2] as u32,
        finer as u32,
        p as u32,
        rows as u32,
        address as u32,
        (address >> 32) as u32,
    ];
    let vector = device.upload(&words).unwrap();
    let shared = tables::fill_shared(p);
    let fill = kernel(device, &kernels::M2L, &[("PRECISION", 64)], "m2l_fill").unwrap();
    let grid = Grid { blocks: [1, 3], threads: 256, shared };
    fill.launch(device.stream(), grid, &[vector.arg(), roots.arg()]).unwrap();
    matrix.to_vec().unwrap()
}

#[test]
fn measured_errors_fall_with_the_truncation_number() {
    const P: usize = 18;
    let Some(device) = gpu("measured_errors_fall_with_the_truncation_number") else { return };
    let points = Distribution::Cube.points(20_000, &mut Random::new(3));
    let (_, tree) = trees(&device, &points, None, 40);
    let lists = Lists::new(&device, &tree, Some(Stencil::Reduced)).unwrap();
    let root = cpu::Root::around(&[&points]);
    let coordinates = device.upload(points.as_flattened()).unwrap();
    let order = tree::Order::new(&device, &root, &coordinates).unwrap();
    let out = device.buffer::<f64>(lists.batches.len() * (P + 3)).unwrap();
    let factors = device.upload(&tables::coaxial(P)).unwrap();
    kernel(&device, &kernels::TRUNCATION, &[("P_MAX", P)], "truncation_far")
        .unwrap()
        .launch(
            device.stream(),
            Grid::new(lists.batches.len(), 128),
            &[
                tree.cells.arg(),
                tree.centres.arg(),
                coordinates.arg(),
                order.index.arg(),
                coordinates.arg(),
                order.index.arg(),
                Arg::F64(root.side),
                lists.far.arg(),
                lists.device_begins.arg(),
                count(512),
                factors.arg(),
                out.arg(),
            ],
        )
        .unwrap();
    let out = out.to_vec().unwrap();
    for (i, batch) in lists.batches.iter().enumerate() {
        let of = &out[i * (P + 3)..(i + 1) * (P + 3)];
        // The whole of 1/r^2 is what p' = 0 would leave; 18 degrees leave less than eta^36 of it, twice for source and target.
        let (r2, last) = (of[P + 1], of[P]);
        assert!(r2 > 0.0 && last < r2 * 4.0 * 0.7637f64.powi(2 * P as i32), "{batch:?} {last:e}");
        assert!(of[1] > of[6] && of[6] > of[12]);
    }
}

/// Potential and gradient against direct sums, several densities and kinds of strengths.
fn against_direct(
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
    direct::sum(sources, places, densities, &mut outputs).unwrap();
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
                let options = Options {
                    tolerance,
                    backend: Backend::Cuda,
                    leaf_size: Some(60),
                    ..Options::default()
                };
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
    let points = uneven(5000, 12);
    // Some targets on sources, some far outside.
    let mut targets = Distribution::Sphere.points(3000, &mut Random::new(13));
    targets.extend_from_slice(&points[..500]);
    targets.push([40.0, -30.0, 20.0]);
    for (tolerance, precision) in
        [(1e-4, None), (1e-5, Some(Precision::Single)), (1e-8, Some(Precision::Double))]
    {
        for (gradient, dipoles, k) in
            [(true, false, 1), (false, true, 1), (true, true, 1), (true, false, 3), (true, true, 7)]
        {
            for targets in [None, Some(&targets[..])] {
                let options = Options {
                    tolerance,
                    precision,
                    gradient,
                    dipoles,
                    densities: k,
                    backend: Backend::Cuda,
                    leaf_size: Some(50),
                    ..Options::default()
                };
                let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, k);
                writeln!(
                    std::io::stderr(),
                    "  {tolerance:.0e} gradient {gradient} dipoles {dipoles} k {k} targets {}: {:.1e} {:.1e}",
                    targets.is_some(),
                    errors[0],
                    errors[1]
                )
                .unwrap();
                assert!(
                    errors.iter().all(|&e| e < tolerance),
                    "{tolerance} {gradient} {dipoles} {k}: {errors:?}"
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
    // Pairs at distances down to 1e-9 of the cube, also across the faces of boxes, and exact doubles.
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
        let options = Options {
            tolerance: 1e-5,
            precision: Some(Precision::Single),
            gradient,
            backend: Backend::Cuda,
            ..Options::default()
        };
        let errors = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
        assert!(errors.iter().all(|&e| e < 1e-6), "{errors:?}");
    }
}

#[test]
fn other_truncation_rules_and_small_plans() {
    if gpu("other_truncation_rules_and_small_plans").is_none() {
        return;
    }
    let points = Distribution::Cube.points(8000, &mut Random::new(8));
    for truncation in [Truncation::Fixed, Truncation::WorstCaseBound] {
        for truncation_number in [None, Some(12)] {
            let options = Options {
                tolerance: 1e-3,
                truncation,
                truncation_number,
                backend: Backend::Cuda,
                leaf_size: Some(40),
                ..Options::default()
            };
            let [error, _] = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
            assert!(error < 1e-3, "{truncation:?} {truncation_number:?}: {error:e}");
        }
    }
    let options = Options { backend: Backend::Cuda, tolerance: 1e-5, ..Options::default() };
    for count in [1, 2, 33, 500] {
        let [error, _] = against_direct(
            &points[..count],
            Some(&points[3000..3100]),
            &options,
            ChargeKind::Mixed,
            2,
        );
        assert!(error < 1e-6, "{count} points: {error:e}");
    }
    // Nothing in, nothing out.
    for (sources, targets) in [(&points[..0], &points[..3]), (&points[..3], &points[..0])] {
        let mut plan = Plan::new(sources, Some(targets), &options).unwrap();
        let charges = vec![1.0; sources.len()];
        let mut potential = vec![f64::NAN; targets.len()];
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let potentials = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, potentials).unwrap();
        assert!(potential.iter().all(|&v| v == 0.0));
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
        let options = Options {
            tolerance: 1e-3,
            precision: Some(precision),
            gradient: true,
            dipoles,
            densities: 2,
            backend: Backend::Cuda,
            leaf_size: Some(12),
            ..Options::default()
        };
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
        let options = Options {
            tolerance,
            gradient: true,
            dipoles: k == 1,
            densities: k,
            backend: Backend::Hybrid,
            ..Options::default()
        };
        let errors = against_direct(&points, targets, &options, ChargeKind::Mixed, k);
        assert!(errors.iter().all(|&e| e < tolerance), "{tolerance} {k}: {errors:?}");
    }
    // The CPU translates while the GPU sums pairs.
    let points = Distribution::Cube.points(300_000, &mut Random::new(43));
    // Leaves so large that pairs take longer than all the rest.
    let options = Options {
        tolerance: 1e-5,
        backend: Backend::Hybrid,
        leaf_size: Some(6000),
        ..Options::default()
    };
    let mut plan = Plan::new(&points, None, &options).unwrap();
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(44));
    let mut potential = vec![0.0; points.len()];
    for _ in 0..3 {
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let outputs = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, outputs).unwrap();
    }
    let of = |stage: &str| plan.timeline().iter().find(|s| s.stage == stage).unwrap();
    let (near, far) = (of("P2P"), of("M2L"));
    assert!(near.gpu && !far.gpu);
    assert!(near.begin < far.begin && far.begin < near.end, "{:?}", plan.timeline());
}

#[test]
fn direct_mode_and_auto() {
    let points = Distribution::Cube.points(300, &mut Random::new(8));
    // Small sums stay on the CPU, with or without a GPU, and give no reason.
    let options = Options { backend: Backend::Auto, ..Options::default() };
    let plan = Plan::new(&points, None, &options).unwrap();
    assert_eq!(plan.info().backend, Backend::Cpu);
    assert_eq!(plan.info().fallback, None);
    let many = Distribution::Cube.points(super::WORTH_IT, &mut Random::new(8));
    let options = Options { backend: Backend::Auto, tolerance: 1e-2, ..Options::default() };
    let plan = Plan::new(&many, None, &options).unwrap();
    let there = gpu("direct_mode_and_auto").is_some();
    assert_eq!(plan.info().backend == Backend::Cuda, there);
    assert_eq!(plan.info().fallback.is_none(), there);
    if there {
        let options = Options { backend: Backend::Cuda, mode: Mode::Direct, ..Options::default() };
        let [error, _] = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
        assert!(error < 1e-6, "{error:e}");
    }
}

#[test]
fn a_problem_larger_than_the_memory_is_refused() {
    let Some(device) = gpu("a_problem_larger_than_the_memory_is_refused") else { return };
    let free = device.free_memory().unwrap();
    let points = (free / 100) as usize;
    let needed = super::engine::estimate(points, 0, Precision::Double, &Options::default());
    assert!(needed > free);
}
