//! Solves by one process or by several, which share excitations or space.

use std::sync::Arc;

use bem::CheckpointStore;
use comm::Group;
use farad::{Attained, Options, Problem, Solution, Solver};

use crate::case::{Case, number, problem};
use crate::commands::arguments::Solving;
use crate::commands::passed::Meshes;
use crate::machine::ranks::Ranks;
use crate::report::results::{Checkpoint, Refinement};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;
use crate::terminal::progress::Bars;

/// How ranks divide one solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Split {
    /// The excitations, where there are as many as processes, else space
    #[default]
    Auto,
    /// Each solves for some of the excitations
    Excitations,
    /// All solve for all excitations, each with a part of the triangles
    Space,
}

impl Split {
    /// How this number of ranks divide a problem.
    pub(crate) fn of(self, problem: &Problem, ranks: usize) -> Self {
        match self {
            Self::Auto if problem.shared_excitations() >= ranks => Self::Excitations,
            Self::Auto => Self::Space,
            chosen => chosen,
        }
    }
}

/// The ranks that solve together, what they share, and where what they find is kept.
#[derive(Clone, Copy)]
pub(crate) struct Sharing<'a> {
    pub(crate) ranks: &'a Ranks,
    pub(crate) split: Split,
    pub(crate) kept: Option<&'a Checkpoint>,
}

/// Two groups of ranks of which one shares the excitations and the other the panels.
struct Groups {
    excitations: Group,
    panels: farad::Ranks,
}

impl Sharing<'_> {
    /// The ranks in the one of the two groups that shares: the other one is of this rank alone.
    fn groups(&self, problem: &Problem) -> Groups {
        let group = Group::clone(self.ranks.group());
        match self.split.of(problem, self.ranks.size()) {
            Split::Space if self.ranks.size() > 1 => {
                Groups { excitations: comm::alone(), panels: farad::Ranks(group) }
            }
            _ => Groups { excitations: group, panels: farad::Ranks(comm::alone()) },
        }
    }

    /// The options of a solve by this rank. Collective.
    fn options(
        &self,
        case: &Case,
        solving: &Solving,
        panels: farad::Ranks,
    ) -> Result<Options, Failure> {
        let options = self.ranks.agree(solving.options(case))?;
        tracing::info!(?options, "solving");
        Ok(options.ranks(panels))
    }
}

/// Whether this number of ranks have anything to share, and a note of what.
pub(crate) fn check_shares(
    command: &str,
    problem: &Problem,
    ranks: usize,
    split: Split,
    output: &Output,
) -> Result<(), Failure> {
    let excitations = problem.shared_excitations();
    if split.of(problem, ranks) == Split::Space {
        output.note(&format!("{ranks} processes share the triangles"));
        return Ok(());
    }
    if excitations < 2 {
        return Err(Failure::with_help(
            Exit::Usage,
            format!(
                "{ranks} processes of farad {command} shall share the excitations, but this case has {excitations}"
            ),
            "leave --split excitations out, and they share the triangles",
        ));
    }
    if let Some(idle) = ranks.checked_sub(excitations).filter(|idle| *idle > 0) {
        output.note(&format!(
            "{idle} of {ranks} processes have nothing to do: there are {excitations} excitations"
        ));
    }
    Ok(())
}

/// A number for the mesh of a problem.
pub(crate) fn content(problem: &Problem) -> u64 {
    let mesh = problem.mesh();
    let nodes = mesh.patches.iter().flat_map(|patches| patches.nodes.as_flattened());
    let coordinates = mesh.vertices.as_flattened().iter().chain(nodes).map(|x| x.to_bits());
    number(&(coordinates.collect::<Vec<_>>(), &mesh.triangles))
}

/// Solves a problem by the case's settings, with the cache of earlier solves of the same geometry,
/// by this process alone.
pub(crate) fn solve(
    kept: Option<&Checkpoint>,
    solver: &mut Solver,
    case: &Case,
    problem: &Problem,
    solving: &Solving,
    output: &Output,
) -> Result<Solution, Failure> {
    let options = solving.options(case)?;
    tracing::info!(?options, "solving");
    let bars = Bars::storing(output, store(kept));
    solver.solve(problem, &options, &bars).map_err(|error| case.failed(error))
}

/// [`solve`] by all ranks, of which the first has the solution; where they share the triangles, all
/// have. Collective.
pub(crate) fn solve_on(
    sharing: Sharing<'_>,
    solver: &mut Solver,
    case: &Case,
    problem: &Problem,
    solving: &Solving,
    output: &Output,
) -> Result<Option<Solution>, Failure> {
    let Groups { excitations, panels } = sharing.groups(problem);
    let options = sharing.options(case, solving, panels)?;
    let bars = Bars::storing(output, store(sharing.kept));
    let solution = solver.solve_on(&excitations, problem, &options, &bars);
    solution.map_err(|error| case.failed(error))
}

