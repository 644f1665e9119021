//! The stages of one `apply`, in one floating-point format.
//!
//! P2M on the leaves, M2M level by level upward, M2L over chunks of target boxes, L2L level by level downward, then L2P and
//! P2P on the leaves. Each parallel job owns a contiguous run of boxes of one level (or of targets), so no two jobs write
//! the same memory.

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use crate::close::{ClosePair, CloseRows, Places, find_close};
use crate::expansions::Expansions;
use crate::families::{Family, FamilyJob, JOB_CELLS, run_families};
use crate::harmonics::{Gradient, Harmonics};
use crate::lists::Lists;
use crate::p2p::NearPairs;
use crate::particles::{Particles, Strengths};
use crate::plan::{Densities, Potentials, StageSeconds};
use crate::shared::Shared;
use crate::simd::{Level, Real};
use crate::sums::Sums;
use crate::translate::{Kind, Tables, Vector};
use crate::tree::{Cell, Order, Root, Tree};
use crate::truncation::Orders;
use crate::{Precision, l2l, l2p, m2l, m2m, p2m};

/// Densities that go through the stages together: their expansions are in memory at the same time.
const DENSITIES: usize = 8;

/// Everything that `apply` needs, with its buffers.
#[derive(Debug)]
pub(crate) struct Engine<T> {
    simd: Level,
    root: Root,
    tree: Tree,
    lists: Lists,
    orders: Orders,
    source_order: Order,
    /// None: the targets are the sources.
    target_order: Option<Order>,
    sources: Particles<T>,
    targets: Option<Particles<T>>,
    /// For each job of P2P, by row of the near list: where its close pairs end, and the pairs.
    close: Vec<CloseRows<T>>,
    harmonics: Harmonics<T>,
    gradient: Gradient<T>,
    m2l: Tables<T>,
    m2m: Tables<T>,
    l2l: Tables<T>,
    /// M2M, from the deepest level up.
    upward: Vec<Vec<Family>>,
    /// L2L, from the root down.
    downward: Vec<Vec<Family>>,
    multipoles: Expansions<T>,
    locals: Expansions<T>,
    strengths: Strengths<T>,
    /// Potentials in Morton order, in units of the root's side, shape (k, m).
    potential: Vec<T>,
    /// Gradients likewise, shape (k, 3, m).
    gradients: Vec<T>,
    /// For each of the caller's targets its place in Morton order.
    places: Vec<u32>,
    /// Whether inverse distances in double precision must be good to its last digits.
    full: bool,
    /// Near pairs in single precision, if the rest is in double precision.
    near: Option<SingleNear>,
    /// Whether gradients or dipoles are summed.
    derivatives: bool,
}

/// Points, by fine coordinates, and strengths in single precision.
#[derive(Debug)]
struct SingleNear {
    sources: Particles<f32>,
    targets: Option<Particles<f32>>,
    strengths: Strengths<f32>,
}

/// Geometry that a plan has worked out.
pub(crate) struct Parts {
    pub simd: Level,
    pub root: Root,
    pub tree: Tree,
    pub lists: Lists,
    pub orders: Orders,
    pub source_order: Order,
    pub target_order: Option<Order>,
    /// Whether inverse distances in double precision must be good to its last digits.
    pub full: bool,
    /// Format of the near pairs.
    pub near: Precision,
    /// Whether gradients or dipoles are summed.
    pub derivatives: bool,
}

