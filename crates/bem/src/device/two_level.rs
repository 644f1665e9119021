//! Local inverses over a coarse level, on the device.

use std::ops::Range;

use comm::Group;
use cuda::{Buffer, Device, Pointer};
use rayon::prelude::*;

use super::kernels::preconditioner::{
    Apply, CoarseCorrect, CoarseEntries, CoarseGradients, CoarseMeans, CoarseRemove, CoarseSolve,
    LocalInverse as ComputeInverses, LocalLengths, Near, SOLVERS,
};
use super::kernels::{Kernel, count, prefix_sums};
use super::near::DeviceNear;
use super::{LANES, THREADS};
use crate::Error;
use crate::geometry::panels::Panels;
use crate::geometry::share;
use crate::geometry::triangle::Vec3;
use crate::precondition::clusters::{ClusterLevels, Clusters, variance_of_panel};
use crate::precondition::entries::Adjacency;
use crate::precondition::gradients::{Gradients, touching, touching_unions};
use crate::precondition::local_inverse::{LocalInverse, NEIGHBOURS, NEIGHBOURS_OF_FACING, POINTS};
use crate::precondition::shared::Conductors;
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
    /// Where several ranks have members: these, and the shares of this one's own.
    among: Option<(Group, Buffer<f64>)>,
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
    /// From exact entries on close pairs; `conductor` of each panel. Collective where these are
    /// held of `all` ranks' panels.
    ///
    /// # Errors
    /// The GPU's, and messages that do not pass.
    pub(crate) fn new(
        near: &DeviceNear,
        panels: &Panels,
        conductor: &[u32],
        neighbours: usize,
        all: Option<&Conductors<'_>>,
    ) -> Result<Self, Error> {
        let local = Self::local(near, neighbours);
        let local = share::agreed(all.map(Conductors::group), local.map_err(Error::from))?;
        let coarse = DeviceCoarse::new(near, (panels, conductor), all)?;
        Ok(Self { coarse, ..local })
    }

    /// Local inverses without a coarse level.
    #[tracing::instrument(level = "debug", skip_all, name = "local inverses")]
    fn local(near: &DeviceNear, neighbours: usize) -> Result<Self, cuda::Error> {
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
        Self::of_rows(&device, &near.value, [starts, columns], values)
    }

    /// From rows of S that are there: where each begins, their columns and values.
    fn of_rows(
        device: &Device,
        value: &[String],
        [starts, columns]: [Buffer<u32>; 2],
        values: Buffer<f32>,
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
            coarse: None,
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

    /// z = M v for `columns` vectors on the device. Collective where ranks share the panels.
    ///
    /// # Errors
    /// The GPU's, and messages that do not pass.
    pub(crate) fn apply_on_device(
        &mut self,
        v: &Buffer<f64>,
        z: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
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
            return Ok(self.apply.over(LANES * n, columns, local)?);
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
        Ok(self.apply.over(LANES * n, columns, both)?)
    }
}

