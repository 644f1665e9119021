//! The single-layer operator: charges of panels to mean potentials on panels, by the fast sum and a near-field correction.

use crate::Error;
use crate::device::DeviceProduct;
use crate::gmres::{LinearOperator, Slack};
use crate::ladder::Ladder;
use crate::near::{Near, PairIntegrals};
use crate::pair::PairQuadrature;
use crate::panels::Panels;
use crate::points::Points;
use crate::potentials::Nodes;
use crate::product::{self, Rule};
use crate::triangle::Triangle;

/// A_ij = 1/(A_i A_j) int_i int_j dS_x dS_y / |x - y|: the mean potential on panel i of a unit charge spread evenly over panel j.
pub(crate) struct SingleLayerPairs<'a> {
    pub(crate) panels: &'a Panels,
    pub(crate) quadrature: PairQuadrature,
}

/// What integrals of many pairs share: nodes, and the panel they have in common.
#[derive(Default)]
pub(crate) struct Scratch {
    nodes: Nodes,
    last: Option<(usize, Triangle)>,
}

impl PairIntegrals for SingleLayerPairs<'_> {
    type Scratch = Scratch;

    fn is_symmetric(&self) -> bool {
        true
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
        let last = scratch.last.take();
        let panel = |k: usize| match last {
            Some((known, triangle)) if known == k => triangle,
            _ => self.panels.panel(k),
        };
        let (s, t) = (panel(i), panel(j));
        scratch.last = last.filter(|&(known, _)| known == j).or(Some((i, s)));
        let entry =
            self.quadrature.single_layer_with(&s, &t, &mut scratch.nodes) / (s.area * t.area);
        [entry; 2]
    }

    fn by_points(&self, [outer, inner]: [&Rule; 2], i: usize, j: usize) -> [f64; 2] {
        [product::sum(outer, self.panels.vertices(i), inner, self.panels.vertices(j)); 2]
    }

    fn errors(&self, rules: [&Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        let mut both = Vec::with_capacity(pairs.len());
        product::errors(rules, self.panels.all_vertices(), pairs, &mut both);
        errors.extend(both.into_iter().map(|error| [error; 2]));
    }
}

/// Exact minus quadrature on close pairs, and where it is.
pub(crate) enum Correction {
    /// In the processor's memory.
    Host(Near),
    /// In a GPU's, with the fast sum.
    Device(Box<DeviceProduct>),
}

/// y_i = sum_j A_ij x_j with x_j the charge of panel j and y_i the mean potential on panel i; no factor 1/(4 pi).
///
/// A is symmetric and positive definite up to the fast sum's error.
pub(crate) struct SingleLayer<'a> {
    points: Points<'a>,
    plans: Ladder<'a>,
    correction: Correction,
    charges: Vec<f64>,
    potentials: Vec<f64>,
    /// Products made, and the seconds they took.
    products: usize,
    seconds: f64,
}

impl<'a> SingleLayer<'a> {
    pub(crate) fn new(points: Points<'a>, plans: Ladder<'a>, correction: Correction) -> Self {
        Self {
            points,
            plans,
            correction,
            charges: Vec::new(),
            potentials: Vec::new(),
            products: 0,
            seconds: 0.0,
        }
    }

    /// Mean seconds of a product, over all its columns together.
    pub(crate) fn mean_seconds(&self) -> f64 {
        if self.products == 0 { 0.0 } else { self.seconds / self.products as f64 }
    }

    /// The plan of true residuals.
    pub(crate) fn plan(&self) -> &fmm::Plan {
        self.plans.tight()
    }

    /// Takes another such plan over the same points.
    pub(crate) fn set_plan(&mut self, plan: fmm::Plan, tolerance: f64) {
        self.plans.set_tight(plan, tolerance);
    }

    /// y = A x for `columns` vectors on the device where the near field is.
    ///
    /// # Errors
    /// Those of the fast sum and the GPU; [`fmm::Error::NotPlanned`] if the near field is not there.
    pub(crate) fn apply_there(
        &mut self,
        x: &gpu::Buffer<f64>,
        y: &gpu::Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let started = std::time::Instant::now();
        let Correction::Device(product) = &mut self.correction else {
            return Err(fmm::Error::NotPlanned { what: "device" }.into());
        };
        product.apply(self.plans.plan(None, columns)?, x, y, columns)?;
        product.device().stream().synchronize()?;
        self.products += 1;
        self.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        slack: Option<Slack>,
    ) -> Result<(), Error> {
        if let Correction::Device(product) = &mut self.correction {
            let there = product.device().upload(x)?;
            let result = product.device().buffer(y.len())?;
            self.apply_there(&there, &result, columns)?;
            return Ok(result.read(0, y)?);
        }
        let plan = self.plans.plan(slack, columns)?;
        let started = std::time::Instant::now();
        let count = columns * self.points.len();
        self.charges.resize(count, 0.0);
        self.potentials.resize(count, 0.0);
        self.points.spread(x, &mut self.charges);
        plan.apply(
            fmm::Densities { charges: Some(&self.charges), dipoles: None },
            fmm::Potentials { potential: Some(&mut self.potentials), gradient: None },
        )?;
        self.points.average(&self.potentials, y);
        if let Correction::Host(near) = &self.correction {
            near.multiply_add(x, y);
        }
        self.products += 1;
        self.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Error of the fast sum in the first column of the last product, at about `samples` points, against direct sums. None
    /// before the first product.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn sampled_error(&self, samples: usize) -> Result<Option<SampledError>, Error> {
        let count = self.points.len();
        if count == 0 {
            return Ok(None);
        }
        // An odd stride visits all points of the rule in turn.
        let step = ((count / samples).max(1) - 1) | 1;
        let chosen: Vec<usize> = (0..count).step_by(step).collect();
        let targets: Vec<[f64; 3]> = chosen.iter().map(|&p| self.points.at(p)).collect();
        let sums = match &self.correction {
            Correction::Device(device) => device.samples(&chosen, &targets)?,
            Correction::Host(_) => {
                match (self.charges.get(..count), self.potentials.get(..count)) {
                    (Some(charges), Some(potentials)) => Some([
                        chosen.iter().map(|&p| potentials[p]).collect(),
                        self.points.direct_sums(charges, &targets),
                    ]),
                    _ => None,
                }
            }
        };
        Ok(sums.map(|[found, exact]: [Vec<f64>; 2]| {
            let (mut error, mut size) = (0.0, 0.0);
            for (found, exact) in found.iter().zip(&exact) {
                error += (found - exact).powi(2);
                size += exact * exact;
            }
            let relative = if size > 0.0 { (error / size).sqrt() } else { 0.0 };
            SampledError { relative, absolute: (error / chosen.len() as f64).sqrt() }
        }))
    }
}

/// How far the fast sum is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SampledError {
    /// L2 norm of the error over that of the sum.
    pub(crate) relative: f64,
    /// Root mean square, as a potential.
    pub(crate) absolute: f64,
}

impl LinearOperator for SingleLayer<'_> {
    fn len(&self) -> usize {
        match &self.correction {
            Correction::Host(near) => near.len(),
            Correction::Device(device) => device.len(),
        }
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.product(x, y, columns, None)
    }

    fn apply_loosely(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        slack: Slack,
    ) -> Result<(), Error> {
        self.product(x, y, columns, Some(slack))
    }
}
