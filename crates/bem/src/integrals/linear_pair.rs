//! Galerkin integrals of a pair of triangles with linear functions on both, for the single and the
//! double layer.
//!
//! As in `pair`, the single layer's kernel is homogeneous of degree -1. About a common point o of
//! the two planes a product of linear functions lambda_k(x) mu_l(y) is a sum of parts of degree 0,
//! 1 and 2, and a part h of degree d in all obeys
//!
//! ```text
//! (4 + d) int_S int_T h = sum_i d_i int_(edge i of S) int_T h
//!                       + sum_j e_j int_(edge j of T) int_S h
//! ```
//!
//! With P_k = lambda_k(o), Q_l = mu_l(o) and the potentials M_l of mu_l, of sum Phi, the first sum
//! takes
//!
//! ```text
//! P_k Q_l Phi / 30 + (P_k M_l + lambda_k Q_l Phi) / 20 + lambda_k M_l / 5
//! ```
//!
//! along the edges, all in closed form and smooth up to known points. Where the planes do not meet
//! nearby, and for the double layer, the outer integral is that of `outer`.

use std::f64::consts::PI;

use crate::constants::IN_PLANE;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::edge::{self, EdgeRule};
use crate::integrals::linear_nodes::{Block, Potential};
use crate::integrals::outer::{OuterQuadrature, Touching};
use crate::integrals::pair::{Origin, PairQuadrature, distance_to};
use crate::integrals::potentials::WeightedPoints;
use crate::integrals::solid_angle::{far_rule, in_plane_of};
use crate::integrals::strips;
use crate::quadrature;

/// The common point may be this far away, in units of the triangles' own heights: parts of degree 2
/// cancel by the cube of that.
const FAR_MEETING: f64 = 1e3;

/// Share of a pair's allowed error for each of its nine entries.
pub(crate) const ENTRY: f64 = 0.25;

/// Exchanges the two indices.
pub fn transposed(block: Block) -> Block {
    std::array::from_fn(|k| std::array::from_fn(|l| block[l][k]))
}

/// int_S int_T lambda_k(x) mu_l(y) / |x - y| dS_y dS_x to about the relative accuracy of
/// `quadrature`.
pub fn single_layer(
    s: &Triangle,
    t: &Triangle,
    quadrature: &PairQuadrature,
    nodes: &mut WeightedPoints,
) -> Block {
    if s.radius > t.radius {
        return transposed(single_layer(t, s, quadrature, nodes));
    }
    let sum = |nodes: &mut WeightedPoints| flat(nodes.sum_linear(s, t, Potential::Single));
    let (accuracy, increment) = quadrature.accuracy_and_increment();
    let size = s.area * t.potential_at(&s.centroid);
    let (allowed, touching) = (ENTRY * accuracy * size, Touching::Logarithmic);
    let mut outer = OuterQuadrature { sum, allowed, touching, nodes };
    if let Some(degree) = quadrature.degree(s.radius, distance_to(t, &s.centroid)) {
        // The linear function needs one degree more.
        let rule = quadrature::triangle(degree + 1);
        return square(outer.by_rule(&s.vertices, s.area, rule));
    }
    let size = s.diameter().max(t.diameter());
    let origin = Origin::choose(s, t, size);
    // Linear functions are large there, especially across needles, and so are the lever arms of
    // edges.
    let [of_s, of_t] = [s, t].map(|triangle| {
        triangle.barycentric(&origin.at).into_iter().fold(1.0, |most: f64, x| most.max(x.abs()))
    });
    let cancelled = of_s * of_t * of_s.max(of_t);
    if origin.height != 0.0 || cancelled > FAR_MEETING.powi(3) {
        strips::set_nodes(s, t, &EdgeRule::new(ENTRY * accuracy, increment), nodes);
        return nodes.sum_linear(s, t, Potential::Single);
    }
    let rule = EdgeRule::new(accuracy / cancelled, increment);
    let forth = along_edges(s, t, &origin.at, size, &rule, nodes);
    let back = transposed(along_edges(t, s, &origin.at, size, &rule, nodes));
    std::array::from_fn(|k| std::array::from_fn(|l| forth[k][l] + back[k][l]))
}

/// Contribution of the edges of `s`, about the point `o`.
fn along_edges(
    s: &Triangle,
    t: &Triangle,
    o: &Vec3,
    size: f64,
    rule: &EdgeRule,
    nodes: &mut WeightedPoints,
) -> Block {
    nodes.clear();
    for i in 0..3 {
        let d = (s.vertices[i] - o).dot(&s.edge_normals[i]);
        if d.abs() > IN_PLANE * size {
            edge::push_nodes(s, i, t, d, rule, nodes);
        }
    }
    let sums = nodes.sum_linear(s, t, Potential::Single);
    let (p, q) = (s.barycentric(o), t.barycentric(o));
    // Sums of lambda_k Phi, of M_l, and of Phi: barycentric coordinates sum to 1.
    let of_k: [f64; 3] = std::array::from_fn(|k| sums[k].iter().sum());
    let of_l: [f64; 3] = std::array::from_fn(|l| sums.iter().map(|row| row[l]).sum());
    let all: f64 = of_k.iter().sum();
    let entry = |k: usize, l: usize| {
        p[k] * q[l] * all / 30.0 + (p[k] * of_l[l] + q[l] * of_k[k]) / 20.0 + sums[k][l] / 5.0
    };
    std::array::from_fn(|k| std::array::from_fn(|l| entry(k, l)))
}

/// int_S int_T lambda_k(x) mu_l(y) n_y . (x - y) / |x - y|^3 dS_y dS_x to about `accuracy` times 2
/// pi and the smaller of both areas; 0 (the principal value) in one plane.
pub fn double_layer(
    s: &Triangle,
    t: &Triangle,
    accuracy: f64,
    nodes: &mut WeightedPoints,
) -> Block {
    if in_plane_of(s, t) {
        return Block::default();
    }
    let allowed = ENTRY * accuracy * 2.0 * PI * s.area.min(t.area);
    let sum = |nodes: &mut WeightedPoints| flat(nodes.sum_linear(s, t, Potential::Double));
    let mut outer = OuterQuadrature { sum, allowed, touching: Touching::Logarithmic, nodes };
    if let Some(rule) = far_rule(s, t, allowed, 1) {
        return square(outer.by_rule(&s.vertices, s.area, rule));
    }
    if let Some(values) = outer.about_common(s, t) {
        return square(values);
    }
    strips::set_nodes(s, t, &EdgeRule::new(allowed / (2.0 * PI * s.area), 0), nodes);
    nodes.sum_linear(s, t, Potential::Double)
}

/// The nine entries of a block, row by row.
pub fn flat(block: Block) -> [f64; 9] {
    std::array::from_fn(|e| block[e / 3][e % 3])
}

/// The inverse of [`flat`].
pub fn square(values: [f64; 9]) -> Block {
    std::array::from_fn(|k| std::array::from_fn(|l| values[3 * k + l]))
}
