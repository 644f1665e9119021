//! Storage of intermediate answers: see [`Keeper`].

use super::gmres::{Next, Watch};
use crate::geometry::share::Share;
use crate::{Error, Keeper, Progress, Stage};

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

    /// Overwrites first guesses, shape (columns, len), with stored answers; returns whether there
    /// are any.
    pub(crate) fn restore(&self, x: &mut [f64]) -> bool {
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

/// Observes one solve that ranks share: any rank may stop it, and a rank with a keeper stores whole
/// answers.
pub(crate) struct WatchingAmong<'a> {
    share: &'a Share,
    own: &'a mut dyn Watch,
    /// Whether any rank stores answers.
    keeps: bool,
    /// Length of whole vectors.
    length: usize,
    /// The error if communication failed.
    lost: Option<Error>,
}

impl<'a> WatchingAmong<'a> {
    /// For vectors with this number of values over all panels. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn new(
        share: &'a Share,
        own: &'a mut dyn Watch,
        length: usize,
    ) -> Result<Self, Error> {
        let [keeps] = any(share, [own.keeps()])?;
        Ok(Self { share, own, keeps, length, lost: None })
    }

    /// Reports whether failed communication ended the solve.
    ///
    /// # Errors
    /// [`Error::Fmm`] if it did.
    pub(crate) fn ended(self) -> Result<(), Error> {
        self.lost.map_or(Ok(()), Err)
    }
}

/// Which of these are true on any rank. Collective.
fn any<const N: usize>(share: &Share, own: [bool; N]) -> Result<[bool; N], Error> {
    let mut sums = own.map(|own| f64::from(u8::from(own)));
    share.sum(&mut sums)?;
    Ok(sums.map(|sum| sum > 0.0))
}

impl Watch for WatchingAmong<'_> {
    fn after(&mut self, iteration: usize, residual: f64) -> Next {
        let own = self.own.after(iteration, residual);
        match any(self.share, [!own.goes_on, own.keeps]) {
            Ok([stops, keeps]) => Next { goes_on: !stops, keeps: keeps || (stops && self.keeps) },
            Err(error) => {
                self.lost = Some(error);
                Next { goes_on: false, keeps: false }
            }
        }
    }

    fn keeps(&self) -> bool {
        self.keeps
    }

    fn keep(&mut self, column: usize, x: Vec<f64>) {
        let mut whole = vec![0.0; self.length];
        match self.share.gather(&x, &mut whole) {
            Ok(()) if self.own.keeps() => self.own.keep(column, whole),
            Ok(()) => {}
            Err(error) => self.lost = Some(error),
        }
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
