//! The sums of one `apply` in Morton order: potentials, and gradients if asked for, of k densities.

use std::ops::Range;

use parallel::DisjointSlice;

/// Lent to the jobs of L2P and P2P.
#[derive(Debug)]
pub(crate) struct Sums<'a, T> {
    potential: DisjointSlice<'a, T>,
    /// Axis by axis for each density; empty when no gradient is asked.
    gradient: Option<DisjointSlice<'a, T>>,
    targets: usize,
}

impl<'a, T> Sums<'a, T> {
    /// `potential` has shape (k, m), `gradient` (k, 3, m) or is empty.
    pub(crate) fn new(potential: &'a mut [T], gradient: &'a mut [T], targets: usize) -> Self {
        let gradient = (!gradient.is_empty()).then(|| DisjointSlice::new(gradient));
        Self { potential: DisjointSlice::new(potential), gradient, targets }
    }

    pub(crate) fn has_gradient(&self) -> bool {
        self.gradient.is_some()
    }

    /// The potentials of one density at a run of targets.
    ///
    /// # Safety
    /// No other slice of these targets' potentials is alive.
    #[inline(always)]
    pub(crate) unsafe fn potential(&self, density: usize, range: Range<usize>) -> &'a mut [T] {
        let base = density * self.targets;
        // SAFETY: the caller's.
        unsafe { self.potential.slice(base + range.start..base + range.end) }
    }

    /// One axis of the gradients of one density at a run of targets; empty when no gradient is
    /// asked.
    ///
    /// # Safety
    /// No other slice of these targets' gradients is alive.
    #[inline(always)]
    pub(crate) unsafe fn gradient(
        &self,
        density: usize,
        axis: usize,
        range: Range<usize>,
    ) -> &'a mut [T] {
        let base = (3 * density + axis) * self.targets;
        match &self.gradient {
            // SAFETY: the caller's.
            Some(gradient) => unsafe { gradient.slice(base + range.start..base + range.end) },
            None => &mut [],
        }
    }
}
