//! The meshes of a study, each refined from the one before and solved on.

use farad::{OfMesh, Problem, Solution, Solver, Study};
use mesh::Mesh;

use super::kept;
use super::results::{Failed, MeshResult, relative_size};
use crate::case::{Case, problem};
use crate::commands::arguments::Solving;
use crate::commands::mesh::refine::refined;
use crate::commands::solve::{Sharing, Split, agreed, content, solve_on};
use crate::machine::ranks::Ranks;
use crate::report::results::Checkpoint;
use crate::report::{units, warnings};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// How meshes are refined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refinement {
    /// New vertices are on sides, or on the patches of curved triangles.
    Sides,
    /// Those of spheres are put onto the sphere.
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

    /// What results call it for meshes like this one of a case.
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
    pub(super) levels: u32,
    pub(super) refinement: Refinement,
    pub(super) ranks: &'a Ranks,
    pub(super) split: Split,
    pub(super) checkpoint: Option<&'a Checkpoint>,
    pub(super) output: &'a Output,
}

/// The results on the meshes so far; the first rank has them.
#[derive(Default)]
pub(super) struct Found {
    pub(super) meshes: Vec<MeshResult>,
    pub(super) study: Study,
}

impl Found {
    /// Adds what a solve has given, and keeps it.
    fn add(
        &mut self,
        level: u32,
        problem: &Problem,
        solution: &Solution,
        checkpoint: Option<&Checkpoint>,
    ) {
        let solves = solution.answer.solves.iter();
        let result = MeshResult {
            triangles: problem.mesh().triangles.len(),
            relative_size: relative_size(level),
            iterations: solves.map(|solve| solve.iterations).max().unwrap_or(0),
            warnings: warnings::of(solution),
        };
        let mesh = OfMesh::new(problem, solution);
        if let Some(checkpoint) = checkpoint {
            kept::put(checkpoint, level, &result, &mesh);
        }
        self.push(result, mesh);
    }

    fn push(&mut self, result: MeshResult, mesh: OfMesh) {
        self.meshes.push(result);
        self.study.push(mesh);
    }

    /// The mesh that failed, which is the refinement of `problem` or that of `problem` itself; a
    /// failure again where there is nothing to report: no mesh before it, or the user's wish.
    pub(super) fn stopped_by(
        &self,
        failure: Failure,
        problem: &Problem,
    ) -> Result<(Failed, Failure), Failure> {
        let last = self.meshes.last().filter(|_| failure.exit != Exit::Interrupted);
        let Some(last) = last else { return Err(failure) };
        let triangles = match problem.mesh().triangles.len() {
            // The next mesh could not be made.
            same if same == last.triangles => 4 * same,
            next => next,
        };
        let message = failure.report.as_ref().map_or_else(String::new, |r| r.to_string());
        Ok((Failed { triangles, message }, failure))
    }
}

/// What was found on all meshes, or on those before one that failed.
pub(super) struct Ended {
    pub(super) found: Found,
    pub(super) failure: Option<Failure>,
}

/// Solves on all meshes, and leaves the last in `problem`; where one fails, it is the last.
/// Collective.
pub(super) fn solve_all(settings: Settings<'_>, problem: &mut Problem) -> Ended {
    let mut found = Found::default();
    let mut levels = 0..settings.levels;
    let failure = levels.find_map(|level| solve(settings, level, problem, &mut found).err());
    Ended { found, failure }
}

/// Solves on one mesh, which is made first unless it is the case's own; a solve that does not
/// converge is a failure. Collective.
fn solve(
    settings: Settings<'_>,
    level: u32,
    problem: &mut Problem,
    found: &mut Found,
) -> Result<(), Failure> {
    let Settings { case, solving, levels, ranks, split, checkpoint, output, .. } = settings;
    let refined = if level == 0 { Ok(()) } else { refine(settings, level, problem) };
    agreed(ranks, checkpoint, refined)?;
    if ranks.size() > 1 {
        ranks.check_same("the mesh", content(problem))?;
    }
    let triangles = problem.mesh().triangles.len();
    let count = units::count(triangles as u64);
    let this = format!("mesh {} of {levels}: {count} triangles", level + 1);
    let of_first = checkpoint.filter(|_| ranks.is_first());
    let before = of_first.and_then(|checkpoint| kept::take(checkpoint, level));
    let before = before.filter(|(result, _)| result.triangles == triangles);
    let begin = |checkpoint: &Checkpoint| {
        checkpoint.begin(level as usize, |part| part < level as usize);
    };
    if let (None, Some(checkpoint)) = (&before, of_first) {
        begin(checkpoint);
    }
    // What the first keeps of the mesh before is there before others remove charges on it.
    let is_found = ranks.gather(&[u8::from(before.is_some())])?[0][0] == 1;
    if is_found {
        output.note(&format!("{this}, as found before"));
        if let Some((result, mesh)) = before {
            found.push(result, mesh);
        }
        return Ok(());
    }
    output.note(&this);
    if let Some(checkpoint) = checkpoint.filter(|_| !ranks.is_first()) {
        begin(checkpoint);
    }
    let sharing = Sharing { ranks, split, kept: checkpoint };
    let solution = solve_on(sharing, &mut Solver::default(), case, problem, solving, output);
    let solution =
        agreed(ranks, checkpoint, solution)?.map(|solution| match solution.converged() {
            true => Ok(solution),
            false => Err(not_converged(case, problem)),
        });
    if let Some(solution) = agreed(ranks, checkpoint, solution.transpose())? {
        found.add(level, problem, &solution, of_first);
    }
    agreed(ranks, checkpoint, interrupt::check())
}

/// Refines the mesh of `problem`.
fn refine(settings: Settings<'_>, level: u32, problem: &mut Problem) -> Result<(), Failure> {
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
