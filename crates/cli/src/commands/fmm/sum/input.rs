//! Input of a sum, and methods to compute it.

use clap::ValueEnum;
use fmm::Densities;

/// How to sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// The fastest for this number of sources and targets
    Auto,
    /// Fast multipole method
    Fmm,
    /// Treecode: for targets far fewer than sources
    Treecode,
    /// All pairs, in double precision on processors
    Direct,
}

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
