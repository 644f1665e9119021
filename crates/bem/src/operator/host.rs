//! An operator on processor cores: from coefficients to points, fast sum, from points to rows, near
//! field.

use std::sync::Arc;

use rayon::prelude::*;

use super::far;
use super::points::QuadraturePoints;
use crate::Error;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::near::pairs::RowKind;
use crate::near::slopes::Slopes;
use crate::precondition::interfaces::Preconditioner;
use crate::precondition::mode_inverse::ModeInverse;
use crate::precondition::slopes::WithSlopes;
use crate::quadrature::sums::Rule;
use crate::solve::backend::{Backend, Equations, Sampled, mean_squares};
use crate::solve::completion;
use crate::solve::gmres::{
    GmresInfo, GmresParams, Identity, InexactBudget, LinearOperator, Metric, gmres,
};
use crate::solve::schedule::PlanSchedule;
use crate::space::{self, Dofs};

/// Rows that one task works at a time.
const ROWS: usize = 64;

/// Panels, points and unknowns of an operator.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    pub(crate) panels: Arc<Panels>,
    /// Rules of the sources, and of the targets.
    pub(crate) rules: [&'static Rule; 2],
    /// One per panel.
    pub(crate) kinds: Arc<[RowKind]>,
    pub(crate) dofs: Dofs,
}

impl Sampling {
    pub(crate) fn has(&self, kind: RowKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Lengths of what an operator is applied to, and of the result.
    pub(crate) fn len(&self) -> [usize; 2] {
        match &self.dofs {
            Dofs::Charges(density) => [density.modes() * self.panels.len(); 2],
            Dofs::Functions(functions) => [functions.columns.len(), functions.rows.len()],
        }
    }
}

/// Near field, products and preconditioner on processor cores.
pub(crate) struct Host {
    product: Product,
    /// `None` for an operator that is only applied.
    preconditioner: Option<WithSlopes>,
}

struct Product {
    sampling: Sampling,
    /// At the targets of each panel, or one per panel where all are flat.
    normals: Vec<Vec3>,
    near: Near,
    /// Of linear densities.
    slopes: Option<Slopes>,
    strengths: Vec<f64>,
    potential: Vec<f64>,
    gradient: Vec<f64>,
}

impl Host {
    /// From what the points leave of close pairs.
    pub(crate) fn new(
        sampling: Sampling,
        near: Near,
        preconditioner: Option<Box<Preconditioner>>,
    ) -> Self {
        let panels = &sampling.panels;
        let normals = if panels.are_curved() {
            let of_panel = |i: usize| panels.normals(sampling.rules[1], i);
            (0..panels.len()).flat_map(of_panel).collect()
        } else {
            (0..panels.len()).map(|i| panels.normal(i)).collect()
        };
        let (strengths, potential, gradient) = (Vec::new(), Vec::new(), Vec::new());
        let slopes = None;
        let preconditioner = preconditioner.map(WithSlopes::without);
        let product = Product { normals, sampling, near, slopes, strengths, potential, gradient };
        Self { product, preconditioner }
    }

    /// The same with what linear densities have beyond constant ones.
    pub(crate) fn with_slopes(mut self, slopes: Slopes, inverse: Option<ModeInverse>) -> Self {
        let kinds = &self.product.sampling.kinds;
        let is_interface: Vec<bool> = kinds.iter().map(|kind| *kind != RowKind::Single).collect();
        self.preconditioner =
            self.preconditioner.map(|means| means.with_slopes(&is_interface, inverse));
        self.product.slopes = Some(slopes);
        self
    }
}

impl Product {
    /// Coefficients to strengths of points, shape (columns, regions of targets, images, panels,
    /// nodes): charges, or dipoles along the normals.
    fn spread(&mut self, x: &[f64], columns: usize) {
        let Sampling { panels, rules: [rule, _], dofs, .. } = &self.sampling;
        let (n, nodes) = (panels.len(), rule.nodes().len());
        let dipoles = self.sampling.has(RowKind::Double);
        let width = nodes * if dipoles { 3 } else { 1 };
        let regions = panels.regions();
        self.strengths.resize(columns * regions * panels.total() * width, 0.0);
        let inputs = self.sampling.len()[0];
        let densities = self.strengths.chunks_exact_mut(panels.total() * width).enumerate();
        for (density, all) in densities {
            let (column, region) = (density / regions, density % regions);
            let x = &x[column * inputs..(column + 1) * inputs];
            all.par_chunks_exact_mut(width).enumerate().with_min_len(ROWS).for_each(|(i, all)| {
                let (panel, factor) = (i % n, panels.factor_in(region, i));
                let put = |k: usize, charge: f64| {
                    if dipoles {
                        let dipole = panels.normal(i) * (factor * charge);
                        all[3 * k..3 * k + 3].copy_from_slice(dipole.as_slice());
                    } else {
                        all[k] = factor * charge;
                    }
                };
                dofs.strengths(rule, (panel, panels.is_mirrored(i)), x, panels.areas()[panel], put);
            });
        }
    }

