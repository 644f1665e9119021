//! Plans of one fast sum: the tight one, and a looser one for the later products of a solve.
//!
//! What the error of product k of GMRES adds to the true residual is that error times the
//! coefficient of vector k, which is at most about |r_{k-1}| over the least singular value of the
//! preconditioned operator. Errors may thus grow as the residual falls (A. Bouras, V. Fraysse, SIAM
//! J. Matrix Anal. Appl. 26 (2005) 660; V. Simoncini, D. B. Szyld, SIAM J. Sci. Comput. 25 (2003)
//! 454): here as |b| / |r_{k-1}| times the tight plan's tolerance. True residuals take the tight
//! plan.

use std::time::Instant;

use crate::Error;
use crate::solve::gmres::InexactBudget;
use crate::solve::plan::Plan;

/// Tolerances of looser plans. From 5e-7 and 2.5e-6 on near pairs and then all of a sum are in
/// single precision; beyond 5e-5 there is little to gain.
const LEVELS: [f64; 5] = [1e-10, 1e-8, 5e-7, 2.5e-6, 5e-5];

/// A plan for less than this many times the tolerance is not worth having.
const STEP: f64 = 5.0;

/// Columns times products that repay the set-up of a plan.
const REPAY: usize = 3;

/// Makes a plan of this tolerance.
type Make = Box<dyn Fn(f64) -> Result<Plan, Error> + Send + Sync>;

/// Plans over the same points.
pub(crate) struct PlanSchedule {
    tight: Plan,
    /// Of the tight plan.
    tolerance: f64,
    /// With its tolerance; one at a time, for the memory they take.
    looser: Option<(f64, Plan)>,
    make: Option<Make>,
    /// Products so far, and the seconds they took.
    products: usize,
    seconds: f64,
}

impl PlanSchedule {
    /// `tight`, of this tolerance, and what `make` gives for larger ones. A plan that is not on the
    /// processor alone stays the only one: its sums are cheap compared with the set-up of others.
    pub(crate) fn new(
        tight: impl Into<Plan>,
        tolerance: f64,
        make: impl Fn(f64) -> Result<Plan, Error> + Send + Sync + 'static,
    ) -> Self {
        let tight = tight.into();
        let on_processor = tight.info().backend == fmm::Backend::Cpu;
        let make = on_processor.then(|| Box::new(make) as Make);
        Self { tight, tolerance, looser: None, make, products: 0, seconds: 0.0 }
    }

    /// One plan for all products.
    pub(crate) fn fixed(plan: impl Into<Plan>) -> Self {
        Self {
            tight: plan.into(),
            tolerance: 0.0,
            looser: None,
            make: None,
            products: 0,
            seconds: 0.0,
        }
    }

    /// The tight plan.
    pub(crate) fn tight(&self) -> &Plan {
        &self.tight
    }

    /// Takes another tight plan.
    pub(crate) fn set_tight(&mut self, plan: impl Into<Plan>, tolerance: f64) {
        (self.tight, self.tolerance) = (plan.into(), tolerance);
    }

    /// Mean seconds of a product, over all its columns together.
    pub(crate) fn mean_seconds(&self) -> f64 {
        if self.products == 0 { 0.0 } else { self.seconds / self.products as f64 }
    }

