//! Boundary element electrostatics: spaces, quadrature, operators, Krylov solvers, the physical problems. No files.

mod capacitance;
mod error;

pub use capacitance::{
    Capacitance, CapacitanceOptions, Conductors, Method, Progress, Quiet, Solve, Stage, StopReason,
    Timings, capacitance,
};
pub use error::Error;
