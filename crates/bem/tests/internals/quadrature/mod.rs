//! Quadrature rules, and sums by them.

mod errors;
mod modes;
mod remainder;
mod sums;

use bem::internals::quadrature::{
    MAX_LINE_POINTS, MAX_TRIANGLE_DEGREE, TriangleNode, graded, line, triangle,
};

#[test]
fn line_rules_are_exact_to_their_degree() {
    for n in 1..=MAX_LINE_POINTS {
        assert_eq!(line(n).len(), n);
        for k in 0..2 * n {
            let sum: f64 = line(n).iter().map(|q| q.weight * q.at.powi(k as i32)).sum();
            assert!((sum * (k + 1) as f64 - 1.0).abs() < 1e-13, "{n} points, degree {k}");
        }
    }
}

#[test]
fn triangle_rules_are_exact_to_their_degree() {
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    for degree in 0..=MAX_TRIANGLE_DEGREE {
        for i in 0..=degree {
            for j in 0..=degree - i {
                let monomial = |q: &TriangleNode| {
                    q.weight * q.barycentric[0].powi(i as i32) * q.barycentric[1].powi(j as i32)
                };
                let sum: f64 = triangle(degree).iter().map(monomial).sum();
                // Mean of l1^i l2^j over a triangle: 2 i! j! / (i + j + 2)!.
                let exact = 2.0 * factorial(i) * factorial(j) / factorial(i + j + 2);
                assert!((sum / exact - 1.0).abs() < 1e-12, "degree {degree}, {i} {j}");
            }
        }
    }
}

#[test]
fn graded_rules_take_logarithms() {
    // 2 int_0^1 (1 - x) x ln x dx, x being the distance from the edge, and 1 - y that from
    // vertex 1.
    let exact = -5.0 / 18.0;
    for (points, allowed) in [(6, 1e-5), (9, 3e-7), (13, 1e-8)] {
        let mean = |f: fn([f64; 3]) -> f64| -> f64 {
            graded(points).iter().map(|node| node.weight * f(node.barycentric)).sum()
        };
        assert!((mean(|_| 1.0) - 1.0).abs() < 1e-13);
        assert!((mean(|[_, _, x]| x) - 1.0 / 3.0).abs() < 1e-13);
        assert!((mean(|[_, _, x]| x * x.ln()) - exact).abs() < allowed);
        // 2 int_0^1 t^2 ln t dt
        let from_vertex = mean(|[_, y, _]| (1.0 - y) * (1.0 - y).ln());
        assert!((from_vertex + 2.0 / 9.0).abs() < allowed);
    }
}
