//! Integrals over a triangle of another triangle's closed form: the outer half of a pair integral.
//!
//! The inner integral is smooth except near the other triangle's vertices and edges. About a common
//! vertex it is smooth in the direction and in the distance, which suits conical rules, or, for
//! linear densities, behaves like x ln x, which suits graded rules. Where that is not enough, the
//! triangle is cut in four until the degree-5 rule on a part agrees with that on its quarters.

use crate::constants::TOGETHER;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::{self, TriangleNode};

/// Cuts end at parts of this share of the triangle (in length): a jump of the integrand can hide an
/// error of the square of that share.
const MOST_CUTS: usize = 12;

/// No part needs to be more accurate than this share of the whole: on needles closed forms have
/// rounding errors, and parts would never agree.
const LEAST: f64 = 1e-2;

/// Cuts across a needle, at most.
const MOST_ACROSS: f64 = 20.0;

/// Degree of the rule on a part.
const DEGREE: usize = 5;

/// Behaviour of values at a common vertex or edge. If two rules about it agree, the higher one is
/// taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touching {
    /// Smooth in the direction and the distance from the vertex: conical rules.
    Smooth,
    /// Like x ln x in the distance from the vertex and from the edge: graded rules.
    Logarithmic,
}

impl Touching {
    fn rules(self) -> [&'static [TriangleNode]; 3] {
        match self {
            Self::Smooth => [7, 11, 17].map(quadrature::triangle),
            Self::Logarithmic => [6, 9, 13].map(quadrature::graded),
        }
    }
}

/// Values integrated together.
pub(crate) type Values<const N: usize> = [f64; N];

/// Integrands, given by their weighted sums over nodes, and the required accuracy.
pub struct OuterQuadrature<'a, const N: usize, F> {
    /// Sums of the integrands over nodes.
    pub sum: F,
    /// Absolute error allowed in each value.
    pub allowed: f64,
    /// Behaviour of values where triangles touch.
    pub touching: Touching,
    /// Scratch space for the nodes.
    pub nodes: &'a mut WeightedPoints,
}

impl<const N: usize, F: Fn(&mut WeightedPoints) -> Values<N>> OuterQuadrature<'_, N, F> {
    /// The integrals over `s`, singular only where it meets `t`.
    pub(crate) fn over(&mut self, s: &Triangle, t: &Triangle) -> Values<N> {
        let Some(parts) = parts_about_common(s, t) else {
            return self.adaptive(&s.vertices, s.area);
        };
        parts.into_iter().fold([0.0; N], |sum, (v, area)| {
            let part = self.about(v, area).unwrap_or_else(|| self.adaptive(&v, area));
            added(sum, part)
        })
    }

    /// The integrals over `s` by rules about the vertex or edge that it shares with `t`; `None` if
    /// there is none, or if the rules do not agree.
    pub(crate) fn about_common(&mut self, s: &Triangle, t: &Triangle) -> Option<Values<N>> {
        let parts = parts_about_common(s, t)?;
        parts
            .into_iter()
            .try_fold([0.0; N], |sum, (v, area)| Some(added(sum, self.about(v, area)?)))
    }

    /// The integrals over a part by rules about `v[1]`, if two of them agree.
    fn about(&mut self, v: [Vec3; 3], area: f64) -> Option<Values<N>> {
        let mut before: Option<Values<N>> = None;
        for rule in self.touching.rules() {
            let value = self.by_rule(&v, area, rule);
            if before.is_some_and(|before| apart(value, before) <= self.allowed) {
                return Some(value);
            }
            before = Some(value);
        }
        None
    }

    /// The integrals over a part by one rule.
    pub fn by_rule(&mut self, v: &[Vec3; 3], area: f64, rule: &[TriangleNode]) -> Values<N> {
        self.nodes.set_rule(v, rule);
        (self.sum)(self.nodes).map(|sum| area * sum)
    }

    /// The integrals over the part `v` by adaptive cuts.
    pub fn adaptive(&mut self, v: &[Vec3; 3], area: f64) -> Values<N> {
        let whole = self.by_rule(v, area, quadrature::triangle(DEGREE));
        // Needles are cut across before they are cut in four.
        let longest = (0..3).map(|k| (v[(k + 1) % 3] - v[k]).norm_squared()).fold(0.0, f64::max);
        let across = (longest / area).log2().clamp(0.0, MOST_ACROSS) as usize;
        let part = Part { vertices: *v, area, allowed: self.allowed };
        self.refine(part, whole, MOST_CUTS + across)
    }

    /// As [`adaptive`](Self::adaptive), over the halves of a needle.
    fn refine_halves(
        &mut self,
        halves: [[Vec3; 3]; 2],
        Part { area, allowed, .. }: Part,
        whole: Values<N>,
        cuts: usize,
    ) -> Values<N> {
        let rule = quadrature::triangle(DEGREE);
        let values = halves.map(|part| self.by_rule(&part, 0.5 * area, rule));
        let total = added(values[0], values[1]);
        if cuts == 0 || apart(total, whole) <= allowed.max(LEAST * self.allowed) {
            return total;
        }
        let parts = halves.iter().zip(values);
        parts.fold([0.0; N], |sum, (part, value)| {
            let part = Part { vertices: *part, area: 0.5 * area, allowed: 0.7 * allowed };
            added(sum, self.refine(part, value, cuts - 1))
        })
    }

    /// The integrals over a part, given the rule's value `whole`.
    fn refine(&mut self, part: Part, whole: Values<N>, cuts: usize) -> Values<N> {
        let Part { vertices, area, allowed } = part;
        if let Some(halves) = halves_of_needle(&vertices) {
            return self.refine_halves(halves, part, whole, cuts);
        }
        let [a, b, c] = vertices;
        let (p, q, r) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
        let quarters = [[a, p, r], [p, b, q], [r, q, c], [p, q, r]];
        let rule = quadrature::triangle(DEGREE);
        let values = quarters.map(|part| self.by_rule(&part, 0.25 * area, rule));
        let total = values.iter().fold([0.0; N], |sum, part| added(sum, *part));
        if cuts == 0 || apart(total, whole) <= allowed.max(LEAST * self.allowed) {
            return total;
        }
        // The error allowed for a part is proportional to its length, not its area: few parts are
        // bad.
        let parts = quarters.iter().zip(values);
        parts.fold([0.0; N], |sum, (part, value)| {
            let part = Part { vertices: *part, area: 0.25 * area, allowed: 0.5 * allowed };
            added(sum, self.refine(part, value, cuts - 1))
        })
    }
}

