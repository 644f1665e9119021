//! What a matrix over panels has beyond potentials of panels without images, as `kernels/shared/rows.cuh` declares it.

use gpu::{Arg, Buffer, Device, Error};

use crate::geometry::panels::{Image, Panels};
use crate::near::Needs;
use crate::near::pairs::RowKind;

/// Kinds of rows, mirror images, needs. Where there is nothing of it, kernels without all that are compiled.
#[derive(Debug)]
pub(super) struct Rows {
    macros: Vec<String>,
    kinds: Buffer<u32>,
    /// Induced density, the area around with about this density, what errors in the row count.
    needs: Option<Buffer<[f64; 3]>>,
    images: Buffer<[f64; 7]>,
    /// Their addresses, as the kernels' `Rows` has them.
    table: Buffer<u64>,
    pub(super) has_potentials: bool,
    pub(super) has_fields: bool,
}

/// Definitions of kernels that know `Rows`, or do not.
pub(super) fn general(yes: bool) -> Vec<String> {
    vec![format!("GENERAL={}", u8::from(yes))]
}

impl Rows {
    pub(super) fn new(
        device: &Device,
        panels: &Panels,
        kinds: &[RowKind],
        areas: &Buffer<f64>,
    ) -> Result<Self, Error> {
        let kind = |kernel: &RowKind| match kernel {
            RowKind::Single => 0,
            RowKind::Adjoint => 1,
            RowKind::Double | RowKind::None => 2,
        };
        let kinds: Vec<u32> = kinds.iter().map(kind).collect();
        let images: Vec<[f64; 7]> = panels.images().iter().map(Image::map).collect();
        let mut rows = Self {
            macros: general(images.len() > 1 || kinds.iter().any(|&kind| kind != 0)),
            has_potentials: kinds.contains(&0),
            has_fields: kinds.contains(&1),
            kinds: device.upload(&kinds)?,
            needs: None,
            images: device.upload(&images)?,
            table: device.buffer(0)?,
        };
        rows.describe(device, 0.0, areas)?;
        Ok(rows)
    }

    /// Takes needs of charges in space, and the accuracy of solid angles.
    pub(super) fn set_needs(
        &mut self,
        device: &Device,
        needs: Option<&Needs>,
        solid_angles: f64,
        areas: &Buffer<f64>,
    ) -> Result<(), Error> {
        self.needs =
            needs.and_then(Needs::of_panels).map(|needs| device.upload(&needs)).transpose()?;
        if self.needs.is_some() {
            self.macros = general(true);
        }
        self.describe(device, solid_angles, areas)
    }

    fn describe(&mut self, device: &Device, angles: f64, areas: &Buffer<f64>) -> Result<(), Error> {
        let needs = self.needs.as_ref().map_or(0, Buffer::address);
        let (kinds, images) = (self.kinds.address(), self.images.address());
        let count = self.images.len() as u64;
        self.table =
            device.upload(&[areas.address(), kinds, needs, images, count, angles.to_bits()])?;
        Ok(())
    }

    /// Definitions for the kernels that take [`arg`](Self::arg).
    pub(super) fn macros(&self) -> &[String] {
        &self.macros
    }

    pub(super) fn is_general(&self) -> bool {
        self.macros == general(true)
    }

    pub(super) fn arg(&self) -> Arg {
        self.table.arg()
    }

    pub(super) fn kinds(&self) -> Arg {
        self.kinds.arg()
    }

    /// Places and signs of images, and how many there are.
    pub(super) fn images(&self) -> [Arg; 2] {
        [self.images.arg(), super::count(self.images.len())]
    }

    pub(super) fn image_count(&self) -> usize {
        self.images.len()
    }
}
