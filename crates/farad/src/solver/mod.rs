//! Solves, with a cache of what solves of one geometry share.

mod results;

use bem::{Charges, Electrostatics, Group, Prepared, Progress, SolveOptions};

use crate::analysis::interface::{Analysis, Conclusion};
use crate::analysis::{list, salt};
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::result::charges::Known;
use crate::result::solution::Solution;
use results::{Answered, Context};

/// Solves problems one after the other. Consecutive problems that differ only in permittivities,
/// charges and fields share one near field and one plan of the fast sums.
#[derive(Default)]
pub struct Solver {
    cache: Option<GeometryCache>,
    times: usize,
    /// Whether the gains of sides are wanted, and the charges kept.
    refines: bool,
    /// Whether nothing is solved after the first problem.
    is_single: bool,
    /// Whether it is the shares of films that a refinement is for.
    for_films: bool,
    /// The last charges of each excitation, from which the next solve starts.
    known: Vec<Known>,
}

/// The prepared operators of one geometry, and what they were prepared for.
struct GeometryCache {
    geometry: u64,
    excitations: usize,
    options: SolveOptions,
    prepared: Prepared,
}

/// Answers, and the operators that have found them.
struct Solved {
    answer: Electrostatics,
    cache: GeometryCache,
}

impl Problem {
    /// Solves the problem by itself: [`Solver::solve`].
    ///
    /// # Errors
    /// As there.
    pub fn solve(
        &self,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Solution, Error> {
        Solver::single().solve(self, options, progress)
    }

    /// How many excitations ranks can share ([`Solver::solve_on`]): those of conductors, of the
    /// sources, of fields along axes.
    pub fn shared_excitations(&self) -> usize {
        if self.description.has_salt() { 1 } else { list::excitations(self).len() }
    }
}

impl Solver {
    /// A solver of one problem, which gives memory back as soon as it is used up.
    #[must_use]
    pub fn single() -> Self {
        Self { is_single: true, ..Self::default() }
    }

    /// A solver whose bars say what each side of triangles has to gain, and which starts from these
    /// charges of the problem's excitations, if there are any; it finds shares of films on each
    /// mesh if it refines for these.
    pub(crate) fn for_refinement(known: Vec<Known>, for_films: bool) -> Self {
        Self { refines: true, is_single: true, for_films, known, ..Self::default() }
    }

    /// The charges of its last solution, one set for each excitation.
    pub(crate) fn into_known(self) -> Vec<Known> {
        self.known
    }

    /// How often near field and fast sums were set up.
    #[must_use]
    pub fn times_prepared(&self) -> usize {
        self.times
    }

