//! Integrals along one edge of a triangle: of another triangle's potential, and of ln(h + |x - y|)
//! over pairs of edges.
//!
//! Along a straight line the potential of a triangle is analytic except at the complex parameters
//! where the line meets the isotropic cone of a vertex or an edge: t = foot +- i distance. Gauss's
//! rule with n points on an interval converges as rho^(-2n), with rho + 1/rho = the sum of the
//! distances from the singularity to the interval's ends over half its length. So the singularities
//! are computed first, and the interval is cut until a rule of moderate order is accurate.

use simd::{Elementary, Level, Simd, Task};

use crate::constants::ON_EDGE;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::potentials::{WeightedPoints, along, potential};
use crate::quadrature::{self, MAX_LINE_POINTS};

/// Pieces smaller than this, relative to the edge, are not cut: a singularity (x ln x at worst) can
/// hide an error of the square of this.
pub(crate) const SMALLEST_PIECE: f64 = 1e-7;

/// A singularity this near to an end of an interval, relative to the edge, is at that end.
pub(crate) const AT_END: f64 = 1e-9;

/// Vertices and edges of a triangle, next to the two edges of strips across another one and to
/// these strips.
const MOST_SINGULAR: usize = 15;

/// How edges are cut, and the number of points per piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeRule {
    /// ln(1 / accuracy).
    digits: f64,
    increment: usize,
}

impl EdgeRule {
    pub(crate) fn new(accuracy: f64, increment: usize) -> Self {
        Self { digits: -accuracy.max(1e-15).ln(), increment }
    }
}

/// Appends nodes with which sum w Phi_source(x) is `factor` times int Phi_source ds along edge `i`
/// of `of`.
pub(crate) fn push_nodes(
    of: &Triangle,
    i: usize,
    source: &Triangle,
    factor: f64,
    rule: &EdgeRule,
    nodes: &mut WeightedPoints,
) {
    let line = Line::of(of, i);
    let singular = line.singularities(source);
    line.for_nodes(&singular, rule, |x, weight| nodes.push(x, factor * weight));
}

/// sum_ij ((t_i x N) . n_j) int_(edge i of s) int_(edge j of t) ln(z(x) + |x - y|) dt ds, with z
/// the height over the plane of t, on one side of which s lies, along its normal N towards s; t_i
/// are tangents, n_j normals of edges.
pub(crate) fn layers(
    s: &Triangle,
    t: &Triangle,
    rule: &EdgeRule,
    nodes: &mut WeightedPoints,
) -> f64 {
    let height = (s.centroid - t.vertices[0]).dot(&t.normal);
    let up = if height < 0.0 { -t.normal } else { t.normal };
    let of_edge = |i: usize| {
        let across = s.tangents[i].cross(&up);
        let logs = [0, 1, 2].map(|j| across.dot(&t.edge_normals[j]));
        Line::of(s, i).sum(t, rule, Terms { potential: 0.0, logs }, nodes)
    };
    (0..3).map(of_edge).sum()
}

/// int Omega_t(x) dS_x over a polygon on one side of the plane of t, the solid angle counted as
/// positive there, by its edges; `normal` is the polygon's, around which its corners run
/// counter-clockwise.
///
/// With W = int_T ln(z + |x - y|) as in `pair`, Omega is the divergence of grad W in the plane of
/// t:
///
/// ```text
/// int Omega_T dS = sum_i int_(edge i) [n_S . (t_i x N) Phi_T
///     - n_S . N sum_j (t_i x N) . n_j int_(edge j) ln(z(x) + |x - y|) dt] ds
/// ```
pub(crate) fn solid_angle_over_polygon(
    corners: &[Vec3],
    normal: &Vec3,
    t: &Triangle,
    rule: &EdgeRule,
    nodes: &mut WeightedPoints,
) -> f64 {
    let height = |x: &Vec3| (x - t.vertices[0]).dot(&t.normal);
    let highest =
        corners.iter().map(height).fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let up = if highest < 0.0 { -t.normal } else { t.normal };
    let cosine = normal.dot(&up);
    let mut sum = 0.0;
    for (i, start) in corners.iter().enumerate() {
        let edge = corners[(i + 1) % corners.len()] - start;
        let length = edge.norm();
        if length == 0.0 {
            continue;
        }
        let line = Line { start: *start, tangent: edge / length, length };
        let across = line.tangent.cross(&up);
        let logs = [0, 1, 2].map(|j| -cosine * across.dot(&t.edge_normals[j]));
        sum += line.sum(t, rule, Terms { potential: normal.dot(&across), logs }, nodes);
    }
    sum
}

