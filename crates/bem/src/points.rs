//! The quadrature points that stand for the panels in the fast sum.

use crate::panels::Panels;
use crate::quadrature::TriangleRule;
use crate::triangle::Vec3;

/// One rule on every panel: point p of panel i is point i len + p of the sum, and carries the share w_p of the panel's charge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points<'a> {
    panels: &'a Panels,
    rule: TriangleRule,
}

impl<'a> Points<'a> {
    pub(crate) fn new(panels: &'a Panels, rule: TriangleRule) -> Self {
        Self { panels, rule }
    }

    /// Number of points on all panels.
    pub(crate) fn len(&self) -> usize {
        self.panels.len() * self.rule.len()
    }

    fn of(&self, panel: usize) -> impl Iterator<Item = (Vec3, f64)> {
        let v = self.panels.vertices(panel);
        self.rule.nodes().iter().map(move |node| {
            let [a, b, c] = node.barycentric;
            (v[0] * a + v[1] * b + v[2] * c, node.weight)
        })
    }

    /// Point `index` of the sum.
    pub(crate) fn at(&self, index: usize) -> [f64; 3] {
        let (panel, node) = (index / self.rule.len(), index % self.rule.len());
        self.of(panel).nth(node).map_or([f64::NAN; 3], |(x, _)| x.into())
    }

    /// All points.
    pub(crate) fn all(&self) -> Vec<[f64; 3]> {
        let mut all = Vec::with_capacity(self.len());
        all.extend(
            (0..self.panels.len()).flat_map(|i| self.of(i)).map(|(x, _)| <[f64; 3]>::from(x)),
        );
        all
    }

    /// sum_pq w_p w_q / |x_p - x_q| over the points of two panels; coincident points contribute nothing, as in the fast sum.
    pub(crate) fn entry(&self, i: usize, j: usize) -> f64 {
        let mut sum = 0.0;
        for (x, w) in self.of(i) {
            let mut inner = 0.0;
            for (y, w) in self.of(j) {
                let r2 = (x - y).norm_squared();
                inner += if r2 > 0.0 { w / r2.sqrt() } else { 0.0 };
            }
            sum += w * inner;
        }
        sum
    }

    /// Smallest distance of points of two panels, if their centroids are within twice `within`; infinite if not.
    pub(crate) fn nearest(&self, i: usize, j: usize, within: f64) -> f64 {
        if (self.panels.centroid(i) - self.panels.centroid(j)).norm() > 2.0 * within {
            return f64::INFINITY;
        }
        let to = |x: Vec3| self.of(j).map(move |(y, _)| (x - y).norm());
        self.of(i).flat_map(|(x, _)| to(x)).fold(f64::INFINITY, f64::min)
    }

    /// Charges of panels, shape (k, panels), to charges of points, shape (k, points).
    pub(crate) fn spread(&self, panels: &[f64], points: &mut [f64]) {
        let nodes = self.rule.nodes();
        for (q, x) in points.chunks_exact_mut(nodes.len()).zip(panels) {
            for (q, node) in q.iter_mut().zip(nodes) {
                *q = node.weight * x;
            }
        }
    }

    /// Potentials of points, shape (k, points), to means over panels, shape (k, panels).
    pub(crate) fn average(&self, points: &[f64], panels: &mut [f64]) {
        let nodes = self.rule.nodes();
        for (phi, y) in points.chunks_exact(nodes.len()).zip(panels) {
            *y = phi.iter().zip(nodes).map(|(phi, node)| phi * node.weight).sum();
        }
    }
}
