//! Near field, preconditioner, products and Krylov vectors on a GPU, next to the fast sum that is
//! there.
//!
//! The kernels compute what this crate's modules compute on processor cores, in double precision;
//! geometry goes to the device once, and after that a solve moves numbers, not vectors.

mod backend;
mod children;
mod coarse;
mod coarse_entries;
pub(crate) mod completion;
mod geometry;
mod interfaces;
pub(crate) mod kernels;
mod near;
mod product;
mod rows;
mod screened;
mod search;
mod space;
mod two_level;
mod warm_up;

use cuda::{Device, Error};

pub use backend::OnDevice;
pub(crate) use children::{ChildValues, DeviceChildren};
pub use geometry::DeviceGeometry;
pub(crate) use interfaces::DevicePreconditioner;
pub use near::DeviceNear;
pub use product::DeviceProduct;
pub(crate) use screened::{Cutting, DeviceScreened, PointPanels};
pub use two_level::DeviceTwoLevel;
pub(crate) use warm_up::WarmUp;

/// Number of panels from which a GPU pays.
const WORTH_A_GPU: usize = 10_000;

/// The GPU for the near field of this many panels, if it is asked for, or there and worth it.
pub(crate) fn chosen(
    backend: fmm::Backend,
    gpu: usize,
    panels: usize,
) -> Result<Option<Device>, Error> {
    match backend {
        fmm::Backend::Cuda => Ok(Some(open(gpu)?)),
        // If there is no GPU, the plan reports it.
        fmm::Backend::Auto if panels >= WORTH_A_GPU => Ok(open(gpu).ok()),
        _ => Ok(None),
    }
}

/// The GPU, once it is warm.
pub(crate) fn open(ordinal: usize) -> Result<Device, Error> {
    warm_up::wait();
    Device::open(ordinal)
}
