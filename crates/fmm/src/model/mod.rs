//! Plain data of a sum: options, points, densities, results, and what a plan tells of itself.

pub mod densities;
pub mod info;
pub mod options;
pub mod points;
pub mod stages;
pub mod stop;

pub use cuda::Precision;
pub use densities::{Densities, Potentials};
pub use info::{GpuInfo, Info};
pub use options::{Backend, Kernel, Mode, Options, Stencil, Truncation};
pub use points::Points;
pub use stages::StageSeconds;
pub use stop::Stop;
