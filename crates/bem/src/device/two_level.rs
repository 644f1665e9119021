//! Local inverses over a coarse level, on the device.

use gpu::{Arg, Buffer, Device};
use rayon::prelude::*;

use super::kernels::{Kernel, PRECONDITIONER, count, prefix_sums};
use super::near::DeviceNear;
use super::{LANES, THREADS};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::precondition::clusters::{ClusterLevels, Clusters, variance_of_panel};
use crate::precondition::entries::Adjacency;
use crate::precondition::local_inverse::{LocalInverse, NEIGHBOURS_OF_FACING, POINTS};
use crate::precondition::slopes::{Slopes, touching, touching_unions};
use crate::solve::cholesky::Factor;

/// Threads of the block that solves the coarse level, as `kernels/bem/preconditioner.cu` has it.
const SOLVERS: u32 = 1024;

/// Rows of S and the coarse level: the device's twin of [`TwoLevel`](crate::precondition::local_inverse::TwoLevel).
#[derive(Debug)]
pub(crate) struct DeviceTwoLevel {
    device: Device,
    panels: usize,
    starts: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<f32>,
    coarse: Option<DeviceCoarse>,
    apply: Kernel,
    /// Room for potentials, slopes and charges of the clusters, and for what they leave to S.
    means: Buffer<f64>,
    slopes: Buffer<f64>,
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
    /// [`Slopes`] on the device.
    slope_starts: Buffer<u32>,
    slope_neighbours: Buffer<u32>,
    slope_weights: Buffer<f64>,
    offsets: Buffer<[f32; 3]>,
    inverse: Inverse,
    means: Kernel,
    slopes: Kernel,
    remove: Kernel,
    solve: Kernel,
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
    ) -> Result<Self, gpu::Error> {
        let device = near.geometry.device.clone();
        let n = near.len();
        let kernel = |name: &str| Kernel::new(&device, &PRECONDITIONER, &near.value, name, THREADS);
        let lengths = device.buffer::<u32>(n)?;
        let geometry = [near.geometry.vertices.arg(), near.geometry.centroids.arg()];
        let mut args = near.args();
        args.extend(geometry);
        args.extend([count(neighbours), count(NEIGHBOURS_OF_FACING), lengths.arg()]);
        kernel("local_lengths")?.over(n, 1, &args)?;
        let lengths = lengths.to_vec()?;
        let some_face = lengths.iter().any(|&length| length as usize > neighbours);
        let (starts, total) = prefix_sums(&lengths);
        let starts = device.upload(&starts)?;
        let columns = device.buffer(total as usize)?;
        let values = device.buffer(total as usize)?;
        let mut args = near.args();
        args.extend(geometry);
        args.extend([starts.arg(), columns.arg(), values.arg()]);
        // A warp each; the larger neighbourhoods by a kernel of their own, of which a block has room for one.
        kernel("local_inverse")?.over(32 * n, 1, &args)?;
        if some_face {
            let (least, most) = (neighbours, NEIGHBOURS_OF_FACING);
            let sizes =
                [("LEAST", least), ("MOST", most), ("LOCAL_WARPS", 1), ("POINTS_OF_PANEL", POINTS)];
            let sizes = sizes.map(|(name, value)| format!("{name}={value}"));
            let macros = [&near.value[..], &sizes].concat();
            let larger = Kernel::new(&device, &PRECONDITIONER, &macros, "local_inverse", 32)?;
            larger.over(32 * n, 1, &args)?;
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
    ) -> Result<Self, gpu::Error> {
        let apply = Kernel::new(device, &PRECONDITIONER, value, "preconditioner_apply", THREADS)?;
        let room = || device.buffer(0);
        let (means, slopes, solution, rest) = (room()?, room()?, room()?, room()?);
        Ok(Self {
            device: device.clone(),
            panels: starts.len() - 1,
            starts,
            columns,
            values,
            coarse,
            apply,
            means,
            slopes,
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
    ) -> Result<(), gpu::Error> {
        let n = self.panels;
        let local = [count(n), self.starts.arg(), self.columns.arg(), self.values.arg()];
        let Some(coarse) = &mut self.coarse else {
            let none = [count(0)].into_iter().chain([Arg::Pointer(0); 3]);
            let args: Vec<Arg> = local.into_iter().chain([v.arg()]).chain(none).collect();
            return self.apply.over(LANES * n, columns, &[&args[..], &[z.arg()]].concat());
        };
        let clusters = coarse.clusters;
        if self.rest.len() < columns * n {
            self.means = self.device.buffer(columns * clusters)?;
            self.slopes = self.device.buffer(3 * columns * clusters)?;
            self.solution = self.device.buffer(columns * clusters)?;
            self.rest = self.device.buffer(columns * n)?;
        }
        let args = [
            count(clusters),
            coarse.starts.arg(),
            coarse.members.arg(),
            coarse.shares.arg(),
            v.arg(),
            count(n),
            self.means.arg(),
        ];
        coarse.means.blocks(clusters, columns, &args)?;
        let args = [
            count(clusters),
            coarse.slope_starts.arg(),
            coarse.slope_neighbours.arg(),
            coarse.slope_weights.arg(),
            self.means.arg(),
            self.slopes.arg(),
        ];
        coarse.slopes.over(clusters, columns, &args)?;
        let args = [
            count(n),
            count(clusters),
            coarse.cluster.arg(),
            coarse.offsets.arg(),
            self.means.arg(),
            self.slopes.arg(),
            v.arg(),
            self.rest.arg(),
        ];
        coarse.remove.over(n, columns, &args)?;
        match &mut coarse.inverse {
            Inverse::Dense(factor) => {
                self.solution.copy_from(&self.means, columns * clusters)?;
                let args = [factor.arg(), count(clusters), self.solution.arg()];
                coarse.solve.blocks(columns, 1, &args)?;
            }
            Inverse::Levels(levels) => {
                levels.apply_on_device(&self.means, &self.solution, columns)?
            }
        }
        let of_clusters = [
            self.rest.arg(),
            count(clusters),
            coarse.cluster.arg(),
            coarse.shares.arg(),
            self.solution.arg(),
            z.arg(),
        ];
        let args: Vec<Arg> = local.into_iter().chain(of_clusters).collect();
        self.apply.over(LANES * n, columns, &args)
    }
}

impl DeviceCoarse {
    /// `None` if there are too few panels for a coarse level, or if its matrix is not positive definite.
    fn new(
        near: &DeviceNear,
        panels: &Panels,
        conductor: &[u32],
    ) -> Result<Option<Self>, gpu::Error> {
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
                let slopes = Slopes::new(panels, unions, conductor, &touching, centres, union_of);
                let coarser =
                    Self::of_parts(near, unions.len(), union_of, &shares, &slopes, inverse)?;
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
        let slopes = Slopes::new(panels, &clusters, conductor, &touching, places, of);
        let shares = clusters.shares(panels);
        Self::of_parts(near, clusters.len(), of, &shares, &slopes, inverse).map(Some)
    }

    /// So many clusters, `of` which each panel is one's.
    fn of_parts(
        near: &DeviceNear,
        clusters: usize,
        of: &[u32],
        shares: &[f64],
        slopes: &Slopes,
        inverse: Inverse,
    ) -> Result<Self, gpu::Error> {
        let device = &near.geometry.device;
        let kernel = |name: &str, threads: u32| {
            Kernel::new(device, &PRECONDITIONER, &near.value, name, threads)
        };
        let mut lengths = vec![0; clusters];
        of.iter().for_each(|&c| lengths[c as usize] += 1);
        let mut ends = prefix_sums(&lengths).0;
        let mut members = vec![0u32; of.len()];
        for (i, &c) in of.iter().enumerate() {
            members[ends[c as usize] as usize] = i as u32;
            ends[c as usize] += 1;
        }
        let weights: Vec<f64> =
            slopes.weights.iter().flat_map(|weight| [weight.x, weight.y, weight.z]).collect();
        Ok(Self {
            clusters,
            cluster: device.upload(of)?,
            shares: device.upload(shares)?,
            starts: device.upload(&prefix_sums(&lengths).0)?,
            members: device.upload(&members)?,
            slope_starts: device.upload(&slopes.starts)?,
            slope_neighbours: device.upload(&slopes.neighbours)?,
            slope_weights: device.upload(&weights)?,
            offsets: device.upload(slopes.offsets())?,
            inverse,
            means: kernel("coarse_means", THREADS)?,
            slopes: kernel("coarse_slopes", THREADS)?,
            remove: kernel("coarse_remove", THREADS)?,
            solve: kernel("coarse_solve", SOLVERS)?,
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
    ) -> Result<Option<Self>, gpu::Error> {
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
    fn new(near: &DeviceNear, panels: &Panels, clusters: &Clusters) -> Result<Self, gpu::Error> {
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

    /// Entries of these pairs of clusters, or of unions of them, or of all: the twin of [`Entries`](crate::precondition::entries::Entries).
    fn entries(
        &self,
        near: &DeviceNear,
        panels: &Panels,
        clusters: &Clusters,
        adjacency: Option<&Adjacency>,
    ) -> Result<Buffer<f64>, gpu::Error> {
        let device = &near.geometry.device;
        let kernel = |name: &str| Kernel::new(device, &PRECONDITIONER, &near.value, name, THREADS);
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
        let columns = columns.as_ref().map_or(Arg::Pointer(0), Buffer::arg);
        let (at_clusters, at_cells) = (device.upload(&at_clusters)?, device.upload(&at_cells)?);
        let cell_starts = device.upload(&prefix_sums(&per_cluster).0)?;
        let (shares, cluster) = (device.upload(&shares)?, device.upload(&clusters.of)?);
        let of_clusters = device.upload(&clusters.variances)?;
        let entries = device.buffer::<f64>(pairs)?;
        let centroids = near.geometry.centroids.arg();
        let (of_cells, of_panels) = (self.variances.arg(), self.of_panels.arg());
        let args = [
            count(clusters.len()),
            starts.arg(),
            columns,
            at_clusters.arg(),
            at_cells.arg(),
            cell_starts.arg(),
            self.member_starts.arg(),
            self.members.arg(),
            shares.arg(),
            centroids,
            of_cells,
            of_panels,
            of_clusters.arg(),
            entries.arg(),
        ];
        kernel("coarse_entries")?.over(32 * pairs, 1, &args)?;
        let mut args = near.args();
        args.extend([starts.arg(), columns, at_clusters.arg(), cluster.arg()]);
        args.extend([at_cells.arg(), self.cell_of.arg(), shares.arg(), centroids]);
        args.extend([of_cells, of_panels, entries.arg()]);
        kernel("coarse_correct")?.over(LANES * near.len(), 1, &args)?;
        Ok(entries)
    }
}
