//! Observers of solves, and storage of intermediate answers: see [`CheckpointStore`].

use crate::{CheckpointStore, Error, Progress, Ranks, Stage};

/// Observer of a solve.
pub trait Observer {
    /// Called after each shared iteration, with the largest relative residual of the columns still
    /// running.
    fn after(&mut self, iteration: usize, residual: f64) -> Next;

    /// Whether finished answers should be stored.
    fn stores(&self) -> bool {
        false
    }

    /// Receives the answer to a right-hand side: when it is finished, and earlier if [`Next`] asks
    /// for it.
    fn store(&mut self, _column: usize, _x: Vec<f64>) {}
}

/// Action after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Whether the solve continues.
    pub(crate) continues: bool,
    /// Whether answers so far should be stored first.
    pub(crate) stores: bool,
}

impl<F: FnMut(usize, f64) -> bool> Observer for F {
    fn after(&mut self, iteration: usize, residual: f64) -> Next {
        Next { continues: self(iteration, residual), stores: false }
    }
}

/// Observes solves of some equations and stores their answers.
pub(crate) struct Checkpoints<'a> {
    progress: &'a dyn Progress,
    /// The number of each right-hand side's equations; `None` if nothing is stored.
    equations: Vec<Option<u64>>,
}

impl<'a> Checkpoints<'a> {
    /// `equations` is called only if there is a store.
    pub(crate) fn new(
        progress: &'a dyn Progress,
        equations: impl FnOnce() -> Vec<Option<u64>>,
    ) -> Self {
        let equations = progress.checkpoint_store().map_or_else(Vec::new, |_| equations());
        Self { progress, equations }
    }

    /// Overwrites first guesses, shape (columns, len), with stored answers, where there are any.
    /// Collective: the first rank has them.
    pub(crate) fn restore(&self, ranks: &Ranks, x: &mut [f64]) -> Result<(), Error> {
        let is_known = self.read(x);
        if !ranks.is_alone() {
            let known: Vec<f64> = ranks.of_first(if is_known { x } else { &[] })?;
            if known.len() == x.len() {
                x.copy_from_slice(&known);
            }
        }
        Ok(())
    }

    /// Overwrites first guesses with this rank's stored answers; returns whether there are any.
    fn read(&self, x: &mut [f64]) -> bool {
        let Some(store) = self.progress.checkpoint_store() else { return false };
        let mut is_known = false;
        let length = x.len().checked_div(self.equations.len()).unwrap_or(0).max(1);
        for (x, equations) in x.chunks_exact_mut(length).zip(&self.equations) {
            let Some(known) = equations.and_then(|equations| store.load(equations)) else {
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
    pub(crate) fn observer<'b>(&'b self, first: usize, base: &'b [f64]) -> StoringObserver<'a, 'b> {
        StoringObserver { checkpoints: self, store: self.progress.checkpoint_store(), first, base }
    }
}

/// Observes one solve.
pub(crate) struct StoringObserver<'a, 'b> {
    checkpoints: &'b Checkpoints<'a>,
    store: Option<&'b dyn CheckpointStore>,
    first: usize,
    base: &'b [f64],
}

impl Observer for StoringObserver<'_, '_> {
    fn after(&mut self, iteration: usize, residual: f64) -> Next {
        let progress = self.checkpoints.progress;
        progress.residual(iteration, residual);
        let continues = progress.advance(Stage::Solve, iteration as u64, 0);
        Next { continues, stores: self.store.is_some_and(|store| !continues || store.is_due()) }
    }

    fn stores(&self) -> bool {
        self.store.is_some()
    }

    fn store(&mut self, column: usize, mut x: Vec<f64>) {
        let equations = self.checkpoints.equations.get(self.first + column).copied().flatten();
        let (Some(store), Some(equations)) = (self.store, equations) else { return };
        if x.iter().all(|value| value.is_finite()) {
            x.iter_mut().zip(self.base).for_each(|(x, base)| *x += base);
            store.store(equations, x);
        }
    }
}
