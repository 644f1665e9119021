//! Local inverses over a coarse level, on the device.

use std::ops::Range;

use cuda::{Buffer, Device, Pointer};
use rayon::prelude::*;

use super::kernels::preconditioner::{
    Apply, CoarseCorrect, CoarseEntries, CoarseGradients, CoarseMeans, CoarseRemove, CoarseSolve,
    LocalInverse as ComputeInverses, LocalLengths, Near, SOLVERS,
};
use super::kernels::{Kernel, count, prefix_sums};
use super::near::DeviceNear;
use super::{LANES, THREADS};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::precondition::clusters::{ClusterLevels, Clusters, variance_of_panel};
use crate::precondition::entries::Adjacency;
use crate::precondition::gradients::{Gradients, touching, touching_unions};
use crate::precondition::local_inverse::{LocalInverse, NEIGHBOURS, NEIGHBOURS_OF_FACING, POINTS};
use crate::solve::cholesky::Factor;

/// Macros of the kernels for a near field with entries of this type: rows of S with some numbers of
/// panels, by warps of a block.
fn macros(value: &[String], rows: Range<usize>, warps: u32, points: usize) -> Vec<String> {
    let (least, most) = (rows.start, rows.end);
    let sizes = format!("LEAST={least} MOST={most} LOCAL_WARPS={warps} POINTS_OF_PANEL={points}");
    value.iter().cloned().chain(sizes.split(' ').map(str::to_owned)).collect()
}

/// Those of all kernels but the one for the larger rows of S.
fn usual_macros(value: &[String]) -> Vec<String> {
    macros(value, 0..NEIGHBOURS, THREADS / 32, 1)
}

/// Rows of S and the coarse level: the device's twin of
/// [`TwoLevel`](crate::precondition::local_inverse::TwoLevel).
#[derive(Debug)]
pub(crate) struct DeviceTwoLevel {
    device: Device,
    panels: usize,
    starts: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<f32>,
    coarse: Option<DeviceCoarse>,
    apply: Kernel<Apply>,
    /// Room for potentials, gradients and charges of the clusters, and for what they leave to S.
    means: Buffer<f64>,
    gradients: Buffer<f64>,
    solution: Buffer<f64>,
    rest: Buffer<f64>,
}

/// Clusters of panels, or unions of clusters, and what solves for their charges.
#[derive(Debug)]
struct DeviceCoarse {
    clusters: usize,
    cluster: Buffer<u32>,
    shares: Buffer<f64>,
    /// Members of each cluster.
    starts: Buffer<u32>,
    members: Buffer<u32>,
    /// [`Gradients`] on the device.
    gradient_starts: Buffer<u32>,
    gradient_neighbours: Buffer<u32>,
    gradient_weights: Buffer<f64>,
    offsets: Buffer<[f32; 3]>,
    inverse: Inverse,
    means: Kernel<CoarseMeans>,
    gradients: Kernel<CoarseGradients>,
    remove: Kernel<CoarseRemove>,
    solve: Kernel<CoarseSolve>,
}

#[derive(Debug)]
enum Inverse {
    /// The factor of all clusters' matrix.
    Dense(Buffer<f64>),
    /// A coarser level.
    Levels(Box<DeviceTwoLevel>),
}