/// Factors of the terms that are summed along a line.
#[derive(Clone, Copy)]
pub struct Terms {
    /// Factor of the potential of the other triangle.
    pub potential: f64,
    /// Factors of the integrals of ln(h + |x - y|) over y on its edges; x is h above its plane.
    pub logs: [f64; 3],
}

/// sum_p w_p of these terms of `source` over `count` nodes, which [`WeightedPoints::fill_up`] has
/// padded, with the vectors of `level`.
pub fn sum_terms(
    level: Level,
    nodes: &WeightedPoints,
    count: usize,
    source: &Triangle,
    terms: Terms,
) -> f64 {
    simd::dispatch(level, SumTerms { nodes, count, source, terms })
}

/// [`sum_terms`], one point per lane.
struct SumTerms<'a> {
    nodes: &'a WeightedPoints,
    /// Number of nodes without padding.
    count: usize,
    source: &'a Triangle,
    terms: Terms,
}

impl Task<f64> for SumTerms<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> f64 {
        let Self { nodes, count, source, terms } = self;
        let mut sum = V::zero();
        for at in (0..count).step_by(V::LANES) {
            let x = nodes.at::<V>(at);
            let mut value = logs_along_edges(source, x, &terms.logs);
            if terms.potential != 0.0 {
                value = V::splat(terms.potential).mul_add(potential(source, x), value);
            }
            sum = V::load(&nodes.weights[at..]).mul_add(value, sum);
        }
        sum.sum()
    }
}

/// sum_j factor_j int ln(h + |x - y|) dt over y on edge j of t, for x a height h above t's plane.
///
/// With u along the edge, d the distance of its line in the plane and r = |x - y| the primitive is
/// u ln(h + r) - u + h asinh(u / sqrt(d^2 + h^2)) + d (atan(u / d) - atan(h u / (d r))).
#[inline(always)]
fn logs_along_edges<V: Elementary>(t: &Triangle, x: [V; 3], factors: &[f64; 3]) -> V {
    let (zero, one) = (V::zero(), V::splat(1.0));
    let seen =
        |v: &Vec3| [V::splat(v.x).sub(x[0]), V::splat(v.y).sub(x[1]), V::splat(v.z).sub(x[2])];
    let h = along(&seen(&t.vertices[0]), &t.normal).abs();
    let mut sum = zero;
    for j in 0..3 {
        let a = seen(&t.vertices[j]);
        let d = along(&a, &t.edge_normals[j]).abs();
        let length = V::splat(t.lengths[j]);
        let start = along(&a, &t.tangents[j]);
        let end = start.add(length);
        let off2 = d.mul_add(d, h.mul_add(h, V::splat(ON_EDGE)));
        let from = start.mul_add(start, off2).sqrt();
        let to = end.mul_add(end, off2).sqrt();
        let near = h.add(to);
        let logs =
            start.mul_add(V::ln_ratio(near, h.add(from)), length.mul(V::ln_ratio(near, one)));
        // asinh of the end minus that of the start, without cancellation.
        let (sum_to, sum_from) = (to.add(end.abs()), from.add(start.abs()));
        let numerator = end.where_above(zero, sum_to.mul(sum_from), sum_from);
        let denominator = end.where_above(zero, off2, sum_to);
        let numerator = zero.where_above(start, numerator, sum_to);
        let denominator = zero.where_above(start, denominator, sum_from);
        let asinh = V::ln_ratio(numerator, denominator);
        // The arctangents as one angle; it grows along the edge, by less than pi.
        let sine = |u: V, r: V| u.mul(d).mul(r.sub(h));
        let cosine = |u: V, r: V| d.mul(d).mul_add(r, h.mul(u.mul(u)));
        let (s0, c0) = (sine(start, from), cosine(start, from));
        let (s1, c1) = (sine(end, to), cosine(end, to));
        let across = s1.mul(c0).sub(s0.mul(c1)).max(zero);
        let angle = V::atan2_above(across, c1.mul_add(c0, s1.mul(s0)));
        let value = d.mul_add(angle, h.mul_add(asinh, logs.sub(length)));
        sum = V::splat(factors[j]).mul_add(value, sum);
    }
    sum
}

