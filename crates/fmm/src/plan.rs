//! Geometry worked once, charges many times.

use std::time::Instant;

use rayon::prelude::*;

use crate::engine::Parts;
use crate::lists::Lists;
use crate::morton::Sample;
use crate::simd::{self, Level};
use crate::tree::{Order, Root, Tree};
use crate::truncation::{self, Orders};
use crate::{Backend, Error, GpuInfo, Mode, Options, Precision, Span, direct, engine, gpu, tuning};

/// Source strengths of one `apply`: k densities over n sources, in the caller's order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Densities<'a> {
    /// Charges q, shape (k, n).
    pub charges: Option<&'a [f64]>,
    /// Dipole moments d, shape (k, n, 3): a source adds `d . (x - y) / |x - y|^3`.
    pub dipoles: Option<&'a [f64]>,
}

/// Where one `apply` writes its sums: k densities at m targets, in the caller's order; what was there is overwritten.
#[derive(Debug, Default)]
pub struct Potentials<'a> {
    /// Potential, shape (k, m).
    pub potential: Option<&'a mut [f64]>,
    /// Gradient with respect to the target, shape (k, m, 3).
    pub gradient: Option<&'a mut [f64]>,
}

/// What a plan resolved to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Floating-point format of expansions and sums.
    pub precision: Option<Precision>,
    /// Floating-point format of near pairs, but for those too close for it.
    pub near_precision: Option<Precision>,
    /// How the sum is done.
    pub mode: Mode,
    /// Where it is computed: never `Auto`.
    pub backend: Backend,
    /// Why `Backend::Auto` took the CPU, if not because the sum is small.
    pub fallback: Option<String>,
    /// What a GPU has to tell.
    pub gpu: Option<GpuInfo>,
    /// Largest truncation number of any expansion.
    pub truncation_number: usize,
    /// Mean truncation number p' over all M2L translations.
    pub mean_translation_order: f64,
    /// Most points a leaf may hold.
    pub leaf_size: usize,
    /// Deepest level of the octree; the root is level 0.
    pub depth: usize,
    /// M2L translations of one `apply` with one density.
    pub m2l_count: u64,
    /// M2L translations per target box that receives any.
    pub m2l_per_box: f64,
    /// Source-target pairs that P2P sums.
    pub p2p_pairs: u64,
    /// Seconds that `Plan::new` took.
    pub setup_seconds: f64,
    /// Bytes that the plan holds.
    pub memory_bytes: u64,
}

/// Wall seconds of the stages of the last `apply`. On a GPU stages overlap: theirs are the times that each took alone, once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageSeconds {
    /// Particles to multipoles.
    pub p2m: f64,
    /// Multipoles to the parent's.
    pub m2m: f64,
    /// Multipoles to locals.
    pub m2l: f64,
    /// Locals to the children's.
    pub l2l: f64,
    /// Locals to particles.
    pub l2p: f64,
    /// Near pairs.
    pub p2p: f64,
    /// On a GPU: the whole sum with input and output in its memory.
    pub device: f64,
    /// The whole of `apply`, copies included.
    pub total: f64,
}

/// A sum whose geometry has been worked out.
#[derive(Debug)]
pub struct Plan {
    engine: Engine,
    sources: usize,
    targets: usize,
    with_gradient: bool,
    with_dipoles: bool,
    info: Info,
    stages: StageSeconds,
}

#[derive(Debug)]
enum Engine {
    Single(Box<engine::Engine<f32>>),
    Double(Box<engine::Engine<f64>>),
    Gpu(Box<gpu::Engine>),
    Direct { sources: Vec<[f64; 3]>, targets: Option<Vec<[f64; 3]>> },
}

impl Plan {
    /// Plans the sum over `sources` at `targets`; with `None` the targets are the sources.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooMany`], [`Error::Option`]; [`Error::UnknownSimd`] and [`Error::MissingSimd`] on a CPU;
    /// [`Error::Gpu`] where a GPU is asked for.
    pub fn new(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let gpu = match options.backend {
            Backend::Cpu => false,
            Backend::Cuda | Backend::Hybrid => true,
            Backend::Auto => options.mode == Mode::Fmm && gpu::pays(sources, targets),
        };
        if !gpu {
            return Self::at_level(sources, targets, options, simd::check()?);
        }
        match Self::on_gpu(sources, targets, options) {
            Err(Error::Gpu(error)) if options.backend == Backend::Auto => {
                let mut plan = Self::at_level(sources, targets, options, simd::check()?)?;
                plan.info.fallback = Some(error.to_string());
                Ok(plan)
            }
            other => other,
        }
    }

