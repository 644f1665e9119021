//! Conductors by local inverses over a coarse level, interfaces by their diagonals, on the device:
//! the twin of `precondition::interfaces`.

use std::sync::Arc;

use cuda::{Buffer, Device, Pointer};

use super::kernels::interfaces::{Chosen, Solve, THREADS};
use super::kernels::{Kernel, count};
use super::near::{DeviceNear, SparseRows};
use super::{DeviceGeometry, DeviceTwoLevel};
use crate::Error;
use crate::geometry::panels::Panels;
use crate::geometry::share::{self, Share};
use crate::near::RowKind;
use crate::precondition::local_panels::NEIGHBOURS;
use crate::precondition::shared::OfAll;
use crate::solve::linear_operator::LinearOperator;

/// Preconditioner for all panels.
#[derive(Debug)]
pub struct DevicePreconditioner {
    device: Device,
    panels: usize,
    /// Of the conductors alone, if there are any.
    conductors: Option<Conductors>,
    /// `None` where all is metal.
    interfaces: Option<Interfaces>,
    /// Where the panels are those that a rank holds, and some rank has interfaces.
    share: Option<Arc<Share>>,
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
    /// What a normal derivative on each panel counts in its row, and the row's diagonal.
    coupling: Buffer<f64>,
    diagonal: Buffer<f64>,
    solve: Kernel<Solve>,
}

impl DevicePreconditioner {
    /// From exact entries on close pairs; `conductor` of each panel, `None` on interfaces. Of
    /// panels that a rank holds given those of all, and collective then.
    ///
    /// # Errors
    /// The GPU's, and messages that do not pass.
    pub(crate) fn new(
        near: &DeviceNear,
        panels: &Panels,
        conductor: &[Option<u32>],
        of_all: Option<OfAll<'_>>,
    ) -> Result<Self, Error> {
        let (device, n) = (near.geometry.device.clone(), near.len());
        let alone = comm::alone();
        let group = &**of_all.map_or(&alone, |all| all.share.group());
        let everywhere = of_all.map_or(conductor, |all| all.conductor);
        let owners: Vec<u32> = conductor.iter().flatten().copied().collect();
        let (metal, others): (Vec<u32>, Vec<u32>) =
            (0..n as u32).partition(|&i| conductor[i as usize].is_some());
        let all = of_all.map(|all| all.conductors(&metal));
        if everywhere.iter().all(Option::is_some) {
            let two_level = DeviceTwoLevel::new(near, panels, &owners, NEIGHBOURS, all.as_ref())?;
            let conductors = Some(Conductors::new(near, two_level, &[])?);
            return Ok(Self { device, panels: n, conductors, interfaces: None, share: None });
        }
        let mut index = vec![u32::MAX; n];
        metal.iter().enumerate().for_each(|(k, &i)| index[i as usize] = k as u32);
        let has_metal = everywhere.iter().any(Option::is_some);
        let part = panels.subset(&metal);
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
        let (interfaces, between) = share::agreed(group, parted().map_err(Error::from))?;
        let mut conductors = None;
        if let Some(between) = &between {
            let two_level = DeviceTwoLevel::new(between, &part, &owners, NEIGHBOURS, all.as_ref())?;
            conductors = Some(Conductors::new(near, two_level, &metal)?);
        }
        let share = of_all.map(|all| Arc::clone(all.share));
        Ok(Self { device, panels: n, conductors, interfaces: Some(interfaces), share })
    }

    /// For these media: what a normal derivative on panel i counts in its row, and the row's
    /// diagonal.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn set_rows(&mut self, row: &dyn Fn(usize) -> [f64; 2]) -> Result<(), cuda::Error> {
        if let Some(interfaces) = &mut self.interfaces {
            let (coupling, diagonal): (Vec<f64>, Vec<f64>) =
                (0..self.panels).map(|i| row(i).into()).unzip();
            interfaces.coupling.write(&coupling)?;
            interfaces.diagonal.write(&diagonal)?;
        }
        Ok(())
    }

    /// z = M v for `columns` vectors on the device. Collective where ranks share the panels.
    ///
    /// # Errors
    /// The GPU's, and messages that do not pass.
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
            conductors.apply((self.panels, self.share.as_deref()), v, z, columns)?;
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

    /// The conductors' part of z = M v, of which `n` are all panels, those next to a rank's own
    /// among them.
    fn apply(
        &mut self,
        (n, share): (usize, Option<&Share>),
        v: &Buffer<f64>,
        z: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let own = self.panels.len();
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
        if let Some(share) = share {
            // Next to interfaces.
            let mut held = vec![0.0; columns * n as usize];
            let read = z.read(0, &mut held).map_err(Error::from);
            share::agreed(&**share.group(), read)?;
            share.refresh(&mut held)?;
            z.write_at(0, &held)?;
            self.chosen.over(own, columns, Chosen { to_panels: false, ..to })?;
        }
        Ok(())
    }
}
