//! Equations and their vectors on the device: an iteration moves a few numbers.

use cuda::{Buffer, Device, Pointer};

use super::completion::DeviceCompletion;
use super::kernels::vectors::{self, THREADS};
use super::kernels::{Kernel, count};
use super::{DevicePreconditioner, DeviceProduct};
use crate::Error;
use crate::solve::backend::Equations;
use crate::solve::linear_operator::InexactBudget;
use crate::solve::schedule::PlanSchedule;
use crate::solve::system::LinearSystem;
use crate::solve::vectors::VectorSpace;

/// Blocks that share an inner product.
const PARTS: usize = 512;

/// Equations, and the space of their vectors, in the device's memory.
pub(super) struct DeviceSystem<'a, 'e> {
    product: &'a mut DeviceProduct,
    plans: &'a mut PlanSchedule,
    preconditioner: Option<&'a mut DevicePreconditioner>,
    equations: Equations<'e>,
    completion: Option<DeviceCompletion>,
    device: Device,
    n: usize,
    weights: Buffer<f64>,
    part: Buffer<u32>,
    shares: Buffer<f64>,
    diagonal: Buffer<f64>,
    dot: Kernel<vectors::Dot>,
    total: Kernel<vectors::Total>,
    squares: Kernel<vectors::Squares>,
    combine: Kernel<vectors::Combine>,
    /// Parts of an inner product, their sum at the end.
    parts: Buffer<f64>,
}

impl<'a, 'e> DeviceSystem<'a, 'e> {
    /// For an operator whose near field is on the device.
    pub(super) fn new(
        product: &'a mut DeviceProduct,
        plans: &'a mut PlanSchedule,
        preconditioner: Option<&'a mut DevicePreconditioner>,
        equations: Equations<'e>,
    ) -> Result<Self, Error> {
        let device = product.device().clone();
        let n = equations.parts.len();
        let asks_for_balance = equations.measure.is_some_and(|measure| measure.asks_for_balance);
        let of_balance = if asks_for_balance { n } else { 0 };
        let diagonal: Vec<f64> = (0..of_balance).map(|i| (equations.row)(i)[1]).collect();
        let completion = equations.completion.map(|of| DeviceCompletion::new(&device, of, n));
        Ok(Self {
            n,
            weights: device.upload(equations.weights)?,
            part: device.upload(equations.parts)?,
            shares: device.upload(equations.shares)?,
            diagonal: device.upload(&diagonal)?,
            dot: Kernel::new(&device, &[], THREADS)?,
            total: Kernel::new(&device, &[], THREADS)?,
            squares: Kernel::new(&device, &[], THREADS)?,
            combine: Kernel::new(&device, &[], THREADS)?,
            parts: device.buffer(PARTS + 1)?,
            completion: completion.transpose()?,
            equations,
            product,
            plans,
            preconditioner,
            device,
        })
    }

    /// y = factor x + other y for `len` numbers from these places on.
    fn combine(
        &self,
        len: usize,
        factor: f64,
        x: Pointer<f64>,
        other: f64,
        y: Pointer<f64>,
    ) -> Result<(), cuda::Error> {
        self.combine.over(len, 1, vectors::Combine { n: len as u64, factor, x, other, y })
    }

    /// Turns rows `y` of `columns` vectors `x` into equations.
    fn complete(&self, x: &Buffer<f64>, y: &Buffer<f64>, columns: usize) -> Result<(), Error> {
        if let (Some(on_device), Some(completion)) = (&self.completion, self.equations.completion) {
            let defect = on_device.apply(completion, x, y, columns)?;
            self.equations.defect.set(self.equations.defect.get().max(defect));
        }
        Ok(())
    }

    /// Mean squares over each part of the values times these factors, if any.
    fn mean_squares(&self, factors: Pointer<f64>, values: &Buffer<f64>) -> Result<Vec<f64>, Error> {
        let sums = self.device.buffer::<f64>(self.equations.count)?;
        sums.zero()?;
        let squares = vectors::Squares {
            n: self.n as u64,
            of: self.part.pointer(),
            weights: self.shares.pointer(),
            factors,
            u: values.pointer(),
            sums: sums.pointer(),
        };
        self.squares.over(self.n, 1, squares)?;
        Ok(sums.to_vec()?)
    }
}

