//! Fast sums over points in space: `phi(x) = sum_j q_j / |x - y_j|`, or
//! `sum_j q_j exp(-kappa |x - y_j|) / |x - y_j|`, its gradient, charges and dipoles.
//!
//! No factor 1/(4 pi); a source that coincides with a target contributes nothing.
//! Geometry is processed once ([`Plan::new`]), charges many times ([`Plan::apply`]).

// Each of these uses those before it alone: model,
// tree, particles, expansions, geometry, truncation, tuning, planning, near, stages, treecode,
// direct, engine, gpu, plan with crowds, distributed.
mod crowds;
pub mod direct;
mod distances;
pub mod distributed;
mod engine;
mod error;
mod expansions;
mod geometry;
mod gpu;
mod model;
mod near;
mod particles;
mod plan;
mod planning;
mod scratch;
mod stages;
mod tree;
mod treecode;
mod truncation;
mod tuning;

pub use cuda::in_units;
pub use error::Error;
pub use gpu::{Capability, DeviceInfo, Error as GpuError, Span, check_gpu, gpus};
pub use model::{
    Backend, Densities, GpuInfo, Info, Kernel, Mode, Options, Potentials, Precision, StageSeconds,
    Stencil, Stop, Truncation,
};
pub use plan::Plan;
/// Crates whose types are in this interface.
pub use {comm, cuda, simd};

/// What the program `tests/internals` looks into: no part of the interface, free to change.
#[doc(hidden)]
pub mod internals {
    pub use crate::distributed::tuning::lanes;
    pub mod all_pairs {
        pub use crate::direct::all_pairs::AllPairs;
    }
    pub mod coaxial {
        pub use crate::expansions::coaxial::Coaxial;
    }
    pub mod direct {
        pub use crate::direct::at;
    }
    pub mod geometry {
        pub use crate::geometry::Geometry;
        pub use crate::model::Points;
    }
    pub mod gpu {
        pub use crate::gpu::{WORTH_IT, mode};
        pub mod coordinates {
            pub use crate::gpu::coordinates::Coordinates;
        }
        pub mod device_plan {
            pub use crate::gpu::device_plan::DevicePlan;
        }
        pub mod engine {
            pub use crate::gpu::engine::Engine;
        }
        pub mod estimate {
            pub use crate::gpu::estimate::{Boxes, Planned, Spread};
        }
        pub mod expansions {
            pub use crate::gpu::expansions::Expansions;
        }
        pub mod far_matrices {
            pub use crate::gpu::far_matrices::{limit, one};
        }
        pub mod kernels {
            pub use crate::gpu::kernels::declared;
        }
        pub mod lists {
            pub use crate::gpu::lists::{Boxes, Lists};
        }
        pub mod points {
            pub use crate::gpu::points::Points;
        }
        pub mod primitives {
            pub use crate::gpu::primitives::{Scan, Sort};
        }
        pub mod relative {
            pub use crate::gpu::relative::Relative;
        }
        pub mod rotated_matrices {
            pub use crate::expansions::translate::frames::{along_z, rotation};
            pub use crate::gpu::rotated_matrices::{RotatedMatrices, Wanted};
        }
        pub mod tables {
            pub use crate::gpu::tables::{coaxial, families, padded_columns, padded_rows, regular};
        }
        pub mod tree {
            pub use crate::gpu::layouts::Cell;
            pub use crate::gpu::tree::{MortonOrder, Tree, root};
        }
        pub mod truncation {
            pub use crate::gpu::truncation::{Chosen, Sampler};
        }
        pub mod tuning {
            pub use crate::gpu::tuning::enlargement;
        }
    }
    pub mod harmonics {
        pub use crate::expansions::harmonics::{Gradient, Harmonics, Visit, cosine, parity, sine};
    }
    pub mod lists {
        pub use crate::tree::lists::{Lists, acceptance, offset};
    }
    pub mod morton {
        pub use crate::tree::morton::{
            FEW, KeyRun, Keys, MAX_DEPTH, OWN, Sample, of_place, place_of, refine, sorted,
        };
    }
    pub mod product {
        pub use crate::expansions::product::{BLOCK, Matrix, product_at};
    }
    pub mod radial {
        pub use crate::expansions::radial::Radial;
    }
    pub mod rotation {
        pub use crate::expansions::rotation::{Azimuth, Polar, block};
    }
    pub mod scale {
        pub use crate::particles::scale::Scale;
    }
    pub mod screened {
        pub use crate::expansions::screened::{
            HALF_DIAGONAL, Screening, corner, l2l, m2l, m2m, regular, singular,
        };
    }
    pub mod stop {
        pub use crate::model::stop::Ending;
    }
    pub mod translate {
        pub use crate::expansions::translate::{OneVector, OneVectorRun};
        pub use crate::tree::vectors::{Kind, Vector};
    }
    pub mod tree {
        pub use crate::tree::{Cell, Crowded, MortonOrder, Root, Tree, side};
    }
    pub mod treecode {
        pub use crate::treecode::{geometry, order};
    }
    pub mod truncation {
        pub use crate::truncation::{Class, TruncationNumbers};
        pub mod series {
            pub use crate::truncation::series::{Sample, errors, exact};
        }
        pub mod treecode {
            pub use crate::truncation::treecode::errors;
        }
    }
    pub mod vectors {
        pub use crate::tree::vectors::{VectorTable, coarser_target, unpack};
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
