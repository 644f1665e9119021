//! Near field, preconditioner, products and Krylov vectors on a GPU, next to the fast sum that is
//! there.
//!
//! The kernels compute what this crate's modules compute on processor cores, in double precision;
//! geometry goes to the device once, and after that a solve moves numbers, not vectors.

mod backend;
mod coarse;
mod coarse_entries;
pub(crate) mod completion;
mod geometry;
mod interfaces;
pub(crate) mod kernels;
mod near;
mod product;
mod rows;
mod search;
mod space;
mod two_level;
mod warm_up;

use cuda::{Device, Error};

pub use backend::OnDevice;
pub use geometry::DeviceGeometry;
pub(crate) use interfaces::DevicePreconditioner;
pub use near::DeviceNear;
pub use product::DeviceProduct;
pub use two_level::DeviceTwoLevel;
pub(crate) use warm_up::WarmUp;

/// The GPU, once it is warm.
pub(crate) fn open(ordinal: usize) -> Result<Device, Error> {
    warm_up::wait();
    Device::open(ordinal)
}
