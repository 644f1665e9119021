//! Solvers of linear systems: GMRES with the plans of its products, and factorisations of dense
//! matrices.
//!
//! `gmres` works on vectors wherever they are (`vectors`), by the plans of `schedule` and `plan`,
//! on processors or a GPU (`backend`). `completion` turns rows into equations, `kept` stores
//! intermediate answers. `cholesky` and `lu` factorise dense matrices.

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
