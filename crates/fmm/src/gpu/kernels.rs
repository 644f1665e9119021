//! The kernels under `kernels/`, embedded, and how they are started.

use ::gpu::{Arg, Device, Error, Function, Grid, Source, Stream};

/// Headers that kernels include.
const HEADERS: &[(&str, &str)] = &[
    ("shared/real.cuh", include_str!("../../../../kernels/shared/real.cuh")),
    ("shared/cell.cuh", include_str!("../../../../kernels/shared/cell.cuh")),
    ("shared/harmonics.cuh", include_str!("../../../../kernels/shared/harmonics.cuh")),
    ("shared/levels.cuh", include_str!("../../../../kernels/shared/levels.cuh")),
    ("shared/near.cuh", include_str!("../../../../kernels/shared/near.cuh")),
];

/// A file under `kernels/`.
macro_rules! source {
    ($name:literal) => {
        Source {
            name: $name,
            text: include_str!(concat!("../../../../kernels/", $name)),
            headers: HEADERS,
        }
    };
}

pub(super) const SCAN: Source<'static> = source!("scan.cu");
pub(super) const SORT: Source<'static> = source!("sort.cu");
pub(super) const MORTON: Source<'static> = source!("morton.cu");
pub(super) const TREE: Source<'static> = source!("tree.cu");
pub(super) const LISTS: Source<'static> = source!("lists.cu");
pub(super) const PARTICLES: Source<'static> = source!("particles.cu");
pub(super) const CLOSE: Source<'static> = source!("close.cu");
pub(super) const TRUNCATION: Source<'static> = source!("truncation.cu");
pub(super) const M2L: Source<'static> = source!("m2l.cu");
pub(super) const TRANSLATE: Source<'static> = source!("translate.cu");
pub(super) const P2M: Source<'static> = source!("p2m.cu");
pub(super) const P2P: Source<'static> = source!("p2p.cu");
pub(super) const L2P: Source<'static> = source!("l2p.cu");

/// A kernel ready to be started.
#[derive(Clone, Debug)]
pub(super) struct Kernel(Function);

impl Kernel {
    /// Puts a launch on `stream`.
    pub(super) fn launch(&self, stream: &Stream, grid: Grid, args: &[Arg]) -> Result<(), Error> {
        // SAFETY: every call in this module passes the arguments in the order and type that the kernel's file declares, with
        // buffers that the plan owns; the tests run under compute-sanitizer hold that (docs/performance.md, "GPU").
        unsafe { self.0.launch(stream, grid, args) }
    }

    /// Allows `bytes` of dynamic shared memory a block.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), Error> {
        if bytes > 48 << 10 { self.0.allow_shared(bytes) } else { Ok(()) }
    }
}

/// Kernel `name` of `source` with macros NAME=VALUE.
pub(super) fn kernel(
    device: &Device,
    source: &Source<'_>,
    macros: &[(&str, usize)],
    name: &str,
) -> Result<Kernel, Error> {
    let macros: Vec<String> =
        macros.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Kernel(device.module(source, &macros)?.function(name)?))
}

/// As [`kernel`], with macros given as text.
pub(super) fn kernel_of_types(
    device: &Device,
    source: &Source<'_>,
    macros: &[&str],
    name: &str,
) -> Result<Kernel, Error> {
    let macros: Vec<String> = macros.iter().map(|&text| text.to_owned()).collect();
    Ok(Kernel(device.module(source, &macros)?.function(name)?))
}

/// A count as a kernel's argument.
pub(super) fn count(n: usize) -> Arg {
    Arg::U32(n as u32)
}
