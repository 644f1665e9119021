//! The kernels under `kernels/fmm`, with their arguments, and how they are started.

use std::fmt::Display;

pub(super) use arguments::{Derivative, Harmonics, NEAR_WARPS, NearItems, NearSums};
pub(super) use cuda::count;
use cuda::testing::Declared;
use cuda::{Arguments, Device, Error, Grid, Stream};

mod arguments;
pub(super) mod close;
pub(super) mod exchange;
pub(super) mod l2p;
pub(super) mod lists;
pub(super) mod m2l;
pub(super) mod m2p;
pub(super) mod morton;
pub(super) mod p2m;
pub(super) mod p2p;
pub(super) mod particles;
pub(super) mod rotated;
pub(super) mod scan;
pub(super) mod sort;
pub(super) mod translate;
pub(super) mod tree;
pub(super) mod truncation;

/// A kernel ready to be started.
#[derive(Clone, Debug)]
pub(super) struct Kernel<A>(cuda::Kernel<A>);

impl<A: Arguments> Kernel<A> {
    /// The kernel of a file that needs no macros.
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        Self::with::<usize>(device, &[])
    }

    /// The kernel with macros NAME=VALUE.
    pub(super) fn with<V: Display>(device: &Device, macros: &[(&str, V)]) -> Result<Self, Error> {
        let macros: Vec<String> =
            macros.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(Self(cuda::Kernel::new(device, &macros)?))
    }

    /// Puts a launch on `stream`.
    pub(super) fn launch(&self, stream: &Stream, grid: Grid, arguments: A) -> Result<(), Error> {
        // SAFETY: the launch checks the lengths that are declared below. Boxes, lists, indices and
        // addresses, by which kernels find the rest (`[..]` below), are made by this module, as are
        // the macros that decide lengths, and the plan owns the buffers; the tests run under
        // compute-sanitizer check that (docs/performance.md, "GPU").
        unsafe { self.0.launch(stream, grid, arguments) }
    }

    /// Allows `bytes` of dynamic shared memory per block.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), Error> {
        if bytes > 48 << 10 { self.0.allow_shared(bytes) } else { Ok(()) }
    }
}

/// The kernels' files, each with the kernels that are declared for it.
pub fn declared() -> Vec<Declared> {
    vec![
        scan::declared(),
        sort::declared(),
        morton::declared(),
        tree::declared(),
        lists::declared(),
        particles::declared(),
        exchange::declared(),
        truncation::declared(),
        m2l::declared(),
        rotated::declared(),
        translate::declared(),
        p2m::declared(),
        l2p::declared(),
        m2p::declared(),
        close::declared(),
        p2p::declared(),
    ]
}
