//! Plans of one fast sum: the tight one, and a looser one for the later products of a solve.
//!
//! The error of product k of GMRES changes the true residual by that error times the coefficient of
//! vector k, which is at most about |r_{k-1}| over the smallest singular value of the
//! preconditioned operator. Errors may thus grow as the residual falls (A. Bouras, V. Fraysse, SIAM
//! J. Matrix Anal. Appl. 26 (2005) 660; V. Simoncini, D. B. Szyld, SIAM J. Sci. Comput. 25 (2003)
//! 454): here as |b| / |r_{k-1}| times the tight plan's tolerance. True residuals use the tight
//! plan.

use std::time::Instant;

use crate::Error;
use crate::solve::linear_operator::InexactBudget;
use crate::solve::plan::Plan;

/// Tolerances of looser plans. From 5e-7 near pairs are in single precision, from 2.5e-6 the whole
/// sum; beyond 5e-5 there is little to gain.
const LEVELS: [f64; 5] = [1e-10, 1e-8, 5e-7, 2.5e-6, 5e-5];

/// A plan for less than this multiple of the tolerance does not pay.
const STEP: f64 = 5.0;

/// Columns times products that repay the setup of a plan.
const REPAY: usize = 3;

/// Creates a plan with this tolerance.
type Make = Box<dyn Fn(f64) -> Result<Plan, Error> + Send + Sync>;

/// Plans over the same points.
pub struct PlanSchedule {
    tight: Plan,
    /// The tolerance of the tight plan.
    tolerance: f64,
    /// With its tolerance; one at a time, for the memory they take.
    looser: Option<(f64, Plan)>,
    make: Option<Make>,
    /// Products so far, and the seconds they took.
    products: usize,
    seconds: f64,
    /// When the current product began.
    started: Option<Instant>,
}

impl PlanSchedule {
    /// `tight`, with this tolerance, and `make` for larger ones. A plan that does not run on the
    /// processor alone stays the only one: its sums are cheap compared with the setup of others.
    pub fn new(
        tight: impl Into<Plan>,
        tolerance: f64,
        make: impl Fn(f64) -> Result<Plan, Error> + Send + Sync + 'static,
    ) -> Self {
        let tight = tight.into();
        let on_processor = tight.info().backend == fmm::Backend::Cpu;
        let make = on_processor.then(|| Box::new(make) as Make);
        Self { tolerance, make, ..Self::fixed(tight) }
    }

    /// One plan for all products.
    pub fn fixed(plan: impl Into<Plan>) -> Self {
        Self {
            tight: plan.into(),
            tolerance: 0.0,
            looser: None,
            make: None,
            products: 0,
            seconds: 0.0,
            started: None,
        }
    }

    /// The tight plan.
    pub fn tight(&self) -> &Plan {
        &self.tight
    }

    /// The tolerance of the looser plan, if there is one.
    pub fn looser_tolerance(&self) -> Option<f64> {
        self.looser.as_ref().map(|looser| looser.0)
    }

    /// Replaces the tight plan.
    pub fn set_tight(&mut self, plan: impl Into<Plan>, tolerance: f64) {
        (self.tight, self.tolerance) = (plan.into(), tolerance);
    }

    /// Mean seconds of a product, over all its columns together.
    pub(crate) fn mean_seconds(&self) -> f64 {
        if self.products == 0 { 0.0 } else { self.seconds / self.products as f64 }
    }

    /// The plan for a product of `columns` vectors, created if it is new and will pay; the tight
    /// plan if there is no budget. The product's time is measured from here to
    /// [`finished`](Self::finished).
    pub fn for_step(
        &mut self,
        budget: Option<InexactBudget>,
        columns: usize,
    ) -> Result<&mut Plan, Error> {
        let allowed = match budget {
            None => 0.0,
            Some(InexactBudget { factor, products }) => {
                let allowed = factor * self.tolerance;
                self.loosen(allowed, products, columns)?;
                allowed
            }
        };
        // Started after that: the plan may be new.
        self.started = Some(Instant::now());
        Ok(match &mut self.looser {
            Some((tolerance, plan)) if *tolerance <= allowed => plan,
            _ => &mut self.tight,
        })
    }

    /// Counts the product by the plan from [`for_step`](Self::for_step), and its time.
    pub(crate) fn finished(&mut self) {
        if let Some(started) = self.started.take() {
            self.products += 1;
            self.seconds += started.elapsed().as_secs_f64();
        }
    }

    /// Creates a looser plan with at most the `allowed` tolerance, if it pays for this number of
    /// products of `columns` vectors.
    fn loosen(&mut self, allowed: f64, products: usize, columns: usize) -> Result<(), Error> {
        let usable = |(tolerance, _): &&(f64, Plan)| *tolerance <= allowed;
        let have = self.looser.as_ref().filter(usable).map_or(self.tolerance, |looser| looser.0);
        if let Some(make) = &self.make
            && columns.saturating_mul(products) >= REPAY
            && let Some(tolerance) = level(STEP * have, allowed)
        {
            // Freed before the next one takes memory.
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
        Ok(())
    }
}

/// The loosest level between these tolerances.
fn level(least: f64, most: f64) -> Option<f64> {
    LEVELS.into_iter().rfind(|level| (least..=most).contains(level))
}
