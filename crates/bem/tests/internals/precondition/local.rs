//! Small systems in lanes.

use bem::internals::precondition::BatchedLdl;
use nalgebra::DMatrix;
use simd::{Simd, Task};

struct Check;

impl Task<f64> for Check {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let mut local = BatchedLdl::<V>::default();
        let entry = |a: usize, b: usize, lane: usize| {
            let (a, b) = (a.max(b) as f64, a.min(b) as f64);
            if a == b { 3.0 } else { 1.0 / (1.0 + a - b + 0.1 * lane as f64 * b) }
        };
        for size in [1, 2, 7, 30] {
            local.clear(size);
            let sizes: Vec<usize> = (0..V::LANES).map(|lane| size - lane.min(size - 1)).collect();
            for (lane, &m) in sizes.iter().enumerate() {
                for a in 0..m {
                    for b in a..m {
                        local.set(a, b, lane, entry(a, b, lane));
                    }
                }
            }
            let columns = size.min(3);
            local.solve(columns);
            for (lane, &m) in sizes.iter().enumerate() {
                let matrix = DMatrix::from_fn(m, m, |a, b| entry(a, b, lane));
                let inverse = matrix.try_inverse().unwrap();
                assert!(local.is_definite(lane));
                for (a, column) in (0..m).flat_map(|a| (0..columns.min(m)).map(move |c| (a, c))) {
                    let found = local.solution(a, column, lane);
                    assert!((found - inverse[(a, column)]).abs() < 1e-13);
                }
            }
        }
        local.clear(2);
        local.set(0, 1, 0, 2.0);
        local.solve(1);
        assert!(!local.is_definite(0));
    }
}

#[test]
fn last_columns_of_inverses() {
    simd::run(Check);
}
