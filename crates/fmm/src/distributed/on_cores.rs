//! One `apply` on the cores of a rank, with messages between its stages.

use std::time::Instant;

use comm::Communicator;

use super::exponents;
use super::halo::Halo;
use crate::Span;
use crate::engine::{Engine, Part, by_few};
use crate::plan::{Densities, Potentials, StageSeconds};
use crate::scale::Scale;
use crate::simd::Real;
use crate::translations::timed;

/// One `apply` on one rank.
pub(super) struct Job<'a> {
    pub group: &'a dyn Communicator,
    pub halo: &'a Halo,
    pub started: Instant,
    pub timeline: Vec<Span>,
    pub seconds: StageSeconds,
}

impl Job<'_> {
    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn span(&mut self, stage: &'static str, begin: f64) {
        let end = self.now();
        self.timeline.push(Span { stage, gpu: false, begin, end });
    }

    /// Sums k densities over the sources of the tree at `m` targets.
    pub(super) fn run<T: Real>(
        &mut self,
        engine: &mut Engine<T>,
        k: usize,
        m: usize,
        densities: Densities<'_>,
        mut sums: Potentials<'_>,
    ) -> Result<(), comm::Error> {
        let (group, halo, n) = (self.group, self.halo, engine.sources());
        by_few(k, [n, m], densities, &mut sums, |few, sums| {
            let k = few.count;
            let side = engine.geometry().root.side;
            let exponents = exponents(group, &few.densities, [k, n], side)?;
            let scales = exponents.into_iter().map(|e| Scale::by(e.unwrap_or(0))).collect();
            engine.begin(few.densities, scales, sums.gradient.is_some());
            let particles_sent = self.now();
            let particles = halo.send_particles(group, engine)?;
            let begin = self.now();
            engine.upward(k, &mut self.seconds);
            self.span("P2M and M2M", begin);
            let begin = self.now();
            halo.complete(group, k, engine.multipoles())?;
            self.span("shared multipoles", begin);
            let multipoles_sent = self.now();
            let multipoles = halo.send_multipoles(group, k, engine.multipoles())?;
            let begin = self.now();
            timed(&mut self.seconds.p2p, || engine.p2p(Part::Own));
            self.span("P2P of own pairs", begin);
            halo.receive_multipoles(multipoles, k, engine.multipoles())?;
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
