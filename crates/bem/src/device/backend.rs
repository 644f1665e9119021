//! An operator on the device: near field, products, preconditioner and GMRES's vectors.

use super::space::DeviceVectors;
use super::{DevicePreconditioner, DeviceProduct};
use crate::Error;
use crate::solve::backend::{Backend, Equations, Sampled};
use crate::solve::gmres::{GmresInfo, GmresParams, Watch, gmres_in};
use crate::solve::linear_operator::InexactBudget;
use crate::solve::schedule::PlanSchedule;

/// The device's side of an operator whose fast sum is there, too.
pub struct OnDevice {
    product: DeviceProduct,
    /// `None` for an operator that is only applied.
    preconditioner: Option<DevicePreconditioner>,
}

impl OnDevice {
    /// Of these products and this preconditioner.
    pub fn new(product: DeviceProduct, preconditioner: Option<DevicePreconditioner>) -> Self {
        Self { product, preconditioner }
    }
}

impl Backend for OnDevice {
    fn entries(&self) -> usize {
        self.product.entries()
    }

    fn multiply(
        &mut self,
        plans: &mut PlanSchedule,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        _budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let there = self.product.device().upload(x)?;
        let result = self.product.device().buffer(y.len())?;
        self.product.apply(plans, &there, &result, columns)?;
        Ok(result.read(0, y)?)
    }

    fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        Ok(self.product.samples(of, chosen, places)?)
    }

    fn solve(
        &mut self,
        plans: &mut PlanSchedule,
        equations: Equations<'_>,
        b: &[f64],
        x: &mut [f64],
        params: &GmresParams,
        watch: &mut dyn Watch,
    ) -> Result<Vec<GmresInfo>, Error> {
        if let Some(preconditioner) = &mut self.preconditioner {
            preconditioner.set_rows(equations.row)?;
        }
        let n = equations.parts.len().max(1);
        let preconditioner = self.preconditioner.as_mut();
        let mut vectors = DeviceVectors::new(&mut self.product, plans, preconditioner, equations)?;
        let (b, mut answers) = (vectors.upload(b)?, vectors.upload(x)?);
        let infos = gmres_in(&mut vectors, &b, &mut answers, params, watch)?;
        for (answer, x) in answers.iter().zip(x.chunks_exact_mut(n)) {
            answer.read(0, x)?;
        }
        Ok(infos)
    }
}
