//! Random numbers that are the same on every machine.

/// A generator of pseudo-random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream for case `index` of those of a seed.
    pub fn of(seed: u64, index: u64) -> Self {
        let mut random = Self(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
        random.bits();
        random
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2.0f64.powi(-53)
    }

    /// In [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// In [low, high), its logarithm evenly.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.unit()).exp()
    }

    /// 0 .. count - 1.
    pub fn below(&mut self, count: usize) -> usize {
        (self.unit() * count as f64) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// 1 or -1.
    pub fn sign(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { -1.0 }
    }

    /// One of some things.
    pub fn of_these<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// 0 .. count - 1 in random order.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for k in (1..count).rev() {
            order.swap(k, self.below(k + 1));
        }
        order
    }

    /// A direction, evenly on the sphere.
    pub fn direction(&mut self) -> [f64; 3] {
        loop {
            let x = [0; 3].map(|_| self.between(-1.0, 1.0));
            let r = super::vector::norm(x);
            if r > 0.1 && r < 1.0 {
                return x.map(|c| c / r);
            }
        }
    }

    /// The rows of a rotation, evenly among all.
    pub fn rotation(&mut self) -> [[f64; 3]; 3] {
        // A unit quaternion.
        let [a, b, c, d] = loop {
            let q = [0; 4].map(|_| self.between(-1.0, 1.0));
            let r = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            if r > 0.1 && r < 1.0 {
                break q.map(|x| x / r);
            }
        };
        [
            [a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
            [2.0 * (b * c + a * d), a * a - b * b + c * c - d * d, 2.0 * (c * d - a * b)],
            [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a - b * b - c * c + d * d],
        ]
    }
}
