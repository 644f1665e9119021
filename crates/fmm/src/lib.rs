//! Fast sums over points in space: `phi(x) = sum_j q_j / |x - y_j|`, its gradient, charges and dipoles.
//!
//! No factor 1/(4 pi); a source that coincides with a target contributes nothing.
//! Geometry is worked once ([`Plan::new`]), charges many times ([`Plan::apply`]).

pub mod direct;
mod coaxial;
mod harmonics;
mod rotation;
pub mod simd;
mod translate;
mod error;
mod options;
mod plan;

pub use error::Error;
pub use options::{Mode, Options, Precision, Stencil, Truncation};
pub use plan::{Densities, Info, Plan, Potentials, StageSeconds};
