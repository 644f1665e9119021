//! How much of a device's memory a plan will take, before anything is allocated.
//!
//! What a point takes is known; boxes and lists follow from how points are spread, which a sample
//! tells. Constants are those of uniform points in a cube and on a sphere, and of clusters and
//! graded plates, as counted on trees of 2^18 to 2^20 points; truncation numbers are those of plans
//! at 1e-5 and 1e-8, and lines through these. A test compares with what plans take.

use cuda::Device;

use super::close::{GUESSED, PAIR_BYTES};
use super::coordinates::visited_bytes;
use super::lists::waiting_pairs;
use super::{far_matrices, tuning};
use crate::near::CLOSE_SINGLE;
use crate::tree::Root;
use crate::tree::morton::{MAX_DEPTH, Sample};
use crate::truncation::{P_MAX, expected};
use crate::{Backend, Error, Mode, Options, Precision};

/// How points are spread.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Of their set: 3 in a volume, 2 on a surface.
    pub dimension: f64,
    /// How much more boxes there are than of a uniform set.
    pub uneven: f64,
}

/// Points of a sample that must share boxes for their number to be trusted.
const TRUSTED: f64 = 2000.0;

impl Spread {
    /// Evenly in a cube.
    pub const UNIFORM: Self = Self { dimension: 3.0, uneven: 1.0 };

    /// Of `points`, in boxes down to `occupancy` points.
    pub fn of(points: &[[f64; 3]], occupancy: f64) -> Self {
        let n = points.len();
        if (n as f64) < 8.0 * occupancy {
            return Self::UNIFORM;
        }
        let some: Vec<[f64; 3]> = points.iter().step_by(n.div_ceil(1 << 12)).copied().collect();
        let root = Root::around(&[&some]);
        let keys = Sample::draw(&root, points, 1.0);
        let drawn = keys.len() as f64;
        let sample = Sample::of_keys(keys, n);
        // Pairs of sampled points are half of that.
        let shared = |here: f64| drawn * drawn * here / n as f64;
        let mut occupancies = vec![n as f64];
        for level in 1..MAX_DEPTH {
            let here = sample.occupancy(level);
            if here < occupancy || shared(here) < TRUSTED {
                break;
            }
            occupancies.push(here);
        }
        let level = occupancies.len() - 1;
        let last = occupancies[level];
        // Over two levels, where boxes do not lie as they happen to.
        let from = level.saturating_sub(2);
        let levels = (level - from).max(1) as f64;
        let dimension = ((occupancies[from] / last).log2() / levels).clamp(1.0, 3.0);
        // Levels that uniform points would have had until here.
        let expected = (n as f64 / last).log2() / dimension;
        let uneven = if level as f64 > expected + 1.5 { 1.4 } else { 1.0 };
        Self { dimension, uneven }
    }

    /// Translations of a box, where boxes are `across` along a side.
    fn far(self, across: f64) -> f64 {
        // Boxes at the faces of a volume have fewer.
        let inner = if self.dimension > 2.5 { (1.0 - 4.2 / across).max(0.3) } else { 1.0 };
        32.5 * 3.77f64.powf(self.dimension - 2.0) * inner
    }

    /// Translation vectors between boxes of different sizes in a tree of `leaves` leaves: a surface
    /// cuts off corners of large boxes, which stay leaves.
    fn between_sizes(self, leaves: f64) -> f64 {
        let uneven = self.dimension < 2.5 || self.uneven > 1.0;
        if uneven { 7.3 * leaves.powf(0.64) } else { 0.0 }
    }

    /// Near leaves of a leaf.
    fn near(self) -> f64 {
        19.0 * 1.42f64.powf(self.dimension - 2.0)
    }

    /// Close pairs per point in single precision, with `occupancy` points per leaf.
    fn close(self, occupancy: f64) -> f64 {
        let of_surface = 1.5 * std::f64::consts::PI * CLOSE_SINGLE.powi(2);
        occupancy * of_surface * 36f64.powf(2.0 - self.dimension)
    }
}

/// Bytes on the device.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The most while a plan is made, before there are expansions and matrices.
    pub before: u64,
    /// What is only given back when they are there.
    keys: u64,
    /// M2L's matrices, which the plan keeps.
    pub matrices: u64,
    /// What else it keeps.
    rest: u64,
    /// Strengths and sums of one `apply` with all densities.
    pub(super) sums: u64,
}

impl Need {
    /// What the plan keeps.
    pub fn plan(self) -> u64 {
        self.rest.saturating_add(self.matrices)
    }

    /// The most while it is made.
    pub fn planning(self) -> u64 {
        self.before.max(self.plan().saturating_add(self.keys))
    }

    /// Of a plan and its sums, whichever part takes most.
    pub fn most(self) -> u64 {
        self.planning().max(self.plan().saturating_add(self.sums))
    }
}

