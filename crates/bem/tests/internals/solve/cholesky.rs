//! Symmetric systems.

use bem::internals::solve::Factor;
use nalgebra::DMatrix;

/// Any number of vectors, of any length.
#[test]
fn vectors_together_are_solved_for_as_one_by_one() {
    for n in [1, 3, 4, 5, 63, 64, 70, 200] {
        let entry = |i: usize, j: usize| 1.0 / (1.0 + (i as f64 - j as f64).powi(2));
        let factor = Factor::new(DMatrix::from_fn(n, n, entry)).unwrap();
        for columns in [1, 2, 7, 9, 35] {
            let x: Vec<f64> = (0..n * columns).map(|k| (0.7 * k as f64).sin()).collect();
            let (mut one, mut all) = (x.clone(), x);
            one.chunks_exact_mut(n).for_each(|x| factor.solve(x));
            factor.solve_all(&mut all);
            let off = one.iter().zip(&all).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let size = one.iter().fold(0.0f64, |size, x| size.max(x.abs()));
            assert!(off <= 1e-12 * size, "{n} {columns}: {off:e}");
        }
    }
}
