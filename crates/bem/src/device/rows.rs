//! Other rows and images of a matrix over panels, beyond potentials of panels without images, as
//! `kernels/bem/rows.cuh` declares them.

use cuda::{Buffer, Device, Error, Pointer};

use super::kernels::{ADJOINT, Images, Mirror, NONE, SINGLE, Table, count};

use crate::geometry::panels::Panels;
use crate::near::Requirements;
use crate::near::RowKind;

/// Kinds of rows, images, needs. Where there is nothing of it, kernels without all that are
/// compiled.
#[derive(Debug)]
pub(super) struct Rows {
    macros: Vec<String>,
    kinds: Buffer<u32>,
    /// Induced density, the area around with about this density, what errors in the row count.
    requirements: Option<Buffer<[f64; 3]>>,
    images: Buffer<Mirror>,
    /// Factors of the charges of panels, shape (images, panels).
    factors: Buffer<f64>,
    /// Their addresses, as the kernels' `Rows` has them.
    table: Buffer<Words>,
    pub(super) has_potentials: bool,
    pub(super) has_fields: bool,
}

/// A `Rows` of the kernels.
type Words = [u64; 8];

/// Macros of kernels that know `Rows`, or do not.
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
            RowKind::Single => SINGLE,
            RowKind::Adjoint => ADJOINT,
            RowKind::Double | RowKind::None => NONE,
        };
        let kinds: Vec<u32> = kinds.iter().map(kind).collect();
        let images: Vec<Mirror> = panels.images().iter().map(|image| Mirror(image.map())).collect();
        let factors: Vec<f64> = (0..panels.total()).map(|j| panels.factor_in(0, j)).collect();
        let mut rows = Self {
            macros: general(images.len() > 1 || kinds.iter().any(|&kind| kind != SINGLE)),
            has_potentials: kinds.contains(&SINGLE),
            has_fields: kinds.contains(&ADJOINT),
            kinds: device.upload(&kinds)?,
            requirements: None,
            images: device.upload(&images)?,
            factors: device.upload(&factors)?,
            table: device.buffer(0)?,
        };
        rows.describe(device, 0.0, areas)?;
        Ok(rows)
    }

    /// Takes needs of charges in space, and the accuracy of solid angles.
    pub(super) fn set_requirements(
        &mut self,
        device: &Device,
        requirements: Option<&Requirements>,
        solid_angles: f64,
        areas: &Buffer<f64>,
    ) -> Result<(), Error> {
        self.requirements = requirements
            .and_then(Requirements::of_panels)
            .map(|requirements| device.upload(&requirements))
            .transpose()?;
        if self.requirements.is_some() {
            self.macros = general(true);
        }
        self.describe(device, solid_angles, areas)
    }

    fn describe(&mut self, device: &Device, angles: f64, areas: &Buffer<f64>) -> Result<(), Error> {
        let requirements = self.requirements.as_ref().map_or(0, Buffer::address);
        let (kinds, images) = (self.kinds.address(), self.images.address());
        let count = self.images.len() as u64;
        let (factors, panels) = (self.factors.address(), self.factors.len() as u64 / count);
        let table = [
            areas.address(),
            kinds,
            requirements,
            images,
            count,
            angles.to_bits(),
            factors,
            panels,
        ];
        self.table = device.upload(&[table])?;
        Ok(())
    }

    /// Macros for the kernels that take [`pointer`](Self::pointer).
    pub(super) fn macros(&self) -> &[String] {
        &self.macros
    }

    pub(super) fn is_general(&self) -> bool {
        self.macros == general(true)
    }

    pub(super) fn pointer(&self) -> Pointer<Table> {
        self.table.pointer().cast(size_of::<Words>())
    }

    pub(super) fn kinds(&self) -> Pointer<u32> {
        self.kinds.pointer()
    }

    pub(super) fn images(&self) -> Images {
        Images { images: self.images.pointer(), image_count: count(self.images.len()) }
    }

    pub(super) fn factors(&self) -> Pointer<f64> {
        self.factors.pointer()
    }

    pub(super) fn image_count(&self) -> usize {
        self.images.len()
    }
}
