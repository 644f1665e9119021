//! The stages of one `apply`, in one floating-point format.
//!
//! P2M on the leaves, M2M, M2L and L2L (module `translations`), then L2P and P2P on the leaves.
//! Each parallel job owns a contiguous run of boxes of one level (or of targets), so no two jobs
//! write the same memory.

use std::time::Instant;

use parallel::prelude::*;

use crate::Error;
use crate::expansions::Expansions;
use crate::expansions::harmonics::{Gradient, Harmonics};
use crate::expansions::screened_tables::{ScreenedGradient, ScreenedTables};
use crate::geometry::Geometry;
use crate::geometry::far_rows::FarRows;
use crate::model::stages::timed;
use crate::model::stop::Ending;
use crate::model::{Densities, Info, Options, Points, Potentials, Precision, StageSeconds};
use crate::near::close::{CloseRows, UnresolvedPair, find_close};
use crate::near::p2p::{NearPairs, NearSums};
use crate::particles::scale::Scale;
use crate::particles::sums::Sums;
use crate::particles::{Particles, Strengths};
use crate::stages::parent_child::LEAF_JOB;
use crate::stages::translations::Translations;
use crate::stages::{l2p, p2m};
use crate::tree::lists::Rows;
use crate::tree::{Cell, MortonOrder};
use crate::treecode::{self, M2pJob};
use parallel::DisjointSlice;
use simd::{Level, Real, dispatch};

/// Densities that go through the stages together: their expansions are in memory at the same time.
const DENSITIES: usize = 8;

/// Everything that `apply` needs, with its buffers.
#[derive(Debug)]
pub(crate) struct Engine<T> {
    simd: Level,
    /// Ends a sum before it is through.
    stop: Ending,
    geometry: Geometry,
    sources: Particles<T>,
    /// None: the targets are the sources.
    targets: Option<Particles<T>>,
    near_sums: NearSums,
    /// Near pairs in single precision, if the rest is in double precision.
    near: Option<SingleNear>,
    /// For each job of P2P, by row of the near list: where its close pairs end, and the pairs.
    close: Vec<CloseRows<T>>,
    /// Likewise of the halo's rows.
    close_in_halo: Vec<CloseRows<T>>,
    harmonics: Harmonics<T>,
    gradient: Gradient<T>,
    screened: Option<ScreenedTables<T>>,
    /// Of a treecode's gradients.
    derivatives: Option<ScreenedGradient>,
    translations: Translations<T>,
    strengths: Strengths<T>,
    /// Potentials in Morton order, in units of the root's side, shape (k, m).
    potential: Vec<T>,
    /// Gradients likewise, shape (k, 3, m).
    gradients: Vec<T>,
    /// For each of the caller's targets its place in Morton order.
    places: Vec<u32>,
}

/// An engine in the format of its plan.
#[derive(Debug)]
pub(crate) enum Cores {
    Single(Box<Engine<f32>>),
    Double(Box<Engine<f64>>),
}

impl Cores {
    /// Its format of near pairs and its memory go into `info`.
    pub(crate) fn new(
        simd: Level,
        geometry: Geometry,
        points: Points<'_>,
        options: &Options,
        precision: Precision,
        info: &mut Info,
    ) -> Self {
        let near_sums = NearSums::new(options, precision);
        info.near_precision = Some(near_sums.precision);
        let stop = options.stop.clone().unwrap_or_default().into();
        match precision {
            Precision::Single => {
                let engine = Engine::new(simd, geometry, points, near_sums, stop);
                info.memory_bytes = engine.bytes() as u64;
                Self::Single(Box::new(engine))
            }
            Precision::Double => {
                let engine = Engine::new(simd, geometry, points, near_sums, stop);
                info.memory_bytes = engine.bytes() as u64;
                Self::Double(Box::new(engine))
            }
        }
    }

    /// Sums k densities, a few at a time; the arrays have been checked.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn apply(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
    ) -> Result<StageSeconds, Error> {
        match self {
            Self::Single(engine) => engine.apply(k, densities, potentials),
            Self::Double(engine) => engine.apply(k, densities, potentials),
        }
    }
}

/// Which near pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Pairs of the list of near leaves.
    Own,
    /// Pairs with other ranks' sources.
    Halo,
}

/// Densities that go through the stages together.
pub(crate) struct Few<'a> {
    pub(crate) count: usize,
    pub(crate) densities: Densities<'a>,
}

