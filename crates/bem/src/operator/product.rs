//! Products of vectors in host memory: coefficients to point charges (`spread`), fast sum (`sum`),
//! values at points to rows (`gather`), and near field (`near`).

use std::sync::Arc;

use parallel::prelude::*;

use crate::Error;
use crate::device::DeviceNear;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::near::RowKind;
use crate::near::modes::ModeBlock;
use crate::sampling::far;
use crate::sampling::points::QuadraturePoints;
use crate::sampling::{Layout, Sampling};
use crate::solve::backend::Sampled;
use crate::solve::linear_operator::InexactBudget;
use crate::solve::plan::Plan;
use crate::solve::schedule::PlanSchedule;
use crate::space::{self, Carrier, Dofs};

/// Rows per task.
const ROWS: usize = 64;

/// Where the near field is.
pub(super) enum NearField {
    Host(Near),
    /// Of linear densities.
    Modes(Near<ModeBlock>),
    Device(Box<DeviceNear>),
}

impl NearField {
    fn entries(&self) -> usize {
        match self {
            Self::Host(near) => near.entries(),
            Self::Modes(near) => near.entries(),
            Self::Device(near) => near.entries(),
        }
    }

    /// y += A x for each of the consecutive vectors.
    fn multiply_add(&self, x: &[f64], y: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::Host(near) => near.multiply_add(x, y),
            Self::Modes(near) => near.multiply_add(x, y),
            Self::Device(near) => near.multiply_add_on_host(x, y)?,
        }
        Ok(())
    }
}

/// Points and near field.
pub(super) struct Product {
    pub(super) layout: Layout,
    /// At each target of each panel, or one per panel where all are flat.
    normals: Vec<Vec3>,
    near: NearField,
    /// Point charges of the last product, if there was one.
    strengths: Vec<f64>,
    potential: Vec<f64>,
    gradient: Vec<f64>,
    has_summed: bool,
}

impl Product {
    /// From the near-field correction of close pairs.
    pub(super) fn new(layout: Layout, near: NearField) -> Self {
        let Sampling { panels, rules, .. } = &layout.owned;
        let normals = if layout.all.panels.are_curved() {
            let of_panel = |i: usize| panels.normals(rules[1], i);
            (0..panels.len()).into_par_iter().flat_map_iter(of_panel).collect()
        } else {
            (0..panels.len()).into_par_iter().map(|i| panels.normal(i)).collect()
        };
        let (strengths, potential, gradient) = (Vec::new(), Vec::new(), Vec::new());
        Self { normals, layout, near, strengths, potential, gradient, has_summed: false }
    }

    /// Number of entries of the near field.
    pub(super) fn entries(&self) -> usize {
        self.near.entries()
    }

    /// From coefficients to strengths of points, shape (columns, regions of targets, images,
    /// panels, nodes): charges, or dipoles along the normals.
    fn spread(&mut self, x: &[f64], columns: usize) {
        let dipoles = self.layout.all.has(RowKind::Double);
        let owned = &self.layout.owned;
        let Sampling { panels, rules: [rule, _], dofs, .. } = owned;
        let (n, nodes) = (panels.len(), rule.nodes().len());
        let width = nodes * if dipoles { 3 } else { 1 };
        let regions = panels.regions();
        self.strengths.resize(columns * regions * panels.total() * width, 0.0);
        let inputs = owned.len()[0];
        let of_density = (panels.total() * width).max(1);
        let densities = self.strengths.par_chunks_exact_mut(of_density).enumerate();
        densities.for_each(|(density, all)| {
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
                let (is_mirrored, area) = (panels.is_mirrored(i), panels.areas()[panel]);
                dofs.strengths(rule, Carrier { panel, is_mirrored, area }, x, put);
            });
        });
    }

    /// Sums over the points of all ranks, at this rank's. Collective.
    fn sum(&mut self, plan: &mut Plan, columns: usize) -> Result<(), Error> {
        let has = |kind| self.layout.all.has(kind);
        let (dipoles, with_gradient) = (has(RowKind::Double), has(RowKind::Adjoint));
        let with_potential = dipoles || has(RowKind::Single);
        let Sampling { panels, rules, .. } = &self.layout.owned;
        let points = columns * panels.regions() * panels.len() * rules[1].len();
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
        Ok(())
    }

    /// From values at points to rows, shape (columns, rows).
    fn gather(&self, y: &mut [f64]) {
        let Sampling { panels, rules: [_, rule], kinds, dofs } = &self.layout.owned;
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

    /// y = A x for `columns` vectors on the local panels, by the plan that the budget allows.
    /// Collective.
    pub(super) fn apply(
        &mut self,
        plans: &mut PlanSchedule,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let plan = plans.for_step(budget, columns)?;
        let partition = Arc::clone(&self.layout.partition);
        let x = partition.refreshed(x)?;
        let owned = partition.owned_of(&x);
        self.spread(&owned, columns);
        self.sum(plan, columns)?;
        partition.fill_owned(y, |y| {
            self.gather(y);
            far::add(self.layout.owned.seen_far(), &**partition.group(), &owned, y, columns)
        })?;
        self.near.multiply_add(&x, y)?;
        plans.finished();
        Ok(())
    }

    /// As [`Backend::samples`](crate::solve::backend::Backend::samples).
    pub(super) fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        let Self { strengths, potential, gradient, .. } = self;
        let Layout { partition, all: sampling, owned, .. } = &self.layout;
        let panels = &owned.panels;
        let points = QuadraturePoints::new(panels, sampling.rules[0]);
        let targets = QuadraturePoints::new(panels, sampling.rules[1]);
        // Where this rank has a point of the sum, if it does.
        let nodes = sampling.rules[1].len();
        let place = |point: usize| {
            let panel = partition.owned_position(point / nodes)?;
            Some(panel * nodes + point % nodes)
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
            self.has_summed && sampling.has(asked) && !sampling.has(RowKind::Double),
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
        partition.sum(&mut fast)?;
        partition.sum(&mut direct)?;
        Ok(Some([fast, direct]))
    }
}
