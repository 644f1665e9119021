//! Pairs on the device.

use cuda::{Buffer, Device, Error, Grid, Kernel, Precision, Reals, count};

use super::common::{Common, precision_macro};
use super::kernels::pairs::{Job, OWN, Pairs, Run, THREADS};
use crate::boxes::Boxes;
use crate::group_plan::GroupPlan;

/// Densities that share the exponentials, at most.
pub(super) const MOST_DENSITIES: usize = 4;

/// Blocks that keep a GPU busy.
const BUSY: usize = 1024;

/// Sources, targets and which of them are summed pair by pair.
#[derive(Debug)]
pub(super) struct NearPairs {
    jobs: Buffer<Job>,
    runs: Buffer<Run>,
    sources: [Buffer<f64>; 3],
    exponents: Buffer<f64>,
    targets: [Buffer<f64>; 3],
    /// Parts that the sources of each job are summed in, side by side.
    slices: usize,
    dimensions: usize,
    rough: bool,
    precision: Precision,
    kernels: [Option<Kernel<Pairs>>; 2 * MOST_DENSITIES],
}

impl NearPairs {
    /// The pairs of a group; `None` if there are none.
    pub(super) fn of_group(common: Common<'_>, group: &GroupPlan) -> Result<Option<Self>, Error> {
        let mut jobs = Vec::new();
        for (i, points) in group.targets.boxes.iter().enumerate() {
            let runs = [group.near.offsets[i], group.near.offsets[i + 1]].map(|at| at as u32);
            if runs[0] == runs[1] {
                continue;
            }
            let corner = group.targets.corner(&points.key);
            jobs.extend(split(corner, [points.begin, points.end], runs));
        }
        if jobs.is_empty() {
            return Ok(None);
        }
        let runs: Vec<Run> =
            group.near.entries.iter().map(|&(begin, end)| Run { begin, end }).collect();
        let axes = |boxes: &Boxes| boxes.axes.each_ref().map(|axis| axis[..boxes.len()].to_vec());
        let points = [axes(&group.sources), axes(&group.targets)];
        Self::new(common, &jobs, &runs, &points, &group.exponents).map(Some)
    }

    /// All pairs of `sources` and `targets`, both [axis][point].
    pub(super) fn all(
        common: Common<'_>,
        [sources, targets]: &[[Vec<f64>; 3]; 2],
        exponents: &[f64],
    ) -> Result<Option<Self>, Error> {
        let (n, m) = (sources[0].len() as u32, targets[0].len() as u32);
        if n == 0 || m == 0 {
            return Ok(None);
        }
        let jobs: Vec<Job> = split([0.0; 3], [0, m], [0, 1]).collect();
        let points = [sources.clone(), targets.clone()];
        Self::new(common, &jobs, &[Run { begin: 0, end: n }], &points, exponents).map(Some)
    }

    fn new(
        common: Common<'_>,
        jobs: &[Job],
        runs: &[Run],
        [sources, targets]: &[[Vec<f64>; 3]; 2],
        exponents: &[f64],
    ) -> Result<Self, Error> {
        let Common { device, precision, dimensions, rough, .. } = common;
        let axes = |points: &[Vec<f64>; 3]| -> Result<[Buffer<f64>; 3], Error> {
            let [x, y, z] = points;
            Ok([device.upload(x)?, device.upload(y)?, device.upload(z)?])
        };
        let new = Self {
            jobs: device.upload(jobs)?,
            runs: device.upload(runs)?,
            sources: axes(sources)?,
            exponents: device.upload(exponents)?,
            targets: axes(targets)?,
            slices: (BUSY / jobs.len()).clamp(1, most_tiles(jobs, runs)),
            dimensions,
            rough,
            precision,
            kernels: Default::default(),
        };
        new.with_kernels(common)
    }

    /// Compiles what one density needs, so that the first sum does not wait for it.
    fn with_kernels(mut self, common: Common<'_>) -> Result<Self, Error> {
        for gradient in [false, true] {
            if gradient <= common.gradient {
                self.kernels[index(1, gradient)] =
                    Some(self.compile(common.device, 1, gradient)?);
            }
        }
        Ok(self)
    }

    fn compile(
        &self,
        device: &Device,
        densities: usize,
        gradient: bool,
    ) -> Result<Kernel<Pairs>, Error> {
        let macros = [
            precision_macro(self.precision),
            format!("DIMENSIONS={}", self.dimensions),
            format!("GRADIENT={}", u8::from(gradient)),
            format!("ROUGH={}", u8::from(self.rough)),
            format!("DENSITIES={densities}"),
        ];
        Kernel::new(device, &macros)
    }

    /// Rows of partial sums for each density and column.
    pub(super) fn slices(&self) -> usize {
        self.slices
    }

    /// Sums of `densities` charges, [densities][n], to `sums`, [densities][slices][columns][m].
    pub(super) fn add(
        &self,
        device: &Device,
        densities: usize,
        gradient: bool,
        charges: &Reals,
        sums: &Reals,
    ) -> Result<(), Error> {
        let compiled;
        let kernel = match &self.kernels[index(densities, gradient)] {
            Some(kernel) => kernel,
            None => {
                compiled = self.compile(device, densities, gradient)?;
                &compiled
            }
        };
        let [x, y, z] = self.sources.each_ref().map(Buffer::pointer);
        let [target_x, target_y, target_z] = self.targets.each_ref().map(Buffer::pointer);
        let arguments = Pairs {
            jobs: self.jobs.pointer(),
            runs: self.runs.pointer(),
            x,
            y,
            z,
            stride: count(self.sources[0].len()),
            exponents: self.exponents.pointer(),
            charges: charges.pointer(),
            target_x,
            target_y,
            target_z,
            m: count(self.targets[0].len()),
            slices: count(self.slices),
            sums: sums.pointer(),
        };
        let blocks = [count(self.jobs.len()), count(self.slices)];
        let grid = Grid { blocks, threads: THREADS, shared: 0 };
        // SAFETY: jobs and runs are of the points that are there, and there are charges and sums of
        // as many densities and columns as the kernel was compiled for.
        unsafe { kernel.launch(device.stream(), grid, arguments) }
    }

    pub(super) fn bytes(&self) -> u64 {
        let axes = self.sources.iter().chain(&self.targets).chain([&self.exponents]);
        self.jobs.bytes() + self.runs.bytes() + axes.map(Buffer::bytes).sum::<u64>()
    }
}

fn index(densities: usize, gradient: bool) -> usize {
    2 * (densities - 1) + usize::from(gradient)
}

/// Jobs of the targets `begin..end` with the same runs of sources.
fn split(
    corner: [f64; 3],
    [begin, end]: [u32; 2],
    [first_run, last_run]: [u32; 2],
) -> impl Iterator<Item = Job> {
    const MOST: u32 = OWN * THREADS;
    (begin..end).step_by(MOST as usize).map(move |begin| {
        let end = end.min(begin + MOST);
        Job { corner, begin, end, first_run, last_run }
    })
}

/// Tiles of sources that the job with most of them has.
fn most_tiles(jobs: &[Job], runs: &[Run]) -> usize {
    let tiles = |job: &Job| -> usize {
        let runs = &runs[job.first_run as usize..job.last_run as usize];
        let sources: usize = runs.iter().map(|run| (run.end - run.begin) as usize).sum();
        sources.div_ceil(THREADS as usize)
    };
    jobs.iter().map(tiles).max().unwrap_or(1).max(1)
}
