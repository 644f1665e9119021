//! Geometry processed once, charges many times.

use std::time::Instant;

use crate::crowds::{self, Sum};
use crate::direct::all_pairs::AllPairs;
use crate::engine::Cores;
use crate::geometry::{Geometry, OrderedPoints};
use crate::model::densities::Planned;
use crate::model::stages::timed;
use crate::model::{
    Backend, Densities, Info, Mode, Options, Points, Potentials, Precision, StageSeconds, Stop,
};
use crate::tree::Root;
use crate::{Error, Span, gpu, treecode, tuning};
use simd::Level;

/// Crowds that are summed by plans of their own.
pub(crate) type Crowds = crowds::Crowds<Plan>;

/// A sum whose geometry has been processed.
#[derive(Debug)]
#[must_use]
pub struct Plan {
    engine: Engine,
    crowds: Crowds,
    planned: Planned,
    stop: Stop,
    info: Info,
    stages: StageSeconds,
}

#[derive(Debug)]
enum Engine {
    Cores(Cores),
    Gpu(Box<gpu::Engine>),
    Direct(Box<AllPairs>),
}

impl Plan {
    /// Plans the sum over `sources` at `targets`; with `None` the targets are the sources.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooMany`], [`Error::Option`]; [`Error::Simd`] on a CPU;
    /// [`Error::Gpu`], [`Error::GpuMemory`] and [`Error::GpuCrowds`] where a GPU is asked for.
    pub fn new(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let points = Points { sources, targets };
        let m = points.target_count();
        let gpu = match options.backend {
            Backend::Cpu => false,
            Backend::Cuda | Backend::Hybrid => true,
            Backend::Auto => options.mode != Mode::Direct && gpu::pays(sources.len(), m),
        };
        if !gpu {
            return Self::at_level(sources, targets, options, simd::check()?);
        }
        let mode = gpu::mode(options, sources.len(), m);
        match Self::on_gpu(points, &Options { mode, ..options.clone() }) {
            Err(error @ (Error::Gpu(_) | Error::GpuMemory { .. } | Error::GpuCrowds { .. }))
                if options.backend == Backend::Auto =>
            {
                let mut plan = Self::at_level(sources, targets, options, simd::check()?)?;
                plan.info.fallback = Some(error.to_string());
                Ok(plan)
            }
            other => other,
        }
    }

    /// As [`Plan::new`], on a GPU.
    fn on_gpu(points: Points<'_>, options: &Options) -> Result<Self, Error> {
        let started = Instant::now();
        check(points, options)?;
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
        let engine = gpu::Engine::new(points, options, precision, None, &mut info)?;
        let engine = Engine::Gpu(Box::new(engine));
        Ok(Self::of(engine, Crowds::default(), points, options, info, started))
    }

    /// As [`Plan::new`], with an instruction set that the processor has.
    #[doc(hidden)]
    pub fn at_level(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
        simd: Level,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        let points = Points { sources, targets };
        check(points, options)?;
        let m = points.target_count();
        let mode = tuning::mode(options, sources.len(), m);
        let mut info = Info { mode, ..Info::default() };
        if mode == Mode::Direct {
            info.precision = Some(Precision::Double);
            info.near_precision = Some(Precision::Double);
            info.p2p_pairs = sources.len() as u64 * m as u64;
            let mut all = AllPairs::new(options.kernel, simd, sources, targets);
            all.stop = options.stop.clone().unwrap_or_default().into();
            info.memory_bytes = all.bytes() as u64;
            let engine = Engine::Direct(Box::new(all));
            return Ok(Self::of(engine, Crowds::default(), points, options, info, started));
        }
        let precision = tuning::precision(options);
        info.precision = Some(precision);
        let mut geometry = if mode == Mode::Treecode {
            let ordered = treecode::order(points, options, precision);
            treecode::geometry(points, ordered, options, precision, &mut info)
        } else {
            let ordered = OrderedPoints::new(points, options, precision);
            Geometry::new(points, ordered, options, precision, simd, &mut info)
        };
        let crowds = Crowds::take(&mut geometry, points, info.leaf_size, options, simd)?;
        info.p2p_pairs = geometry.lists.near_pairs;
        let cores = Cores::new(simd, geometry, points, options, precision, &mut info);
        crowds.describe(&mut info);
        Ok(Self::of(Engine::Cores(cores), crowds, points, options, info, started))
    }

