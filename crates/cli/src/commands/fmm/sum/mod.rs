//! One timed sum with its error, as `bench` and `eval` report it, by one process or by several.

pub(crate) mod error;
mod input;
mod memory;
mod options;
mod ranks;
pub(crate) mod report;
mod text;

use fmm::distributed::GroupPlan;
use fmm::{Potentials, StageSeconds};

use crate::machine::ranks::Ranks;
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;

use error::Errors;
use memory::Memory;
use ranks::{OnRanks, of_all, slowest};
use report::{OfPlan, StageSpan};

pub use input::Input;
pub(super) use options::{Args, check_memory, prepare};
pub(super) use report::Report;

/// The sums, shapes (k, m) and (k, m, 3), with a report.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) potential: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    pub(super) report: Report,
}

/// Plans, sums `args.repeat` times, and measures the error. Collective.
pub(super) fn run(args: &Args, input: &Input<'_>, ranks: &Ranks) -> Result<Sums, Failure> {
    let options = ranks.agree(options::options(args, input, ranks))?;
    let memory = Memory::before();
    let plan = GroupPlan::new(ranks.group(), input.sources, input.targets, &options);
    let mut plan = ranks.agree(plan.map_err(Failure::from))?;
    ranks.agree(interrupt::check())?;

    let targets = input.targets.unwrap_or(input.sources);
    let mut potential = vec![0.0; input.count * targets.len()];
    let mut gradient = vec![0.0; if args.gradient { 3 * potential.len() } else { 0 }];
    let mut runs: Vec<StageSeconds> = Vec::with_capacity(args.repeat.get());
    for _ in 0..args.repeat.get() {
        let outputs = Potentials {
            potential: Some(&mut potential),
            gradient: args.gradient.then_some(&mut gradient[..]),
        };
        ranks.agree(plan.apply(input.densities, outputs).map_err(Failure::from))?;
        runs.push(slowest(plan.stages(), ranks)?);
        ranks.agree(interrupt::check())?;
    }
    // Before the direct sums, which are no part of what is measured.
    let memory = memory.after((size_of_val(&potential[..]) + size_of_val(&gradient[..])) as u64);
    let errors = Errors::of(args, input, targets, &potential, &gradient, ranks)?;
    let mut sizes = [input.sources.len() as f64, targets.len() as f64];
    ranks.sum(&mut sizes)?;
    let of_ranks = |info| OnRanks::of(info, plan.timeline(), ranks);
    let of_plan = OfPlan {
        info: of_all(plan.info(), ranks)?,
        on_ranks: plan.rank_info().map(of_ranks).transpose()?,
        timeline: plan.timeline().iter().map(StageSpan::from).collect(),
    };
    let memory = memory.largest(ranks)?;
    let sizes = sizes.map(|size| size as usize);
    let report = Report::of(of_plan, sizes, args.tolerance, runs, &memory, &errors);
    Ok(Sums { potential, gradient, report })
}
