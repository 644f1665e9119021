//! Why results are failures: a solver that did not converge, self-checks that fail, an accuracy
//! that was not reached.

use std::fmt::Write as _;
use std::path::Path;

use farad::{Level, Outcome};

use crate::report::results::{Refinement, Run};
use crate::report::warnings::{self, Warning};
use crate::terminal::exit::{Exit, Failure};

/// The failure of an accuracy that was not reached, with the reached bars and the reason.
pub(super) fn not_reached(refinement: &Refinement<'_>, folder: &Path) -> Failure {
    let (accuracy, last) = (refinement.goal.accuracy, refinement.levels.last());
    let reached = last.map_or(f64::NAN, |level| level.relative);
    let worst = last.map_or_else(String::new, Level::name);
    let (why, help) = match &refinement.ended {
        Outcome::Time => (
            "a finer mesh would have taken longer than --max-time allows".to_owned(),
            "give it more time, or ask for less",
        ),
        Outcome::Size(why) => (why.clone(), "ask for less, or allow more with --memory-limit"),
        Outcome::Next(why) => (
            why.clone(),
            "the results are those of the mesh before; ask for less, or begin with a finer mesh",
        ),
        Outcome::Stalled => (
            "the error bars no longer shrink on finer meshes: the estimate is not reliable here"
                .to_owned(),
            "check the mesh with `farad mesh check`, and see in surface.vtu where its triangles became small",
        ),
        Outcome::Vanishing => (
            format!("{worst} is zero within its error bar, as by symmetry"),
            "a zero value has no relative accuracy: ask for another result",
        ),
        Outcome::Reached | Outcome::Unsolved => (String::new(), ""),
    };
    // Bars of a first mesh, and longer ones than before, are only believed once the next agrees.
    let message = match reached <= accuracy {
        true => format!(
            "the accuracy of {accuracy:.1e} is not confirmed by a finer mesh, though the bars are {reached:.1e}: {why}"
        ),
        false => format!(
            "the accuracy of {accuracy:.1e} was not reached, the bars are {reached:.1e}: {why}"
        ),
    };
    Failure::with_help(
        Exit::NotConverged,
        message,
        format!("the results in {} are marked accuracy_not_reached; {help}", folder.display()),
    )
}

/// Which self-checks failed.
pub(super) fn checks_failed(run: &Run<'_>) -> Failure {
    let failed: Vec<String> = warnings::of(run.solution)
        .into_iter()
        .filter(Warning::is_error)
        .map(|warning| warning.message)
        .collect();
    Failure::with_help(
        Exit::NotConverged,
        format!("the results fail their self-checks:\n{}", failed.join("\n")),
        format!(
            "the results in {} are marked checks_failed; do not use them; docs/results.md explains each check",
            run.folder.display()
        ),
    )
}

/// Which excitations failed, and why.
pub(super) fn not_converged(run: &Run<'_>) -> Failure {
    let names = &run.problem.conductors().names;
    let tolerance = run.solution.answer.tolerance;
    let failed: Vec<_> = run
        .solution
        .answer
        .solves
        .iter()
        .filter(|s| s.reason != bem::StopReason::Converged)
        .collect();
    let mut message =
        format!("{} of {} solves did not converge", failed.len(), run.solution.answer.solves.len());
    for solve in &failed {
        let why = match solve.reason {
            bem::StopReason::MaxIterations => "the iteration limit was reached",
            bem::StopReason::Stagnation => "restarts no longer lowered the residual",
            bem::StopReason::Breakdown => "the Krylov space was exhausted",
            bem::StopReason::Nan => "a NaN or infinity appeared",
            bem::StopReason::Converged => "it converged",
        };
        let _ = write!(
            message,
            "\n{}: {why} after {} iterations, residual {:.1e} instead of {tolerance:.1e}",
            match run.problem.excited().get(solve.excitation) {
                Some(&conductor) => format!("\"{}\" at 1 V", names[conductor]),
                None => run.problem.excitation_name(solve.excitation),
            },
            solve.iterations,
            solve.relative_residual
        );
    }
    let look = run.case.mesh.as_ref().map_or_else(String::new, |mesh| {
        format!(", or look at the mesh with `farad mesh info {}`", mesh.display())
    });
    let help = format!(
        "the partial results in {} are marked not_converged; raise solver.max_iterations or \
         solver.restart, ask for less with --tolerance{look}",
        run.folder.display(),
    );
    Failure::with_help(Exit::NotConverged, message, help)
}
