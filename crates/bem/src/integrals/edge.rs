//! Integrals along one edge of a triangle: of another triangle's potential, and of ln(h + |x - y|)
//! over pairs of edges.
//!
//! Along a straight line the potential of a triangle is analytic except at the complex parameters
//! where the line meets a vertex's or an edge's isotropic cone: t = foot +- i distance. Gauss's
//! rule with n points on an interval converges as rho^(-2n), with rho + 1/rho = the sum of the
//! distances from the singularity to the interval's ends over half its length. So the singularities
//! are computed first, and the interval is cut until a rule of moderate order does.

use crate::constants::ON_EDGE;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::{self, MAX_LINE_POINTS};

/// Cuts stop at pieces this small against the edge: what a singularity (x ln x at worst) can hide
/// there is its square.
pub(crate) const SMALLEST_PIECE: f64 = 1e-7;

/// A singularity this near to an end of an interval, relative to the edge, is at that end.
pub(crate) const AT_END: f64 = 1e-9;

/// How edges are cut and with how many points each piece is summed.
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
pub(crate) fn layers(s: &Triangle, t: &Triangle, rule: &EdgeRule) -> f64 {
    let height = |x: &Vec3| (x - t.vertices[0]).dot(&t.normal);
    let up = if height(&s.centroid) < 0.0 { -t.normal } else { t.normal };
    let mut sum = 0.0;
    for i in 0..3 {
        let line = Line::of(s, i);
        let singular = line.singularities(t);
        let across = s.tangents[i].cross(&up);
        let weights: [f64; 3] = std::array::from_fn(|j| across.dot(&t.edge_normals[j]));
        line.for_nodes(&singular, rule, |x, weight| {
            let h = height(x).abs();
            sum += weight * (0..3).map(|j| weights[j] * log_along_edge(t, j, x, h)).sum::<f64>();
        });
    }
    sum
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
) -> f64 {
    let height = |x: &Vec3| (x - t.vertices[0]).dot(&t.normal);
    let highest =
        corners.iter().map(&height).fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
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
        let singular = line.singularities(t);
        let across = line.tangent.cross(&up);
        let of_potential = normal.dot(&across);
        let weights: [f64; 3] = std::array::from_fn(|j| cosine * across.dot(&t.edge_normals[j]));
        line.for_nodes(&singular, rule, |x, weight| {
            let h = height(x).abs();
            let logs: f64 = (0..3).map(|j| weights[j] * log_along_edge(t, j, x, h)).sum();
            sum += weight * (of_potential * t.potential_at(x) - logs);
        });
    }
    sum
}

/// int ln(h + |x - y|) dt over y on edge j of t, for x a height h above t's plane.
fn log_along_edge(t: &Triangle, j: usize, x: &Vec3, h: f64) -> f64 {
    let a = t.vertices[j] - x;
    let d = a.dot(&t.edge_normals[j]).abs();
    let start = a.dot(&t.tangents[j]);
    let off = (d * d + h * h + ON_EDGE).sqrt();
    let primitive = |u: f64| {
        let r = (u * u + off * off).sqrt();
        // asinh(u / b) up to a constant that drops out of the difference.
        let asinh = (u / off).asinh();
        // atan(u / d) - atan(h u / (d r)) as one arctangent.
        let angle = (u * d * (r - h)).atan2(d * d * r + h * u * u);
        u * (h + r).ln() - u + h * asinh + d * angle
    };
    primitive(start + t.lengths[j]) - primitive(start)
}

/// Complex singular parameters of a line, the edge being [0, 1]: real part, and imaginary
/// part >= 0.
#[derive(Default)]
struct Singularities {
    at: [(f64, f64); 6],
    count: usize,
}

impl Singularities {
    fn push(&mut self, re: f64, im: f64) {
        self.at[self.count] = (re, im);
        self.count += 1;
    }

    fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.at[..self.count].iter().copied()
    }
}

/// An edge x(t) = start + t (end - start).
struct Line {
    start: Vec3,
    tangent: Vec3,
    length: f64,
}

impl Line {
    fn of(triangle: &Triangle, i: usize) -> Self {
        Self {
            start: triangle.vertices[i],
            tangent: triangle.tangents[i],
            length: triangle.lengths[i],
        }
    }

    fn add_vertex(&self, v: &Vec3, singular: &mut Singularities) {
        let a = v - self.start;
        let foot = a.dot(&self.tangent);
        let off = (a - self.tangent * foot).norm();
        singular.push(foot / self.length, off / self.length);
    }

    /// Where the line's distance to the line of the source's edge k vanishes, if that is next to
    /// the edge and not beyond.
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
            singular.push(t / self.length, nearest.norm() / (step2.sqrt() * self.length));
        }
    }

    /// Where the potential of `source` along this line is singular.
    fn singularities(&self, source: &Triangle) -> Singularities {
        let mut singular = Singularities::default();
        for k in 0..3 {
            self.add_vertex(&source.vertices[k], &mut singular);
            self.add_edge(source, k, &mut singular);
        }
        singular
    }

    /// Gives `f` the points and weights that integrate over the edge.
    fn for_nodes(&self, singular: &Singularities, rule: &EdgeRule, mut f: impl FnMut(&Vec3, f64)) {
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
                let x = self.start + self.tangent * ((a + width * u) * self.length);
                f(&x, self.length * width * node.weight * derivative);
            }
        }
    }
}

/// Maps [0, 1] to itself: the image and the derivative.
type Grading = fn(f64) -> (f64, f64);

/// What to do with a piece of an edge.
#[derive(Debug, PartialEq)]
enum Piece {
    /// This many points.
    Gauss(usize),
    /// A singularity sits at the start (the end): points crowd there as the cube.
    GradedToStart(usize),
    GradedToEnd(usize),
    /// Two pieces, cut here.
    Cut(f64),
}

/// More points than this are dearer than a cut.
pub(crate) const MOST_POINTS: usize = 14;

/// Cuts toward a singularity near an end leave this share.
pub(crate) const CUT: f64 = 0.2;

/// Singularities that are not nearer to the end than this share of the piece are cut at.
pub(crate) const INTERIOR: f64 = 0.05;

fn plan(a: f64, b: f64, singular: &Singularities, rule: &EdgeRule) -> Piece {
    let width = b - a;
    let most = MOST_POINTS.max((rule.digits / 2.0) as usize) + rule.increment;
    let (mut at_start, mut at_end) = (false, false);
    let mut worst = (f64::INFINITY, 0.0);
    for (re, im) in singular.iter() {
        let distance = |end: f64| ((re - end) * (re - end) + im * im).sqrt();
        let (to_start, to_end) = (distance(a), distance(b));
        if to_start < AT_END {
            at_start = true;
        } else if to_end < AT_END {
            at_end = true;
        } else {
            let ratio = (to_start + to_end) / width;
            if ratio < worst.0 {
                worst = (ratio, re);
            }
        }
    }
    if at_start && at_end {
        return Piece::Cut(0.5 * (a + b));
    }
    // rho = exp(acosh ratio); a graded piece sees the singularity through a cube root, and has x ln
    // x to sum.
    let rate = worst.0.max(1.0 + 1e-12).acosh();
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
