//! What a solve will take, before it is begun.

use crate::Error;
use crate::preconditioner::NEIGHBOURS;
use crate::problem::GROUP;

/// Whether a dense solve of `n` panels and `k` conductors beats the fast one.
///
/// Seconds of two cores, measured at the default tolerance on cubes of 432 to 3,072 panels, where the two meet near 1,200: half
/// a pair integral 0.09e-6, a multiply-add of the factorisation 3e-11; to begin a fast solve 0.06, near field and
/// preconditioner of a panel 30e-6, a fast sum over its points 4e-6 and about 10 of them.
pub(crate) fn dense_is_faster(n: usize, k: usize) -> bool {
    let (n, k) = (n as f64, k as f64);
    let dense = n * n * (0.09e-6 + n / 6.0 * 3e-11 + 2e-9 * k);
    let fast = 0.06 + n * (30e-6 + 10.0 * 4e-6 * (1.0 + 0.3 * (k - 1.0)));
    dense < fast
}

/// Entries of a row of the near field on a mesh of regular triangles.
pub(crate) const REGULAR_ROW: usize = 45;

/// Bytes at the peak of a fast solve of `n` panels with `points` points each and `entries` near-field entries in all: plan,
/// near field, preconditioner and Krylov vectors.
pub(crate) fn fast_bytes(n: usize, points: usize, entries: usize, conductors: usize) -> u64 {
    /// Plan, and scratch of a sum (measured).
    const POINT: usize = 550;
    /// Half a value and half a column, more for pairs of different blocks.
    const ENTRY: usize = 7;
    /// Geometry, local inverse, coarse level.
    const PANEL: usize = 150 + NEIGHBOURS * 8 + 100;
    /// Basis of a solve of some 20 iterations.
    const KRYLOV: usize = 20 * 8;
    let columns = conductors.clamp(1, GROUP);
    let of_panel = points * (POINT + 16 * columns) + PANEL + KRYLOV * columns + 16 * conductors;
    (n * of_panel + entries * ENTRY) as u64
}

pub(crate) fn check(
    what: &'static str,
    needed: u64,
    limit: Option<u64>,
    advice: &'static str,
) -> Result<(), Error> {
    match limit {
        Some(available) if needed > available => {
            Err(Error::Memory { what, needed, available, advice })
        }
        _ => Ok(()),
    }
}
