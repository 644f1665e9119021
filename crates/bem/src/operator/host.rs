//! An operator with vectors in host memory. Near field and preconditioner are on processor cores
//! or, on a rank that shares the panels with others, on a GPU.

use std::borrow::Cow;
use std::sync::Arc;

use super::product::{NearField, Product};
use crate::Error;
use crate::device::{DeviceNear, DevicePreconditioner};
use crate::near::Near;
use crate::near::modes::ModeBlock;
use crate::precondition::interfaces::Preconditioner;
use crate::sampling::Layout;
use crate::solve::backend::{Backend, Equations, Sampled, mean_squares};
use crate::solve::completion::LocalCompletion;
use crate::solve::gmres::{self, GmresInfo, GmresParams};
use crate::solve::linear_operator::{InexactBudget, LinearOperator};
use crate::solve::observer::Observer;
use crate::solve::schedule::PlanSchedule;
use crate::solve::system::LinearSystem;
use crate::solve::vectors::{HostVectors, VectorSpace};

/// Products and preconditioner.
pub struct OnHost {
    product: Product,
    /// `None` for an operator that is only applied.
    preconditioner: Option<Inverses>,
}

/// Where the preconditioner is.
enum Inverses {
    Host(Box<Preconditioner>),
    Device(Box<DevicePreconditioner>),
}

impl Inverses {
    /// As [`Preconditioner::set_rows`].
    fn set_rows(&mut self, row: &dyn Fn(usize) -> [f64; 2]) -> Result<(), Error> {
        match self {
            Self::Host(inverses) => inverses.set_rows(row),
            Self::Device(inverses) => inverses.set_rows(row)?,
        }
        Ok(())
    }

    fn operator(&mut self) -> &mut dyn LinearOperator {
        match self {
            Self::Host(inverses) => &mut **inverses,
            Self::Device(inverses) => &mut **inverses,
        }
    }
}

impl OnHost {
    /// From the near-field correction of close pairs.
    pub fn new(layout: Layout, near: Near, preconditioner: Option<Box<Preconditioner>>) -> Self {
        let preconditioner = preconditioner.map(Inverses::Host);
        Self { product: Product::new(layout, NearField::Host(near)), preconditioner }
    }

    /// As [`Self::new`], for linear densities.
    pub(crate) fn of_modes(
        layout: Layout,
        near: Near<ModeBlock>,
        preconditioner: Option<Box<Preconditioner>>,
    ) -> Self {
        let preconditioner = preconditioner.map(Inverses::Host);
        Self { product: Product::new(layout, NearField::Modes(near)), preconditioner }
    }

    /// As [`Self::new`], with near field and preconditioner on a GPU.
    pub(crate) fn with_device(
        layout: Layout,
        near: DeviceNear,
        preconditioner: Option<DevicePreconditioner>,
    ) -> Self {
        let preconditioner = preconditioner.map(Box::new).map(Inverses::Device);
        Self { product: Product::new(layout, NearField::Device(Box::new(near))), preconditioner }
    }
}

impl Backend for OnHost {
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
        let partition = Arc::clone(&self.product.layout.partition);
        let x = partition.local_of(x);
        partition.fill_all(y, |y| self.product.apply(plans, &x, y, columns, None))
    }

    fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        self.product.samples(of, chosen, places)
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
        let mut system = HostSystem::new(self, plans, equations)?;
        gmres::solve(&mut system, b, x, params, observer)
    }
}

/// Equations over local panels: product, completion of its rows, and preconditioner.
struct HostSystem<'a> {
    product: &'a mut Product,
    preconditioner: Option<&'a mut Inverses>,
    plans: &'a mut PlanSchedule,
    equations: Equations<'a>,
    completion: Option<LocalCompletion<'a>>,
    space: HostVectors<'a>,
    /// Part of each local row, and the row's share of its part's area; 0 on other ranks' rows.
    parts: Cow<'a, [u32]>,
    shares: Cow<'a, [f64]>,
}

impl<'a> HostSystem<'a> {
    fn new(
        operator: &'a mut OnHost,
        plans: &'a mut PlanSchedule,
        equations: Equations<'a>,
    ) -> Result<Self, Error> {
        let OnHost { product, preconditioner } = operator;
        let partition = Arc::clone(&product.layout.partition);
        let len = product.layout.all.len()[0];
        let modes = len / partition.len().max(1);
        if let Some(preconditioner) = preconditioner {
            preconditioner.set_rows(&|i| (equations.row)(partition.global(i)))?;
        }
        let completion = equations
            .completion
            .map(|completion| LocalCompletion::new(completion, Arc::clone(&partition), modes));
        Ok(Self {
            product,
            preconditioner: preconditioner.as_mut(),
            plans,
            completion,
            parts: partition.local_of(equations.parts),
            shares: partition.masked(equations.shares),
            space: HostVectors::new(partition, equations.weights, len),
            equations,
        })
    }

    /// Turns rows `y` of `columns` vectors `x` into equations.
    fn complete(
        &self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        asks_for_defect: bool,
    ) -> Result<(), Error> {
        let Some(completion) = &self.completion else { return Ok(()) };
        let n = self.space.local_len();
        for column in 0..columns {
            let of_column = column * n..(column + 1) * n;
            let (x, y) = (&x[of_column.clone()], &mut y[of_column]);
            let defect = completion.complete(x, y, asks_for_defect)?;
            self.equations.defect.set(self.equations.defect.get().max(defect));
        }
        Ok(())
    }
}

impl LinearSystem<Vec<f64>> for HostSystem<'_> {
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
        self.product.apply(self.plans, x, &mut y, columns, budget)?;
        self.complete(x, &mut y, columns, budget.is_none())?;
        Ok(y)
    }

    fn precondition(&mut self, x: &Vec<f64>, columns: usize) -> Result<Vec<f64>, Error> {
        let Some(preconditioner) = &mut self.preconditioner else { return Ok(x.clone()) };
        let x = self.product.layout.partition.refreshed(x)?;
        let mut y = vec![0.0; x.len()];
        preconditioner.operator().apply(&x, &mut y, columns)?;
        Ok(y)
    }

    fn measure(&self, column: usize, x: &Vec<f64>, r: &Vec<f64>) -> Result<Option<f64>, Error> {
        let Equations { count, row, measure, .. } = self.equations;
        let Some(measure) = measure else { return Ok(None) };
        let partition = &self.product.layout.partition;
        let mut left = mean_squares(&self.parts, count, &self.shares, r.iter().copied());
        let mut balance = Vec::new();
        if measure.asks_for_balance {
            let balanced = |(i, x): (usize, &f64)| row(partition.global(i))[1] * x;
            let balanced = x.iter().enumerate().map(balanced);
            balance = mean_squares(&self.parts, count, &self.shares, balanced);
        }
        partition.sum(&mut left)?;
        partition.sum(&mut balance)?;
        Ok(Some((measure.size)(column, &left, &balance)))
    }
}