/// Calls `work` for some of k densities after others, over n sources at m targets.
pub(crate) fn by_few<E>(
    k: usize,
    [n, m]: [usize; 2],
    densities: Densities<'_>,
    potentials: &mut Potentials<'_>,
    mut work: impl FnMut(Few<'_>, Potentials<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for first in (0..k).step_by(DENSITIES) {
        let run = first..(first + DENSITIES).min(k);
        let densities = Densities {
            charges: densities.charges.map(|q| &q[run.start * n..run.end * n]),
            dipoles: densities.dipoles.map(|d| &d[3 * run.start * n..3 * run.end * n]),
        };
        let potential =
            potentials.potential.as_deref_mut().map(|p| &mut p[run.start * m..run.end * m]);
        let gradient =
            potentials.gradient.as_deref_mut().map(|g| &mut g[3 * run.start * m..3 * run.end * m]);
        work(Few { count: run.len(), densities }, Potentials { potential, gradient })?;
    }
    Ok(())
}

/// Points, by fine coordinates, and strengths in single precision.
#[derive(Debug)]
struct SingleNear {
    sources: Particles<f32>,
    targets: Option<Particles<f32>>,
    strengths: Strengths<f32>,
}

impl<T: Real> Engine<T> {
    pub(crate) fn new(
        simd: Level,
        geometry: Geometry,
        points: Points<'_>,
        near_sums: NearSums,
        stop: Ending,
    ) -> Self {
        let (sources, targets) = particles(&geometry, points, false);
        let near = (near_sums.precision == Precision::Single && !T::IS_SINGLE).then(|| {
            let (sources, targets) = particles(&geometry, points, true);
            SingleNear { sources, targets, strengths: Strengths::default() }
        });
        let derivatives = near_sums.derivatives;
        let close_of = |rows: &Rows| match &near {
            Some(SingleNear { sources, targets, .. }) => {
                let targets = targets.as_ref();
                find_close(simd, &geometry, rows, points, sources, targets, derivatives)
            }
            None => {
                let targets = targets.as_ref();
                find_close(simd, &geometry, rows, points, &sources, targets, derivatives)
            }
        };
        let (close, close_in_halo) =
            (close_of(&geometry.lists.near), close_of(&geometry.lists.halo));
        let p = geometry.numbers.max().max(1);
        Self {
            simd,
            stop,
            sources,
            targets,
            near_sums,
            near,
            close,
            close_in_halo,
            harmonics: Harmonics::new(p),
            gradient: Gradient::new(p),
            screened: ScreenedTables::new(geometry.screening, &geometry.numbers),
            derivatives: geometry.far.is_some().then(|| ScreenedGradient::new(p)),
            translations: Translations::new(simd, &geometry),
            strengths: Strengths::default(),
            potential: Vec::new(),
            gradients: Vec::new(),
            places: inverse(&geometry.target_order().index),
            geometry,
        }
    }

    /// Sums k densities, a few at a time; the arrays have been checked.
    fn apply(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        mut potentials: Potentials<'_>,
    ) -> Result<StageSeconds, Error> {
        let started = Instant::now();
        let mut seconds = StageSeconds::default();
        let (n, side) = (self.sources(), self.geometry.root.side);
        by_few(k, [n, self.places.len()], densities, &mut potentials, |few, sums| {
            let scale = |density| {
                let (charges, dipoles) = few.densities.of(density, n);
                Scale::of(charges, dipoles, side)
            };
            let scales = (0..few.count).map(scale).collect();
            self.begin(few.densities, scales, sums.gradient.is_some());
            self.upward(few.count, &mut seconds);
            self.downward(few.count, &mut seconds);
            timed(&mut seconds.p2p, || self.p2p(Part::Own));
            self.stop.check()?;
            self.scatter(sums);
            Ok::<(), Error>(())
        })?;
        seconds.total = started.elapsed().as_secs_f64();
        Ok(seconds)
    }

    /// The number of sources.
    pub(crate) fn sources(&self) -> usize {
        self.geometry.source_order.index.len()
    }

    /// Boxes, lists and truncation numbers.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Expansions, and what translates them.
    pub(crate) fn translations(&self) -> &Translations<T> {
        &self.translations
    }

    /// The strengths of the densities at work, in Morton order.
    pub(crate) fn strengths(&mut self) -> &mut Strengths<T> {
        &mut self.strengths
    }

