//! Entries of the coarse levels' matrices, on the device: the twin of `precondition::entries`.

use cuda::{Buffer, Pointer};
use parallel::prelude::*;

use super::kernels::preconditioner::usual_macros;
use super::kernels::preconditioner::{CoarseCorrect, CoarseEntries};
use super::kernels::{Kernel, count, prefix_sums};
use super::kernels::{LANES, THREADS};
use super::near::DeviceNear;
use crate::Error;
use crate::collective;
use crate::geometry::triangle::Vec3;
use crate::precondition::clusters::{Clusters, variance_of_panel};
use crate::precondition::entries::Adjacency;
use crate::precondition::shared::Conductors;

/// Cells of clusters and what stands for panels, on the device.
pub(super) struct Cells<'a> {
    groups: &'a Clusters,
    members: Buffer<u32>,
    member_starts: Buffer<u32>,
    variances: Buffer<f64>,
    of_panels: Buffer<f64>,
    /// Cell of each panel of the near field.
    cell_of: Buffer<u32>,
    conductors: &'a Conductors<'a>,
    /// `None` on a group of one, whose near field is of all panels.
    distributed: Option<Distributed>,
}

/// The panels of all ranks, and which of them this rank owns.
struct Distributed {
    centroids: Buffer<[f64; 4]>,
    is_owned: Buffer<u32>,
    /// Variances of the panels of the near field.
    variances: Buffer<f64>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(
        near: &DeviceNear,
        conductors: &'a Conductors<'a>,
        groups: &'a Clusters,
    ) -> Result<Self, cuda::Error> {
        let panels = conductors.panels();
        let device = &near.geometry.device;
        let lengths: Vec<u32> = groups.members.iter().map(|own| own.len() as u32).collect();
        let of_panels: Vec<f64> =
            (0..panels.len()).into_par_iter().map(|i| variance_of_panel(panels, i)).collect();
        let is_distributed = !conductors.are_whole();
        let cell_of = is_distributed.then(|| conductors.local_of(&groups.of));
        let distributed = || {
            let at = |i: usize| {
                let centroid = panels.centroid(i);
                [centroid.x, centroid.y, centroid.z, 0.0]
            };
            let centroids: Vec<[f64; 4]> = (0..panels.len()).into_par_iter().map(at).collect();
            let is_owned: Vec<u32> = conductors.is_owned.iter().map(|&is| is.into()).collect();
            Ok(Distributed {
                centroids: device.upload(&centroids)?,
                is_owned: device.upload(&is_owned)?,
                variances: device.upload(&conductors.local_of(&of_panels))?,
            })
        };
        Ok(Self {
            members: device.upload(&groups.members.concat())?,
            member_starts: device.upload(&prefix_sums(&lengths).0)?,
            variances: device.upload(&groups.variances)?,
            of_panels: device.upload(&of_panels)?,
            cell_of: device.upload(cell_of.as_ref().unwrap_or(&groups.of))?,
            distributed: is_distributed.then(distributed).transpose()?,
            conductors,
            groups,
        })
    }

    /// Entries of these pairs of clusters, or of unions of them, or of all: the twin of
    /// [`Entries`](crate::precondition::entries::Entries). Collective.
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
        Ok(entries)
    }

    /// Contribution of this rank to these entries.
    fn own_entries(
        &self,
        near: &DeviceNear,
        clusters: &Clusters,
        adjacency: Option<&Adjacency>,
    ) -> Result<Vec<f64>, cuda::Error> {
        let device = &near.geometry.device;
        let usual = usual_macros(&near.value);
        let (conductors, distributed) = (self.conductors, self.distributed.as_ref());
        let shares = clusters.shares(conductors.panels());
        let cells = self.groups;
        let at_cell = |(own, c): (&Vec<u32>, &Vec3)| {
            let share: f64 = own.iter().map(|&i| shares[i as usize]).sum();
            [c.x, c.y, c.z, share]
        };
        let at_cells: Vec<[f64; 4]> =
            cells.members.par_iter().zip(&cells.centres).map(at_cell).collect();
        let mut per_cluster = vec![0; clusters.len()];
        for own in &cells.members {
            per_cluster[clusters.of[own[0] as usize] as usize] += 1;
        }
        let at_cluster = |(c, radius): (&Vec3, &f64)| [c.x, c.y, c.z, *radius];
        let at_clusters: Vec<[f64; 4]> =
            clusters.centres.iter().zip(&clusters.radii).map(at_cluster).collect();

        let starts = match adjacency {
            Some(pairs) => pairs.starts.clone(),
            None => (0..=clusters.len()).map(|c| (c * clusters.len()) as u32).collect(),
        };
        let pairs = starts[clusters.len()] as usize;
        let starts = device.upload(&starts)?;
        let columns = adjacency.map(|pairs| device.upload(&pairs.columns)).transpose()?;
        // None: all columns, in each row.
        let columns = columns.as_ref().map_or(Pointer::null(), Buffer::pointer);
        let (at_clusters, at_cells) = (device.upload(&at_clusters)?, device.upload(&at_cells)?);
        let cell_starts = device.upload(&prefix_sums(&per_cluster).0)?;
        let of_near =
            distributed.map(|_| (conductors.local_of(&shares), conductors.local_of(&clusters.of)));
        let (shares_of_near, cluster) =
            of_near.as_ref().map_or((&shares, &clusters.of), |(shares, of)| (shares, of));
        let (shares_of_near, cluster) = (device.upload(shares_of_near)?, device.upload(cluster)?);
        let shares = device.upload(&shares)?;
        let of_clusters = device.upload(&clusters.variances)?;
        let entries = device.buffer::<f64>(pairs)?;
        entries.zero()?;
        let group = conductors.group();
        let of_near = &near.geometry.centroids;
        let rough = CoarseEntries {
            count: count(clusters.len()),
            starts: starts.pointer(),
            columns,
            clusters: at_clusters.pointer(),
            cells: at_cells.pointer(),
            cell_starts: cell_starts.pointer(),
            member_starts: self.member_starts.pointer(),
            members: self.members.pointer(),
            shares: shares.pointer(),
            centroids: distributed.map_or(of_near, |all| &all.centroids).pointer(),
            cell_variances: self.variances.pointer(),
            panel_variances: self.of_panels.pointer(),
            cluster_variances: of_clusters.pointer(),
            images: near.geometry.rows.images(),
            rank: count(group.rank()),
            ranks: count(group.size()),
            entries: entries.pointer(),
        };
        Kernel::new(device, &usual, THREADS)?.over(32 * pairs, 1, rough)?;
        let corrected = CoarseCorrect {
            matrix: near.matrix(),
            own: distributed.map_or(Pointer::null(), |all| all.is_owned.pointer()),
            pair_starts: rough.starts,
            pair_columns: columns,
            clusters: rough.clusters,
            cluster: cluster.pointer(),
            cells: rough.cells,
            cell: self.cell_of.pointer(),
            shares: shares_of_near.pointer(),
            centroids: of_near.pointer(),
            cell_variances: rough.cell_variances,
            panel_variances: distributed.map_or(&self.of_panels, |all| &all.variances).pointer(),
            images: rough.images,
            entries: rough.entries,
        };
        Kernel::new(device, &usual, THREADS)?.over(LANES * near.len(), 1, corrected)?;
        entries.to_vec()
    }
}
