//! Changes that are made at once: of those that touch the same triangles the best one is chosen, so
//! that the result does not depend on the order in which they were found.

use parallel::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A change at a half-edge, with what it gains, which is not negative.
pub(crate) type Gain = (f32, u32);

/// The best change at each triangle.
#[derive(Default)]
pub(crate) struct Claims(Vec<AtomicU64>);

impl Claims {
    /// Claims on `triangles` triangles.
    pub fn new(triangles: usize) -> Self {
        Self((0..triangles).into_par_iter().map(|_| AtomicU64::new(0)).collect())
    }

    /// Parts changes into those that are better than all others at their triangles, and the rest.
    pub fn choose(
        &self,
        gains: Vec<Gain>,
        triangles: impl Fn(u32) -> [u32; 2] + Sync,
    ) -> (Vec<u32>, Vec<u32>) {
        // Floats that are not negative are in the order of their bits.
        let key = |(gain, h): &Gain| (u64::from(gain.to_bits()) << 32) | u64::from(!h);
        let of = |h: u32| triangles(h).map(|t| &self.0[t as usize]);
        gains.par_iter().for_each(|change| {
            of(change.1).iter().for_each(|best| {
                best.fetch_max(key(change), Ordering::Relaxed);
            });
        });
        let wins =
            |gain: &Gain| of(gain.1).iter().all(|best| best.load(Ordering::Relaxed) == key(gain));
        let won: Vec<bool> = gains.par_iter().map(wins).collect();
        let those = |all: bool| {
            let which = gains.iter().zip(&won).filter(move |(_, won)| **won == all);
            which.map(|(gain, _)| gain.1).collect()
        };
        gains.par_iter().for_each(|change| {
            of(change.1).iter().for_each(|best| best.store(0, Ordering::Relaxed));
        });
        (those(true), those(false))
    }
}
