//! What a caller may choose about a sum.

use crate::Error;

/// How a sum is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Each box by pairs or by the grid, whichever the cost model finds cheaper.
    #[default]
    Auto,
    /// Pairs within the cut-off alone, O(n) neighbours of every target: what is best for bandwidths
    /// below the points' spacing.
    Pairs,
    /// The grid alone.
    Grid,
    /// All pairs, without a cut-off, in full precision: the oracle.
    Direct,
}

/// Where the sum is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// CPU cores.
    #[default]
    Cpu,
    /// A GPU; plans are made by CPU cores.
    Cuda,
    /// A GPU where there is one and the sum is large, CPU cores otherwise; [`Info`](crate::Info)
    /// says which and why.
    Auto,
}

::options::options! {
    /// Choices for one [`Plan`](crate::Plan); `Default` asks for 1e-6 and leaves the rest to the
    /// cost model.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Options {
        /// Largest error of a value at any target, relative to the scale S of module
        /// [`crate`]; 1e-12 ..= 1e-2. Of a component of a gradient relative to the scale of
        /// gradients there.
        tolerance: f64 = 1e-6,
        /// How the sum is done.
        mode: Mode = Mode::default(),
        /// Whether `apply` may be asked for gradients.
        gradient: bool = false,
        /// Where the sum is computed.
        backend: Backend = Backend::default(),
        /// Which GPU.
        gpu: usize = 0,
        /// Densities usually passed to one `apply`; tunes the cost model.
        densities: usize = 1,
    }
}

impl Options {
    /// Checks every range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(1e-12..=1e-2).contains(&self.tolerance) {
            return Err(Error::Option {
                option: "tolerance",
                value: format!("{:e}", self.tolerance),
                allowed: "1e-12 to 1e-2",
            });
        }
        Ok(())
    }
}
