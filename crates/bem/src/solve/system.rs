//! Linear systems that GMRES solves, wherever their vectors are stored.

use std::sync::Arc;

use super::linear_operator::{InexactBudget, LinearOperator};
use super::vectors::{HostVectors, Metric, VectorSpace};
use crate::Error;
use crate::geometry::partition::Partition;

/// A linear system A x = b with a preconditioner M.
pub(crate) trait LinearSystem<V> {
    /// The space of its vectors.
    fn space(&self) -> &dyn VectorSpace<V>;

    /// A x for `columns` consecutive vectors: with the error that a step of GMRES tolerates, or as
    /// exactly as possible without a budget.
    fn apply(&mut self, x: &V, columns: usize, budget: Option<InexactBudget>) -> Result<V, Error>;

    /// M x for `columns` consecutive vectors.
    fn precondition(&mut self, x: &V, columns: usize) -> Result<V, Error>;

    /// The relative size of the true residual of `x` for a right-hand side, if it is not its norm
    /// over that of b. Collective.
    fn measure(&self, column: usize, x: &V, r: &V) -> Result<Option<f64>, Error>;
}

/// The system of two matrices that are known by their products.
pub(crate) struct OperatorSystem<'a> {
    operator: &'a mut dyn LinearOperator,
    preconditioner: &'a mut dyn LinearOperator,
    metric: Metric<'a>,
    space: HostVectors<'a>,
}

impl<'a> OperatorSystem<'a> {
    pub(crate) fn new(
        operator: &'a mut dyn LinearOperator,
        preconditioner: &'a mut dyn LinearOperator,
        metric: Metric<'a>,
    ) -> Self {
        let len = operator.len();
        let space = HostVectors::new(Arc::new(Partition::whole(len)), metric.weights, len);
        Self { operator, preconditioner, metric, space }
    }
}

impl LinearSystem<Vec<f64>> for OperatorSystem<'_> {
    fn space(&self) -> &dyn VectorSpace<Vec<f64>> {
        &self.space
    }

    fn apply(
        &mut self,
        x: &Vec<f64>,
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<Vec<f64>, Error> {
        let mut y = vec![0.0; x.len()];
        match budget {
            None => self.operator.apply(x, &mut y, columns)?,
            Some(budget) => self.operator.apply_inexact(x, &mut y, columns, budget)?,
        }
        Ok(y)
    }

    fn precondition(&mut self, x: &Vec<f64>, columns: usize) -> Result<Vec<f64>, Error> {
        let mut y = vec![0.0; x.len()];
        self.preconditioner.apply(x, &mut y, columns)?;
        Ok(y)
    }

    fn measure(&self, column: usize, x: &Vec<f64>, r: &Vec<f64>) -> Result<Option<f64>, Error> {
        Ok(self.metric.measure.map(|measure| measure(column, x, r)))
    }
}
