//! A group's grid on the device.

use cuda::{Buffer, Device, Error, Grid, Kernel, Pointer, Precision, Real, Reals, count};

use super::common::{Common, precision_macro};
use super::kernels::{convolve, interpolate, points, spread};
use crate::axis_kernel::{AxisKernel, PADDING};
use crate::boxes::Boxes;
use crate::grid_plan::{GridPlan, NONE};
use crate::group_plan::GroupPlan;

/// Sources per block of threads that spreads to a block of nodes.
const LARGEST: u32 = 2048;

/// Targets per block of threads.
const TARGETS: u32 = 64;

/// The grid of a group.
#[derive(Debug)]
pub(super) struct DeviceGrid {
    precision: Precision,
    /// Nodes of a block.
    nodes: usize,
    source_blocks: usize,
    sources: usize,
    source_places: Reals,
    /// For each channel the shares of the sources, if there are several.
    shares: Vec<Buffer<f64>>,
    window: Reals,
    slopes: Reals,
    jobs: Buffer<spread::Job>,
    items: Buffer<spread::Item>,
    wholes: Buffer<spread::Whole>,
    parts: usize,
    stages: Vec<Stage>,
    kernels_of_channels: Vec<(Reals, u32)>,
    targets: usize,
    target_places: Reals,
    target_jobs: Buffer<interpolate::Job>,
    cells: Buffer<u32>,
    per_unit: f64,
    gather: Kernel<points::Gather>,
    spread: Kernel<spread::Spread>,
    join: Kernel<spread::Join>,
    convolve: Kernel<convolve::Convolve>,
    /// For values and, if planned, for values and gradients.
    interpolate: Vec<Kernel<interpolate::Interpolate>>,
}

#[derive(Debug)]
struct Stage {
    axis: u32,
    blocks: usize,
    offsets: Buffer<u32>,
    inputs: Buffer<convolve::Input>,
}