    fn of(
        engine: Engine,
        crowds: Crowds,
        points: Points<'_>,
        options: &Options,
        mut info: Info,
        started: Instant,
    ) -> Self {
        info.setup_seconds = started.elapsed().as_secs_f64();
        Self {
            engine,
            crowds,
            planned: Planned::new(points.sources.len(), points.target_count(), options),
            stop: options.stop.clone().unwrap_or_default(),
            info,
            stages: StageSeconds::default(),
        }
    }

    /// Sums `densities` into `potentials`. The number of densities k follows from the arrays'
    /// lengths.
    ///
    /// # Errors
    /// [`Error::Length`] when an array does not fit, [`Error::NotPlanned`],
    /// [`Error::Interrupted`] where [`Options::stop`] asks for it.
    pub fn apply(
        &mut self,
        densities: Densities<'_>,
        mut potentials: Potentials<'_>,
    ) -> Result<(), Error> {
        let k = self.planned.count(&densities, &potentials)?;
        self.stop.check()?;
        let mut sums = potentials.reborrowed();
        self.stages = match &mut self.engine {
            Engine::Cores(cores) => cores.apply(k, densities, sums)?,
            Engine::Gpu(engine) => engine.apply(k, densities, sums)?,
            Engine::Direct(all) => {
                let mut stages = StageSeconds::default();
                timed(&mut stages.p2p, || all.apply(k, densities, &mut sums))?;
                StageSeconds { total: stages.p2p, ..stages }
            }
        };
        let mut seconds = 0.0;
        timed(&mut seconds, || self.crowds.add(k, densities, &mut potentials))?;
        self.stages.p2p += seconds;
        self.stages.total += seconds;
        Ok(())
    }

    /// The GPU in whose memory everything of this plan is, with the stream that its sums run on;
    /// none if cores take part.
    pub fn device(&self) -> Option<cuda::Device> {
        match &self.engine {
            Engine::Gpu(engine) => engine.whole_device(),
            _ => None,
        }
    }

    /// Potentials, gradients or both of `densities` densities of charges, all in the memory of
    /// [`Plan::device`], shapes (k, n), (k, m) and (k, m, 3). Returns when they are there.
    ///
    /// # Errors
    /// [`Error::NotPlanned`] without such a device, [`Error::Length`], [`Error::Gpu`].
    pub fn apply_on_device(
        &mut self,
        densities: usize,
        charges: &cuda::Buffer<f64>,
        potential: Option<&cuda::Buffer<f64>>,
        gradient: Option<&cuda::Buffer<f64>>,
    ) -> Result<(), Error> {
        let lengths = [
            ("charges", densities * self.planned.sources, Some(charges.len())),
            ("potential", densities * self.planned.targets, potential.map(cuda::Buffer::len)),
            ("gradient", 3 * densities * self.planned.targets, gradient.map(cuda::Buffer::len)),
        ];
        for (what, expected, found) in lengths {
            if let Some(found) = found.filter(|&found| found < expected) {
                return Err(Error::Length { what, expected, found });
            }
        }
        self.planned.check_gradient(gradient.is_some())?;
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

impl Sum for Plan {
    fn planned(points: Points<'_>, options: &Options, simd: Level) -> Result<Self, Error> {
        Self::at_level(points.sources, points.targets, options, simd)
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn apply(&mut self, densities: Densities<'_>, sums: Potentials<'_>) -> Result<(), Error> {
        Self::apply(self, densities, sums)
    }
}

/// Checks what a plan is asked for; extents only of a screened kernel.
fn check(points: Points<'_>, options: &Options) -> Result<(), Error> {
    options.check()?;
    points.check()?;
    if options.kernel.kappa() == 0.0 {
        return Ok(());
    }
    options.kernel.check_extent(Root::bounds(&points.sets()))
}
