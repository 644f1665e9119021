//! Integrals over a panel of the kernels times polynomials, for a point on it or near it.
//!
//! For a point off the panel, the panel is cut in four until rules are accurate. For a point on it,
//! it is cut in three at the point: in each part, in polar coordinates about the point, kernels
//! like 1/r are smooth along the radius, and also along the opposite side after the substitution p
//! = h sinh(tau), with h the distance of that side. T is of this kind in the sum over the regions
//! on both sides: docs/math.md, "Salt".

use simd::{Elementary, Real, Simd, Task};

use super::kernel::{Entries, KERNELS, Term, values};
use super::nodes::{MOST, Stencil, Target};
use crate::device::Cutting;
use crate::geometry::patch::{CORNERS, Parameters, Patch, Tangents, between};
use crate::geometry::triangle::Vec3;
use crate::quadrature;
use crate::quadrature::rule::Rule;

/// Factor between the errors of rules and (radius / distance)^(degree + 1).
const BELOW_BOUND: f64 = 0.1;

/// Highest degree before panels are cut.
const MAX_DEGREE: f64 = 11.0;

/// Cuts after which the remainder is accepted.
const CUTS: usize = 12;

/// For each additional digit of accuracy, this many more points along each side of the parts of a
/// panel around a point on it. Kernels vary more along bent panels (with 2.0 coarse ones of order 3
/// miss a tolerance of 1e-7 by a tenth).
const POINTS_PER_DIGIT: f64 = 1.1;
const POINTS_PER_DIGIT_OF_CURVED: f64 = 2.4;

/// How panels are cut for integrals of this relative accuracy.
pub(super) fn cutting(accuracy: f64, are_flat: bool) -> Cutting {
    let [along, across] = points_around(accuracy, are_flat);
    Cutting {
        digits: (BELOW_BOUND / accuracy).ln(),
        largest_degree: MAX_DEGREE,
        cuts: CUTS as u32,
        along: along as u32,
        across: across as u32,
    }
}

/// Points of rules around a point on a panel: along the opposite side, and towards it.
fn points_around(accuracy: f64, is_flat: bool) -> [usize; 2] {
    let each = if is_flat { POINTS_PER_DIGIT } else { POINTS_PER_DIGIT_OF_CURVED };
    let points = |least: f64| (least - each * accuracy.log10()).ceil() as usize;
    [3.0, 2.0].map(|least| points(least).min(quadrature::MAX_LINE_POINTS))
}

/// Points of a rule over one panel, padded to whole vectors.
#[derive(Default)]
pub(super) struct Scratch {
    parameters: [Vec<f64>; 2],
    weights: Vec<f64>,
}

impl Scratch {
    fn clear(&mut self) {
        self.parameters.iter_mut().for_each(Vec::clear);
        self.weights.clear();
    }

    fn push(&mut self, [s, t]: Parameters, weight: f64) {
        self.parameters[0].push(s);
        self.parameters[1].push(t);
        self.weights.push(weight);
    }

    fn fill_up(&mut self) {
        while !self.weights.len().is_multiple_of(f64::MAX_LANES) {
            // A point of weight 0, anywhere on the panel.
            self.push([0.25, 0.25], 0.0);
        }
    }
}

/// A panel as domain of integration.
pub(super) struct Source<'a> {
    patch: &'a Patch,
    tangents: Tangents,
    /// First corner and the sides from it, if the panel is flat.
    flat: Option<[Vec3; 3]>,
    stencil: &'static Stencil,
}

impl<'a> Source<'a> {
    pub(super) fn new(patch: &'a Patch, stencil: &'static Stencil) -> Self {
        let [a, b, c] = patch.corners();
        let flat = patch.is_straight().then(|| [a, b - a, c - a]);
        Self { patch, tangents: patch.tangents(), flat, stencil }
    }

    /// Integrals times the polynomial of each of the panel's points, to this relative accuracy.
    pub(super) fn entries(
        &self,
        target: &Target,
        terms: &[Term],
        accuracy: f64,
        scratch: &mut Scratch,
    ) -> [Entries; MOST] {
        scratch.clear();
        match target.own {
            Some(node) => self.around(self.stencil.parameters(node), accuracy, scratch),
            None => self.cut(&target.place, &CORNERS, CUTS, accuracy, scratch),
        }
        scratch.fill_up();
        let moments = simd::run(Moments { source: self, target, terms, scratch });
        let mut entries = [Entries::default(); MOST];
        let count = self.stencil.nodes.len();
        for (entry, polynomial) in entries.iter_mut().zip(&self.stencil.polynomials) {
            for (moment, coefficient) in moments.iter().zip(polynomial).take(count) {
                entry.add(*coefficient, &Entries::from(*moment));
            }
        }
        entries
    }

    fn at(&self, [s, t]: Parameters) -> Vec3 {
        match &self.flat {
            Some([corner, first, second]) => corner + first * s + second * t,
            None => self.patch.at([s, t]),
        }
    }

