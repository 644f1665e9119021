//! Which GPUs there are, without a panic where driver, device or compiler is missing.

use std::fmt;
use std::sync::OnceLock;

use cudarc::driver::{result, sys};

use libloading::Library;

use crate::{Error, failure, library};

/// CUDA version whose symbols this program binds, as the driver counts: 1000 major + 10 minor.
const NEEDED_DRIVER: i32 = 12_080;

/// Oldest compute capability: asynchronous copies and double-precision atomics, and what `.ci`
/// compiles for.
pub(crate) const NEEDED_CAPABILITY: Capability = Capability { major: 8, minor: 0 };

/// Compute capability of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability {
    /// Generation.
    pub major: i32,
    /// Revision.
    pub minor: i32,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Properties of a GPU, found without using it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Number by which it is chosen, from 0.
    pub index: usize,
    /// The vendor's name.
    pub name: String,
    /// Bytes of device memory.
    pub memory: u64,
    /// Compute capability.
    pub capability: Capability,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
}

/// Loads and initialises the driver, once.
pub(crate) fn driver() -> Result<(), Error> {
    static DRIVER: OnceLock<Result<(), Error>> = OnceLock::new();
    DRIVER.get_or_init(load).clone()
}

fn load() -> Result<(), Error> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    if LIBRARY.get_or_init(|| library::keep(&["cuda", "nvcuda"])).is_none() {
        return Err(Error::NoDriver);
    }
    let mut version = 0;
    // SAFETY: the one call that is allowed before cuInit and that every driver has; it writes one
    // integer.
    let answer = unsafe { sys::cuDriverGetVersion(&raw mut version).result() };
    answer.map_err(|error| failure("asking the driver's version", error))?;
    if version < NEEDED_DRIVER {
        let text = |v: i32| format!("{}.{}", v / 1000, v % 1000 / 10);
        return Err(Error::DriverTooOld { found: text(version), needed: text(NEEDED_DRIVER) });
    }
    match result::init() {
        Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Err(Error::NoDevice),
        other => crate::check("initialising the driver", other),
    }
}

/// All GPUs, the too old ones included.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::DriverTooOld`], [`Error::NoDevice`].
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    driver()?;
    let count = result::device::get_count().map_err(|e| failure("counting GPUs", e))?;
    if count == 0 {
        return Err(Error::NoDevice);
    }
    (0..count).map(describe).collect()
}

fn describe(index: i32) -> Result<DeviceInfo, Error> {
    use sys::CUdevice_attribute as Attribute;
    let fail = |error| failure("describing a GPU", error);
    let device = result::device::get(index).map_err(fail)?;
    // SAFETY: `device` was just returned by the driver, here and below.
    let attribute = |what| unsafe { result::device::get_attribute(device, what) }.map_err(fail);
    Ok(DeviceInfo {
        index: index as usize,
        name: result::device::get_name(device).map_err(fail)?,
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(device) }.map_err(fail)? as u64,
        capability: Capability {
            major: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            minor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        },
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
    })
}