    /// Solves a problem: each conductor in turn at 1 V, then the sources and the further results
    /// that the description wants. With [`SolveOptions::ranks`] all ranks call it, and all have the
    /// solution. A solve that does not converge is no error here: see
    /// [`Solution::converged`], and [`Solution::warnings`] for what self-checks found.
    ///
    /// # Errors
    /// [`Error::Solve`]: memory, a GPU that is not there, interrupted by `progress`;
    /// [`Error::Probes`].
    pub fn solve(
        &mut self,
        problem: &Problem,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Solution, Error> {
        let solution = self.solve_on(&comm::alone(), problem, options, progress)?;
        // A group of one has it.
        let none = bem::Error::Length { what: "solutions", expected: 1, found: 0 };
        solution.ok_or(Error::Solve(none))
    }

    /// [`solve`](Self::solve) by ranks of which each solves for some of the excitations
    /// ([`Problem::shared_excitations`]), all with the same problem and options: the first has the
    /// solution. Each of them may be one of the ranks of [`SolveOptions::ranks`], which share its
    /// panels and then have what it has. Collective.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve); on other ranks than the one that fails, [`bem::Error::Fmm`]
    /// with its message. [`Error::Ions`] with ions, whose equations are solved at once, if
    /// `excitations` is more than one rank.
    pub fn solve_on(
        &mut self,
        excitations: &Group,
        problem: &Problem,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Solution>, Error> {
        if problem.description.has_salt() {
            if excitations.size() > 1 {
                return Err(Error::Ions);
            }
            check_memory(problem, options)?;
            return salt::solve(problem, options, progress).map(Some);
        }
        let permittivity = problem.permittivity();
        let media = problem.media_of(&permittivity);
        let all = list::excitations(problem);
        let context = Context { problem, media, excitations: &all, options, progress };
        let Some(Solved { answer, mut cache }) = self.solved(excitations, context)? else {
            return Ok(None);
        };
        if self.is_single && !results::solves_on(problem) {
            cache.prepared.give_back();
        }
        let (prepared, with_sides) = (&mut cache.prepared, self.refines);
        let answered = Answered { context, prepared, answer, with_sides };
        let completed = answered.estimate()?.complete()?;
        self.times += completed.further_solves();
        if self.refines {
            self.known = completed.known();
        }
        let mut solution = completed.with_missing_charge()?.solution()?;
        self.cache = Some(cache);
        let (is_last, for_films) = (!self.refines, self.for_films);
        conclude(problem, options, progress, &mut solution, |analysis| {
            is_last || !analysis.is_of_last_mesh(for_films)
        })?;
        Ok(Some(solution))
    }

    /// The answers to all excitations, on the ranks that have them: those of the `group`, of which
    /// the first gathers what each has solved for, or of the options. Collective.
    fn solved(&mut self, group: &Group, context: Context<'_>) -> Result<Option<Solved>, Error> {
        let Context { problem, excitations, options, progress, .. } = context;
        let known = std::mem::take(&mut self.known);
        let start = starts(&known, problem);
        let own = bem::internals::local_excitations(&**group, excitations.len());
        let mut solve = || -> Result<_, Error> {
            check_memory(problem, options)?;
            if own.is_empty() && group.rank() > 0 {
                return Ok(None);
            }
            let mut cache = self.prepared(context)?;
            let answer = cache.prepared.solve_some(&start, excitations, own.clone(), progress)?;
            Ok(Some(Solved { answer, cache }))
        };
        let mut cache = None;
        let own = solve().map(|solved| {
            let solved = solved?;
            cache = Some(solved.cache);
            Some(solved.answer)
        });
        let answer = bem::internals::gather_responses(&**group, own)?;
        let (Some(mut answer), Some(cache)) = (answer, cache) else { return Ok(None) };
        cache.prepared.complete(excitations, &mut answer);
        Ok(Some(Solved { answer, cache }))
    }

    /// The prepared operators for this problem: those of the last solve if the geometry is the
    /// same.
    fn prepared(&mut self, context: Context<'_>) -> Result<GeometryCache, bem::Error> {
        let Context { problem, media, excitations, options, .. } = context;
        let excitations = excitations.len();
        // The memory that is left changes from solve to solve.
        let choices = options.clone().memory_limit(None);
        let geometry = problem.geometry();
        let mut known = self.cache.take().filter(|kept| {
            (kept.geometry, kept.excitations, &kept.options) == (geometry, excitations, &choices)
        });
        if !known.as_mut().is_some_and(|kept| kept.prepared.set_permittivity(media.permittivity)) {
            known = None;
        }
        if let Some(kept) = known {
            return Ok(kept);
        }
        self.times += 1;
        let prepared = Prepared::new(&problem.mesh, media, excitations, options)?;
        Ok(GeometryCache { geometry, excitations, options: choices, prepared })
    }
}

/// Known charges from which iterations start, if they are on this problem's triangles: it may have
/// split some itself.
fn starts<'a>(known: &'a [Known], problem: &Problem) -> Vec<Charges<'a>> {
    let n = problem.mesh.triangles.len();
    let fits = |known: &&Known| Charges::from(*known).total.len() == n;
    known.iter().filter(fits).map(Charges::from).collect()
}

/// That what is evaluated fits into memory, on all ranks that share the panels. Collective.
fn check_memory(problem: &Problem, options: &SolveOptions) -> Result<(), Error> {
    let limit = options.memory_limit;
    let fits = limit.map_or(Ok(()), |limit| problem.description.check_memory(limit));
    options.ranks.agreed(fits)
}

/// Adds the results of these analyses that follow from a solution with its bars.
pub(crate) fn conclude(
    problem: &Problem,
    options: &SolveOptions,
    progress: &dyn Progress,
    solution: &mut Solution,
    is_meant: impl Fn(&dyn Analysis) -> bool,
) -> Result<(), Error> {
    let solve = |problem: &Problem| Solver::default().solve(problem, options, progress);
    let conclusion = Conclusion { problem, solve: &solve, progress };
    let requested = list::requested(&problem.description);
    for analysis in requested.filter(|analysis| is_meant(*analysis)) {
        analysis.conclude(&conclusion, solution)?;
    }
    Ok(())
}
