//! One `apply` on the GPU of a rank, with messages between its stages.
//!
//! Near pairs are summed on a stream of their own from the start on: strengths of other ranks'
//! sources come before, on the host, expansions meanwhile. What fails on one rank ends all at the
//! next message.

use std::time::Instant;

use comm::Communicator;

use super::agreement::agreed;
use super::halo::Halo;
use super::{exponents, scalar};
use crate::gpu::{RankEngine, Signature, stage_seconds};
use crate::plan::{Densities, Potentials, StageSeconds};
use crate::{Error, Precision, Span};

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

    /// Sums k densities over the sources of the tree, whose places in Morton order are `index`;
    /// strengths of other ranks' sources are yet to come.
    pub(super) fn run(
        &mut self,
        engine: &mut RankEngine,
        index: &[u32],
        k: usize,
        [mut charges, mut dipoles]: [Option<&mut [f64]>; 2],
        sums: Potentials<'_>,
    ) -> Result<(), Error> {
        let (group, halo, n) = (self.group, self.halo, index.len());
        let signature = Signature {
            densities: k,
            charges: charges.is_some(),
            dipoles: dipoles.is_some(),
            potential: sums.potential.is_some(),
            gradient: sums.gradient.is_some(),
        };
        agreed(group, engine.prepare(signature))?;
        let begin = self.now();
        for (values, width) in [(&mut charges, 1), (&mut dipoles, 3)] {
            if let Some(values) = values {
                halo.bring(group, index, values, [k, width])?;
            }
        }
        self.span("sources of other ranks", begin);
        let densities = Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() };
        let exponents = exponents(group, &densities, [k, n], self.side)?;
        let mut running =
            agreed(group, engine.begin(signature, densities, &exponents, self.started))?;
        let scalar = scalar(self.precision);
        for density in 0..k {
            let begin = self.now();
            let parts = agreed(group, running.upward(density))?;
            let messages = halo.start_parts(group, parts, scalar)?.wait()?;
            self.span("shared multipoles", begin);
            let begin = self.now();
            let multipoles = agreed(group, running.complete(&messages))?;
            let messages = halo.start_multipoles(group, multipoles, scalar)?.wait()?;
            self.span("multipoles of other ranks", begin);
            agreed(group, running.downward(density, &messages))?;
        }
        let (spans, device) = agreed(group, running.finish(sums))?;
        self.seconds = StageSeconds { device, ..stage_seconds(&spans) };
        self.timeline.extend(spans);
        Ok(())
    }
}