impl LinearSystem<Buffer<f64>> for DeviceSystem<'_, '_> {
    fn space(&self) -> &dyn VectorSpace<Buffer<f64>> {
        self
    }

    /// The plan of true residuals is fast enough for all products.
    fn apply(
        &mut self,
        x: &Buffer<f64>,
        columns: usize,
        _budget: Option<InexactBudget>,
    ) -> Result<Buffer<f64>, Error> {
        let y = self.device.buffer(x.len())?;
        self.product.apply(self.plans, x, &y, columns)?;
        self.complete(x, &y, columns)?;
        Ok(y)
    }

    fn precondition(&mut self, x: &Buffer<f64>, columns: usize) -> Result<Buffer<f64>, Error> {
        let y = self.device.buffer(x.len())?;
        match &mut self.preconditioner {
            Some(preconditioner) => preconditioner.apply_on_device(x, &y, columns)?,
            None => self.combine(x.len(), 1.0, x.pointer(), 0.0, y.pointer())?,
        }
        Ok(y)
    }

    fn measure(
        &self,
        column: usize,
        x: &Buffer<f64>,
        r: &Buffer<f64>,
    ) -> Result<Option<f64>, Error> {
        let Some(measure) = self.equations.measure else { return Ok(None) };
        let left = self.mean_squares(Pointer::null(), r)?;
        let balanced = if self.diagonal.is_empty() {
            Vec::new()
        } else {
            self.mean_squares(self.diagonal.pointer(), x)?
        };
        Ok(Some((measure.size)(column, &left, &balanced)))
    }
}

impl VectorSpace<Buffer<f64>> for DeviceSystem<'_, '_> {
    fn len(&self) -> usize {
        self.n
    }

    fn vector(&self, all: &[f64]) -> Result<Buffer<f64>, Error> {
        Ok(self.device.upload(all)?)
    }

    fn read(&self, v: &Buffer<f64>, all: &mut [f64]) -> Result<(), Error> {
        Ok(v.read(0, all)?)
    }

    fn zeros(&self) -> Result<Buffer<f64>, Error> {
        let zeros = self.device.buffer(self.n)?;
        zeros.zero()?;
        Ok(zeros)
    }

    fn joined(&self, vectors: &[&Buffer<f64>]) -> Result<Buffer<f64>, Error> {
        let all = self.device.buffer(vectors.len() * self.n)?;
        for (k, v) in vectors.iter().enumerate() {
            self.combine(self.n, 1.0, v.pointer(), 0.0, all.pointer_to(k * self.n))?;
        }
        Ok(all)
    }

    fn parted(&self, vectors: Buffer<f64>, columns: usize) -> Result<Vec<Buffer<f64>>, Error> {
        if columns == 1 {
            return Ok(vec![vectors]);
        }
        let part = |k: usize| {
            let part = self.device.buffer(self.n)?;
            self.combine(self.n, 1.0, vectors.pointer_to(k * self.n), 0.0, part.pointer())?;
            Ok(part)
        };
        (0..columns).map(part).collect()
    }

    fn dot(&self, column: usize, u: &Buffer<f64>, v: &Buffer<f64>) -> Result<f64, Error> {
        let own = if self.weights.len() > self.n { column * self.n } else { 0 };
        let parts = self.parts.pointer();
        let dot = vectors::Dot {
            n: self.n as u64,
            weights: self.weights.pointer_to(own),
            u: u.pointer(),
            v: v.pointer(),
            parts,
        };
        self.dot.blocks(PARTS, 1, dot)?;
        let out = self.parts.pointer_to(PARTS);
        self.total.blocks(1, 1, vectors::Total { count: count(PARTS), parts, out })?;
        let mut sum = [0.0];
        self.parts.read(PARTS, &mut sum)?;
        Ok(sum[0])
    }

    fn add(&self, a: f64, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), Error> {
        Ok(self.combine(self.n, a, x.pointer(), 1.0, y.pointer())?)
    }

    fn scale(&self, a: f64, x: &mut Buffer<f64>) -> Result<(), Error> {
        Ok(self.combine(self.n, a, x.pointer(), 0.0, x.pointer())?)
    }
}