impl DeviceCoarse {
    /// `None` if there are too few panels for a coarse level, or if its matrix is not positive
    /// definite. Collective where they are held of `all` ranks' panels.
    fn new(
        near: &DeviceNear,
        (panels, conductor): (&Panels, &[u32]),
        all: Option<&Conductors<'_>>,
    ) -> Result<Option<Self>, Error> {
        let (panels, conductor) =
            all.map_or((panels, conductor), |all| (all.panels(), &all.owner[..]));
        let Some(ClusterLevels { groups: clusters, unions }) =
            ClusterLevels::new(panels, conductor)
        else {
            return Ok(None);
        };
        let group = all.map(Conductors::group);
        let cells = Cells::new(near, panels, &clusters, all).map_err(Error::from);
        let cells = share::agreed(group, cells)?;
        let solved = unions.as_ref().map_or(&clusters, |(unions, _)| unions);
        let matrix = cells.entries(near, panels, solved, None)?;
        let Some(factor) = Factor::of_columns(solved.len(), matrix) else { return Ok(None) };
        let close = match &unions {
            None => None,
            Some(_) => {
                let adjacency = Adjacency::close(&clusters);
                let entries = cells.entries(near, panels, &clusters, Some(&adjacency))?;
                Some((adjacency, entries))
            }
        };
        let touching = touching(panels, &clusters);
        let make = || {
            let device = &near.geometry.device;
            let mut inverse = Inverse::Dense(device.upload(factor.columns())?);
            if let (Some((unions, union_of)), Some((adjacency, entries))) = (&unions, &close) {
                let (shares, centres) = (clusters.shares_of(unions, union_of), &clusters.centres);
                let touching = touching_unions(&touching, union_of);
                let gradients =
                    Gradients::new(panels, unions, conductor, &touching, centres, union_of);
                let coarser =
                    Self::of_parts(near, unions.len(), union_of, &shares, &gradients, inverse)?;
                // A thirtieth of the panels: the processor does it, with the code that it has.
                let local = LocalInverse::of_clusters(panels, &clusters, adjacency, entries);
                let (starts, columns, values) = local.rows();
                let rows = [device.upload(&starts)?, device.upload(&columns)?];
                let values = device.upload(&values)?;
                let levels = DeviceTwoLevel::of_rows(device, &near.value, rows, values)?;
                let levels = DeviceTwoLevel { coarse: Some(coarser), ..levels };
                inverse = Inverse::Levels(Box::new(levels));
            }
            let (places, of) = (panels.centroids(), &clusters.of);
            let mut gradients = Gradients::new(panels, &clusters, conductor, &touching, places, of);
            let shares = clusters.shares(panels);
            let Some(all) = all else {
                return Self::of_parts(near, clusters.len(), of, &shares, &gradients, inverse);
            };
            gradients.choose(&all.held);
            let (of, shares) = (all.held_of(of), all.held_of(&shares));
            let own_shares = device.upload(&all.masked(&shares))?;
            let coarse = Self::of_parts(near, clusters.len(), &of, &shares, &gradients, inverse)?;
            Ok(Self { among: Some((Group::clone(all.group()), own_shares)), ..coarse })
        };
        let made: Result<Self, cuda::Error> = make();
        share::agreed(group, made.map_err(Error::from)).map(Some)
    }

    /// Means and gradients of `columns` vectors v over the clusters, and what these leave of v.
    fn restrict(
        &self,
        v: &Buffer<f64>,
        n: usize,
        columns: usize,
        [means, gradients, rest]: [&Buffer<f64>; 3],
    ) -> Result<(), Error> {
        let own_shares = self.among.as_ref().map_or(&self.shares, |(_, own)| own);
        let of_clusters = CoarseMeans {
            clusters: count(self.clusters),
            starts: self.starts.pointer(),
            members: self.members.pointer(),
            shares: own_shares.pointer(),
            v: v.pointer(),
            n: count(n),
            means: means.pointer(),
        };
        self.means.blocks(self.clusters, columns, of_clusters)?;
        if let Some((group, _)) = &self.among {
            let mut sums = vec![0.0; columns * self.clusters];
            share::agreed(Some(group), means.read(0, &mut sums).map_err(Error::from))?;
            share::sum(&**group, &mut sums)?;
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
            among: None,
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

/// Cells of clusters and what stands for panels, on the device.
struct Cells<'a> {
    groups: Clusters,
    members: Buffer<u32>,
    member_starts: Buffer<u32>,
    variances: Buffer<f64>,
    of_panels: Buffer<f64>,
    /// Cell of each panel of the near field.
    cell_of: Buffer<u32>,
    all: Option<OfAll<'a>>,
}

/// Where the near field is of some of the panels: those of all ranks, and which are here.
struct OfAll<'a> {
    conductors: &'a Conductors<'a>,
    centroids: Buffer<[f64; 4]>,
    is_own: Buffer<u32>,
    /// Of the panels of the near field.
    variances: Buffer<f64>,
}

impl<'a> Cells<'a> {
    fn new(
        near: &DeviceNear,
        panels: &Panels,
        clusters: &Clusters,
        all: Option<&'a Conductors<'a>>,
    ) -> Result<Self, cuda::Error> {
        let groups = Clusters::cells(panels, clusters);
        let device = &near.geometry.device;
        let lengths: Vec<u32> = groups.members.iter().map(|own| own.len() as u32).collect();
        let of_panels: Vec<f64> =
            (0..panels.len()).into_par_iter().map(|i| variance_of_panel(panels, i)).collect();
        let cell_of = all.map(|all| all.held_of(&groups.of));
        let of_all = |conductors: &'a Conductors<'a>| {
            let at = |i: usize| {
                let centroid = panels.centroid(i);
                [centroid.x, centroid.y, centroid.z, 0.0]
            };
            let centroids: Vec<[f64; 4]> = (0..panels.len()).into_par_iter().map(at).collect();
            let is_own: Vec<u32> = conductors.is_own.iter().map(|&own| own.into()).collect();
            Ok(OfAll {
                centroids: device.upload(&centroids)?,
                is_own: device.upload(&is_own)?,
                variances: device.upload(&conductors.held_of(&of_panels))?,
                conductors,
            })
        };
        Ok(Self {
            members: device.upload(&groups.members.concat())?,
            member_starts: device.upload(&prefix_sums(&lengths).0)?,
            variances: device.upload(&groups.variances)?,
            of_panels: device.upload(&of_panels)?,
            cell_of: device.upload(cell_of.as_ref().unwrap_or(&groups.of))?,
            all: all.map(of_all).transpose()?,
            groups,
        })
    }

