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
mod route;
mod scout;
mod steps;
mod top;
pub(crate) mod tuning;
mod work;

use std::time::Instant;

pub use curve::along_curve;
pub use group_plan::GroupPlan;
pub use work::StageWork;

use comm::{Communicator, Group, Operation};

use crate::expansions::screened::Screening;
use crate::geometry::Geometry;
use crate::model::densities::count_densities;
use crate::model::points::check_points;
use crate::model::stages::timed;
use crate::model::{
    Backend, Densities, Info, Mode, Options, Points, Potentials, Precision, StageSeconds,
};
use crate::near::p2p::NearSums;
use crate::plan::Crowds;
use crate::tree::morton;
use crate::tree::{Crowded, MortonOrder, Root};
use crate::{Error, Span, engine, gpu};
use simd::Level;

use agreement::{agreed, same};
use dealt::{Callers, Common, Dealt, OwnTargets, deal, root_and_leaf_size, split_near};
use essential::Essential;
use halo::Halo;
use held::Held;
use route::Route;
use steps::Steps;
use top::Top;
use tuning::Tuning;

/// The span of a timeline in which strengths go to the ranks that hold their points.
pub const STRENGTHS: &str = "strengths to their ranks";
/// The span in which sums come back from there.
pub const SUMS: &str = "sums back";

/// What a plan on several ranks resolved to, beyond [`Info`]; the same on all ranks but for what is
/// said to be this one's.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RankInfo {
    /// Ranks.
    pub ranks: usize,
    /// Sources and targets of this rank.
    pub points: [u64; 2],
    /// Subtrees that are distributed.
    pub grains: usize,
    /// Sources of other ranks near this one's targets.
    pub halo_sources: u64,
    /// Multipole expansions that this rank gets from others.
    pub halo_multipoles: u64,
    /// Bytes that this rank sends for every density, without those that bring strengths to where
    /// they are summed, and sums back.
    pub bytes_sent: u64,
    /// Largest work of any rank over the mean of all, by the cost model.
    pub imbalance: f64,
    /// Where the GPUs of several ranks translate: whether expansions go from GPU to GPU by peer
    /// copies, not through the host's memory.
    pub between_gpus: Option<bool>,
    /// Work of each stage on this rank, by the cost model; without boxes above the distributed
    /// parts.
    pub work: StageWork,
}

/// A sum over the points of several ranks whose geometry has been processed; each rank has one.
#[derive(Debug)]
#[must_use]
pub struct Plan {
    group: Group,
    engine: Engine,
    /// Of own sources and targets, as this rank holds them.
    crowds: Crowds,
    sources: Route,
    /// None: the targets are the sources.
    targets: Option<Route>,
    halo: Halo,
    with_gradient: bool,
    with_dipoles: bool,
    info: Info,
    rank_info: RankInfo,
    /// Of the root cube.
    side: f64,
    held: Held,
    stages: StageSeconds,
    timeline: Vec<Span>,
    setup: Vec<Span>,
}

/// What all ranks have agreed on.
struct Agreed<'a> {
    root: Root,
    top: &'a Top,
    options: &'a Options,
    simd: Level,
}

#[derive(Debug)]
enum Engine {
    Single(Box<engine::Engine<f32>>),
    Double(Box<engine::Engine<f64>>),
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
        agreed(group, check(sources, targets, options))?;
        let with_targets = targets.is_some();
        let of_all = Options { gpu: 0, ..options.clone() };
        same(group, "options", &format!("{of_all:?}, targets: {with_targets}"))?;
        let simd = agreed(group, simd::check().map_err(Error::from))?;
        let points = [sources.len(), targets.map_or(sources.len(), <[_]>::len)];
        let (asked, (backend, fallback)) = (options.backend, backend(group, points, options)?);
        let options = &Options { backend, ..options.clone() };
        let mut tuning = Tuning::new(options, simd);
        // In a hybrid sum it depends on the threads per rank.
        let mut occupancy = [tuning.occupancy];
        group.all_reduce(&mut occupancy, Operation::Min)?;
        tuning.occupancy = occupancy[0];
        let (root, leaf_size) =
            steps.of("root", || root_and_leaf_size(group, sources, targets, options, &tuning))?;
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
        let (dealt, shares) = deal(group, &callers, &mut top, &common, &mut steps)?;
        drop((source_keys, target_keys));
        let info = Info {
            precision: Some(common.tuning.precision),
            mode: Mode::Fmm,
            backend,
            fallback,
            leaf_size,
            ..Info::default()
        };
        let agreed = Agreed { root, top: &top, options, simd };
        let made = Self::of_dealt(all, dealt, &agreed, info, &mut steps);
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

