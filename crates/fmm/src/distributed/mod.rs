//! One sum over the points of several ranks.
//!
//! Each rank brings points of its own and gets the sums at its targets. In between they are dealt
//! out along the space-filling curve: the top of one octree for all is agreed on by counting
//! (module `top`), points go to the rank that has their part of it (`route`), each rank finds the
//! boxes of others that its targets interact with (`scout`) and joins them to its own tree
//! (`essential`). From there on the stages are those of one rank, with messages between (`halo`):
//! strengths of near sources travel while multipole expansions are made, expansions while own near
//! pairs are summed.

mod essential;
mod halo;
mod route;
mod scout;
mod top;

use std::time::Instant;

use comm::{Communicator, Operation};

use crate::engine::{self, Part, by_few};
use crate::geometry::{Geometry, Points};
use crate::lists::{Lists, Rows, Rule};
use crate::morton::Sample;
use crate::p2p::NearSums;
use crate::plan::{Densities, Info, Potentials, StageSeconds, check_points};
use crate::scale::Scale;
use crate::screened::Screening;
use crate::simd::{self, Real};
use crate::translations::timed;
use crate::tree::{MortonOrder, Root, Tree, divides};
use crate::truncation::{self, PointSets, choose_on_ranks};
use crate::{Backend, Error, Mode, Options, Precision, Span, direct, tuning};

use essential::Essential;
use halo::Halo;
use route::Route;
use scout::Scout;
use top::{Top, code};

/// Ratio of the largest share of the work to the mean from which on points are dealt out anew.
const IMBALANCE: f64 = 1.1;

/// Times that points are dealt out anew, at most.
const TRIES: usize = 2;

/// What a plan on several ranks resolved to, beyond [`Info`]; the same on all ranks but for what is
/// said to be this one's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankInfo {
    /// Ranks.
    pub ranks: usize,
    /// Sources and targets of this rank.
    pub points: [u64; 2],
    /// Parts of the octree that are dealt out.
    pub grains: usize,
    /// Sources of other ranks near this one's targets.
    pub halo_sources: u64,
    /// Multipole expansions that this rank gets from others.
    pub halo_multipoles: u64,
    /// Bytes that this rank sends for every density, without those that bring strengths to where
    /// they are summed, and sums back.
    pub bytes_sent: u64,
    /// Largest work of any rank over the mean of all: near pairs and translations, by the cost
    /// model.
    pub imbalance: f64,
}

/// A sum over the points of several ranks whose geometry has been processed; each rank has one.
#[derive(Debug)]
pub struct Plan<'a> {
    group: &'a dyn Communicator,
    engine: Engine,
    sources: Route,
    /// None: the targets are the sources.
    targets: Option<Route>,
    halo: Halo,
    with_gradient: bool,
    with_dipoles: bool,
    info: Info,
    rank_info: RankInfo,
    stages: StageSeconds,
    timeline: Vec<Span>,
}

#[derive(Debug)]
enum Engine {
    Single(Box<engine::Engine<f32>>),
    Double(Box<engine::Engine<f64>>),
}

