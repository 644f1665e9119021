//! Conductors by local inverses over a coarse level, interfaces by their diagonals, on the device:
//! the twin of `precondition::interfaces`.

use cuda::{Buffer, Pointer};

use super::kernels::interfaces::{Chosen, Solve, THREADS};
use super::kernels::{Kernel, count};
use super::near::{DeviceNear, SparseRows};
use super::{DeviceGeometry, DeviceTwoLevel};
use crate::geometry::panels::Panels;
use crate::near::pairs::RowKind;
use crate::precondition::local_inverse::NEIGHBOURS;

/// What makes charges of residuals, for all panels.
#[derive(Debug)]
pub(crate) struct DevicePreconditioner {
    panels: usize,
    /// Of the conductors alone, if there are any.
    conductors: Option<Conductors>,
    /// `None` where all is metal.
    interfaces: Option<Interfaces>,
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
    /// From exact entries on close pairs; `conductor` of each panel, `None` on interfaces.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn new(
        near: &DeviceNear,
        panels: &Panels,
        conductor: &[Option<u32>],
    ) -> Result<Self, cuda::Error> {
        let (device, n) = (near.geometry.device.clone(), near.len());
        let owners: Vec<u32> = conductor.iter().flatten().copied().collect();
        if owners.len() == n {
            let two_level = DeviceTwoLevel::new(near, panels, &owners, NEIGHBOURS)?;
            let conductors = Some(Conductors::new(near, two_level, &[])?);
            return Ok(Self { panels: n, conductors, interfaces: None });
        }
        let (metal, others): (Vec<u32>, Vec<u32>) =
            (0..n as u32).partition(|&i| conductor[i as usize].is_some());
        let mut index = vec![u32::MAX; n];
        metal.iter().enumerate().for_each(|(k, &i)| index[i as usize] = k as u32);
        let index = device.upload(&index)?;
        let interfaces = device.upload(&others)?;
        let interfaces = Interfaces {
            rows: near.part(&interfaces, &index)?,
            panels: interfaces,
            coupling: device.buffer(n)?,
            diagonal: device.buffer(n)?,
            solve: Kernel::new(&device, &near.value, THREADS)?,
        };
        let mut conductors = None;
        if !metal.is_empty() {
            let part = panels.subset(&metal);
            let kinds = vec![RowKind::Single; metal.len()];
            let geometry = DeviceGeometry::new(&device, &part, &kinds, near.geometry.diameters)?;
            let between = near.between(geometry, &device.upload(&metal)?, &index)?;
            let two_level = DeviceTwoLevel::new(&between, &part, &owners, NEIGHBOURS)?;
            conductors = Some(Conductors::new(near, two_level, &metal)?);
        }
        Ok(Self { panels: n, conductors, interfaces: Some(interfaces) })
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

    /// z = M v for `columns` vectors on the device.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn apply_on_device(
        &mut self,
        v: &Buffer<f64>,
        z: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), cuda::Error> {
        let Some(interfaces) = &self.interfaces else {
            let conductors = &mut self.conductors;
            return conductors
                .as_mut()
                .map_or(Ok(()), |c| c.two_level.apply_on_device(v, z, columns));
        };
        let (mut metal, mut charges) = (0, Pointer::null());
        if let Some(conductors) = &mut self.conductors {
            conductors.apply(self.panels, v, z, columns)?;
            (metal, charges) = (conductors.panels.len(), conductors.charges.pointer());
        }
        let SparseRows { starts, columns: entries, values } = &interfaces.rows;
        let solve = Solve {
            count: count(interfaces.panels.len()),
            interfaces: interfaces.panels.pointer(),
            n: count(self.panels),
            conductors: count(metal),
            starts: starts.pointer(),
            columns: entries.pointer(),
            values: values.pointer().cast(),
            charges,
            coupling: interfaces.coupling.pointer(),
            diagonal: interfaces.diagonal.pointer(),
            v: v.pointer(),
            z: z.pointer(),
        };
        interfaces.solve.over(interfaces.panels.len(), columns, solve)
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

    /// The conductors' part of z = M v, of which `n` are all panels.
    fn apply(
        &mut self,
        n: usize,
        v: &Buffer<f64>,
        z: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), cuda::Error> {
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
        self.chosen.over(own, columns, Chosen { panels, values, to_panels: true, ..from })
    }
}
