//! One group of bandwidths: its boxes, which pairs of them are summed directly, and its grid.

use parallel::prelude::*;
use simd::MAX_LANES;

use crate::bandwidths::{Group, bandwidth_of};
use crate::boxes::{Boxes, Point, side};
use crate::choice::{Choice, choose};
use crate::grid_plan::GridPlan;
use crate::lists::{Reach, Rows, runs};
use crate::node_blocks::Layout;
use crate::tuning::{Costs, Processor, Work};
use crate::window::{Shape, Window};
use crate::{Mode, Options};

/// What is dropped beyond the cut-off, as a share of the tolerance: where sources lie evenly all
/// around, what they add there is 4 to 6 times that.
const BEYOND_CUT_OFF: f64 = 0.05;

/// Targets that one job sums at, at most, if they are in one box; and at least, over several.
const JOB: std::ops::Range<usize> = 64..1024;

/// A run of sorted targets: of several boxes, or part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetJob {
    pub(crate) boxes: (u32, u32),
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

/// A group that is ready to be summed. Lengths are in units of `1 / scale`.
#[derive(Debug)]
pub(crate) struct GroupPlan {
    /// A power of two.
    pub(crate) scale: f64,
    pub(crate) sources: Boxes,
    /// `order` is empty: `rank` has its inverse.
    pub(crate) targets: Boxes,
    /// Place of each target in sorted order.
    pub(crate) rank: Vec<u32>,
    /// -1 / bandwidth of each source, padded.
    pub(crate) exponents: Vec<f64>,
    pub(crate) jobs: Vec<TargetJob>,
    /// For each box of targets the runs of sources that are summed directly.
    pub(crate) near: Rows<(u32, u32)>,
    pub(crate) grid: Option<GridPlan>,
    /// Pairs that are summed directly.
    pub(crate) pairs: u64,
}

/// What all groups of a plan share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    pub(crate) sources: &'a [Point],
    pub(crate) targets: &'a [Point],
    /// Of each source, or of all.
    pub(crate) bandwidths: &'a [f64],
    pub(crate) dimensions: usize,
    /// Largest absolute coordinate.
    pub(crate) extent: f64,
    /// Bounds the distance of any two points.
    pub(crate) diameter: f64,
    /// Whether the targets are the sources.
    pub(crate) same: bool,
    pub(crate) processor: Processor,
    pub(crate) options: &'a Options,
}

impl GroupPlan {
    pub(crate) fn new(whole: &Whole<'_>, group: &Group) -> Self {
        let Whole { dimensions, options, .. } = *whole;
        // Squares stay in range, also where bandwidths are lost in the rounding of coordinates.
        let unit = group.smallest.sqrt().max(whole.extent * 2f64.powi(-400));
        let scale = unit.log2().floor().exp2().recip();
        let squared = |bandwidth: f64| (bandwidth.sqrt() * scale).powi(2).clamp(1e-280, 1e200);
        let (smallest, largest) = (squared(group.smallest), squared(group.largest));
        let (extent, diameter) = (whole.extent * scale, whole.diameter * scale);

        let shape = Shape::of(options.tolerance, options.gradient);
        let window = Window::new(shape, options.tolerance);
        let layout = Layout::new(dimensions, window.width(), window.padded());
        let wanted = shape.spacing * smallest.sqrt() * layout.side() as f64;
        let box_side = side(wanted, extent);
        let scaled = |points: &[Point]| -> Vec<Point> {
            points.par_iter().with_min_len(4096).map(|x| x.map(|x| x * scale)).collect()
        };
        let sources = Boxes::new(&scaled(whole.sources), group.members.clone(), box_side);
        let same = whole.same && group.members.len() == whole.sources.len();
        let mut targets = if same {
            sources.clone()
        } else {
            let everything = (0..whole.targets.len() as u32).collect();
            Boxes::new(&scaled(whole.targets), everything, box_side)
        };

        let decay = decay(options.tolerance);
        let cut_off = |bandwidth: f64| (decay * bandwidth).sqrt().min(diameter);
        let reach = Reach::new(cut_off(largest), box_side, dimensions);
        let to_sources = runs(&targets, &sources, &reach);
        let spacing = box_side / layout.side() as f64;
        // No more than there are between any two blocks.
        let most = (diameter / spacing).ceil() as usize + 2 * window.width();
        let nodes = |bandwidth: f64| nodes_within((decay * bandwidth).sqrt() / spacing, most);
        let rough = rough(options.tolerance);
        let work = Work {
            layout: &layout,
            window: &window,
            reach: nodes(largest),
            channels: group.channels.len(),
            rough,
            options,
        };
        let costs = Costs::new(whole.processor, work);
        let mode = if box_side > wanted { Mode::Pairs } else { options.mode };
        let choice = match mode {
            Mode::Grid => Some(Choice::all(&sources, &targets)),
            Mode::Auto => {
                let others = (!same).then(|| runs(&sources, &targets, &reach));
                let to_targets = others.as_ref().unwrap_or(&to_sources);
                choose(&sources, &targets, &to_sources, to_targets, &costs)
            }
            Mode::Pairs | Mode::Direct => None,
        };
        let mut near = near(&sources, &to_sources, choice.as_ref());
        let mut pairs = count(&targets, &near);
        let mut grid = None;
        if let Some(choice) = choice {
            let channels: Vec<(f64, usize)> =
                group.channels.iter().map(|&c| (squared(c), nodes(squared(c)))).collect();
            let made =
                GridPlan::new(&sources, &targets, choice, layout, window, spacing, &channels);
            let directly = to_sources_count(&sources, &targets, &to_sources) as f64 * costs.pair;
            let cost = made.cost(&sources, &targets, &costs) + pairs as f64 * costs.pair;
            if mode == Mode::Grid || cost < directly {
                grid = Some(made.with_shares(group, whole.bandwidths, &sources));
            } else {
                near = self::near(&sources, &to_sources, None);
                pairs = count(&targets, &near);
            }
        }
        let mut exponents: Vec<f64> = sources
            .order
            .iter()
            .map(|&i| -1.0 / squared(bandwidth_of(whole.bandwidths, i as usize)))
            .collect();
        exponents.resize(sources.len() + MAX_LANES, 0.0);
        let order = std::mem::take(&mut targets.order);
        let mut rank = vec![0; order.len()];
        for (place, &i) in order.iter().enumerate() {
            rank[i as usize] = place as u32;
        }
        let jobs = jobs(&targets);
        Self { scale, sources, targets, rank, exponents, jobs, near, grid, pairs }
    }