/// Whether a refinement makes the surfaces of a case again, rather than to split their triangles.
fn makes_surfaces(case: &Case) -> bool {
    case.description.has_salt() && case.mesh.is_none()
}

/// Refuses an accuracy that no refinement of the problem can reach.
pub(super) fn check_reachable(
    case: &Case,
    problem: &Problem,
    solving: &Solving,
) -> Result<(), Failure> {
    let Some(goal) = &case.goal else { return Ok(()) };
    let checked = goal.check(problem, &solving.options(case)?, makes_surfaces(case));
    checked.map_err(|error| case.failed(error))
}

/// A problem, perhaps on a finer mesh, with its solution and how it came about.
pub(super) struct Solved<'a> {
    pub(super) problem: Arc<Problem>,
    pub(super) solution: Solution,
    pub(super) refinement: Option<Refinement<'a>>,
}

/// Solves a problem, to an accuracy if the case wants one. The first rank has the solution; where
/// they share the triangles, all have. Collective.
pub(super) fn solve_to_goal<'a>(
    sharing: Sharing<'_>,
    solver: &mut Solver,
    case: &'a Case,
    problem: Arc<Problem>,
    solving: &Solving,
    output: &Output,
) -> Result<Option<Solved<'a>>, Failure> {
    let Some(goal) = &case.goal else {
        let solution = solve_on(sharing, solver, case, &problem, solving, output)?;
        return Ok(solution.map(|solution| Solved { problem, solution, refinement: None }));
    };
    let problem = Arc::unwrap_or_clone(problem);
    let Groups { excitations, panels } = sharing.groups(&problem);
    let options = sharing.options(case, solving, panels)?;
    let bars = Bars::storing(output, store(sharing.kept));
    // Several ranks solve again on meshes that were completed, from the charges that are known.
    let kept = sharing.kept.filter(|_| sharing.ranks.size() == 1);
    let (completed, mut meshes) = Meshes::begin(kept, output);
    let surfaces = |times: f64| finer_surfaces(case, times, output);
    let mut refinement =
        farad::Refinement::new(goal, &options).after(&completed).sharing_excitations(&excitations);
    if makes_surfaces(case) {
        refinement = refinement.on_finer_surfaces(&surfaces);
    }
    let attained =
        refinement.refine(problem, &bars, &mut meshes).map_err(|error| case.failed(error))?;
    Ok(attained.map(|Attained { problem, solution, levels, outcome, .. }| Solved {
        problem: Arc::new(problem),
        solution,
        refinement: Some(Refinement { goal, levels, ended: outcome }),
    }))
}

/// The problem with this many times as many triangles on the surfaces of molecules.
fn finer_surfaces(case: &Case, times: f64, output: &Output) -> Result<Problem, farad::Error> {
    let mesh = problem::with_molecules(case, None, times, output);
    let mesh = mesh.map_err(|failure| match failure.exit {
        Exit::Interrupted => farad::Error::Solve(bem::Error::Interrupted),
        _ => farad::Error::Accuracy(failure.to_string()),
    })?;
    Problem::new(case.description.clone(), mesh)
}

/// The store of charges, if they are kept.
fn store(kept: Option<&Checkpoint>) -> Option<&dyn CheckpointStore> {
    kept.map(|kept| kept as &dyn CheckpointStore)
}

/// [`Ranks::agree`], where all have kept what they found before the rank that failed says why: the
/// first, which knows how to go on, if any was interrupted. Collective.
pub(crate) fn agreed<T>(
    ranks: &Ranks,
    kept: Option<&Checkpoint>,
    own: Result<T, Failure>,
) -> Result<T, Failure> {
    let exit = own.as_ref().map_or_else(|failure| failure.exit, |_| Exit::Success);
    let exits = ranks.gather(&[exit as u8])?.concat();
    let is_interrupted = exits.contains(&(Exit::Interrupted as u8));
    let own = match own {
        Ok(_) | Err(Failure { report: None, .. }) if is_interrupted => Err(Failure::interrupted()),
        own => own,
    };
    if let Some(kept) = kept.filter(|_| exits.iter().any(|exit| *exit != Exit::Success as u8)) {
        kept.write_all();
    }
    ranks.agree(own.map_err(|failure| Checkpoint::advised(kept, failure)))
}