/// Complex singular parameters of a line, the edge being [0, 1]: real part, and square of the
/// imaginary part.
#[derive(Default)]
pub(super) struct Singularities {
    at: [(f64, f64); MOST_SINGULAR],
    count: usize,
}

impl Singularities {
    pub(super) fn push(&mut self, re: f64, im2: f64) {
        self.at[self.count] = (re, im2);
        self.count += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.at[..self.count].iter().copied()
    }
}

/// An edge x(t) = start + t (end - start).
pub(super) struct Line {
    start: Vec3,
    tangent: Vec3,
    length: f64,
}

impl Line {
    /// From one point to another one.
    pub(super) fn between(start: Vec3, end: Vec3) -> Self {
        let length = (end - start).norm();
        Self { start, tangent: (end - start) / length, length }
    }

    fn of(triangle: &Triangle, i: usize) -> Self {
        Self {
            start: triangle.vertices[i],
            tangent: triangle.tangents[i],
            length: triangle.lengths[i],
        }
    }

    /// The integral of these terms of `source` along it.
    fn sum(
        &self,
        source: &Triangle,
        rule: &EdgeRule,
        terms: Terms,
        nodes: &mut WeightedPoints,
    ) -> f64 {
        nodes.clear();
        self.for_nodes(&self.singularities(source), rule, |x, weight| nodes.push(x, weight));
        let count = nodes.x.len();
        nodes.fill_up(&source.centroid);
        sum_terms(Level::chosen(), nodes, count, source, terms)
    }

    fn add_vertex(&self, v: &Vec3, singular: &mut Singularities) {
        let a = v - self.start;
        let foot = a.dot(&self.tangent);
        let off2 = (a - self.tangent * foot).norm_squared();
        let per_length = 1.0 / self.length;
        singular.push(foot * per_length, off2 * per_length * per_length);
    }

    /// The point where the line's distance to the line of the source's edge k vanishes, if it is
    /// next to the edge and not beyond.
    fn add_edge(&self, source: &Triangle, k: usize, singular: &mut Singularities) {
        let e = &source.tangents[k];
        let u = self.start - source.vertices[k];
        let cosine = e.dot(&self.tangent);
        // Components across e: |across_u + t L across_tangent|^2 = 0.
        let (across, step) = (u - e * u.dot(e), self.tangent - e * cosine);
        let step2 = step.norm_squared();
        if step2 < 1e-8 {
            return; // parallel: the vertices tell all
        }
        let t = -across.dot(&step) / step2;
        let nearest = across + step * t;
        let along = u.dot(e) + t * cosine;
        if along > 0.0 && along < source.lengths[k] {
            let length2 = self.length * self.length;
            singular.push(t / self.length, nearest.norm_squared() / (step2 * length2));
        }
    }

    /// Where the potential of `source` along this line is singular.
    pub(super) fn singularities(&self, source: &Triangle) -> Singularities {
        let mut singular = Singularities::default();
        for k in 0..3 {
            self.add_vertex(&source.vertices[k], &mut singular);
            self.add_edge(source, k, &mut singular);
        }
        singular
    }

    /// Calls `f` with the points and weights that integrate over the edge.
    pub(super) fn for_nodes(
        &self,
        singular: &Singularities,
        rule: &EdgeRule,
        mut f: impl FnMut(&Vec3, f64),
    ) {
        for_parameters(singular, rule, |at, weight| {
            let x = self.start + self.tangent * (at * self.length);
            f(&x, self.length * weight);
        });
    }
}

