//! An operator on processor cores: from coefficients to points, fast sum, from points to rows, near
//! field.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rayon::prelude::*;

use super::far::{self, SeenFar};
use super::points::QuadraturePoints;
use crate::Error;
use crate::geometry::panels::Panels;
use crate::geometry::share::Share;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::near::pairs::RowKind;
use crate::near::slopes::Slopes;
use crate::precondition::interfaces::Preconditioner;
use crate::precondition::mode_inverse::ModeInverse;
use crate::precondition::slopes::WithSlopes;
use crate::quadrature::sums::Rule;
use crate::solve::backend::{Backend, Equations, Sampled, mean_squares};
use crate::solve::completion::Completing;
use crate::solve::gmres::{
    GmresInfo, GmresParams, Identity, InexactBudget, LinearOperator, Metric, gmres_among,
};
use crate::solve::plan::Plan;
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

    /// The same of some of the panels.
    pub(crate) fn subset(&self, chosen: &[u32]) -> Self {
        let kinds = chosen.iter().map(|&i| self.kinds[i as usize]).collect();
        Self { panels: Arc::new(self.panels.subset(chosen)), kinds, ..self.clone() }
    }

    pub(crate) fn seen_far(&self) -> SeenFar<'_> {
        let Self { panels, rules, kinds, dofs } = self;
        SeenFar { panels, rules: *rules, kinds, dofs }
    }

    /// Lengths of what an operator is applied to, and of the result.
    pub(crate) fn len(&self) -> [usize; 2] {
        match &self.dofs {
            Dofs::Charges(density) => [density.modes() * self.panels.len(); 2],
            Dofs::Functions(functions) => [functions.columns.len(), functions.rows.len()],
        }
    }
}

/// What a rank has of an operator that several share.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) share: Arc<Share>,
    /// Over its own panels, whose points it sums over and at, and over those that it holds.
    pub(crate) own: Sampling,
    pub(crate) held: Sampling,
}

impl Part {
    /// The same with rows of other kinds, one for each panel of all.
    pub(crate) fn with_kinds(&self, kinds: &[RowKind]) -> Self {
        let Self { share, own, held } = self;
        let of = |sampling: &Sampling, panels: &[u32]| {
            let kinds = panels.iter().map(|&i| kinds[i as usize]).collect();
            Sampling { kinds, ..sampling.clone() }
        };
        let (own, held) = (of(own, share.own()), of(held, share.held()));
        Self { share: Arc::clone(share), own, held }
    }
}

/// Near field, products and preconditioner on processor cores. Where ranks share the panels,
/// vectors within have values on those that this one holds.
pub(crate) struct Host {
    product: Product,
    /// `None` for an operator that is only applied.
    preconditioner: Option<WithSlopes>,
}

struct Product {
    /// Of all panels.
    sampling: Sampling,
    part: Option<Part>,
    /// At the targets of each panel that is summed at, or one per panel where all are flat.
    normals: Vec<Vec3>,
    near: Near,
    /// Of linear densities.
    slopes: Option<Slopes>,
    /// Of the last product, if there was one.
    strengths: Vec<f64>,
    potential: Vec<f64>,
    gradient: Vec<f64>,
    has_summed: bool,
}

impl Host {
    /// From what the points leave of close pairs.
    pub(crate) fn new(
        (sampling, part): (Sampling, Option<Part>),
        near: Near,
        preconditioner: Option<Box<Preconditioner>>,
    ) -> Self {
        let Sampling { panels, rules, .. } = part.as_ref().map_or(&sampling, |part| &part.own);
        let normals = if sampling.panels.are_curved() {
            let of_panel = |i: usize| panels.normals(rules[1], i);
            (0..panels.len()).flat_map(of_panel).collect()
        } else {
            (0..panels.len()).map(|i| panels.normal(i)).collect()
        };
        let (strengths, potential, gradient) = (Vec::new(), Vec::new(), Vec::new());
        let slopes = None;
        let preconditioner = preconditioner.map(WithSlopes::without);
        let product = Product {
            normals,
            sampling,
            part,
            near,
            slopes,
            strengths,
            potential,
            gradient,
            has_summed: false,
        };
        Self { product, preconditioner }
    }

