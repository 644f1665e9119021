//! Points and charges that sums are tested and timed on: fixed by their seed, the same on every
//! machine.

use std::f64::consts::TAU;

/// A generator of random numbers (SplitMix64); equal seeds give equal sequences.
///
/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014).
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
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }
}

/// How points are spread; in fewer than three dimensions the same with what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Uniform in the unit cube.
    Cube,
    /// Uniform on the surface of the unit sphere; in one dimension uniform in [-1, 1].
    Sphere,
    /// Plummer's star cluster of scale radius 1.
    Plummer,
    /// Uniform on the sides of a unit plate, spacing graded 1:1000 toward the edges.
    GradedPlate,
}

/// Share of a Plummer model's mass that is kept: it has no edge.
const PLUMMER_MASS: f64 = 0.999;

/// Coarsest over finest spacing of [`Distribution::GradedPlate`].
const GRADING: f64 = 1000.0;

impl Distribution {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Cube, Self::Sphere, Self::Plummer, Self::GradedPlate];

    /// The name in options and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cube => "cube",
            Self::Sphere => "sphere",
            Self::Plummer => "plummer",
            Self::GradedPlate => "graded-plate",
        }
    }

    /// `count` points, shape (count, D).
    pub fn points<const D: usize>(self, count: usize, random: &mut Random) -> Vec<[f64; D]> {
        (0..count).map(|_| self.point(random)).collect()
    }

    fn point<const D: usize>(self, random: &mut Random) -> [f64; D] {
        match self {
            Self::Cube => std::array::from_fn(|_| random.uniform()),
            Self::Sphere => sphere(random),
            Self::Plummer => {
                // Mass within r is r^3 / (1 + r^2)^(3/2), solved for r; not at 0.
                let mass = PLUMMER_MASS * (1.0 - random.uniform());
                let radius = (mass.powf(-2.0 / 3.0) - 1.0).sqrt().recip();
                sphere(random).map(|x| radius * x)
            }
            Self::GradedPlate => std::array::from_fn(|axis| match axis {
                2 => GRADING.recip() * random.below(2) as f64,
                _ => graded(random),
            }),
        }
    }
}

/// Archimedes: height and longitude are uniform.
fn sphere<const D: usize>(random: &mut Random) -> [f64; D] {
    let z = 2.0 * random.uniform() - 1.0;
    let (sin, cos) = (TAU * random.uniform()).sin_cos();
    let radius = if D == 3 { (1.0 - z * z).sqrt() } else { 1.0 };
    std::array::from_fn(|axis| match (D, axis) {
        (1, _) | (3, 2) => z,
        (_, 0) => radius * cos,
        _ => radius * sin,
    })
}

/// A coordinate in [0, 1] whose density is inverse to d + d0, d being the distance to the nearer
/// end: the spacing then grows linearly with d, by [`GRADING`] in all.
fn graded(random: &mut Random) -> f64 {
    let closest = 0.5 / (GRADING - 1.0);
    let distance = closest * (GRADING.powf(random.uniform()) - 1.0);
    if random.uniform() < 0.5 { distance } else { 1.0 - distance }
}

/// Charges uniform in [-0.5, 0.5): the hard case, sums nearly cancel.
pub fn mixed_charges(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| random.uniform() - 0.5).collect()
}
