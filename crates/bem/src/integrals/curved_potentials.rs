//! Potentials of curved panels at a point: of the modes of linear functions, per unit of parameter
//! area.
//!
//! A panel is cut in four until each part is far enough from the point for a rule, or so flat that
//! the closed form of the triangle through its corners is as good as was asked for.

use std::array;

use simd::{Elementary, Simd, Task};

use crate::geometry::patch::{CORNERS, Parameters, Patch, between};
use crate::geometry::triangle::{Triangle, Vec3};
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::sums::Rule;

/// Cuts after which a part counts as flat.
const CUTS: usize = 30;

/// Degrees of rules on parts that are far.
const DEGREES: [usize; 4] = [4, 6, 9, 13];

/// How far errors of rules on parts stay below the bound by distance.
const BELOW_BOUND: f64 = 0.1;

/// What is wanted at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// int m / |x - y|.
    Potential,
    /// The same and its gradient at x.
    Gradient,
    /// int m N . (x - y) / |x - y|^3 with N = y_s cross y_t.
    Double,
}

/// Means over a panel's parameters, for each mode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OfModes {
    /// Potential, of charges or of dipoles along the normals.
    pub(crate) potential: [f64; MODES],
    /// Gradient of that of charges. On the panel its normal part is the mean of both sides.
    pub(crate) gradient: [Vec3; MODES],
}

/// Potentials at `x` of a panel's modes, to about `accuracy` of what is there from near parts.
pub(crate) fn at(patch: &Patch, x: &Vec3, wanted: Wanted, accuracy: f64) -> OfModes {
    let mut sums = [[0.0; 4]; 3];
    let moved = patch.moved(&-x);
    // Each cut takes three quarters of the bulge away.
    let flat_enough = accuracy * Triangle::of(moved.corners()).radius;
    let cuts = if moved.is_straight() { 0 } else { CUTS };
    let part = Part { patch: moved, corners: CORNERS, share: 1.0 };
    Scan { wanted, accuracy, flat_enough }.add(&part, cuts, &mut sums);
    let of_modes = |k: usize| modes::tested([0, 1, 2].map(|corner: usize| sums[corner][k]));
    let gradient = [1, 2, 3].map(of_modes);
    OfModes {
        potential: of_modes(0),
        gradient: array::from_fn(|m| Vec3::new(gradient[0][m], gradient[1][m], gradient[2][m])),
    }
}

/// A part of a panel, seen from the point.
struct Part {
    patch: Patch,
    corners: [Parameters; 3],
    /// Of the panel's parameters.
    share: f64,
}

/// Sums against the linear functions of the panel's corners: potential and gradient.
type Sums = [[f64; 4]; 3];

struct Scan {
    wanted: Wanted,
    accuracy: f64,
    /// Parts that deviate by less from flat ones are so.
    flat_enough: f64,
}

impl Scan {
    fn add(&self, part: &Part, cuts: usize, sums: &mut Sums) {
        let flat = part.patch.corners();
        let centre = (flat[0] + flat[1] + flat[2]) / 3.0;
        let bulge = part.patch.bulge();
        let from = |v: &Vec3| (v - centre).norm();
        let radius = flat.iter().map(from).fold(0.0, f64::max) + bulge;
        let distance = centre.norm();
        if let Some(degree) = self.degree(radius, distance) {
            let rule = Rule::of_degree(degree);
            let values = simd::run(ByRule { rule, patch: &part.patch, wanted: self.wanted });
            // The normal has the area of the part in it.
            let factor = if self.wanted == Wanted::Double { 1.0 } else { part.share };
            return collect(part, factor, &values, sums);
        }
        // A flat part is off by its bulge over its size, of what parts of its size contribute.
        if cuts == 0 || bulge <= self.flat_enough {
            return self.add_flat(part, &flat, bulge, sums);
        }
        for (patch, corners) in part.patch.quarters() {
            let corners = corners.map(|corner| between(&part.corners, corner));
            let quarter = Part { patch, corners, share: 0.25 * part.share };
            self.add(&quarter, cuts - 1, sums);
        }
    }

