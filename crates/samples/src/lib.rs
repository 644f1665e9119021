//! Points and charges for tests and timings of fast sums: determined by their seed, the same on
//! every machine.

mod random;

use std::f64::consts::TAU;

pub use random::Random;

/// Coarsest over finest spacing of [`Distribution::GradedPlate`].
const GRADING: f64 = 1000.0;

/// Thickness of the plate, whose sides have length 1: about the finest spacing.
const THICKNESS: f64 = 1e-3;

/// Kept share of a Plummer model's mass: it has no edge, and the last thousandth extends far out.
const PLUMMER_MASS: f64 = 0.999;

/// How points are distributed; in fewer than three dimensions, the analogous distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Uniform in the unit cube.
    Cube,
    /// Uniform on the surface of the unit sphere; in one dimension uniform in [-1, 1].
    Sphere,
    /// Plummer's star cluster of scale radius 1.
    Plummer,
    /// Both faces of a thin unit plate, spacing graded 1:1000 toward the edges.
    GradedPlate,
}

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
        let point = match self {
            Self::Cube => cube,
            Self::Sphere => sphere,
            Self::Plummer => plummer,
            Self::GradedPlate => graded_plate,
        };
        (0..count).map(|_| point(random)).collect()
    }
}

fn cube<const D: usize>(random: &mut Random) -> [f64; D] {
    std::array::from_fn(|_| random.uniform())
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

/// Mass within r is r^3 / (1 + r^2)^(3/2), solved for r.
fn plummer<const D: usize>(random: &mut Random) -> [f64; D] {
    // 1 - u avoids the division by zero at u = 0.
    let mass = PLUMMER_MASS * (1.0 - random.uniform());
    let radius = (mass.powf(-2.0 / 3.0) - 1.0).sqrt().recip();
    sphere(random).map(|x| radius * x)
}

fn graded_plate<const D: usize>(random: &mut Random) -> [f64; D] {
    std::array::from_fn(|axis| match axis {
        2 => {
            if random.uniform() < 0.5 {
                0.0
            } else {
                THICKNESS
            }
        }
        _ => graded(random),
    })
}

/// A coordinate in [0, 1] whose density is inverse to d + d0, d being the distance to the nearer
/// end: the spacing then grows linearly with d, by [`GRADING`] in all.
fn graded(random: &mut Random) -> f64 {
    let closest = 0.5 / (GRADING - 1.0);
    let distance = closest * (GRADING.powf(random.uniform()) - 1.0);
    if random.uniform() < 0.5 { distance } else { 1.0 - distance }
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

impl ChargeKind {
    /// One charge per point.
    pub fn charges(self, points: &[[f64; 3]], random: &mut Random) -> Vec<f64> {
        let coordinates = || points.iter().flatten().copied();
        let low = coordinates().fold(f64::INFINITY, f64::min);
        let high = coordinates().fold(f64::NEG_INFINITY, f64::max);
        // |k| = 14 over an extent of 1: 2.2 waves.
        let wave = [11.0, -7.0, 5.0].map(|k| k / (high - low).max(f64::MIN_POSITIVE));
        points
            .iter()
            .map(|x| match self {
                Self::Mixed => mixed(random),
                Self::Positive => random.uniform(),
                Self::PlaneWave => (wave[0] * x[0] + wave[1] * x[1] + wave[2] * x[2]).cos(),
            })
            .collect()
    }
}

/// Charges of [`ChargeKind::Mixed`].
pub fn mixed_charges(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| mixed(random)).collect()
}

fn mixed(random: &mut Random) -> f64 {
    random.uniform() - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn sample(distribution: Distribution) -> Vec<[f64; 3]> {
        distribution.points(20_000, &mut Random::new(7))
    }

    fn radius(p: &[f64; 3]) -> f64 {
        p.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn seeds_fix_the_points() {
        assert_eq!(sample(Distribution::Plummer), sample(Distribution::Plummer));
    }

    #[test]
    fn points_lie_where_they_should() {
        assert!(sample(Distribution::Cube).iter().flatten().all(|x| (0.0..1.0).contains(x)));
        for p in sample(Distribution::Sphere) {
            assert_relative_eq!(radius(&p), 1.0, epsilon = 1e-14);
        }
        for p in sample(Distribution::GradedPlate) {
            assert!((0.0..=1.0).contains(&p[0]) && (0.0..=1.0).contains(&p[1]));
        }
    }

    #[test]
    fn half_the_plummer_mass_is_within_its_half_mass_radius() {
        // r_h = (2^(2/3) - 1)^(-1/2) for the whole; the cut at 0.999 shifts it by less than the
        // sample's spread.
        let half_mass = (2f64.powf(2.0 / 3.0) - 1.0).powf(-0.5);
        let inside = sample(Distribution::Plummer).iter().filter(|p| radius(p) < half_mass).count();
        // Four standard deviations of a binomial of 20,000: 283.
        assert!((inside as f64 - 10_000.0).abs() < 283.0 + 20.0, "{inside}");
    }

    #[test]
    fn the_plate_is_a_thousand_times_denser_at_its_edges() {
        let xs: Vec<f64> =
            sample(Distribution::GradedPlate).iter().map(|p| p[0].min(1.0 - p[0])).collect();
        let closest = 0.5 / (GRADING - 1.0);
        // ln(2) of ln(1000) of all points are as near to an edge as the finest spacing's length.
        let near = xs.iter().filter(|d| **d < closest).count() as f64 / xs.len() as f64;
        assert_relative_eq!(near, 2f64.ln() / GRADING.ln(), epsilon = 0.01);
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
