//! Memory of a solve, estimated before it is taken.

use crate::Error;
use crate::near::REGULAR_ROW;

/// What takes memory in a rank's part of a solve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// Points of the sums of all regions.
    pub(super) points: usize,
    /// Whether the sums are direct, and the solver's tolerance.
    pub(super) is_dense: bool,
    pub(super) tolerance: f64,
    /// Panels of the near field, and numbers of each pair of them.
    pub(super) panels: usize,
    pub(super) numbers: usize,
    /// Available bytes; `None` = no limit.
    pub(super) limit: Option<u64>,
}

impl Memory {
    /// Refuses a solve that does not fit, with a near field as regular meshes have it.
    pub(super) fn check_regular(&self) -> Result<(), Error> {
        self.check(self.panels * REGULAR_ROW * self.numbers)
    }

    /// Refuses this number of entries of the near field.
    pub(super) fn check(&self, entries: usize) -> Result<(), Error> {
        /// A panel with its part of the mesh, of results and of bars; a point, with direct sums and
        /// vectors of the solver; what plans, and scratch space of sums with dipoles and gradients,
        /// take beyond it, by the square of the tolerance's digits (measured on spheres of 5,000 to
        /// 80,000 panels, flat and curved, at tolerances of 1e-4 to 1e-8).
        const PANEL: usize = 1000;
        const DIRECT: usize = 750;
        const PLAN: f64 = 31.0;
        /// Twice what an entry takes: its number in single precision, and its part of a column.
        const TWO_ENTRIES: usize = 9;
        let plan = if self.is_dense { 0.0 } else { PLAN * self.tolerance.log10().powi(2) };
        let of_point = DIRECT + plan as usize;
        let near = self.panels * PANEL + entries * TWO_ENTRIES / 2;
        let needed = (self.points * of_point + near) as u64;
        match self.limit {
            Some(available) if needed > available => {
                let (what, advice) = ("the solve among ions", "use a coarser mesh");
                Err(Error::Memory { what, needed, available, advice })
            }
            _ => Ok(()),
        }
    }
}
