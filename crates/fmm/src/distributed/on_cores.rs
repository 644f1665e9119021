//! One `apply` on one rank's cores, with messages between its stages.

use std::time::Instant;

use comm::Communicator;

use super::exponents::exponents;
use super::halo::Halo;
use crate::Span;
use crate::engine::{Engine, Part, by_few};
use crate::model::stages::timed;
use crate::model::{Densities, Potentials, StageSeconds};
use crate::particles::scale::Scale;
use simd::Real;

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

    /// Sums k densities of the first `own` sources of the tree, which are this rank's, and of
    /// all others' at `m` targets.
    pub(super) fn run<T: Real>(
        &mut self,
        engine: &mut Engine<T>,
        [k, own, m]: [usize; 3],
        densities: Densities<'_>,
        mut sums: Potentials<'_>,
    ) -> Result<(), comm::Error> {
        let (group, halo, n) = (self.group, self.halo, engine.sources());
        // Others' strengths are zero as long as multipole expansions are made.
        let all = |values: Option<&[f64]>, width: usize| {
            values.map(|values| with_zeros(values, k, [width * own, width * n]))
        };
        let (charges, dipoles) = (all(densities.charges, 1), all(densities.dipoles, 3));
        let densities = Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() };
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

/// k rows of some length made longer.
fn with_zeros(rows: &[f64], k: usize, [from, to]: [usize; 2]) -> Vec<f64> {
    let mut all = vec![0.0; k * to];
    for (all, row) in all.chunks_mut(to.max(1)).zip(rows.chunks(from.max(1))) {
        all[..from].copy_from_slice(row);
    }
    all
}
