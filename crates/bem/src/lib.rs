//! Boundary element electrostatics: spaces, quadrature, operators, Krylov solvers, the physical problems. No files.

mod accuracy;
mod capacitance;
mod cholesky;
mod coarse;
mod cost;
mod dense;
mod edge;
mod error;
mod gmres;
mod near;
mod pair;
mod panels;
mod points;
mod preconditioner;
mod problem;
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
pub use panels::Panels;
pub use quadrature::TriangleRule;
pub use single_layer::SingleLayer;
pub use triangle::Triangle;