impl DeviceTwoLevel {
    /// From exact entries on close pairs; `conductor` of each panel.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn new(
        near: &DeviceNear,
        panels: &Panels,
        conductor: &[u32],
        neighbours: usize,
    ) -> Result<Self, cuda::Error> {
        let device = near.geometry.device.clone();
        let n = near.len();
        let usual = usual_macros(&near.value);
        let lengths = device.buffer::<u32>(n)?;
        let of_near = Near {
            matrix: near.matrix(),
            vertices: near.geometry.vertices.pointer(),
            centroids: near.geometry.centroids.pointer(),
        };
        let of_rows = LocalLengths {
            near: of_near,
            neighbours: count(neighbours),
            of_facing: count(NEIGHBOURS_OF_FACING),
            lengths: lengths.pointer(),
        };
        Kernel::new(&device, &usual, THREADS)?.over(n, 1, of_rows)?;
        let lengths = lengths.to_vec()?;
        let some_face = lengths.iter().any(|&length| length as usize > neighbours);
        let (starts, total) = prefix_sums(&lengths);
        let starts = device.upload(&starts)?;
        let columns = device.buffer(total as usize)?;
        let values = device.buffer(total as usize)?;
        let inverses = ComputeInverses {
            near: of_near,
            images: near.geometry.rows.images(),
            local_starts: starts.pointer(),
            local_columns: columns.pointer(),
            local_values: values.pointer(),
        };
        // A warp each; the larger neighbourhoods by a kernel of their own, of which a block has
        // room for one.
        Kernel::new(&device, &usual, THREADS)?.over(32 * n, 1, inverses)?;
        if some_face {
            let macros = macros(&near.value, neighbours..NEIGHBOURS_OF_FACING, 1, POINTS);
            Kernel::new(&device, &macros, 32)?.over(32 * n, 1, inverses)?;
        }
        let coarse = DeviceCoarse::new(near, panels, conductor)?;
        Self::of_rows(&device, &near.value, [starts, columns], values, coarse)
    }

    /// From rows of S that are there: where each begins, their columns and values.
    fn of_rows(
        device: &Device,
        value: &[String],
        [starts, columns]: [Buffer<u32>; 2],
        values: Buffer<f32>,
        coarse: Option<DeviceCoarse>,
    ) -> Result<Self, cuda::Error> {
        let apply = Kernel::new(device, &usual_macros(value), THREADS)?;
        let room = || device.buffer(0);
        let (means, gradients, solution, rest) = (room()?, room()?, room()?, room()?);
        Ok(Self {
            device: device.clone(),
            panels: starts.len() - 1,
            starts,
            columns,
            values,
            coarse,
            apply,
            means,
            gradients,
            solution,
            rest,
        })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
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
        let n = self.panels;
        let local = Apply {
            n: count(n),
            starts: self.starts.pointer(),
            columns: self.columns.pointer(),
            values: self.values.pointer(),
            v: v.pointer(),
            clusters: 0,
            cluster: Pointer::null(),
            shares: Pointer::null(),
            solution: Pointer::null(),
            z: z.pointer(),
        };
        let Some(coarse) = &mut self.coarse else {
            return self.apply.over(LANES * n, columns, local);
        };
        let clusters = coarse.clusters;
        if self.rest.len() < columns * n {
            self.means = self.device.buffer(columns * clusters)?;
            self.gradients = self.device.buffer(3 * columns * clusters)?;
            self.solution = self.device.buffer(columns * clusters)?;
            self.rest = self.device.buffer(columns * n)?;
        }
        coarse.restrict(v, n, columns, [&self.means, &self.gradients, &self.rest])?;
        match &mut coarse.inverse {
            Inverse::Dense(factor) => {
                self.solution.copy_from(&self.means, columns * clusters)?;
                let (l, n, xs) = (factor.pointer(), count(clusters), self.solution.pointer());
                coarse.solve.blocks(columns, 1, CoarseSolve { l, n, xs })?;
            }
            Inverse::Levels(levels) => {
                levels.apply_on_device(&self.means, &self.solution, columns)?
            }
        }
        let both = Apply {
            v: self.rest.pointer(),
            clusters: count(clusters),
            cluster: coarse.cluster.pointer(),
            shares: coarse.shares.pointer(),
            solution: self.solution.pointer(),
            ..local
        };
        self.apply.over(LANES * n, columns, both)
    }
}

impl DeviceCoarse {
    /// `None` if there are too few panels for a coarse level, or if its matrix is not positive
    /// definite.
    fn new(
        near: &DeviceNear,
        panels: &Panels,
        conductor: &[u32],
    ) -> Result<Option<Self>, cuda::Error> {
        let Some(ClusterLevels { groups: clusters, unions }) =
            ClusterLevels::new(panels, conductor)
        else {
            return Ok(None);
        };
        let cells = Cells::new(near, panels, &clusters)?;
        let touching = touching(panels, &clusters);
        let inverse = match &unions {
            None => Inverse::dense(near, panels, &clusters, &cells)?,
            Some((unions, union_of)) => {
                let Some(inverse) = Inverse::dense(near, panels, unions, &cells)? else {
                    return Ok(None);
                };
                let (shares, centres) = (clusters.shares_of(unions, union_of), &clusters.centres);
                let touching = touching_unions(&touching, union_of);
                let gradients =
                    Gradients::new(panels, unions, conductor, &touching, centres, union_of);
                let coarser =
                    Self::of_parts(near, unions.len(), union_of, &shares, &gradients, inverse)?;
                let adjacency = Adjacency::close(&clusters);
                let entries = cells.entries(near, panels, &clusters, Some(&adjacency))?;
                let entries = entries.to_vec()?;
                // A thirtieth of the panels: the processor does it, with the code that it has.
                let local = LocalInverse::of_clusters(panels, &clusters, &adjacency, &entries);
                let (device, (starts, columns, values)) = (&near.geometry.device, local.rows());
                let rows = [device.upload(&starts)?, device.upload(&columns)?];
                let values = device.upload(&values)?;
                let levels =
                    DeviceTwoLevel::of_rows(device, &near.value, rows, values, Some(coarser))?;
                Some(Inverse::Levels(Box::new(levels)))
            }
        };
        let Some(inverse) = inverse else { return Ok(None) };
        let (places, of) = (panels.centroids(), &clusters.of);
        let gradients = Gradients::new(panels, &clusters, conductor, &touching, places, of);
        let shares = clusters.shares(panels);
        Self::of_parts(near, clusters.len(), of, &shares, &gradients, inverse).map(Some)
    }