impl<'a> Plan<'a> {
    /// Plans the sum over the sources of all ranks at the targets of all; with `None` the targets
    /// are the sources. Any rank may have no points at all. Collective.
    ///
    /// # Errors
    /// Those of [`crate::Plan::new`], on the rank that has one, and on the others
    /// [`comm::Error::Elsewhere`]; [`Error::Option`] for another backend than the CPU, or mode than
    /// the FMM; [`Error::Ranks`].
    pub fn new(
        group: &'a dyn Communicator,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        agreed(group, check(sources, targets, options))?;
        same(group, "options", &format!("{options:?}, targets: {}", targets.is_some()))?;
        let simd = agreed(group, simd::check().map_err(Error::from))?;
        let precision = tuning::precision(options);
        let (root, leaf_size) = root_and_leaf_size(group, sources, targets, options, precision)?;
        let source_order = MortonOrder::new(&root, sources);
        let target_order = targets.map(|targets| MortonOrder::new(&root, targets));
        let target_keys = target_order.as_ref().map(|order| &order.keys[..]);
        let mut top = Top::new(group, &source_order.keys, target_keys, leaf_size)?;
        let callers = Callers {
            sources: (&source_order, sources),
            targets: target_order.as_ref().zip(targets),
        };
        let rule = (tuning::stencil(options, precision), leaf_size);
        let mut tries = 0;
        let (dealt, imbalance) = loop {
            let dealt = Dealt::new(group, &callers, &root, &top, rule, precision, options)?;
            let (grains, imbalance) = dealt.work(group, &top, precision, options)?;
            tries += 1;
            if imbalance <= IMBALANCE || tries > TRIES || top.grains.len() <= group.size() {
                break (dealt, imbalance);
            }
            let before = top.owners.clone();
            top.deal(&grains, group.size());
            if top.owners == before {
                break (dealt, imbalance);
            }
        };
        let Dealt { sources, targets, own, essential, mut lists } = dealt;
        let OwnTargets { order: target_order, points: target_points } = own;
        let own_sources = sources.received();
        let target_points = target_points.as_deref().unwrap_or(&essential.points[..own_sources]);
        let screening = Screening::new(options.kernel, root.side);
        let sets = PointSets {
            root: &root,
            screening,
            tree: &essential.tree,
            sources: (&essential.order, &essential.points),
            targets: (&target_order, target_points),
        };
        let counts = &essential.source_counts;
        let numbers = choose_on_ranks(group, &sets, counts, &mut lists, options, simd)?;
        let halo = Halo::new(group, &top, &essential, &numbers);
        split_near(&essential, own_sources, &mut lists);
        let near_sums = NearSums::new(options, precision);
        let mut info = Info {
            precision: Some(precision),
            near_precision: Some(near_sums.precision),
            mode: Mode::Fmm,
            backend: Backend::Cpu,
            leaf_size,
            ..Info::default()
        };
        let Essential { tree, order, ref points, .. } = essential;
        let geometry = Geometry {
            root,
            screening,
            tree,
            lists,
            far: None,
            numbers,
            source_order: order,
            target_order: Some(MortonOrder { keys: Vec::new(), index: target_order.index }),
        };
        geometry.describe(&mut info);
        let [halo_sources, halo_multipoles] = halo.received();
        let components = if options.dipoles { 4 } else { 1 };
        let at = Points { sources: points, targets: Some(target_points) };
        let (engine, bytes_sent) = match precision {
            Precision::Single => {
                let engine = engine::Engine::new(simd, geometry, at, near_sums);
                info.memory_bytes = engine.bytes() as u64;
                (Engine::Single(Box::new(engine)), halo.bytes::<f32>(components))
            }
            Precision::Double => {
                let engine = engine::Engine::new(simd, geometry, at, near_sums);
                info.memory_bytes = engine.bytes() as u64;
                (Engine::Double(Box::new(engine)), halo.bytes::<f64>(components))
            }
        };
        let rank_info = RankInfo {
            ranks: group.size(),
            points: [own_sources as u64, target_points.len() as u64],
            grains: top.grains.len(),
            halo_sources,
            halo_multipoles,
            bytes_sent,
            imbalance,
        };
        info.setup_seconds = started.elapsed().as_secs_f64();
        Ok(Self {
            group,
            engine,
            sources,
            targets,
            halo,
            with_gradient: options.gradient,
            with_dipoles: options.dipoles,
            info,
            rank_info,
            stages: StageSeconds::default(),
            timeline: Vec::new(),
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
        let own = agreed(self.group, self.count(&densities, &potentials))?;
        let mut most = [own as f64];
        self.group.all_reduce(&mut most, Operation::Max)?;
        // Arrays of no points do not tell how many densities there are.
        let k = if self.sent().iter().all(|&sent| sent == 0) { most[0] as usize } else { own };
        let asked = [potentials.potential.is_some(), potentials.gradient.is_some()];
        let given = [densities.charges.is_some(), densities.dipoles.is_some()];
        same(self.group, "densities", &format!("{k} densities, {given:?}, {asked:?}"))?;
        let (group, route) = (self.group, &self.sources);
        let others = self.engine.sources() - route.received();
        let bring = |values: Option<&[f64]>, width: usize| {
            let bring = |values| route.forward(group, values, [k, width], width * others);
            values.map(bring).transpose()
        };
        let charges = bring(densities.charges, 1)?;
        let dipoles = bring(densities.dipoles, 3)?;
        let m = self.rank_info.points[1] as usize;
        let mut potential = asked[0].then(|| vec![0.0; k * m]);
        let mut gradient = asked[1].then(|| vec![0.0; 3 * k * m]);
        let densities = Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() };
        let sums =
            Potentials { potential: potential.as_deref_mut(), gradient: gradient.as_deref_mut() };
        let mut job = Job {
            group,
            halo: &self.halo,
            started,
            timeline: Vec::new(),
            seconds: StageSeconds::default(),
        };
        match &mut self.engine {
            Engine::Single(engine) => job.run(engine, k, m, densities, sums)?,
            Engine::Double(engine) => job.run(engine, k, m, densities, sums)?,
        }
        let back = self.targets.as_ref().unwrap_or(&self.sources);
        let of_potential = potentials.potential.as_deref_mut().zip(potential.as_deref());
        let of_gradient = potentials.gradient.as_deref_mut().zip(gradient.as_deref());
        for (sums, width) in [(of_potential, 1), (of_gradient, 3)] {
            if let Some((to, sums)) = sums {
                back.back(group, sums, [k, width], to)?;
            }
        }
        (self.timeline, self.stages) = (job.timeline, job.seconds);
        self.stages.total = started.elapsed().as_secs_f64();
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
        direct::count_densities(n, m, densities, potentials)
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

    /// Stages of the last `apply` on this rank.
    pub fn stages(&self) -> &StageSeconds {
        &self.stages
    }

    /// When stages and messages of the last `apply` were under way on this rank.
    pub fn timeline(&self) -> &[Span] {
        &self.timeline
    }
}

impl Engine {
    fn sources(&self) -> usize {
        match self {
            Self::Single(engine) => engine.sources(),
            Self::Double(engine) => engine.sources(),
        }
    }
}

/// One `apply` on one rank.
struct Job<'a> {
    group: &'a dyn Communicator,
    halo: &'a Halo,
    started: Instant,
    timeline: Vec<Span>,
    seconds: StageSeconds,
}

impl Job<'_> {
    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn span(&mut self, stage: &'static str, begin: f64) {
        let end = self.now();
        self.timeline.push(Span { stage, gpu: false, begin, end });
    }

