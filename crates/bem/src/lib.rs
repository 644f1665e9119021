//! Boundary element electrostatics: spaces, quadrature, operators, Krylov solvers, the physical
//! problems. No files.
//!
//! [`capacitance`] solves the whole problem. Its parts, from the inside out: the closed-form
//! potential of a [`Triangle`]; integrals over pairs of them ([`PairQuadrature`]); the Galerkin
//! matrix, dense or as a fast sum with a near-field correction; [`gmres`] over any
//! [`LinearOperator`]; a preconditioner of overlapping local inverses below a coarse level.
//!
//! [`electrostatics`] does the same with dielectrics, point charges and fields. [`Surface`] has the
//! layer operators for users who set up their own equations, and [`Operator`] combines them.
//!
//! Kernels have no factor 1/(4 pi), except those of [`Surface`]: a charge q / (4 pi eps) is a
//! length times a potential, which is how capacitances come out.

mod constants;
mod device;
mod error;
mod geometry;
mod integrals;
mod near;
mod operator;
mod options;
mod ordered;
mod physics;
mod poisson_boltzmann;
mod precondition;
mod quadrature;
mod solve;
mod space;
#[cfg(test)]
mod testing;

pub use comm::{Communicator, Group};
pub use constants::OF_ACTION;
pub use error::Error;
pub use geometry::between::Between;
pub use geometry::exponentials::TooCoarse;
pub use geometry::images::{Images, Mirror};
pub use geometry::stack::{Beyond, Layer as StackLayer, LayerImage, Stack};
pub use geometry::triangle::Triangle;
pub use integrals::linear::LinearPotentials;
pub use integrals::pair::PairQuadrature;
pub use operator::algebra::Operator;
pub use operator::surface::{OperatorOptions, Surface};
pub use options::{Keeper, Method, Progress, Quiet, Ranks, Solve, SolveOptions, Stage, Timings};
pub use physics::capacitance::{Capacitance, Conductors, capacitance};
pub use physics::derivatives;
pub use physics::warm_up::warm_up;
pub use physics::{
    Body, Charges, ChildCharges, Condition, Electrostatics, ErrorEstimate, Excitation, Force,
    Media, PointCharge, Prepared, Reciprocity, Refined, Replaced, Response, SampledResidual,
    SeenImages, State, SurfaceCharge, Values, bring_together, checks, convergence,
    coulomb_potentials, dipole_moment, electrostatics, force_changes, forces,
    neutral_dipole_moment, own_share, reciprocity, sampled_residual,
};
pub use poisson_boltzmann::field::RegionValues;
pub use poisson_boltzmann::{Cells, FixedCharge, Medium, Screened, poisson_boltzmann};
pub use solve::gmres::{
    GmresInfo, GmresParams, Identity, InexactBudget, LinearOperator, Measure, Metric, StopReason,
    gmres,
};
pub use space::{Density, FunctionSpace, Test};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
