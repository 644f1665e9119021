//! Geometry processed once, charges many times.

use std::time::Instant;

use simd::{Level, Simd, Task, dispatch};

use crate::bandwidths::groups;
use crate::boxes::Point;
use crate::direct::AllPairs;
use crate::engine::Request;
use crate::group_plan::{GroupPlan, Whole, rough};
use crate::input::{check_bandwidths, check_charges, check_points, count_densities, padded};
use crate::scratch::Scratch;
use crate::tuning::Processor;
use crate::{Backend, Bandwidths, Error, Mode, Options, Sums, Targets, gpu};

/// Interpolation between bandwidths may err by this share of the tolerance.
const OF_BANDWIDTHS: f64 = 0.05;

/// What a plan resolved to.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Groups of bandwidths, each with boxes and a grid of its own.
    pub groups: usize,
    /// Groups of which a part at least is left to a grid.
    pub grids: usize,
    /// Bandwidths that charges are brought to the grids with, over all groups.
    pub channels: usize,
    /// Nodes that a point reaches along one axis.
    pub width: usize,
    /// Nodes of the grids, over all stages of the convolution.
    pub nodes: u64,
    /// Source-target pairs that are summed one by one.
    pub pairs: u64,
    /// Where the sum is computed: never `Auto`.
    pub backend: Backend,
    /// The GPU's name.
    pub gpu: Option<String>,
    /// Why [`Backend::Auto`] took the CPU, if not because the sum is small.
    pub fallback: Option<String>,
    /// Seconds that `Plan::new` took.
    pub setup_seconds: f64,
    /// Bytes that the plan holds, and the nodes of the largest grid during `apply`.
    pub memory_bytes: u64,
}

/// Wall seconds of one `apply`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Seconds {
    /// On a GPU: with charges and sums in its memory.
    pub device: f64,
    /// The whole, copies included.
    pub total: f64,
}

/// A sum over sources in `D` dimensions (1, 2 or 3) whose geometry has been processed.
#[derive(Debug)]
#[must_use]
pub struct Plan<const D: usize> {
    engine: Engine,
    sources: usize,
    targets: usize,
    request: Request,
    info: Info,
    scratch: Scratch,
}

#[derive(Debug)]
enum Engine {
    Groups(Vec<GroupPlan>),
    Direct(AllPairs),
    Gpu(gpu::Engine),
}

struct Lanes;

impl Task<f64> for Lanes {
    type Output = usize;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> usize {
        V::LANES
    }
}

impl<const D: usize> Plan<D> {
    /// Plans the sum over `sources`, shape (n, D), with their `bandwidths`.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooLarge`], [`Error::TooMany`], [`Error::Bandwidth`],
    /// [`Error::Length`] of bandwidths, [`Error::Option`], [`Error::Simd`], [`Error::Gpu`].
    pub fn new(
        sources: &[[f64; D]],
        bandwidths: Bandwidths<'_>,
        targets: Targets<'_, D>,
        options: &Options,
    ) -> Result<Self, Error> {
        let level = simd::check()?;
        let plan = |on| Self::with(sources, bandwidths, targets, options, level, on);
        let asked = match options.backend {
            Backend::Cpu => false,
            Backend::Cuda => true,
            Backend::Auto => sources.len().max(targets.len(sources)) >= gpu::WORTH_IT,
        };
        if !asked {
            return plan(None);
        }
        let on_gpu = cuda::Device::open(options.gpu).map_err(Error::from);
        match on_gpu.and_then(|device| plan(Some((device, gpu::precision(options))))) {
            Err(Error::Gpu(error)) if options.backend == Backend::Auto => {
                let mut plan = plan(None)?;
                plan.info.fallback = Some(error.to_string());
                Ok(plan)
            }
            other => other,
        }
    }

    /// As [`Plan::new`], with an instruction set that the processor has.
    #[doc(hidden)]
    pub fn at_level(
        sources: &[[f64; D]],
        bandwidths: Bandwidths<'_>,
        targets: Targets<'_, D>,
        options: &Options,
        level: Level,
    ) -> Result<Self, Error> {
        Self::with(sources, bandwidths, targets, options, level, None)
    }