    fn run<T: Real>(
        &mut self,
        engine: &mut engine::Engine<T>,
        k: usize,
        m: usize,
        densities: Densities<'_>,
        mut sums: Potentials<'_>,
    ) -> Result<(), comm::Error> {
        let (group, halo, n) = (self.group, self.halo, engine.sources());
        by_few(k, [n, m], densities, &mut sums, |few, sums| {
            let k = few.count;
            let scales = scales(group, &few.densities, k, n, engine.geometry().root.side)?;
            engine.begin(few.densities, scales, sums.gradient.is_some());
            let particles_sent = self.now();
            let particles = halo.send_particles(group, engine)?;
            let begin = self.now();
            engine.upward(k, &mut self.seconds);
            self.span("P2M and M2M", begin);
            let begin = self.now();
            halo.complete(group, k, engine)?;
            self.span("shared multipoles", begin);
            let multipoles_sent = self.now();
            let multipoles = halo.send_multipoles(group, k, engine)?;
            let begin = self.now();
            timed(&mut self.seconds.p2p, || engine.p2p(Part::Own));
            self.span("P2P of own pairs", begin);
            halo.receive_multipoles(multipoles, k, engine)?;
            self.span("multipoles of other ranks", multipoles_sent);
            let begin = self.now();
            engine.downward(k, &mut self.seconds);
            self.span("M2L, L2L and L2P", begin);
            halo.receive_particles(particles, engine)?;
            self.span("sources of other ranks", particles_sent);
            let begin = self.now();
            timed(&mut self.seconds.p2p, || engine.p2p(Part::Halo));
            self.span("P2P with other ranks", begin);
            engine.scatter(sums);
            Ok(())
        })
    }
}

