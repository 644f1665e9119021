//! The mean solid angle of one triangle seen from another: int_S Omega_T(x) dS_x, the double
//! layer's Galerkin integral.
//!
//! The inner integral is closed. Far away the outer one is a rule's, about a common vertex or edge
//! it is that of `outer`; elsewhere, as between sheets that overlap at a small distance, where the
//! solid angle jumps from 0 to 2 pi across the shadow of an edge, it is that along the edges.

use crate::constants::TOGETHER;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::edge::{self, EdgeRule};
use crate::integrals::outer::{OuterQuadrature, Touching};
use crate::integrals::pair::distance_to;
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::{self, TriangleNode};

/// How far errors of rules stay below the bound of [`far_rule`] at accuracies of 1e-6 and better.
pub(crate) const BELOW_BOUND: f64 = 3e-2;

/// int_S Omega_T(x) dS_x = int_S int_T n_y . (x - y) / |x - y|^3 dS_y dS_x to about `accuracy`
/// times 2 pi and the smaller of both areas; 0 (the principal value) in one plane.
pub(crate) fn solid_angle_over(
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
        // What only touches the plane is on neither side.
        if heights.iter().any(|h| side * h > 0.0) {
            sum += side * edge::solid_angle_over_polygon(&corners, &s.normal, t, &rule, nodes);
        }
    }
    sum
}

/// Whether `s` lies in the plane of `t`.
pub(crate) fn in_plane_of(s: &Triangle, t: &Triangle) -> bool {
    let size = s.diameter().max(t.diameter());
    let height = |v: &Vec3| (v - t.vertices[0]).dot(&t.normal);
    s.vertices.iter().all(|v| height(v).abs() <= TOGETHER * size)
}

