//! Arrays on the device in the format of a plan, which is known at run time only.

use std::marker::PhantomData;

use cuda::{Buffer, Device, Error, Pointer};

use crate::Precision;

/// A number in the plan's format.
#[derive(Clone, Copy, Debug)]
pub enum Real {}

/// A point: coordinates and a fourth number, as `real.cuh` of `cuda` declares it.
#[derive(Clone, Copy, Debug)]
pub enum Point {}

/// An entry of a derivative, as `kernels/fmm/harmonics.cuh` declares it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Derivative {}

cuda::elements! { Real: "REAL", Point: "Point", Derivative: "Derivative" }

/// Types made of numbers in the plan's format.
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

impl OfReals for Derivative {
    fn size(scalar: usize) -> usize {
        8 + scalar
    }
}

/// An array of such values.
#[derive(Debug)]
pub struct Reals<E = Real> {
    pub bytes: Buffer<u8>,
    size: usize,
    of: PhantomData<fn() -> E>,
}

impl<E: OfReals> Reals<E> {
    /// `len` values of unknown content.
    pub(super) fn new(device: &Device, precision: Precision, len: usize) -> Result<Self, Error> {
        let size = E::size(scalar(precision));
        Ok(Self { bytes: device.buffer(len * size)?, size, of: PhantomData })
    }

    /// The values that `bytes` are.
    pub(super) fn upload(
        device: &Device,
        precision: Precision,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let size = E::size(scalar(precision));
        Ok(Self { bytes: device.upload(bytes)?, size, of: PhantomData })
    }

    /// Where the values from `first` on are.
    pub(super) fn pointer_to(&self, first: usize) -> Pointer<E> {
        self.bytes.pointer_to(first * self.size).cast(self.size)
    }

    /// Where the values are.
    pub(super) fn pointer(&self) -> Pointer<E> {
        self.pointer_to(0)
    }
}

/// Bytes of a number.
pub(super) fn scalar(precision: Precision) -> usize {
    match precision {
        Precision::Single => 4,
        Precision::Double => 8,
    }
}

/// The macro by which kernels know the format.
pub(super) fn precision_macro(precision: Precision) -> (&'static str, usize) {
    ("PRECISION", 8 * scalar(precision))
}