/// Scales that are right for the strengths of all ranks.
fn scales(
    group: &dyn Communicator,
    densities: &Densities<'_>,
    k: usize,
    n: usize,
    side: f64,
) -> Result<Vec<Scale>, comm::Error> {
    let exponent = |density| {
        let (charges, dipoles) = densities.of(density, n);
        Scale::exponent(charges, dipoles, side).map_or(f64::NEG_INFINITY, f64::from)
    };
    let mut exponents: Vec<f64> = (0..k).map(exponent).collect();
    group.all_reduce(&mut exponents, Operation::Max)?;
    let scale = |&exponent: &f64| Scale::by(if exponent.is_finite() { exponent as i32 } else { 0 });
    Ok(exponents.iter().map(scale).collect())
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
    if !matches!(options.backend, Backend::Cpu | Backend::Auto) {
        return bad("backend", format!("{:?}", options.backend), "Cpu or Auto on several ranks");
    }
    if !matches!(options.mode, Mode::Fmm | Mode::Auto) {
        return bad("mode", format!("{:?}", options.mode), "Fmm or Auto on several ranks");
    }
    Ok(())
}

/// A rank's own result, unless others have an error. Collective.
fn agreed<T>(group: &dyn Communicator, own: Result<T, Error>) -> Result<T, Error> {
    let message = own.as_ref().map(|_| ()).map_err(ToString::to_string);
    let agreed = comm::agree(group, message);
    let own = own?;
    agreed?;
    Ok(own)
}

/// Makes sure that ranks were given the same. Collective.
fn same(group: &dyn Communicator, what: &'static str, own: &str) -> Result<(), Error> {
    let all = group.all_gather(own.as_bytes())?;
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => {
            let text = |rank: usize| String::from_utf8_lossy(&all[rank]).into_owned();
            let [first, other] = [text(0), text(rank)];
            Err(Error::RanksDiffer { what, rank, first, other })
        }
    }
}

/// The root cube about the points of all ranks, and the most points a leaf may hold.
fn root_and_leaf_size(
    group: &dyn Communicator,
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    options: &Options,
    precision: Precision,
) -> Result<(Root, usize), Error> {
    let all: Vec<&[[f64; 3]]> = std::iter::once(sources).chain(targets).collect();
    let [low, high] = Root::bounds(&all);
    let mut bounds = [low.map(|x| -x), high].concat();
    group.all_reduce(&mut bounds, Operation::Max)?;
    let bound = |i: usize| [bounds[i], bounds[i + 1], bounds[i + 2]];
    let root = Root::of_bounds([bound(0).map(|x| -x), bound(3)]);
    if let Some(leaf_size) = options.leaf_size {
        return Ok((root, leaf_size));
    }
    let mut count = [sources.len() as f64];
    group.all_reduce(&mut count, Operation::Sum)?;
    let share = sources.len() as f64 / f64::max(count[0], 1.0);
    let own = Sample::draw(&root, sources, share);
    let drawn = comm::all_gather(group, &own)?.concat();
    let occupancy = tuning::occupancy(options, precision);
    let sample = Sample::of_keys(drawn, count[0] as usize);
    Ok((root.enlarged(tuning::enlargement(&sample, occupancy)), (2.0 * occupancy) as usize))
}

/// The points that ranks were called with, in Morton order.
struct Callers<'a> {
    sources: (&'a MortonOrder, &'a [[f64; 3]]),
    targets: Option<(&'a MortonOrder, &'a [[f64; 3]])>,
}

/// The targets that a rank computes at.
struct OwnTargets {
    order: MortonOrder,
    /// None: its sources.
    points: Option<Vec<[f64; 3]>>,
}

/// Points dealt out, and what each rank does with its own.
struct Dealt {
    sources: Route,
    targets: Option<Route>,
    own: OwnTargets,
    essential: Essential,
    lists: Lists,
}