/// A rule for the integral of the solid angle over `s`, raised by `more` degrees, if `t` is far
/// enough for one to do.
pub(crate) fn far_rule(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle(value: &serde_json::Value) -> Triangle {
        Triangle::new(serde_json::from_value(value.clone()).unwrap())
    }

    #[test]
    fn double_layer_matches_the_reference() {
        let json: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/data/triangle_pairs.json")).unwrap();
        for case in json["cases"].as_array().unwrap() {
            let (s, t) = (triangle(&case["test"]), triangle(&case["trial"]));
            let exact = case["double_layer"].as_f64().unwrap();
            let digits = 10f64.powi(-case["digits"].as_i64().unwrap() as i32);
            for accuracy in [1e-4, 1e-6, 1e-8] {
                let value = solid_angle_over(&s, &t, accuracy, &mut WeightedPoints::default());
                let allowed = accuracy * 2.0 * std::f64::consts::PI * s.area.min(t.area);
                // A part's error is bounded by the last difference, and parts of one level add up.
                assert!(
                    (value - exact).abs() < 4.0 * allowed + digits,
                    "{case} {accuracy}: {value}"
                );
            }
        }
    }

    /// Sheets that overlap at any distance, slivers among them: the solid angle falls from 2 pi to
    /// 0 within that distance of an edge's shadow, by cuts of triangles that have an edge along the
    /// shadow and the other sides far from any.
    #[test]
    fn overlapping_sheets_are_exact_at_every_distance() {
        let mut nodes = WeightedPoints::default();
        // The strip 0 < x < 1 of S = [-1, 1] x [0, w] lies above T = [0, 2] x [-10, 10], far from
        // the other sides of T: the angle that two half planes leave is that of the plane, pi + 2
        // atan(x / h), of which the mean over -a < x < a is pi.
        for width in [1.0, 1e-2, 1e-4] {
            for gap in [1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10] {
                let corners = |x: f64, y: f64, z: f64| Vec3::new(x, y, z);
                let (a, b, c, d) = (
                    corners(-1.0, 0.0, gap),
                    corners(1.0, 0.0, gap),
                    corners(1.0, width, gap),
                    corners(-1.0, width, gap),
                );
                // A square of half the sheet each, and its mirror image, which make pi together.
                let far = 100.0;
                let t = [corners(0.0, -far, 0.0), corners(far, 0.0, 0.0), corners(0.0, far, 0.0)];
                let mirrored = t.map(|v| corners(-v.x, v.y, v.z));
                let (right, left) =
                    (Triangle::of(t), Triangle::of([mirrored[0], mirrored[2], mirrored[1]]));
                let (first, second) = (Triangle::of([a, b, c]), Triangle::of([a, c, d]));
                for accuracy in [1e-4, 1e-6] {
                    let mut of =
                        |s: &Triangle, t: &Triangle| solid_angle_over(s, t, accuracy, &mut nodes);
                    // By symmetry each half of the square sees as much of the left as the other
                    // half sees of the right.
                    let found = of(&first, &right) + of(&second, &right);
                    let both = found + of(&first, &left) + of(&second, &left);
                    // All of the plane but what lies beyond `far`: 2 pi h / (inner radius).
                    let whole = 2.0 * std::f64::consts::PI * 2.0 * width;
                    let allowed = accuracy * whole + 2.0 * whole * gap / far * 2.0;
                    assert!(
                        (both - whole).abs() < 2.0 * allowed,
                        "{width} {gap} {accuracy}: {}",
                        both / whole - 1.0
                    );
                    assert!(
                        (2.0 * found - whole).abs() < 4.0 * allowed,
                        "{width} {gap} {accuracy}: {}",
                        2.0 * found / whole - 1.0
                    );
                }
            }
        }
    }

    /// Folds of all angles about a common edge or vertex, against cuts alone to ten times the
    /// accuracy.
    #[test]
    fn neighbours_are_as_exact_as_cuts() {
        let mut seed = 5u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut nodes = WeightedPoints::default();
        for round in 0..60 {
            // S lies in the plane z = 0, at y > 0.
            let s = [[0.0; 3], [1.0, 0.0, 0.0], [random(), 0.4 + random(), 0.0]];
            let (angle, height) = (0.3 + 5.6 * random(), 0.4 + random());
            let tip = [random(), height * angle.cos(), height * angle.sin()];
            let mut above = || [2.0 * random() - 1.0, 2.0 * random() - 1.0, 0.1 + random()];
            let t = if round % 2 == 0 {
                [s[1], s[0], tip]
            } else {
                [above(), s[round / 2 % 3], above()]
            };
            let (s, t) = (Triangle::new(s), Triangle::new(t));
            if t.area < 0.05 {
                continue;
            }
            let smaller = 2.0 * std::f64::consts::PI * s.area.min(t.area);
            let sum = |nodes: &mut WeightedPoints| [nodes.sum_solid_angle(&t)];
            let (allowed, touching) = (1e-8 * smaller, Touching::Smooth);
            let mut cuts = OuterQuadrature { sum, allowed, touching, nodes: &mut nodes };
            let [exact] = cuts.adaptive(&s.vertices, s.area);
            for accuracy in [1e-5, 1e-6, 1e-7] {
                let error =
                    (solid_angle_over(&s, &t, accuracy, &mut nodes) - exact).abs() / smaller;
                // Each of two halves may err by this much.
                assert!(error < 2.0 * accuracy + 4e-8, "{round} {accuracy}: {error:.1e}");
            }
        }
    }

    /// Rules for pairs at all distances, slivers among them, against rules for an error 1e4 times
    /// smaller.
    #[test]
    fn rules_far_away_are_as_good_as_asked_and_no_better_than_needed() {
        let mut seed = 5u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let mut nodes = WeightedPoints::default();
        let mut worst = [0.0f64; 3];
        for round in 0..20_000 {
            let thin = if round % 4 == 0 { 0.1 } else { 1.0 };
            let mut triangle = |depth: f64| {
                let size = 8f64.powf(random());
                let mut corner = || Vec3::new(random(), thin * random(), depth * random()) * size;
                [corner(), corner(), corner()]
            };
            let (s, t) = (Triangle::of(triangle(0.3)), triangle(1.0));
            let apart = s.radius * 4f64.powf(random() + 0.5);
            let direction = Vec3::new(random(), random(), random()).normalize();
            let t = Triangle::of(t.map(|v| v + direction * apart));
            let is_needle = |of: &Triangle| of.area < 1e-3 * of.radius.powi(2);
            if is_needle(&s) || is_needle(&t) || in_plane_of(&s, &t) {
                continue;
            }
            for (worst, accuracy) in worst.iter_mut().zip([1e-6, 1e-7, 1e-9]) {
                let allowed = accuracy * 2.0 * std::f64::consts::PI * s.area.min(t.area);
                let rules = [1.0, 1e-4].map(|share| far_rule(&s, &t, share * allowed, 0));
                let sum = |nodes: &mut WeightedPoints| [nodes.sum_solid_angle(&t)];
                let (touching, nodes) = (Touching::Smooth, &mut nodes);
                let mut outer = OuterQuadrature { sum, allowed, touching, nodes };
                if let [Some(rule), Some(finer)] = rules {
                    let [[found], [exact]] =
                        [rule, finer].map(|rule| outer.by_rule(&s.vertices, s.area, rule));
                    *worst = worst.max((found - exact).abs() / allowed);
                }
            }
        }
        // 0.06, 0.05 and 0.015 when this was written.
        assert!(worst.iter().all(|worst| (0.01..0.5).contains(worst)), "{worst:?}");
    }
}
