//! GMRES with vectors in host memory. Near field and preconditioner are on processor cores or, on a
//! rank that shares the panels with others, on a GPU.

use std::cell::{Cell, RefCell};

use super::product::{NearField, Product};
use super::sampling::{Part, Sampling};
use crate::Error;
use crate::device::{DeviceNear, DevicePreconditioner};
use crate::geometry::share::Share;
use crate::near::Near;
use crate::near::modes::ModeBlock;
use crate::precondition::interfaces::Preconditioner;
use crate::solve::backend::{Backend, Equations, Sampled, mean_squares};
use crate::solve::completion::Completing;
use crate::solve::gmres::{GmresInfo, GmresParams, Watch, gmres_among};
use crate::solve::kept::WatchingAmong;
use crate::solve::linear_operator::{Identity, InexactBudget, LinearOperator};
use crate::solve::schedule::PlanSchedule;
use crate::solve::vectors::Metric;

/// Products and preconditioner. Where ranks share the panels, vectors inside have values on the
/// panels that this rank holds.
pub struct Host {
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

impl Host {
    /// From the near-field correction of close pairs.
    pub fn new(
        of: (Sampling, Option<Part>),
        near: Near,
        preconditioner: Option<Box<Preconditioner>>,
    ) -> Self {
        let preconditioner = preconditioner.map(Inverses::Host);
        Self { product: Product::new(of, NearField::Host(near)), preconditioner }
    }

    /// The same with both on a GPU.
    pub(crate) fn with_device(
        of: (Sampling, Option<Part>),
        near: DeviceNear,
        preconditioner: Option<DevicePreconditioner>,
    ) -> Self {
        let preconditioner = preconditioner.map(Box::new).map(Inverses::Device);
        Self { product: Product::new(of, NearField::Device(Box::new(near))), preconditioner }
    }

    /// The same with the near field of the linear modes.
    pub(crate) fn with_modes(mut self, modes: Near<ModeBlock>) -> Self {
        self.product.modes = Some(modes);
        self
    }
}

impl Backend for Host {
    fn entries(&self) -> usize {
        self.product.entries()
    }

