//! Products of vectors in host memory: coefficients to point charges, fast sum, values at points to
//! rows, near field.

use parallel::prelude::*;

use super::far;
use super::points::QuadraturePoints;
use super::sampling::{Part, Sampling};
use crate::Error;
use crate::device::DeviceNear;
use crate::geometry::share::Share;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::near::RowKind;
use crate::near::modes::ModeBlock;
use crate::solve::backend::Sampled;
use crate::solve::plan::Plan;
use crate::space::{self, Carrier, Dofs};

/// Rows per task.
const ROWS: usize = 64;

/// Where the near field is.
pub(super) enum NearField {
    Host(Near),
    Device(Box<DeviceNear>),
}

impl NearField {
    fn entries(&self) -> usize {
        match self {
            Self::Host(near) => near.entries(),
            Self::Device(near) => near.entries(),
        }
    }

    /// y += A x for each of the consecutive vectors.
    fn multiply_add(&self, x: &[f64], y: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::Host(near) => near.multiply_add(x, y),
            Self::Device(near) => near.multiply_add_there(x, y)?,
        }
        Ok(())
    }
}

/// Points and near field.
pub(super) struct Product {
    /// Of all panels.
    pub(super) sampling: Sampling,
    pub(super) part: Option<Part>,
    /// At each target of each panel, or one per panel where all are flat.
    normals: Vec<Vec3>,
    near: NearField,
    /// Near field of the linear modes.
    pub(super) modes: Option<Near<ModeBlock>>,
    /// Point charges of the last product, if there was one.
    strengths: Vec<f64>,
    potential: Vec<f64>,
    gradient: Vec<f64>,
    has_summed: bool,
}

impl Product {
    /// From the near-field correction of close pairs.
    pub(super) fn new((sampling, part): (Sampling, Option<Part>), near: NearField) -> Self {
        let Sampling { panels, rules, .. } = part.as_ref().map_or(&sampling, |part| &part.own);
        let normals = if sampling.panels.are_curved() {
            let of_panel = |i: usize| panels.normals(rules[1], i);
            (0..panels.len()).flat_map(of_panel).collect()
        } else {
            (0..panels.len()).map(|i| panels.normal(i)).collect()
        };
        let (strengths, potential, gradient) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            normals,
            sampling,
            part,
            near,
            modes: None,
            strengths,
            potential,
            gradient,
            has_summed: false,
        }
    }

    /// Number of entries of the near field.
    pub(super) fn entries(&self) -> usize {
        self.near.entries() + self.modes.as_ref().map_or(0, Near::entries)
    }

    /// The panels whose points are summed over and at.
    fn own(&self) -> &Sampling {
        self.part.as_ref().map_or(&self.sampling, |part| &part.own)
    }

    /// The panels that vectors have values on.
    pub(super) fn held(&self) -> &Sampling {
        self.part.as_ref().map_or(&self.sampling, |part| &part.held)
    }

    fn share(&self) -> Option<&Share> {
        self.part.as_ref().map(|part| &*part.share)
    }

    /// From coefficients to strengths of points, shape (columns, regions of targets, images,
    /// panels, nodes): charges, or dipoles along the normals.
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
                let (is_mirrored, area) = (panels.is_mirrored(i), panels.areas()[panel]);
                dofs.strengths(rule, Carrier { panel, is_mirrored, area }, x, put);
            });
        }
    }

    /// From values at points to rows, shape (columns, rows).
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

    /// y = A x for `columns` vectors on the held panels, by this plan. Collective where ranks share
    /// them.
    ///
    /// # Errors
    /// Errors of the sum, and [`Error::Fmm`] if communication fails.
    pub(super) fn multiply(
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
            self.near(&held, y)
        } else {
            self.far(plan, x, y, columns)?;
            self.near(x, y)
        }
    }

    /// Adds the sums at points to the rows of their panels.
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

    /// Adds the near field.
    fn near(&self, x: &[f64], y: &mut [f64]) -> Result<(), Error> {
        let Some(modes) = &self.modes else { return self.near.multiply_add(x, y) };
        let (n, size) = (self.held().panels.len(), self.held().len()[0].max(1));
        for (x, y) in x.chunks_exact(size).zip(y.chunks_exact_mut(size)) {
            self.near.multiply_add(&x[..n], &mut y[..n])?;
        }
        modes.multiply_add(x, y);
        Ok(())
    }

    /// As [`Backend::samples`](crate::solve::backend::Backend::samples).
    pub(super) fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        let Self { sampling, strengths, potential, gradient, .. } = self;
        let (own, share) = (self.own(), self.share());
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
        if let Some(share) = share {
            share.sum(&mut fast)?;
            share.sum(&mut direct)?;
        }
        Ok(Some([fast, direct]))
    }
}
