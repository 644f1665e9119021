//! Solvers of linear systems: GMRES, and factorisations of dense matrices.

pub(crate) mod backend;
pub(crate) mod cholesky;
pub(crate) mod completion;
pub(crate) mod gmres;
pub(crate) mod lu;
pub(crate) mod schedule;