    /// As [`Plan::new`], on a GPU.
    fn on_gpu(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        options.check()?;
        check_points("source", sources)?;
        check_points("target", targets.unwrap_or(&[]))?;
        let precision = tuning::precision(options);
        let mut info = Info {
            mode: options.mode,
            backend: match options.backend {
                Backend::Hybrid if options.mode == Mode::Fmm => Backend::Hybrid,
                _ => Backend::Cuda,
            },
            precision: Some(precision),
            near_precision: Some(precision),
            ..Info::default()
        };
        let engine = gpu::Engine::new(sources, targets, options, precision, &mut info)?;
        info.setup_seconds = started.elapsed().as_secs_f64();
        Ok(Self {
            engine: Engine::Gpu(Box::new(engine)),
            sources: sources.len(),
            targets: targets.map_or(sources.len(), <[_]>::len),
            with_gradient: options.gradient,
            with_dipoles: options.dipoles,
            info,
            stages: StageSeconds::default(),
        })
    }

    /// As [`Plan::new`], with an instruction set that the processor has.
    pub(crate) fn at_level(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
        simd: Level,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        options.check()?;
        check_points("source", sources)?;
        check_points("target", targets.unwrap_or(&[]))?;
        let m = targets.map_or(sources.len(), <[_]>::len);
        let mut info = Info { mode: options.mode, ..Info::default() };
        let engine = if options.mode == Mode::Direct {
            info.precision = Some(Precision::Double);
            info.near_precision = Some(Precision::Double);
            info.p2p_pairs = sources.len() as u64 * m as u64;
            info.memory_bytes = 24 * (sources.len() + targets.map_or(0, <[_]>::len)) as u64;
            Engine::Direct { sources: sources.to_vec(), targets: targets.map(<[_]>::to_vec) }
        } else {
            let precision = tuning::precision(options);
            info.precision = Some(precision);
            let mut parts = work_out(sources, targets, options, precision, simd, &mut info);
            parts.near = tuning::near_precision(options, precision);
            info.near_precision = Some(parts.near);
            match precision {
                Precision::Single => {
                    let engine = engine::Engine::new(parts, sources, targets);
                    info.memory_bytes = engine.bytes() as u64;
                    Engine::Single(Box::new(engine))
                }
                Precision::Double => {
                    let engine = engine::Engine::new(parts, sources, targets);
                    info.memory_bytes = engine.bytes() as u64;
                    Engine::Double(Box::new(engine))
                }
            }
        };
        info.setup_seconds = started.elapsed().as_secs_f64();
        Ok(Self {
            engine,
            sources: sources.len(),
            targets: m,
            with_gradient: options.gradient,
            with_dipoles: options.dipoles,
            info,
            stages: StageSeconds::default(),
        })
    }

    /// Sums `densities` into `potentials`. The number of densities k follows from the arrays' lengths.
    ///
    /// # Errors
    /// [`Error::Length`] when an array does not fit, [`Error::NotPlanned`].
    pub fn apply(
        &mut self,
        densities: Densities<'_>,
        mut potentials: Potentials<'_>,
    ) -> Result<(), Error> {
        if potentials.gradient.is_some() && !self.with_gradient {
            return Err(Error::NotPlanned { what: "gradient" });
        }
        if densities.dipoles.is_some() && !self.with_dipoles {
            return Err(Error::NotPlanned { what: "dipoles" });
        }
        let k = direct::count_densities(self.sources, self.targets, &densities, &potentials)?;
        self.stages = match &mut self.engine {
            Engine::Single(engine) => engine.apply(k, densities, potentials),
            Engine::Double(engine) => engine.apply(k, densities, potentials),
            Engine::Gpu(engine) => engine.apply(k, densities, potentials)?,
            Engine::Direct { sources, targets } => {
                let started = Instant::now();
                let targets = targets.as_deref().unwrap_or(sources);
                direct::sum(sources, targets, densities, &mut potentials)?;
                let seconds = started.elapsed().as_secs_f64();
                StageSeconds { p2p: seconds, total: seconds, ..StageSeconds::default() }
            }
        };
        Ok(())
    }

    /// The GPU in whose memory everything of this plan is, with the stream that its sums run on; none if cores take part.
    pub fn device(&self) -> Option<::gpu::Device> {
        match &self.engine {
            Engine::Gpu(engine) => engine.whole_device(),
            _ => None,
        }
    }

