//! Observers of solves, and storage of intermediate answers: see [`Keeper`].

use crate::{Error, Keeper, Progress, Ranks, Stage};

/// Observer of a solve.
pub trait Watch {
    /// Called after each shared iteration, with the largest relative residual of the columns still
    /// running.
    fn after(&mut self, iteration: usize, residual: f64) -> Next;

    /// Whether finished answers should be stored.
    fn keeps(&self) -> bool {
        false
    }

    /// Receives the answer to a right-hand side: when it is finished, and earlier if [`Next`] asks
    /// for it.
    fn keep(&mut self, _column: usize, _x: Vec<f64>) {}
}

/// Action after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Whether the solve continues.
    pub(crate) goes_on: bool,
    /// Whether answers so far should be stored first.
    pub(crate) keeps: bool,
}

impl<F: FnMut(usize, f64) -> bool> Watch for F {
    fn after(&mut self, iteration: usize, residual: f64) -> Next {
        Next { goes_on: self(iteration, residual), keeps: false }
    }
}

/// Observes solves of some equations and stores their answers.
pub(crate) struct Kept<'a> {
    progress: &'a dyn Progress,
    /// The number of each right-hand side's equations; `None` if nothing is stored.
    equations: Vec<Option<u64>>,
}

impl<'a> Kept<'a> {
    /// `equations` is called only if there is a keeper.
    pub(crate) fn new(
        progress: &'a dyn Progress,
        equations: impl FnOnce() -> Vec<Option<u64>>,
    ) -> Self {
        let equations = progress.keeper().map_or_else(Vec::new, |_| equations());
        Self { progress, equations }
    }

    /// Overwrites first guesses, shape (columns, len), with stored answers, where there are any.
    /// Collective: the first rank has them.
    pub(crate) fn restore(&self, ranks: &Ranks, x: &mut [f64]) -> Result<(), Error> {
        let is_known = self.read(x);
        if !ranks.is_alone() {
            let known = ranks.of_first(if is_known { x } else { &[] })?;
            if known.len() == x.len() {
                x.copy_from_slice(&known);
            }
        }
        Ok(())
    }

    /// Overwrites first guesses with this rank's stored answers; returns whether there are any.
    fn read(&self, x: &mut [f64]) -> bool {
        let Some(keeper) = self.progress.keeper() else { return false };
        let mut is_known = false;
        let length = x.len().checked_div(self.equations.len()).unwrap_or(0).max(1);
        for (x, equations) in x.chunks_exact_mut(length).zip(&self.equations) {
            let Some(known) = equations.and_then(|equations| keeper.known(equations)) else {
                continue;
            };
            if known.len() == length && known.iter().all(|value| value.is_finite()) {
                x.copy_from_slice(&known);
                is_known = true;
            }
        }
        is_known
    }

    /// Observes one solve of the right-hand sides from this one on; its result is added to `base`,
    /// unless that is empty.
    pub(crate) fn watch<'b>(&'b self, first: usize, base: &'b [f64]) -> Watching<'a, 'b> {
        Watching { kept: self, keeper: self.progress.keeper(), first, base }
    }
}

/// Observes one solve.
pub(crate) struct Watching<'a, 'b> {
    kept: &'b Kept<'a>,
    keeper: Option<&'b dyn Keeper>,
    first: usize,
    base: &'b [f64],
}

impl Watch for Watching<'_, '_> {
    fn after(&mut self, iteration: usize, residual: f64) -> Next {
        let progress = self.kept.progress;
        progress.residual(iteration, residual);
        let goes_on = progress.advance(Stage::Solve, iteration as u64, 0);
        Next { goes_on, keeps: self.keeper.is_some_and(|keeper| !goes_on || keeper.is_due()) }
    }

    fn keeps(&self) -> bool {
        self.keeper.is_some()
    }

    fn keep(&mut self, column: usize, mut x: Vec<f64>) {
        let equations = self.kept.equations.get(self.first + column).copied().flatten();
        let (Some(keeper), Some(equations)) = (self.keeper, equations) else { return };
        if x.iter().all(|value| value.is_finite()) {
            x.iter_mut().zip(self.base).for_each(|(x, base)| *x += base);
            keeper.keep(equations, x);
        }
    }
}
