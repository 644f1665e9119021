//! Sums over the points of two rules, in lanes and plain.

use bem::internals::geometry::Vec3;
use bem::internals::quadrature::sums::{field, sum};
use bem::internals::quadrature::{Rule, triangle};

#[test]
fn lanes_match_the_plain_sum() {
    let s = [Vec3::new(0.0, 0.0, 0.0), Vec3::new(1.0, 0.1, 0.0), Vec3::new(0.2, 0.9, 0.3)];
    let t = s.map(|v| v * 1.3 + Vec3::new(0.3, -0.7, 0.9));
    for (p, q) in [(1, 1), (2, 2), (4, 6), (5, 4), (6, 9), (23, 2)] {
        let (outer, inner) = (Rule::of_degree(p), Rule::of_degree(q));
        assert!(inner.len() == triangle(q).len());
        for t in [&s, &t] {
            let (mut exact, mut gradient, mut size) = (0.0, Vec3::zeros(), 0.0);
            for (x, v) in outer.on(&s) {
                for (y, w) in inner.on(t) {
                    let r = (x - y).norm();
                    if r > 0.0 {
                        exact += v * w / r;
                        gradient += (x - y) * (v * w / r.powi(3));
                        size += v * w / (r * r);
                    }
                }
            }
            let found = sum(outer, &s, inner, t);
            // Positive terms, each as good as its inverse root.
            assert!((found - exact).abs() <= 2e-13 * exact, "{p} {q}: {found} {exact}");
            // Three inverse roots a term.
            let found = field(outer, &s, inner, t);
            assert!((found - gradient).norm() <= 5e-13 * size, "{p} {q}: {found} {gradient}");
        }
    }
}