    /// The same with what linear densities have beyond constant ones.
    pub(crate) fn with_slopes(mut self, slopes: Slopes, inverse: Option<ModeInverse>) -> Self {
        let kinds = &self.product.held().kinds;
        let is_interface: Vec<bool> = kinds.iter().map(|kind| *kind != RowKind::Single).collect();
        self.preconditioner =
            self.preconditioner.map(|means| means.with_slopes(&is_interface, inverse));
        self.product.slopes = Some(slopes);
        self
    }
}

impl Product {
    /// The panels whose points are summed over and at.
    fn own(&self) -> &Sampling {
        self.part.as_ref().map_or(&self.sampling, |part| &part.own)
    }

    /// The panels that vectors have values on.
    fn held(&self) -> &Sampling {
        self.part.as_ref().map_or(&self.sampling, |part| &part.held)
    }

    fn share(&self) -> Option<&Share> {
        self.part.as_ref().map(|part| &*part.share)
    }

    /// Coefficients to strengths of points, shape (columns, regions of targets, images, panels,
    /// nodes): charges, or dipoles along the normals.
    fn spread(&mut self, x: &[f64], columns: usize) {
        let dipoles = self.sampling.has(RowKind::Double);
        let own = self.part.as_ref().map_or(&self.sampling, |part| &part.own);
        let Sampling { panels, rules: [rule, _], dofs, .. } = own;
        let (n, nodes) = (panels.len(), rule.nodes().len());
        let width = nodes * if dipoles { 3 } else { 1 };
        let regions = panels.regions();
        self.strengths.resize(columns * regions * panels.total() * width, 0.0);
        let inputs = own.len()[0];
        let of_density = (panels.total() * width).max(1);
        let densities = self.strengths.chunks_exact_mut(of_density).enumerate();
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
        let Sampling { panels, rules: [_, rule], kinds, dofs } = self.own();
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
        plan: &mut Plan,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
    ) -> Result<(), Error> {
        if let Some(Part { share, .. }) = self.part.clone() {
            let mut held = x.to_vec();
            share.refresh(&mut held)?;
            let own = share.own_of(&held);
            let mut rows = vec![0.0; own.len()];
            self.far(plan, &own, &mut rows, columns)?;
            y.fill(0.0);
            share.put_own(&rows, y);
            self.near(&held, y);
        } else {
            self.far(plan, x, y, columns)?;
            self.near(x, y);
        }
        Ok(())
    }

    /// What the points give, to rows of the panels that they are on.
    fn far(
        &mut self,
        plan: &mut Plan,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
    ) -> Result<(), Error> {
        let has = |kind| self.sampling.has(kind);
        let (dipoles, with_gradient) = (has(RowKind::Double), has(RowKind::Adjoint));
        let with_potential = dipoles || has(RowKind::Single);
        let Sampling { panels, rules, .. } = self.own();
        let points = columns * panels.regions() * panels.len() * rules[1].len();
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
        self.has_summed = true;
        self.gather(y);
        far::add(self.own().seen_far(), self.share(), x, y, columns)
    }

    /// Adds what the near field has.
    fn near(&self, x: &[f64], y: &mut [f64]) {
        match &self.slopes {
            None => self.near.multiply_add(x, y),
            Some(slopes) => {
                let (n, size) = (self.held().panels.len(), self.held().len()[0].max(1));
                for (x, y) in x.chunks_exact(size).zip(y.chunks_exact_mut(size)) {
                    self.near.multiply_add(&x[..n], &mut y[..n]);
                }
                slopes.multiply_add(x, y);
            }
        }
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
        let product = &mut self.product;
        let Some(Part { share, .. }) = product.part.clone() else {
            return plans.product(budget, columns, |plan| product.multiply(plan, x, y, columns));
        };
        let held = share.held_of(x);
        let mut rows = vec![0.0; held.len()];
        plans.product(budget, columns, |plan| product.multiply(plan, &held, &mut rows, columns))?;
        share.gather(&rows, y)
    }

    fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        let Product { sampling, strengths, potential, gradient, .. } = &self.product;
        let (own, share) = (self.product.own(), self.product.share());
        let panels = &own.panels;
        let points = QuadraturePoints::new(panels, sampling.rules[0]);
        let targets = QuadraturePoints::new(panels, sampling.rules[1]);
        // Where this rank has a point of the sum, if it does.
        let nodes = sampling.rules[1].len();
        let place = |point: usize| match share {
            None => Some(point),
            Some(share) => {
                let panel = share.own().binary_search(&((point / nodes) as u32)).ok()?;
                Some(panel * nodes + point % nodes)
            }
        };
        let (values, width) = match of {
            Sampled::Potentials => (potential, 1),
            Sampled::Gradients => (gradient, 3),
        };
        let regions = panels.regions();
        let asked = match of {
            Sampled::Potentials => RowKind::Single,
            Sampled::Gradients => RowKind::Adjoint,
        };
        let (true, Some(strengths)) = (
            self.product.has_summed && sampling.has(asked) && !sampling.has(RowKind::Double),
            strengths.get(..regions * points.total()),
        ) else {
            return Ok(None);
        };
        let [mut fast, mut direct] =
            [vec![0.0; width * chosen.len()], vec![0.0; width * chosen.len()]];
        // Each point in the sum for its region.
        for (region, strengths) in strengths.chunks_exact(points.total().max(1)).enumerate() {
            let is_there = |k: &usize| sampling.panels.region(chosen[*k] / nodes.max(1)) == region;
            let there: Vec<usize> = (0..chosen.len()).filter(is_there).collect();
            let at: Vec<[f64; 3]> = there.iter().map(|&k| places[k]).collect();
            let sums = match of {
                Sampled::Potentials => points.direct_sums(strengths, &at),
                Sampled::Gradients => points.direct_gradients(strengths, &at),
            };
            for (k, sums) in there.into_iter().zip(sums.chunks_exact(width)) {
                if let Some(place) = place(chosen[k]) {
                    let of = width * (region * targets.len() + place);
                    fast[width * k..width * (k + 1)].copy_from_slice(&values[of..of + width]);
                }
                direct[width * k..width * (k + 1)].copy_from_slice(sums);
            }
        }
        if let Some(share) = share {
            share.sum(&mut fast)?;
            share.sum(&mut direct)?;
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
        match self.product.part.clone() {
            Some(part) => self.solve_among(&part.share, plans, equations, b, x, params, observe),
            None => {
                let columns = b.len() / self.product.sampling.len()[0].max(1);
                let completion = equations.completion.map(Completing::alone);
                self.iterate((plans, completion), equations, (b, x, columns), params, observe)
            }
        }
    }
}

