//! Conductors by local inverses over a coarse level, interfaces by their diagonals, on the device:
//! the twin of `precondition::interfaces`.

use std::sync::Arc;

use cuda::{Buffer, Device, Pointer};

use super::kernels::interfaces::{Chosen, Solve, THREADS};
use super::kernels::{Kernel, count};
use super::near::{DeviceNear, SparseRows};
use super::{DeviceGeometry, DeviceTwoLevel};
use crate::Error;
use crate::collective;
use crate::geometry::partition::Partition;
use crate::near::RowKind;
use crate::precondition::local_panels::NEIGHBOURS;
use crate::precondition::shared::Distributed;
use crate::solve::linear_operator::LinearOperator;

/// Preconditioner for all panels.
#[derive(Debug)]
pub struct DevicePreconditioner {
    device: Device,
    panels: usize,
    /// The part of the conductors alone, if there are any.
    conductors: Option<Conductors>,
    /// `None` where all is metal.
    interfaces: Option<Interfaces>,
    partition: Arc<Partition>,
}

#[derive(Debug)]
struct Conductors {
    two_level: DeviceTwoLevel,
    panels: Buffer<u32>,
    /// Room for what they have and get where interfaces are among them.
    potentials: Buffer<f64>,
    charges: Buffer<f64>,
    chosen: Kernel<Chosen>,
}

#[derive(Debug)]
struct Interfaces {
    panels: Buffer<u32>,
    /// Entries with conductors.
    rows: SparseRows,
    /// Factor of a normal derivative on each panel in its row, and the row's diagonal.
    coupling: Buffer<f64>,
    diagonal: Buffer<f64>,
    solve: Kernel<Solve>,
}

impl DevicePreconditioner {
    /// From exact entries on close pairs of the local panels, for vectors over these. Collective.
    pub(crate) fn new(near: &DeviceNear, panels: Distributed<'_>) -> Result<Self, Error> {
        let (device, n) = (near.geometry.device.clone(), near.len());
        let (partition, everywhere) = (Arc::clone(panels.partition), panels.conductor);
        let conductor = &*panels.local_conductor();
        let (metal, others): (Vec<u32>, Vec<u32>) =
            (0..n as u32).partition(|&i| conductor[i as usize].is_some());
        if everywhere.iter().all(Option::is_some) {
            let all = panels.conductors(&metal, panels.local);
            let two_level = DeviceTwoLevel::new(near, &all, NEIGHBOURS)?;
            let conductors = Some(Conductors::new(near, two_level, &[])?);
            return Ok(Self { device, panels: n, conductors, interfaces: None, partition });
        }
        let mut index = vec![u32::MAX; n];
        metal.iter().enumerate().for_each(|(k, &i)| index[i as usize] = k as u32);
        let has_metal = everywhere.iter().any(Option::is_some);
        let part = panels.local.subset(&metal);
        let parted = || -> Result<_, cuda::Error> {
            let index = device.upload(&index)?;
            let interfaces = device.upload(&others)?;
            let interfaces = Interfaces {
                rows: near.part(&interfaces, &index)?,
                panels: interfaces,
                coupling: device.buffer(n)?,
                diagonal: device.buffer(n)?,
                solve: Kernel::new(&device, &near.value, THREADS)?,
            };
            let kinds = vec![RowKind::Single; metal.len()];
            let between = has_metal.then(|| {
                let diameters = near.geometry.diameters;
                let geometry = DeviceGeometry::new(&device, &part, &kinds, diameters)?;
                near.between(geometry, &device.upload(&metal)?, &index)
            });
            Ok((interfaces, between.transpose()?))
        };
        let (interfaces, between) =
            collective::agreed(&**partition.group(), parted().map_err(Error::from))?;
        let mut conductors = None;
        if let Some(between) = &between {
            let all = panels.conductors(&metal, &part);
            let two_level = DeviceTwoLevel::new(between, &all, NEIGHBOURS)?;
            conductors = Some(Conductors::new(near, two_level, &metal)?);
        }
        Ok(Self { device, panels: n, conductors, interfaces: Some(interfaces), partition })
    }

