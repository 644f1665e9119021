//! Points that carry the unknown densities and the equations: Nystroem's method.
//!
//! Each panel has the points of one symmetric rule, and densities are the polynomials through their
//! values there: constants through 1 point, linear functions through 3, quadratic ones through 6.

use std::array;
use std::sync::LazyLock;

use nalgebra::DMatrix;

use crate::geometry::panels::Panels;
use crate::geometry::patch::{Parameters, Patch};
use crate::geometry::triangle::Vec3;
use crate::quadrature::{self, TriangleNode};

/// Most points of a panel, and terms of a polynomial.
pub(super) const MOST: usize = 6;

/// Powers of s and t in the terms of polynomials.
const POWERS: [[i32; 2]; MOST] = [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]];

/// How densities vary over a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Degree {
    Constant,
    Linear,
    Quadratic,
}

/// A point of a sum over a panel.
#[derive(Clone, Copy)]
pub(super) struct QuadraturePoint {
    pub(super) place: Vec3,
    /// Unit normal.
    pub(super) normal: Vec3,
    /// Area of the point.
    pub(super) weight: f64,
}

/// A point with a unit vector for directional derivatives.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) place: Vec3,
    pub(super) normal: Vec3,
    /// Its number among the points of the panel, if it is one.
    pub(super) own: Option<usize>,
}

/// The points of one panel by parameters, and the polynomials that are 1 at one point and 0 at the
/// others.
#[derive(Debug)]
pub(super) struct Stencil {
    pub(super) nodes: &'static [TriangleNode],
    /// Coefficients of the polynomial of each point, by term.
    pub(super) polynomials: Vec<[f64; MOST]>,
}

impl Degree {
    /// Points of a panel.
    pub(super) fn points(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Linear => 3,
            Self::Quadratic => 6,
        }
    }

    /// The rule of sums between charges and panels.
    pub(super) fn finer(self) -> &'static [TriangleNode] {
        quadrature::triangle(match self {
            Self::Constant => 2,
            Self::Linear => 4,
            Self::Quadratic => 6,
        })
    }

    pub(super) fn stencil(self) -> &'static Stencil {
        static STENCILS: LazyLock<[Stencil; 3]> =
            LazyLock::new(|| [1, 2, 4].map(Stencil::of_degree));
        &STENCILS[match self {
            Self::Constant => 0,
            Self::Linear => 1,
            Self::Quadratic => 2,
        }]
    }
}

impl Stencil {
    fn of_degree(degree: usize) -> Self {
        let nodes = quadrature::triangle(degree);
        let n = nodes.len();
        let power = |node: usize, term: usize| {
            let [_, s, t] = nodes[node].barycentric;
            s.powi(POWERS[term][0]) * t.powi(POWERS[term][1])
        };
        let inverse =
            DMatrix::from_fn(n, n, power).try_inverse().unwrap_or_else(|| DMatrix::identity(n, n));
        let of =
            |node: usize| array::from_fn(|term| if term < n { inverse[(term, node)] } else { 0.0 });
        Self { nodes, polynomials: (0..n).map(of).collect() }
    }

    /// The polynomials at a position on the panel.
    pub(super) fn values(&self, [s, t]: Parameters) -> [f64; MOST] {
        let powers = [1.0, s, t, s * s, s * t, t * t];
        let mut values = [0.0; MOST];
        for (value, polynomial) in values.iter_mut().zip(&self.polynomials) {
            let terms = polynomial.iter().zip(powers);
            *value = terms.map(|(coefficient, power)| coefficient * power).sum();
        }
        values
    }

    /// Parameters of a point.
    pub(super) fn parameters(&self, node: usize) -> Parameters {
        let [_, s, t] = self.nodes[node].barycentric;
        [s, t]
    }
}

/// All points, panel by panel.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    pub(super) degree: Degree,
    pub(super) patches: Vec<Patch>,
    pub(super) places: Vec<[f64; 3]>,
    /// Unit normals.
    pub(super) normals: Vec<Vec3>,
    /// Area of each point.
    pub(super) weights: Vec<f64>,
}

impl Nodes {
    pub(super) fn new(panels: &Panels, degree: Degree) -> Self {
        let patch =
            |i: usize| panels.curved(i).copied().unwrap_or_else(|| Patch::flat(panels.vertices(i)));
        let patches: Vec<Patch> = (0..panels.len()).map(patch).collect();
        let stencil = degree.stencil();
        let count = patches.len() * degree.points();
        let (mut places, mut normals, mut weights) =
            (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
        for patch in &patches {
            for (k, node) in stencil.nodes.iter().enumerate() {
                let at = stencil.parameters(k);
                let normal = patch.normal(at);
                let stretch = normal.norm();
                places.push(patch.at(at).into());
                normals.push(normal / stretch);
                weights.push(0.5 * node.weight * stretch);
            }
        }
        Self { degree, patches, places, normals, weights }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Points of a panel.
    pub(super) fn of_panel(&self, panel: usize) -> std::ops::Range<usize> {
        let points = self.degree.points();
        panel * points..(panel + 1) * points
    }

    /// A point as an evaluation point; `own` is its number on the panel of integration, if it is on
    /// it.
    pub(super) fn target(&self, node: usize, own: Option<usize>) -> Target {
        Target { place: self.place(node), normal: self.normals[node], own }
    }

    /// A point as a quadrature point of a panel.
    pub(super) fn source(&self, node: usize) -> QuadraturePoint {
        let (normal, weight) = (self.normals[node], self.weights[node]);
        QuadraturePoint { place: self.place(node), normal, weight }
    }

    pub(super) fn place(&self, node: usize) -> Vec3 {
        Vec3::from(self.places[node])
    }
}