    /// Degree of the rule that is enough for a part of this radius at this distance.
    fn degree(&self, radius: f64, distance: f64) -> Option<usize> {
        if distance <= 1.5 * radius {
            return None;
        }
        let needed = (BELOW_BOUND / self.accuracy).ln() / (distance / radius).ln();
        DEGREES.into_iter().find(|&degree| degree as f64 >= needed)
    }

    fn add_flat(&self, part: &Part, flat: &[Vec3; 3], bulge: f64, sums: &mut Sums) {
        let triangle = Triangle::of(*flat);
        if triangle.area.is_nan() || triangle.area <= 0.0 {
            return;
        }
        let height = triangle.normal.dot(&flat[0]).abs();
        // Points on the panel are within its bulge of the flat part: on it.
        let is_on = height <= 4.0 * bulge + 1e-14 * triangle.radius;
        let linear = triangle.linear_potentials([0.0; 3]);
        let along = triangle.normal;
        let values: [[f64; 4]; 3] = array::from_fn(|k| {
            let gradient = Vec3::from(linear.gradient[k]);
            let gradient = if is_on { gradient - along * along.dot(&gradient) } else { gradient };
            let potential = match self.wanted {
                Wanted::Double if is_on => 0.0,
                // Per unit of parameters: twice the area.
                Wanted::Double => 2.0 * triangle.area * linear.double_layer[k],
                _ => linear.single_layer[k],
            };
            [potential, gradient.x, gradient.y, gradient.z]
        });
        let factor = if self.wanted == Wanted::Double { 1.0 } else { part.share };
        collect(part, factor / triangle.area, &values, sums);
    }
}

/// Adds values of a part's corners to those of the panel's.
fn collect(part: &Part, factor: f64, values: &[[f64; 4]; 3], sums: &mut Sums) {
    for ([s, t], values) in part.corners.iter().zip(values) {
        for (sum, at) in sums.iter_mut().zip([1.0 - s - t, *s, *t]) {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * at * value);
        }
    }
}

/// Means over a rule's points against the functions of the corners.
struct ByRule<'a> {
    rule: &'static Rule,
    patch: &'a Patch,
    wanted: Wanted,
}

impl Task<f64> for ByRule<'_> {
    type Output = [[f64; 4]; 3];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Self { rule, patch, wanted } = self;
        let mut sums = [[V::zero(); 4]; 3];
        let tangents = patch.tangents();
        let ([_, s, t], weights) = rule.lanes();
        for at in (0..weights.len()).step_by(V::LANES) {
            let (s, t) = (V::load(&s[at..]), V::load(&t[at..]));
            let y = patch.lanes(s, t);
            let r2 = y[0].mul_add(y[0], y[1].mul_add(y[1], y[2].mul(y[2])));
            let inverse = r2.rsqrt_or_zero();
            let weighted = V::load(&weights[at..]).mul(inverse);
            let cubed = weighted.mul(inverse).mul(inverse);
            let potential = if wanted == Wanted::Double {
                let n = tangents.normals(patch.order(), s, t);
                let along = n[0].mul_add(y[0], n[1].mul_add(y[1], n[2].mul(y[2])));
                V::zero().sub(along.mul(cubed))
            } else {
                weighted
            };
            let hats = [V::splat(1.0).sub(s).sub(t), s, t];
            for (sum, hat) in sums.iter_mut().zip(hats) {
                sum[0] = hat.mul_add(potential, sum[0]);
                if wanted == Wanted::Gradient {
                    // The gradient at the point is along y, which is seen from there.
                    let factor = hat.mul(cubed);
                    for axis in 0..3 {
                        sum[axis + 1] = factor.mul_add(y[axis], sum[axis + 1]);
                    }
                }
            }
        }
        sums.map(|sum| sum.map(|value| value.sum()))
    }
}