/// Boxes of a set of points, and what lists have of them.
pub struct Boxes {
    /// Boxes.
    pub count: f64,
    /// Leaves among them.
    pub leaves: f64,
    /// Pairs of boxes that are translated between.
    pub far: f64,
    /// Pairs of leaves whose points are summed.
    pub near: f64,
    close: f64,
}

/// Properties of a plan that determine its memory.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// Format of expansions and sums.
    pub precision: Precision,
    /// What the plan is asked for.
    pub options: &'a Options,
    /// Bytes that M2L's matrices may take.
    pub limit: u64,
    /// Bytes of memory that are free.
    pub free: u64,
}

impl Planned<'_> {
    /// Points of a leaf of `n` sources and `m` targets.
    pub fn occupancy(&self, n: usize, m: usize) -> f64 {
        let Self { precision, options, .. } = *self;
        match (options.mode, options.leaf_size) {
            (_, Some(leaf_size)) => 0.6 * leaf_size as f64,
            (Mode::Direct, _) => tuning::direct_occupancy(n, m),
            (Mode::Treecode, _) => tuning::treecode_occupancy(options, precision),
            _ if options.backend == Backend::Hybrid => tuning::hybrid_occupancy(options, precision),
            _ => tuning::occupancy(options, precision),
        }
    }

    /// Boxes of `n` points, and their lists.
    pub fn boxes(&self, n: usize, occupancy: f64, spread: Spread) -> Boxes {
        let n = n as f64;
        let leaves = 1.0 + 1.05 * spread.uneven * n / occupancy;
        let count = leaves / (1.0 - (-spread.dimension).exp2());
        let single = self.precision == Precision::Single;
        Boxes {
            count,
            leaves,
            far: count * spread.far((n / occupancy).max(1.0).cbrt()),
            near: leaves * if self.options.mode == Mode::Direct { leaves } else { spread.near() },
            close: if single { n * spread.close(occupancy) } else { 0.0 },
        }
    }

    /// A plan over `n` sources at `m` targets, none if they are the sources.
    pub fn need(&self, n: usize, m: Option<usize>, spread: Spread) -> Need {
        let Self { precision, options, limit, free } = *self;
        let scalar = precision.bytes() as f64;
        let (all, to) = (n + m.unwrap_or(0), m.unwrap_or(n));
        let occupancy = self.occupancy(n, to);
        let Boxes { count, leaves, far, near, close } = self.boxes(all, occupancy, spread);
        let translated = if options.mode == Mode::Fmm { far } else { 0.0 };
        let [visited, again] = visited_bytes(n, free);
        let of_targets = m.map_or([0; 2], |m| visited_bytes(m, free));
        let [visited, again] = [(visited + of_targets[0]) as f64, again.max(of_targets[1]) as f64];
        let ordered = |order: f64| all as f64 * (order + 4.0 * scalar);

        // With what is sorted its copy and the counts of digits.
        let then = m.map_or(0.0, |m| 12.0 * n as f64 + 24.25 * m as f64);
        let sorting = visited + f64::max(24.25 * n as f64, then);
        let cells = 72.0 * count;
        let placing = visited + ordered(4.0) + cells;
        // Two parts of a leaf's work, each with its box; while they are sorted twice, with keys.
        let items = near * occupancy / 2048.0 + 0.6 * leaves;
        let lists = ordered(4.0) + cells + 8.0 * translated + 4.0 * near + 4.0 * count;
        let settling = lists + 8.0 * waiting_pairs(count as usize) as f64 + 4.0 * count;
        let sorting_items = lists + 64.0 * items;
        let lists = lists + 20.0 * items;
        let guessed = (1024 + to / GUESSED) as f64;
        let pairs = PAIR_BYTES as f64;
        // What was guessed is kept if most of it is used.
        let kept = if (0.75..1.0).contains(&(close / guessed)) { guessed } else { close };
        let closing = lists + f64::max(pairs * guessed, pairs * kept + 24.0 * close + again);

        // The truncation number of leaves, which most boxes are: of translations, and stored. Both
        // grow faster than digits from 1e-5 on, where few terms of the closest pairs are left out.
        let digits = -options.tolerance.ln();
        let p = f64::max(1.2 * expected::stored(options.tolerance).max(3.0), 1.9 * digits - 12.0);
        let p = p.min(P_MAX as f64);
        let leaf = p.max(3.1 * digits - 22.0).min(P_MAX as f64);
        let kinds = if options.mode == Mode::Fmm { 2.0 } else { 1.0 };
        // Between boxes of different sizes p' is another.
        let between_sizes = spread.between_sizes(leaves);
        let of_sizes = (1.42 * digits - 1.1).max(p);
        let of_surface = (2.1 * digits - 7.0).clamp(p, P_MAX as f64);
        let stored = if between_sizes > 0.0 { of_surface } else { leaf };
        let expansions = count * (kinds * stored * stored * scalar + 64.0);
        // Large boxes are few and stand for many points: each level up has more terms, and levels
        // share the matrices of equal vectors; with screening each has its own.
        let levels = (n.max(to) as f64 / occupancy).max(8.0).log2() / spread.dimension;
        let screened = options.kernel.kappa() > 0.0;
        let more = 1.6 * (spread.dimension - 1.0) * (levels - 1.5 * spread.dimension).max(0.0);
        let (top, of_levels) = if screened { (p, levels.ceil()) } else { (p + more, 1.0) };
        // Of those between boxes of different sizes few are alike.
        let vectors = [(350.0, top), (between_sizes, of_sizes)];
        let of_level: f64 = vectors.iter().map(|(vectors, p)| vectors * p.powi(4) * scalar).sum();
        let translated = if options.mode == Mode::Fmm { of_levels * of_level } else { 0.0 };
        let matrices = translated.min(limit as f64);
        let keys = if screened { 8.0 * all as f64 } else { 0.0 };
        let rest = lists + pairs * kept + expansions + (4 << 20) as f64;

        let planning = [sorting, placing, settling + keys, sorting_items + keys, closing + keys];
        let before = planning.into_iter().fold(0.0, f64::max);
        Need {
            before: before as u64,
            keys: keys as u64,
            matrices: matrices as u64,
            rest: rest as u64,
            sums: self.sums(n, to),
        }
    }

    /// Bytes of strengths of `n` sources and sums at `m` targets, as they come and in the plan's
    /// format.
    fn sums(&self, n: usize, m: usize) -> u64 {
        let options = self.options;
        let of_source = 1 + 3 * u64::from(options.dipoles);
        let of_target = 1 + 3 * u64::from(options.gradient);
        let values = of_source * n as u64 + of_target * m as u64;
        let bytes = 8 + self.precision.bytes() as u64;
        values.saturating_mul(bytes).saturating_mul(options.densities.max(1) as u64)
    }

    /// Of sets of points.
    pub fn of(&self, sources: &[[f64; 3]], targets: Option<&[[f64; 3]]>) -> (Need, Spread) {
        let larger = targets.filter(|targets| targets.len() > sources.len()).unwrap_or(sources);
        let occupancy = self.occupancy(sources.len(), larger.len());
        let spread = Spread::of(larger, occupancy);
        (self.need(sources.len(), targets.map(<[_]>::len), spread), spread)
    }
}