    fn multiply(
        &mut self,
        plans: &mut PlanSchedule,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let product = &mut self.product;
        let Some(Part { share, .. }) = product.part.clone() else {
            return plans.product(budget, columns, |plan| product.multiply(plan, x, y, columns));
        };
        let held = share.held_of(x);
        let mut rows = vec![0.0; held.len()];
        plans.product(budget, columns, |plan| product.multiply(plan, &held, &mut rows, columns))?;
        share.gather(&rows, y)
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
        watch: &mut dyn Watch,
    ) -> Result<Vec<GmresInfo>, Error> {
        match self.product.part.clone() {
            Some(part) => self.solve_among(&part.share, plans, equations, b, x, params, watch),
            None => {
                let columns = b.len() / self.product.sampling.len()[0].max(1);
                let completion = equations.completion.map(Completing::alone);
                self.iterate((plans, completion), equations, (b, x, columns), params, watch)
            }
        }
    }
}

impl Host {
    /// Solves, with vectors over the held panels.
    fn iterate(
        &mut self,
        (plans, completion): (&mut PlanSchedule, Option<Completing<'_>>),
        equations: Equations<'_>,
        (b, x, columns): (&[f64], &mut [f64], usize),
        params: &GmresParams,
        watch: &mut dyn Watch,
    ) -> Result<Vec<GmresInfo>, Error> {
        let part = self.product.part.clone();
        let share = part.as_ref().map(|part| &part.share);
        let Equations { weights, parts, count, shares, row, measure, .. } = equations;
        let mean_squares =
            |values: &mut dyn Iterator<Item = f64>| mean_squares(parts, count, shares, values);
        // An error of communication while a residual was measured.
        let lost = RefCell::new(None);
        let size = measure.map(|measure| {
            let lost = &lost;
            move |column: usize, x: &[f64], r: &[f64]| {
                let balanced = |(i, x): (usize, &f64)| row(i)[1] * x;
                let mut left = mean_squares(&mut r.iter().copied());
                let mut balance = if measure.asks_for_balance {
                    mean_squares(&mut x.iter().enumerate().map(balanced))
                } else {
                    Vec::new()
                };
                if let Some(share) = share {
                    let summed = share.sum(&mut left).and_then(|()| share.sum(&mut balance));
                    if let Err(error) = summed {
                        lost.replace(Some(error));
                        return f64::NAN;
                    }
                }
                (measure.size)(column, &left, &balance)
            }
        });
        let metric =
            Metric { weights, measure: size.as_ref().map(|size| size as crate::Measure<'_>) };
        let mut none = Identity(parts.len());
        let mut refreshed;
        let inverses: &mut dyn LinearOperator = match (&mut self.preconditioner, share) {
            (Some(preconditioner), share) => {
                preconditioner.set_rows(row)?;
                let preconditioner = preconditioner.operator();
                match share {
                    Some(share) => {
                        refreshed = Refreshed { share, preconditioner };
                        &mut refreshed
                    }
                    None => preconditioner,
                }
            }
            (None, _) => &mut none,
        };
        let product = &mut self.product;
        let mut operator = Completed { product, plans, completion, defect: equations.defect };
        let alone = comm::alone();
        let group = share.map_or(&alone, |share| share.group());
        let all = (b, x, columns);
        let found = gmres_among(&**group, &mut operator, inverses, metric, all, params, watch);
        match lost.take() {
            Some(error) => Err(error),
            None => found,
        }
    }

    /// Solves equations of all panels together with other ranks. Collective.
    #[allow(clippy::too_many_arguments)] // those of `solve`
    fn solve_among(
        &mut self,
        share: &Share,
        plans: &mut PlanSchedule,
        equations: Equations<'_>,
        b: &[f64],
        x: &mut [f64],
        params: &GmresParams,
        watch: &mut dyn Watch,
    ) -> Result<Vec<GmresInfo>, Error> {
        let size = self.product.sampling.len()[0].max(1);
        let (columns, modes) = (b.len() / size, size / share.len().max(1));
        let row = |i: usize| (equations.row)(share.of_all(i));
        let of_part = Equations {
            weights: &share.masked(equations.weights),
            parts: &share.held_of(equations.parts),
            shares: &share.masked(equations.shares),
            row: &row,
            ..equations
        };
        let completion =
            equations.completion.map(|completion| Completing::among(completion, share, modes));
        let mut among = WatchingAmong::new(share, watch, size)?;
        let mut charges = share.held_of(x);
        let all = (&share.held_of(b)[..], &mut charges[..], columns);
        let found = self.iterate((plans, completion), of_part, all, params, &mut among);
        among.ended()?;
        let found = found?;
        share.gather(&charges, x)?;
        Ok(found)
    }
}

/// A preconditioner of held panels, which needs the values on the halo.
struct Refreshed<'a> {
    share: &'a Share,
    preconditioner: &'a mut dyn LinearOperator,
}

impl LinearOperator for Refreshed<'_> {
    fn len(&self) -> usize {
        self.preconditioner.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let mut held = x.to_vec();
        self.share.refresh(&mut held)?;
        self.preconditioner.apply(&held, y, columns)
    }
}

/// The product after completion of its rows.
struct Completed<'a> {
    product: &'a mut Product,
    plans: &'a mut PlanSchedule,
    completion: Option<Completing<'a>>,
    /// The largest defect found by exact products.
    defect: &'a Cell<f64>,
}

impl Completed<'_> {
    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let Self { product, plans, completion, defect } = self;
        plans.product(budget, columns, |plan| product.multiply(plan, x, y, columns))?;
        if let Some(completion) = completion {
            let n = product.held().len()[0];
            for column in 0..columns {
                let of_column = column * n..(column + 1) * n;
                let (x, y) = (&x[of_column.clone()], &mut y[of_column]);
                let found = completion.complete(x, y, budget.is_none())?;
                defect.set(defect.get().max(found));
            }
        }
        Ok(())
    }
}

impl LinearOperator for Completed<'_> {
    fn len(&self) -> usize {
        self.product.held().len()[0]
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
