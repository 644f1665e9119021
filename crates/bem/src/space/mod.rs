//! Function spaces on a surface and test functions: conversion between coefficients and values on
//! each panel.

use std::sync::Arc;

use crate::geometry::panels::Panels;
use crate::integrals::linear_nodes::Block;
use crate::quadrature::modes::{MODES, at_corners};
use crate::quadrature::rule::Rule;

/// Functions on a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionSpace {
    /// Constant on each triangle (P0): one coefficient per triangle, in the mesh's order.
    Constant,
    /// Linear on each triangle and continuous where triangles share vertices (P1): one coefficient
    /// per vertex, its value there, in the order of
    /// [`Surface::vertices`](crate::Surface::vertices).
    Linear,
}

/// Test functions of an equation: one row for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Galerkin's method: means weighted with the functions of a space that are 1 in one
    /// coefficient and 0 in the others.
    Means(FunctionSpace),
    /// Collocation: values at the triangles' centroids.
    Centroids,
}

impl From<FunctionSpace> for Test {
    fn from(space: FunctionSpace) -> Self {
        Self::Means(space)
    }
}

impl Test {
    /// The space to whose coefficients rows belong.
    fn space(self) -> FunctionSpace {
        match self {
            Self::Means(space) => space,
            Self::Centroids => FunctionSpace::Constant,
        }
    }

    /// The rule that integrates against test functions, if `rule` gives the panels' points.
    pub(crate) fn rule(self, rule: &Rule) -> &Rule {
        match self {
            Self::Means(_) => rule,
            Self::Centroids => Rule::of_degree(1),
        }
    }
}

/// How a surface density may vary over a triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Density {
    /// Constant on each triangle, one unknown each (P0).
    #[default]
    Constant,
    /// Linear on each triangle, three unknowns each, discontinuous between triangles (discontinuous
    /// P1).
    Linear,
}

impl Density {
    /// Number of unknowns and equations per panel.
    pub fn modes(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Linear => MODES,
        }
    }
}

/// A panel, or a mirror image of it, whose density is spread over points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    /// The panel itself, if this is an image.
    pub(crate) panel: usize,
    pub(crate) is_mirrored: bool,
    pub(crate) area: f64,
}

/// Meaning of an operator's columns and rows.
#[derive(Clone, Debug)]
pub enum Dofs {
    /// Columns are charges of panels: one distributed evenly and, for a linear density, one for
    /// each further mode, shape (modes, panels); rows are means over panels weighted with the same
    /// modes.
    Charges(Density),
    /// Columns are functions of a space, rows test functions.
    Functions(Arc<TestTrial>),
}

impl Dofs {
    /// The rule that integrates against test functions, if `rule` gives the panels' points.
    pub(crate) fn test_rule(&self, rule: &'static Rule) -> &'static Rule {
        match self {
            Self::Charges(_) => rule,
            Self::Functions(functions) => functions.test.rule(rule),
        }
    }

    /// Calls `put(k, charge)` for each node of a rule on a panel, or on its mirror image, with its
    /// charge for coefficients `x`.
    pub(crate) fn strengths(
        &self,
        rule: &Rule,
        Carrier { panel, is_mirrored, area }: Carrier,
        x: &[f64],
        mut put: impl FnMut(usize, f64),
    ) {
        match self {
            Self::Charges(Density::Constant) => {
                let nodes = rule.nodes().iter().enumerate();
                nodes.for_each(|(k, node)| put(k, node.weight * x[panel]));
            }
            Self::Charges(Density::Linear) => {
                let n = x.len() / MODES;
                let values = at_corners([0, 1, 2].map(|m| x[m * n + panel]));
                linear(rule, values, is_mirrored, 1.0, put);
            }
            Self::Functions(functions) => {
                linear(rule, functions.columns.values(panel, x), is_mirrored, area, put);
            }
        }
    }
}

/// Calls `put` for each node with its charge from a linear function, given at the corners.
fn linear(
    rule: &Rule,
    [a, b, c]: [f64; 3],
    is_mirrored: bool,
    factor: f64,
    mut put: impl FnMut(usize, f64),
) {
    // Images have the opposite orientation.
    let values = if is_mirrored { [a, c, b] } else { [a, b, c] };
    strengths(rule, values, factor).enumerate().for_each(|(k, charge)| put(k, charge));
}

/// Vertices of panels.
#[derive(Clone, Copy, Debug)]
pub struct Corners<'a> {
    /// The corners of each panel, numbered from 0.
    pub of_panels: &'a [[u32; 3]],
    /// Number of vertices of the mesh.
    pub vertices: usize,
}

/// Map from the functions on each panel to coefficients, numbered in the order in which panels
/// first use them.
#[derive(Clone, Debug)]
pub struct DofMap {
    space: FunctionSpace,
    /// Coefficients at the vertices of each panel, or three times the panel's own.
    corners: Vec<[u32; 3]>,
    /// Index of each coefficient in the mesh's order.
    order: Vec<u32>,
}

impl DofMap {
    pub(crate) fn new(space: FunctionSpace, panels: &Panels, corners: Corners<'_>) -> Self {
        match space {
            FunctionSpace::Constant => {
                let corners = (0..panels.len() as u32).map(|i| [i; 3]).collect();
                Self { space, corners, order: panels.triangles().to_vec() }
            }
            FunctionSpace::Linear => {
                let mut number = vec![u32::MAX; corners.vertices];
                let mut order = Vec::with_capacity(corners.vertices);
                let mut of = |v: u32| {
                    let number = &mut number[v as usize];
                    if *number == u32::MAX {
                        *number = order.len() as u32;
                        order.push(v);
                    }
                    *number
                };
                let corners =
                    corners.of_panels.iter().map(|corners| corners.map(&mut of)).collect();
                Self { space, corners, order }
            }
        }
    }

