//! The fast Gauss transform: sums of Gaussians over points on a line, in a plane or in space,
//! `u(x) = sum_j q_j exp(-|x - y_j|^2 / delta_j)`, and their gradients.
//!
//! Geometry is processed once ([`Plan::new`]), charges many times ([`Plan::apply`]). The time is
//! linear in the number of points at any bandwidth.
//!
//! Errors are relative to the scale S, the largest value anywhere of the sum of absolute
//! contributions, `sum_j |q_j| exp(-|x - y_j|^2 / delta_j)`. S is at most `sum_j |q_j|`, and often
//! far smaller. Components of gradients have the scale
//! `sum_j |q_j| (2 / delta_j)^(1/2) exp(-|x - y_j|^2 / delta_j)` at its largest.

mod axis_kernel;
mod bandwidths;
mod boxes;
mod cells;
mod choice;
mod convolve;
pub mod direct;
mod engine;
mod error;
mod gpu;
mod grid_plan;
mod group_plan;
mod input;
mod interpolate;
mod lists;
mod node_blocks;
mod options;
mod pairs;
mod plan;
mod scratch;
mod spread;
mod tuning;
mod window;

pub use cuda::Error as GpuError;
pub use error::Error;
pub use input::{Bandwidths, Grid, Sums, Targets};
pub use options::{Backend, Mode, Options};
pub use plan::{Info, Plan, Seconds};
/// Crates whose types are in this interface.
pub use {cuda, simd};

/// What the program `tests/internals` looks into: no part of the interface, free to change.
#[doc(hidden)]
pub mod internals {
    pub mod axis_kernel {
        pub use crate::axis_kernel::{AxisKernel, PADDING};
    }
    pub mod bandwidths {
        pub use crate::bandwidths::{Group, Rule, groups, points};
    }
    pub mod boxes {
        pub use crate::boxes::{MAX_BOXES, side};
    }
    pub mod gpu {
        pub mod kernels {
            pub use crate::gpu::kernels::declared;
        }
        pub use crate::gpu::precision;
        pub use cuda::Precision;
    }
    pub mod group_plan {
        pub use crate::group_plan::{decay, nodes_within, rough};
    }
    pub mod node_blocks {
        pub use crate::node_blocks::Layout;
    }
    pub mod scratch {
        pub use crate::scratch::Scratch;
    }
    pub mod tuning {
        pub use crate::tuning::{BLOCKS_PER_BOX, Costs, Processor, Work, inputs};
    }
    pub mod window {
        pub use crate::window::{FIT, MAX_VECTORS, Shape, Window};
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
