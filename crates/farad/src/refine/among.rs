//! Ranks that take the same way to an accuracy: the first judges, and the others do as it says,
//! because rounding may tell apart what each of them has found.

use bem::{Progress, Ranks, SolveOptions};

use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::refine::marking::Side;
use crate::result::charges::Known;
use crate::result::solution::Solution;
use crate::solver::Solver;

/// Who solves together.
#[derive(Clone, Debug)]
pub(crate) enum Among {
    /// This process alone.
    Alone,
    /// Ranks that share the panels, of which each has the solution.
    Panels(Ranks),
    /// Ranks that share the excitations, of which the first has the solution.
    Excitations(Ranks),
}

impl Among {
    /// Those that options say.
    pub(crate) fn of(options: &SolveOptions) -> Self {
        if options.ranks.is_alone() { Self::Alone } else { Self::Panels(options.ranks.clone()) }
    }

    fn ranks(&self) -> Option<&Ranks> {
        match self {
            Self::Alone => None,
            Self::Panels(ranks) | Self::Excitations(ranks) => Some(ranks),
        }
    }

    /// Whether this one judges.
    pub(crate) fn is_first(&self) -> bool {
        self.ranks().is_none_or(|Ranks(group)| group.rank() == 0)
    }

    /// A rank's own result, unless another one's is an error. Collective.
    pub(crate) fn agreed<T>(&self, own: Result<T, Error>) -> Result<T, Error> {
        match self.ranks() {
            Some(ranks) => ranks.agreed(own),
            None => own,
        }
    }

    /// The solution, on the ranks that have it. An error of one is one of all. Collective.
    pub(crate) fn solve(
        &self,
        solver: &mut Solver,
        problem: &Problem,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Solution>, Error> {
        self.agreed(match self {
            Self::Excitations(Ranks(group)) => {
                solver.solve_among(group, problem, options, progress)
            }
            _ => solver.solve(problem, options, progress).map(Some),
        })
    }

    /// Numbers that the first rank has made, on all of them; an error of it is one of all.
    /// Collective.
    pub(crate) fn of_first(
        &self,
        make: impl FnOnce() -> Result<Vec<f64>, Error>,
    ) -> Result<Vec<f64>, Error> {
        let own = if self.is_first() { make() } else { Ok(Vec::new()) };
        let own = self.agreed(own)?;
        match self.ranks() {
            Some(ranks) => Ok(ranks.of_first(&own)?),
            None => Ok(own),
        }
    }

    /// The gains of sides that the first rank has found, on all of them, with a number. Collective.
    pub(crate) fn gains_of_first(
        &self,
        make: impl FnOnce() -> Result<(f64, Vec<(Side, f64)>), Error>,
    ) -> Result<(f64, Vec<(Side, f64)>), Error> {
        if self.ranks().is_none() {
            return make();
        }
        let numbers = self.of_first(|| {
            let (number, gains) = make()?;
            let sides =
                gains.iter().flat_map(|((a, b), gain)| [f64::from(*a), f64::from(*b), *gain]);
            Ok([number].into_iter().chain(sides).collect())
        })?;
        let Some((&number, sides)) = numbers.split_first() else { return Ok((1.0, Vec::new())) };
        let side = |of: &[f64; 3]| ((of[0] as u32, of[1] as u32), of[2]);
        Ok((number, sides.as_chunks::<3>().0.iter().map(side).collect()))
    }

    /// The charges of each excitation from which all start the next solve, on so many triangles:
    /// each rank's own, unless only the first has them. Collective.
    pub(crate) fn known(&self, own: Vec<Known>, triangles: usize) -> Result<Vec<Known>, Error> {
        if !matches!(self, Self::Excitations(_)) {
            return Ok(own);
        }
        let numbers = self.of_first(|| {
            let all = own.iter().flat_map(Known::numbers);
            Ok([own.len() as f64].into_iter().chain(all).collect())
        })?;
        let Some((&count, numbers)) = numbers.split_first() else { return Ok(Vec::new()) };
        let each = numbers.len().checked_div(count as usize).unwrap_or(0).max(1);
        let known = numbers.chunks_exact(each);
        Ok(known.map(|numbers| Known::of_numbers(numbers, triangles)).collect())
    }

    /// That all ranks have this same problem. Collective.
    pub(crate) fn check_same(&self, problem: &Problem) -> Result<(), Error> {
        if self.ranks().is_none() {
            return Ok(());
        }
        let own = f64::from_bits(problem.geometry());
        let first = self.of_first(|| Ok(vec![own]))?;
        let is_same = first.iter().all(|first| first.to_bits() == own.to_bits());
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