    /// Number of coefficients.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Index of each coefficient in the mesh's order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Converts coefficients to the mesh's order.
    pub(crate) fn in_mesh_order(&self, x: &[f64]) -> Vec<f64> {
        let mut ordered = vec![0.0; x.len()];
        self.order.iter().zip(x).for_each(|(&place, x)| ordered[place as usize] = *x);
        ordered
    }

    /// Converts coefficients from the mesh's order.
    pub(crate) fn in_own_order(&self, x: &[f64]) -> Vec<f64> {
        self.order.iter().map(|&place| x[place as usize]).collect()
    }

    /// Number of functions on a panel.
    pub(crate) fn width(&self) -> usize {
        match self.space {
            FunctionSpace::Constant => 1,
            FunctionSpace::Linear => 3,
        }
    }

    /// Coefficients of the functions on a panel.
    pub(crate) fn of(&self, panel: usize) -> &[u32] {
        &self.corners[panel][..self.width()]
    }

    /// Values at the vertices of a panel.
    pub(crate) fn values(&self, panel: usize, x: &[f64]) -> [f64; 3] {
        self.corners[panel].map(|c| x[c as usize])
    }

    /// Adds to coefficients the integrals against the three linear functions on a panel.
    pub(crate) fn add(&self, panel: usize, tested: [f64; 3], y: &mut [f64]) {
        for (&c, value) in self.corners[panel].iter().zip(tested) {
            y[c as usize] += value;
        }
    }

    /// Integrals of the functions that belong to the coefficients.
    pub(crate) fn weights(&self, areas: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; self.len()];
        for (panel, area) in areas.iter().enumerate() {
            self.add(panel, [area / 3.0; 3], &mut weights);
        }
        weights
    }
}

/// Rows of test functions and columns of a space, over the same panels.
#[derive(Clone, Debug)]
pub struct TestTrial {
    pub(crate) test: Test,
    /// Coefficients of the test functions.
    pub rows: DofMap,
    /// Coefficients of the densities.
    pub columns: DofMap,
}

impl TestTrial {
    /// Over panels with these corners.
    pub fn new(test: Test, trial: FunctionSpace, panels: &Panels, corners: Corners<'_>) -> Self {
        let map = |space| DofMap::new(space, panels, corners);
        Self { test, rows: map(test.space()), columns: map(trial) }
    }

    /// Calls `f(row, column, value)` for the contributions of a block between two panels.
    pub(crate) fn for_entries(
        &self,
        [i, j]: [usize; 2],
        block: &Block,
        mut f: impl FnMut(u32, u32, f64),
    ) {
        let summed = |k: usize, l: usize| -> f64 {
            let rows = if self.rows.width() == 1 { 0..3 } else { k..k + 1 };
            let columns = || if self.columns.width() == 1 { 0..3 } else { l..l + 1 };
            rows.flat_map(|k| columns().map(move |l| block[k][l])).sum()
        };
        for (k, &row) in self.rows.of(i).iter().enumerate() {
            for (l, &column) in self.columns.of(j).iter().enumerate() {
                f(row, column, summed(k, l));
            }
        }
    }

    /// int lambda_k mu_l over a panel of unit area.
    pub(crate) fn mass(&self) -> Block {
        let outer = self.test.rule(Rule::of_degree(2));
        let mut block = Block::default();
        for node in outer.nodes() {
            for (k, row) in block.iter_mut().enumerate() {
                for (l, entry) in row.iter_mut().enumerate() {
                    *entry += node.weight * node.barycentric[k] * node.barycentric[l];
                }
            }
        }
        block
    }
}

/// Values of a function, given at the vertices, at the points of a rule, times `factor` and the
/// weights.
pub(crate) fn strengths(
    rule: &Rule,
    values: [f64; 3],
    factor: f64,
) -> impl Iterator<Item = f64> + '_ {
    rule.nodes().iter().map(move |node| {
        let [a, b, c] = node.barycentric;
        factor * node.weight * (a * values[0] + b * values[1] + c * values[2])
    })
}

/// Sums over the points of a rule of these values times each of the three linear functions, times
/// `factor`.
pub(crate) fn tested(rule: &Rule, values: impl Iterator<Item = f64>, factor: f64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for (node, value) in rule.nodes().iter().zip(values) {
        for (sum, share) in sums.iter_mut().zip(node.barycentric) {
            *sum += factor * node.weight * share * value;
        }
    }
    sums
}

/// Means, weighted with test functions, of a function of position and unit normal.
pub(crate) fn means(
    panels: &Panels,
    test: Test,
    rows: &DofMap,
    degree: usize,
    f: impl Fn([f64; 3], [f64; 3]) -> f64,
) -> Vec<f64> {
    let rule = test.rule(Rule::of_degree(degree));
    let mut means = vec![0.0; rows.len()];
    for i in 0..panels.len() {
        let normal = panels.panel(i).normal.into();
        let values = rule.on(panels.vertices(i)).map(|(x, _)| f(panels.unscaled(&x), normal));
        rows.add(i, tested(rule, values, panels.areas()[i]), &mut means);
    }
    means.iter_mut().zip(rows.weights(panels.areas())).for_each(|(mean, w)| *mean /= w);
    means
}

/// L2 norm of a function, in scaled lengths.
pub(crate) fn norm(panels: &Panels, map: &DofMap, x: &[f64]) -> f64 {
    let square = |i: usize| {
        let [a, b, c] = map.values(i, x);
        panels.areas()[i] / 6.0 * (a * a + b * b + c * c + a * b + b * c + c * a)
    };
    (0..panels.len()).map(square).sum::<f64>().sqrt()
}
