//! One `apply` on one rank's GPU, with messages between its stages.
//!
//! Near pairs are summed on a stream of their own from the start on: strengths of other ranks'
//! sources come before, on the host, expansions meanwhile. In a hybrid sum cores translate these
//! meanwhile, too. What fails on one rank ends all at the
//! next message.

use std::time::Instant;

use comm::Communicator;

use super::agreement::agreed;
use super::exponents::exponents;
use super::halo::{Halo, Sent};
use crate::expansions::Expansions;
use crate::gpu::{Exchange, RankEngine, Signature, stage_seconds};
use crate::model::{Densities, Potentials, Precision, StageSeconds};
use crate::{Error, Span};
use simd::Real;

/// One `apply` on one rank.
pub(super) struct Job<'a> {
    pub group: &'a dyn Communicator,
    pub halo: &'a Halo,
    pub precision: Precision,
    pub side: f64,
    pub started: Instant,
    pub timeline: Vec<Span>,
    pub seconds: StageSeconds,
}

impl Job<'_> {
    fn span(&mut self, stage: &'static str, begin: f64) {
        let end = self.now();
        self.timeline.push(Span { stage, gpu: false, begin, end });
    }

    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

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
    ) -> Result<(), Error> {
        let (group, halo) = (self.group, self.halo);
        let signature = Signature {
            densities: k,
            charges: densities.charges.is_some(),
            dipoles: densities.dipoles.is_some(),
            potential: sums.potential.is_some(),
            gradient: sums.gradient.is_some(),
        };
        agreed(group, engine.prepare(signature))?;
        let scalar = self.precision.bytes();
        let begin = self.now();
        let bring = |values: Option<&[f64]>, width: usize| {
            let bring = |values| halo.bring(group, index, own, values, [k, width]);
            values.map(bring).transpose()
        };
        let (charges, dipoles) = (bring(densities.charges, 1)?, bring(densities.dipoles, 3)?);
        self.span("sources of other ranks", begin);
        let of_others = Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() };
        let exponents = exponents(group, &densities, [k, own], self.side)?;
        let (hybrid, direct) = (engine.is_hybrid(), engine.copies_between_gpus());
        // GPUs copy what all have packed.
        let exchange = |of, packed| {
            if direct { Ok(Vec::new()) } else { halo.exchange_packed(group, of, packed, scalar) }
        };
        let mut running = agreed(
            group,
            engine.begin(signature, [densities, of_others], &exponents, self.started),
        )?;
        for density in 0..k {
            if hybrid {
                agreed(group, running.upward_on_host(density))?;
                let begin = self.now();
                running.exchange_on_host(&mut OnHost { group, halo })?;
                self.span("multipoles of other ranks", begin);
                agreed(group, running.downward_on_host(density))?;
                continue;
            }
            let begin = self.now();
            let parts = agreed(group, running.upward(density))?;
            let messages = exchange(Sent::Parts, parts)?;
            self.span("shared multipoles", begin);
            let begin = self.now();
            let multipoles = agreed(group, running.complete(&messages))?;
            let messages = exchange(Sent::Whole, multipoles)?;
            self.span("multipoles of other ranks", begin);
            agreed(group, running.downward(density, &messages))?;
        }
        let (spans, device) = agreed(group, running.finish(sums))?;
        self.seconds = StageSeconds { device, ..stage_seconds(&spans) };
        self.timeline.extend(spans);
        Ok(())
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
