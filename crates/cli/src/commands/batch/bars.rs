//! Error bars of energies from coarser surfaces of the same molecule.

use super::super::arguments::Solving;
use super::super::solve::solve;
use crate::case::{Case, problem};
use crate::report::units::kilocalorie_per_mole;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// Solvation energies in kcal/mol on surfaces with a quarter and with half as many triangles.
pub(super) fn coarse(case: &Case, solving: &Solving, output: &Output) -> Result<[f64; 2], Failure> {
    let energy = |times: f64| {
        interrupt::check()?;
        let mesh = problem::with_molecules(case, case.mesh.as_deref(), times, output)?;
        let problem = problem::prepare(case, mesh)?;
        let solution = solve(None, &mut farad::Solver::default(), case, &problem, solving, output)?;
        let state = solution.state.as_ref().filter(|_| solution.converged());
        let found = state.and_then(|state| state.solvation.as_ref());
        found.map(|found| kilocalorie_per_mole(found.energies.reaction_j)).ok_or_else(|| {
            Failure::with_help(
                Exit::NotConverged,
                "the solver did not converge on the coarser surfaces that --bars asks for",
                "leave out --bars, or raise the density of the template",
            )
        })
    };
    Ok([energy(0.25)?, energy(0.5)?])
}

/// The bar of the energy `fine`.
///
/// Errors are c / N to leading order, N the number of triangles, so that an energy is as far from
/// its limit as from that of half as many triangles: the bar is twice that. The surfaces differ, so
/// part of a difference is random, and the one before counts half, where that is more
/// (docs/validation.md, section "Molecules in salt").
pub fn bar([quarter, half]: [f64; 2], fine: f64) -> f64 {
    (2.0 * (fine - half).abs()).max((half - quarter).abs())
}
