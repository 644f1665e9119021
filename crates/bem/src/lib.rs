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
//! length times a potential, so capacitances are lengths.

mod collective;
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
mod sampling;
mod solve;
mod space;

pub use comm::{self, Communicator, Group};
pub use cuda;
pub use error::Error;
pub use fmm;
pub use geometry::between::Between;
pub use geometry::exponentials::TooCoarse;
pub use geometry::images::{Images, Mirror};
pub use geometry::stack::{Beyond, Layer as StackLayer, LayerImage, Stack};
pub use geometry::triangle::Triangle;
pub use integrals::linear::LinearPotentials;
pub use integrals::pair::PairQuadrature;
pub use mesh;
pub use operator::algebra::Operator;
pub use operator::surface::{OperatorOptions, Surface};
pub use options::{
    CheckpointStore, Method, NoProgress, Progress, Ranks, Solve, SolveOptions, Stage, Timings,
};
pub use physics::capacitance::{Capacitance, Conductors, capacitance};
pub use physics::derivatives;
pub use physics::{
    Body, Charges, ChildCharges, Condition, Electrostatics, ErrorEstimate, Excitation, Force,
    Media, PointCharge, Prepared, Reciprocity, Refined, Replaced, Response, SampledResidual,
    SeenImages, State, SurfaceCharge, System, Values, checks, convergence, coulomb_potentials,
    dipole_moment, electrostatics, force_changes, forces, neutral_dipole_moment, reciprocity,
    sampled_residual,
};
pub use poisson_boltzmann::field::RegionValues;
pub use poisson_boltzmann::{Cells, FixedCharge, Medium, Screened, poisson_boltzmann};
pub use solve::gmres::{GmresInfo, GmresParams, StopReason, gmres};
pub use solve::linear_operator::{Identity, InexactBudget, LinearOperator};
pub use solve::vectors::{Measure, Metric};
pub use space::{Density, FunctionSpace, Test};

/// Internals for the crate `farad`, its program and `tests/internals`: not part of the interface,
/// may change.
#[doc(hidden)]
pub mod internals {
    pub use crate::constants::RESIDUAL_PER_FIELD;
    pub use crate::physics::shared::{gather_responses, local_excitations};
    pub use crate::physics::warm_up::warm_up;
    pub mod constants {
        pub use crate::constants::{ON_EDGE, TIGHTEST, TOLERANCE};
    }
    pub mod device {
        pub use crate::device::completion::DeviceCompletion;
        pub use crate::device::{
            DeviceGeometry, DeviceNear, DeviceProduct, DeviceTwoLevel, OnDevice,
        };
        pub mod kernels {
            pub use crate::device::kernels::declared;
        }
    }
    pub mod geometry {
        pub use crate::geometry::far::{FarImages, Weights};
        pub use crate::geometry::image::Image;
        pub use crate::geometry::neighbours::Neighbours;
        pub use crate::geometry::panels::Panels;
        pub use crate::geometry::partition::Partition;
        pub use crate::geometry::triangle::Vec3;
        pub mod patch {
            pub use crate::geometry::patch::{Parameters, Part, Patch, places};
        }
    }
    pub mod integrals {
        pub use crate::integrals::linear_nodes::{Block, Potential};
        pub use crate::integrals::outer::{OuterQuadrature, Touching};
        pub use crate::integrals::potentials::WeightedPoints;
        pub use crate::integrals::screened::Screening;
        pub use crate::integrals::solid_angle::{far_rule, in_plane_of, solid_angle_over};
        pub use crate::integrals::touching::{Contact, PairNodes};
        pub mod curved {
            pub use crate::integrals::curved::{CurvedPair, Entries, Kernel, Scratch};
        }
        pub mod curved_potentials {
            pub use crate::integrals::curved_potentials::{Wanted, at};
        }
        pub mod edge {
            pub use crate::integrals::edge::{Terms, sum_terms};
        }
        pub mod linear_pair {
            pub use crate::integrals::linear_pair::{
                double_layer, flat, single_layer, square, transposed,
            };
        }
    }
    pub mod near {
        pub use crate::near::RowKind;
        pub use crate::near::accuracy::Accuracy;
        pub use crate::near::functions::FunctionPairs;
        pub use crate::near::modes::{ModeBlock, ModePairs};
        pub use crate::near::pairs::{LayerPairs, Scratch};
        pub use crate::near::requirements::{Induced, Requirements, Sources};
        pub use crate::near::select::{
            Choice, Selection, smallest_relative_gap, smallest_relative_height,
        };
        pub use crate::near::{Assembly, BLOCK, Entry, Near, PairIntegrals, Precision};
    }
    pub mod operator {
        pub use crate::operator::discretisation::{Discretisation, NearFieldRequest, Target};
        pub use crate::operator::host::OnHost;
        pub use crate::operator::layer::Layer;
        pub mod fast_sum {
            pub use crate::operator::fast_sum::{
                SampledError, is_hopeless, tighter_for, tolerance,
            };
        }
    }
    pub mod ordered {
        pub use crate::ordered::{sum, sums};
    }
    pub mod physics {
        pub mod evaluate {
            pub use crate::physics::evaluate::by_points::DEGREE;
            pub use crate::physics::evaluate::closed_forms::add_point;
            pub use crate::physics::evaluate::sums::direct_sums;
        }
        pub mod estimate {
            pub use crate::physics::estimate::{between, near_radii, rule, tolerance_of_sum};
        }
        pub mod sampled {
            pub use crate::physics::sampled::chosen;
            pub use crate::physics::system::System;
        }
    }
    pub mod poisson_boltzmann {
        pub use crate::poisson_boltzmann::near_field_product;
    }
    pub mod precondition {
        pub use crate::precondition::clusters::ClusterLevels;
        pub use crate::precondition::coarse::{Coarse, TwoLevel};
        pub use crate::precondition::entries::Entries;
        pub use crate::precondition::gradients::Gradients;
        pub use crate::precondition::local::BatchedLdl;
        pub use crate::precondition::local_inverse::LocalInverse;
        pub use crate::precondition::local_panels::NEIGHBOURS;
        pub use crate::precondition::shared::Conductors;
        pub mod clusters {
            pub use crate::precondition::clusters::{POINTS, of_clouds};
        }
    }
    pub mod quadrature {
        pub use crate::quadrature::remainder::Remainder;
        pub use crate::quadrature::rule::Rule;
        pub use crate::quadrature::{
            MAX_LINE_POINTS, MAX_TRIANGLE_DEGREE, TriangleNode, graded, line, triangle,
        };
        pub mod errors {
            pub use crate::quadrature::errors::{Pairs, of_fields, of_modes, of_potentials};
        }
        pub mod modes {
            pub use crate::quadrature::modes::{
                LARGEST, MODES, at_corners, between, between_corners, modes, of_corners, run_around,
            };
        }
        pub mod sums {
            pub use crate::quadrature::sums::{field, sum};
        }
    }
    pub mod sampling {
        pub use crate::sampling::points::QuadraturePoints;
        pub use crate::sampling::{Layout, Sampling};
    }
    pub mod solve {
        pub use crate::solve::backend::Backend;
        pub use crate::solve::cholesky::Factor;
        pub use crate::solve::lu::Lu;
        pub use crate::solve::plan::Plan;
        pub use crate::solve::schedule::PlanSchedule;
        pub mod completion {
            pub use crate::solve::completion::{Completion, Laws, Vectors, complete, multiply_add};
        }
    }
    pub mod space {
        pub use crate::space::{Corners, Dofs, TestTrial};
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