    /// Values at points to rows, shape (columns, rows).
    fn gather(&self, y: &mut [f64]) {
        let Sampling { panels, rules: [_, rule], kinds, dofs } = &self.sampling;
        let (n, nodes, regions) = (panels.len(), rule.nodes().len(), panels.regions());
        // The first point of a panel in a column, in the sum for its region.
        let first = |column: usize, panel: usize| {
            ((column * regions + panels.region(panel)) * n + panel) * nodes
        };
        let value = |point: usize, panel: usize| match kinds[panel] {
            RowKind::None => 0.0,
            RowKind::Single | RowKind::Double => self.potential[point],
            RowKind::Adjoint => {
                let g = &self.gradient[3 * point..3 * point + 3];
                let at = if self.normals.len() > n { point % (n * nodes) } else { panel };
                Vec3::new(g[0], g[1], g[2]).dot(&self.normals[at])
            }
        };
        match dofs {
            Dofs::Charges(density) => {
                let (weights, modes) = (rule.modes(), density.modes());
                y.par_iter_mut().enumerate().with_min_len(ROWS).for_each(|(row, y)| {
                    let (panel, mode) = (row % n, row / n % modes);
                    let first = first(row / (n * modes), panel);
                    let weighted = |(k, weight): (usize, &f64)| weight * value(first + k, panel);
                    *y = weights[mode].iter().enumerate().map(weighted).sum();
                });
            }
            Dofs::Functions(functions) => {
                y.fill(0.0);
                for (column, y) in y.chunks_exact_mut(functions.rows.len().max(1)).enumerate() {
                    let tested = |panel: usize| {
                        let first = first(column, panel);
                        let values = (first..first + nodes).map(|point| value(point, panel));
                        space::tested(rule, values, panels.areas()[panel])
                    };
                    let tested: Vec<[f64; 3]> = (0..n).into_par_iter().map(tested).collect();
                    let panels = tested.into_iter().enumerate();
                    panels.for_each(|(panel, tested)| functions.rows.add(panel, tested, y));
                }
            }
        }
    }

    fn multiply(
        &mut self,
        plan: &mut fmm::Plan,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
    ) -> Result<(), Error> {
        let has = |kind| self.sampling.has(kind);
        let (dipoles, with_gradient) = (has(RowKind::Double), has(RowKind::Adjoint));
        let with_potential = dipoles || has(RowKind::Single);
        let panels = &self.sampling.panels;
        let points = columns * panels.regions() * panels.len() * self.sampling.rules[1].len();
        self.spread(x, columns);
        self.potential.resize(if with_potential { points } else { 0 }, 0.0);
        self.gradient.resize(if with_gradient { 3 * points } else { 0 }, 0.0);
        let strengths = Some(&self.strengths[..]);
        let densities = if dipoles {
            fmm::Densities { charges: None, dipoles: strengths }
        } else {
            fmm::Densities { charges: strengths, dipoles: None }
        };
        let potentials = fmm::Potentials {
            potential: with_potential.then_some(&mut self.potential[..]),
            gradient: with_gradient.then_some(&mut self.gradient[..]),
        };
        plan.apply(densities, potentials)?;
        self.gather(y);
        let Sampling { panels, rules, kinds, dofs } = &self.sampling;
        far::add(panels, *rules, kinds, dofs, x, y);
        match &self.slopes {
            None => self.near.multiply_add(x, y),
            Some(slopes) => {
                let (n, size) = (self.sampling.panels.len(), self.sampling.len()[0].max(1));
                for (x, y) in x.chunks_exact(size).zip(y.chunks_exact_mut(size)) {
                    self.near.multiply_add(&x[..n], &mut y[..n]);
                }
                slopes.multiply_add(x, y);
            }
        }
        Ok(())
    }
}

impl Backend for Host {
    fn entries(&self) -> usize {
        self.product.near.entries() + self.product.slopes.as_ref().map_or(0, Slopes::entries)
    }

