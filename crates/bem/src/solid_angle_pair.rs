//! The mean solid angle of one triangle seen from another: int_S Omega_T(x) dS_x, the double layer's Galerkin integral.
//!
//! The inner integral is closed, the outer one that of `outer`.

use crate::outer::{Outer, TOGETHER, Touching};
use crate::pair::distance_to;
use crate::potentials::Nodes;
use crate::quadrature::{self, TriangleNode};
use crate::triangle::{Triangle, Vec3};

/// int_S Omega_T(x) dS_x = int_S int_T n_y . (x - y) / |x - y|^3 dS_y dS_x to about `accuracy` times 2 pi and the smaller of
/// both areas; 0 (the principal value) in one plane.
pub(crate) fn solid_angle_over(
    s: &Triangle,
    t: &Triangle,
    accuracy: f64,
    nodes: &mut Nodes,
) -> f64 {
    if in_plane_of(s, t) {
        return 0.0;
    }
    let allowed = accuracy * 2.0 * std::f64::consts::PI * s.area.min(t.area);
    let sum = |nodes: &mut Nodes| [nodes.sum_solid_angle(t)];
    let mut outer = Outer { sum, allowed, touching: Touching::Smooth, nodes };
    let [value] = match far_rule(s, t, allowed, 0) {
        Some(rule) => outer.by_rule(&s.vertices, s.area, rule),
        None => outer.over(s, t),
    };
    value
}

/// Whether `s` lies in the plane of `t`.
pub(crate) fn in_plane_of(s: &Triangle, t: &Triangle) -> bool {
    let size = s.diameter().max(t.diameter());
    let height = |v: &Vec3| (v - t.vertices[0]).dot(&t.normal);
    s.vertices.iter().all(|v| height(v).abs() <= TOGETHER * size)
}

/// A rule for the integral of the solid angle over `s`, raised by `more` degrees, if `t` is far enough for one to do.
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
    // Omega is at most 2 pi and its expansion about the centroid converges as (radius / distance)^k.
    let full = s.area * 2.0 * std::f64::consts::PI * (t.area / (distance * distance)).min(1.0);
    let needed = (full / allowed).max(1.0).ln() / (distance / s.radius).ln() - 1.0;
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
            serde_json::from_str(include_str!("../tests/data/triangle_pairs.json")).unwrap();
        for case in json["cases"].as_array().unwrap() {
            let (s, t) = (triangle(&case["test"]), triangle(&case["trial"]));
            let exact = case["double_layer"].as_f64().unwrap();
            let digits = 10f64.powi(-case["digits"].as_i64().unwrap() as i32);
            for accuracy in [1e-4, 1e-6, 1e-8] {
                let value = solid_angle_over(&s, &t, accuracy, &mut Nodes::default());
                let allowed = accuracy * 2.0 * std::f64::consts::PI * s.area.min(t.area);
                // A part's error is bounded by the last difference, and parts of one level add up.
                assert!(
                    (value - exact).abs() < 4.0 * allowed + digits,
                    "{case} {accuracy}: {value}"
                );
            }
        }
    }

    /// Folds of all angles about a common edge or vertex, against cuts alone to ten times the accuracy.
    #[test]
    fn neighbours_are_as_exact_as_cuts() {
        let mut seed = 5u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut nodes = Nodes::default();
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
            let sum = |nodes: &mut Nodes| [nodes.sum_solid_angle(&t)];
            let (allowed, touching) = (1e-8 * smaller, Touching::Smooth);
            let mut cuts = Outer { sum, allowed, touching, nodes: &mut nodes };
            let [exact] = cuts.adaptive(&s.vertices, s.area);
            for accuracy in [1e-5, 1e-6, 1e-7] {
                let error =
                    (solid_angle_over(&s, &t, accuracy, &mut nodes) - exact).abs() / smaller;
                // Each of two halves may err by this much.
                assert!(error < 2.0 * accuracy + 4e-8, "{round} {accuracy}: {error:.1e}");
            }
        }
    }
}
