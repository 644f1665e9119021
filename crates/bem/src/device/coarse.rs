//! The coarse level below which local inverses are, on the device: the twin of
//! `precondition::coarse`.

use std::sync::Arc;

use comm::Group;
use cuda::Buffer;

use super::coarse_entries::Cells;
use super::kernels::THREADS;
use super::kernels::preconditioner::usual_macros;
use super::kernels::preconditioner::{
    CoarseGradients, CoarseMeans, CoarseRemove, CoarseSolve, SOLVERS,
};
use super::kernels::{Kernel, count, prefix_sums};
use super::near::DeviceNear;
use super::two_level::DeviceTwoLevel;
use crate::Error;
use crate::collective;
use crate::precondition::clusters::Clusters;
use crate::precondition::entries::Adjacency;
use crate::precondition::levels::{CoarseLevels, Level};
use crate::precondition::shared::Conductors;

/// Clusters of panels, or unions of clusters, and the solver for their charges.
#[derive(Debug)]
pub(super) struct DeviceCoarse {
    pub(super) clusters: usize,
    pub(super) cluster: Buffer<u32>,
    /// Each panel's share of its cluster's area, and the same with 0 on panels of other ranks.
    pub(super) shares: Arc<Buffer<f64>>,
    owned_shares: Arc<Buffer<f64>>,
    /// Members of each cluster.
    starts: Buffer<u32>,
    members: Buffer<u32>,
    /// Ranks that have members.
    group: Group,
    /// [`Gradients`](crate::precondition::gradients::Gradients) on the device.
    gradient_starts: Buffer<u32>,
    gradient_neighbours: Buffer<u32>,
    gradient_weights: Buffer<f64>,
    offsets: Buffer<[f32; 3]>,
    pub(super) inverse: Inverse,
    means: Kernel<CoarseMeans>,
    gradients: Kernel<CoarseGradients>,
    remove: Kernel<CoarseRemove>,
    pub(super) solve: Kernel<CoarseSolve>,
}

#[derive(Debug)]
pub(super) enum Inverse {
    /// The factor of all clusters' matrix.
    Dense(Buffer<f64>),
    /// A coarser level.
    Levels(Box<DeviceTwoLevel>),
}

impl DeviceCoarse {
    /// `None` if there are too few panels for a coarse level, or if its matrix is not positive
    /// definite. Collective.
    pub(super) fn new(
        near: &DeviceNear,
        conductors: &Conductors<'_>,
    ) -> Result<Option<Self>, Error> {
        let group = &**conductors.group();
        let levels = conductors.levels()?;
        let Some(levels) = &*levels else { return Ok(None) };
        let cells = Cells::new(near, conductors, &levels.cells).map_err(Error::from);
        let cells = collective::agreed(group, cells)?;
        let entries =
            |clusters: &Clusters, pairs: Option<&Adjacency>| cells.entries(near, clusters, pairs);
        let levels = CoarseLevels::new(conductors, levels, entries)?;
        let Some(levels) = levels else { return Ok(None) };
        let made = Self::of_levels(near, &levels).map_err(Error::from);
        collective::agreed(group, made).map(Some)
    }

    fn of_levels(near: &DeviceNear, levels: &CoarseLevels) -> Result<Self, cuda::Error> {
        let device = &near.geometry.device;
        let mut inverse = Inverse::Dense(device.upload(levels.factor.columns())?);
        if let Some((local, level)) = &levels.coarser {
            // A thirtieth of the panels: the processor makes it, with the code that it has.
            let (starts, columns, values) = local.rows();
            let rows = [device.upload(&starts)?, device.upload(&columns)?];
            let values = device.upload(&values)?;
            let below = DeviceTwoLevel::of_rows(device, &near.value, rows, values)?;
            inverse = Inverse::Levels(Box::new(below.over(Self::of_level(near, level, inverse)?)));
        }
        Self::of_level(near, &levels.finest, inverse)
    }

    /// Means and gradients of `columns` vectors v over the clusters, and what these leave of v.
    pub(super) fn restrict(
        &self,
        v: &Buffer<f64>,
        n: usize,
        columns: usize,
        [means, gradients, rest]: [&Buffer<f64>; 3],
    ) -> Result<(), Error> {
        let of_clusters = CoarseMeans {
            clusters: count(self.clusters),
            starts: self.starts.pointer(),
            members: self.members.pointer(),
            shares: self.owned_shares.pointer(),
            v: v.pointer(),
            n: count(n),
            means: means.pointer(),
        };
        self.means.blocks(self.clusters, columns, of_clusters)?;
        if self.group.size() > 1 {
            let mut sums = vec![0.0; columns * self.clusters];
            collective::agreed(&*self.group, means.read(0, &mut sums).map_err(Error::from))?;
            collective::sum(&*self.group, &mut sums)?;
            means.write_at(0, &sums)?;
        }
        let (n, clusters) = (count(n), count(self.clusters));
        let (v, means, gradients) = (v.pointer(), means.pointer(), gradients.pointer());
        let between = CoarseGradients {
            clusters,
            starts: self.gradient_starts.pointer(),
            neighbours: self.gradient_neighbours.pointer(),
            weights: self.gradient_weights.pointer(),
            means,
            gradients,
        };
        self.gradients.over(self.clusters, columns, between)?;
        let remove = CoarseRemove {
            n,
            clusters,
            cluster: self.cluster.pointer(),
            offsets: self.offsets.pointer(),
            means,
            gradients,
            v,
            rest: rest.pointer(),
        };
        Ok(self.remove.over(self.cluster.len(), columns, remove)?)
    }

    fn of_level(near: &DeviceNear, level: &Level, inverse: Inverse) -> Result<Self, cuda::Error> {
        let device = &near.geometry.device;
        let usual = usual_macros(&near.value);
        let Level { clusters, cluster: of, gradients, .. } = level;
        let mut lengths = vec![0; *clusters];
        of.iter().for_each(|&c| lengths[c as usize] += 1);
        let mut ends = prefix_sums(&lengths).0;
        let mut members = vec![0u32; of.len()];
        for (i, &c) in of.iter().enumerate() {
            members[ends[c as usize] as usize] = i as u32;
            ends[c as usize] += 1;
        }
        let weights: Vec<f64> =
            gradients.weights.iter().flat_map(|weight| [weight.x, weight.y, weight.z]).collect();
        let shares = Arc::new(device.upload(&level.shares)?);
        let owned_shares = match Arc::ptr_eq(&level.shares, &level.owned_shares) {
            true => Arc::clone(&shares),
            false => Arc::new(device.upload(&level.owned_shares)?),
        };
        Ok(Self {
            clusters: *clusters,
            cluster: device.upload(of)?,
            shares,
            owned_shares,
            starts: device.upload(&prefix_sums(&lengths).0)?,
            members: device.upload(&members)?,
            group: Group::clone(&level.group),
            gradient_starts: device.upload(&gradients.starts)?,
            gradient_neighbours: device.upload(&gradients.neighbours)?,
            gradient_weights: device.upload(&weights)?,
            offsets: device.upload(gradients.offsets())?,
            inverse,
            means: Kernel::new(device, &usual, THREADS)?,
            gradients: Kernel::new(device, &usual, THREADS)?,
            remove: Kernel::new(device, &usual, THREADS)?,
            solve: Kernel::new(device, &usual, SOLVERS)?,
        })
    }
}
