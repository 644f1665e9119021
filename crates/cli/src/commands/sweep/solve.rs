//! One rank's runs, solved in turn: a solve gives the runs that differ from it by a factor, too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::time::Instant;

use farad::{Matrices, Problem, Solution, Solver};
use mesh::Mesh;

use super::kept;
use super::rows::{Common, Found, Row};
use super::runs::{Runs, picture, tag};
use crate::case::{Case, VtkMode, problem};
use crate::commands::arguments::Solving;
use crate::commands::solve::solve;
use crate::machine::backend::Backend;
use crate::report::results::{self, Checkpoint, Folder, Run};
use crate::report::warnings;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
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

/// Solves a rank's `own` runs, but for those that follow from others, and writes their files to the
/// folder; adds them to what was `found` before.
pub(super) fn solve_all(
    settings: Settings<'_>,
    own: &[usize],
    found: Found,
    folder: &mut Folder,
) -> Result<Found, Failure> {
    let Settings { runs, checkpoint, is_alone, .. } = settings;
    let mut is_own = vec![false; runs.len()];
    own.iter().for_each(|&run| is_own[run] = true);
    let (read, solver) = (HashMap::new(), Solver::default());
    let mut solves = Solves { settings, is_own, read, solver, folder, found };
    for &run in own {
        if solves.found.rows[run].is_none() {
            interrupt::check()?;
            if let Some(checkpoint) = checkpoint {
                checkpoint.begin(run, |run| solves.has(run));
            }
            solves.solve(run)?;
        }
    }
    if let Some(checkpoint) = checkpoint.filter(|_| !is_alone) {
        // Others may go on for long, or fail.
        checkpoint.begin(runs.len(), |run| solves.has(run));
        checkpoint.write_all();
    }
    Ok(solves.found)
}

/// Solves under way.
struct Solves<'a> {
    settings: Settings<'a>,
    /// The runs of this rank.
    is_own: Vec<bool>,
    /// The meshes, each file read once.
    read: HashMap<Option<PathBuf>, Mesh>,
    solver: Solver,
    folder: &'a mut Folder,
    found: Found,
}

impl Solves<'_> {
    /// Whether a run is found.
    fn has(&self, run: usize) -> bool {
        self.found.rows.get(run).is_some_and(Option::is_some)
    }

    /// Solves a run, and with it those that follow from it.
    fn solve(&mut self, first: usize) -> Result<(), Failure> {
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
        let common = &mut self.found.common;
        let names = &problem.conductors().names;
        if common.conductors.is_none() {
            problem::tell(&case, &problem, output);
        }
        let of_first = common.conductors.get_or_insert_with(|| names.clone());
        runs.check_conductors(first, names, of_first)?;
        common.excited = problem.excited().to_vec();
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
        common.solved += 1;
        common.prepared += prepared;
        let quantities = solution.quantities();
        let quantities = quantities.iter().map(|(key, found)| format!("{key} [{}]", found.unit));
        common.quantities = quantities.collect();
        let common = common.clone();
        for run in first..runs.len() {
            let is_left = self.is_own[run] && self.found.rows[run].is_none();
            if !is_left || !runs.have_same_geometry(first, run) {
                continue;
            }
            let case = runs.case(run);
            let matrices = match run == first {
                true => Some(solution.matrices()),
                false => solution.matrices_in(case.description.relative_permittivity),
            };
            let Some(matrices) = matrices else { break };
            let staged = self.folder.staged().len();
            let row = self.row(run, &case, &problem, &solution, matrices)?;
            if let Some(checkpoint) = checkpoint {
                let files = &self.folder.staged()[staged..];
                let (solved, prepared) = if run == first { (1, prepared) } else { (0, 0) };
                let common = Common { solved, prepared, ..common.clone() };
                kept::put(checkpoint, run, &row, common, self.folder, files);
            }
            self.found.rows[run] = Some(row);
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

    /// Writes the files of a run.
    fn row(
        &mut self,
        run: usize,
        case: &Case,
        problem: &Problem,
        solution: &Solution,
        matrices: Matrices,
    ) -> Result<Row, Failure> {
        let Settings { runs, solving, started, .. } = self.settings;
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
                used: solution.answer.fmm.as_ref().map_or(Backend::Cpu, Backend::of_plan),
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
        Ok(Row {
            parameters: runs.parameters(run),
            maxwell_farad: matrices.maxwell_farad,
            quantities: solution.quantities().iter().map(|(_, found)| found.value).collect(),
            triangles: problem.mesh().triangles.len(),
            warnings: warnings::of(solution),
            surface,
            probes,
        })
    }
}
