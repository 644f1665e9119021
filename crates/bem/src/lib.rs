//! Boundary element electrostatics: spaces, quadrature, operators, Krylov solvers, the physical problems. No files.
//!
//! [`capacitance`] solves the whole problem. Its parts, from the inside out: the closed-form potential of a [`Triangle`];
//! integrals over pairs of them ([`PairQuadrature`]); the Galerkin matrix, dense or as a fast sum with a near-field
//! correction; [`gmres`] over any [`LinearOperator`]; a preconditioner of overlapping local inverses below a coarse level.
//!
//! [`electrostatics`] does the same with dielectrics, point charges and fields. [`Surface`] has the layer operators for users who set up their own
//! equations, and [`Operator`] combines them.
//!
//! Kernels have no factor 1/(4 pi), except those of [`Surface`]: a charge q / (4 pi eps) is a length times a potential, which is how capacitances come out.

mod accuracy;
mod algebra;
mod capacitance;
pub mod checks;
mod cholesky;
mod clusters;
mod coarse;
pub mod convergence;
mod cost;
mod dense;
mod device;
mod edge;
mod electrostatics;
mod entries;
mod error;
mod fast_sum;
mod gmres;
mod images;
mod ladder;
mod lanes;
mod layer;
mod linear;
mod linear_nodes;
mod linear_pair;
mod local;
mod lu;
mod near;
mod neighbours;
mod outer;
mod pair;
mod panels;
mod points;
mod potentials;
mod preconditioner;
mod product;
mod quadrature;
mod single_layer;
mod slopes;
mod solid_angle_pair;
mod space_layer;
mod space_near;
mod spaces;
mod surface;
#[cfg(test)]
mod testing;
mod triangle;
mod warm_up;

pub use algebra::Operator;
pub use capacitance::{
    Capacitance, CapacitanceOptions, Conductors, Method, Progress, Quiet, Solve, Stage, Timings,
    capacitance,
};
pub use electrostatics::{
    Body, Condition, Electrostatics, Excitation, Force, Media, OF_ACTION, PointCharge, Prepared,
    Reciprocity, Refined, Replaced, Response, SampledResidual, State, SurfaceCharge, Values,
    coulomb_potentials, dipole_moment, electrostatics, forces, neutral_dipole_moment, reciprocity,
    sampled_residual,
};
pub use error::Error;
pub use gmres::{
    GmresInfo, GmresParams, Identity, LinearOperator, Measure, Metric, Slack, StopReason, gmres,
};
pub use images::{Images, Mirror};
pub use linear::LinearPotentials;
pub use pair::PairQuadrature;
pub use spaces::{Space, Test};
pub use surface::{OperatorOptions, Surface};
pub use triangle::Triangle;
pub use warm_up::warm_up;
