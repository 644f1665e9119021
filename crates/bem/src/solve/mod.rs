//! Solvers of linear systems: GMRES with the plans of its products, and factorisations of dense
//! matrices.

pub(crate) mod backend;
pub(crate) mod cholesky;
pub(crate) mod completion;
pub(crate) mod gmres;
pub(crate) mod kept;
pub mod linear_operator;
pub(crate) mod lu;
pub(crate) mod plan;
pub(crate) mod schedule;
pub(crate) mod vectors;
