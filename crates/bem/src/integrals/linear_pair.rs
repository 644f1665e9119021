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
use crate::quadrature;

/// Seen from the common point in units of the triangles' own heights, these may be so far away:
/// parts of degree 2 cancel by the cube of that.
const FAR_MEETING: f64 = 1e3;

/// Share of the error allowed to a pair that each of its nine entries may have.
const ENTRY: f64 = 0.25;

/// The first index becomes the second.
pub(crate) fn transposed(block: Block) -> Block {
    std::array::from_fn(|k| std::array::from_fn(|l| block[l][k]))
}

/// int_S int_T lambda_k(x) mu_l(y) / |x - y| dS_y dS_x to about the relative accuracy of
/// `quadrature`.
pub(crate) fn single_layer(
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
        // The linear function takes a degree.
        let rule = quadrature::triangle(degree + 1);
        return square(outer.by_rule(&s.vertices, s.area, rule));
    }
    let size = s.diameter().max(t.diameter());
    let origin = Origin::choose(s, t, size);
    // Linear functions are large there, above all across needles, and so are the arms of edges.
    let [of_s, of_t] = [s, t].map(|triangle| {
        triangle.barycentric(&origin.at).into_iter().fold(1.0, |most: f64, x| most.max(x.abs()))
    });
    let cancelled = of_s * of_t * of_s.max(of_t);
    if origin.height != 0.0 || cancelled > FAR_MEETING.powi(3) {
        return square(outer.adaptive(&s.vertices, s.area));
    }
    let rule = EdgeRule::new(accuracy / cancelled, increment);
    let forth = along_edges(s, t, &origin.at, size, &rule, outer.nodes);
    let back = transposed(along_edges(t, s, &origin.at, size, &rule, outer.nodes));
    std::array::from_fn(|k| std::array::from_fn(|l| forth[k][l] + back[k][l]))
}

/// What the edges of `s` add, about the point `o`.
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
pub(crate) fn double_layer(
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
    square(match far_rule(s, t, allowed, 1) {
        Some(rule) => outer.by_rule(&s.vertices, s.area, rule),
        None => outer.over(s, t),
    })
}

fn flat(block: Block) -> [f64; 9] {
    std::array::from_fn(|e| block[e / 3][e % 3])
}

