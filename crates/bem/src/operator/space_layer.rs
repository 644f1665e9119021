//! Layers between spaces of functions: a fast sum over quadrature points and its near-field correction over coefficients.
//!
//! Coefficients give the density at the points of each panel, where it becomes charges or dipoles; potentials or normal
//! derivatives at the points are summed against the test functions. Rows are divided by the integrals of these: they are
//! weighted means.

use std::f64::consts::PI;
use std::sync::Arc;

use rayon::prelude::*;

use crate::geometry::panels::Panels;
use crate::near;
use crate::near::accuracy::Accuracy;
use crate::near::coefficients::{Blocks, SpaceNear};
use crate::near::pairs::RowKind;
use crate::operator::layer;
use crate::quadrature::sums::Rule;
use crate::solve::gmres::LinearOperator;
use crate::space::{self, TestTrial};
use crate::{Error, OperatorOptions};

/// Panels that one task takes at a time.
const PANELS: usize = 64;

/// The operator.
pub(crate) struct SpaceLayer {
    panels: Arc<Panels>,
    kernel: RowKind,
    pairing: TestTrial,
    /// Points of the density, and of the test functions.
    rules: [&'static Rule; 2],
    plan: fmm::Plan,
    near: SpaceNear,
    /// What rows are multiplied by.
    scale: Vec<f64>,
    strengths: Vec<f64>,
    values: Vec<f64>,
}

impl SpaceLayer {
    /// The layer in lengths of the mesh's unit, which is `length` scaled ones where potentials have a length.
    pub(crate) fn new(
        panels: Arc<Panels>,
        kernel: RowKind,
        pairing: TestTrial,
        length: f64,
        options: &OperatorOptions,
    ) -> Result<Self, Error> {
        // Products of two linear functions take a rule more than constants do.
        let accuracy = Accuracy::new(options.tolerance, 1);
        let closest = near::closest(&panels, accuracy.rule);
        let accuracy = accuracy.for_closest(closest);
        let test = pairing.test;
        let blocks = Blocks { panels: &panels, kernel, test, accuracy: &accuracy };
        let near = SpaceNear::new(&blocks, &pairing);
        let rules = [accuracy.rule, test.rule(accuracy.rule)];
        let plan_options = fmm::Options {
            precision: (closest < layer::COINCIDENT).then_some(fmm::Precision::Double),
            ..layer::plan_options(&[kernel], options.tolerance, options.columns)
        };
        let sources = space::points(&panels, rules[0]);
        let targets =
            (rules[1].degree() != rules[0].degree()).then(|| space::points(&panels, rules[1]));
        let plan = fmm::Plan::new(&sources, targets.as_deref(), &plan_options)?;
        let weights = pairing.rows.weights(panels.areas());
        let scale = weights.into_iter().map(|w| length / (4.0 * PI * w)).collect();
        let (strengths, values) = (Vec::new(), Vec::new());
        Ok(Self { panels, kernel, pairing, rules, plan, near, scale, strengths, values })
    }
}

impl LinearOperator for SpaceLayer {
    fn len(&self) -> usize {
        self.pairing.rows.len()
    }

    fn inputs(&self) -> usize {
        self.pairing.columns.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let (n, [inner, outer]) = (self.panels.len(), self.rules);
        if n == 0 {
            return Ok(());
        }
        let (panels, pairing) = (&self.panels, &self.pairing);
        let (rows, inputs) = (pairing.rows.len(), pairing.columns.len());
        let areas = panels.areas();
        let dipoles = self.kernel == RowKind::Double;
        let width = inner.len() * if dipoles { 3 } else { 1 };
        self.strengths.resize(columns * n * width, 0.0);
        let of_panels = self.strengths.par_chunks_exact_mut(width).enumerate();
        of_panels.with_min_len(PANELS).for_each(|(index, strengths)| {
            let (column, panel) = (index / n, index % n);
            let values = pairing.columns.values(panel, &x[column * inputs..][..inputs]);
            let charges = space::strengths(inner, values, areas[panel]);
            if dipoles {
                let normal = panels.panel(panel).normal;
                for (dipole, charge) in strengths.chunks_exact_mut(3).zip(charges) {
                    dipole.copy_from_slice((normal * charge).as_slice());
                }
            } else {
                strengths.iter_mut().zip(charges).for_each(|(strength, q)| *strength = q);
            }
        });
        let gradient = self.kernel == RowKind::Adjoint;
        let width = outer.len() * if gradient { 3 } else { 1 };
        self.values.resize(columns * n * width, 0.0);
        let strengths = Some(&self.strengths[..]);
        let densities = if dipoles {
            fmm::Densities { charges: None, dipoles: strengths }
        } else {
            fmm::Densities { charges: strengths, dipoles: None }
        };
        let values = Some(&mut self.values[..]);
        let potentials = if gradient {
            fmm::Potentials { potential: None, gradient: values }
        } else {
            fmm::Potentials { potential: values, gradient: None }
        };
        self.plan.apply(densities, potentials)?;
        y.fill(0.0);
        let columns = x.chunks_exact(inputs).zip(y.chunks_exact_mut(rows));
        for ((x, y), values) in columns.zip(self.values.chunks_exact(n * width)) {
            for (panel, values) in values.chunks_exact(width).enumerate() {
                let area = areas[panel];
                let tested = if gradient {
                    let normal = panels.panel(panel).normal;
                    let slopes = values.chunks_exact(3);
                    let slopes =
                        slopes.map(|g| g[0] * normal.x + g[1] * normal.y + g[2] * normal.z);
                    space::tested(outer, slopes, area)
                } else {
                    space::tested(outer, values.iter().copied(), area)
                };
                pairing.rows.add(panel, tested, y);
            }
            self.near.multiply_add(x, y);
            y.iter_mut().zip(&self.scale).for_each(|(y, scale)| *y *= scale);
        }
        Ok(())
    }
}

/// The mass matrix, its rows divided by the integrals of the test functions.
pub(crate) struct Mass {
    panels: Arc<Panels>,
    pairing: TestTrial,
    weights: Vec<f64>,
}

impl Mass {
    pub(crate) fn new(panels: Arc<Panels>, pairing: TestTrial) -> Self {
        let weights = pairing.rows.weights(panels.areas());
        Self { panels, pairing, weights }
    }
}

impl LinearOperator for Mass {
    fn len(&self) -> usize {
        self.pairing.rows.len()
    }

    fn inputs(&self) -> usize {
        self.pairing.columns.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        let Self { panels, pairing, weights } = self;
        let (rows, inputs) = (pairing.rows.len().max(1), pairing.columns.len().max(1));
        let mass = pairing.mass();
        y.fill(0.0);
        for (x, y) in x.chunks_exact(inputs).zip(y.chunks_exact_mut(rows)) {
            for (panel, area) in panels.areas().iter().enumerate() {
                let values = pairing.columns.values(panel, x);
                let tested =
                    mass.map(|row| area * row.iter().zip(values).map(|(m, x)| m * x).sum::<f64>());
                pairing.rows.add(panel, tested, y);
            }
            y.iter_mut().zip(weights.iter()).for_each(|(y, w)| *y /= w);
        }
        Ok(())
    }
}
