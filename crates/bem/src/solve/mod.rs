//! Solvers of linear systems: GMRES with the plans of its products, and factorisations of dense
//! matrices.
//!
//! `gmres` solves a `system`, whose `vectors` are on processors or a GPU (`backend`), by the plans
//! of `schedule` and `plan`. `completion` turns rows into equations, `observer` stores
//! intermediate answers. `cholesky` and `lu` factorise dense matrices.

pub(crate) mod backend;
pub(crate) mod cholesky;
pub(crate) mod completion;
pub(crate) mod gmres;
mod least_squares;
pub mod linear_operator;
pub(crate) mod lu;
pub(crate) mod observer;
pub(crate) mod plan;
pub(crate) mod schedule;
pub(crate) mod system;
pub(crate) mod vectors;