/// A part of a triangle, and the error allowed for it.
#[derive(Clone, Copy)]
struct Part {
    vertices: [Vec3; 3],
    area: f64,
    allowed: f64,
}

/// Triangles longer than this many heights are cut across only: four parts would be as elongated.
const NEEDLE: f64 = 6.0;

/// The halves of a triangle whose longest side is much longer than the height above it.
fn halves_of_needle(v: &[Vec3; 3]) -> Option<[[Vec3; 3]; 2]> {
    let lengths: [f64; 3] = std::array::from_fn(|k| (v[(k + 1) % 3] - v[k]).norm_squared());
    let longest = (0..3).fold(0, |at, k| if lengths[k] > lengths[at] { k } else { at });
    let [a, b, c] = std::array::from_fn(|k| v[(longest + k) % 3]);
    let twice_area = (b - a).cross(&(c - a)).norm();
    let middle = (a + b) * 0.5;
    (lengths[longest] > NEEDLE * twice_area).then_some([[a, middle, c], [middle, b, c]])
}

/// Parts of `s` with their areas, each with the vertex shared with `t` in second place: `s` itself,
/// or its halves on either side of the midpoint of a shared edge. `None` if nothing is shared.
fn parts_about_common(s: &Triangle, t: &Triangle) -> Option<Vec<([Vec3; 3], f64)>> {
    let size = s.diameter().max(t.diameter());
    let common = |v: &Vec3| t.vertices.iter().any(|w| (v - w).norm() <= TOGETHER * size);
    let [a, b, c] = s.vertices;
    let halves = |a: Vec3, b: Vec3, c: Vec3| {
        let middle = (a + b) * 0.5;
        vec![([middle, a, c], 0.5 * s.area), ([middle, b, c], 0.5 * s.area)]
    };
    match [a, b, c].map(|v| common(&v)) {
        [true, false, false] => Some(vec![([b, a, c], s.area)]),
        [false, true, false] => Some(vec![([a, b, c], s.area)]),
        [false, false, true] => Some(vec![([a, c, b], s.area)]),
        [true, true, false] => Some(halves(a, b, c)),
        [false, true, true] => Some(halves(b, c, a)),
        [true, false, true] => Some(halves(c, a, b)),
        _ => None,
    }
}

fn added<const N: usize>(a: Values<N>, b: Values<N>) -> Values<N> {
    std::array::from_fn(|k| a[k] + b[k])
}

/// Largest difference.
fn apart<const N: usize>(a: Values<N>, b: Values<N>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
