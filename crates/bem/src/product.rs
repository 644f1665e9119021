//! Sums of 1/|x - y| over the points of a rule on one triangle and of a rule on another, in lanes.

use std::sync::LazyLock;

use crate::lanes::{self, Lanes, Task};
use crate::quadrature::{self, MAX_TRIANGLE_DEGREE, TriangleNode};
use crate::triangle::Vec3;

/// A triangle rule, coordinate by coordinate, filled up to whole vectors with points of weight 0.
#[derive(Debug)]
pub(crate) struct Rule {
    degree: usize,
    nodes: &'static [TriangleNode],
    barycentric: [Vec<f64>; 3],
    weights: Vec<f64>,
}

impl Rule {
    /// The cheapest rule that is exact to `degree`, as [`quadrature::triangle`] has it.
    pub(crate) fn of_degree(degree: usize) -> &'static Self {
        static RULES: LazyLock<Vec<Rule>> =
            LazyLock::new(|| (0..=MAX_TRIANGLE_DEGREE).map(Rule::filled_up).collect());
        &RULES[degree.min(MAX_TRIANGLE_DEGREE)]
    }

    fn filled_up(degree: usize) -> Self {
        let nodes = quadrature::triangle(degree);
        let length = nodes.len().next_multiple_of(lanes::MOST);
        let mut rule = Self {
            degree,
            nodes,
            barycentric: std::array::from_fn(|_| vec![1.0 / 3.0; length]),
            weights: vec![0.0; length],
        };
        for (p, node) in nodes.iter().enumerate() {
            rule.weights[p] = node.weight;
            for k in 0..3 {
                rule.barycentric[k][p] = node.barycentric[k];
            }
        }
        rule
    }

    pub(crate) fn nodes(&self) -> &'static [TriangleNode] {
        self.nodes
    }

    /// The points on a triangle with these vertices, and their weights, which sum to 1.
    pub(crate) fn on(&self, v: &[Vec3; 3]) -> impl Iterator<Item = (Vec3, f64)> {
        self.nodes.iter().map(move |node| {
            let [a, b, c] = node.barycentric;
            (v[0] * a + v[1] * b + v[2] * c, node.weight)
        })
    }

    /// Polynomials up to this degree are integrated exactly.
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// sum_pq v_p w_q / |x_p - y_q| over `outer` points on the triangle `s` and `inner` points on `t`; coincident points
/// contribute nothing.
#[inline]
pub(crate) fn sum(outer: &Rule, s: &[Vec3; 3], inner: &Rule, t: &[Vec3; 3]) -> f64 {
    lanes::dispatch(Sum { outer, s, inner, t })
}

struct Sum<'a> {
    outer: &'a Rule,
    s: &'a [Vec3; 3],
    inner: &'a Rule,
    t: &'a [Vec3; 3],
}

impl Task for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Lanes>(self) -> f64 {
        let Self { outer, s, inner, t } = self;
        let mut total = V::zero();
        for at in (0..inner.len()).step_by(V::COUNT) {
            let node = |k: usize| V::load(&inner.barycentric[k][at..]);
            let (a, b, c) = (node(0), node(1), node(2));
            let coordinate = |k: usize| {
                let [u, v, w] = [V::splat(t[0][k]), V::splat(t[1][k]), V::splat(t[2][k])];
                // Without fused operations, as `on` does it: coincident points must coincide.
                u.mul(a).add(v.mul(b)).add(w.mul(c))
            };
            let (y0, y1, y2) = (coordinate(0), coordinate(1), coordinate(2));
            let mut sum = V::zero();
            for (x, weight) in outer.on(s) {
                let (dx, dy, dz) =
                    (y0.sub(V::splat(x.x)), y1.sub(V::splat(x.y)), y2.sub(V::splat(x.z)));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                sum = V::splat(weight).mul_add(r2.rsqrt_or_zero(), sum);
            }
            total = V::load(&inner.weights[at..]).mul_add(sum, total);
        }
        total.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_match_the_plain_sum() {
        let s = [Vec3::new(0.0, 0.0, 0.0), Vec3::new(1.0, 0.1, 0.0), Vec3::new(0.2, 0.9, 0.3)];
        let t = s.map(|v| v * 1.3 + Vec3::new(0.3, -0.7, 0.9));
        for (p, q) in [(1, 1), (2, 2), (4, 6), (5, 4), (6, 9), (23, 2)] {
            let (outer, inner) = (Rule::of_degree(p), Rule::of_degree(q));
            assert!(inner.len() == quadrature::triangle(q).len());
            for t in [&s, &t] {
                let mut exact = 0.0;
                for (x, v) in outer.on(&s) {
                    for (y, w) in inner.on(t) {
                        let r = (x - y).norm();
                        exact += if r > 0.0 { v * w / r } else { 0.0 };
                    }
                }
                let found = sum(outer, &s, inner, t);
                // Positive terms, each as good as its inverse root.
                assert!((found - exact).abs() <= 2e-13 * exact, "{p} {q}: {found} {exact}");
            }
        }
    }
}
