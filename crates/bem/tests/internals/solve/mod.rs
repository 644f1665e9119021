//! Solvers and what they need.

mod cholesky;
pub(crate) mod completion;
mod lu;
mod schedule;
