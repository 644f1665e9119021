//! Answers that are kept while they are sought: see [`Keeper`](crate::Keeper).

use super::gmres::{Next, Watch};
use crate::{Keeper, Progress, Stage};

/// Follows solves of some equations, and has their answers kept.
pub(crate) struct Kept<'a> {
    progress: &'a dyn Progress,
    /// The number of each right-hand side's equations; `None` where nothing is kept.
    equations: Vec<Option<u64>>,
}

impl<'a> Kept<'a> {
    /// `equations` is called if there is somebody who keeps answers.
    pub(crate) fn new(
        progress: &'a dyn Progress,
        equations: impl FnOnce() -> Vec<Option<u64>>,
    ) -> Self {
        let equations = progress.keeper().map_or_else(Vec::new, |_| equations());
        Self { progress, equations }
    }

    /// Puts what is known of answers in the place of first guesses, shape (columns, len).
    pub(crate) fn restore(&self, x: &mut [f64]) {
        let Some(keeper) = self.progress.keeper() else { return };
        let length = x.len().checked_div(self.equations.len()).unwrap_or(0).max(1);
        for (x, equations) in x.chunks_exact_mut(length).zip(&self.equations) {
            let Some(known) = equations.and_then(|equations| keeper.known(equations)) else {
                continue;
            };
            if known.len() == length && known.iter().all(|value| value.is_finite()) {
                x.copy_from_slice(&known);
            }
        }
    }

    /// Follows one solve of the right-hand sides from this one on; what it finds is added to
    /// `base`, unless that is empty.
    pub(crate) fn watch<'b>(&'b self, first: usize, base: &'b [f64]) -> Watching<'a, 'b> {
        Watching { kept: self, keeper: self.progress.keeper(), first, base }
    }
}

/// Follows one solve.
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