impl Dealt {
    /// Deals points out as `top` says. Collective.
    fn new(
        group: &dyn Communicator,
        callers: &Callers<'_>,
        root: &Root,
        top: &Top,
        (stencil, leaf_size): (crate::Stencil, usize),
        precision: Precision,
        options: &Options,
    ) -> Result<Self, Error> {
        let deal = |(order, points): (&MortonOrder, &[[f64; 3]])| {
            let parts = top.parts(&order.keys, group.size());
            let route = Route::new(group, &order.index, &parts)?;
            let points = route.points(group, points)?;
            Ok::<_, comm::Error>((route, points))
        };
        let (sources, source_points) = deal(callers.sources)?;
        let (targets, target_points) = callers.targets.map(deal).transpose()?.unzip();
        agreed(group, check_points("source", &source_points))?;
        agreed(group, check_points("target", target_points.as_deref().unwrap_or(&[])))?;
        let source_order = MortonOrder::new(root, &source_points);
        let other_order = target_points.as_ref().map(|points| MortonOrder::new(root, points));
        let target_keys = &other_order.as_ref().unwrap_or(&source_order).keys;
        let tree = Tree::split(&source_order, other_order.as_ref(), |cell| {
            top.is_split(code(cell.level, cell.place))
                || divides(&cell.targets, target_keys, leaf_size)
                || divides(&cell.sources, &source_order.keys, leaf_size)
        });
        let scout = Scout::new(group, top, &tree, Rule::new(stencil, 0))?;
        let essential = Essential::new(group, &tree, (&source_order, source_points), scout)?;
        let block_size = crate::geometry::block_size(options, precision);
        let lists = Lists::new(&essential.tree, stencil, 0, block_size);
        let own = OwnTargets { order: other_order.unwrap_or(source_order), points: target_points };
        Ok(Self { sources, targets, own, essential, lists })
    }

    /// The work for the targets of each grain, by the cost model, and the largest share of any rank
    /// over the mean. Collective.
    fn work(
        &self,
        group: &dyn Communicator,
        top: &Top,
        precision: Precision,
        options: &Options,
    ) -> Result<(Vec<f64>, f64), comm::Error> {
        let Self { essential, lists, .. } = self;
        let tree = &essential.tree;
        let mut work = vec![0.0; top.grains.len()];
        let mut add = |cell: usize, more: f64| {
            let cell = &tree.cells[cell];
            if let Some(grain) = top.grain_of(code(cell.level, cell.place)) {
                work[grain] += more;
            }
        };
        let pair = tuning::cost_of_pair(options, precision);
        for (row, &cell) in lists.near.cells.iter().enumerate() {
            let targets = tree.cells[cell as usize].targets.len() as f64;
            let near = lists.near.row(row).iter();
            let sources: usize = near.map(|&s| tree.cells[s as usize].sources.len()).sum();
            add(cell as usize, pair * targets * sources as f64);
        }
        let translation = tuning::rotated_cost(truncation::expected::mean(options.tolerance));
        for block in &lists.target_blocks {
            let mut counts = vec![0u32; block.cells.len()];
            block.pairs.iter().for_each(|pair| counts[pair[1] as usize] += 1);
            for (cell, count) in block.cells.clone().zip(counts) {
                add(cell, translation * f64::from(count));
            }
        }
        group.all_reduce(&mut work, Operation::Sum)?;
        let mut of_ranks = vec![0.0; group.size()];
        for (&rank, work) in top.owners.iter().zip(&work) {
            of_ranks[rank] += work;
        }
        let mean = of_ranks.iter().sum::<f64>() / group.size() as f64;
        let most = of_ranks.iter().fold(0.0f64, |most, &work| most.max(work));
        Ok((work, if mean > 0.0 { most / mean } else { 1.0 }))
    }
}

/// Takes other ranks' leaves out of the near list, into that of the halo.
fn split_near(essential: &Essential, own_sources: usize, lists: &mut Lists) {
    let tree = &essential.tree;
    let is_own = |leaf: u32| {
        let first = tree.cells[leaf as usize].sources.start as usize;
        (essential.order.index[first] as usize) < own_sources
    };
    let near = std::mem::take(&mut lists.near);
    let empty = || Rows { cells: near.cells.clone(), begins: vec![0], entries: Vec::new() };
    let (mut own, mut halo) = (empty(), empty());
    for row in 0..near.cells.len() {
        for &leaf in near.row(row) {
            let rows = if is_own(leaf) { &mut own } else { &mut halo };
            rows.entries.push(leaf);
        }
        own.begins.push(own.entries.len() as u32);
        halo.begins.push(halo.entries.len() as u32);
    }
    if halo.entries.is_empty() {
        halo = Rows::default();
    }
    (lists.near, lists.halo) = (own, halo);
}
