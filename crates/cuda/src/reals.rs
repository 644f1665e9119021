//! Arrays on the device in a floating-point format that is known at run time only.

use std::marker::PhantomData;

use crate::{Buffer, Device, Error, Pointer};

/// Floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit.
    Single,
    /// 64-bit.
    Double,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::Single => size_of::<f32>(),
            Self::Double => size_of::<f64>(),
        }
    }

    /// Name and value of the macro by which kernels know the format.
    pub fn as_macro(self) -> (&'static str, usize) {
        ("PRECISION", 8 * self.bytes())
    }

    /// The bytes of `values`, rounded.
    pub fn encode(self, values: impl IntoIterator<Item = f64>) -> Vec<u8> {
        match self {
            Self::Single => values.into_iter().flat_map(|x| (x as f32).to_ne_bytes()).collect(),
            Self::Double => values.into_iter().flat_map(f64::to_ne_bytes).collect(),
        }
    }
}

/// A number in such a format.
#[derive(Clone, Copy, Debug)]
pub enum Real {}

/// A point: coordinates and a fourth number, as `real.cuh` declares it.
#[derive(Clone, Copy, Debug)]
pub enum Point {}

crate::elements! { Real: "REAL", Point: "Point" }

/// Types made of numbers in such a format.
pub trait OfReals {
    /// Bytes of a value where a number has `scalar` bytes.
    fn size(scalar: usize) -> usize;
}

impl OfReals for Real {
    fn size(scalar: usize) -> usize {
        scalar
    }
}

impl OfReals for Point {
    fn size(scalar: usize) -> usize {
        4 * scalar
    }
}

/// An array of such values.
#[derive(Debug)]
pub struct Reals<E = Real> {
    /// Their bytes.
    pub bytes: Buffer<u8>,
    size: usize,
    of: PhantomData<fn() -> E>,
}

impl<E: OfReals> Reals<E> {
    /// `len` values of unknown content.
    ///
    /// # Errors
    /// As [`Device::buffer`].
    pub fn new(device: &Device, precision: Precision, len: usize) -> Result<Self, Error> {
        let size = E::size(precision.bytes());
        Ok(Self { bytes: device.buffer(len * size)?, size, of: PhantomData })
    }

    /// `len` zeros.
    ///
    /// # Errors
    /// As [`Device::buffer`]; [`Error::Driver`] if a CUDA call fails.
    pub fn zeros(device: &Device, precision: Precision, len: usize) -> Result<Self, Error> {
        let new = Self::new(device, precision, len)?;
        new.bytes.zero()?;
        Ok(new)
    }

    /// The values that `bytes` are.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn of_bytes(device: &Device, precision: Precision, bytes: &[u8]) -> Result<Self, Error> {
        let size = E::size(precision.bytes());
        Ok(Self { bytes: device.upload(bytes)?, size, of: PhantomData })
    }

    /// Where the values from `first` on are.
    pub fn pointer_to(&self, first: usize) -> Pointer<E> {
        self.bytes.pointer_to(first * self.size).cast(self.size)
    }

    /// Where the values are.
    pub fn pointer(&self) -> Pointer<E> {
        self.pointer_to(0)
    }
}

impl Reals {
    /// Numbers, rounded.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn upload(
        device: &Device,
        precision: Precision,
        numbers: impl IntoIterator<Item = f64>,
    ) -> Result<Self, Error> {
        Self::of_bytes(device, precision, &precision.encode(numbers))
    }
}
