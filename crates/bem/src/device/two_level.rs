//! Local inverses over a coarse level, on the device.

use cuda::{Buffer, Device, Pointer};

use super::coarse::{DeviceCoarse, Inverse};
use super::kernels::preconditioner::{
    Apply, CoarseSolve, LocalInverse as ComputeInverses, LocalLengths, Near, macros, usual_macros,
};
use super::kernels::{Kernel, count, prefix_sums};
use super::kernels::{LANES, THREADS};
use super::near::DeviceNear;
use crate::Error;
use crate::collective;
use crate::precondition::local_panels::{NEIGHBOURS_OF_FACING, POINTS};
use crate::precondition::shared::Conductors;

/// Rows of S and the coarse level: the device's twin of
/// [`TwoLevel`](crate::precondition::coarse::TwoLevel).
#[derive(Debug)]
pub struct DeviceTwoLevel {
    device: Device,
    panels: usize,
    starts: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<f32>,
    coarse: Option<DeviceCoarse>,
    apply: Kernel<Apply>,
    /// Room for potentials, gradients and charges of the clusters, and for what they leave to S.
    means: Buffer<f64>,
    gradients: Buffer<f64>,
    solution: Buffer<f64>,
    rest: Buffer<f64>,
}

impl DeviceTwoLevel {
    /// From exact entries on close pairs of the conductors' local panels. Collective.
    pub fn new(
        near: &DeviceNear,
        conductors: &Conductors<'_>,
        neighbours: usize,
    ) -> Result<Self, Error> {
        let local = Self::local(near, neighbours).map_err(Error::from);
        let local = collective::agreed(&**conductors.group(), local)?;
        let coarse = DeviceCoarse::new(near, conductors)?;
        Ok(Self { coarse, ..local })
    }

    /// Local inverses without a coarse level.
    fn local(near: &DeviceNear, neighbours: usize) -> Result<Self, cuda::Error> {
        let _span = tracing::debug_span!("local inverses").entered();
        let device = near.geometry.device.clone();
        let n = near.len();
        let usual = usual_macros(&near.value);
        let lengths = device.buffer::<u32>(n)?;
        let of_near = Near {
            matrix: near.matrix(),
            vertices: near.geometry.vertices.pointer(),
            centroids: near.geometry.centroids.pointer(),
        };
        let of_rows = LocalLengths {
            near: of_near,
            neighbours: count(neighbours),
            of_facing: count(NEIGHBOURS_OF_FACING),
            lengths: lengths.pointer(),
        };
        Kernel::new(&device, &usual, THREADS)?.over(n, 1, of_rows)?;
        let lengths = lengths.to_vec()?;
        let some_face = lengths.iter().any(|&length| length as usize > neighbours);
        let (starts, total) = prefix_sums(&lengths);
        let starts = device.upload(&starts)?;
        let columns = device.buffer(total as usize)?;
        let values = device.buffer(total as usize)?;
        let inverses = ComputeInverses {
            near: of_near,
            images: near.geometry.rows.images(),
            local_starts: starts.pointer(),
            local_columns: columns.pointer(),
            local_values: values.pointer(),
        };
        // A warp each; the larger neighbourhoods by a kernel of their own, of which a block has
        // room for one.
        Kernel::new(&device, &usual, THREADS)?.over(32 * n, 1, inverses)?;
        if some_face {
            let of_facing = macros(&near.value, neighbours..NEIGHBOURS_OF_FACING, 1, POINTS);
            Kernel::new(&device, &of_facing, 32)?.over(32 * n, 1, inverses)?;
        }
        Self::of_rows(&device, &near.value, [starts, columns], values)
    }

    /// The same over a coarse level.
    pub(super) fn over(self, coarse: DeviceCoarse) -> Self {
        Self { coarse: Some(coarse), ..self }
    }

    /// From rows of S that are there: where each begins, their columns and values.
    pub(super) fn of_rows(
        device: &Device,
        value: &[String],
        [starts, columns]: [Buffer<u32>; 2],
        values: Buffer<f32>,
    ) -> Result<Self, cuda::Error> {
        let apply = Kernel::new(device, &usual_macros(value), THREADS)?;
        let room = || device.buffer(0);
        let (means, gradients, solution, rest) = (room()?, room()?, room()?, room()?);
        Ok(Self {
            device: device.clone(),
            panels: starts.len() - 1,
            starts,
            columns,
            values,
            coarse: None,
            apply,
            means,
            gradients,
            solution,
            rest,
        })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// z = M v for `columns` vectors on the device. Collective.
    pub fn apply_on_device(
        &mut self,
        v: &Buffer<f64>,
        z: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let n = self.panels;
        let local = Apply {
            n: count(n),
            starts: self.starts.pointer(),
            columns: self.columns.pointer(),
            values: self.values.pointer(),
            v: v.pointer(),
            clusters: 0,
            cluster: Pointer::null(),
            shares: Pointer::null(),
            solution: Pointer::null(),
            z: z.pointer(),
        };
        let Some(coarse) = &mut self.coarse else {
            return Ok(self.apply.over(LANES * n, columns, local)?);
        };
        let clusters = coarse.clusters;
        if self.rest.len() < columns * n {
            self.means = self.device.buffer(columns * clusters)?;
            self.gradients = self.device.buffer(3 * columns * clusters)?;
            self.solution = self.device.buffer(columns * clusters)?;
            self.rest = self.device.buffer(columns * n)?;
        }
        coarse.restrict(v, n, columns, [&self.means, &self.gradients, &self.rest])?;
        match &mut coarse.inverse {
            Inverse::Dense(factor) => {
                self.solution.copy_from(&self.means, columns * clusters)?;
                let (l, n, xs) = (factor.pointer(), count(clusters), self.solution.pointer());
                coarse.solve.blocks(columns, 1, CoarseSolve { l, n, xs })?;
            }
            Inverse::Levels(levels) => {
                levels.apply_on_device(&self.means, &self.solution, columns)?
            }
        }
        let both = Apply {
            v: self.rest.pointer(),
            clusters: count(clusters),
            cluster: coarse.cluster.pointer(),
            shares: coarse.shares.pointer(),
            solution: self.solution.pointer(),
            ..local
        };
        Ok(self.apply.over(LANES * n, columns, both)?)
    }
}
