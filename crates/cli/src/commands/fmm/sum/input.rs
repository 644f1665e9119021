//! Input of a sum, and methods to compute it.

use fmm::{Densities, Mode};

use crate::words::words;

words!(Mode {
    "auto" = Self::Auto,
    "fmm" = Self::Fmm,
    "treecode" = Self::Treecode,
    "direct" = Self::Direct,
});

/// The input of a sum, this rank's; shapes as in [`Densities`].
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub sources: &'a [[f64; 3]],
    pub targets: Option<&'a [[f64; 3]]>,
    pub densities: Densities<'a>,
    /// Number of densities k.
    pub count: usize,
    /// Where `--mode` says nothing.
    pub mode: Mode,
}
