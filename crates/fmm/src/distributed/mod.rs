//! One sum over the points of several ranks.
//!
//! Each rank brings points of its own and gets the sums at its targets. In between they are
//! distributed along the space-filling curve: ranks agree on the top of one octree by counting
//! (module `top`), points go to the rank that has their part of it (`route`), each rank finds the
//! boxes of others that its targets interact with (`scout`) and joins them to its own tree
//! (`essential`). From there on the stages are those of one rank, with messages between (`halo`):
//! strengths of near sources travel while multipole expansions are made, expansions while own near
//! pairs are summed.

mod agreement;
mod backend;
mod code;
mod counts;
mod curve;
mod dealt;
mod essential;
mod exponents;
mod group_plan;
mod halo;
mod held;
mod on_cores;
mod on_gpu;
mod rank_info;
mod route;
mod scout;
mod steps;
mod top;
pub(crate) mod tuning;
mod work;

pub use curve::along_curve;
pub use group_plan::GroupPlan;
pub use rank_info::RankInfo;
pub use work::StageWork;

use comm::{Group, Operation};

use crate::engine::Cores;
use crate::geometry::Geometry;
use crate::model::densities::Planned;
use crate::model::stages::timed;
use crate::model::{
    Backend, Densities, Info, Mode, Options, Points, Potentials, Precision, StageSeconds,
};
use crate::plan::Crowds;
use crate::tree::Crowded;
use crate::tree::morton;
use crate::{Error, Span, gpu};

use agreement::{agreed, same};
use backend::backend;
use dealt::{Callers, Common, Dealt, Routes, deal, root_and_leaf_size};
use halo::Halo;
use held::Held;
use steps::Steps;
use top::Top;
use tuning::Tuning;

/// The span of a timeline in which strengths go to the ranks that hold their points.
pub const STRENGTHS: &str = "strengths to their ranks";
/// The span in which sums come back from there.
pub const SUMS: &str = "sums back";

/// A sum over the points of several ranks whose geometry has been processed; each rank has one.
#[derive(Debug)]
#[must_use]
pub struct Plan {
    group: Group,
    engine: Engine,
    /// Of own sources and targets, as this rank holds them.
    crowds: Crowds,
    routes: Routes,
    halo: Halo,
    planned: Planned,
    info: Info,
    rank_info: RankInfo,
    /// Of the root cube.
    side: f64,
    held: Held,
    stages: StageSeconds,
    timeline: Vec<Span>,
    setup: Vec<Span>,
}

#[derive(Debug)]
enum Engine {
    Cores(Cores),
    /// On a GPU, or on a GPU and cores, with the place of each source in Morton order.
    Gpu(Box<gpu::RankEngine>, Vec<u32>),
}

impl Plan {
    /// Plans the sum over the sources of all ranks at the targets of all; with `None` the targets
    /// are the sources. Any rank may have no points at all. Collective.
    ///
    /// On GPUs each rank takes the one that its options name, which may differ.
    ///
    /// # Errors
    /// As [`crate::Plan::new`] on the rank that fails, on the others
    /// [`comm::Error::Elsewhere`]; [`Error::Option`] for another mode than the FMM;
    /// [`Error::Ranks`].
    pub fn new(
        group: &Group,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let mut steps = Steps::new();
        let all = group;
        let group = &**all;
        let points = Points { sources, targets };
        agreed(group, check(points, options))?;
        let with_targets = targets.is_some();
        let of_all = Options { gpu: 0, ..options.clone() };
        same(group, "options", &format!("{of_all:?}, targets: {with_targets}"))?;
        let simd = agreed(group, simd::check().map_err(Error::from))?;
        let counts = [sources.len(), points.target_count()];
        let (asked, (backend, fallback)) = (options.backend, backend(group, counts, options)?);
        let options = &Options { backend, ..options.clone() };
        let mut tuning = Tuning::new(options, simd);
        // In a hybrid sum it depends on the threads per rank.
        let mut occupancy = [tuning.occupancy];
        group.all_reduce(&mut occupancy, Operation::Min)?;
        tuning.occupancy = occupancy[0];
        let (root, leaf_size) =
            steps.of("root", || root_and_leaf_size(group, points, options, &tuning))?;
        let keys = |points: &[[f64; 3]]| morton::keys(&root, points);
        let (source_keys, target_keys) = steps.of("keys", || (keys(sources), targets.map(keys)));
        let on_cpu = backend == Backend::Cpu;
        let crowded = if on_cpu { Crowded::ToTheLast } else { Crowded::Whole };
        let mut top = steps.of("top", || {
            Top::new(group, &source_keys, target_keys.as_deref(), leaf_size, crowded)
        })?;
        let callers = Callers {
            sources: (&source_keys, sources),
            targets: target_keys.as_deref().zip(targets),
        };
        let common = Common { root, leaf_size, crowded, options, tuning, simd };
        let (dealt, routes, shares) = deal(group, &callers, &mut top, &common, &mut steps)?;
        drop((source_keys, target_keys));
        let info = Info {
            precision: Some(common.tuning.precision),
            mode: Mode::Fmm,
            backend,
            fallback,
            leaf_size,
            ..Info::default()
        };
        let made = Self::of_dealt(all, dealt, routes, &top, &common, info, &mut steps);
        let mut plan = match made {
            // So have all ranks.
            Err(error @ Error::GpuCrowds { .. }) if asked == Backend::Auto => {
                let options = Options { backend: Backend::Cpu, ..options.clone() };
                let mut plan = Self::new(all, sources, targets, &options)?;
                plan.info.fallback = Some(error.to_string());
                return Ok(plan);
            }
            other => other?,
        };
        (plan.rank_info.imbalance, plan.rank_info.work) = (shares.imbalance, shares.own);
        plan.info.setup_seconds = steps.seconds();
        plan.setup = steps.spans;
        Ok(plan)
    }