impl DeviceGrid {
    pub(super) fn new(
        common: Common<'_>,
        group: &GroupPlan,
        grid: &GridPlan,
    ) -> Result<Self, Error> {
        let Common { device, precision, dimensions, gradient, .. } = common;
        let (window, layout) = (&grid.window, &grid.layout);
        let real = |values: &[f64]| Reals::upload(device, precision, values.iter().copied());
        let spread = Spreading::new(group, grid);
        let padded = window.padded();
        let [values, slopes] = window.coefficients();
        let macros = |extra: &[String]| -> Vec<String> {
            let mut macros = vec![
                precision_macro(precision),
                format!("DIMENSIONS={dimensions}"),
                format!("BLOCK={}", layout.side()),
            ];
            macros.extend_from_slice(extra);
            macros
        };
        let of_window = |extra: &[String]| {
            let mut own = vec![
                format!("WIDTH={}", window.width()),
                format!("PADDED={padded}"),
                format!("TERMS={}", values.len() / padded),
            ];
            own.extend_from_slice(extra);
            macros(&own)
        };
        let of_gradient = |gradient: bool| {
            of_window(&[
                format!("GRADIENT={}", u8::from(gradient)),
                format!("SLOPE_TERMS={}", slopes.len() / padded),
            ])
        };
        let stages = grid.stages.iter().map(|stage| {
            let inputs: Vec<convolve::Input> = (stage.inputs.entries.iter())
                .map(|&(block, step)| convolve::Input { block, step })
                .collect();
            let offsets: Vec<u32> = stage.inputs.offsets.iter().map(|&at| at as u32).collect();
            Ok(Stage {
                axis: stage.axis as u32,
                blocks: stage.blocks.len(),
                offsets: device.upload(&offsets)?,
                inputs: device.upload(&inputs)?,
            })
        });
        let convolve = Kernel::<convolve::Convolve>::new(device, &macros(&[]))?;
        let kernels_of_channels = grid.kernels.iter().map(|kernel| {
            let AxisKernel { reach, padded } = kernel;
            let bytes = precision.bytes() * (2 * (PADDING + reach) + 1);
            if bytes > 48 << 10 {
                convolve.allow_shared(bytes as u32)?;
            }
            Ok((real(padded)?, *reach as u32))
        });
        let target_jobs: Vec<interpolate::Job> = (group.targets.boxes.iter().zip(&grid.cell))
            .filter(|(_, cell)| **cell != NONE)
            .flat_map(|(points, &cell)| {
                let (begin, end) = (points.begin, points.end);
                (begin..end).step_by(TARGETS as usize).map(move |begin| interpolate::Job {
                    begin,
                    end: end.min(begin + TARGETS),
                    cell,
                })
            })
            .collect();
        let shares = grid.shares.iter().map(|shares| device.upload(shares));
        let side = layout.side() as f64;
        Ok(Self {
            precision,
            nodes: layout.nodes(),
            source_blocks: grid.source_blocks,
            sources: group.sources.len(),
            source_places: real(&places(&group.sources, side))?,
            shares: shares.collect::<Result<_, _>>()?,
            window: real(values)?,
            slopes: real(slopes)?,
            jobs: device.upload(&spread.jobs)?,
            items: device.upload(&spread.items)?,
            wholes: device.upload(&spread.wholes)?,
            parts: spread.parts,
            stages: stages.collect::<Result<_, Error>>()?,
            kernels_of_channels: kernels_of_channels.collect::<Result<_, Error>>()?,
            targets: group.targets.len(),
            target_places: real(&places(&group.targets, side))?,
            target_jobs: device.upload(&target_jobs)?,
            cells: device.upload(&grid.targets.blocks)?,
            per_unit: side / group.targets.side,
            gather: Kernel::new(device, &[precision_macro(precision)])?,
            spread: Kernel::new(device, &of_window(&[]))?,
            join: Kernel::new(device, &of_window(&[]))?,
            convolve,
            interpolate: (0..=u8::from(gradient))
                .map(|gradient| Kernel::new(device, &of_gradient(gradient == 1)))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Adds what the grid makes of `charges`, those of all sources in the caller's order, to
    /// `sums`, [columns][m].
    pub(super) fn add(
        &self,
        device: &Device,
        order: &Buffer<u32>,
        charges: Pointer<f64>,
        gradient: bool,
        sums: Pointer<Real>,
    ) -> Result<(), Error> {
        let Some((last, before)) = self.stages.split_last() else { return Ok(()) };
        let stream = device.stream();
        let real = |blocks: usize| Reals::new(device, self.precision, blocks * self.nodes);
        let result = real(last.blocks)?;
        let sorted = Reals::new(device, self.precision, self.sources)?;
        for channel in 0..self.kernels_of_channels.len() {
            let gather = points::Gather {
                charges,
                order: order.pointer(),
                shares: self.shares.get(channel).map_or(Pointer::null(), Buffer::pointer),
                n: count(self.sources),
                sorted: sorted.pointer(),
            };
            // SAFETY: `order` has the group's sources among all. Lengths that arguments tell are
            // checked, here and below.
            unsafe {
                self.gather.launch(
                    stream,
                    Grid::covering(self.sources, points::THREADS),
                    gather,
                )?;
            }
            let mut nodes = real(self.source_blocks)?;
            self.spread(device, &sorted, &nodes)?;
            for stage in before {
                let next = real(stage.blocks)?;
                self.convolve(device, stage, channel, &nodes, &next, false)?;
                nodes = next;
            }
            self.convolve(device, last, channel, &nodes, &result, channel > 0)?;
        }
        let interpolate = interpolate::Interpolate {
            jobs: self.target_jobs.pointer(),
            cells: self.cells.pointer(),
            places: self.target_places.pointer(),
            m: count(self.targets),
            window: self.window.pointer(),
            slopes: self.slopes.pointer(),
            nodes: result.pointer(),
            per_unit: self.per_unit,
            sums,
        };
        let grid = Grid::new(self.target_jobs.len(), interpolate::THREADS);
        // SAFETY: cells have indices of the last stage's blocks, jobs those of targets and cells,
        // and there is a sum for each target and column.
        unsafe { self.interpolate[usize::from(gradient)].launch(stream, grid, interpolate) }
    }

    /// Fills the blocks of nodes that charges reach.
    fn spread(&self, device: &Device, sorted: &Reals, nodes: &Reals) -> Result<(), Error> {
        let stream = device.stream();
        let parts = Reals::new(device, self.precision, self.parts * self.nodes)?;
        let spread = spread::Spread {
            jobs: self.jobs.pointer(),
            items: self.items.pointer(),
            places: self.source_places.pointer(),
            charges: sorted.pointer(),
            n: count(self.sources),
            window: self.window.pointer(),
            nodes: nodes.pointer(),
            parts: parts.pointer(),
        };
        let join = spread::Join {
            wholes: self.wholes.pointer(),
            parts: parts.pointer(),
            nodes: nodes.pointer(),
        };
        // SAFETY: items have sources that are there, and jobs write to blocks that are there.
        unsafe {
            self.spread.launch(stream, Grid::new(self.jobs.len(), spread::THREADS), spread)?;
            self.join.launch(stream, Grid::new(self.wholes.len(), spread::THREADS), join)
        }
    }

    fn convolve(
        &self,
        device: &Device,
        stage: &Stage,
        channel: usize,
        from: &Reals,
        to: &Reals,
        add: bool,
    ) -> Result<(), Error> {
        let (kernel, reach) = &self.kernels_of_channels[channel];
        let arguments = convolve::Convolve {
            axis: stage.axis,
            offsets: stage.offsets.pointer(),
            inputs: stage.inputs.pointer(),
            count: count(stage.blocks),
            kernel: kernel.pointer(),
            reach: *reach,
            from: from.pointer(),
            to: to.pointer(),
            add,
        };
        let per_block = convolve::THREADS as usize / (self.nodes / convolve::ROW);
        let grid = Grid {
            shared: kernel.bytes.bytes() as u32,
            ..Grid::new(stage.blocks.div_ceil(per_block), convolve::THREADS)
        };
        // SAFETY: inputs are blocks of the stage before, and the kernel has its zeros at both ends.
        unsafe { self.convolve.launch(device.stream(), grid, arguments) }
    }

    /// Bytes that the plan holds, and the nodes during `apply`.
    pub(super) fn bytes(&self) -> u64 {
        let of_stages = |stage: &Stage| stage.offsets.bytes() + stage.inputs.bytes();
        let blocks = self.stages.iter().map(|stage| stage.blocks).chain([self.source_blocks]);
        let most = blocks.max().unwrap_or(0);
        let nodes = self.precision.bytes() * self.nodes * (3 * most + self.parts);
        self.source_places.bytes.bytes()
            + self.target_places.bytes.bytes()
            + self.shares.iter().map(Buffer::bytes).sum::<u64>()
            + self.jobs.bytes()
            + self.items.bytes()
            + self.stages.iter().map(of_stages).sum::<u64>()
            + self.target_jobs.bytes()
            + self.cells.bytes()
            + nodes as u64
    }
}

/// Places of points, [axis][point], in node spacings from the corners of their boxes, which have
/// `side` nodes along an axis.
fn places(points: &Boxes, side: f64) -> Vec<f64> {
    let n = points.len();
    let mut places = vec![0.0; 3 * n];
    let per_unit = side / points.side;
    for own in &points.boxes {
        let corner = points.corner(&own.key);
        for i in own.range() {
            let u = points.relative(i, &corner, per_unit);
            for axis in 0..3 {
                places[axis * n + i] = u[axis].clamp(0.0, side);
            }
        }
    }
    places
}

/// Which sources each block of nodes takes.
#[derive(Debug, Default)]
struct Spreading {
    jobs: Vec<spread::Job>,
    items: Vec<spread::Item>,
    wholes: Vec<spread::Whole>,
    parts: usize,
}

impl Spreading {
    fn new(group: &GroupPlan, grid: &GridPlan) -> Self {
        let layout = &grid.layout;
        let [_, ny, nz] = layout.span.map(|n| n as u32);
        let mut reached: Vec<(u32, u32, u32)> = Vec::new();
        for colour in &grid.colours {
            for (cell, &source) in colour.cells.boxes.iter().enumerate() {
                let blocks = colour.cells.blocks(cell, layout).iter().enumerate();
                reached.extend(blocks.map(|(at, &block)| (block, source, at as u32)));
            }
        }
        reached.sort_unstable();
        let most_items = layout.spanned();
        let mut new = Self::default();
        for own in reached.chunk_by(|a, b| a.0 == b.0) {
            let block = own[0].0;
            let first_job = new.jobs.len();
            let mut taken = LARGEST;
            for &(_, source, at) in own {
                let points = &group.sources.boxes[source as usize];
                let after = [at / (ny * nz), at / nz % ny, at % nz];
                let mut begin = points.begin;
                while begin < points.end {
                    let items = new.items.len() as u32;
                    match new.jobs.last() {
                        Some(job) if taken < LARGEST && (items - job.first) < most_items as u32 => {
                        }
                        _ => {
                            let job =
                                spread::Job { first: items, last: items, to: block, partial: 0 };
                            new.jobs.push(job);
                            taken = 0;
                        }
                    }
                    let end = points.end.min(begin + LARGEST - taken);
                    new.items.push(spread::Item { begin, end, after });
                    taken += end - begin;
                    begin = end;
                    if let Some(job) = new.jobs.last_mut() {
                        job.last = new.items.len() as u32;
                    }
                }
            }
            let jobs = &mut new.jobs[first_job..];
            if jobs.len() > 1 {
                let first = new.parts as u32;
                for job in jobs {
                    (job.to, job.partial) = (new.parts as u32, 1);
                    new.parts += 1;
                }
                new.wholes.push(spread::Whole { to: block, first, last: new.parts as u32 });
            }
        }
        new
    }
}
