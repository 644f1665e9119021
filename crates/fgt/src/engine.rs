//! One `apply` of one group.

use parallel::prelude::*;
use simd::{Level, MAX_LANES, dispatch};

use crate::boxes::Boxes;
use crate::convolve::convolve;
use crate::grid_plan::{GridPlan, NONE};
use crate::group_plan::{GroupPlan, TargetJob};
use crate::interpolate::Interpolate;
use crate::pairs::{AddPairs, Sources, Targets};
use crate::scratch::Scratch;
use crate::spread::Spread;

/// Jobs that a thread takes at a time.
const RUN: usize = 4;

/// What a sum is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) level: Level,
    pub(crate) dimensions: usize,
    pub(crate) gradient: bool,
    pub(crate) rough: bool,
}

impl Request {
    /// Numbers at each target for one density.
    pub(crate) fn each(&self) -> usize {
        1 + if self.gradient { self.dimensions } else { 0 }
    }
}

impl GroupPlan {
    /// The sums of this group, shape (targets, k, 1 or 1 + D), in sorted order; gradients are in
    /// units of `scale`. `charges` has shape (k, all sources).
    pub(crate) fn sums(
        &self,
        request: Request,
        charges: &[f64],
        all: usize,
        k: usize,
        scratch: &Scratch,
    ) -> Vec<f64> {
        let columns = k * request.each();
        let mut sums = scratch.zeros(columns * self.targets.len());
        let sorted: Vec<Vec<f64>> = (0..k)
            .map(|density| {
                let mut sorted = scratch.take(self.sources.len() + MAX_LANES);
                gather(&self.sources, &charges[density * all..(density + 1) * all], &mut sorted);
                sorted
            })
            .collect();
        if !self.near.entries.is_empty() {
            self.add_pairs(request, &sorted, columns, &mut sums);
        }
        if let Some(grid) = &self.grid {
            for (density, charges) in sorted.iter().enumerate() {
                let nodes = grid.nodes(request.level, &self.sources, charges, scratch);
                self.add_grid(request, grid, &nodes, density, &mut sums);
                scratch.give(nodes);
            }
        }
        sorted.into_iter().for_each(|sorted| scratch.give(sorted));
        sums
    }

    fn add_pairs(&self, request: Request, charges: &[Vec<f64>], columns: usize, sums: &mut [f64]) {
        let sources = Sources {
            axes: self.sources.axes.each_ref().map(|axis| &axis[..]),
            exponents: &self.exponents,
            charges,
        };
        let axes = self.targets.axes.each_ref().map(|axis| &axis[..]);
        let Request { level, dimensions, gradient, rough } = request;
        self.each_job(columns, sums, |_: &mut (), job, sums| {
            for b in job.boxes.0..job.boxes.1 {
                let runs = self.near.row(b as usize);
                if runs.is_empty() {
                    continue;
                }
                let (begin, end) = part(&self.targets, &job, b);
                let own =
                    (begin - job.begin as usize) * columns..(end - job.begin as usize) * columns;
                let targets = Targets { axes, begin, end, dimensions, gradient, rough };
                dispatch(level, AddPairs { targets, sources, runs, sums: &mut sums[own] });
            }
        });
    }

    fn add_grid(
        &self,
        request: Request,
        grid: &GridPlan,
        nodes: &[f64],
        density: usize,
        sums: &mut [f64],
    ) {
        let columns = sums.len() / self.targets.len().max(1);
        let column = density * request.each();
        self.each_job(columns, sums, |buffer: &mut Vec<f64>, job, sums| {
            for b in job.boxes.0..job.boxes.1 {
                let cell = grid.cell[b as usize];
                if cell == NONE {
                    continue;
                }
                let (begin, end) = part(&self.targets, &job, b);
                let own =
                    (begin - job.begin as usize) * columns..(end - job.begin as usize) * columns;
                let interpolate = Interpolate {
                    layout: &grid.layout,
                    window: &grid.window,
                    targets: &self.targets,
                    index: b as usize,
                    blocks: grid.targets.blocks(cell as usize, &grid.layout),
                    range: begin..end,
                    gradient: request.gradient,
                    columns,
                    column,
                };
                interpolate.run(request.level, nodes, buffer, &mut sums[own]);
            }
        });
    }

    /// Calls `f` with each job and its part of the sums, in parallel.
    fn each_job<S: Default + Send>(
        &self,
        columns: usize,
        sums: &mut [f64],
        f: impl Fn(&mut S, TargetJob, &mut [f64]) + Sync,
    ) {
        let mut rest = sums;
        let mut parts = Vec::with_capacity(self.jobs.len());
        for job in &self.jobs {
            let (own, others) = rest.split_at_mut((job.end - job.begin) as usize * columns);
            rest = others;
            parts.push((*job, own));
        }
        parts
            .into_par_iter()
            .with_min_len(RUN)
            .for_each_init(S::default, |scratch, (job, own)| f(scratch, job, own));
    }
}

/// The targets of a box that a job has.
fn part(targets: &Boxes, job: &TargetJob, index: u32) -> (usize, usize) {
    let points = &targets.boxes[index as usize];
    (points.begin.max(job.begin) as usize, points.end.min(job.end) as usize)
}

/// Charges in sorted order, with zeros at the end.
fn gather(sources: &Boxes, charges: &[f64], sorted: &mut [f64]) {
    let (own, rest) = sorted.split_at_mut(sources.len());
    let order = sources.order.par_iter().with_min_len(4096);
    order.zip(own).for_each(|(&i, sorted)| *sorted = charges[i as usize]);
    rest.fill(0.0);
}

impl GridPlan {
    /// What charges make at the nodes of the last stage.
    fn nodes(&self, level: Level, sources: &Boxes, charges: &[f64], scratch: &Scratch) -> Vec<f64> {
        let Self { layout, window, colours, .. } = self;
        let size = layout.nodes();
        let Some((last, before)) = self.stages.split_last() else { return Vec::new() };
        let mut result = scratch.take(last.blocks.len() * size);
        for (channel, kernel) in self.kernels.iter().enumerate() {
            let mut shared = Vec::new();
            let charges = match self.shares.get(channel) {
                Some(shares) => {
                    shared = scratch.take(charges.len());
                    let all = shared.par_iter_mut().with_min_len(4096).zip(shares).zip(charges);
                    all.for_each(|((to, share), q)| *to = share * q);
                    &shared
                }
                None => charges,
            };
            let mut nodes = scratch.zeros(self.source_blocks * size);
            Spread { level, layout, window, sources, colours, charges }.run(&mut nodes);
            for stage in before {
                let mut next = scratch.take(stage.blocks.len() * size);
                convolve(level, layout, stage, kernel, &nodes, &mut next, false);
                scratch.give(std::mem::replace(&mut nodes, next));
            }
            convolve(level, layout, last, kernel, &nodes, &mut result, channel > 0);
            scratch.give(nodes);
            scratch.give(shared);
        }
        result
    }
}
