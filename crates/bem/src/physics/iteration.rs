//! GMRES on the equations of conductors and interfaces: norms, residual measures, and further
//! iterations until every body meets its tolerance.

use std::cell::{Cell, RefCell};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use parallel::prelude::*;

use super::Excitation;
use super::rows::{Rows, largest, relative_to_action, weighted_norm};
use crate::constants::GROUP;
use crate::operator::layer::Layer;
use crate::solve::backend::{Equations, Measure};
use crate::solve::completion::complete;
use crate::solve::gmres::{GmresInfo, GmresParams, StopReason};
use crate::solve::linear_operator::LinearOperator;
use crate::solve::observer::Checkpoints;
use crate::{Error, Progress, SolveOptions};

/// Rows that one thread hashes.
const SOME: usize = 16_384;

/// Further solves of a state before it counts as unresolved.
const REFINEMENTS: usize = 3;

/// The equations of some columns, and how they are solved.
pub(super) struct Iteration<'a> {
    rows: &'a Rows,
    options: &'a SolveOptions,
    checkpoints: Checkpoints<'a>,
    /// Factor of a normal derivative on panel i in its row, and the row's diagonal.
    row: Box<dyn Fn(usize) -> [f64; 2] + 'a>,
    /// Weights of the inner product: one set for all columns, or one for each.
    weights: Vec<f64>,
    /// Which columns have sources, and their last residual relative to the action on each body.
    has_sources: Vec<bool>,
    by_action: RefCell<Vec<f64>>,
    /// Largest relative defect of Gauss's law so far, in exact products.
    defect: Cell<f64>,
}

impl<'a> Iteration<'a> {
    /// For right-hand sides `b` of these excitations; checkpoints are stored separately for each
    /// `purpose`.
    pub(super) fn new(
        rows: &'a Rows,
        purpose: &str,
        excitations: &[Excitation],
        b: &[f64],
        options: &'a SolveOptions,
        progress: &'a dyn Progress,
    ) -> Self {
        let has_sources: Vec<bool> = excitations.iter().map(Excitation::has_sources).collect();
        let weights = if has_sources.contains(&true) {
            b.chunks_exact(rows.len().max(1)).flat_map(|b| rows.norm_weights(b)).collect()
        } else {
            rows.weights.clone()
        };
        let by_action = RefCell::new(vec![0.0; excitations.len()]);
        let checkpoints = Checkpoints::new(progress, || numbers(rows, purpose, excitations));
        let row = Box::new(|i: usize| [rows.coupling(i), rows.diagonal(i)]);
        let defect = Cell::new(0.0);
        Self { rows, options, checkpoints, row, weights, has_sources, by_action, defect }
    }

    /// Writes into `x` the answers known from an interrupted solve. Collective.
    pub(super) fn restore(&self, x: &mut [f64]) -> Result<(), Error> {
        self.checkpoints.restore(&self.options.ranks, x)
    }

    /// Largest relative defect of Gauss's law so far, in exact products.
    pub(super) fn defect(&self) -> f64 {
        self.defect.get()
    }