    /// As [`Plan::new`], with an instruction set that the processor has and, where one is given, on
    /// a GPU in a format.
    pub(crate) fn with(
        sources: &[[f64; D]],
        bandwidths: Bandwidths<'_>,
        targets: Targets<'_, D>,
        options: &Options,
        level: Level,
        on_gpu: Option<(cuda::Device, cuda::Precision)>,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        options.check()?;
        check_points("source", sources)?;
        let bandwidths = check_bandwidths(bandwidths, sources.len())?;
        let on_grid;
        let on_itself = matches!(targets, Targets::Sources);
        let targets = match targets {
            Targets::Sources => sources,
            Targets::Points(points) => points,
            Targets::Grid(grid) => {
                on_grid = grid.points();
                &on_grid
            }
        };
        check_points("target", targets)?;
        let (from, to) = (padded(sources), padded(targets));
        let mut info = Info::default();
        let engine = if options.mode == Mode::Direct {
            let all = AllPairs::new(&from, &bandwidths, &to, D);
            info.pairs = from.len() as u64 * to.len() as u64;
            info.memory_bytes = all.bytes() as u64;
            match &on_gpu {
                Some((device, _)) => Engine::Gpu(all.on_gpu(device.clone(), options)?),
                None => Engine::Direct(all),
            }
        } else {
            let (extent, diameter) = bounds(&from, &to);
            let whole = Whole {
                sources: &from,
                targets: &to,
                bandwidths: &bandwidths,
                dimensions: D,
                extent,
                diameter,
                processor: match &on_gpu {
                    Some((_, precision)) => Processor::Gpu(*precision),
                    None => Processor::Core { lanes: dispatch(level, Lanes) },
                },
                same: on_itself,
                options,
            };
            let tolerance = OF_BANDWIDTHS * options.tolerance;
            let groups = match from.is_empty() || to.is_empty() {
                true => Vec::new(),
                false => groups(&bandwidths, from.len(), diameter, tolerance),
            };
            let plans: Vec<GroupPlan> =
                groups.iter().map(|group| GroupPlan::new(&whole, group)).collect();
            info.groups = plans.len();
            info.channels = groups.iter().map(|group| group.channels.len()).sum();
            for plan in &plans {
                info.pairs += plan.pairs;
                info.memory_bytes += plan.bytes() as u64;
                if let Some(grid) = &plan.grid {
                    info.grids += 1;
                    info.width = grid.window.width();
                    info.nodes += (grid.blocks() * grid.layout.nodes()) as u64;
                }
            }
            match on_gpu {
                Some((device, precision)) => {
                    let counts = [from.len(), to.len()];
                    let rough = rough(options.tolerance);
                    let engine =
                        gpu::Engine::new(device, precision, D, counts, &plans, options, rough)?;
                    Engine::Gpu(engine)
                }
                None => Engine::Groups(plans),
            }
        };
        if let Engine::Gpu(engine) = &engine {
            info.backend = Backend::Cuda;
            info.gpu = Some(engine.name().to_owned());
            info.memory_bytes = engine.bytes();
        }
        info.setup_seconds = started.elapsed().as_secs_f64();
        let request = Request {
            level,
            dimensions: D,
            gradient: options.gradient,
            rough: rough(options.tolerance),
        };
        let scratch = Scratch::default();
        Ok(Self { engine, sources: from.len(), targets: to.len(), request, info, scratch })
    }

    /// Sums k densities of `charges`, shape (k, n), and says how long that took.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Charge`], [`Error::NotPlanned`], [`Error::Gpu`].
    pub fn apply(&self, charges: &[f64], mut sums: Sums<'_>) -> Result<Seconds, Error> {
        let started = Instant::now();
        let gradient = sums.gradients.is_some();
        if gradient && !self.request.gradient {
            return Err(Error::NotPlanned);
        }
        let k = count_densities::<D>(self.sources, self.targets, charges, &sums)?;
        check_charges(charges, self.sources)?;
        let mut device = 0.0;
        match &self.engine {
            Engine::Gpu(engine) => device = engine.apply(charges, k, &mut sums)?,
            Engine::Direct(all) => all.apply(self.request.level, charges, k, &mut sums),
            Engine::Groups(groups) => {
                sums.clear();
                let request = Request { gradient, ..self.request };
                for group in groups {
                    let own = group.sums(request, charges, self.sources, k, &self.scratch);
                    sums.add(&own, k, D, Some(&group.rank), group.scale);
                    self.scratch.give(own);
                }
            }
        }
        Ok(Seconds { device, total: started.elapsed().as_secs_f64() })
    }

    /// What the plan resolved to.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Of the grid of the first group on processors: the nodes that its kernels reach, the side of
    /// a block, the boxes of sources, and the blocks that blocks take from, in all stages.
    #[doc(hidden)]
    pub fn first_grid(&self) -> Option<[usize; 4]> {
        let Engine::Groups(groups) = &self.engine else { return None };
        let group = groups.first()?;
        let grid = group.grid.as_ref()?;
        let inputs = grid.stages.iter().map(|stage| stage.inputs.entries.len()).sum();
        Some([grid.kernels[0].reach, grid.layout.side(), group.sources.boxes.len(), inputs])
    }
}

/// The largest absolute coordinate, and a bound of the distance between any two points.
fn bounds(sources: &[Point], targets: &[Point]) -> (f64, f64) {
    let (mut extent, mut square) = (0.0f64, 0.0);
    for axis in 0..3 {
        let all = || sources.iter().chain(targets).map(|x| x[axis]);
        let low = all().fold(f64::INFINITY, f64::min);
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        extent = extent.max(low.abs()).max(high.abs());
        square += (high - low).powi(2);
    }
    (extent, 1.000_001 * square.sqrt())
}
