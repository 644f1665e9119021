//! Single layer, double layer and adjoint double layer over panels: fast sum over quadrature points and near-field correction.
//!
//! Unknowns are charges of panels, rows means over panels, and there is no factor 1/(4 pi):
//!
//! ```text
//! single:  A_ij = 1/(A_i A_j) int_i int_j 1 / |x - y|
//! double:  A_ij = 1/(A_i A_j) int_i int_j n_y . (x - y) / |x - y|^3        (panel j carries dipoles along its normal)
//! adjoint: A_ij = 1/(A_i A_j) int_i int_j n_x . grad_x 1 / |x - y|         (the transposed double layer)
//! ```
//!
//! Rows of one operator may be of different kinds, which is how conductors and interfaces share one fast sum.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use crate::Error;
use crate::device::{DeviceProduct, Sampled};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::near::pairs::RowKind;
use crate::operator::points::QuadraturePoints;
use crate::operator::schedule::PlanSchedule;
use crate::quadrature::TriangleNode;
use crate::quadrature::sums::Rule;
use crate::solve::gmres::{InexactBudget, LinearOperator};

/// Points of different panels nearer than this share of the panels' size add terms to the gradient that dwarf what the
/// correction leaves of them: that needs all digits.
pub(crate) const COINCIDENT: f64 = 0.03;

/// The same where there are potentials alone, of which the sum has no more than the difference between points.
const COINCIDENT_POTENTIALS: f64 = 1e-3;

/// What near pairs in single precision leave in potentials, times the share of the panels' size that points are apart (measured: 2e-6
/// at 0.014, between plates).
const ROUNDING: f64 = 3e-8;

/// Rows that one task works at a time.
const ROWS: usize = 64;

/// The format of a fast sum for rows of these kinds and a solver's `tolerance`, over points that come as close to each other as `closest`:
/// what close points add the correction takes away again, which needs digits. `None` leaves it to the sum.
pub(crate) fn precision(kinds: &[RowKind], closest: f64, tolerance: f64) -> Option<fmm::Precision> {
    let has_slopes = kinds.iter().any(|k| matches!(k, RowKind::Adjoint | RowKind::Double));
    let least =
        if has_slopes { COINCIDENT } else { COINCIDENT_POTENTIALS.max(ROUNDING / tolerance) };
    (closest < least).then_some(fmm::Precision::Double)
}

/// Options of the fast sum for rows of these kinds.
pub(crate) fn plan_options(kinds: &[RowKind], tolerance: f64, densities: usize) -> fmm::Options {
    fmm::Options {
        tolerance,
        densities,
        gradient: kinds.contains(&RowKind::Adjoint),
        dipoles: kinds.contains(&RowKind::Double),
        ..fmm::Options::default()
    }
}

/// Exact minus quadrature on close pairs, and where it is.
pub(crate) enum Correction {
    /// In the processor's memory.
    Host(Near),
    /// In a GPU's, with the fast sum.
    Device(Box<DeviceProduct>),
}

impl Correction {
    fn entries(&self) -> usize {
        match self {
            Self::Host(near) => near.entries(),
            Self::Device(product) => product.entries(),
        }
    }
}

/// How far a fast sum is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SampledError {
    /// L2 norm of the error over that of the sum.
    pub(crate) relative: f64,
    /// Root mean square, as a potential.
    pub(crate) absolute: f64,
}

/// The operator.
pub(crate) struct Layer {
    panels: Arc<Panels>,
    rule: &'static Rule,
    kinds: Vec<RowKind>,
    normals: Vec<Vec3>,
    plans: PlanSchedule<'static>,
    correction: Correction,
    strengths: Vec<f64>,
    potential: Vec<f64>,
    gradient: Vec<f64>,
    products: usize,
    seconds: f64,
}

impl Layer {
    /// `plans` are over all [`QuadraturePoints`] with [`plan_options`], images as sources alone. Rows are either all [`RowKind::Double`] or none
    /// is; those of panels with images are not.
    pub(crate) fn new(
        panels: Arc<Panels>,
        rule: &'static Rule,
        kinds: Vec<RowKind>,
        plans: PlanSchedule<'static>,
        correction: Correction,
    ) -> Self {
        Self {
            normals: (0..panels.len()).map(|i| panels.normal(i)).collect(),
            panels,
            rule,
            kinds,
            plans,
            correction,
            strengths: Vec::new(),
            potential: Vec::new(),
            gradient: Vec::new(),
            products: 0,
            seconds: 0.0,
        }
    }

