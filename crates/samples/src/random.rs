//! Random numbers that are the same on every machine and in every version: SplitMix64.
//!
//! Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014).

/// A generator; equal seeds give equal sequences.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), all 53 bits random.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in 0 .. count.
    pub fn below(&mut self, count: usize) -> usize {
        // The bias of a multiplication is count / 2^64: nothing for indices of points.
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First outputs for the seed 1234567, from the reference implementation at
        // prng.di.unimi.it.
        let mut random = Random::new(1_234_567);
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.bits(), random.bits(), random.bits()], expected);
    }

    #[test]
    fn numbers_stay_in_range() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            assert!((0.0..1.0).contains(&random.uniform()));
            assert!(random.below(3) < 3);
        }
    }
}