/// Whether a plan and its sums fit; nothing is allocated.
pub(super) fn check(
    device: &Device,
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    precision: Precision,
    options: &Options,
) -> Result<(), Error> {
    let free = device.free_memory()?;
    let planned = Planned { precision, options, limit: far_matrices::limit(device), free };
    // Where there is plenty of room no sample is drawn.
    let (n, m) = (sources.len(), targets.map(<[_]>::len));
    if planned.need(n, m, Spread::UNIFORM).most() < free / 4 {
        return Ok(());
    }
    let (need, spread) = planned.of(sources, targets);
    let needed = need.most();
    if needed <= free {
        return Ok(());
    }
    let memory = device.info().memory;
    let of_one = |gpus: usize| {
        let share = |n: usize| n.div_ceil(gpus);
        planned.of_rank(share(n), share(m.unwrap_or(n)), spread)
    };
    // A little is the driver's, and what each has of others' points grows with their number.
    let fits = |&gpus: &usize| of_one(gpus) <= memory / 100 * 97;
    let gpus = if options.mode == Mode::Fmm { (2..=MOST_GPUS).find(fits) } else { None };
    Err(Error::GpuMemory { gpu: options.gpu, needed, free, gpus })
}

/// GPUs beyond which none are recommended.
const MOST_GPUS: usize = 4096;

impl Planned<'_> {
    /// A rank's part of `n` sources and `m` targets, which may be the same points: with what it has
    /// of others.
    pub fn of_rank(&self, n: usize, m: usize, spread: Spread) -> u64 {
        // Others' sources next to its own, a layer of leaves about a cube of them.
        let occupancy = self.occupancy(n, m);
        let across = (n as f64 / occupancy).max(1.0).powf(spread.dimension.recip());
        let halo = (1.0 + 2.0 / across).powf(spread.dimension);
        let sources = (n as f64 * halo) as usize;
        let need = self.need(sources, None, spread);
        let scalar = self.precision.bytes() as u64;
        // Targets have an order and places of their own; boxes are there twice.
        let targets = m as u64 * (4 + 4 + 4 * scalar);
        let boxes = 48 * self.boxes(sources, occupancy, spread).count as u64;
        let need = Need { sums: self.sums(sources, m), ..need };
        need.most().saturating_add(targets + boxes)
    }
}

/// Bytes that a rank's part needs at most, about: its points and those of others next to it, which
/// the CPU has sorted.
pub(super) fn estimate_sorted(
    device: &Device,
    n: usize,
    m: usize,
    precision: Precision,
    options: &Options,
) -> u64 {
    let free = device.free_memory().unwrap_or(u64::MAX);
    let planned = Planned { precision, options, limit: far_matrices::limit(device), free };
    planned.of_rank(n, m, Spread::UNIFORM)
}