    /// Solves for all columns, starting from `x`.
    pub(super) fn run(
        &self,
        layer: &mut Layer,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Vec<GmresInfo>, Error> {
        let params = self.params(self.options.tolerance).group(GROUP);
        let (has_sources, by_action) = (&self.has_sources, &self.by_action);
        let size = |column: usize, left: &[f64], balanced: &[f64]| {
            let [left, balanced] = [left, balanced].map(roots);
            if has_sources[column] {
                by_action.borrow_mut()[column] = relative_to_action(&left, &balanced);
            }
            largest(&left)
        };
        let measure = Measure { size: &size, asks_for_balance: has_sources.contains(&true) };
        let observer = &mut self.checkpoints.observer(0, &[]);
        layer.solve(self.equations(&self.weights, Some(measure)), b, x, &params, observer)
    }

    /// Whether each column's residual, relative to the action on a body, exceeds this.
    pub(super) fn weak(&self, than: f64) -> Vec<bool> {
        self.by_action.borrow().iter().map(|&by_action| by_action > than).collect()
    }

    /// Continues this column from charges `x` until each conductor and interface meets its
    /// equations to the tolerance relative to the action on it, or as well as the fast sum permits.
    pub(super) fn solve_on(
        &self,
        layer: &mut Layer,
        column: usize,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<GmresInfo, Error> {
        let (rows, tolerance) = (self.rows, self.options.tolerance);
        let mut solved = GmresInfo {
            iterations: 0,
            reason: StopReason::Converged,
            relative_residual: 0.0,
            history: vec![1.0],
        };
        for pass in 0..=REFINEMENTS {
            let mut product = vec![0.0; x.len()];
            layer.apply(x, &mut product, 1)?;
            if let Some(completion) = rows.completion() {
                let found = complete(completion, x, &mut product, true)?;
                self.defect.set(self.defect.get().max(found));
            }
            let r: Vec<f64> = b.iter().zip(&product).map(|(b, y)| b - y).collect();
            let weights = rows.weights_by_action(x, &r);
            solved.relative_residual = weighted_norm(&weights, &r);
            if solved.relative_residual <= tolerance || pass == REFINEMENTS {
                break;
            }
            // Actions change as the charges change.
            let params = self.params(0.5 * tolerance / solved.relative_residual);
            let mut more = vec![0.0; x.len()];
            let mut observer = self.checkpoints.observer(column, x);
            let equations = self.equations(&weights, None);
            let infos = layer.solve(equations, &r, &mut more, &params, &mut observer)?;
            for info in infos {
                solved.iterations += info.iterations;
                solved.reason = info.reason;
                solved.history.extend(info.history.iter().skip(1));
            }
            x.iter_mut().zip(&more).for_each(|(x, more)| *x += more);
        }
        Ok(solved)
    }

    /// The equations with these weights of the inner product; residuals are measured by `measure`,
    /// or else by the norm.
    fn equations<'b>(&'b self, weights: &'b [f64], measure: Option<Measure<'b>>) -> Equations<'b> {
        let (parts, shares) = self.rows.shares();
        Equations {
            weights,
            parts,
            count: self.rows.parts(),
            shares,
            row: &*self.row,
            measure,
            completion: self.rows.completion(),
            defect: &self.defect,
        }
    }

    /// Parameters for one column at a time.
    fn params(&self, tolerance: f64) -> GmresParams {
        GmresParams::default()
            .tolerance(tolerance)
            .restart(self.options.restart.max(1))
            .max_iterations(self.options.max_iterations)
            .group(1)
    }
}

/// The numbers that identify the equations of excitations; an excitation that does not determine
/// its equations, such as induced charges, has no number.
fn numbers(rows: &Rows, purpose: &str, excitations: &[Excitation]) -> Vec<Option<u64>> {
    let of_some = |(first, some): (usize, &[f64])| {
        let mut hasher = DefaultHasher::new();
        for (row, weight) in (SOME * first..).zip(some) {
            [*weight, rows.coupling(row), rows.diagonal(row)].map(f64::to_bits).hash(&mut hasher);
        }
        hasher.finish()
    };
    let each: Vec<u64> = rows.weights.par_chunks(SOME).enumerate().map(of_some).collect();
    let mut of_rows = DefaultHasher::new();
    (purpose, each).hash(&mut of_rows);
    let number = |excitation: &Excitation| {
        let Excitation { potentials, charges, field, origin } = excitation;
        if !excitation.has_sources() && potentials.iter().all(|&potential| potential == 0.0) {
            return None;
        }
        let mut hasher = of_rows.clone();
        let own = potentials.iter().chain(field).chain(origin);
        let of_charges = charges
            .iter()
            .flat_map(|of| of.position.into_iter().chain([of.charge, of.permittivity]));
        own.copied().chain(of_charges).for_each(|value| value.to_bits().hash(&mut hasher));
        Some(hasher.finish())
    };
    excitations.iter().map(number).collect()
}

/// Multiplies each column of `n` values by a function of its size, unless that is 0.
pub(super) fn scale(columns: &mut [f64], n: usize, sizes: &[f64], by: impl Fn(f64) -> f64) {
    for (column, &size) in columns.chunks_exact_mut(n.max(1)).zip(sizes) {
        if size > 0.0 {
            let factor = by(size);
            column.iter_mut().for_each(|v| *v *= factor);
        }
    }
}

fn roots(squares: &[f64]) -> Vec<f64> {
    squares.iter().map(|square| square.sqrt()).collect()
}