    /// From distributed points: what ranks exchange, and the engine. Collective.
    fn of_dealt(
        all: &Group,
        dealt: Dealt,
        routes: Routes,
        top: &Top,
        common: &Common<'_>,
        mut info: Info,
        steps: &mut Steps,
    ) -> Result<Self, Error> {
        let group = &**all;
        let options = common.options;
        let halo = steps.of("halo", || Halo::new(group, top, &dealt.essential, &dealt.numbers));
        let [halo_sources, halo_multipoles] = halo.received();
        let mut rank_info = RankInfo {
            ranks: group.size(),
            points: [dealt.own_sources as u64, dealt.targets().len() as u64],
            grains: top.grains.len(),
            halo_sources,
            halo_multipoles,
            ..RankInfo::default()
        };
        let components = if options.dipoles { 4 } else { 1 };
        let scalar = common.tuning.precision.bytes();
        let mut crowds = Crowds::default();
        let engine = if info.backend == Backend::Cpu {
            rank_info.bytes_sent = halo.bytes([components * scalar, scalar]);
            let cores;
            (cores, crowds) = on_cores::plan(group, dealt, common, &mut info, steps)?;
            Engine::Cores(cores)
        } else {
            rank_info.bytes_sent = halo.bytes([components * size_of::<f64>(), scalar]);
            let made = on_gpu::plan(group, dealt, &halo, common, &mut info, steps)?;
            rank_info.between_gpus = made.between_gpus;
            Engine::Gpu(Box::new(made.engine), made.index)
        };
        crowds.describe(&mut info);
        let [sources, targets] = [routes.sources.sent(), routes.back().sent()];
        Ok(Self {
            group: Group::clone(all),
            engine,
            crowds,
            routes,
            halo,
            planned: Planned::new(sources, targets, options),
            info,
            rank_info,
            side: common.root.side,
            held: Held::default(),
            stages: StageSeconds::default(),
            timeline: Vec::new(),
            setup: Vec::new(),
        })
    }