impl<T: Real> Engine<T> {
    pub(crate) fn new(parts: Parts, sources: &[[f64; 3]], targets: Option<&[[f64; 3]]>) -> Self {
        let Parts { simd, root, tree, lists, orders, source_order, target_order, .. } = parts;
        let Parts { full, near, derivatives, .. } = parts;
        let geometry = (&root, &tree);
        let source_set = (&source_order, sources);
        let target_set = target_order.as_ref().zip(targets);
        let (source_particles, target_particles) =
            particles(geometry, source_set, target_set, false);
        let near = (near == Precision::Single && !T::IS_SINGLE).then(|| {
            let (sources, targets) = particles(geometry, source_set, target_set, true);
            SingleNear { sources, targets, strengths: Strengths::default() }
        });
        let p = orders.multipole.iter().chain(&orders.local).copied().max().unwrap_or(0).max(1);
        let mut limits = vec![1; lists.vectors.len()];
        for chunk in &lists.chunks {
            for batch in &chunk.batches {
                let limit = &mut limits[batch.vector as usize];
                *limit = (*limit).max(batch.order as usize);
            }
        }
        let vectors: Vec<_> = lists.vectors.iter().copied().zip(limits).collect();
        let octants = |kind: Kind| -> Vec<(Vector, usize)> {
            (0..8)
                .map(|octant| {
                    let offset = std::array::from_fn(|i| if octant >> i & 1 == 1 { 1 } else { -1 });
                    (Vector { kind, offset }, p)
                })
                .collect()
        };
        let levels = tree.levels.len();
        let upward =
            (0..levels.saturating_sub(1))
                .rev()
                .map(|level| {
                    if orders.multipole[level] > 0 {
                        m2m::parents(&tree, level)
                    } else {
                        Vec::new()
                    }
                })
                .collect();
        let downward =
            (1..levels)
                .map(|level| {
                    if orders.local[level - 1] > 0 {
                        l2l::children(&tree, level)
                    } else {
                        Vec::new()
                    }
                })
                .collect();
        let mut multipoles = Expansions::new(&tree, &orders.multipole);
        let mut locals = Expansions::new(&tree, &orders.local);
        multipoles.resize(1);
        locals.resize(1);
        let index = &target_order.as_ref().unwrap_or(&source_order).index;
        let places = inverse(index);
        let places_of = Places { root: &root, tree: &tree, lists: &lists };
        let close = match &near {
            Some(SingleNear { sources: from, targets: to, .. }) => {
                let to = (to.as_ref(), target_set);
                close_of(simd, &places_of, (from, source_set), to, derivatives)
            }
            None => {
                let (from, to) = (&source_particles, target_particles.as_ref());
                close_of(simd, &places_of, (from, source_set), (to, target_set), derivatives)
            }
        };
        Self {
            simd,
            close,
            sources: source_particles,
            targets: target_particles,
            harmonics: Harmonics::new(p),
            gradient: Gradient::new(p),
            m2l: Tables::new(&vectors),
            m2m: Tables::new(&octants(Kind::M2m)),
            l2l: Tables::new(&octants(Kind::L2l)),
            upward,
            downward,
            multipoles,
            locals,
            strengths: Strengths::default(),
            potential: Vec::new(),
            gradients: Vec::new(),
            places,
            root,
            tree,
            lists,
            orders,
            source_order,
            target_order,
            full,
            near,
            derivatives,
        }
    }

    /// Sums k densities, a few at a time; the arrays have been checked.
    pub(crate) fn apply(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        mut potentials: Potentials<'_>,
    ) -> StageSeconds {
        let started = Instant::now();
        let mut seconds = StageSeconds::default();
        let (n, m) = (self.source_order.index.len(), self.places.len());
        for first in (0..k).step_by(DENSITIES) {
            let run = first..(first + DENSITIES).min(k);
            let densities = Densities {
                charges: densities.charges.map(|q| &q[run.start * n..run.end * n]),
                dipoles: densities.dipoles.map(|d| &d[3 * run.start * n..3 * run.end * n]),
            };
            let potential =
                potentials.potential.as_deref_mut().map(|p| &mut p[run.start * m..run.end * m]);
            let gradient = potentials
                .gradient
                .as_deref_mut()
                .map(|g| &mut g[3 * run.start * m..3 * run.end * m]);
            self.apply_few(run.len(), densities, Potentials { potential, gradient }, &mut seconds);
        }
        seconds.total = started.elapsed().as_secs_f64();
        seconds
    }

    fn apply_few(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
        seconds: &mut StageSeconds,
    ) {
        let side = self.root.side;
        self.strengths.gather(&self.source_order, k, densities.charges, densities.dipoles, side);
        let m = self.places.len();
        self.potential.clear();
        self.potential.resize(k * m, T::default());
        self.gradients.clear();
        self.gradients
            .resize(if potentials.gradient.is_some() { 3 * k * m } else { 0 }, T::default());
        self.multipoles.resize(k);
        self.locals.resize(k);
        timed(&mut seconds.p2m, || self.p2m(k));
        timed(&mut seconds.m2m, || self.m2m(k));
        timed(&mut seconds.m2l, || self.m2l(k));
        timed(&mut seconds.l2l, || self.l2l(k));
        timed(&mut seconds.l2p, || self.l2p(k));
        timed(&mut seconds.p2p, || self.p2p());
        self.scatter(potentials);
    }