    /// Means and gradients of `columns` vectors v over the clusters, and what these leave of v.
    fn restrict(
        &self,
        v: &Buffer<f64>,
        n: usize,
        columns: usize,
        [means, gradients, rest]: [&Buffer<f64>; 3],
    ) -> Result<(), cuda::Error> {
        let (n, clusters) = (count(n), count(self.clusters));
        let (v, means, gradients) = (v.pointer(), means.pointer(), gradients.pointer());
        let of_clusters = CoarseMeans {
            clusters,
            starts: self.starts.pointer(),
            members: self.members.pointer(),
            shares: self.shares.pointer(),
            v,
            n,
            means,
        };
        self.means.blocks(self.clusters, columns, of_clusters)?;
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
        self.remove.over(self.cluster.len(), columns, remove)
    }

    /// So many clusters, `of` which each panel is one's.
    fn of_parts(
        near: &DeviceNear,
        clusters: usize,
        of: &[u32],
        shares: &[f64],
        gradients: &Gradients,
        inverse: Inverse,
    ) -> Result<Self, cuda::Error> {
        let device = &near.geometry.device;
        let usual = usual_macros(&near.value);
        let mut lengths = vec![0; clusters];
        of.iter().for_each(|&c| lengths[c as usize] += 1);
        let mut ends = prefix_sums(&lengths).0;
        let mut members = vec![0u32; of.len()];
        for (i, &c) in of.iter().enumerate() {
            members[ends[c as usize] as usize] = i as u32;
            ends[c as usize] += 1;
        }
        let weights: Vec<f64> =
            gradients.weights.iter().flat_map(|weight| [weight.x, weight.y, weight.z]).collect();
        Ok(Self {
            clusters,
            cluster: device.upload(of)?,
            shares: device.upload(shares)?,
            starts: device.upload(&prefix_sums(&lengths).0)?,
            members: device.upload(&members)?,
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

impl Inverse {
    /// `None` if the matrix is not positive definite.
    fn dense(
        near: &DeviceNear,
        panels: &Panels,
        clusters: &Clusters,
        cells: &Cells,
    ) -> Result<Option<Self>, cuda::Error> {
        let matrix = cells.entries(near, panels, clusters, None)?;
        let Some(factor) = Factor::of_columns(clusters.len(), matrix.to_vec()?) else {
            return Ok(None);
        };
        matrix.write(factor.columns())?;
        Ok(Some(Self::Dense(matrix)))
    }
}

/// Cells of clusters and what stands for panels, on the device.
struct Cells {
    groups: Clusters,
    members: Buffer<u32>,
    member_starts: Buffer<u32>,
    cell_of: Buffer<u32>,
    variances: Buffer<f64>,
    of_panels: Buffer<f64>,
}

impl Cells {
    fn new(near: &DeviceNear, panels: &Panels, clusters: &Clusters) -> Result<Self, cuda::Error> {
        let groups = Clusters::cells(panels, clusters);
        let device = &near.geometry.device;
        let lengths: Vec<u32> = groups.members.iter().map(|own| own.len() as u32).collect();
        let of_panels: Vec<f64> =
            (0..near.len()).into_par_iter().map(|i| variance_of_panel(panels, i)).collect();
        Ok(Self {
            members: device.upload(&groups.members.concat())?,
            member_starts: device.upload(&prefix_sums(&lengths).0)?,
            cell_of: device.upload(&groups.of)?,
            variances: device.upload(&groups.variances)?,
            of_panels: device.upload(&of_panels)?,
            groups,
        })
    }

    /// Entries of these pairs of clusters, or of unions of them, or of all: the twin of
    /// [`Entries`](crate::precondition::entries::Entries).
    fn entries(
        &self,
        near: &DeviceNear,
        panels: &Panels,
        clusters: &Clusters,
        adjacency: Option<&Adjacency>,
    ) -> Result<Buffer<f64>, cuda::Error> {
        let device = &near.geometry.device;
        let usual = usual_macros(&near.value);
        let shares = clusters.shares(panels);
        let cells = &self.groups;
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
        let (shares, cluster) = (device.upload(&shares)?, device.upload(&clusters.of)?);
        let of_clusters = device.upload(&clusters.variances)?;
        let entries = device.buffer::<f64>(pairs)?;
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
            centroids: near.geometry.centroids.pointer(),
            cell_variances: self.variances.pointer(),
            panel_variances: self.of_panels.pointer(),
            cluster_variances: of_clusters.pointer(),
            images: near.geometry.rows.images(),
            entries: entries.pointer(),
        };
        Kernel::new(device, &usual, THREADS)?.over(32 * pairs, 1, rough)?;
        let corrected = CoarseCorrect {
            matrix: near.matrix(),
            pair_starts: rough.starts,
            pair_columns: columns,
            clusters: rough.clusters,
            cluster: cluster.pointer(),
            cells: rough.cells,
            cell: self.cell_of.pointer(),
            shares: rough.shares,
            centroids: rough.centroids,
            cell_variances: rough.cell_variances,
            panel_variances: rough.panel_variances,
            images: rough.images,
            entries: rough.entries,
        };
        Kernel::new(device, &usual, THREADS)?.over(LANES * near.len(), 1, corrected)?;
        Ok(entries)
    }
}
