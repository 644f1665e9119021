//! The mean solid angle of one triangle seen from another: int_S Omega_T(x) dS_x, the double layer's Galerkin integral.
//!
//! The inner integral is closed. Over S it is smooth except near T's vertices and, where the triangles come close, T's edges.
//! About a vertex in common it is smooth in the direction and in the distance, which is what conical rules ask for. Where that is
//! not enough, S is cut in four until the degree-5 rule on a part agrees with that on its quarters.

use crate::pair::distance_to;
use crate::potentials::Nodes;
use crate::quadrature::{self, TriangleNode};
use crate::triangle::{Triangle, Vec3};

/// Vertices nearer to a plane or to each other than this, relative to the pair's size, are one.
const TOGETHER: f64 = 1e-13;

/// Cuts end at parts of this share of the triangle (in length): what a jump of the solid angle can hide there is its square.
const MOST_CUTS: usize = 12;

/// Degree of the rule on a part.
const DEGREE: usize = 5;

/// Degrees of conical rules about a common vertex: where two agree the higher is taken.
const ABOUT_VERTEX: [usize; 3] = [7, 11, 17];

/// int_S Omega_T(x) dS_x = int_S int_T n_y . (x - y) / |x - y|^3 dS_y dS_x to about `accuracy` times 2 pi and the smaller of
/// both areas; 0 (the principal value) in one plane.
pub(crate) fn solid_angle_over(
    s: &Triangle,
    t: &Triangle,
    accuracy: f64,
    nodes: &mut Nodes,
) -> f64 {
    let size = s.diameter().max(t.diameter());
    let height = |v: &Vec3| (v - t.vertices[0]).dot(&t.normal);
    if s.vertices.iter().all(|v| height(v).abs() <= TOGETHER * size) {
        return 0.0;
    }
    let allowed = accuracy * 2.0 * std::f64::consts::PI * s.area.min(t.area);
    let distance = distance_to(t, &s.centroid);
    if distance > 1.5 * s.radius {
        // Omega is at most 2 pi and its expansion about the centroid converges as (radius / distance)^k.
        let full = s.area * 2.0 * std::f64::consts::PI * (t.area / (distance * distance)).min(1.0);
        let needed = (full / allowed).max(1.0).ln() / (distance / s.radius).ln() - 1.0;
        if needed <= quadrature::MAX_TRIANGLE_DEGREE as f64 {
            let rule = quadrature::triangle(needed.max(1.0).ceil() as usize);
            return sum(&s.vertices, s.area, t, rule, nodes);
        }
    }
    let common = |v: &Vec3| t.vertices.iter().any(|w| (v - w).norm() <= TOGETHER * size);
    let [a, b, c] = s.vertices;
    let mut integral = |v: [Vec3; 3], area: f64| {
        conical(&v, area, t, allowed, nodes)
            .unwrap_or_else(|| adaptive(&v, area, t, (allowed, s.area), nodes))
    };
    match [a, b, c].map(|v| common(&v)) {
        [true, false, false] => integral([b, a, c], s.area),
        [false, true, false] => integral([a, b, c], s.area),
        [false, false, true] => integral([a, c, b], s.area),
        // An edge in common: each part has one of its ends.
        [true, true, false] => halves([a, b, c], s.area, &mut integral),
        [false, true, true] => halves([b, c, a], s.area, &mut integral),
        [true, false, true] => halves([c, a, b], s.area, &mut integral),
        _ => adaptive(&s.vertices, s.area, t, (allowed, s.area), nodes),
    }
}

/// The integral over the halves of (a, b, c) on either side of the middle of the edge from a to b; the vertex that each has its
/// rule about is given second.
fn halves(
    [a, b, c]: [Vec3; 3],
    area: f64,
    integral: &mut impl FnMut([Vec3; 3], f64) -> f64,
) -> f64 {
    let middle = (a + b) * 0.5;
    integral([middle, a, c], 0.5 * area) + integral([c, b, middle], 0.5 * area)
}

/// The integral over the part `v` by conical rules about `v[1]`, if two of them agree.
fn conical(v: &[Vec3; 3], area: f64, t: &Triangle, allowed: f64, nodes: &mut Nodes) -> Option<f64> {
    let mut before: Option<f64> = None;
    for degree in ABOUT_VERTEX {
        let value = sum(v, area, t, quadrature::triangle(degree), nodes);
        if before.is_some_and(|before| (value - before).abs() <= allowed) {
            return Some(value);
        }
        before = Some(value);
    }
    None
}

fn sum(v: &[Vec3; 3], area: f64, t: &Triangle, rule: &[TriangleNode], nodes: &mut Nodes) -> f64 {
    nodes.clear();
    for q in rule {
        let [a, b, c] = q.barycentric;
        nodes.push(&(v[0] * a + v[1] * b + v[2] * c), q.weight);
    }
    area * nodes.sum_solid_angle(t)
}

/// The integral over the part `v` of a triangle whose area is `all`, by cuts.
fn adaptive(
    v: &[Vec3; 3],
    area: f64,
    t: &Triangle,
    (allowed, all): (f64, f64),
    nodes: &mut Nodes,
) -> f64 {
    let whole = sum(v, area, t, quadrature::triangle(DEGREE), nodes);
    refine(v, area, whole, t, (allowed, all), MOST_CUTS, nodes)
}

/// The integral over the part `v`, of which `whole` is the rule's value.
fn refine(
    v: &[Vec3; 3],
    area: f64,
    whole: f64,
    t: &Triangle,
    (allowed, all): (f64, f64),
    cuts: usize,
    nodes: &mut Nodes,
) -> f64 {
    let [a, b, c] = *v;
    let (p, q, r) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
    let quarters = [[a, p, r], [p, b, q], [r, q, c], [p, q, r]];
    let rule = quadrature::triangle(DEGREE);
    let values = quarters.map(|part| sum(&part, 0.25 * area, t, rule, nodes));
    let total: f64 = values.iter().sum();
    // A part may err by its share of the length, not of the area: few parts are bad.
    if cuts == 0 || (total - whole).abs() <= allowed * (area / all).sqrt() {
        return total;
    }
    quarters
        .iter()
        .zip(values)
        .map(|(part, value)| refine(part, 0.25 * area, value, t, (allowed, all), cuts - 1, nodes))
        .sum()
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
            let exact = adaptive(&s.vertices, s.area, &t, (1e-8 * smaller, s.area), &mut nodes);
            for accuracy in [1e-5, 1e-6, 1e-7] {
                let error =
                    (solid_angle_over(&s, &t, accuracy, &mut nodes) - exact).abs() / smaller;
                // Each of two halves may err by this much.
                assert!(error < 2.0 * accuracy + 4e-8, "{round} {accuracy}: {error:.1e}");
            }
        }
    }
}
