//! The kernels under `kernels/bem`, with their arguments, and how they are started.

pub(super) use arguments::{
    ADJOINT, Images, LANES, Matrix, Mirror, NONE, Node, Pair, PairRules, SINGLE, THREADS, Table,
    TriangleRules, Value,
};
pub(super) use cuda::count;
use cuda::testing::Declared;
use cuda::{Arguments, Buffer, Device, Error, Grid, Plain};

mod arguments;
pub(super) mod children;
pub(super) mod interfaces;
pub(super) mod near;
pub(super) mod preconditioner;
pub(super) mod screened;
pub(super) mod sparse;
pub(super) mod vectors;

/// A kernel ready to be started on its device's main stream.
#[derive(Clone, Debug)]
pub(super) struct Kernel<A> {
    kernel: cuda::Kernel<A>,
    device: Device,
    threads: u32,
}

impl<A: Arguments> Kernel<A> {
    /// The kernel with macros NAME=VALUE, whose blocks have `threads` threads.
    pub(super) fn new(device: &Device, macros: &[String], threads: u32) -> Result<Self, Error> {
        let kernel = cuda::Kernel::new(device, macros)?;
        Ok(Self { kernel, device: device.clone(), threads })
    }

    /// Starts as many blocks as give `count` threads, for each of `columns`.
    pub(super) fn over(&self, count: usize, columns: usize, arguments: A) -> Result<(), Error> {
        self.blocks(count.div_ceil(self.threads as usize), columns, arguments)
    }

    /// Starts `blocks` blocks for each of `columns`.
    pub(super) fn blocks(&self, blocks: usize, columns: usize, arguments: A) -> Result<(), Error> {
        let grid = Grid { blocks: [blocks as u32, columns as u32], ..Grid::new(1, self.threads) };
        // SAFETY: the launch checks the lengths that are declared below. Where rows begin, indices
        // and addresses, by which kernels find the rest (`[..]` below), are made by this module.
        // Buffers live until the stream has passed the launch. The tests run under
        // compute-sanitizer check that (docs/performance.md, "GPU").
        unsafe { self.kernel.launch(self.device.stream(), grid, arguments) }
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

/// The kernels' files, each with the kernels that are declared for it.
pub fn declared() -> Vec<Declared> {
    vec![
        near::declared(),
        sparse::declared(),
        preconditioner::declared(),
        screened::declared(),
        vectors::declared(),
        interfaces::declared(),
        children::declared(),
    ]
}
