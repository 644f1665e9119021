//! Fast sums over points in space: `phi(x) = sum_j q_j / |x - y_j|`, or
//! `sum_j q_j exp(-kappa |x - y_j|) / |x - y_j|`, its gradient, charges and dipoles.
//!
//! No factor 1/(4 pi); a source that coincides with a target contributes nothing.
//! Geometry is processed once ([`Plan::new`]), charges many times ([`Plan::apply`]).

mod all_pairs;
mod close;
mod coaxial;
mod crowds;
pub mod direct;
mod disjoint;
pub mod distributed;
mod engine;
mod error;
mod expansions;
mod geometry;
mod gpu;
mod harmonics;
mod kept;
mod l2l;
mod l2p;
mod lists;
mod m2l;
mod m2m;
mod morton;
mod near;
mod options;
mod p2m;
mod p2p;
mod parent_child;
mod particles;
mod plan;
mod product;
mod radial;
mod rotation;
mod scale;
mod scratch;
mod screened;
mod stop;
mod sums;
mod translate;
mod translations;
mod tree;
mod treecode;
mod truncation;
mod tuning;
mod vectors;

pub use cuda::in_units;
pub use error::Error;
pub use gpu::{DeviceInfo, Error as GpuError, GpuInfo, Span, check_gpu, gpus};
pub use options::{Backend, Kernel, Mode, Options, Precision, Stencil, Truncation};
pub use plan::{Densities, Info, Plan, Potentials, StageSeconds};
pub use samples;
pub use stop::Stop;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