/// Calls `f` with parameters and weights that integrate over [0, 1].
pub(super) fn for_parameters(
    singular: &Singularities,
    rule: &EdgeRule,
    mut f: impl FnMut(f64, f64),
) {
    let mut pieces = Vec::new();
    let mut next = Some((0.0, 1.0));
    while let Some((a, b)) = next.take().or_else(|| pieces.pop()) {
        let width = b - a;
        let (points, map): (usize, Grading) = match plan(a, b, singular, rule) {
            Piece::Gauss(n) => (n, |u| (u, 1.0)),
            Piece::GradedToStart(n) => (n, |u| (u * u * u, 3.0 * u * u)),
            Piece::GradedToEnd(n) => (n, |u| (1.0 - u * u * u, 3.0 * u * u)),
            Piece::Cut(at) => {
                pieces.extend([(at, b), (a, at)]);
                continue;
            }
        };
        for node in quadrature::line(points) {
            let (u, derivative) = map(node.at);
            f(a + width * u, width * node.weight * derivative);
        }
    }
}

/// Maps [0, 1] to itself: the image and the derivative.
type Grading = fn(f64) -> (f64, f64);

/// Treatment of a piece of an edge.
#[derive(Debug, PartialEq)]
enum Piece {
    /// This many points.
    Gauss(usize),
    /// A singularity is at the start (the end): points cluster there as cubes.
    GradedToStart(usize),
    GradedToEnd(usize),
    /// Two pieces, cut here.
    Cut(f64),
}

/// More points than this cost more than a cut.
pub(crate) const MOST_POINTS: usize = 14;

/// Share left by cuts toward a singularity near an end.
pub(crate) const CUT: f64 = 0.2;

/// Singularities farther from the end than this share of the piece are cut at.
pub(crate) const INTERIOR: f64 = 0.05;

fn plan(a: f64, b: f64, singular: &Singularities, rule: &EdgeRule) -> Piece {
    let width = b - a;
    let most = MOST_POINTS.max((rule.digits / 2.0) as usize) + rule.increment;
    let (mut at_start, mut at_end) = (false, false);
    // The square of the smallest sum of distances from the ends.
    let mut worst = (f64::INFINITY, 0.0);
    for (re, im2) in singular.iter() {
        let square = |end: f64| (re - end) * (re - end) + im2;
        let (to_start, to_end) = (square(a), square(b));
        if to_start < AT_END * AT_END {
            at_start = true;
        } else if to_end < AT_END * AT_END {
            at_end = true;
        } else if to_start + to_end < worst.0 {
            let sum = to_start + to_end + 2.0 * (to_start * to_end).sqrt();
            if sum < worst.0 {
                worst = (sum, re);
            }
        }
    }
    if at_start && at_end {
        return Piece::Cut(0.5 * (a + b));
    }
    // rho = exp(acosh ratio); a graded piece sees the singularity through a cube root, and must sum
    // x ln x.
    let rate = (worst.0.sqrt() / width).max(1.0 + 1e-12).acosh();
    let points = |rate: f64| (rule.digits / (2.0 * rate)).ceil().max(2.0) as usize;
    let (needed, grade) = if at_start || at_end {
        (points(rate * 0.5) + rule.digits as usize / 8, true)
    } else {
        (points(rate), false)
    };
    if needed <= most || width < SMALLEST_PIECE {
        let n = (needed.min(most) + rule.increment).min(MAX_LINE_POINTS);
        return match (grade, at_start) {
            (false, _) => Piece::Gauss(n),
            (true, true) => Piece::GradedToStart(n.max(6)),
            (true, false) => Piece::GradedToEnd(n.max(6)),
        };
    }
    let at = worst.1;
    if at > a + INTERIOR * width && at < b - INTERIOR * width {
        Piece::Cut(at)
    } else if at_start || (at > 0.5 * (a + b) && !at_end) {
        Piece::Cut(b - CUT * width)
    } else {
        Piece::Cut(a + CUT * width)
    }
}