    /// Entries of these pairs of clusters, or of unions of them, or of all: the twin of
    /// [`Entries`](crate::precondition::entries::Entries). Collective where ranks share the panels.
    #[tracing::instrument(level = "debug", skip_all, name = "rows of the coarse level")]
    fn entries(
        &self,
        near: &DeviceNear,
        panels: &Panels,
        clusters: &Clusters,
        adjacency: Option<&Adjacency>,
    ) -> Result<Vec<f64>, Error> {
        let own = self.own_entries(near, panels, clusters, adjacency).map_err(Error::from);
        let Some(OfAll { conductors, .. }) = &self.all else { return own };
        let group = conductors.group();
        let mut entries = share::agreed(Some(group), own)?;
        share::sum(&**group, &mut entries)?;
        Ok(entries)
    }

    /// What this rank adds to these entries.
    fn own_entries(
        &self,
        near: &DeviceNear,
        panels: &Panels,
        clusters: &Clusters,
        adjacency: Option<&Adjacency>,
    ) -> Result<Vec<f64>, cuda::Error> {
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
        let of_near = self.all.as_ref().map(|all| {
            let conductors = all.conductors;
            (conductors.held_of(&shares), conductors.held_of(&clusters.of))
        });
        let (shares_of_near, cluster) =
            of_near.as_ref().map_or((&shares, &clusters.of), |(shares, of)| (shares, of));
        let (shares_of_near, cluster) = (device.upload(shares_of_near)?, device.upload(cluster)?);
        let shares = device.upload(&shares)?;
        let of_clusters = device.upload(&clusters.variances)?;
        let entries = device.buffer::<f64>(pairs)?;
        entries.zero()?;
        let all = self.all.as_ref();
        let [rank, ranks] = all.map_or([0, 1], |all| {
            let group = all.conductors.group();
            [group.rank(), group.size()]
        });
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
            centroids: all.map_or(of_near, |all| &all.centroids).pointer(),
            cell_variances: self.variances.pointer(),
            panel_variances: self.of_panels.pointer(),
            cluster_variances: of_clusters.pointer(),
            images: near.geometry.rows.images(),
            rank: count(rank),
            ranks: count(ranks),
            entries: entries.pointer(),
        };
        Kernel::new(device, &usual, THREADS)?.over(32 * pairs, 1, rough)?;
        let corrected = CoarseCorrect {
            matrix: near.matrix(),
            own: all.map_or(Pointer::null(), |all| all.is_own.pointer()),
            pair_starts: rough.starts,
            pair_columns: columns,
            clusters: rough.clusters,
            cluster: cluster.pointer(),
            cells: rough.cells,
            cell: self.cell_of.pointer(),
            shares: shares_of_near.pointer(),
            centroids: of_near.pointer(),
            cell_variances: rough.cell_variances,
            panel_variances: all.map_or(&self.of_panels, |all| &all.variances).pointer(),
            images: rough.images,
            entries: rough.entries,
        };
        Kernel::new(device, &usual, THREADS)?.over(LANES * near.len(), 1, corrected)?;
        entries.to_vec()
    }
}