fn square(values: [f64; 9]) -> Block {
    std::array::from_fn(|k| std::array::from_fn(|l| values[3 * k + l]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(block: &Block) -> f64 {
        block.iter().flatten().sum()
    }

    fn apart(a: &Block, b: &Block) -> f64 {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// Cuts of `s` until they agree to 1e-7: no edges, no conical rules.
    fn by_cuts(
        s: &Triangle,
        t: &Triangle,
        potential: Potential,
        nodes: &mut WeightedPoints,
    ) -> Block {
        let sum = |nodes: &mut WeightedPoints| flat(nodes.sum_linear(s, t, potential));
        let (allowed, touching) = (1e-7 * s.area * t.area.sqrt(), Touching::Logarithmic);
        let mut outer = OuterQuadrature { sum, allowed, touching, nodes };
        square(outer.adaptive(&s.vertices, s.area))
    }

    fn cases() -> Vec<(Triangle, Triangle, serde_json::Value)> {
        let json: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/data/triangle_pairs.json")).unwrap();
        let triangle = |value: &serde_json::Value| {
            Triangle::new(serde_json::from_value(value.clone()).unwrap())
        };
        let of = |case: &serde_json::Value| {
            (triangle(&case["test"]), triangle(&case["trial"]), case.clone())
        };
        json["cases"].as_array().unwrap().iter().map(of).collect()
    }

    /// Entries add up to the integrals of constants, which have reference values, and each is that
    /// of cuts.
    #[test]
    fn entries_match_reference_and_cuts() {
        let mut nodes = WeightedPoints::default();
        for (s, t, case) in cases() {
            let value = |key: &str| case[key].as_f64().unwrap();
            let digits = 10f64.powi(-case["digits"].as_i64().unwrap() as i32);
            let exact = by_cuts(&s, &t, Potential::Single, &mut nodes);
            for accuracy in [1e-4, 1e-6] {
                let block = single_layer(&s, &t, &PairQuadrature::new(accuracy, 0), &mut nodes);
                let whole = value("single_layer");
                assert!((sum(&block) / whole - 1.0).abs() < accuracy + digits, "{case} {accuracy}");
                let error = apart(&block, &exact) / whole;
                assert!(error < accuracy + 1e-7, "{case} {accuracy}: {error:.1e}");
            }
            let exact = by_cuts(&s, &t, Potential::Double, &mut nodes);
            for accuracy in [1e-4, 1e-6] {
                let block = double_layer(&s, &t, accuracy, &mut nodes);
                let unit = 2.0 * PI * s.area.min(t.area);
                let error = (sum(&block) - value("double_layer")).abs() / unit;
                assert!(error < 4.0 * accuracy + digits, "{case} {accuracy}: {error:.1e}");
                // One plane: cuts see rounding.
                if value("double_layer") != 0.0 {
                    let error = apart(&block, &exact) / unit;
                    assert!(error < accuracy + 1e-7, "{case} {accuracy}: {error:.1e}");
                }
            }
        }
    }

    /// Pairs that share nothing, an edge, a vertex, or a point of an edge, in one plane or folded,
    /// of unlike sizes and shapes.
    #[test]
    fn entries_of_the_single_layer_match_cuts() {
        let s = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]];
        let pairs = [
            ("needle next to it", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, -0.02, 0.0]]),
            ("sharp fold", [[0.0, 0.0, 0.0], [0.3, 0.7, 0.05], [1.0, 0.0, 0.0]]),
            ("T junction", [[0.3, 0.0, 0.0], [0.9, 0.0, 0.0], [0.5, -0.7, 0.2]]),
            ("small at vertex", [[0.0, 0.0, 0.0], [-0.05, 0.02, 0.01], [-0.03, -0.04, 0.0]]),
            ("sheet", [[0.1, 0.0, 0.03], [1.1, 0.0, 0.03], [0.3, 0.8, 0.03]]),
            ("tilted sheet", [[0.1, 0.0, 0.03], [1.1, 0.0, 0.035], [0.3, 0.8, 0.03]]),
            ("in one plane", [[1.2, 0.0, 0.0], [1.9, 0.2, 0.0], [1.1, 0.9, 0.0]]),
        ];
        let mut nodes = WeightedPoints::default();
        for (name, t) in pairs {
            let (s, t) = (Triangle::new(s), Triangle::new(t));
            let exact = by_cuts(&s, &t, Potential::Single, &mut nodes);
            for accuracy in [1e-4, 1e-6] {
                for (s, t, exact) in [(&s, &t, exact), (&t, &s, transposed(exact))] {
                    let block = single_layer(s, t, &PairQuadrature::new(accuracy, 0), &mut nodes);
                    let error = apart(&block, &exact) / sum(&exact);
                    assert!(error < accuracy + 1e-7, "{name} {accuracy}: {error:.1e}");
                }
            }
        }
    }

    /// Two triangles of each of four layers, which get thinner toward the x axis, around which they
    /// are turned.
    fn layers(thickness: f64, along: f64, fold: f64) -> Vec<Triangle> {
        let of_layer = |layer: i32| {
            let to = thickness * 0.25f64.powi(layer);
            let from = if layer == 3 { 0.0 } else { 0.25 * to };
            let at = |x: f64, y: f64| [x + along, y * fold.cos(), y * fold.sin()];
            let [a, b, c, d] = [at(0.0, from), at(1.0, from), at(1.0, to), at(0.0, to)];
            [Triangle::new([a, b, c]), Triangle::new([a, c, d])]
        };
        (0..4).flat_map(of_layer).collect()
    }

    /// Needles, as graded meshes have them next to edges, side by side, end to end and around an
    /// edge: linear functions that are large where the planes meet must not show.
    #[test]
    fn entries_of_needles_match_finer_rules() {
        let mut nodes = WeightedPoints::default();
        let places = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.57), (1.0, 1.57), (0.0, 2.6), (0.3, 3.1)];
        for thickness in [0.3, 0.03, 3e-3] {
            for (along, fold) in places {
                let others = layers(thickness, along, fold);
                let own = layers(thickness, 0.0, 0.0);
                for (s, t) in own.iter().flat_map(|s| others.iter().map(move |t| (s, t))) {
                    let mut of = |accuracy: f64| {
                        single_layer(s, t, &PairQuadrature::new(accuracy, 0), &mut nodes)
                    };
                    let exact = of(1e-9);
                    for accuracy in [1e-4, 1e-6] {
                        let error = apart(&of(accuracy), &exact) / sum(&exact);
                        assert!(error < accuracy, "{thickness} {along} {fold}: {error:.1e}");
                    }
                }
            }
        }
    }

    /// A sheet over another, at every angle between their planes, turned in space: no branch shows.
    #[test]
    fn entries_are_continuous_in_the_angle_between_the_planes() {
        let mut nodes = WeightedPoints::default();
        let s = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]].map(Vec3::from);
        let t = [[0.1, 0.0, 0.03], [1.1, 0.0, 0.03], [0.3, 0.8, 0.03]].map(Vec3::from);
        let turn = nalgebra::Rotation3::from_euler_angles(0.7, -1.1, 2.3);
        for angle in [0.0, 1e-17, 1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2] {
            let tilt = nalgebra::Rotation3::from_euler_angles(0.3 * angle, angle, 0.0);
            let (s, t) =
                (Triangle::of(s.map(|v| turn * v)), Triangle::of(t.map(|v| turn * (tilt * v))));
            let exact = by_cuts(&s, &t, Potential::Single, &mut nodes);
            let block = single_layer(&s, &t, &PairQuadrature::new(1e-6, 0), &mut nodes);
            let whole = PairQuadrature::new(1e-12, 0).single_layer(&s, &t);
            // Of nine entries each may have a quarter of the error of all.
            let error = (sum(&block) / whole - 1.0).abs();
            assert!(error < 1e-6, "{angle}: {error:.1e}");
            let error = apart(&block, &exact) / whole;
            assert!(error < 0.25e-6 + 1e-7, "{angle}: {error:.1e}");
        }
    }

    /// Overlapping sheets: entries of the double layer add up to the mean solid angle, which is
    /// exact along edges.
    #[test]
    fn entries_of_the_double_layer_add_up_between_sheets() {
        let mut nodes = WeightedPoints::default();
        let s = Triangle::new([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]]);
        // Closer ones are cut for a second (docs/reliability.md, open).
        for gap in [1e-1, 1e-2, 1e-3] {
            let t = Triangle::new([[0.13, 0.07, gap], [1.1, 0.02, gap], [0.3, 0.85, gap]]);
            let exact = crate::integrals::solid_angle::solid_angle_over(&s, &t, 1e-10, &mut nodes);
            let block = double_layer(&s, &t, 1e-6, &mut nodes);
            let error = (sum(&block) - exact).abs() / (2.0 * PI * s.area.min(t.area));
            // Nine entries, each to a quarter of what is asked for.
            assert!(error < 9.0 * 0.25e-6, "{gap}: {error:.1e}");
        }
    }
}