    /// Their multipole expansions.
    pub(crate) fn multipoles(&mut self) -> &mut Expansions<T> {
        &mut self.translations.multipoles
    }

    /// Takes over the strengths of a few densities, one for each of `scales`, and makes all sums
    /// zero.
    pub(crate) fn begin(&mut self, densities: Densities<'_>, scales: Vec<Scale>, gradient: bool) {
        let Geometry { root, source_order, .. } = &self.geometry;
        let (k, m) = (scales.len(), self.places.len());
        self.strengths.gather(source_order, scales, densities, root.side);
        self.potential.clear();
        self.potential.resize(k * m, T::default());
        self.gradients.clear();
        self.gradients.resize(if gradient { 3 * k * m } else { 0 }, T::default());
        self.translations.reserve(k);
    }

    /// Makes the multipole expansions of k densities.
    pub(crate) fn upward(&mut self, k: usize, seconds: &mut StageSeconds) {
        timed(&mut seconds.p2m, || self.p2m(k));
        timed(&mut seconds.m2m, || self.translations.m2m(&self.geometry, k, &self.stop));
    }

    /// Adds what the multipole expansions of k densities give at the targets.
    pub(crate) fn downward(&mut self, k: usize, seconds: &mut StageSeconds) {
        timed(&mut seconds.m2l, || self.translations.m2l(&self.geometry, k, &self.stop));
        timed(&mut seconds.l2l, || self.translations.l2l(&self.geometry, k, &self.stop));
        timed(&mut seconds.l2p, || self.l2p(k));
        timed(&mut seconds.m2p, || self.m2p(k));
    }

    fn p2m(&mut self, k: usize) {
        let Self { simd, stop, geometry, harmonics, gradient, screened, .. } = self;
        let Self { sources, strengths, translations, .. } = self;
        let Geometry { tree, numbers, .. } = &*geometry;
        let tables = p2m::Tables { harmonics, gradient, screened: screened.as_ref() };
        let levels = translations.multipoles.share();
        for (level, &p) in numbers.multipole.iter().enumerate() {
            if p == 0 {
                continue;
            }
            let begin = tree.levels[level].start;
            let cells = &tree.cells[tree.levels[level].clone()];
            let multipoles = &levels[level];
            cells.par_chunks(LEAF_JOB).enumerate().for_each(|(i, cells)| {
                if stop.is_set() {
                    return;
                }
                let first = i * LEAF_JOB;
                let is_own = |cell: usize| geometry.is_own(begin + first + cell);
                let job = p2m::P2mJob {
                    tables,
                    p,
                    level,
                    cells,
                    is_own: &is_own,
                    first,
                    k,
                    sources,
                    strengths,
                    multipoles,
                };
                dispatch(*simd, job);
            });
        }
    }

    fn l2p(&mut self, k: usize) {
        let Self { simd, stop, geometry, harmonics, gradient, screened, .. } = self;
        let tables = p2m::Tables { harmonics, gradient, screened: screened.as_ref() };
        let locals = &self.translations.locals;
        let particles = self.targets.as_ref().unwrap_or(&self.sources);
        let sums = Sums::new(&mut self.potential, &mut self.gradients, self.places.len());
        let sums = &sums;
        geometry.lists.near.cells.par_chunks(LEAF_JOB).for_each(|cells| {
            if stop.is_set() {
                return;
            }
            let job = l2p::L2pJob { tables, geometry, locals, particles, cells, k, sums };
            dispatch(*simd, job);
        });
    }

    fn m2p(&mut self, k: usize) {
        let Self { simd, stop, geometry, harmonics, derivatives, screened, .. } = self;
        let (Some(rows), Some(gradient)) = (&geometry.far, derivatives) else { return };
        let screened = screened.as_ref();
        let tables = treecode::Tables { harmonics, gradient, screened };
        let multipoles = &self.translations.multipoles;
        let particles = self.targets.as_ref().unwrap_or(&self.sources);
        let sums = Sums::new(&mut self.potential, &mut self.gradients, self.places.len());
        let sums = &sums;
        for jobs in &rows.jobs {
            jobs.par_iter().for_each(|(row, targets)| {
                if stop.is_set() {
                    return;
                }
                let (row, targets) = (*row as usize, targets.start as usize..targets.end as usize);
                let job =
                    M2pJob { tables, geometry, rows, row, targets, multipoles, particles, k, sums };
                dispatch(*simd, job);
            });
        }
    }

