//! Upper bounds for the difference of means of 1/|x - y| over a triangle by two rules.
//!
//! About the triangle's centroid c, with |y - c| <= a on it and d = |x - c| > a,
//!
//! ```text
//! 1/|x - y| = sum_k |y - c|^k P_k(cos) / d^(k+1),   |y - c|^k P_k(cos) = mean over phi of l(y)^k
//! ```
//!
//! with complex linear functions l that are no larger than |y - c| (Laplace's integral). Their
//! values at the three vertices sum to 0, and none is larger than a: means of their powers by a
//! rule, also times the modes of a linear density, depend on the rule alone, not on the shape of
//! the triangle.

use std::f64::consts::PI;
use std::sync::OnceLock;

use num_complex::Complex;

use super::modes::{LARGEST, MODES, modes};
use super::rule::Rule;
use super::{MAX_TRIANGLE_DEGREE, TriangleNode};

/// Steps of a / d in tables.
const STEPS: usize = 256;

/// Number of sample values at the vertices; the largest value anywhere is at most this many times
/// larger.
const SAMPLES: usize = 33;
const BETWEEN: f64 = 1.1;

/// Bounds for the differences of two rules on a triangle, by a / d.
#[derive(Debug)]
pub struct Remainder {
    /// Bounds of potentials, times d.
    potentials: Vec<f64>,
    /// Bounds of fields, times d^2.
    fields: Vec<f64>,
    /// Both for the modes of a linear density.
    modes: [Vec<f64>; 2],
}

impl Remainder {
    /// For two rules.
    pub fn between([rule, other]: [&Rule; 2]) -> &'static Self {
        const DEGREES: usize = MAX_TRIANGLE_DEGREE + 1;
        static KNOWN: [[OnceLock<Remainder>; DEGREES]; DEGREES] =
            [const { [const { OnceLock::new() }; DEGREES] }; DEGREES];
        let place = &KNOWN[rule.degree().min(DEGREES - 1)][other.degree().min(DEGREES - 1)];
        place.get_or_init(|| Self::new([rule, other]))
    }

    /// For a rule compared with exact means.
    pub fn of(rule: &Rule) -> &'static Self {
        Self::between([rule, Rule::of_degree(MAX_TRIANGLE_DEGREE)])
    }

    fn new([rule, other]: [&Rule; 2]) -> Self {
        let [even, of_modes] = shares([rule.nodes(), other.nodes()]);
        let table = |shares: &[f64], largest: f64, factor: fn(f64) -> f64| {
            let at = |step: usize| {
                let ratio = step as f64 / STEPS as f64;
                let term =
                    |(k, share): (usize, &f64)| factor(k as f64) * share * ratio.powi(k as i32);
                let known: f64 = shares.iter().enumerate().map(term).sum();
                // Means differ by at most twice the largest value.
                let (k, rest) = (shares.len() as f64, 1.0 - ratio);
                let beyond = 2.0 * largest * ratio.powi(shares.len() as i32) / rest;
                known + beyond * (factor(k) + 2.0 * ratio / rest)
            };
            (0..=STEPS).map(at).collect()
        };
        // The gradient of a harmonic function of degree -(k + 1) is at most 2 k + 1 times the
        // function itself over the distance.
        let factors: [fn(f64) -> f64; 2] = [|_| 1.0, |k| 2.0 * k + 1.0];
        let [potentials, fields] = factors.map(|factor| table(&even, 1.0, factor));
        let modes = factors.map(|factor| table(&of_modes, LARGEST, factor));
        Self { potentials, fields, modes }
    }

    /// Largest difference of means of 1/|x - y| over a triangle of this radius, for all x at
    /// `distance` from its centroid or farther.
    pub fn of_potentials(&self, radius: f64, distance: f64) -> f64 {
        at(&self.potentials, radius / distance) / distance
    }

    /// As [`of_potentials`](Self::of_potentials), for the gradient.
    pub fn of_fields(&self, radius: f64, distance: f64) -> f64 {
        at(&self.fields, radius / distance) / (distance * distance)
    }

    /// [`Self::of_potentials`] for a density that is a mode of a linear one.
    pub fn of_mode_potentials(&self, radius: f64, distance: f64) -> f64 {
        at(&self.modes[0], radius / distance) / distance
    }

    /// [`Self::of_fields`] for such a density.
    pub(crate) fn of_mode_fields(&self, radius: f64, distance: f64) -> f64 {
        at(&self.modes[1], radius / distance) / (distance * distance)
    }

    /// Distance from which the sum of [`Self::of_potentials`] times an even `charge` and of the
    /// potentials of modes times a `slope` is at most `error`, at least the radius.
    pub fn reach(&self, radius: f64, [charge, slope]: [f64; 2], error: f64) -> f64 {
        // Powers of the distance: steps of the ratio first, starting far away.
        let distance = |step: usize| radius * STEPS as f64 / step as f64;
        let of = |step: usize| charge * self.potentials[step] + slope * self.modes[0][step];
        let is_enough = |&step: &usize| of(step) <= error * distance(step);
        let step = (1..STEPS).take_while(is_enough).last();
        step.map_or(f64::INFINITY, distance)
    }
}

fn at(table: &[f64], ratio: f64) -> f64 {
    // NaN, and points not outside the triangle's circle, have no bound.
    if ratio < 1.0 {
        // `ceil` may be a call.
        let steps = ratio * STEPS as f64;
        let below = steps as usize;
        table[below + usize::from((below as f64) < steps)]
    } else {
        f64::INFINITY
    }
}

/// For each degree the largest difference of two rules' means of l^k, and of any mode times l^k.
fn shares(rules: [&[TriangleNode]; 2]) -> [Vec<f64>; 2] {
    let mut shares = [0; 2].map(|_| vec![0.0f64; MAX_TRIANGLE_DEGREE + 1]);
    let mut look_at = |values: [Complex<f64>; 3]| {
        let mut sums = [0; MODES].map(|_| vec![Complex::new(0.0, 0.0); MAX_TRIANGLE_DEGREE + 1]);
        for (nodes, sign) in rules.into_iter().zip([1.0, -1.0]) {
            for node in nodes {
                let value: Complex<f64> =
                    values.iter().zip(node.barycentric).map(|(value, share)| value * share).sum();
                for (sums, mode) in sums.iter_mut().zip(modes(node.barycentric)) {
                    let mut power = Complex::new(sign * node.weight * mode, 0.0);
                    for sum in sums {
                        *sum += power;
                        power *= value;
                    }
                }
            }
        }
        for (mode, sums) in sums.iter().enumerate() {
            let shares = &mut shares[usize::from(mode > 0)];
            shares.iter_mut().zip(sums).for_each(|(share, sum)| *share = share.max(sum.norm()));
        }
    };
    // Two of the values are of the largest size, by the maximum principle in the third; a common
    // phase and complex conjugation change nothing.
    for sample in 0..SAMPLES {
        let angle = PI * (2.0 + sample as f64 / (SAMPLES - 1) as f64) / 3.0;
        let (one, second) = (Complex::new(1.0, 0.0), Complex::from_polar(1.0, angle));
        let values = [one, second, -one - second];
        (0..3).for_each(|k| look_at(std::array::from_fn(|i| values[(i + k) % 3])));
    }
    // Differences by rounding do not count.
    let above_rounding = |share: f64| if share < 1e-13 { 0.0 } else { BETWEEN * share };
    shares.map(|shares| shares.into_iter().map(above_rounding).collect())
}