impl Host {
    /// Solves where vectors have values on the panels that are held.
    fn iterate(
        &mut self,
        (plans, completion): (&mut PlanSchedule, Option<Completing<'_>>),
        equations: Equations<'_>,
        (b, x, columns): (&[f64], &mut [f64], usize),
        params: &GmresParams,
        observe: &mut dyn FnMut(usize, f64) -> bool,
    ) -> Result<Vec<GmresInfo>, Error> {
        let part = self.product.part.clone();
        let share = part.as_ref().map(|part| &part.share);
        let Equations { weights, parts, count, shares, row, measure, .. } = equations;
        let mean_squares =
            |values: &mut dyn Iterator<Item = f64>| mean_squares(parts, count, shares, values);
        // Messages that did not pass while a residual was measured.
        let lost = RefCell::new(None);
        let size = measure.map(|measure| {
            let lost = &lost;
            move |column: usize, x: &[f64], r: &[f64]| {
                let balanced = |(i, x): (usize, &f64)| row(i)[1] * x;
                let mut left = mean_squares(&mut r.iter().copied());
                let mut balance = if measure.asks_for_balance {
                    mean_squares(&mut x.iter().enumerate().map(balanced))
                } else {
                    Vec::new()
                };
                if let Some(share) = share {
                    let summed = share.sum(&mut left).and_then(|()| share.sum(&mut balance));
                    if let Err(error) = summed {
                        lost.replace(Some(error));
                        return f64::NAN;
                    }
                }
                (measure.size)(column, &left, &balance)
            }
        });
        let metric =
            Metric { weights, measure: size.as_ref().map(|size| size as crate::Measure<'_>) };
        let mut none = Identity(parts.len());
        let mut refreshed;
        let inverses: &mut dyn LinearOperator = match (&mut self.preconditioner, share) {
            (Some(preconditioner), share) => {
                preconditioner.set_rows(row);
                match share {
                    Some(share) => {
                        refreshed = Refreshed { share, preconditioner };
                        &mut refreshed
                    }
                    None => preconditioner,
                }
            }
            (None, _) => &mut none,
        };
        let product = &mut self.product;
        let mut operator = Completed { product, plans, completion, defect: equations.defect };
        let group = share.map(|share| share.group());
        let all = (b, x, columns);
        let found = gmres_among(group, &mut operator, inverses, metric, all, params, observe);
        match lost.take() {
            Some(error) => Err(error),
            None => found,
        }
    }

    /// Solves equations of all panels together with other ranks. Collective.
    #[allow(clippy::too_many_arguments)] // those of `solve`
    fn solve_among(
        &mut self,
        share: &Share,
        plans: &mut PlanSchedule,
        equations: Equations<'_>,
        b: &[f64],
        x: &mut [f64],
        params: &GmresParams,
        observe: &mut dyn FnMut(usize, f64) -> bool,
    ) -> Result<Vec<GmresInfo>, Error> {
        let size = self.product.sampling.len()[0].max(1);
        let (columns, modes) = (b.len() / size, size / share.len().max(1));
        let row = |i: usize| (equations.row)(share.of_all(i));
        let of_part = Equations {
            weights: &share.masked(equations.weights),
            parts: &share.held_of(equations.parts),
            shares: &share.masked(equations.shares),
            row: &row,
            ..equations
        };
        let completion =
            equations.completion.map(|completion| Completing::among(completion, share, modes));
        // One that is asked to stop stops all.
        let mut lost = None;
        let mut observe = |iteration: usize, residual: f64| {
            let goes_on = if observe(iteration, residual) { 1.0 } else { 0.0 };
            let agreed = share.least(goes_on);
            agreed.map_err(|error| lost = Some(error)).is_ok_and(|least| least > 0.0)
        };
        let mut charges = share.held_of(x);
        let all = (&share.held_of(b)[..], &mut charges[..], columns);
        let found = self.iterate((plans, completion), of_part, all, params, &mut observe);
        if let Some(error) = lost {
            return Err(error);
        }
        let found = found?;
        share.gather(&charges, x)?;
        Ok(found)
    }
}

/// A preconditioner of held panels, which needs the values next to a rank's own.
struct Refreshed<'a> {
    share: &'a Share,
    preconditioner: &'a mut WithSlopes,
}

impl LinearOperator for Refreshed<'_> {
    fn len(&self) -> usize {
        self.preconditioner.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let mut held = x.to_vec();
        self.share.refresh(&mut held)?;
        self.preconditioner.apply(&held, y, columns)
    }
}

/// The product with rows completed.
struct Completed<'a> {
    product: &'a mut Product,
    plans: &'a mut PlanSchedule,
    completion: Option<Completing<'a>>,
    /// The largest that exact products found.
    defect: &'a Cell<f64>,
}

impl Completed<'_> {
    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let Self { product, plans, completion, defect } = self;
        plans.product(budget, columns, |plan| product.multiply(plan, x, y, columns))?;
        if let Some(completion) = completion {
            let n = product.held().len()[0];
            for column in 0..columns {
                let of_column = column * n..(column + 1) * n;
                let (x, y) = (&x[of_column.clone()], &mut y[of_column]);
                let found = completion.complete(x, y, budget.is_none())?;
                defect.set(defect.get().max(found));
            }
        }
        Ok(())
    }
}

impl LinearOperator for Completed<'_> {
    fn len(&self) -> usize {
        self.product.held().len()[0]
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