    /// Adds near pairs.
    pub(crate) fn p2p(&mut self, part: Part) {
        let Self { simd, stop, geometry, sources, targets, strengths, .. } = self;
        let (rows, close) = match part {
            Part::Own => (&geometry.lists.near, &self.close),
            Part::Halo => (&geometry.lists.halo, &self.close_in_halo),
        };
        let pairs = NearPairs {
            geometry,
            rows,
            close,
            strengths,
            near_sums: self.near_sums,
            stop,
            sums: &Sums::new(&mut self.potential, &mut self.gradients, self.places.len()),
        };
        match &mut self.near {
            None => pairs.run(*simd, sources, targets.as_ref(), strengths),
            Some(near) => {
                near.strengths.round(strengths);
                pairs.run(*simd, &near.sources, near.targets.as_ref(), &near.strengths);
            }
        }
    }

    /// Brings the sums into the caller's order and units. Scales and sides are divided by one after
    /// the other: their product, or the square of a side, may be beyond what a number can hold.
    pub(crate) fn scatter(&self, potentials: Potentials<'_>) {
        let places = &self.places;
        let m = places.len();
        let side = self.geometry.root.side;
        if let Some(out) = potentials.potential {
            let sums = self.potential.par_chunks(m.max(1)).zip(&self.strengths.scales);
            out.par_chunks_mut(m.max(1)).zip(sums).for_each(|(out, (from, scale))| {
                out.par_iter_mut().with_min_len(4096).zip(places).for_each(|(out, &place)| {
                    *out = scale.undo(from[place as usize].to_f64() / side)
                });
            });
        }
        if let Some(out) = potentials.gradient {
            let length = (3 * m).max(1);
            let sums = self.gradients.par_chunks(length).zip(&self.strengths.scales);
            out.par_chunks_mut(length).zip(sums).for_each(|(out, (from, scale))| {
                out.par_chunks_mut(3).with_min_len(4096).zip(places).for_each(|(out, &place)| {
                    for (axis, out) in out.iter_mut().enumerate() {
                        let sum = from[axis * m + place as usize].to_f64();
                        *out = scale.undo(sum / side) / side;
                    }
                });
            });
        }
    }

    /// Bytes of points, lists and expansions.
    pub(crate) fn bytes(&self) -> usize {
        let Geometry { tree, lists, source_order, target_order, .. } = &self.geometry;
        let pairs: usize = lists.target_blocks.iter().map(|c| 8 * c.pairs.len()).sum();
        let order = |o: &MortonOrder| 8 * o.keys.len() + 4 * o.index.len();
        self.sources.bytes()
            + self.targets.as_ref().map_or(0, Particles::bytes)
            + self.translations.bytes()
            + pairs
            + self.geometry.far.as_ref().map_or(0, FarRows::bytes)
            + 4 * lists.near.entries.len()
            + self
                .close
                .iter()
                .map(|c| c.pairs.len() * size_of::<UnresolvedPair<T>>())
                .sum::<usize>()
            + tree.cells.len() * size_of::<Cell>()
            + order(source_order)
            + target_order.as_ref().map_or(0, order)
            + 4 * self.places.len()
    }
}

/// Where each of the caller's points is in order.
fn inverse(index: &[u32]) -> Vec<u32> {
    const RUN: usize = 1 << 14;
    let mut places = vec![0; index.len()];
    let shared = DisjointSlice::new(&mut places);
    index.par_chunks(RUN).enumerate().for_each(|(run, index)| {
        for (slot, &i) in (run * RUN..).zip(index) {
            // SAFETY: every point is once in the order.
            let place = unsafe { shared.slice(i as usize..i as usize + 1) };
            place[0] = slot as u32;
        }
    });
    places
}

/// Sources and, if they are others, targets.
fn particles<N: Real>(
    geometry: &Geometry,
    points: Points<'_>,
    fine: bool,
) -> (Particles<N>, Option<Particles<N>>) {
    let Geometry { root, tree, source_order, target_order, .. } = geometry;
    let of_sources = |cell: &Cell| cell.sources.clone();
    let sources = Particles::new(root, tree, source_order, points.sources, of_sources, fine);
    let of_targets = |cell: &Cell| cell.targets.clone();
    let targets =
        target_order.as_ref().zip(points.targets).map(|(order, points)| match geometry.itself {
            true => sources.of_targets(tree, points.len()),
            false => Particles::new(root, tree, order, points, of_targets, fine),
        });
    (sources, targets)
}
