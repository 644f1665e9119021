//! Arrays on the device in the format of a plan, which is known at run time only.

use cuda::{Buffer, Device, Error, Pointer};

/// A number in the plan's format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Real {}

cuda::elements! { Real: "REAL" }

/// Floating-point format of a plan on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit.
    Single,
    /// 64-bit.
    Double,
}

impl Precision {
    /// Bytes of a number.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// The macro by which kernels know the format.
    pub(super) fn as_macro(self) -> String {
        format!("PRECISION={}", 8 * self.bytes())
    }
}

/// An array of numbers.
#[derive(Debug)]
pub(super) struct Reals {
    bytes: Buffer<u8>,
    size: usize,
}

impl Reals {
    /// `len` numbers of unknown value.
    pub(super) fn new(device: &Device, precision: Precision, len: usize) -> Result<Self, Error> {
        let size = precision.bytes();
        Ok(Self { bytes: device.buffer(len * size)?, size })
    }

    /// `len` zeros.
    pub(super) fn zeros(device: &Device, precision: Precision, len: usize) -> Result<Self, Error> {
        let new = Self::new(device, precision, len)?;
        new.bytes.zero()?;
        Ok(new)
    }

    /// `values`, rounded.
    pub(super) fn upload(
        device: &Device,
        precision: Precision,
        values: &[f64],
    ) -> Result<Self, Error> {
        let bytes: Vec<u8> = match precision {
            Precision::Single => values.iter().flat_map(|&x| (x as f32).to_ne_bytes()).collect(),
            Precision::Double => values.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        };
        Ok(Self { bytes: device.upload(&bytes)?, size: precision.bytes() })
    }

    /// Where the numbers from `first` on are.
    pub(super) fn pointer_to(&self, first: usize) -> Pointer<Real> {
        self.bytes.pointer_to(first * self.size).cast(self.size)
    }

    /// Where the numbers are.
    pub(super) fn pointer(&self) -> Pointer<Real> {
        self.pointer_to(0)
    }

    pub(super) fn len_bytes(&self) -> u64 {
        self.bytes.bytes()
    }
}
