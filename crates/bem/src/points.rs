//! The quadrature points that stand for the panels in the fast sum.

use crate::panels::Panels;
use crate::quadrature::TriangleRule;

/// Points of all panels, panel by panel, and the share of its panel's charge that each carries.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    at: Vec<[f64; 3]>,
    weights: Vec<f64>,
    /// First point of each panel, and the end.
    starts: Vec<u32>,
}

impl Points {
    pub(crate) fn new(panels: &Panels, rule: TriangleRule) -> Self {
        let count = panels.len() * rule.len();
        let mut points = Self {
            at: Vec::with_capacity(count),
            weights: Vec::with_capacity(count),
            starts: Vec::with_capacity(panels.len() + 1),
        };
        points.starts.push(0);
        for i in 0..panels.len() {
            let v = panels.vertices(i);
            for node in rule.nodes() {
                let [a, b, c] = node.barycentric;
                points.at.push((v[0] * a + v[1] * b + v[2] * c).into());
                points.weights.push(node.weight);
            }
            points.starts.push(points.at.len() as u32);
        }
        points
    }

    pub(crate) fn at(&self) -> &[[f64; 3]] {
        &self.at
    }

    pub(crate) fn len(&self) -> usize {
        self.at.len()
    }

    fn of(&self, panel: usize) -> std::ops::Range<usize> {
        self.starts[panel] as usize..self.starts[panel + 1] as usize
    }

    /// sum_pq w_p w_q / |x_p - x_q| over the points of two panels; coincident points contribute nothing, as in the fast sum.
    pub(crate) fn entry(&self, i: usize, j: usize) -> f64 {
        let mut sum = 0.0;
        for p in self.of(i) {
            let x = self.at[p];
            for q in self.of(j) {
                let y = self.at[q];
                let r = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
                let r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
                if r2 > 0.0 {
                    sum += self.weights[p] * self.weights[q] / r2.sqrt();
                }
            }
        }
        sum
    }

    /// Charges of panels, shape (k, panels), to charges of points, shape (k, points).
    pub(crate) fn spread(&self, panels: &[f64], points: &mut [f64]) {
        let n = self.starts.len() - 1;
        for (x, q) in panels.chunks_exact(n).zip(points.chunks_exact_mut(self.len())) {
            for (i, x) in x.iter().enumerate() {
                for p in self.of(i) {
                    q[p] = self.weights[p] * x;
                }
            }
        }
    }

    /// Potentials of points, shape (k, points), to means over panels, shape (k, panels).
    pub(crate) fn average(&self, points: &[f64], panels: &mut [f64]) {
        let n = self.starts.len() - 1;
        for (phi, y) in points.chunks_exact(self.len()).zip(panels.chunks_exact_mut(n)) {
            for (i, y) in y.iter_mut().enumerate() {
                *y = self.of(i).map(|p| self.weights[p] * phi[p]).sum();
            }
        }
    }
}