    /// Sums the densities of all ranks' sources into the potentials at all ranks' targets. Shapes
    /// as of [`crate::Plan::apply`], with this rank's points. Collective: all ranks give as many
    /// densities, of the same kinds, and ask for the same sums.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotPlanned`], on the other ranks [`comm::Error::Elsewhere`];
    /// [`Error::Ranks`].
    pub fn apply(
        &mut self,
        densities: Densities<'_>,
        mut potentials: Potentials<'_>,
    ) -> Result<(), Error> {
        let mut steps = Steps::new();
        let group = Group::clone(&self.group);
        let own = agreed(&*group, self.planned.count(&densities, &potentials))?;
        let mut most = [own as f64];
        group.all_reduce(&mut most, Operation::Max)?;
        // Arrays of no points do not tell how many densities there are.
        let has_none = self.planned.sources == 0 && self.planned.targets == 0;
        let k = if has_none { most[0] as usize } else { own };
        let asked = [potentials.potential.is_some(), potentials.gradient.is_some()];
        let given = [densities.charges.is_some(), densities.dipoles.is_some()];
        same(&*group, "densities", &format!("{k} densities, {given:?}, {asked:?}"))?;
        let mut held = std::mem::take(&mut self.held);
        let (n, m) = (self.routes.sources.received(), self.rank_info.points[1] as usize);
        let given_lengths = given.into_iter().zip([k * n, 3 * k * n]);
        let asked_lengths = asked.into_iter().zip([k * m, 3 * k * m]);
        let lengths =
            given_lengths.chain(asked_lengths).map(|(is, length)| if is { length } else { 0 });
        let device = match &self.engine {
            Engine::Gpu(engine, _) => Some(engine.device()),
            Engine::Cores(_) => None,
        };
        agreed(&*group, held.resize(lengths, device))?;
        let inputs =
            [(densities.charges, 1, &mut held.charges), (densities.dipoles, 3, &mut held.dipoles)];
        for (values, width, to) in inputs {
            if let Some(values) = values {
                self.routes.sources.forward(&*group, values, [k, width], to)?;
            }
        }
        let strengths = Span { stage: STRENGTHS, gpu: false, begin: 0.0, end: steps.seconds() };
        let densities = Densities {
            charges: given[0].then_some(&held.charges[..]),
            dipoles: given[1].then_some(&held.dipoles[..]),
        };
        let sums = Potentials {
            potential: asked[0].then_some(&mut held.potential[..]),
            gradient: asked[1].then_some(&mut held.gradient[..]),
        };
        self.stages = self.sum(k, densities, sums, &mut steps)?;
        let begin = steps.seconds();
        let outputs = [
            (potentials.potential.as_deref_mut(), 1, &held.potential),
            (potentials.gradient.as_deref_mut(), 3, &held.gradient),
        ];
        for (to, width, sums) in outputs {
            if let Some(to) = to {
                self.routes.back().back(&*group, sums, [k, width], to)?;
            }
        }
        self.held = held;
        self.stages.total = steps.seconds();
        steps.spans.push(strengths);
        steps.ended(SUMS, begin);
        self.timeline = steps.spans;
        Ok(())
    }

    /// Sums k densities of this rank's sources, shape (k, n), and of all others' at its targets,
    /// both in the order in which it holds them.
    fn sum(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        mut sums: Potentials<'_>,
        steps: &mut Steps,
    ) -> Result<StageSeconds, Error> {
        let (group, halo, m) = (&*self.group, &self.halo, self.rank_info.points[1] as usize);
        let own = self.routes.sources.received();
        let cores = match &mut self.engine {
            Engine::Gpu(engine, index) => {
                let precision = self.info.precision.unwrap_or(Precision::Double);
                let mut job = on_gpu::Job { group, halo, precision, side: self.side, steps };
                return job.run(engine, index, own, k, densities, sums);
            }
            Engine::Cores(cores) => cores,
        };
        let mut job = on_cores::Job { group, halo, seconds: StageSeconds::default(), steps };
        match cores {
            Cores::Single(engine) => job.run(engine, [k, own, m], densities, sums.reborrowed())?,
            Cores::Double(engine) => job.run(engine, [k, own, m], densities, sums.reborrowed())?,
        }
        let mut seconds = job.seconds;
        timed(&mut seconds.p2p, || self.crowds.add(k, densities, &mut sums))?;
        Ok(seconds)
    }

    /// What the plan resolved to on this rank.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// How the work is shared out.
    pub fn rank_info(&self) -> &RankInfo {
        &self.rank_info
    }

    /// The geometry of a sum by processors in single precision, and the terms of its M2M and L2L
    /// with vectors of `lanes` lanes.
    #[doc(hidden)]
    pub fn in_single_precision(&self, lanes: usize) -> Option<(&Geometry, [f64; 2])> {
        let Engine::Cores(Cores::Single(engine)) = &self.engine else { return None };
        let geometry = engine.geometry();
        Some((geometry, engine.translations().between_levels(geometry, lanes)))
    }

    /// Stages of the last `apply` on this rank.
    pub fn stages(&self) -> &StageSeconds {
        &self.stages
    }

    /// When the steps of [`Plan::new`] were under way on this rank.
    pub fn setup_timeline(&self) -> &[Span] {
        &self.setup
    }

    /// When stages and messages of the last `apply` were under way on this rank.
    pub fn timeline(&self) -> &[Span] {
        &self.timeline
    }
}

/// Checks what a rank asks for.
fn check(points: Points<'_>, options: &Options) -> Result<(), Error> {
    options.check()?;
    points.check()?;
    if !matches!(options.mode, Mode::Fmm | Mode::Auto) {
        let (value, allowed) = (format!("{:?}", options.mode), "Fmm or Auto on several ranks");
        return Err(Error::Option { option: "mode", value, allowed });
    }
    Ok(())
}
