//! Points and charges for tests and benchmarks: fixed by their seed, the same on every machine.

use std::f64::consts::PI;

/// Where benchmark points lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Uniform in the unit cube.
    Cube,
    /// Uniform on the unit sphere's surface.
    Sphere,
    /// Plummer's star cluster of scale 1, cut at radius 20: dense in the middle.
    Plummer,
    /// A square plate of edge 1 and thickness 1e-3, top and bottom, with spacings that shrink 1:1000 toward the edges.
    GradedPlate,
}

/// Signs and smoothness of benchmark charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeKind {
    /// Uniform in [-0.5, 0.5): the hard case, potentials nearly cancel.
    Mixed,
    /// Uniform in [0, 1).
    Positive,
    /// `cos(k . x)` with two to three waves across the points.
    PlaneWave,
}

/// SplitMix64 (Steele, Lea and Flood 2014): passes statistical tests, needs one word of state.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ x >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform on the unit sphere.
    fn direction(&mut self) -> [f64; 3] {
        let z = 2.0 * self.unit() - 1.0;
        let (s, c) = (2.0 * PI * self.unit()).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * c, r * s, z]
    }
}

impl Distribution {
    /// `n` points, shape (n, 3).
    pub fn points(self, n: usize, seed: u64) -> Vec<[f64; 3]> {
        let mut random = Random::new(seed);
        (0..n).map(|_| self.point(&mut random)).collect()
    }

    fn point(self, random: &mut Random) -> [f64; 3] {
        match self {
            Self::Cube => [random.unit(), random.unit(), random.unit()],
            Self::Sphere => random.direction(),
            Self::Plummer => loop {
                // Mass within r is r^3 / (1 + r^2)^(3/2).
                let mass = random.unit().max(1e-12);
                let r = 1.0 / (mass.powf(-2.0 / 3.0) - 1.0).sqrt();
                if r < 20.0 {
                    return random.direction().map(|c| r * c);
                }
            },
            Self::GradedPlate => {
                let sign = |random: &mut Random| if random.unit() < 0.5 { -1.0 } else { 1.0 };
                let side = sign(random);
                let mut graded = || {
                    // Density proportional to 1 / (distance to the edge), distances 1e-3 to 1 of the half edge.
                    let distance = 1000f64.powf(-random.unit());
                    sign(random) * 0.5 * (1.0 - distance)
                };
                [graded(), graded(), 5e-4 * side]
            }
        }
    }
}

impl ChargeKind {
    /// One charge a point.
    pub fn charges(self, points: &[[f64; 3]], seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed ^ 0x5eed);
        let wave = [11.0, -7.0, 5.0];
        points
            .iter()
            .map(|x| match self {
                Self::Mixed => random.unit() - 0.5,
                Self::Positive => random.unit(),
                Self::PlaneWave => (wave[0] * x[0] + wave[1] * x[1] + wave[2] * x[2]).cos(),
            })
            .collect()
    }
}
