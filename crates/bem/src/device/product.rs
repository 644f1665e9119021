//! The product with the operator on the device: points, fast sum, means, near field.

use gpu::{Arg, Buffer, Device};

use super::kernels::{Kernel, VECTORS, count};
use super::near::DeviceNear;
use crate::Error;
use crate::product::Rule;

/// Threads of a block, and targets that a block of direct sums takes, as `kernels/vectors.cu` has them.
const THREADS: u32 = 256;
const TARGETS: usize = 8;

/// Blocks over the sources of direct sums: enough to fill a GPU.
const SOURCE_BLOCKS: usize = 64;

/// The near field with what carries panels to points and back.
#[derive(Debug)]
pub(crate) struct DeviceProduct {
    device: Device,
    near: DeviceNear,
    nodes: usize,
    rule: &'static Rule,
    spread: Kernel,
    average: Kernel,
    direct: Kernel,
    /// Of the points, shape (k, points).
    charges: Buffer<f64>,
    potentials: Buffer<f64>,
}

impl DeviceProduct {
    pub(crate) fn new(near: DeviceNear, rule: &'static Rule) -> Result<Self, gpu::Error> {
        let device = near.geometry.device.clone();
        let kernel = |name: &str| Kernel::new(&device, &VECTORS, &[], name, THREADS);
        Ok(Self {
            nodes: rule.len(),
            rule,
            spread: kernel("points_spread")?,
            average: kernel("points_average")?,
            direct: kernel("points_direct")?,
            charges: device.buffer(0)?,
            potentials: device.buffer(0)?,
            device,
            near,
        })
    }

    /// Entries of the near field.
    pub(crate) fn entries(&self) -> usize {
        self.near.entries()
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// y = A x for `columns` vectors on the device, `plan` being the fast sum over the points.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn apply(
        &mut self,
        plan: &mut fmm::Plan,
        x: &Buffer<f64>,
        y: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let panels = columns * self.near.len();
        let points = panels * self.nodes;
        if self.charges.len() < points {
            self.charges = self.device.buffer(points)?;
            self.potentials = self.device.buffer(points)?;
        }
        let nodes = self.near.geometry.rules.nodes(self.rule);
        let sizes = [Arg::U64(panels as u64), count(self.nodes), nodes];
        let spread = [&sizes[..], &[x.arg(), self.charges.arg()]].concat();
        self.spread.over(points, 1, &spread)?;
        // The plan has a stream of its own.
        self.device.stream().synchronize()?;
        plan.apply_on_device(columns, &self.charges, &self.potentials)?;
        let average = [&sizes[..], &[self.potentials.arg(), y.arg()]].concat();
        self.average.over(panels, 1, &average)?;
        Ok(self.near.multiply_add(x, y, columns)?)
    }

    /// Potentials of the first column of the last product at some points, and the sums over all pairs there. None before the
    /// first product.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn samples(
        &self,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, gpu::Error> {
        let points = self.near.len() * self.nodes;
        if self.charges.len() < points || chosen.is_empty() {
            return Ok(None);
        }
        let mut potentials = vec![0.0; points];
        self.potentials.read(0, &mut potentials)?;
        let found = chosen.iter().map(|&p| potentials[p]).collect();
        let targets = self.device.upload(places)?;
        let sums = self.device.buffer::<f64>(places.len())?;
        sums.zero()?;
        let g = &self.near.geometry;
        let args = [
            g.vertices.arg(),
            count(g.panels),
            count(self.nodes),
            g.rules.nodes(self.rule),
            self.charges.arg(),
            targets.arg(),
            count(places.len()),
            sums.arg(),
        ];
        let groups = places.len().div_ceil(TARGETS);
        self.direct.blocks(SOURCE_BLOCKS, groups, &args)?;
        Ok(Some([found, sums.to_vec()?]))
    }
}
