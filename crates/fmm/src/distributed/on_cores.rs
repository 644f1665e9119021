//! The plan of one rank's cores, and one `apply`, with messages between its stages.

use comm::Communicator;

use super::agreement::agreed;
use super::dealt::{Common, Dealt, split_near};
use super::exponents::exponents;
use super::halo::Halo;
use super::steps::Steps;
use crate::Error;
use crate::engine::{Cores, Engine, Part, by_few};
use crate::model::stages::timed;
use crate::model::{Densities, Info, Options, Potentials, StageSeconds};
use crate::particles::scale::Scale;
use crate::plan::Crowds;
use simd::Real;

/// The engine of distributed points, and crowds of plans of their own. Collective.
pub(super) fn plan(
    group: &dyn Communicator,
    mut dealt: Dealt,
    common: &Common<'_>,
    info: &mut Info,
    steps: &mut Steps,
) -> Result<(Cores, Crowds), Error> {
    // Ranks that share a sum are not to be stopped one by one.
    let options = &Options { stop: None, ..common.options.clone() };
    let (simd, precision) = (common.simd, common.tuning.precision);
    steps.of("split near", || split_near(&mut dealt));
    let (mut geometry, points) = dealt.into_geometry(common);
    let points = points.points();
    let taken = Crowds::take(&mut geometry, points, info.leaf_size, options, simd);
    let crowds = agreed(group, taken)?;
    geometry.describe(info);
    let engine = || Cores::new(simd, geometry, points, options, precision, info);
    Ok((steps.of("engine", engine), crowds))
}

/// One `apply` on one rank.
pub(super) struct Job<'a> {
    pub group: &'a dyn Communicator,
    pub halo: &'a Halo,
    pub seconds: StageSeconds,
    pub steps: &'a mut Steps,
}

impl Job<'_> {
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
            let particles_sent = self.steps.seconds();
            let particles = halo.send_particles(group, engine)?;
            let begin = self.steps.seconds();
            engine.upward(k, &mut self.seconds);
            self.steps.ended("P2M and M2M", begin);
            let begin = self.steps.seconds();
            halo.complete(group, k, engine.multipoles())?;
            self.steps.ended("shared multipoles", begin);
            let multipoles_sent = self.steps.seconds();
            let multipoles = halo.send_multipoles(group, k, engine.multipoles())?;
            let begin = self.steps.seconds();
            timed(&mut self.seconds.p2p, || engine.p2p(Part::Own));
            self.steps.ended("P2P of own pairs", begin);
            halo.receive_multipoles(multipoles, k, engine.multipoles())?;
            self.steps.ended("multipoles of other ranks", multipoles_sent);
            let begin = self.steps.seconds();
            engine.downward(k, &mut self.seconds);
            self.steps.ended("M2L, L2L and L2P", begin);
            halo.receive_particles(particles, engine)?;
            self.steps.ended("sources of other ranks", particles_sent);
            let begin = self.steps.seconds();
            timed(&mut self.seconds.p2p, || engine.p2p(Part::Halo));
            self.steps.ended("P2P with other ranks", begin);
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
