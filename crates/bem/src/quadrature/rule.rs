//! Rules on triangles in the layout that sums over their points use.

use std::sync::LazyLock;

use simd::Real;

use crate::geometry::triangle::Vec3;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::{self, MAX_TRIANGLE_DEGREE, TriangleNode};

/// A triangle rule, coordinate by coordinate, padded to whole vectors with points of weight 0.
#[derive(Debug)]
pub struct Rule {
    degree: usize,
    nodes: &'static [TriangleNode],
    pub(super) barycentric: [Vec<f64>; 3],
    pub(super) weights: Vec<f64>,
    /// Values of the modes of linear functions, times the weights; padded to whole vectors and
    /// blocks.
    pub(super) modes: [Vec<f64>; MODES],
    /// The points, padded to whole blocks of [`BLOCK`].
    pub(super) blocks: Vec<TriangleNode>,
}

/// Points evaluated together where lanes carry pairs of triangles.
pub(super) const BLOCK: usize = 3;

impl Rule {
    /// The cheapest rule that is exact to `degree`, as [`quadrature::triangle`].
    pub fn of_degree(degree: usize) -> &'static Self {
        static RULES: LazyLock<Vec<Rule>> =
            LazyLock::new(|| (0..=MAX_TRIANGLE_DEGREE).map(Rule::filled_up).collect());
        &RULES[degree.min(MAX_TRIANGLE_DEGREE)]
    }

    fn filled_up(degree: usize) -> Self {
        let nodes = quadrature::triangle(degree);
        let length = nodes.len().next_multiple_of(f64::MAX_LANES);
        let mut blocks = nodes.to_vec();
        let none = TriangleNode { barycentric: [1.0 / 3.0; 3], weight: 0.0 };
        blocks.resize(nodes.len().next_multiple_of(BLOCK), none);
        let mut rule = Self {
            degree,
            nodes,
            barycentric: std::array::from_fn(|_| vec![1.0 / 3.0; length]),
            weights: vec![0.0; length],
            modes: modes::weighted(nodes).map(|mut values| {
                values.resize(length.max(blocks.len()), 0.0);
                values
            }),
            blocks,
        };
        for (p, node) in nodes.iter().enumerate() {
            rule.weights[p] = node.weight;
            for k in 0..3 {
                rule.barycentric[k][p] = node.barycentric[k];
            }
        }
        rule
    }

    /// Its points.
    pub fn nodes(&self) -> &'static [TriangleNode] {
        self.nodes
    }

    /// The points on a triangle with these vertices, and their weights, which sum to 1.
    pub fn on(&self, v: &[Vec3; 3]) -> impl Iterator<Item = (Vec3, f64)> {
        self.nodes.iter().map(move |node| {
            let [a, b, c] = node.barycentric;
            (v[0] * a + v[1] * b + v[2] * c, node.weight)
        })
    }

    /// Barycentric coordinates and weights, padded to whole vectors with weights 0.
    #[inline]
    pub(crate) fn lanes(&self) -> ([&[f64]; 3], &[f64]) {
        (self.barycentric.each_ref().map(Vec::as_slice), &self.weights)
    }

    /// Polynomials up to this degree are integrated exactly.
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    /// Number of points.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// For each mode of linear functions its values at the points, times their weights.
    pub(crate) fn modes(&self) -> [&[f64]; MODES] {
        self.modes.each_ref().map(|values| &values[..self.len()])
    }
}
