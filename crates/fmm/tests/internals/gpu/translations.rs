//! Matrices and products of translations, and the measured errors of truncated ones.

use std::io::Write;

use super::{boxes, gpu, relative, trees, uneven};
use fmm::internals::gpu::coordinates::Coordinates;
use fmm::internals::gpu::expansions::Expansions;
use fmm::internals::gpu::far_matrices;
use fmm::internals::gpu::lists::{Boxes, Lists};
use fmm::internals::gpu::points::Points;
use fmm::internals::gpu::relative::Relative;
use fmm::internals::gpu::truncation::{Chosen, Sampler};
use fmm::internals::gpu::{tables, tree};
use fmm::internals::screened::Screening;
use fmm::internals::tree as cpu;
use fmm::internals::truncation::TruncationNumbers;
use fmm::{Precision, Stencil};
use samples::{Distribution, Random};

#[test]
fn dense_translations_obey_the_addition_theorem() {
    const P: usize = 26;
    let Some(device) = gpu("dense_translations_obey_the_addition_theorem") else { return };
    // Target minus source in half sides of the smaller box, and how much finer the source is.
    for (offset, finer) in
        [([4, 0, 0], 0), ([0, -6, 2], 0), ([-4, 6, -6], 0), ([7, 3, -5], 1), ([-1, 9, 5], -1)]
    {
        let (rows, matrix) =
            (tables::padded_rows(P), far_matrices::one(&device, offset, finer, P).unwrap());
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
            let (multipole, local) = (vec![p; levels], vec![p; levels]);
            let stored = TruncationNumbers { multipole, local, mean: 0.0 };
            let chosen = Chosen { batches, numbers: stored };
            let (none, lists_of) = (Screening::default(), Boxes { tree: &tree, lists: &lists });
            let before = device.held_memory();
            let expansions =
                Expansions::new(&device, precision, none, lists_of, &chosen, u64::MAX).unwrap();
            let whole = device.held_memory() - before;
            let stride = (p * p).next_multiple_of(4);
            let mut random = Random::new(1);
            let values: Vec<f64> =
                (0..stride * boxes(&tree)).map(|_| random.uniform() - 0.5).collect();
            let bytes = precision.encode(values.iter().copied());
            expansions.multipoles.values.write(&bytes).unwrap();
            expansions.locals.values.zero().unwrap();
            expansions.m2l(device.stream(), &lists).unwrap();
            let found = numbers(precision, &expansions.locals.values.to_vec().unwrap());

            let mut expected = vec![0.0; values.len()];
            let mut far = vec![0; lists.begins[lists.batches.len()] as usize];
            lists.far.read(0, &mut far).unwrap();
            for (i, batch) in lists.batches.iter().enumerate() {
                let q = chosen.batches[i];
                let matrix =
                    far_matrices::one(&device, batch.offset, batch.finer_source, q).unwrap();
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
            // The tensor cores' single precision cuts its sums instead of rounding, in p^2 / 8
            // steps.
            let single = (2.0 + p as f64) * 2f64.powi(-23);
            let rounding = if precision == Precision::Single { single } else { 1e-14 };
            let error = relative(&found, &expected);
            writeln!(std::io::stderr(), "  p {p} {precision:?}: {error:.1e}").unwrap();
            assert!(error < rounding, "p {p} {precision:?}: {error:e}");

            // Equal results with room for one matrix at a time.
            let before = device.held_memory();
            let few = Expansions::new(&device, precision, none, lists_of, &chosen, 1).unwrap();
            assert!(device.held_memory() - before < whole);

            few.multipoles.values.write(&bytes).unwrap();
            for _ in 0..2 {
                few.locals.values.zero().unwrap();
                few.m2l(device.stream(), &lists).unwrap();
            }
            let found = numbers(precision, &few.locals.values.to_vec().unwrap());
            let error = relative(&found, &expected);
            assert!(error < rounding, "p {p} {precision:?}, made anew: {error:e}");
        }
    }
}

pub(super) fn numbers(precision: Precision, bytes: &[u8]) -> Vec<f64> {
    match precision {
        Precision::Single => {
            bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_ne_bytes(*b))).collect()
        }
        Precision::Double => {
            bytes.as_chunks::<8>().0.iter().map(|b| f64::from_ne_bytes(*b)).collect()
        }
    }
}

#[test]
fn measured_errors_fall_with_the_truncation_number() {
    const P: usize = 18;
    let Some(device) = gpu("measured_errors_fall_with_the_truncation_number") else { return };
    let points = Distribution::Cube.points(20_000, &mut Random::new(3));
    let (_, tree) = trees(&device, &points, None, 40);
    let lists = Lists::new(&device, &tree, Some(Stencil::Reduced)).unwrap();
    let root = cpu::Root::around(&[&points]);
    let coordinates = Coordinates::new(&device, &points, None).unwrap();
    let order = tree::MortonOrder::new(&device, &root, &coordinates).unwrap();
    let points = Points { root, sources: (coordinates, order), targets: None };
    let relative = Relative::new(&device, Precision::Double, &tree, &points).unwrap();
    let boxes = Boxes { tree: &tree, lists: &lists };
    let sampler = Sampler::new(&device, boxes, &relative, root.side, Precision::Double);
    let out = sampler.far(512, P, P).unwrap();
    for (i, batch) in lists.batches.iter().enumerate() {
        let of = &out[i * (P + 3)..(i + 1) * (P + 3)];
        // The whole of 1/r^2 is what p' = 0 would leave; 18 degrees leave less than eta^36 of it,
        // twice for source and target.
        let (r2, last) = (of[P + 1], of[P]);
        assert!(r2 > 0.0 && last < r2 * 4.0 * 0.7637f64.powi(2 * P as i32), "{batch:?} {last:e}");
        assert!(of[1] > of[6] && of[6] > of[12]);
    }
}
