//! Points on the device: the caller's coordinates and their Morton orders in one root cube.

use cuda::{Device, Error};

use super::coordinates::Coordinates;
use super::tree::{self, MortonOrder};
use super::tuning;
use crate::tree::Root;

/// Sources and targets: coordinates and order.
#[derive(Debug)]
pub struct Points<'a> {
    /// The cube around all points.
    pub root: Root,
    /// Sources and their order.
    pub sources: (Coordinates<'a>, MortonOrder),
    /// None if they are the sources.
    pub targets: Option<(Coordinates<'a>, MortonOrder)>,
}

impl<'a> Points<'a> {
    /// With an `occupancy` the root is so large that boxes of some level hold about as many points.
    pub(super) fn new(
        device: &Device,
        sources: Coordinates<'a>,
        targets: Option<Coordinates<'a>>,
        occupancy: Option<f64>,
    ) -> Result<Self, Error> {
        let sets: Vec<&Coordinates<'_>> = std::iter::once(&sources).chain(&targets).collect();
        let mut root = tree::root(device, &sets)?;
        if let Some(occupancy) = occupancy {
            let boxes = tree::occupied(device, &root, &sources, occupancy)?;
            let enlargement = tuning::enlargement(sources.len(), &boxes, occupancy);
            if enlargement > 1.0 {
                root = root.enlarged(enlargement);
            }
        }
        let ordered = |points: Coordinates<'a>| -> Result<_, Error> {
            let order = MortonOrder::new(device, &root, &points)?;
            Ok((points, order))
        };
        let sources = ordered(sources)?;
        let targets = targets.map(ordered).transpose()?;
        Ok(Self { root, sources, targets })
    }

    /// Coordinates and order of the sources, and of the targets.
    pub(super) fn ends(&self) -> [(&Coordinates<'a>, &MortonOrder); 2] {
        [&self.sources, self.targets.as_ref().unwrap_or(&self.sources)].map(|(c, order)| (c, order))
    }

    /// Gives back the keys, which only boxes are made of.
    pub(super) fn forget_keys(&mut self, device: &Device) -> Result<(), Error> {
        for (_, order) in std::iter::once(&mut self.sources).chain(&mut self.targets) {
            order.keys = device.buffer(0)?;
        }
        Ok(())
    }

    /// Gives back the coordinates, as far as they are on the device.
    pub(super) fn release(&mut self) {
        for (coordinates, _) in std::iter::once(&mut self.sources).chain(&mut self.targets) {
            coordinates.release();
        }
    }
}