    /// For these media: what a normal derivative on panel i counts in its row, and the row's
    /// diagonal.
    pub(crate) fn set_rows(&mut self, row: &dyn Fn(usize) -> [f64; 2]) -> Result<(), cuda::Error> {
        if let Some(interfaces) = &mut self.interfaces {
            let (coupling, diagonal): (Vec<f64>, Vec<f64>) =
                (0..self.panels).map(|i| row(i).into()).unzip();
            interfaces.coupling.write(&coupling)?;
            interfaces.diagonal.write(&diagonal)?;
        }
        Ok(())
    }

    /// z = M v for `columns` vectors on the device. Collective.
    pub(crate) fn apply_on_device(
        &mut self,
        v: &Buffer<f64>,
        z: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let Some(interfaces) = &self.interfaces else {
            let conductors = &mut self.conductors;
            return conductors
                .as_mut()
                .map_or(Ok(()), |c| c.two_level.apply_on_device(v, z, columns));
        };
        let (mut metal, mut charges) = (0, Pointer::null());
        if let Some(conductors) = &mut self.conductors {
            conductors.apply(&self.partition, v, z, columns)?;
            (metal, charges) = (conductors.panels.len(), conductors.charges.pointer());
        }
        let rows = &interfaces.rows;
        let solve = Solve {
            count: count(interfaces.panels.len()),
            interfaces: interfaces.panels.pointer(),
            n: count(self.panels),
            conductors: count(metal),
            starts: rows.starts.pointer(),
            columns: rows.columns.pointer(),
            values: rows.values(),
            charges,
            coupling: interfaces.coupling.pointer(),
            diagonal: interfaces.diagonal.pointer(),
            v: v.pointer(),
            z: z.pointer(),
        };
        Ok(interfaces.solve.over(interfaces.panels.len(), columns, solve)?)
    }
}

/// Where vectors are in the processor's memory.
impl LinearOperator for DevicePreconditioner {
    fn len(&self) -> usize {
        self.panels
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let (there, result) = (self.device.upload(x)?, self.device.buffer(y.len())?);
        self.apply_on_device(&there, &result, columns)?;
        Ok(result.read(0, y)?)
    }
}

impl Conductors {
    fn new(
        near: &DeviceNear,
        two_level: DeviceTwoLevel,
        panels: &[u32],
    ) -> Result<Self, cuda::Error> {
        let device = two_level.device().clone();
        Ok(Self {
            two_level,
            panels: device.upload(panels)?,
            potentials: device.buffer(0)?,
            charges: device.buffer(0)?,
            chosen: Kernel::new(&device, &near.value, THREADS)?,
        })
    }

    /// The conductors' part of z = M v over the local panels. Collective.
    fn apply(
        &mut self,
        partition: &Partition,
        v: &Buffer<f64>,
        z: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let (n, own) = (partition.local_len(), self.panels.len());
        if self.charges.len() < columns * own {
            self.potentials = self.two_level.device().buffer(columns * own)?;
            self.charges = self.two_level.device().buffer(columns * own)?;
        }
        let (panels, values) = (v.pointer(), self.potentials.pointer());
        let (count, chosen, n) = (count(own), self.panels.pointer(), count(n));
        let from = Chosen { count, chosen, n, panels, values, to_panels: false };
        self.chosen.over(own, columns, from)?;
        self.two_level.apply_on_device(&self.potentials, &self.charges, columns)?;
        let (panels, values) = (z.pointer(), self.charges.pointer());
        let to = Chosen { panels, values, to_panels: true, ..from };
        self.chosen.over(own, columns, to)?;
        if !partition.is_whole() {
            // Next to interfaces.
            let mut local = vec![0.0; columns * n as usize];
            let read = z.read(0, &mut local).map_err(Error::from);
            collective::agreed(&**partition.group(), read)?;
            partition.refresh(&mut local)?;
            z.write_at(0, &local)?;
            self.chosen.over(own, columns, Chosen { to_panels: false, ..to })?;
        }
        Ok(())
    }
}
