//! A boundary operator: single layer, double layer and adjoint double layer over panels.
//!
//! ```text
//! single:  A_ij = int_i int_j phi_i(x) psi_j(y) 1 / |x - y|
//! double:  A_ij = int_i int_j phi_i(x) psi_j(y) n_y . (x - y) / |x - y|^3
//! adjoint: A_ij = int_i int_j phi_i(x) psi_j(y) n_x . grad_x 1 / |x - y|  (its transpose)
//! ```
//!
//! with test functions phi and trial functions psi ([`Dofs`](crate::space::Dofs)) and no factor
//! 1/(4 pi). Rows of one operator may be of different kinds: that is how conductors and interfaces
//! share one fast sum. The [`Backend`] decides where near field, products and solve run.

use super::fast_sum::SampledError;
use crate::Error;
use crate::geometry::triangle::Vec3;
use crate::near::RowKind;
use crate::quadrature::TriangleNode;
use crate::sampling::Sampling;
use crate::sampling::points::QuadraturePoints;
use crate::solve::backend::{Backend, Equations, Sampled};
use crate::solve::gmres::{GmresInfo, GmresParams};
use crate::solve::linear_operator::LinearOperator;
use crate::solve::observer::Observer;
use crate::solve::plan::Plan;
use crate::solve::schedule::PlanSchedule;

/// The operator.
pub struct Layer {
    sampling: Sampling,
    plans: PlanSchedule,
    backend: Box<dyn Backend>,
}

impl Layer {
    /// `plans` are for all [`QuadraturePoints`] of `sampling`; images are sources only.
    pub fn new(sampling: Sampling, plans: PlanSchedule, backend: Box<dyn Backend>) -> Self {
        Self { sampling, plans, backend }
    }

    /// The plans, with the time of products with them.
    pub(crate) fn plans(&self) -> &PlanSchedule {
        &self.plans
    }

    /// Number of entries of its near field.
    pub(crate) fn near_entries(&self) -> usize {
        self.backend.entries()
    }

    /// Replaces the near field.
    pub(crate) fn set_backend(&mut self, backend: Box<dyn Backend>) {
        self.backend = backend;
    }

    /// Replaces the plan of true residuals, over the same points.
    pub(crate) fn set_plan(&mut self, plan: Plan, tolerance: f64) {
        self.plans.set_tight(plan, tolerance);
    }

    /// Solves `equations` of its rows for right-hand sides `b` by GMRES, starting from `x`.
    pub(crate) fn solve(
        &mut self,
        equations: Equations<'_>,
        b: &[f64],
        x: &mut [f64],
        params: &GmresParams,
        observer: &mut dyn Observer,
    ) -> Result<Vec<GmresInfo>, Error> {
        let _span = tracing::debug_span!("gmres").entered();
        self.backend.solve(&mut self.plans, equations, b, x, params, observer)
    }

    /// Error of the fast sum in the first column of the last product, at about `samples` points,
    /// against direct sums: of the gradient if there is no potential. `None` for dipoles and before
    /// the first product.
    pub fn sampled_error(&self, samples: usize) -> Result<Option<SampledError>, Error> {
        let _span = tracing::debug_span!("sampled error of the fast sum").entered();
        let Sampling { panels, rules: [_, rule], kinds, .. } = &self.sampling;
        let points = QuadraturePoints::new(panels, rule);
        // An odd stride visits all points of the rule in turn.
        let step = ((points.len() / samples).max(1) - 1) | 1;
        let chosen: Vec<usize> = (0..points.len()).step_by(step).collect();
        let targets: Vec<[f64; 3]> = chosen.iter().map(|&p| points.at(p)).collect();
        let potential = self.sampling.has(RowKind::Single);
        let width = if potential { 1 } else { 3 };
        let of = if potential { Sampled::Potentials } else { Sampled::Gradients };
        let sums = self.backend.samples(of, &chosen, &targets)?;
        let Some([fast, exact]) = sums else { return Ok(None) };
        let (mut error, mut size) = (0.0, 0.0);
        // Of rows that are potentials.
        let (mut error_there, mut count_there) = (0.0, 0);
        let both = fast.chunks_exact(width).zip(exact.chunks_exact(width));
        for (&p, (fast, exact)) in chosen.iter().zip(both) {
            let is_potential = kinds[p / rule.len()] == RowKind::Single;
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

    /// Errors of the fast sum in the rows of some panels in the first column of the last product,
    /// against direct sums. Zero for rows of [`RowKind::Double`] and before the first product.
    pub fn row_errors(&self, chosen: &[usize]) -> Result<Vec<f64>, Error> {
        let Sampling { panels, rules: [_, rule], kinds, .. } = &self.sampling;
        let points = QuadraturePoints::new(panels, rule);
        let nodes = rule.nodes().len();
        let of_panel = |&i: &usize| i * nodes..(i + 1) * nodes;
        let places: Vec<usize> = chosen.iter().flat_map(of_panel).collect();
        let targets: Vec<[f64; 3]> = places.iter().map(|&p| points.at(p)).collect();
        let mut errors = vec![0.0; chosen.len()];
        for (kind, of) in
            [(RowKind::Single, Sampled::Potentials), (RowKind::Adjoint, Sampled::Gradients)]
        {
            if chosen.iter().all(|&i| kinds[i] != kind) {
                continue;
            }
            let Some([fast, exact]) = self.backend.samples(of, &places, &targets)? else {
                continue;
            };
            let width = fast.len() / (chosen.len() * nodes);
            let both = fast.chunks_exact(width * nodes).zip(exact.chunks_exact(width * nodes));
            for ((error, &i), (fast, exact)) in errors.iter_mut().zip(chosen).zip(both) {
                if kinds[i] == kind {
                    let difference =
                        |k: usize, of: usize| fast[width * k + of] - exact[width * k + of];
                    let normals: Vec<Vec3> = panels.normals(rule, i).collect();
                    let value = |k: usize| match kind {
                        RowKind::Adjoint => {
                            Vec3::from_fn(|of, _| difference(k, of)).dot(&normals[k])
                        }
                        _ => difference(k, 0),
                    };
                    let weighted = |(k, node): (usize, &TriangleNode)| node.weight * value(k);
                    *error = rule.nodes().iter().enumerate().map(weighted).sum();
                }
            }
        }
        Ok(errors)
    }
}

impl LinearOperator for Layer {
    fn len(&self) -> usize {
        self.sampling.len()[1]
    }

    fn inputs(&self) -> usize {
        self.sampling.len()[0]
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.backend.multiply(&mut self.plans, x, y, columns)
    }
}
