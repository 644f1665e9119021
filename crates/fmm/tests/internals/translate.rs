//! Translations by every instruction set against expansions made where they arrive.

use crate::harmonics::{regular, singular};
use fmm::internals::translate::{Kind, OneVector, OneVectorRun, Vector};
use samples::Random;
use simd::Level;

const P: usize = 26;

/// Translates the expansion `from` by `vector` with every vector width, in batches of odd lengths.
fn translate(vector: Vector, from: &[f64]) -> Vec<f64> {
    let by = OneVector::new(vector, P);
    let stride = OneVector::stride(P);
    let count = 21;
    let mut sources = vec![0.0; stride * count];
    for (i, to) in sources.chunks_mut(stride).enumerate() {
        for (to, &value) in to.iter_mut().zip(from) {
            *to = value * (i + 1) as f64;
        }
    }
    let twice: Vec<f64> = sources.iter().map(|s| 2.0 * s).collect();
    sources.extend(twice);
    let pairs: Vec<_> = (0..count as u32).map(|i| [i, count as u32 - 1 - i]).collect();
    let mut expected: Option<Vec<f64>> = None;
    for level in Level::available() {
        let step = stride * count;
        let mut found = vec![0.0; 2 * step];
        for mixed in [false, true] {
            found.fill(0.0);
            // SAFETY: each pair has its own target.
            unsafe {
                let run = OneVectorRun { densities: 2, mixed, cut: true };
                by.translate(level, run, &pairs, &sources, &mut found);
            }
        }
        // The second density is the first, twice.
        let (once, twice) = found.split_at(step);
        assert!(once.iter().zip(twice).all(|(a, b)| (2.0 * a - b).abs() <= 1e-14 * b.abs()));
        found.truncate(step);
        let expected = expected.get_or_insert_with(|| found.clone());
        for (a, b) in found.iter().zip(expected.iter()) {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{level:?}: {a} {b}");
        }
    }
    expected.unwrap()[(count - 1) * stride..][..P * P].to_vec()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn m2l_reproduces_the_potential() {
    let (y, x) = ([0.2, -0.1, 0.15], [-0.25, 0.3, 0.1]);
    for offset in [[8, 0, 0], [0, -8, 0], [0, 0, -10], [6, -4, 8], [-6, 8, 4], [6, 6, -6]] {
        for finer_target in [-1i8, 0, 1] {
            let vector = Vector { kind: Kind::M2l { finer_target }, offset: offset.map(|o| o * 2) };
            // The smaller box has side 1.
            let source = if finer_target > 0 { 2.0 } else { 1.0 };
            let target = if finer_target < 0 { 2.0 } else { 1.0 };
            let local = translate(vector, &regular(P, y));
            let potential = dot(&local, &regular(P, x)) / target;
            let centre = offset.map(f64::from);
            let there: [f64; 3] = std::array::from_fn(|i| centre[i] + target * x[i]);
            let exact = 1.0 / distance(there, y.map(|c| c * source));
            // Truncation: ((|x| + |y|) / distance)^26 or so.
            assert!(
                (potential - exact).abs() < 1e-11 * exact,
                "{offset:?} {finer_target} {potential} {exact}"
            );
        }
    }
}

/// Relative errors, root mean square, of M2L between random pairs of points in boxes `offset` sides
/// apart.
fn error_of_m2l(offset: [i32; 3], p: usize, keep_all: bool) -> f64 {
    const PAIRS: usize = 1000;
    let mut random = Random::new(7);
    let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.uniform() - 0.5) };
    let pairs: Vec<_> = (0..PAIRS).map(|_| (point(), point())).collect();
    let vector = Vector { kind: Kind::M2l { finer_target: 0 }, offset: offset.map(|o| 2 * o) };
    let stride = OneVector::stride(p);
    let mut sources = vec![0.0; stride * PAIRS];
    for (to, (y, _)) in sources.chunks_mut(stride).zip(&pairs) {
        to[..p * p].copy_from_slice(&regular(p, *y));
    }
    let mut locals = vec![0.0; stride * PAIRS];
    let same: Vec<_> = (0..PAIRS as u32).map(|i| [i, i]).collect();
    let by = OneVector::new(vector, p);
    // SAFETY: each pair has its own target.
    unsafe {
        let run = OneVectorRun { densities: 1, mixed: false, cut: !keep_all };
        by.translate(Level::chosen(), run, &same, &sources, &mut locals);
    }
    let sum: f64 = locals
        .chunks(stride)
        .zip(&pairs)
        .map(|(local, (y, x))| {
            let there = std::array::from_fn(|i| f64::from(offset[i]) + x[i]);
            let found = dot(&local[..p * p], &regular(p, *x));
            (found * distance(there, *y) - 1.0).powi(2)
        })
        .sum();
    (sum / PAIRS as f64).sqrt()
}

#[test]
fn coefficients_left_out_of_the_rotated_frame_cost_little() {
    let (mut logarithms, mut count) = (0.0, 0);
    for p in [4, 7, 11, 16] {
        for offset in [[2, 0, 0], [0, 2, -1], [-2, 1, 2], [3, 0, 1]] {
            let all = error_of_m2l(offset, p, true);
            let kept = error_of_m2l(offset, p, false);
            // One term more or less changes errors by 2.2 to 9.
            assert!(kept < 2.0 * all, "{offset:?} {p}: {kept:e} {all:e}");
            logarithms += (kept / all).ln();
            count += 1;
        }
    }
    let mean = (logarithms / f64::from(count)).exp();
    assert!(mean < 1.15, "{mean}");
}

#[test]
fn m2m_and_l2l_move_the_centre() {
    for octant in 0..8 {
        let offset: [i32; 3] = std::array::from_fn(|i| if octant >> i & 1 == 1 { 1 } else { -1 });
        // Parent of side 1 about the origin, child of side 1/2 about `centre`.
        let centre = offset.map(|o| f64::from(o) / 4.0);
        let y = [0.3, -0.4, 0.2];
        let in_parent: [f64; 3] = std::array::from_fn(|i| centre[i] + 0.5 * y[i]);
        let multipole = translate(Vector { kind: Kind::M2m, offset }, &regular(P, y));
        for (a, b) in multipole.iter().zip(regular(P, in_parent)) {
            assert!((a - b).abs() < 1e-12, "octant {octant}: {a} {b}");
        }
        // A far source's local expansion about the parent, moved to the child, evaluated at y in
        // the child.
        let far = [3.0, -2.5, 2.0];
        let local = translate(Vector { kind: Kind::L2l, offset }, &singular(P, far));
        let potential = dot(&local, &regular(P, y)) / 0.5;
        let exact = 1.0 / distance(far, in_parent);
        assert!((potential - exact).abs() < 1e-11 * exact, "octant {octant}");
    }
}
