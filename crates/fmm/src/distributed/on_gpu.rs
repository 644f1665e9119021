//! The plan of one rank's GPU, and one `apply`, with messages between its stages.
//!
//! Near pairs are summed on a stream of their own from the start on: strengths of other ranks'
//! sources come before, on the host, expansions meanwhile. In a hybrid sum cores translate these
//! meanwhile, too. What fails on one rank ends all at the next message.

use comm::{Communicator, Operation};

use super::agreement::agreed;
use super::dealt::{Common, Dealt};
use super::exponents::exponents;
use super::halo::{Halo, Sent};
use super::steps::Steps;
use crate::Error;
use crate::expansions::Expansions;
use crate::gpu::{self, Exchange, RankEngine, Signature, stage_seconds};
use crate::model::{Backend, Densities, Info, Potentials, Precision, StageSeconds};
use simd::Real;

/// The plan of a rank on its GPU.
pub(super) struct OnGpu {
    pub engine: RankEngine,
    /// The place of each source in Morton order.
    pub index: Vec<u32>,
    /// Whether expansions go from GPU to GPU, where GPUs of several ranks translate.
    pub between_gpus: Option<bool>,
}

/// The engine of distributed points. Collective.
pub(super) fn plan(
    group: &dyn Communicator,
    dealt: Dealt,
    halo: &Halo,
    common: &Common<'_>,
    info: &mut Info,
    steps: &mut Steps,
) -> Result<OnGpu, Error> {
    let (options, precision) = (common.options, common.tuning.precision);
    info.near_precision = Some(precision);
    let Dealt { own, own_sources, essential, lists, numbers, .. } = &dealt;
    let part = gpu::Part {
        root: common.root,
        tree: &essential.tree,
        lists,
        numbers,
        sources: (&essential.order, &essential.points),
        own: *own_sources,
        targets: (&own.order, dealt.targets()),
        itself: own.points.is_none(),
    };
    let hybrid = options.backend == Backend::Hybrid;
    let [parts, multipoles] = halo.exchanged(&essential.tree);
    // Expansions that cores translate do not go through the GPU's memory.
    let peers = if hybrid { [&[][..]; 2] } else { [&parts[..], &multipoles] };
    let engine = steps.of("engine", || RankEngine::new(&part, peers, options, precision, info));
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
    if hybrid {
        let (mut geometry, _) = dealt.into_geometry(common);
        let index = std::mem::take(&mut geometry.source_order.index);
        let made = steps.of("tables", || engine.translated_on_host(common.simd, geometry));
        return Ok(OnGpu { engine: agreed(group, made)?, index, between_gpus: None });
    }
    let connected = steps.of("peers", || connect(group, &mut engine))?;
    let between_gpus = (group.size() > 1).then_some(connected);
    Ok(OnGpu { engine, index: dealt.essential.order.index, between_gpus })
}

/// Lets GPUs copy expansions from each other where all can; true if they do. Collective.
fn connect(group: &dyn Communicator, engine: &mut RankEngine) -> Result<bool, Error> {
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

/// One `apply` on one rank.
pub(super) struct Job<'a> {
    pub group: &'a dyn Communicator,
    pub halo: &'a Halo,
    pub precision: Precision,
    pub side: f64,
    pub steps: &'a mut Steps,
}

impl Job<'_> {
    /// Sums k densities of the first `own` sources of the tree, which are this rank's, and of all
    /// others'; `index`: the place of each source in Morton order.
    pub(super) fn run(
        &mut self,
        engine: &mut RankEngine,
        index: &[u32],
        own: usize,
        k: usize,
        densities: Densities<'_>,
        sums: Potentials<'_>,
    ) -> Result<StageSeconds, Error> {
        let (group, halo) = (self.group, self.halo);
        let signature = Signature::new(k, &densities, &sums);
        agreed(group, engine.prepare(signature))?;
        let scalar = self.precision.bytes();
        let begin = self.steps.seconds();
        let bring = |values: Option<&[f64]>, width: usize| {
            let bring = |values| halo.bring(group, index, own, values, [k, width]);
            values.map(bring).transpose()
        };
        let (charges, dipoles) = (bring(densities.charges, 1)?, bring(densities.dipoles, 3)?);
        self.steps.ended("sources of other ranks", begin);
        let of_others = Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() };
        let exponents = exponents(group, &densities, [k, own], self.side)?;
        let (hybrid, direct) = (engine.is_hybrid(), engine.copies_between_gpus());
        // GPUs copy what all have packed.
        let exchange = |of, packed| {
            if direct { Ok(Vec::new()) } else { halo.exchange_packed(group, of, packed, scalar) }
        };
        let mut running = agreed(
            group,
            engine.begin(signature, [densities, of_others], &exponents, self.steps.started),
        )?;
        for density in 0..k {
            if hybrid {
                agreed(group, running.upward_on_host(density))?;
                let begin = self.steps.seconds();
                running.exchange_on_host(&mut OnHost { group, halo })?;
                self.steps.ended("multipoles of other ranks", begin);
                agreed(group, running.downward_on_host(density))?;
                continue;
            }
            let begin = self.steps.seconds();
            let parts = agreed(group, running.upward(density))?;
            let messages = exchange(Sent::Parts, parts)?;
            self.steps.ended("shared multipoles", begin);
            let begin = self.steps.seconds();
            let multipoles = agreed(group, running.complete(&messages))?;
            let messages = exchange(Sent::Whole, multipoles)?;
            self.steps.ended("multipoles of other ranks", begin);
            agreed(group, running.downward(density, &messages))?;
        }
        let (spans, device) = agreed(group, running.finish(sums))?;
        let seconds = StageSeconds { device, ..stage_seconds(&spans) };
        self.steps.spans.extend(spans);
        Ok(seconds)
    }
}

/// What ranks exchange of expansions that their cores have.
struct OnHost<'a> {
    group: &'a dyn Communicator,
    halo: &'a Halo,
}

impl Exchange for OnHost<'_> {
    type Error = comm::Error;

    fn run<T: Real>(&mut self, multipoles: &mut Expansions<T>) -> Result<(), comm::Error> {
        let Self { group, halo } = *self;
        halo.complete(group, 1, multipoles)?;
        let pending = halo.send_multipoles(group, 1, multipoles)?;
        halo.receive_multipoles(pending, 1, multipoles)
    }
}