    /// Potentials, gradients or both of `densities` densities of charges, all in the memory of [`Plan::device`], shapes (k, n), (k, m)
    /// and (k, m, 3). Returns when they are there.
    ///
    /// # Errors
    /// [`Error::NotPlanned`] without such a device, [`Error::Length`], [`Error::Gpu`].
    pub fn apply_on_device(
        &mut self,
        densities: usize,
        charges: &::gpu::Buffer<f64>,
        potential: Option<&::gpu::Buffer<f64>>,
        gradient: Option<&::gpu::Buffer<f64>>,
    ) -> Result<(), Error> {
        let lengths = [
            ("charges", densities * self.sources, Some(charges.len())),
            ("potential", densities * self.targets, potential.map(::gpu::Buffer::len)),
            ("gradient", 3 * densities * self.targets, gradient.map(::gpu::Buffer::len)),
        ];
        for (what, expected, found) in lengths {
            if let Some(found) = found.filter(|&found| found < expected) {
                return Err(Error::Length { what, expected, found });
            }
        }
        if gradient.is_some() && !self.with_gradient {
            return Err(Error::NotPlanned { what: "gradient" });
        }
        match &mut self.engine {
            Engine::Gpu(engine) => engine.apply_on_device(densities, charges, potential, gradient),
            _ => Err(Error::NotPlanned { what: "device" }),
        }
    }

    /// When the parts of the last hybrid `apply` ran; empty for other backends.
    pub fn timeline(&self) -> &[Span] {
        match &self.engine {
            Engine::Gpu(engine) => engine.timeline(),
            _ => &[],
        }
    }

    /// What the plan resolved to.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Stages of the last `apply`.
    pub fn stages(&self) -> &StageSeconds {
        &self.stages
    }
}

/// Points that 32-bit indices address, with room for padding.
const MAX_POINTS: usize = u32::MAX as usize - 64;

fn check_points(what: &'static str, points: &[[f64; 3]]) -> Result<(), Error> {
    if points.len() > MAX_POINTS {
        return Err(Error::TooMany { what, count: points.len(), limit: MAX_POINTS });
    }
    let finite = |x: &[f64; 3]| x.iter().all(|c| c.is_finite());
    // Without an early end the loop is a plain pass over memory.
    let all = |some: &[[f64; 3]]| some.iter().fold(true, |all, x| all & finite(x));
    if points.par_chunks(4096).all(all) {
        return Ok(());
    }
    match points.iter().position(|x| !finite(x)) {
        Some(index) => Err(Error::NotFinite { what, index, point: points[index] }),
        None => Ok(()),
    }
}

/// Target boxes of one M2L chunk: their local expansions stay in a cache of this size.
const CHUNK_BYTES: usize = 384 << 10;

/// At this tolerance and beyond inverse distances are worked to the last digits: the shorter series errs by 1.3e-10.
const FULL_TOLERANCE: f64 = 2e-9;

/// Points in Morton order in a root cube, and what leaves may hold.
pub(crate) struct Geometry {
    pub root: Root,
    pub source_order: Order,
    pub target_order: Option<Order>,
    pub leaf_size: usize,
    /// Pairs of points up to which boxes two levels apart or more are summed directly.
    pub direct: u64,
}

/// Tree, lists and truncation numbers.
fn work_out(
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    options: &Options,
    precision: Precision,
    simd: Level,
    info: &mut Info,
) -> Parts {
    let occupancy = tuning::occupancy(options, precision);
    let leaf_size = options.leaf_size.unwrap_or((2.0 * occupancy) as usize);
    let all: Vec<&[[f64; 3]]> = std::iter::once(sources).chain(targets).collect();
    let mut root = Root::around(&all);
    if options.leaf_size.is_none() {
        let sample = Sample::new(&root, sources);
        root = root.enlarged(tuning::enlargement(&sample, occupancy));
    }
    // A leaf of one set may be a box to split for the other.
    let enough = if targets.is_none() { leaf_size } else { 0 };
    let source_order = Order::of_leaves(&root, sources, enough);
    let target_order = targets.map(|points| Order::new(&root, points));
    let direct = tuning::direct_pairs(options, precision, truncation::guess(options));
    let geometry = Geometry { root, source_order, target_order, leaf_size, direct };
    work_out_lists(geometry, sources, targets, options, precision, simd, info)
}

