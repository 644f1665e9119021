//! The product with the operator on the device: points, fast sum, means, near field.

use cuda::{Buffer, Device};

use super::kernels::vectors::{self, TARGETS, THREADS};
use super::kernels::{Kernel, count};
use super::near::DeviceNear;
use crate::Error;
use crate::quadrature::rule::Rule;
use crate::sampling::Layout;
use crate::sampling::far;
use crate::solve::backend::Sampled;
use crate::solve::schedule::PlanSchedule;

/// Blocks over the sources of direct sums: enough to fill a GPU.
const SOURCE_BLOCKS: usize = 64;

/// The near field with what carries panels to points and back.
#[derive(Debug)]
pub struct DeviceProduct {
    device: Device,
    near: DeviceNear,
    nodes: usize,
    rule: &'static Rule,
    spread: Kernel<vectors::Spread>,
    average: Kernel<vectors::Average>,
    direct: Kernel<vectors::Direct>,
    /// Charges of the points and of their images, shape (k, images, points).
    charges: Buffer<f64>,
    /// At the points, shapes (k, points) and (k, points, 3), as far as rows ask for them.
    potentials: Buffer<f64>,
    gradients: Buffer<f64>,
    /// Where some images are far away, which processors sum.
    far: Option<Layout>,
}

impl DeviceProduct {
    /// The product with a near field that lacks the sums over the points of this rule.
    pub fn new(near: DeviceNear, rule: &'static Rule) -> Result<Self, cuda::Error> {
        let device = near.geometry.device.clone();
        Ok(Self {
            nodes: rule.len(),
            rule,
            spread: Kernel::new(&device, &[], THREADS)?,
            average: Kernel::new(&device, &[], THREADS)?,
            direct: Kernel::new(&device, &[], THREADS)?,
            charges: device.buffer(0)?,
            potentials: device.buffer(0)?,
            gradients: device.buffer(0)?,
            device,
            near,
            far: None,
        })
    }

    /// Adds the contribution of these panels' distant images, if there are any.
    pub(crate) fn with_far_images(self, layout: Layout) -> Self {
        Self { far: layout.all.panels.far().is_some().then_some(layout), ..self }
    }

    /// Number of entries of the near field.
    pub(crate) fn entries(&self) -> usize {
        self.near.entries()
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// y = A x for `columns` vectors on the device, by the plan of true residuals.
    pub(crate) fn apply(
        &mut self,
        plans: &mut PlanSchedule,
        x: &Buffer<f64>,
        y: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let plan = plans.for_step(None, columns)?.whole()?;
        self.spread(x, columns)?;
        self.sum(plan, columns)?;
        self.gather(y, columns)?;
        self.near(x, y, columns)?;
        self.device.stream().synchronize()?;
        plans.finished();
        Ok(())
    }

    /// From charges of panels to charges of points and of their images, shape (columns, images,
    /// panels, nodes).
    fn spread(&mut self, x: &Buffer<f64>, columns: usize) -> Result<(), cuda::Error> {
        let (n, rows) = (self.near.len(), &self.near.geometry.rows);
        let sources = n * self.nodes * rows.image_count();
        let buffers = [&mut self.charges, &mut self.potentials, &mut self.gradients];
        let points = columns * n * self.nodes;
        let lengths = [
            columns * sources,
            if rows.has_potentials { points } else { 0 },
            if rows.has_fields { 3 * points } else { 0 },
        ];
        for (buffer, length) in buffers.into_iter().zip(lengths) {
            if buffer.len() < length {
                *buffer = self.device.buffer(length)?;
            }
        }
        let spread = vectors::Spread {
            n: count(n),
            nodes: count(self.nodes),
            rule: self.near.geometry.rules.nodes(self.rule),
            factors: rows.factors(),
            image_count: count(rows.image_count()),
            panels: x.pointer(),
            points: self.charges.pointer(),
        };
        self.spread.over(sources, columns, spread)?;
        // The plan has a stream of its own.
        self.device.stream().synchronize()
    }

    /// Sums over the points, at the points.
    fn sum(&self, plan: &mut fmm::Plan, columns: usize) -> Result<(), Error> {
        let rows = &self.near.geometry.rows;
        let potentials = rows.has_potentials.then_some(&self.potentials);
        let gradients = rows.has_fields.then_some(&self.gradients);
        Ok(plan.apply_on_device(columns, &self.charges, potentials, gradients)?)
    }

    /// From values at points to rows, shape (columns, panels).
    fn gather(&self, y: &Buffer<f64>, columns: usize) -> Result<(), cuda::Error> {
        let (n, geometry) = (self.near.len(), &self.near.geometry);
        let average = vectors::Average {
            n: count(n),
            nodes: count(self.nodes),
            rule: geometry.rules.nodes(self.rule),
            kinds: geometry.rows.kinds(),
            vertices: geometry.vertices.pointer(),
            potentials: self.potentials.pointer(),
            gradients: self.gradients.pointer(),
            panels: y.pointer(),
        };
        self.average.over(n, columns, average)
    }

    /// Adds the near field, and distant images.
    fn near(&self, x: &Buffer<f64>, y: &Buffer<f64>, columns: usize) -> Result<(), Error> {
        self.near.multiply_add(x, y, columns)?;
        let Some(layout) = &self.far else { return Ok(()) };
        let (x, mut rows) = (x.to_vec()?, y.to_vec()?);
        let of_columns = ..columns * self.near.len();
        let group = &**layout.partition.group();
        far::add(layout.all.seen_far(), group, &x[of_columns], &mut rows[of_columns], columns)?;
        Ok(y.write(&rows)?)
    }

    /// Values of the first column of the last product at some points, and sums over all pairs
    /// there. `None` before the first product, or if no row requires them.
    pub(crate) fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, cuda::Error> {
        let (buffer, width) = match of {
            Sampled::Potentials => (&self.potentials, 1),
            Sampled::Gradients => (&self.gradients, 3),
        };
        let points = self.near.len() * self.nodes;
        if buffer.len() < width * points || chosen.is_empty() {
            return Ok(None);
        }
        let mut values = vec![0.0; width * points];
        buffer.read(0, &mut values)?;
        let at = |&p: &usize| values[width * p..width * (p + 1)].iter().copied();
        let found = chosen.iter().flat_map(at).collect();
        let targets = self.device.upload(places)?;
        let sums = self.device.buffer::<f64>(width * places.len())?;
        sums.zero()?;
        let g = &self.near.geometry;
        let direct = vectors::Direct {
            vertices: g.vertices.pointer(),
            n: count(g.panels),
            nodes: count(self.nodes),
            rule: g.rules.nodes(self.rule),
            images: g.rows.images(),
            charges: self.charges.pointer(),
            targets: targets.pointer(),
            count: count(places.len()),
            gradient: of == Sampled::Gradients,
            sums: sums.pointer(),
        };
        self.direct.blocks(SOURCE_BLOCKS, places.len().div_ceil(TARGETS), direct)?;
        Ok(Some([found, sums.to_vec()?]))
    }
}
