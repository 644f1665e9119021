//! One rank's runs, solved in turn: a solve gives the runs that differ from it by a factor, too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::time::Instant;

use farad::{Matrices, Problem, Solution, Solver};
use mesh::Mesh;

use super::rows::{Row, Values};
use super::runs::{Runs, picture, tag};
use crate::case::{Case, VtkMode, problem};
use crate::commands::arguments::Solving;
use crate::commands::series::Rows;
use crate::commands::solve::solve;
use crate::machine::backend::of_plan;
use crate::report::results::{self, Checkpoint, Folder, Run};
use crate::report::warnings;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// How runs are solved.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    pub(super) runs: &'a Runs<'a>,
    pub(super) solving: &'a Solving,
    pub(super) output: &'a Output,
    pub(super) checkpoint: Option<&'a Checkpoint>,
    pub(super) started: Instant,
    /// Whether there are no other ranks.
    pub(super) is_alone: bool,
}

/// Solves a rank's `own` runs that are not done, except those that follow from others, and writes
/// their files to the folder.
pub(super) fn solve_all(
    settings: Settings<'_>,
    own: &[usize],
    rows: &mut Rows<'_, Row>,
    folder: &mut Folder,
) -> Result<(), Failure> {
    let (read, solver) = (HashMap::new(), Solver::default());
    let mut solves = Solves { settings, own, read, solver, folder };
    rows.solve_all(own, |rows, run| solves.solve(run, rows))?;
    if !settings.is_alone {
        rows.write();
    }
    Ok(())
}

/// Solves under way.
struct Solves<'a> {
    settings: Settings<'a>,
    /// The runs of this rank, those of one geometry together.
    own: &'a [usize],
    /// The meshes, each file read once.
    read: HashMap<Option<PathBuf>, Mesh>,
    solver: Solver,
    folder: &'a mut Folder,
}

impl Solves<'_> {
    /// Solves a run, and with it those that follow from it.
    fn solve(&mut self, first: usize, rows: &mut Rows<'_, Row>) -> Result<(), Failure> {
        let Settings { runs, solving, output, checkpoint, is_alone, .. } = self.settings;
        let failed = |failure: Failure| {
            let run = format!("the run with {}", runs.describe(first));
            match failure.exit {
                _ if is_alone => {
                    output.note(&format!("this was {run}"));
                    failure
                }
                Exit::Interrupted => failure,
                _ => failure.of(&run),
            }
        };
        let case = runs.case(first);
        let mesh = self.mesh(first).map_err(failed)?;
        let problem = problem::prepare(&case, mesh).map_err(failed)?;
        let names = &problem.conductors().names;
        match rows.known().next() {
            Some((_, known)) => runs.check_conductors(first, names, &known.conductors)?,
            None => problem::show_notes(&case, &problem, output),
        }
        let prepared_before = self.solver.times_prepared();
        let solution = solve(checkpoint, &mut self.solver, &case, &problem, solving, output)
            .map_err(failed)?;
        if !solution.converged() {
            return Err(Failure::with_help(
                Exit::NotConverged,
                format!("the solver did not converge in the run with {}", runs.describe(first)),
                "raise solver.max_iterations or ask for less with --tolerance",
            ));
        }
        let prepared = self.solver.times_prepared() - prepared_before;
        let own = self.own;
        let after = own.iter().copied().skip_while(|&run| run != first);
        for run in after.take_while(|&run| runs.have_same_geometry(first, run)) {
            if rows.is_done(run) {
                continue;
            }
            let (case, is_solved) = (runs.case(run), run == first);
            let matrices = match is_solved {
                true => Some(solution.matrices()),
                false => solution.matrices_in(case.description.relative_permittivity),
            };
            let Some(matrices) = matrices else { break };
            let values = self.values(run, &case, &problem, &solution, matrices)?;
            let quantities = solution.quantities();
            let quantities =
                quantities.iter().map(|(key, found)| format!("{key} [{}]", found.unit));
            let row = Row {
                values,
                conductors: names.clone(),
                excited: problem.excited().to_vec(),
                quantities: quantities.collect(),
                is_solved,
                prepared: if is_solved { prepared } else { 0 },
            };
            rows.add(run, row, Some(self.folder));
        }
        Ok(())
    }

    /// The mesh of a run.
    fn mesh(&mut self, run: usize) -> Result<Mesh, Failure> {
        let Settings { runs, output, .. } = self.settings;
        let read = match self.read.entry(runs.file(run)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mesh = problem::read(runs.case, new.key().as_deref(), output)?;
                runs.case.check_moved(&mesh)?;
                new.insert(mesh)
            }
        };
        runs.place(run, read.clone())
    }

    /// Writes the files of a run; returns its values.
    fn values(
        &mut self,
        run: usize,
        case: &Case,
        problem: &Problem,
        solution: &Solution,
        matrices: Matrices,
    ) -> Result<Values, Failure> {
        let Settings { solving, started, .. } = self.settings;
        let folder = &mut *self.folder;
        let surface = (case.vtk != VtkMode::None).then(|| picture(run + 1));
        if let Some(name) = &surface {
            let path = folder.path().to_owned();
            let of = Run {
                case,
                problem,
                solution,
                requested: solving.on.backend,
                deterministic: solving.on.deterministic,
                used: of_plan(solution.answer.fmm.as_ref()),
                refinement: None,
                folder: &path,
                pieces: None,
                started,
                read_seconds: 0.0,
                has_page: false,
            };
            folder.stage(name, |out| results::write_surface(out, &of))?;
        }
        let probes = results::write_probes(folder, case, solution, &tag(run + 1))?;
        Ok(Values {
            maxwell_farad: matrices.maxwell_farad,
            quantities: solution.quantities().iter().map(|(_, found)| found.value).collect(),
            triangles: problem.mesh().triangles.len(),
            warnings: warnings::of(solution),
            surface,
            probes,
        })
    }
}