/// As [`work_out`], from points in order on.
pub(crate) fn work_out_lists(
    geometry: Geometry,
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    options: &Options,
    precision: Precision,
    simd: Level,
    info: &mut Info,
) -> Parts {
    let Geometry { root, mut source_order, target_order, leaf_size, direct } = geometry;
    let tree = Tree::new(&source_order, target_order.as_ref(), leaf_size);
    let scalar = if precision == Precision::Single { 4 } else { 8 };
    let p = (-0.8 * options.tolerance.ln()) as usize + 2;
    let chunk_size = (CHUNK_BYTES / (scalar * p * p)).clamp(64, 4096);
    let stencil = tuning::stencil(options, precision);
    let mut lists = Lists::new(&tree, stencil, direct, chunk_size);
    let geometry = truncation::Geometry {
        root: &root,
        tree: &tree,
        sources: (&source_order, sources),
        targets: match (&target_order, targets) {
            (Some(order), Some(points)) => (order, points),
            _ => (&source_order, sources),
        },
    };
    let orders = truncation::choose(&geometry, &mut lists, options, simd);
    describe(&tree, &lists, &orders, info);
    info.leaf_size = leaf_size;
    source_order.keys = Vec::new();
    let target_order = target_order.map(|order| Order { keys: Vec::new(), ..order });
    let full = options.tolerance < FULL_TOLERANCE;
    let derivatives = options.gradient || options.dipoles;
    let near = precision;
    Parts { simd, root, tree, lists, orders, source_order, target_order, full, near, derivatives }
}

/// Fills the counts of `info`.
fn describe(tree: &Tree, lists: &Lists, orders: &Orders, info: &mut Info) {
    info.truncation_number =
        orders.multipole.iter().chain(&orders.local).copied().max().unwrap_or(0);
    info.mean_translation_order = orders.mean;
    info.depth = tree.depth();
    info.m2l_count = lists.chunks.iter().map(|c| c.pairs.len() as u64).sum();
    let receivers: u64 = lists.chunks.iter().map(|c| u64::from(c.receivers)).sum();
    info.m2l_per_box = info.m2l_count as f64 / receivers.max(1) as f64;
    info.p2p_pairs = lists.near_pairs;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{ChargeKind, Distribution, Random};

    /// Potentials and gradients of charges and dipoles, two densities.
    fn sums(points: &[[f64; 3]], options: &Options, simd: Level) -> Vec<f64> {
        let n = points.len();
        let mut random = Random::new(4);
        let charges: Vec<f64> =
            (0..2).flat_map(|_| ChargeKind::Mixed.charges(points, &mut random)).collect();
        let dipoles: Vec<f64> = (0..6 * n).map(|_| 0.1 * (random.uniform() - 0.5)).collect();
        let mut plan = Plan::at_level(points, None, options, simd).unwrap();
        let (mut potential, mut gradient) = (vec![0.0; 2 * n], vec![0.0; 6 * n]);
        let mut all = Vec::new();
        for dipoles in [None, Some(&dipoles[..])] {
            let densities = Densities { charges: Some(&charges), dipoles };
            let potentials =
                Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
            plan.apply(densities, potentials).unwrap();
            all.extend_from_slice(&potential);
            let potentials = Potentials { potential: Some(&mut potential), gradient: None };
            plan.apply(densities, potentials).unwrap();
            all.extend_from_slice(&potential);
            all.extend_from_slice(&gradient);
        }
        all
    }

    #[test]
    fn every_instruction_set_gives_the_scalar_twins_sums() {
        let points = Distribution::Sphere.points(3000, &mut Random::new(3));
        // Rounding of a few thousand terms; a wrong lane would be off by 1e-2.
        // The tolerance decides how exact inverse distances are.
        let cases = [
            (Precision::Single, 1e-3, 1e-5),
            (Precision::Double, 1e-3, 1e-9),
            (Precision::Double, 1e-9, 1e-12),
        ];
        for (precision, tolerance, rounding) in cases {
            let options = Options {
                tolerance,
                precision: Some(precision),
                gradient: true,
                dipoles: true,
                ..Options::default()
            };
            let expected = sums(&points, &options, Level::Scalar);
            let norm: f64 = expected.iter().map(|v| v * v).sum();
            for level in Level::available() {
                let found = sums(&points, &options, level);
                let error: f64 = found.iter().zip(&expected).map(|(a, b)| (a - b) * (a - b)).sum();
                assert!((error / norm).sqrt() < rounding, "{level:?} {precision:?}");
            }
        }
    }
}
