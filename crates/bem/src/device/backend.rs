//! An operator on the device: near field, products, preconditioner and GMRES's vectors.

use super::space::DeviceSystem;
use super::{DevicePreconditioner, DeviceProduct};
use crate::Error;
use crate::solve::backend::{Backend, Equations, Sampled};
use crate::solve::gmres::{self, GmresInfo, GmresParams};
use crate::solve::observer::Observer;
use crate::solve::schedule::PlanSchedule;

/// The device's side of an operator whose fast sum is there, too.
pub struct OnDevice {
    product: DeviceProduct,
    /// `None` for an operator that is only applied.
    preconditioner: Option<DevicePreconditioner>,
}

impl OnDevice {
    /// The backend of these products and this preconditioner.
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
        observer: &mut dyn Observer,
    ) -> Result<Vec<GmresInfo>, Error> {
        if let Some(preconditioner) = &mut self.preconditioner {
            preconditioner.set_rows(equations.row)?;
        }
        let preconditioner = self.preconditioner.as_mut();
        let mut system = DeviceSystem::new(&mut self.product, plans, preconditioner, equations)?;
        gmres::solve(&mut system, b, x, params, observer)
    }
}