    /// Makes a product of `columns` vectors by the plan that [`plan`](Self::plan) gives, and takes
    /// the time.
    ///
    /// # Errors
    /// Those of the plan and the product.
    pub(crate) fn product<E: From<Error>>(
        &mut self,
        budget: Option<InexactBudget>,
        columns: usize,
        make: impl FnOnce(&mut Plan) -> Result<(), E>,
    ) -> Result<(), E> {
        let plan = self.plan(budget, columns)?;
        // After that: the plan may be new.
        let started = Instant::now();
        make(plan)?;
        self.products += 1;
        self.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// The plan for a product of `columns` vectors, made if it is new and will be repaid; the tight
    /// one if there is no budget.
    ///
    /// # Errors
    /// Those of the plan.
    pub(crate) fn plan(
        &mut self,
        budget: Option<InexactBudget>,
        columns: usize,
    ) -> Result<&mut Plan, Error> {
        let Some(InexactBudget { factor, products }) = budget else { return Ok(&mut self.tight) };
        let allowed = factor * self.tolerance;
        let usable = |(tolerance, _): &&(f64, Plan)| *tolerance <= allowed;
        let have = self.looser.as_ref().filter(usable).map_or(self.tolerance, |looser| looser.0);
        if let Some(make) = &self.make
            && columns.saturating_mul(products) >= REPAY
            && let Some(tolerance) = level(STEP * have, allowed)
        {
            // Before the next takes its memory.
            self.looser = None;
            let plan = make(tolerance)?;
            let info = plan.info();
            tracing::debug!(
                tolerance,
                precision = ?info.precision,
                plan_s = info.setup_seconds,
                products,
                "a looser plan"
            );
            self.looser = Some((tolerance, plan));
        }
        Ok(match &mut self.looser {
            Some((tolerance, plan)) if *tolerance <= allowed => plan,
            _ => &mut self.tight,
        })
    }
}

/// The loosest level between these tolerances.
fn level(least: f64, most: f64) -> Option<f64> {
    LEVELS.into_iter().rfind(|level| (least..=most).contains(level))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(factor: f64, products: usize) -> Option<InexactBudget> {
        Some(InexactBudget { factor, products })
    }

    #[test]
    fn plans_are_made_where_they_are_allowed_and_repaid() {
        let points: Vec<[f64; 3]> =
            (0..2000).map(|i| [0.1, 0.7, 1.3].map(|c| (c * (i * i) as f64).sin())).collect();
        let make = move |tolerance: f64| -> Result<Plan, Error> {
            let backend = fmm::Backend::Cpu;
            // Leaves so small that there are translations.
            let leaf_size = Some(20);
            let options = fmm::Options { tolerance, backend, leaf_size, ..fmm::Options::default() };
            Ok(Plan::new(None, &points, None, &options)?)
        };
        let mut ladder = PlanSchedule::new(make(3e-7).unwrap(), 3e-7, make.clone());
        // Plans are told apart by the mean p', in thousandths.
        let order = |plan: &Plan| (1000.0 * plan.info().mean_truncation_number) as usize;
        let tight = order(ladder.tight());
        let [single, loose] = [2.5e-6, 5e-5].map(|tolerance| order(&make(tolerance).unwrap()));
        assert!(tight > single && single > loose, "{tight} {single} {loose}");
        // What a product has of budget, the products left and columns; the looser plan then, and
        // which plan is taken.
        let steps: [(Option<InexactBudget>, usize, Option<f64>, usize); 11] = [
            (budget(1.0, 10), 1, None, tight),
            (budget(8.0, 10), 1, None, tight),
            (budget(10.0, 2), 1, None, tight),
            (budget(10.0, 2), 2, Some(2.5e-6), single),
            (None, 2, Some(2.5e-6), tight),
            (budget(150.0, 4), 1, Some(2.5e-6), single),
            (budget(200.0, 2), 1, Some(2.5e-6), single),
            (budget(200.0, usize::MAX), 8, Some(5e-5), loose),
            (budget(1e9, 10), 8, Some(5e-5), loose),
            // The next columns.
            (budget(1.0, 10), 2, Some(5e-5), tight),
            (budget(10.0, 10), 2, Some(2.5e-6), single),
        ];
        for (budget, columns, looser, taken) in steps {
            assert_eq!(order(ladder.plan(budget, columns).unwrap()), taken, "{budget:?}");
            assert_eq!(ladder.looser.as_ref().map(|looser| looser.0), looser, "{budget:?}");
        }
        // A tighter plan asks for more budget, and has levels between.
        ladder.set_tight(make(3e-9).unwrap(), 3e-9);
        assert!(order(ladder.plan(budget(10.0, 1), 1).unwrap()) > tight);
        ladder.plan(budget(200.0, 3), 1).unwrap();
        assert_eq!(ladder.looser.as_ref().map(|looser| looser.0), Some(5e-7));

        let mut fixed = PlanSchedule::fixed(make(3e-7).unwrap());
        assert_eq!(order(fixed.plan(budget(1e9, 9), 8).unwrap()), tight);
    }
}
