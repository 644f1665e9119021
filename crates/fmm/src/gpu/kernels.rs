//! The kernels under `kernels/`, embedded, and how they are started.

pub(super) use ::gpu::count;
use ::gpu::{Arg, Device, Error, Function, Grid, Source, Stream};

/// Headers that kernels include.
const HEADERS: &[(&str, &str)] = ::gpu::kernel_headers![
    "shared/real.cuh",
    "shared/cell.cuh",
    "shared/harmonics.cuh",
    "shared/levels.cuh",
    "shared/near.cuh"
];

pub(super) const SCAN: Source<'static> = ::gpu::kernel_source!("fmm", "scan.cu", HEADERS);
pub(super) const SORT: Source<'static> = ::gpu::kernel_source!("fmm", "sort.cu", HEADERS);
pub(super) const MORTON: Source<'static> = ::gpu::kernel_source!("fmm", "morton.cu", HEADERS);
pub(super) const TREE: Source<'static> = ::gpu::kernel_source!("fmm", "tree.cu", HEADERS);
pub(super) const LISTS: Source<'static> = ::gpu::kernel_source!("fmm", "lists.cu", HEADERS);
pub(super) const PARTICLES: Source<'static> = ::gpu::kernel_source!("fmm", "particles.cu", HEADERS);
pub(super) const CLOSE: Source<'static> = ::gpu::kernel_source!("fmm", "close.cu", HEADERS);
pub(super) const TRUNCATION: Source<'static> =
    ::gpu::kernel_source!("fmm", "truncation.cu", HEADERS);
pub(super) const M2L: Source<'static> = ::gpu::kernel_source!("fmm", "m2l.cu", HEADERS);
pub(super) const TRANSLATE: Source<'static> = ::gpu::kernel_source!("fmm", "translate.cu", HEADERS);
pub(super) const P2M: Source<'static> = ::gpu::kernel_source!("fmm", "p2m.cu", HEADERS);
pub(super) const P2P: Source<'static> = ::gpu::kernel_source!("fmm", "p2p.cu", HEADERS);
pub(super) const L2P: Source<'static> = ::gpu::kernel_source!("fmm", "l2p.cu", HEADERS);

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
