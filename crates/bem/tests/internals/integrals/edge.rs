//! Potentials and logarithms along edges, in lanes and plain.

use bem::Triangle;
use bem::internals::constants::ON_EDGE;
use bem::internals::geometry::Vec3;
use bem::internals::integrals::WeightedPoints;
use bem::internals::integrals::edge::{Terms, sum_terms};
use simd::Level;

/// The integral over edge j in its own words.
fn log_along_edge(t: &Triangle, j: usize, x: &Vec3, h: f64) -> f64 {
    let a = t.vertices[j] - x;
    let d = a.dot(&t.edge_normals[j]).abs();
    let start = a.dot(&t.tangents[j]);
    let off = (d * d + h * h + ON_EDGE).sqrt();
    let primitive = |u: f64| {
        let r = (u * u + off * off).sqrt();
        let angle = (u * d * (r - h)).atan2(d * d * r + h * u * u);
        u * (h + r).ln() - u + h * (u / off).asinh() + d * angle
    };
    primitive(start + t.lengths[j]) - primitive(start)
}

/// At points far, near, in the plane, on edges, on their lines and at vertices, at every level.
#[test]
fn lanes_are_the_scalar_formulas() {
    let mut seed = 5u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for round in 0..200 {
        let thin = if round % 3 == 0 { 1e-3 } else { 1.0 };
        let mut corner = || Vec3::new(random(), thin * random(), random());
        let t = Triangle::of([corner(), corner(), corner()]);
        let mut nodes = WeightedPoints::default();
        let mut exact = 0.0;
        let (of_potential, logs) = (random(), [random(), -random(), random()]);
        for k in 0..21 {
            let (u, v) = (random(), random());
            let [a, b, c] = t.vertices;
            let x = match k % 7 {
                0 => a + (b - a) * (3.0 * u - 1.0),
                1 => a + (b - a) * u + (c - a) * v,
                2 => t.vertices[k % 3],
                3 => a + (b - a) * u + t.normal * (1e-6 * v),
                4 => a + t.normal * v,
                _ => Vec3::new(4.0 * u - 2.0, 4.0 * v - 2.0, 4.0 * random() - 2.0),
            };
            let weight = random() - 0.3;
            let h = (x - a).dot(&t.normal).abs();
            let of_logs: f64 = (0..3).map(|j| logs[j] * log_along_edge(&t, j, &x, h)).sum();
            exact += weight * (of_potential * t.potential_at(&x) + of_logs);
            nodes.push(&x, weight);
        }
        let count = nodes.x.len();
        nodes.fill_up(&t.centroid);
        for level in Level::available() {
            let terms = Terms { potential: of_potential, logs };
            let found = sum_terms(level, &nodes, count, &t, terms);
            assert!((found - exact).abs() < 1e-12, "{level:?} {round}: {found} {exact}");
        }
    }
}
