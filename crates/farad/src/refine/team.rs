//! Ranks that refine together: the first judges, and the others do as it says, because rounding may
//! tell apart what each of them has computed.

use bem::{Group, Progress, Ranks, SolveOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::result::charges::Known;
use crate::result::solution::Solution;
use crate::solver::Solver;

/// Ranks that solve together: a grid of those that share the excitations and those that share the
/// panels. One process is a grid of one.
#[derive(Clone, Debug)]
pub(crate) struct Team {
    /// The first of these has the solution.
    excitations: Ranks,
    /// All of these have what the first has.
    panels: Ranks,
}

impl Team {
    /// Ranks of `excitations` share these, ranks of the options the panels.
    pub(crate) fn new(excitations: &Group, options: &SolveOptions) -> Self {
        let panels = options.ranks.clone();
        Self { excitations: Ranks(Group::clone(excitations)), panels }
    }

    fn is_alone(&self) -> bool {
        self.excitations.0.size() == 1 && self.panels.0.size() == 1
    }

    /// Whether this rank judges.
    fn is_first(&self) -> bool {
        self.excitations.0.rank() == 0 && self.panels.0.rank() == 0
    }

    /// A rank's own result, unless that of another is an error. Collective.
    pub(crate) fn agreed<T>(&self, own: Result<T, Error>) -> Result<T, Error> {
        self.excitations.agreed(self.panels.agreed(own))
    }

    /// The solution, on the ranks that have it; an error of one rank is one of all. Collective.
    pub(crate) fn solve(
        &self,
        solver: &mut Solver,
        problem: &Problem,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Solution>, Error> {
        self.agreed(solver.solve_on(&self.excitations.0, problem, options, progress))
    }

    /// The value that the first rank makes, on all ranks; its error is that of all. Collective.
    pub(crate) fn of_first<T: Serialize + DeserializeOwned>(
        &self,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.is_alone() {
            return make();
        }
        let own = self.agreed(self.is_first().then(make).transpose())?;
        let of_panels: Option<T> = self.panels.of_first(&own)?;
        let of_first: Option<T> = self.excitations.of_first(&of_panels)?;
        let none = bem::Error::Length { what: "values of the first rank", expected: 1, found: 0 };
        of_first.ok_or(Error::Solve(none))
    }

    /// The charges of each excitation from which all ranks start the next solve: each rank's own,
    /// unless only the first has them. Collective.
    pub(crate) fn known(&self, own: Vec<Known>) -> Result<Vec<Known>, Error> {
        if self.excitations.0.size() == 1 { Ok(own) } else { self.of_first(|| Ok(own)) }
    }

    /// That all ranks have this same problem. Collective.
    pub(crate) fn check_same(&self, problem: &Problem) -> Result<(), Error> {
        if self.is_alone() {
            return Ok(());
        }
        let own = problem.geometry();
        let is_same = self.of_first(|| Ok(own))? == own;
        self.agreed(if is_same {
            Ok(())
        } else {
            Err(Error::Accuracy(
                "the mesh here is not that of rank 0; ranks that refine a mesh together must have processors of one kind"
                    .to_owned(),
            ))
        })
    }
}
