//! Entries of the coarse levels' matrices: what distances say, by
//! [`Entries`], corrected by the near field on the device.

use std::borrow::Cow;

use cuda::{Buffer, Pointer};
use parallel::prelude::*;

use super::kernels::preconditioner::CoarseCorrect;
use super::kernels::preconditioner::usual_macros;
use super::kernels::{Kernel, LANES, THREADS};
use super::near::DeviceNear;
use crate::Error;
use crate::collective;
use crate::geometry::triangle::Vec3;
use crate::precondition::clusters::{Clusters, variance_of_panel};
use crate::precondition::entries::{Adjacency, Entries};
use crate::precondition::shared::Conductors;

/// Cells of clusters and what stands for the panels of the near field, on the device.
pub(super) struct Cells<'a> {
    cells: &'a Clusters,
    centres: Buffer<[f64; 4]>,
    variances: Buffer<f64>,
    /// Cell and variance of each panel.
    cell_of: Buffer<u32>,
    of_panels: Buffer<f64>,
    conductors: &'a Conductors<'a>,
    /// Which panels this rank owns; `None` if all.
    is_owned: Option<Buffer<u32>>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(
        near: &DeviceNear,
        conductors: &'a Conductors<'a>,
        cells: &'a Clusters,
    ) -> Result<Self, cuda::Error> {
        let (panels, device) = (conductors.panels(), &near.geometry.device);
        let of_panels: Vec<f64> =
            (0..panels.len()).into_par_iter().map(|i| variance_of_panel(panels, i)).collect();
        let is_owned = || conductors.is_owned.iter().map(|&is| is.into()).collect::<Vec<u32>>();
        let is_owned = (!conductors.are_whole()).then(|| device.upload(&is_owned()));
        Ok(Self {
            centres: device.upload(&with(&cells.centres, |_| 0.0))?,
            variances: device.upload(&cells.variances)?,
            cell_of: device.upload(&of_near(conductors, &cells.of))?,
            of_panels: device.upload(&of_near(conductors, &of_panels))?,
            is_owned: is_owned.transpose()?,
            conductors,
            cells,
        })
    }

    /// Entries of these pairs of clusters, or of unions of them, or of all; of all only (c, d) with
    /// c <= d in row c. Collective.
    pub(super) fn entries(
        &self,
        near: &DeviceNear,
        clusters: &Clusters,
        adjacency: Option<&Adjacency>,
    ) -> Result<Vec<f64>, Error> {
        let _span = tracing::debug_span!("rows of the coarse level").entered();
        let own = self.own_entries(near, clusters, adjacency).map_err(Error::from);
        let group = self.conductors.group();
        let mut entries = collective::agreed(&**group, own)?;
        collective::sum(&**group, &mut entries)?;
        Ok(match adjacency {
            Some(pairs) => pairs.mirrored(&entries),
            None => entries,
        })
    }

    /// Contribution of this rank to these entries.
    fn own_entries(
        &self,
        near: &DeviceNear,
        clusters: &Clusters,
        adjacency: Option<&Adjacency>,
    ) -> Result<Vec<f64>, cuda::Error> {
        let (device, conductors) = (&near.geometry.device, self.conductors);
        let (panels, group) = (conductors.panels(), &**conductors.group());
        let by_distances = Entries::new(panels, clusters, self.cells, group);
        let entries = device.upload(&by_distances.by_distances(adjacency))?;
        let starts = match adjacency {
            Some(pairs) => Cow::from(&pairs.starts),
            None => (0..=clusters.len()).map(|c| (c * clusters.len()) as u32).collect(),
        };
        let starts = device.upload(&starts)?;
        let columns = adjacency.map(|pairs| device.upload(&pairs.columns)).transpose()?;
        let at_clusters = device.upload(&with(&clusters.centres, |c| clusters.radii[c]))?;
        let cluster = device.upload(&of_near(conductors, &clusters.of))?;
        let shares = device.upload(&of_near(conductors, &clusters.shares(panels)))?;
        let corrected = CoarseCorrect {
            matrix: near.matrix(),
            own: self.is_owned.as_ref().map_or(Pointer::null(), Buffer::pointer),
            pair_starts: starts.pointer(),
            // None: all columns, in each row.
            pair_columns: columns.as_ref().map_or(Pointer::null(), Buffer::pointer),
            clusters: at_clusters.pointer(),
            cluster: cluster.pointer(),
            cells: self.centres.pointer(),
            cell: self.cell_of.pointer(),
            shares: shares.pointer(),
            centroids: near.geometry.centroids.pointer(),
            cell_variances: self.variances.pointer(),
            panel_variances: self.of_panels.pointer(),
            images: near.geometry.rows.images(),
            entries: entries.pointer(),
        };
        let kernel = Kernel::new(device, &usual_macros(&near.value), THREADS)?;
        kernel.over(LANES * near.len(), 1, corrected)?;
        entries.to_vec()
    }
}

/// The values of the near field's panels among those of all.
fn of_near<'v, T: Copy>(conductors: &Conductors<'_>, all: &'v [T]) -> Cow<'v, [T]> {
    match conductors.are_whole() {
        true => all.into(),
        false => conductors.local_of(all).into(),
    }
}

/// Centres with a number each.
fn with(centres: &[Vec3], number: impl Fn(usize) -> f64 + Sync) -> Vec<[f64; 4]> {
    let at = |(k, c): (usize, &Vec3)| [c.x, c.y, c.z, number(k)];
    centres.par_iter().enumerate().map(at).collect()
}
