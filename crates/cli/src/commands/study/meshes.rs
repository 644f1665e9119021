//! The meshes of a study, each refined from the one before and solved on.

use farad::{Problem, Solver};
use mesh::Mesh;

use super::results::{Failed, Row};
use crate::case::{Case, problem};
use crate::commands::arguments::Solving;
use crate::commands::mesh::refine::refined;
use crate::commands::series::Rows;
use crate::commands::solve::{Sharing, Split, agreed, content, solve_on};
use crate::machine::ranks::Ranks;
use crate::report::results::Checkpoint;
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// How meshes are refined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refinement {
    /// New vertices are on sides, or on the patches of curved triangles.
    Sides,
    /// New vertices of spheres are put onto the sphere.
    Spheres,
    /// Sides that end on an edge are cut closer to it.
    Graded,
}

impl Refinement {
    /// The option that asks for it.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Sides => "",
            Self::Spheres => "--spheres",
            Self::Graded => "--graded",
        }
    }

    /// Its name in results, for meshes like this one of a case.
    pub(super) fn name(self, case: &Case, mesh: &Mesh) -> &'static str {
        match (self, mesh.order()) {
            (Self::Graded, _) => "graded",
            _ if case.mesh.is_none() => "remade",
            (_, 2..) => "curved",
            (Self::Spheres, _) => "spheres",
            (Self::Sides, _) => "flat",
        }
    }
}

/// How a case is solved on its meshes.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    pub(super) case: &'a Case,
    pub(super) solving: &'a Solving,
    pub(super) levels: usize,
    pub(super) refinement: Refinement,
    pub(super) ranks: &'a Ranks,
    pub(super) split: Split,
    pub(super) checkpoint: Option<&'a Checkpoint>,
    pub(super) output: &'a Output,
}

/// How solves on all meshes have ended.
pub(super) struct Ended {
    /// Meshes with results.
    pub(super) solved: usize,
    pub(super) failure: Option<Failure>,
}

impl Ended {
    /// The mesh that failed, and why: the refinement of the `last` with results, or, if that could
    /// not be made, the next one.
    pub(super) fn failed(
        self,
        last: Option<&Row>,
        problem: &Problem,
    ) -> Result<Option<(Failed, Failure)>, Failure> {
        let Some(failure) = self.failure else { return Ok(None) };
        if failure.exit != Exit::Interrupted {
            interrupt::check()?;
        }
        let Some(last) = last.filter(|_| failure.exit != Exit::Interrupted) else {
            return Err(failure);
        };
        let triangles = match problem.mesh().triangles.len() {
            same if same == last.mesh.triangles => 4 * same,
            next => next,
        };
        let message = failure.report.as_ref().map_or_else(String::new, |r| r.to_string());
        Ok(Some((Failed { triangles, message }, failure)))
    }
}

/// Solves on all meshes until one fails, and leaves the last in `problem`. Collective.
pub(super) fn solve_all(
    settings: Settings<'_>,
    problem: &mut Problem,
    rows: &mut Rows<'_, Row>,
) -> Ended {
    for level in 0..settings.levels {
        if let Err(failure) = solve(settings, level, problem, rows) {
            return Ended { solved: level, failure: Some(failure) };
        }
    }
    Ended { solved: settings.levels, failure: None }
}

/// Solves on one mesh, which is made first unless it is the case's own; a solve that does not
/// converge is a failure. Collective.
fn solve(
    settings: Settings<'_>,
    level: usize,
    problem: &mut Problem,
    rows: &mut Rows<'_, Row>,
) -> Result<(), Failure> {
    let Settings { case, solving, levels, ranks, split, checkpoint, output, .. } = settings;
    let refined = if level == 0 { Ok(()) } else { refine(settings, level, problem) };
    agreed(ranks, checkpoint, refined)?;
    if ranks.size() > 1 {
        ranks.check_same("the mesh", content(problem))?;
    }
    let count = units::count(problem.mesh().triangles.len() as u64);
    let this = format!("mesh {} of {levels}: {count} triangles", level + 1);
    if rows.is_done(level) {
        output.note(&format!("{this}, as found before"));
        return Ok(());
    }
    rows.begin_together(ranks, level)?;
    output.note(&this);
    let sharing = Sharing { ranks, split, kept: checkpoint };
    let solution = solve_on(sharing, &mut Solver::single(), case, problem, solving, output);
    let solution =
        agreed(ranks, checkpoint, solution)?.map(|solution| match solution.converged() {
            true => Ok(solution),
            false => Err(not_converged(case, problem)),
        });
    match agreed(ranks, checkpoint, solution.transpose())? {
        Some(solution) if ranks.is_first() => {
            rows.add(level, Row::new(level, problem, &solution), None);
        }
        _ => rows.set_done(level),
    }
    agreed(ranks, checkpoint, interrupt::check())
}

/// Refines the mesh of `problem`.
fn refine(settings: Settings<'_>, level: usize, problem: &mut Problem) -> Result<(), Failure> {
    let Settings { case, refinement, output, .. } = settings;
    let mesh = if refinement == Refinement::Graded {
        let graded = problem.refined_toward_edges();
        graded.map_err(|error| Failure::new(Exit::BadInput, error))?
    } else if case.mesh.is_none() {
        problem::with_molecules(case, None, 4f64.powi(level as i32), output)?
    } else {
        let onto_spheres = refinement == Refinement::Spheres;
        let (mesh, notes) = refined(problem.given_mesh(), onto_spheres)?;
        for note in notes.iter().filter(|_| level == 1) {
            output.note(&format!("{}: {note}", case.surfaces()));
        }
        mesh
    };
    *problem = problem::prepare(case, mesh)?;
    Ok(())
}

fn not_converged(case: &Case, problem: &Problem) -> Failure {
    let triangles = problem.mesh().triangles.len() as u64;
    Failure::with_help(
        Exit::NotConverged,
        format!("the solver did not converge on the mesh of {} triangles", units::count(triangles)),
        match &case.mesh {
            Some(mesh) => format!(
                "meshes before it are reported; `farad mesh refine {}` makes this mesh, and `farad solve` on it says how far it came",
                mesh.display()
            ),
            None => "meshes before it are reported; ask for less with --tolerance".to_owned(),
        },
    )
}