    /// The plan of true residuals.
    pub(crate) fn plan(&self) -> &fmm::Plan {
        self.plans.tight()
    }

    /// Mean seconds of a product, over all its columns together.
    pub(crate) fn mean_seconds(&self) -> f64 {
        if self.products == 0 { 0.0 } else { self.seconds / self.products as f64 }
    }

    /// Entries of its near field.
    pub(crate) fn correction_entries(&self) -> usize {
        self.correction.entries()
    }

    /// Takes another near field.
    pub(crate) fn set_correction(&mut self, correction: Correction) {
        self.correction = correction;
    }

    /// Takes another plan of true residuals over the same points.
    pub(crate) fn set_plan(&mut self, plan: fmm::Plan, tolerance: f64) {
        self.plans.set_tight(plan, tolerance);
    }

    /// Error of the fast sum in the first column of the last product, at about `samples` points, against direct sums: of the
    /// gradient if there is no potential. `None` for dipoles and before the first product.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn sampled_error(&self, samples: usize) -> Result<Option<SampledError>, Error> {
        let points = self.points();
        // An odd stride visits all points of the rule in turn.
        let step = ((points.len() / samples).max(1) - 1) | 1;
        let chosen: Vec<usize> = (0..points.len()).step_by(step).collect();
        let targets: Vec<[f64; 3]> = chosen.iter().map(|&p| points.at(p)).collect();
        let potential = self.kinds.contains(&RowKind::Single);
        let width = if potential { 1 } else { 3 };
        let of = if potential { Sampled::Potentials } else { Sampled::Gradients };
        let sums = self.sums_at(of, &chosen, &targets)?;
        let Some([fast, exact]) = sums else { return Ok(None) };
        let (mut error, mut size) = (0.0, 0.0);
        // Of rows that are potentials.
        let (mut error_there, mut count_there) = (0.0, 0);
        let both = fast.chunks_exact(width).zip(exact.chunks_exact(width));
        for (&p, (fast, exact)) in chosen.iter().zip(both) {
            let is_potential = self.kinds[p / self.rule.len()] == RowKind::Single;
            for (fast, exact) in fast.iter().zip(exact) {
                let square = (fast - exact).powi(2);
                error += square;
                size += exact * exact;
                if is_potential {
                    error_there += square;
                    count_there += 1;
                }
            }
        }
        let absolute =
            if count_there > 0 { (error_there / f64::from(count_there)).sqrt() } else { 0.0 };
        Ok((size > 0.0).then(|| SampledError { relative: (error / size).sqrt(), absolute }))
    }

    /// The first column of the last product at some points, and direct sums there.
    fn sums_at(
        &self,
        of: Sampled,
        chosen: &[usize],
        targets: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        if let Correction::Device(product) = &self.correction {
            return Ok(product.samples(of, chosen, targets)?);
        }
        let count = self.panels.total() * self.rule.len();
        let Some(strengths) = self.strengths.get(..count) else { return Ok(None) };
        if self.kinds.contains(&RowKind::Double) {
            return Ok(None);
        }
        let points = self.points();
        Ok(Some(match of {
            Sampled::Potentials => {
                let fast = chosen.iter().map(|&p| self.potential[p]).collect();
                [fast, points.direct_sums(strengths, targets)]
            }
            Sampled::Gradients => {
                let slopes = |&p: &usize| self.gradient[3 * p..3 * p + 3].iter().copied();
                let fast = chosen.iter().flat_map(slopes).collect();
                [fast, points.direct_slopes(strengths, targets)]
            }
        }))
    }

    /// y = A x for `columns` vectors on the device where the near field is.
    ///
    /// # Errors
    /// Those of the fast sum and the GPU; [`fmm::Error::NotPlanned`] if the near field is not there.
    pub(crate) fn apply_on_device(
        &mut self,
        x: &gpu::Buffer<f64>,
        y: &gpu::Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let started = Instant::now();
        let Correction::Device(product) = &mut self.correction else {
            return Err(fmm::Error::NotPlanned { what: "device" }.into());
        };
        product.apply(self.plans.plan(None, columns)?, x, y, columns)?;
        product.device().stream().synchronize()?;
        self.products += 1;
        self.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Errors of the fast sum in the rows of some panels in the first column of the last product, against direct sums. Rows of
    /// [`RowKind::Double`] and rows before the first product have none.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn row_errors(&self, chosen: &[usize]) -> Result<Vec<f64>, Error> {
        let nodes = self.rule.nodes().len();
        let points = self.points();
        let of_panel = |&i: &usize| i * nodes..(i + 1) * nodes;
        let places: Vec<usize> = chosen.iter().flat_map(of_panel).collect();
        let targets: Vec<[f64; 3]> = places.iter().map(|&p| points.at(p)).collect();
        let mut errors = vec![0.0; chosen.len()];
        for (kernel, of) in
            [(RowKind::Single, Sampled::Potentials), (RowKind::Adjoint, Sampled::Gradients)]
        {
            if chosen.iter().all(|&i| self.kinds[i] != kernel) {
                continue;
            }
            let Some([fast, exact]) = self.sums_at(of, &places, &targets)? else { continue };
            let width = fast.len() / (chosen.len() * nodes);
            let both = fast.chunks_exact(width * nodes).zip(exact.chunks_exact(width * nodes));
            for ((error, &i), (fast, exact)) in errors.iter_mut().zip(chosen).zip(both) {
                if self.kinds[i] == kernel {
                    let difference =
                        |k: usize, of: usize| fast[width * k + of] - exact[width * k + of];
                    let value = |k: usize| match kernel {
                        RowKind::Adjoint => {
                            Vec3::from_fn(|of, _| difference(k, of)).dot(&self.normals[i])
                        }
                        _ => difference(k, 0),
                    };
                    let weighted = |(k, node): (usize, &TriangleNode)| node.weight * value(k);
                    *error = self.rule.nodes().iter().enumerate().map(weighted).sum();
                }
            }
        }
        Ok(errors)
    }

    fn points(&self) -> QuadraturePoints<'_> {
        QuadraturePoints::new(&self.panels, self.rule)
    }

    /// Charges of panels to strengths of points: charges, or dipoles along the normals.
    fn spread(&mut self, x: &[f64], dipoles: bool) {
        let (n, total) = (self.panels.len(), self.panels.total());
        let with_images: Vec<f64>;
        let mut x = x;
        if total > n {
            with_images = x.chunks_exact(n).flat_map(|x| self.panels.unfolded(x)).collect();
            x = &with_images;
        }
        let (normals, nodes) = (&self.normals, self.rule.nodes());
        let width = if dipoles { 3 } else { 1 };
        self.strengths.resize(x.len() * nodes.len() * width, 0.0);
        if !dipoles {
            QuadraturePoints::new(&self.panels, self.rule).spread(x, &mut self.strengths);
            return;
        }
        let of_panel = self.strengths.chunks_exact_mut(nodes.len() * width);
        for (index, (strengths, x)) in of_panel.zip(x).enumerate() {
            let moment = normals[index % normals.len()] * *x;
            for (d, node) in strengths.chunks_exact_mut(3).zip(nodes) {
                d.copy_from_slice((moment * node.weight).as_slice());
            }
        }
    }

    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        if let Correction::Device(product) = &self.correction {
            let there = product.device().upload(x)?;
            let result = product.device().buffer(y.len())?;
            self.apply_on_device(&there, &result, columns)?;
            return Ok(result.read(0, y)?);
        }
        // Before the clock starts: it may be new.
        self.plans.plan(budget, columns)?;
        let started = Instant::now();
        let (n, nodes) = (self.panels.len(), self.rule.nodes());
        let points = columns * n * nodes.len();
        let has = |kernel| self.kinds.contains(&kernel);
        let (dipoles, with_gradient) = (has(RowKind::Double), has(RowKind::Adjoint));
        let with_potential = dipoles || has(RowKind::Single);
        self.spread(x, dipoles);
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
        self.plans.plan(budget, columns)?.apply(densities, potentials)?;
        let (normals, kinds) = (&self.normals, &self.kinds);
        let (potential, gradient) = (&self.potential, &self.gradient);
        y.par_iter_mut().enumerate().with_min_len(ROWS).for_each(|(row, y)| {
            let (panel, first) = (row % n, row * nodes.len());
            *y = match kinds[panel] {
                RowKind::None => 0.0,
                RowKind::Single | RowKind::Double => {
                    nodes.iter().zip(&potential[first..]).map(|(node, phi)| node.weight * phi).sum()
                }
                RowKind::Adjoint => {
                    let slopes = gradient[3 * first..].chunks_exact(3);
                    let mean: Vec3 = nodes
                        .iter()
                        .zip(slopes)
                        .map(|(node, g)| Vec3::new(g[0], g[1], g[2]) * node.weight)
                        .sum();
                    mean.dot(&normals[panel])
                }
            };
        });
        if let Correction::Host(near) = &self.correction {
            near.multiply_add(x, y);
        }
        self.products += 1;
        self.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }
}

impl LinearOperator for Layer {
    fn len(&self) -> usize {
        self.panels.len()
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
