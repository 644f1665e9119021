//! What the benchmarks share.

pub mod limits;
