//! Solves by one process or by several, which share excitations or space.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use bem::Keeper;
use comm::Group;
use farad::{Attained, Level, Problem, Solution, Solver};

use crate::case::Case;
use crate::commands::arguments::Solving;
use crate::commands::passed::{Meshes, told};
use crate::machine::ranks::Ranks;
use crate::report::results::{Checkpoint, Refinement};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;
use crate::terminal::progress::Bars;

/// What ranks share of one solve.
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
    /// What so many ranks share of a problem.
    pub(crate) fn of(self, problem: &Problem, ranks: usize) -> Self {
        match self {
            Self::Auto if problem.shared_excitations() >= ranks => Self::Excitations,
            Self::Auto => Self::Space,
            chosen => chosen,
        }
    }
}

/// Who solves together, what they share, and where what they find is kept.
#[derive(Clone, Copy)]
pub(crate) struct Sharing<'a> {
    pub(crate) ranks: &'a Ranks,
    pub(crate) split: Split,
    pub(crate) kept: Option<&'a Checkpoint>,
}

/// Whether so many ranks have anything to share, and a note of what.
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
                "{ranks} processes of farad {command} were to share its excitations, and this case has {excitations}"
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
    let mut hasher = DefaultHasher::new();
    let mesh = problem.mesh();
    let nodes = mesh.patches.iter().flat_map(|patches| patches.nodes.as_flattened());
    for x in mesh.vertices.as_flattened().iter().chain(nodes) {
        x.to_bits().hash(&mut hasher);
    }
    mesh.triangles.hash(&mut hasher);
    hasher.finish()
}

/// Solves a problem by the case's settings, with the cache of earlier solves of the same geometry.
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
    let bars = Bars::keeping(output, keeper(kept));
    solver.solve(problem, &options, &bars).map_err(|error| case.failed(error))
}

/// The same by all ranks, of which the first has the solution; where they share the triangles, all
/// have. Collective.
pub(crate) fn solve_among(
    Sharing { ranks, split, kept }: Sharing<'_>,
    solver: &mut Solver,
    case: &Case,
    problem: &Problem,
    solving: &Solving,
    output: &Output,
) -> Result<Option<Solution>, Failure> {
    let Some(group) = ranks.group() else {
        return solve(kept, solver, case, problem, solving, output).map(Some);
    };
    let mut options = ranks.agree(solving.options(case))?;
    let bars = Bars::keeping(output, keeper(kept));
    let solution = match split.of(problem, ranks.size()) {
        Split::Space => {
            options.ranks = farad::Ranks(Group::clone(group));
            solver.solve(problem, &options, &bars).map(Some)
        }
        _ => solver.solve_among(group, problem, &options, &bars),
    };
    solution.map_err(|error| case.failed(error))
}

/// A problem, perhaps on a finer mesh, with its solution and how it came about.
pub(super) type Solved<'a> = (Arc<Problem>, Solution, Option<Refinement<'a>>);

/// Solves a problem, to an accuracy if the case wants one. The first rank has the solution; where
/// they share the triangles, all have.
pub(super) fn solve_to_goal<'a>(
    sharing: Sharing<'_>,
    solver: &mut Solver,
    case: &'a Case,
    problem: Arc<Problem>,
    solving: &Solving,
    output: &Output,
) -> Result<Option<Solved<'a>>, Failure> {
    let Sharing { ranks, split, kept } = sharing;
    let Some(goal) = &case.goal else {
        let solution = solve_among(sharing, solver, case, &problem, solving, output)?;
        return Ok(solution.map(|solution| (problem, solution, None)));
    };
    let problem = Arc::unwrap_or_clone(problem);
    let mut options = ranks.agree(solving.options(case))?;
    let mut each = |level: &Level, _: &Solution| output.note(&told(level));
    let bars = Bars::keeping(output, keeper(kept));
    let attained = match ranks.group() {
        Some(group) if split.of(&problem, ranks.size()) != Split::Space => {
            farad::solve_to_among(group, problem, goal, &options, &bars, &mut each)
        }
        // Meshes that were passed are solved on again, from the charges that are known on them.
        Some(group) => {
            options.ranks = farad::Ranks(Group::clone(group));
            farad::solve_to(problem, goal, &options, &bars, &mut each).map(Some)
        }
        None => {
            let (passed, mut way) = Meshes::begin(kept, output);
            farad::solve_to_after(&passed, problem, goal, &options, &bars, &mut way).map(Some)
        }
    };
    let attained = attained.map_err(|error| case.failed(error))?;
    Ok(attained.map(|Attained { problem, solution, levels, ended }| {
        (Arc::new(problem), solution, Some(Refinement { goal, levels, ended }))
    }))
}

/// Who keeps charges, if anybody does.
fn keeper(kept: Option<&Checkpoint>) -> Option<&dyn Keeper> {
    kept.map(|kept| kept as &dyn Keeper)
}

/// [`Ranks::agree`], where all have kept what they found before one that failed tells why: the
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
