//! Geometry processed once, charges many times.

use std::time::Instant;

use crate::crowds::{self, Sum};
use crate::direct::all_pairs::AllPairs;
use crate::geometry::{Geometry, OrderedPoints};
use crate::model::densities::count_densities;
use crate::model::points::check_points;
use crate::model::stages::timed;
use crate::model::{
    Backend, Densities, Info, Kernel, Mode, Options, Points, Potentials, Precision, StageSeconds,
    Stop,
};
use crate::near::p2p::NearSums;
use crate::tree::Root;
use crate::{Error, Span, engine, gpu, treecode, tuning};
use simd::Level;

/// Crowds that are summed by plans of their own.
pub(crate) type Crowds = crowds::Crowds<Plan>;

/// A sum whose geometry has been processed.
#[derive(Debug)]
#[must_use]
pub struct Plan {
    engine: Engine,
    crowds: Crowds,
    sources: usize,
    targets: usize,
    with_gradient: bool,
    with_dipoles: bool,
    stop: Stop,
    info: Info,
    stages: StageSeconds,
}

#[derive(Debug)]
enum Engine {
    Single(Box<engine::Engine<f32>>),
    Double(Box<engine::Engine<f64>>),
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
        let m = targets.map_or(sources.len(), <[_]>::len);
        let gpu = match options.backend {
            Backend::Cpu => false,
            Backend::Cuda | Backend::Hybrid => true,
            Backend::Auto => options.mode != Mode::Direct && gpu::pays(sources.len(), m),
        };
        if !gpu {
            return Self::at_level(sources, targets, options, simd::check()?);
        }
        let mode = gpu::mode(options, sources.len(), m);
        match Self::on_gpu(sources, targets, &Options { mode, ..options.clone() }) {
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
    fn on_gpu(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        options.check()?;
        check_points("source", sources)?;
        check_points("target", targets.unwrap_or(&[]))?;
        check_screening(options.kernel, sources, targets)?;
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
            crowds: Crowds::default(),
            sources: sources.len(),
            targets: targets.map_or(sources.len(), <[_]>::len),
            with_gradient: options.gradient,
            with_dipoles: options.dipoles,
            stop: options.stop.clone().unwrap_or_default(),
            info,
            stages: StageSeconds::default(),
        })
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
        options.check()?;
        check_points("source", sources)?;
        check_points("target", targets.unwrap_or(&[]))?;
        check_screening(options.kernel, sources, targets)?;
        let m = targets.map_or(sources.len(), <[_]>::len);
        let mode = tuning::mode(options, sources.len(), m);
        let mut info = Info { mode, ..Info::default() };
        let stop = options.stop.clone().unwrap_or_default();
        let mut crowds = Crowds::default();
        let engine = if mode == Mode::Direct {
            info.precision = Some(Precision::Double);
            info.near_precision = Some(Precision::Double);
            info.p2p_pairs = sources.len() as u64 * m as u64;
            let mut all = AllPairs::new(options.kernel, simd, sources, targets);
            all.stop = stop.clone().into();
            info.memory_bytes = all.bytes() as u64;
            Engine::Direct(Box::new(all))
        } else {
            let precision = tuning::precision(options);
            info.precision = Some(precision);
            let points = Points { sources, targets };
            let mut geometry = if mode == Mode::Treecode {
                let ordered = treecode::order(points, options, precision);
                treecode::geometry(points, ordered, options, precision, &mut info)
            } else {
                let ordered = OrderedPoints::new(points, options, precision);
                Geometry::new(points, ordered, options, precision, simd, &mut info)
            };
            crowds = Crowds::take(&mut geometry, points, info.leaf_size, options, simd)?;
            info.p2p_pairs = geometry.lists.near_pairs;
            let near_sums = NearSums::new(options, precision);
            info.near_precision = Some(near_sums.precision);
            match precision {
                Precision::Single => {
                    let mut engine = engine::Engine::new(simd, geometry, points, near_sums);
                    engine.stop = stop.clone().into();
                    info.memory_bytes = engine.bytes() as u64;
                    Engine::Single(Box::new(engine))
                }
                Precision::Double => {
                    let mut engine = engine::Engine::new(simd, geometry, points, near_sums);
                    engine.stop = stop.clone().into();
                    info.memory_bytes = engine.bytes() as u64;
                    Engine::Double(Box::new(engine))
                }
            }
        };
        crowds.describe(&mut info);
        info.setup_seconds = started.elapsed().as_secs_f64();
        Ok(Self {
            engine,
            crowds,
            sources: sources.len(),
            targets: m,
            with_gradient: options.gradient,
            with_dipoles: options.dipoles,
            stop,
            info,
            stages: StageSeconds::default(),
        })
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
        if potentials.gradient.is_some() && !self.with_gradient {
            return Err(Error::NotPlanned { what: "gradient" });
        }
        if densities.dipoles.is_some() && !self.with_dipoles {
            return Err(Error::NotPlanned { what: "dipoles" });
        }
        let k = count_densities(self.sources, self.targets, &densities, &potentials)?;
        self.stop.check()?;
        let mut sums = potentials.reborrowed();
        self.stages = match &mut self.engine {
            Engine::Single(engine) => engine.apply(k, densities, sums)?,
            Engine::Double(engine) => engine.apply(k, densities, sums)?,
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
            ("charges", densities * self.sources, Some(charges.len())),
            ("potential", densities * self.targets, potential.map(cuda::Buffer::len)),
            ("gradient", 3 * densities * self.targets, gradient.map(cuda::Buffer::len)),
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

fn check_screening(
    kernel: Kernel,
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
) -> Result<(), Error> {
    if kernel.kappa() == 0.0 {
        return Ok(());
    }
    let all: Vec<&[[f64; 3]]> = std::iter::once(sources).chain(targets).collect();
    kernel.check_extent(Root::bounds(&all))
}