    /// M2M, M2L and L2L alone, of one density: `load` fills the multipoles of each level from the scalars of a range in which all
    /// levels follow one another, `store` takes the locals likewise. Returns the seconds of the three stages.
    pub(crate) fn translate(
        &mut self,
        load: impl FnMut(&mut [T], Range<usize>),
        store: impl FnMut(&[T], Range<usize>),
    ) -> [f64; 3] {
        let mut seconds = [0.0; 3];
        self.multipoles.resize(1);
        self.locals.resize(1);
        self.multipoles.load(load);
        timed(&mut seconds[0], || self.m2m(1));
        timed(&mut seconds[1], || self.m2l(1));
        timed(&mut seconds[2], || self.l2l(1));
        self.locals.store(store);
        seconds
    }

    /// Bytes of the multipoles and of the locals of one density.
    pub(crate) fn expansion_bytes(&self) -> [usize; 2] {
        [self.multipoles.bytes_of_one(), self.locals.bytes_of_one()]
    }

    fn p2m(&mut self, k: usize) {
        let Self {
            simd, tree, orders, harmonics, gradient, sources, strengths, multipoles, ..
        } = self;
        let tables = p2m::Tables { harmonics, gradient };
        let levels = multipoles.share();
        for (level, &p) in orders.multipole.iter().enumerate() {
            if p == 0 {
                continue;
            }
            let cells = &tree.cells[tree.levels[level].clone()];
            let multipoles = &levels[level];
            cells.par_chunks(JOB_CELLS).enumerate().for_each(|(i, cells)| {
                let first = i * JOB_CELLS;
                let job =
                    p2m::P2mJob { tables, p, cells, first, k, sources, strengths, multipoles };
                T::dispatch(*simd, job);
            });
        }
    }

    fn m2m(&mut self, k: usize) {
        let Self { simd, tree, orders, upward, m2m, multipoles, .. } = self;
        let levels = tree.levels.len();
        for (i, families) in upward.iter().enumerate() {
            let level = levels - 2 - i;
            let (order_in, order_out) = (orders.multipole[level + 1], orders.multipole[level]);
            let first = tree.levels[level].start;
            let job = FamilyJob { tables: m2m, order_in, order_out, k, first };
            run_families(*simd, job, families, multipoles.neighbours(level, false));
        }
    }

    fn l2l(&mut self, k: usize) {
        let Self { simd, tree, orders, downward, l2l, locals, .. } = self;
        for (level, families) in downward.iter().enumerate() {
            let (order_in, order_out) = (orders.local[level], orders.local[level + 1]);
            let first = tree.levels[level + 1].start;
            let job = FamilyJob { tables: l2l, order_in, order_out, k, first };
            run_families(*simd, job, families, locals.neighbours(level, true));
        }
    }

    fn m2l(&mut self, k: usize) {
        let Self { simd, tree, lists, m2l, multipoles, locals, .. } = self;
        locals.clear();
        let levels = locals.share();
        let run = |densities: Range<usize>, mixed: bool| {
            lists.chunks.par_iter().with_max_len(1).for_each(|chunk| {
                if m2l::is_mixed(chunk) == mixed {
                    let level = chunk.level as usize;
                    let locals = (&levels[level], tree.levels[level].start);
                    // SAFETY: chunks are runs of boxes that do not overlap.
                    unsafe { m2l::m2l(*simd, chunk, densities.clone(), m2l, multipoles, locals) };
                }
            });
        };
        run(0..k, true);
        for density in 0..k {
            run(density..density + 1, false);
        }
    }

    fn l2p(&mut self, k: usize) {
        let Self {
            simd, tree, lists, orders, harmonics, gradient, sources, targets, locals, ..
        } = self;
        let tables = p2m::Tables { harmonics, gradient };
        let particles = targets.as_ref().unwrap_or(sources);
        let sums = Sums::new(&mut self.potential, &mut self.gradients, self.places.len());
        lists.near.cells.par_chunks(JOB_CELLS).for_each(|cells| {
            let sums = &sums;
            T::dispatch(
                *simd,
                l2p::L2pJob { tables, tree, orders, locals, particles, cells, k, sums },
            );
        });
    }