    pub(crate) fn bytes(&self) -> usize {
        let grid = self.grid.as_ref().map_or(0, GridPlan::bytes);
        let jobs = size_of::<TargetJob>() * self.jobs.len();
        self.sources.bytes()
            + self.targets.bytes()
            + self.near.bytes()
            + jobs
            + grid
            + 8 * self.exponents.len()
    }
}

/// Squared distance over bandwidth from which on sources are dropped.
pub fn decay(tolerance: f64) -> f64 {
    (1.0 / (BEYOND_CUT_OFF * tolerance)).ln()
}

/// Nodes within a cut-off of `radius` spacings, and one more, for a source may lie between
/// nodes; with no more than `most`.
pub fn nodes_within(cut_off: f64, most: usize) -> usize {
    cut_off.ceil().min(most as f64) as usize + 1
}

/// Whether exponentials of pairs may be rough: their error is a tenth of this.
pub fn rough(tolerance: f64) -> bool {
    tolerance >= 1e-7
}

/// For each box of targets the sources that are not left to the grid; adjacent runs are joined.
fn near(
    sources: &Boxes,
    to_sources: &Rows<(u32, u32)>,
    choice: Option<&Choice>,
) -> Rows<(u32, u32)> {
    let boxes = to_sources.offsets.len() - 1;
    let jobs = (0..boxes.div_ceil(JOB.end)).into_par_iter().map(|job| {
        let (mut lengths, mut entries) = (Vec::new(), Vec::<(u32, u32)>::new());
        for target in job * JOB.end..boxes.min((job + 1) * JOB.end) {
            let before = entries.len();
            let by_grid = choice.is_some_and(|choice| choice.targets[target]);
            for &(begin, end) in to_sources.row(target) {
                for source in begin..end {
                    if by_grid && choice.is_some_and(|choice| choice.sources[source as usize]) {
                        continue;
                    }
                    let points = &sources.boxes[source as usize];
                    match entries[before..].last_mut() {
                        Some(last) if last.1 == points.begin => last.1 = points.end,
                        _ => entries.push((points.begin, points.end)),
                    }
                }
            }
            lengths.push((entries.len() - before) as u32);
        }
        (lengths, entries)
    });
    Rows::join(jobs.collect())
}

/// Pairs of points.
fn count(targets: &Boxes, near: &Rows<(u32, u32)>) -> u64 {
    let all = targets.boxes.iter().enumerate();
    all.map(|(i, t)| {
        let sources: u64 = near.row(i).iter().map(|&(a, b)| u64::from(b - a)).sum();
        t.count() as u64 * sources
    })
    .sum()
}

/// Pairs of points within reach.
fn to_sources_count(sources: &Boxes, targets: &Boxes, to_sources: &Rows<(u32, u32)>) -> u64 {
    let all = targets.boxes.iter().enumerate();
    all.map(|(i, t)| t.count() as u64 * crate::choice::points(sources, to_sources.row(i)) as u64)
        .sum()
}

/// Cuts the targets into jobs.
fn jobs(targets: &Boxes) -> Vec<TargetJob> {
    let mut jobs: Vec<TargetJob> = Vec::new();
    for (i, points) in targets.boxes.iter().enumerate() {
        let i = i as u32;
        match jobs.last_mut() {
            Some(last)
                if ((last.end - last.begin) as usize) < JOB.start
                    && points.count() <= JOB.start =>
            {
                *last = TargetJob { boxes: (last.boxes.0, i + 1), end: points.end, ..*last };
            }
            _ => {
                for begin in points.range().step_by(JOB.end) {
                    let end = (begin + JOB.end).min(points.end as usize) as u32;
                    jobs.push(TargetJob { boxes: (i, i + 1), begin: begin as u32, end });
                }
            }
        }
    }
    jobs
}
