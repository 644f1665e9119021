//! Quadrature nodes for a pair of triangles whose kernel is singular where they touch.
//!
//! For triangles that are the same, share an edge or share a vertex, the transformations of Sauter
//! & Schwab (Boundary Element Methods, Springer 2011, section 5.2) make integrands of kernels like
//! 1/|x - y| analytic, so that Gauss-Legendre points in four variables converge exponentially.

use std::sync::LazyLock;

use simd::Real;

use crate::quadrature::{self, TriangleNode};

/// How two triangles touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// They coincide.
    Same,
    /// They share the edge from corner 0 to corner 1.
    Edge,
    /// They share corner 0.
    Vertex,
    /// They share nothing.
    Apart,
}

/// Available orders of rules: points in each variable, or half the degree for triangles that are
/// apart.
pub(crate) const ORDERS: std::ops::RangeInclusive<usize> = 2..=10;

/// Parameters of points on both triangles and their weights, which sum to 1, padded to whole
/// vectors with weights 0.
#[derive(Debug, Default)]
pub struct PairNodes {
    /// On the first triangle and on the second: (s, t) as in
    /// [`Patch`](crate::geometry::patch::Patch).
    pub parameters: [[Vec<f64>; 2]; 2],
    /// One per pair of points.
    pub weights: Vec<f64>,
}

impl PairNodes {
    /// The rule for this contact and order.
    pub fn of(contact: Contact, order: usize) -> &'static Self {
        static RULES: LazyLock<Vec<[PairNodes; 4]>> = LazyLock::new(|| {
            let kinds = [Contact::Same, Contact::Edge, Contact::Vertex, Contact::Apart];
            ORDERS.map(|order| kinds.map(|contact| PairNodes::made(contact, order))).collect()
        });
        let order = order.clamp(*ORDERS.start(), *ORDERS.end()) - ORDERS.start();
        &RULES[order][contact as usize]
    }

    fn made(contact: Contact, order: usize) -> Self {
        let mut nodes = Self::default();
        if contact == Contact::Apart {
            let rule = quadrature::triangle(2 * order);
            for x in rule {
                rule.iter().for_each(|y| nodes.push_both(x, y));
            }
        } else {
            let line = quadrature::line(order);
            for a in line {
                for b in line {
                    for c in line {
                        for d in line {
                            let weight = a.weight * b.weight * c.weight * d.weight;
                            nodes.push_regions(contact, [a.at, b.at, c.at, d.at], weight);
                        }
                    }
                }
            }
        }
        nodes.fill_up();
        nodes
    }

    fn push_both(&mut self, x: &TriangleNode, y: &TriangleNode) {
        let parameters = [x, y].map(|node| [node.barycentric[1], node.barycentric[2]]);
        self.push(parameters, x.weight * y.weight);
    }

    fn push(&mut self, parameters: [[f64; 2]; 2], weight: f64) {
        for (all, one) in self.parameters.iter_mut().zip(parameters) {
            all.iter_mut().zip(one).for_each(|(all, one)| all.push(one));
        }
        self.weights.push(weight);
    }

    /// Appends the points of all regions for a point of the unit cube.
    fn push_regions(&mut self, contact: Contact, [xi, a, b, c]: [f64; 4], weight: f64) {
        // Points of the triangle 0 <= v <= u <= 1, divided by xi.
        let mut push = |x: [f64; 2], y: [f64; 2], jacobian: f64| {
            let parameters = [x, y].map(|[u, v]| [xi * (u - v), xi * v]);
            // Both triangles have the area 1/2.
            self.push(parameters, 4.0 * weight * xi.powi(3) * jacobian);
        };
        match contact {
            Contact::Same => {
                let jacobian = a * a * b;
                let pairs = [
                    ([1.0, 1.0 - a + a * b], [1.0 - a * b * c, 1.0 - a]),
                    ([1.0, a * (1.0 - b + b * c)], [1.0 - a * b, a * (1.0 - b)]),
                    ([1.0 - a * b * c, a * (1.0 - b * c)], [1.0, a * (1.0 - b)]),
                ];
                for (x, y) in pairs {
                    push(x, y, jacobian);
                    push(y, x, jacobian);
                }
            }
            Contact::Edge => {
                push([1.0, a * c], [1.0 - a * b, a * (1.0 - b)], a * a);
                let jacobian = a * a * b;
                let (apex, inner) = ([1.0, a], [1.0 - a * b * c, a * b * (1.0 - c)]);
                push(apex, inner, jacobian);
                push([1.0 - a * b, a * (1.0 - b)], [1.0, a * b * c], jacobian);
                push(inner, apex, jacobian);
                push([1.0 - a * b * c, a * (1.0 - b * c)], [1.0, a * b], jacobian);
            }
            Contact::Vertex => {
                push([1.0, a], [b, b * c], b);
                push([b, b * a], [1.0, c], b);
            }
            Contact::Apart => {}
        }
    }

    fn fill_up(&mut self) {
        let length = self.weights.len().next_multiple_of(f64::MAX_LANES);
        self.weights.resize(length, 0.0);
        // Padding: any two points that do not coincide.
        for (values, at) in self.parameters.iter_mut().zip([0.25, 0.5]) {
            values.iter_mut().for_each(|values| values.resize(length, at));
        }
    }
}
