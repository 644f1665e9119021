//! The mean solid angle of one triangle seen from another: int_S Omega_T(x) dS_x, the double
//! layer's Galerkin integral.
//!
//! The inner integral has a closed form. Far away the outer one uses a rule, over either triangle;
//! about a common vertex or edge, that of `outer`; elsewhere, as between sheets that overlap at a
//! small distance, where the solid angle jumps from 0 to 2 pi across the shadow of an edge, the
//! integrals along the edges.

use crate::constants::TOGETHER;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::edge::{self, EdgeRule};
use crate::integrals::outer::{OuterQuadrature, Touching};
use crate::integrals::pair::distance_to;
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::{self, TriangleNode};

/// Factor between the errors of rules and the bound of [`far_rule`], at accuracies of 1e-6 and
/// better.
pub(crate) const BELOW_BOUND: f64 = 3e-2;

/// int_S Omega_T(x) dS_x = int_S int_T n_y . (x - y) / |x - y|^3 dS_y dS_x to about `accuracy`
/// times 2 pi and the smaller of both areas; 0 (the principal value) in one plane.
pub fn solid_angle_over(
    s: &Triangle,
    t: &Triangle,
    accuracy: f64,
    nodes: &mut WeightedPoints,
) -> f64 {
    if in_plane_of(s, t) {
        return 0.0;
    }
    let allowed = accuracy * 2.0 * std::f64::consts::PI * s.area.min(t.area);
    let sum = |nodes: &mut WeightedPoints| [nodes.sum_solid_angle(t)];
    let mut outer = OuterQuadrature { sum, allowed, touching: Touching::Smooth, nodes };
    if let Some(rule) = far_rule(s, t, allowed, 0) {
        let [value] = outer.by_rule(&s.vertices, s.area, rule);
        return value;
    }
    if let Some(rule) = flux_rule(s, t, allowed) {
        nodes.set_rule(&t.vertices, rule);
        return t.area * nodes.sum_flux(s, &t.normal);
    }
    match outer.about_common(s, t) {
        Some([value]) => value,
        None => by_edges(s, t, allowed, nodes),
    }
}

/// The same along the edges of the parts of `s` on either side of the plane of `t`.
fn by_edges(s: &Triangle, t: &Triangle, allowed: f64, nodes: &mut WeightedPoints) -> f64 {
    let size = s.diameter().max(t.diameter());
    let heights = s.vertices.map(|v| {
        let height = (v - t.vertices[0]).dot(&t.normal);
        let in_plane = height.abs() <= TOGETHER * size || t.vertices.contains(&v);
        if in_plane { 0.0 } else { height }
    });
    // Terms are about the product of two lengths each, and there are three edges; those of a sliver
    // cancel to its area.
    let accuracy = allowed / (6.0 * s.diameter() * t.diameter().max(s.diameter()));
    let rule = EdgeRule::new(accuracy, 0);
    let mut sum = 0.0;
    let mut corners = Vec::with_capacity(4);
    for side in [1.0, -1.0] {
        corners.clear();
        for i in 0..3 {
            let j = (i + 1) % 3;
            let (here, next) = (side * heights[i], side * heights[j]);
            if here >= 0.0 {
                corners.push(s.vertices[i]);
            }
            if here * next < 0.0 {
                let along = here / (here - next);
                corners.push(s.vertices[i] + (s.vertices[j] - s.vertices[i]) * along);
            }
        }
        // A part that only touches the plane is on neither side.
        if heights.iter().any(|h| side * h > 0.0) {
            sum += side * edge::solid_angle_over_polygon(&corners, &s.normal, t, &rule, nodes);
        }
    }
    sum
}

/// Whether `s` lies in the plane of `t`.
pub fn in_plane_of(s: &Triangle, t: &Triangle) -> bool {
    let size = s.diameter().max(t.diameter());
    let height = |v: &Vec3| (v - t.vertices[0]).dot(&t.normal);
    s.vertices.iter().all(|v| height(v).abs() <= TOGETHER * size)
}

/// A rule for the same integral over the smaller `t`, of the flux through it of the field of `s`,
/// if `s` is far enough away for that: next to its edges the field grows as a logarithm.
fn flux_rule(s: &Triangle, t: &Triangle, allowed: f64) -> Option<&'static [TriangleNode]> {
    if t.radius >= s.radius {
        return None;
    }
    let near = s.diameter() / distance_to(s, &t.centroid);
    far_rule(t, s, allowed / near.ln().max(1.0), 0)
}

/// A rule for the integral of the solid angle over `s`, raised by `more` degrees, if `t` is far
/// enough away for a rule.
pub fn far_rule(
    s: &Triangle,
    t: &Triangle,
    allowed: f64,
    more: usize,
) -> Option<&'static [TriangleNode]> {
    let distance = distance_to(t, &s.centroid);
    if distance <= 1.5 * s.radius {
        return None;
    }
    // Omega is at most 2 pi and its expansion about the centroid converges as
    // (radius / distance)^k.
    let full = s.area * 2.0 * std::f64::consts::PI * (t.area / (distance * distance)).min(1.0);
    let needed = (BELOW_BOUND * full / allowed).max(1.0).ln() / (distance / s.radius).ln() - 1.0;
    let degree = needed.max(1.0).ceil() as usize + more;
    (degree <= quadrature::MAX_TRIANGLE_DEGREE).then(|| quadrature::triangle(degree))
}
