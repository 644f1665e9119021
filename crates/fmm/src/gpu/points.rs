//! Points on the device: the caller's coordinates and their Morton orders in one root cube.

use cuda::{Buffer, Device, Error};

use super::tree::{self, MortonOrder};
use super::tuning;
use crate::tree::Root;

/// Sources and targets: coordinates, shape (points, 3), and order.
#[derive(Debug)]
pub(super) struct Points {
    pub(super) root: Root,
    pub(super) sources: (Buffer<f64>, MortonOrder),
    /// None if they are the sources.
    pub(super) targets: Option<(Buffer<f64>, MortonOrder)>,
}

impl Points {
    /// With an `occupancy` the root is so large that boxes of some level hold about as many points.
    pub(super) fn new(
        device: &Device,
        sources: Buffer<f64>,
        targets: Option<Buffer<f64>>,
        occupancy: Option<f64>,
    ) -> Result<Self, Error> {
        let sets: Vec<&Buffer<f64>> = std::iter::once(&sources).chain(&targets).collect();
        let mut root = tree::root(device, &sets, 1.0)?;
        if let Some(occupancy) = occupancy {
            let boxes = tree::occupied(device, &root, &sources, occupancy)?;
            let enlargement = tuning::enlargement(sources.len() / 3, &boxes, occupancy);
            if enlargement > 1.0 {
                root = tree::root(device, &sets, enlargement)?;
            }
        }
        let ordered = |points: Buffer<f64>| -> Result<_, Error> {
            let order = MortonOrder::new(device, &root, &points)?;
            Ok((points, order))
        };
        let sources = ordered(sources)?;
        let targets = targets.map(ordered).transpose()?;
        Ok(Self { root, sources, targets })
    }

    /// Coordinates and order of the sources, and of the targets.
    pub(super) fn ends(&self) -> [(&Buffer<f64>, &MortonOrder); 2] {
        [&self.sources, self.targets.as_ref().unwrap_or(&self.sources)].map(|(c, order)| (c, order))
    }
}