    /// Points over a part of the panel, for a point off it.
    fn cut(
        &self,
        x: &Vec3,
        corners: &[Parameters; 3],
        cuts: usize,
        accuracy: f64,
        scratch: &mut Scratch,
    ) {
        let middle = self.at(between(corners, [1.0 / 3.0; 2]));
        let reach = |corner: &Parameters| (self.at(*corner) - middle).norm_squared();
        let radius = corners.iter().map(reach).fold(0.0, f64::max).sqrt();
        let distance = (middle - x).norm();
        let ratio = (distance / radius).ln();
        let degree = (BELOW_BOUND / accuracy).ln() / ratio - 1.0;
        if cuts == 0 || (ratio > 0.0 && degree <= MAX_DEGREE) {
            let degree = if cuts == 0 { MAX_DEGREE } else { degree.max(2.0) };
            let [a, b, c] = corners;
            let share = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs();
            for node in Rule::of_degree(degree.ceil() as usize).nodes() {
                let [_, s, t] = node.barycentric;
                scratch.push(between(corners, [s, t]), 0.5 * share * node.weight);
            }
            return;
        }
        let [a, b, c] = *corners;
        let half = |a: Parameters, b: Parameters| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
        let (ab, bc, ca) = (half(a, b), half(b, c), half(c, a));
        for part in [[a, ab, ca], [ab, b, bc], [ca, bc, c], [bc, ca, ab]] {
            self.cut(x, &part, cuts - 1, accuracy, scratch);
        }
    }

    /// Points around a point on the panel.
    fn around(&self, at: Parameters, accuracy: f64, scratch: &mut Scratch) {
        let [along, outward] = points_around(accuracy, self.flat.is_some()).map(quadrature::line);
        // Lengths near the point.
        let tangents = [[1e-3, 0.0], [0.0, 1e-3]].map(|[s, t]| {
            let away = [at[0] + s, at[1] + t];
            let back = [at[0] - s, at[1] - t];
            (self.patch.at(away) - self.patch.at(back)) / 2e-3
        });
        for k in 0..3 {
            let ends = [CORNERS[k], CORNERS[(k + 1) % 3]];
            let from = ends.map(|end| [end[0] - at[0], end[1] - at[1]]);
            let area = (from[0][0] * from[1][1] - from[0][1] * from[1][0]).abs();
            let [p, q] = from.map(|[s, t]| tangents[0] * s + tangents[1] * t);
            let side = q - p;
            let length = side.norm();
            let foot = -p.dot(&side) / length;
            let height = (p + side * (foot / length)).norm();
            let ends = [-foot, length - foot].map(|along| (along / height).asinh());
            for angle in along {
                let tau = ends[0] + (ends[1] - ends[0]) * angle.at;
                let fraction = (height * tau.sinh() + foot) / length;
                let per_tau = height * tau.cosh() / length * (ends[1] - ends[0]) * angle.weight;
                let to: Parameters =
                    [0, 1].map(|c| from[0][c] + fraction * (from[1][c] - from[0][c]));
                for radius in outward {
                    let xi = radius.at;
                    let weight = area * xi * radius.weight * per_tau;
                    scratch.push([at[0] + xi * to[0], at[1] + xi * to[1]], weight);
                }
            }
        }
    }
}

/// Integrals times the terms of polynomials, shape (terms, kernels).
struct Moments<'a> {
    source: &'a Source<'a>,
    target: &'a Target,
    terms: &'a [Term],
    scratch: &'a Scratch,
}

impl Task<f64> for Moments<'_> {
    type Output = [[f64; KERNELS]; MOST];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        match self.source.stencil.nodes.len() {
            1 => self.of::<V, 1>(),
            3 => self.of::<V, 3>(),
            _ => self.of::<V, MOST>(),
        }
    }
}

impl Moments<'_> {
    #[inline(always)]
    fn of<V: Elementary, const TERMS: usize>(self) -> [[f64; KERNELS]; MOST] {
        let Self { source, target, terms, scratch } = self;
        let mut sums = [[V::zero(); KERNELS]; TERMS];
        let place: [V; 3] = [0, 1, 2].map(|k| V::splat(target.place[k]));
        let normal: [V; 3] = [0, 1, 2].map(|k| V::splat(target.normal[k]));
        let [all_s, all_t] = &scratch.parameters;
        for at in (0..scratch.weights.len()).step_by(V::LANES) {
            let (s, t) = (V::load(&all_s[at..]), V::load(&all_t[at..]));
            let y = source.patch.lanes(s, t);
            let stretched = source.tangents.normals(source.patch.order(), s, t);
            let d = [place[0].sub(y[0]), place[1].sub(y[1]), place[2].sub(y[2])];
            let values = values(terms, d, normal, stretched);
            let weight = V::load(&scratch.weights[at..]);
            let powers = [weight, weight.mul(s), weight.mul(t)];
            let powers = [
                powers[0],
                powers[1],
                powers[2],
                powers[1].mul(s),
                powers[1].mul(t),
                powers[2].mul(t),
            ];
            for term in 0..TERMS {
                for kernel in 0..KERNELS {
                    sums[term][kernel] = values[kernel].mul_add(powers[term], sums[term][kernel]);
                }
            }
        }
        let mut moments = [[0.0; KERNELS]; MOST];
        for term in 0..TERMS {
            for kernel in 0..KERNELS {
                moments[term][kernel] = sums[term][kernel].sum();
            }
        }
        moments
    }
}
