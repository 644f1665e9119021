//! Boundary element electrostatics: spaces, quadrature, operators, Krylov solvers, the physical problems. No files.
//!
//! [`capacitance`] solves the whole problem. Its parts, from the inside out: the closed-form potential of a [`Triangle`];
//! integrals over pairs of them ([`PairQuadrature`]); the Galerkin matrix, dense or as a fast sum with a near-field
//! correction; [`gmres`] over any [`LinearOperator`]; a preconditioner of overlapping local inverses below a coarse level.
//!
//! Kernels have no factor 1/(4 pi): a charge q / (4 pi eps) is a length times a potential, which is how capacitances come out.

mod accuracy;
mod capacitance;
mod cholesky;
mod coarse;
pub mod convergence;
mod cost;
mod dense;
mod edge;
mod error;
mod gmres;
mod lanes;
mod local;
mod near;
mod pair;
mod panels;
mod points;
mod potentials;
mod preconditioner;
mod problem;
mod product;
mod quadrature;
mod single_layer;
mod triangle;

pub use capacitance::{
    Capacitance, CapacitanceOptions, Conductors, Method, Progress, Quiet, Solve, Stage, Timings,
    capacitance,
};
pub use error::Error;
pub use gmres::{
    GmresInfo, GmresParams, Identity, LinearOperator, Measure, Metric, StopReason, gmres,
};
pub use pair::PairQuadrature;
pub use triangle::Triangle;
