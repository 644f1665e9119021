//! GMRES's vectors on the device: an iteration moves a few numbers.

use gpu::{Arg, Buffer, Device};

use super::DevicePreconditioner;
use super::kernels::{Kernel, VECTORS, count};
use crate::Error;
use crate::gmres::Space;
use crate::layer::Layer;

/// Threads of a block, as `kernels/vectors.cu` has it.
const THREADS: u32 = 256;

/// Blocks that share an inner product.
const PARTS: usize = 512;

/// The operator with all that GMRES needs in the device's memory.
pub(crate) struct DeviceSpace<'a> {
    operator: &'a mut Layer,
    preconditioner: &'a mut DevicePreconditioner,
    device: Device,
    n: usize,
    /// Weights of the inner product.
    weights: Buffer<f64>,
    /// Conductor of each panel, and how many there are.
    conductor: Buffer<u32>,
    conductors: usize,
    dot: Kernel,
    total: Kernel,
    squares: Kernel,
    combine: Kernel,
    /// Parts of an inner product, their sum at the end.
    parts: Buffer<f64>,
}

impl<'a> DeviceSpace<'a> {
    /// For an operator whose near field is on the device.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn new(
        operator: &'a mut Layer,
        preconditioner: &'a mut DevicePreconditioner,
        weights: &[f64],
        conductor: &[u32],
        conductors: usize,
    ) -> Result<Self, Error> {
        let device = preconditioner.device().clone();
        let kernel = |name: &str| Kernel::new(&device, &VECTORS, &[], name, THREADS);
        Ok(Self {
            n: weights.len(),
            weights: device.upload(weights)?,
            conductor: device.upload(conductor)?,
            conductors,
            dot: kernel("vector_dot")?,
            total: kernel("vector_total")?,
            squares: kernel("vector_squares")?,
            combine: kernel("vector_combine")?,
            parts: device.buffer(PARTS + 1)?,
            operator,
            preconditioner,
            device,
        })
    }

    /// Vectors of n numbers each on the device.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn upload(&self, all: &[f64]) -> Result<Vec<Buffer<f64>>, Error> {
        all.chunks_exact(self.n.max(1)).map(|v| Ok(self.device.upload(v)?)).collect()
    }

    /// y = factor x + other y for `len` numbers from these places on.
    fn combine(
        &self,
        len: usize,
        factor: f64,
        x: Arg,
        other: f64,
        y: Arg,
    ) -> Result<(), gpu::Error> {
        let args = [Arg::U64(len as u64), Arg::F64(factor), x, Arg::F64(other), y];
        self.combine.over(len, 1, &args)
    }
}

impl Space for DeviceSpace<'_> {
    type Vector = Buffer<f64>;

    fn apply(&mut self, x: &Buffer<f64>, columns: usize) -> Result<Buffer<f64>, Error> {
        let y = self.device.buffer(x.len())?;
        self.operator.apply_there(x, &y, columns)?;
        Ok(y)
    }

    fn precondition(&mut self, x: &Buffer<f64>, columns: usize) -> Result<Buffer<f64>, Error> {
        let y = self.device.buffer(x.len())?;
        self.preconditioner.apply_there(x, &y, columns)?;
        Ok(y)
    }

    fn zeros(&self) -> Result<Buffer<f64>, Error> {
        let zeros = self.device.buffer(self.n)?;
        zeros.zero()?;
        Ok(zeros)
    }

    fn joined(&self, vectors: &[&Buffer<f64>]) -> Result<Buffer<f64>, Error> {
        let all = self.device.buffer(vectors.len() * self.n)?;
        for (k, v) in vectors.iter().enumerate() {
            self.combine(self.n, 1.0, v.arg(), 0.0, all.at(k * self.n))?;
        }
        Ok(all)
    }

    fn parted(&self, vectors: Buffer<f64>, columns: usize) -> Result<Vec<Buffer<f64>>, Error> {
        if columns == 1 {
            return Ok(vec![vectors]);
        }
        let part = |k: usize| {
            let part = self.device.buffer(self.n)?;
            self.combine(self.n, 1.0, vectors.at(k * self.n), 0.0, part.arg())?;
            Ok(part)
        };
        (0..columns).map(part).collect()
    }

    fn dot(&self, _column: usize, u: &Buffer<f64>, v: &Buffer<f64>) -> Result<f64, Error> {
        let vectors = [self.weights.arg(), u.arg(), v.arg(), self.parts.arg()];
        let args = [&[Arg::U64(self.n as u64)][..], &vectors].concat();
        self.dot.blocks(PARTS, 1, &args)?;
        self.total.blocks(1, 1, &[count(PARTS), self.parts.arg(), self.parts.at(PARTS)])?;
        let mut sum = [0.0];
        self.parts.read(PARTS, &mut sum)?;
        Ok(sum[0])
    }

    fn add(&self, a: f64, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), Error> {
        Ok(self.combine(self.n, a, x.arg(), 1.0, y.arg())?)
    }

    fn scale(&self, a: f64, x: &mut Buffer<f64>) -> Result<(), Error> {
        Ok(self.combine(self.n, a, x.arg(), 0.0, x.arg())?)
    }

    /// The largest over the conductors of the root of the weighted squares' sum.
    fn measure(
        &self,
        _column: usize,
        _x: &Buffer<f64>,
        r: &Buffer<f64>,
    ) -> Result<Option<f64>, Error> {
        let sums = self.device.buffer::<f64>(self.conductors)?;
        sums.zero()?;
        let vectors = [self.conductor.arg(), self.weights.arg(), r.arg(), sums.arg()];
        let args = [&[Arg::U64(self.n as u64)][..], &vectors].concat();
        self.squares.over(self.n, 1, &args)?;
        // NaN must come through: f64::max drops it.
        let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        Ok(Some(sums.to_vec()?.into_iter().fold(0.0, larger).sqrt()))
    }
}
