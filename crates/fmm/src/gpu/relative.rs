//! Points in Morton order, with coordinates relative to their leaves: what sums are made of.
//! CPU twin: module `particles`.

use cuda::{Device, Error, Grid, Point, Reals};

use super::kernels::{Kernel, count, particles};
use super::points::Points;
use super::tree::Tree;
use crate::Precision;

/// Sources and targets in the plan's format.
#[derive(Debug)]
pub struct Relative {
    /// Sources in Morton order.
    pub sources: Reals<Point>,
    /// None if they are the sources.
    pub(super) targets: Option<Reals<Point>>,
}

impl Relative {
    /// Places the points in their boxes.
    pub fn new(
        device: &Device,
        precision: Precision,
        tree: &Tree,
        points: &Points<'_>,
    ) -> Result<Self, Error> {
        let place = |of_targets| placed(device, precision, tree, points, of_targets);
        let sources = place(false)?;
        Ok(Self { sources, targets: points.targets.is_some().then(|| place(true)).transpose()? })
    }

    /// Targets in Morton order.
    pub fn targets(&self) -> &Reals<Point> {
        self.targets.as_ref().unwrap_or(&self.sources)
    }
}

fn placed(
    device: &Device,
    precision: Precision,
    tree: &Tree,
    points: &Points<'_>,
    of_targets: bool,
) -> Result<Reals<Point>, Error> {
    let (coordinates, order) = points.ends()[usize::from(of_targets)];
    let out = Reals::new(device, precision, order.index.len())?;
    let place = Kernel::with(device, &[precision.as_macro()])?;
    let grid = Grid::covering(32 * tree.len(), particles::THREADS);
    coordinates.visit(|chunk| {
        let [first, here] = chunk.range();
        let some = particles::Place {
            cells: tree.cells.pointer(),
            centres: tree.centres.pointer(),
            count: count(tree.len()),
            of_targets,
            points: chunk.points.pointer(),
            first,
            here,
            index: order.index.pointer(),
            side: points.root.side,
            out: out.pointer(),
        };
        place.launch(device.stream(), grid, some)
    })?;
    Ok(out)
}