    /// From distributed points: what ranks exchange, and the engine.
    /// Collective.
    fn of_dealt(
        all: &Group,
        dealt: Dealt,
        &Agreed { root, top, options, simd }: &Agreed<'_>,
        mut info: Info,
        steps: &mut Steps,
    ) -> Result<Self, Error> {
        let group = &**all;
        let Dealt { sources, targets, own, essential, own_boxes, mut lists, numbers } = dealt;
        let OwnTargets { order: target_order, points: target_points } = own;
        let own_sources = sources.received();
        let target_points = target_points.as_deref().unwrap_or(&essential.points[..own_sources]);
        let halo = steps.of("halo", || Halo::new(group, top, &essential, &numbers));
        let [halo_sources, halo_multipoles] = halo.received();
        let mut rank_info = RankInfo {
            ranks: group.size(),
            points: [own_sources as u64, target_points.len() as u64],
            grains: top.grains.len(),
            halo_sources,
            halo_multipoles,
            ..RankInfo::default()
        };
        let components = if options.dipoles { 4 } else { 1 };
        let precision = crate::tuning::precision(options);
        let scalar = precision.bytes();
        let hybrid = options.backend == Backend::Hybrid;
        let mut crowds = Crowds::default();
        let engine = if hybrid || options.backend == Backend::Cuda {
            info.near_precision = Some(precision);
            rank_info.bytes_sent = halo.bytes([components * size_of::<f64>(), scalar]);
            let screening = Screening::new(options.kernel, root.side);
            let part = gpu::Part {
                root,
                tree: &essential.tree,
                lists: &lists,
                numbers: &numbers,
                sources: (&essential.order, &essential.points),
                own: own_sources,
                targets: (&target_order, target_points),
                itself: targets.is_none(),
            };
            let [parts, multipoles] = halo.exchanged(&essential.tree);
            // Expansions that cores translate do not go through the GPU's memory.
            let peers = if hybrid { [&[][..]; 2] } else { [&parts[..], &multipoles] };
            let engine = steps
                .of("engine", || gpu::RankEngine::new(&part, peers, options, precision, &mut info));
            // All ranks have this one, so that all may go on without GPUs.
            let mut crowded = [match engine {
                Err(Error::GpuCrowds { pairs }) => pairs as f64,
                _ => 0.0,
            }];
            group.all_reduce(&mut crowded, Operation::Max)?;
            if crowded[0] > 0.0 {
                return Err(Error::GpuCrowds { pairs: crowded[0] as u64 });
            }
            let mut engine = agreed(group, engine)?;
            let Essential { tree, order, .. } = essential;
            if hybrid {
                let geometry = Geometry {
                    root,
                    screening,
                    tree,
                    lists,
                    far: None,
                    numbers,
                    source_order: MortonOrder::default(),
                    target_order: None,
                    own: Some(own_boxes),
                    itself: targets.is_none(),
                };
                let made = steps.of("tables", || engine.translated_on_host(simd, geometry));
                engine = agreed(group, made)?;
            }
            if !hybrid {
                let connected = steps.of("peers", || connect(group, &mut engine))?;
                rank_info.between_gpus = (group.size() > 1).then_some(connected);
            }
            Engine::Gpu(Box::new(engine), order.index)
        } else {
            // Ranks that share a sum are not to be stopped one by one.
            let alone = Options { stop: None, ..options.clone() };
            steps.of("split near", || split_near(&essential, own_sources, &mut lists));
            let near_sums = NearSums::new(options, precision);
            info.near_precision = Some(near_sums.precision);
            rank_info.bytes_sent = halo.bytes([components * scalar, scalar]);
            let Essential { tree, order, ref points, .. } = essential;
            let mut geometry = Geometry {
                root,
                screening: Screening::new(options.kernel, root.side),
                tree,
                lists,
                far: None,
                numbers,
                source_order: order,
                target_order: Some(MortonOrder { keys: Vec::new(), index: target_order.index }),
                own: Some(own_boxes),
                itself: targets.is_none(),
            };
            let at = Points { sources: points, targets: Some(target_points) };
            let taken = Crowds::take(&mut geometry, at, info.leaf_size, &alone, simd);
            crowds = agreed(group, taken)?;
            geometry.describe(&mut info);
            match precision {
                Precision::Single => {
                    let engine =
                        steps.of("engine", || engine::Engine::new(simd, geometry, at, near_sums));
                    info.memory_bytes = engine.bytes() as u64;
                    Engine::Single(Box::new(engine))
                }
                Precision::Double => {
                    let engine =
                        steps.of("engine", || engine::Engine::new(simd, geometry, at, near_sums));
                    info.memory_bytes = engine.bytes() as u64;
                    Engine::Double(Box::new(engine))
                }
            }
        };
        crowds.describe(&mut info);
        Ok(Self {
            group: Group::clone(all),
            engine,
            crowds,
            sources,
            targets,
            halo,
            with_gradient: options.gradient,
            with_dipoles: options.dipoles,
            info,
            rank_info,
            side: root.side,
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
        let started = Instant::now();
        let group = Group::clone(&self.group);
        let own = agreed(&*group, self.count(&densities, &potentials))?;
        let mut most = [own as f64];
        group.all_reduce(&mut most, Operation::Max)?;
        // Arrays of no points do not tell how many densities there are.
        let k = if self.sent().iter().all(|&sent| sent == 0) { most[0] as usize } else { own };
        let asked = [potentials.potential.is_some(), potentials.gradient.is_some()];
        let given = [densities.charges.is_some(), densities.dipoles.is_some()];
        same(&*group, "densities", &format!("{k} densities, {given:?}, {asked:?}"))?;
        let mut held = std::mem::take(&mut self.held);
        let (n, m) = (self.sources.received(), self.rank_info.points[1] as usize);
        let given_lengths = given.into_iter().zip([k * n, 3 * k * n]);
        let asked_lengths = asked.into_iter().zip([k * m, 3 * k * m]);
        let lengths =
            given_lengths.chain(asked_lengths).map(|(is, length)| if is { length } else { 0 });
        let device = match &self.engine {
            Engine::Gpu(engine, _) => Some(engine.device()),
            _ => None,
        };
        agreed(&*group, held.resize(lengths, device))?;
        let inputs =
            [(densities.charges, 1, &mut held.charges), (densities.dipoles, 3, &mut held.dipoles)];
        for (values, width, to) in inputs {
            if let Some(values) = values {
                self.sources.forward(&*group, values, [k, width], to)?;
            }
        }
        let end = started.elapsed().as_secs_f64();
        let mut spans = vec![Span { stage: STRENGTHS, gpu: false, begin: 0.0, end }];
        let densities = Densities {
            charges: given[0].then_some(&held.charges[..]),
            dipoles: given[1].then_some(&held.dipoles[..]),
        };
        let sums = Potentials {
            potential: asked[0].then_some(&mut held.potential[..]),
            gradient: asked[1].then_some(&mut held.gradient[..]),
        };
        self.sum(k, densities, sums, started)?;
        let begin = started.elapsed().as_secs_f64();
        let back = self.targets.as_ref().unwrap_or(&self.sources);
        let outputs = [
            (potentials.potential.as_deref_mut(), 1, &held.potential),
            (potentials.gradient.as_deref_mut(), 3, &held.gradient),
        ];
        for (to, width, sums) in outputs {
            if let Some(to) = to {
                back.back(&*group, sums, [k, width], to)?;
            }
        }
        self.held = held;
        let end = started.elapsed().as_secs_f64();
        spans.push(Span { stage: SUMS, gpu: false, begin, end });
        self.timeline.extend(spans);
        self.stages.total = end;
        Ok(())
    }

    /// Sums k densities of this rank's sources, shape (k, n), and of all others' at its targets,
    /// both in the order in which it holds them.
    fn sum(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        mut sums: Potentials<'_>,
        started: Instant,
    ) -> Result<(), Error> {
        let (group, halo, m) = (&*self.group, &self.halo, self.rank_info.points[1] as usize);
        let own = self.sources.received();
        let (timeline, seconds) = (Vec::new(), StageSeconds::default());
        (self.timeline, self.stages) = if let Engine::Gpu(engine, index) = &mut self.engine {
            let precision = self.info.precision.unwrap_or(Precision::Double);
            let side = self.side;
            let mut job = on_gpu::Job { group, halo, precision, side, started, timeline, seconds };
            job.run(engine, index, own, k, densities, sums)?;
            (job.timeline, job.seconds)
        } else {
            let mut job = on_cores::Job { group, halo, started, timeline, seconds };
            match &mut self.engine {
                Engine::Single(engine) => {
                    job.run(engine, [k, own, m], densities, sums.reborrowed())?
                }
                Engine::Double(engine) => {
                    job.run(engine, [k, own, m], densities, sums.reborrowed())?
                }
                Engine::Gpu(..) => {}
            }
            let near = &mut job.seconds.p2p;
            timed(near, || self.crowds.add(k, densities, &mut sums))?;
            (job.timeline, job.seconds)
        };
        Ok(())
    }

    /// The number of densities.
    fn count(
        &self,
        densities: &Densities<'_>,
        potentials: &Potentials<'_>,
    ) -> Result<usize, Error> {
        if potentials.gradient.is_some() && !self.with_gradient {
            return Err(Error::NotPlanned { what: "gradient" });
        }
        if densities.dipoles.is_some() && !self.with_dipoles {
            return Err(Error::NotPlanned { what: "dipoles" });
        }
        let [n, m] = self.sent();
        count_densities(n, m, densities, potentials)
    }

    /// Sources and targets that this rank called with.
    fn sent(&self) -> [usize; 2] {
        let sources = self.sources.sent();
        [sources, self.targets.as_ref().map_or(sources, Route::sent)]
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
        let Engine::Single(engine) = &self.engine else { return None };
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

/// Where the sum is computed, the same on all ranks, and why not on GPUs; `points`: sources and
/// targets of this rank. Collective.
fn backend(
    group: &dyn Communicator,
    points: [usize; 2],
    options: &Options,
) -> Result<(Backend, Option<String>), Error> {
    if options.backend == Backend::Cpu {
        return Ok((Backend::Cpu, None));
    }
    if options.backend == Backend::Auto {
        let mut all = points.map(|count| count as f64);
        group.all_reduce(&mut all, Operation::Sum)?;
        // As many on each as pay on one.
        let [n, m] = all.map(|count| count as usize / group.size());
        if !gpu::pays(n, m) {
            return Ok((Backend::Cpu, None));
        }
    }
    let found = agreed(group, gpu::check_gpu(options.gpu).map_err(Error::from));
    match found {
        Ok(()) if options.backend == Backend::Hybrid => Ok((Backend::Hybrid, None)),
        Ok(()) => Ok((Backend::Cuda, None)),
        Err(error) if options.backend == Backend::Auto => {
            Ok((Backend::Cpu, Some(error.to_string())))
        }
        Err(error) => Err(error),
    }
}

/// Lets GPUs copy expansions from each other where all can; true if they do. Collective.
fn connect(group: &dyn Communicator, engine: &mut gpu::RankEngine) -> Result<bool, Error> {
    let here = cuda::process();
    let processes = comm::all_gather(group, &[here])?;
    let abroad = processes.iter().any(|process| process[..] != [here]);
    let offers = engine.offers(group.size(), abroad);
    let offers: Vec<Vec<gpu::Offer>> = comm::exchange(group, &offers)?;
    // What fails is left to the host.
    let mut all = [f64::from(u8::from(engine.find(&offers).unwrap_or(false)))];
    group.all_reduce(&mut all, Operation::Min)?;
    if all[0] == 0.0 {
        engine.through_the_host();
    }
    Ok(all[0] == 1.0)
}

fn check(
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    options: &Options,
) -> Result<(), Error> {
    options.check()?;
    check_points("source", sources)?;
    check_points("target", targets.unwrap_or(&[]))?;
    let bad = |option, value, allowed| Err(Error::Option { option, value, allowed });
    if !matches!(options.mode, Mode::Fmm | Mode::Auto) {
        return bad("mode", format!("{:?}", options.mode), "Fmm or Auto on several ranks");
    }
    Ok(())
}
