//! Solvers of linear systems: GMRES, and factorisations of dense matrices.

pub(crate) mod cholesky;
pub(crate) mod gmres;
pub(crate) mod lu;