    fn p2p(&mut self) {
        let Self { simd, root, tree, lists, sources, targets, strengths, .. } = self;
        let pairs = NearPairs {
            root,
            tree,
            lists,
            close: &self.close,
            strengths,
            full: self.full,
            derivatives: self.derivatives,
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

    /// Brings the sums into the caller's order and units. Scales and sides are divided by one after the other: their product, or
    /// the square of a side, may be beyond what a number can hold.
    fn scatter(&self, potentials: Potentials<'_>) {
        let places = &self.places;
        let m = places.len();
        let side = self.root.side;
        if let Some(out) = potentials.potential {
            let sums = self.potential.chunks(m.max(1)).zip(&self.strengths.scales);
            for (out, (from, scale)) in out.chunks_mut(m.max(1)).zip(sums) {
                out.par_iter_mut().with_min_len(4096).zip(places).for_each(|(out, &place)| {
                    *out = scale.undo(from[place as usize].to_f64() / side)
                });
            }
        }
        if let Some(out) = potentials.gradient {
            let length = (3 * m).max(1);
            let sums = self.gradients.chunks(length).zip(&self.strengths.scales);
            for (out, (from, scale)) in out.chunks_mut(length).zip(sums) {
                out.par_chunks_mut(3).with_min_len(4096).zip(places).for_each(|(out, &place)| {
                    for (axis, out) in out.iter_mut().enumerate() {
                        let sum = from[axis * m + place as usize].to_f64();
                        *out = scale.undo(sum / side) / side;
                    }
                });
            }
        }
    }

    /// Bytes of points, lists and expansions.
    pub(crate) fn bytes(&self) -> usize {
        let expansions = self.multipoles.bytes() + self.locals.bytes();
        let pairs: usize = self.lists.chunks.iter().map(|c| 8 * c.pairs.len()).sum();
        let order = |o: &Order| 8 * o.keys.len() + 4 * o.index.len();
        self.sources.bytes()
            + self.targets.as_ref().map_or(0, Particles::bytes)
            + expansions
            + pairs
            + 4 * self.lists.near.entries.len()
            + self.close.iter().map(|c| c.pairs.len() * size_of::<ClosePair<T>>()).sum::<usize>()
            + self.tree.cells.len() * size_of::<Cell>()
            + order(&self.source_order)
            + self.target_order.as_ref().map_or(0, order)
            + 4 * self.places.len()
    }
}

/// Where each of the caller's points is in order.
fn inverse(index: &[u32]) -> Vec<u32> {
    const RUN: usize = 1 << 14;
    let mut places = vec![0; index.len()];
    let shared = Shared::new(&mut places);
    index.par_chunks(RUN).enumerate().for_each(|(run, index)| {
        for (slot, &i) in (run * RUN..).zip(index) {
            // SAFETY: every point is once in the order.
            let place = unsafe { shared.slice(i as usize..i as usize + 1) };
            place[0] = slot as u32;
        }
    });
    places
}

/// Points as the caller gave them and in order.
type Set<'a> = (&'a Order, &'a [[f64; 3]]);

/// Sources and, if they are others, targets.
fn particles<N: Real>(
    (root, tree): (&Root, &Tree),
    (order, points): Set<'_>,
    targets: Option<Set<'_>>,
    fine: bool,
) -> (Particles<N>, Option<Particles<N>>) {
    let sources = Particles::new(root, tree, order, points, |c| c.sources.clone(), fine);
    let targets = targets.map(|(order, points)| {
        Particles::new(root, tree, order, points, |c| c.targets.clone(), fine)
    });
    (sources, targets)
}

/// Close pairs among particles in the format of the near pairs.
fn close_of<N: Real, T: Real>(
    simd: Level,
    places: &Places<'_>,
    (sources, source_set): (&Particles<N>, Set<'_>),
    (targets, target_set): (Option<&Particles<N>>, Option<Set<'_>>),
    derivatives: bool,
) -> Vec<CloseRows<T>> {
    let sources = (sources, source_set.0, source_set.1);
    let targets = match (targets, target_set) {
        (Some(particles), Some((order, points))) => (particles, order, points),
        _ => sources,
    };
    find_close(simd, places, sources, targets, derivatives)
}

/// Adds the seconds that `work` takes.
fn timed(seconds: &mut f64, work: impl FnOnce()) {
    let started = Instant::now();
    work();
    *seconds += started.elapsed().as_secs_f64();
}