    fn multiply(
        &mut self,
        plans: &mut PlanSchedule,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        plans.product(budget, columns, |plan| self.product.multiply(plan, x, y, columns))
    }

    fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        let Product { sampling, strengths, potential, gradient, .. } = &self.product;
        let panels = &sampling.panels;
        let points = QuadraturePoints::new(panels, sampling.rules[0]);
        let targets = QuadraturePoints::new(panels, sampling.rules[1]);
        let (values, width) = match of {
            Sampled::Potentials => (potential, 1),
            Sampled::Gradients => (gradient, 3),
        };
        let regions = panels.regions();
        let (true, Some(strengths)) = (
            !values.is_empty() && !sampling.has(RowKind::Double),
            strengths.get(..regions * points.total()),
        ) else {
            return Ok(None);
        };
        let [mut fast, mut direct] =
            [vec![0.0; width * chosen.len()], vec![0.0; width * chosen.len()]];
        // Each point in the sum for its region.
        for (region, strengths) in strengths.chunks_exact(points.total().max(1)).enumerate() {
            let is_there = |k: &usize| panels.region(targets.panel(chosen[*k])) == region;
            let own: Vec<usize> = (0..chosen.len()).filter(is_there).collect();
            let at: Vec<[f64; 3]> = own.iter().map(|&k| places[k]).collect();
            let sums = match of {
                Sampled::Potentials => points.direct_sums(strengths, &at),
                Sampled::Gradients => points.direct_gradients(strengths, &at),
            };
            for (k, sums) in own.into_iter().zip(sums.chunks_exact(width)) {
                let of = width * (region * targets.len() + chosen[k]);
                fast[width * k..width * (k + 1)].copy_from_slice(&values[of..of + width]);
                direct[width * k..width * (k + 1)].copy_from_slice(sums);
            }
        }
        Ok(Some([fast, direct]))
    }

    fn solve(
        &mut self,
        plans: &mut PlanSchedule,
        equations: Equations<'_>,
        b: &[f64],
        x: &mut [f64],
        params: &GmresParams,
        observe: &mut dyn FnMut(usize, f64) -> bool,
    ) -> Result<Vec<GmresInfo>, Error> {
        let Equations { weights, parts, count, shares, row, measure, .. } = equations;
        let mean_squares =
            |values: &mut dyn Iterator<Item = f64>| mean_squares(parts, count, shares, values);
        let size = measure.map(|measure| {
            move |column: usize, x: &[f64], r: &[f64]| {
                let balanced = |(i, x): (usize, &f64)| row(i)[1] * x;
                let left = mean_squares(&mut r.iter().copied());
                let balance = if measure.asks_for_balance {
                    mean_squares(&mut x.iter().enumerate().map(balanced))
                } else {
                    Vec::new()
                };
                (measure.size)(column, &left, &balance)
            }
        });
        let metric =
            Metric { weights, measure: size.as_ref().map(|size| size as crate::Measure<'_>) };
        let mut none = Identity(parts.len());
        let inverses: &mut dyn LinearOperator = match &mut self.preconditioner {
            Some(preconditioner) => {
                preconditioner.set_rows(row);
                preconditioner
            }
            None => &mut none,
        };
        let mut operator = Completed { product: &mut self.product, plans, equations };
        gmres(&mut operator, inverses, metric, b, x, params, observe)
    }
}

/// The product with rows completed.
struct Completed<'a> {
    product: &'a mut Product,
    plans: &'a mut PlanSchedule,
    equations: Equations<'a>,
}

impl Completed<'_> {
    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let Self { product, plans, equations } = self;
        plans.product(budget, columns, |plan| product.multiply(plan, x, y, columns))?;
        if let Some(completion) = equations.completion {
            let n = product.sampling.len()[0].max(1);
            for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
                let found = completion::complete(completion, x, y, budget.is_none())?;
                equations.defect.set(equations.defect.get().max(found));
            }
        }
        Ok(())
    }
}

impl LinearOperator for Completed<'_> {
    fn len(&self) -> usize {
        self.product.sampling.len()[0]
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.product(x, y, columns, None)
    }

    fn apply_inexact(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: InexactBudget,
    ) -> Result<(), Error> {
        self.product(x, y, columns, Some(budget))
    }
}
