//! The kernels under `kernels/` that this crate starts, embedded.

pub(super) use gpu::count;
use gpu::{Arg, Buffer, Device, Error, Function, Grid, Plain, Source};

/// Headers that kernels include.
const HEADERS: &[(&str, &str)] = gpu::kernel_headers![
    "shared/triangle.cuh",
    "shared/pair.cuh",
    "shared/rows.cuh",
    "shared/solid_angle.cuh"
];

pub(super) const NEAR: Source<'static> = gpu::kernel_source!("bem", "near.cu", HEADERS);
pub(super) const SPARSE: Source<'static> = gpu::kernel_source!("bem", "sparse.cu", HEADERS);
pub(super) const PRECONDITIONER: Source<'static> =
    gpu::kernel_source!("bem", "preconditioner.cu", HEADERS);
pub(super) const VECTORS: Source<'static> = gpu::kernel_source!("bem", "vectors.cu", HEADERS);
pub(super) const INTERFACES: Source<'static> = gpu::kernel_source!("bem", "interfaces.cu", HEADERS);

/// Threads of a block, as `kernels/bem/vectors.cu` has it.
pub(super) const VECTOR_THREADS: u32 = 256;

/// A kernel ready to be started on its device's main stream.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    function: Function,
    device: Device,
    threads: u32,
}

impl Kernel {
    /// Kernel `name` of `source`, whose blocks have `threads` threads.
    pub(super) fn new(
        device: &Device,
        source: &Source<'_>,
        macros: &[String],
        name: &str,
        threads: u32,
    ) -> Result<Self, Error> {
        let function = device.module(source, macros)?.function(name)?;
        Ok(Self { function, device: device.clone(), threads })
    }

    /// Starts as many blocks as give `count` threads, for each of `columns`.
    pub(super) fn over(&self, count: usize, columns: usize, args: &[Arg]) -> Result<(), Error> {
        self.blocks(count.div_ceil(self.threads as usize), columns, args)
    }

    /// Starts `blocks` blocks for each of `columns`.
    pub(super) fn blocks(&self, blocks: usize, columns: usize, args: &[Arg]) -> Result<(), Error> {
        let grid = Grid { blocks: [blocks as u32, columns as u32], ..Grid::new(1, self.threads) };
        // SAFETY: every call in this module passes the arguments in the order and type that the kernel's file declares, with
        // buffers that live until the stream has passed the launch; the tests under compute-sanitizer hold that
        // (docs/performance.md, "GPU").
        unsafe { self.function.launch(self.device.stream(), grid, args) }
    }
}

/// Sums of all before, and of all.
pub(super) fn prefix_sums(counts: &[u32]) -> (Vec<u32>, u64) {
    let mut total = 0u64;
    let mut starts = Vec::with_capacity(counts.len() + 1);
    for &count in counts {
        // Too large a sum is seen by the caller in the total.
        starts.push(total as u32);
        total += u64::from(count);
    }
    starts.push(total as u32);
    (starts, total)
}

/// The first `count` elements in a buffer of their own.
pub(super) fn shrunk<T: Plain>(
    device: &Device,
    from: &Buffer<T>,
    count: usize,
) -> Result<Buffer<T>, Error> {
    let to = device.buffer(count)?;
    to.copy_from(from, count)?;
    Ok(to)
}
