//! What an `apply` has on the device: strengths, sums and what lies between.

use cuda::{Buffer, OfReals, Pointer, Real, Reals};

use super::device_plan::DevicePlan;
use crate::model::{Densities, Potentials};

/// What decides which kernels an `apply` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub densities: usize,
    pub charges: bool,
    pub dipoles: bool,
    pub potential: bool,
    pub gradient: bool,
}

impl Signature {
    pub(crate) fn new(k: usize, densities: &Densities<'_>, potentials: &Potentials<'_>) -> Self {
        Self {
            densities: k,
            charges: densities.charges.is_some(),
            dipoles: densities.dipoles.is_some(),
            potential: potentials.potential.is_some(),
            gradient: potentials.gradient.is_some(),
        }
    }
}

/// Input, output and what lies between, k densities.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) charges_in: Option<Buffer<f64>>,
    pub(super) dipoles_in: Option<Buffer<f64>>,
    /// Of each density the largest charge and the largest component of a dipole, as bits of a
    /// double.
    pub(super) largest: Buffer<u64>,
    pub(super) charges: Option<Reals>,
    pub(super) dipoles: Option<Reals>,
    pub(super) potential: Reals,
    pub(super) gradient: Option<Reals>,
    pub(super) potential_out: Option<Buffer<f64>>,
    pub(super) gradient_out: Option<Buffer<f64>>,
}

impl Buffers {
    /// Brings the densities to the device.
    pub(super) fn write(&self, densities: Densities<'_>) -> Result<(), cuda::Error> {
        let inputs = [(&self.charges_in, densities.charges), (&self.dipoles_in, densities.dipoles)];
        for (buffer, values) in inputs {
            if let (Some(buffer), Some(values)) = (buffer, values) {
                buffer.write(values)?;
            }
        }
        Ok(())
    }

    /// Where potential and gradient of one density are summed, at `m` targets.
    pub(super) fn sums_of(&self, k: usize, m: usize) -> [Pointer<Real>; 2] {
        [self.potential.pointer_to(k * m), of(self.gradient.as_ref(), 3 * k * m)]
    }

    /// Brings the sums back; waits for them.
    pub(super) fn read(&self, potentials: Potentials<'_>) -> Result<(), cuda::Error> {
        let outputs = [
            (&self.potential_out, potentials.potential),
            (&self.gradient_out, potentials.gradient),
        ];
        for (buffer, values) in outputs {
            if let (Some(buffer), Some(values)) = (buffer, values) {
                buffer.read(0, values)?;
            }
        }
        Ok(())
    }
}

impl DevicePlan {
    pub(super) fn buffers(&self, s: Signature) -> Result<Buffers, cuda::Error> {
        let (n, m, k) = (self.sources, self.targets, s.densities);
        let device = &self.device;
        let wide = |there: bool, len: usize| there.then(|| device.buffer::<f64>(len)).transpose();
        let some = |len: usize| Reals::new(device, self.precision, len);
        let real = |there: bool, len: usize| there.then(|| some(len)).transpose();
        Ok(Buffers {
            charges_in: wide(s.charges, k * n)?,
            dipoles_in: wide(s.dipoles, 3 * k * n)?,
            largest: device.buffer(2 * k)?,
            charges: real(s.charges, k * n)?,
            dipoles: real(s.dipoles, 3 * k * n)?,
            potential: some(k * m)?,
            gradient: real(s.gradient, 3 * k * m)?,
            potential_out: wide(s.potential, k * m)?,
            gradient_out: wide(s.gradient, 3 * k * m)?,
        })
    }
}

/// Where the values of a buffer are from `first` on, if it is there.
pub(super) fn of<E: OfReals>(buffer: Option<&Reals<E>>, first: usize) -> Pointer<E> {
    buffer.map_or(Pointer::null(), |b| b.pointer_to(first))
}
