//! The stages of one `apply`, in one floating-point format.
//!
//! P2M on the leaves, M2M level by level upward, M2L over chunks of target boxes, L2L level by level downward, then L2P and
//! P2P on the leaves. Each parallel job owns a contiguous run of boxes of one level (or of targets), so no two jobs write
//! the same memory.

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use crate::close::{CloseRows, P2P_LEAVES, Places, find_close};
use crate::families::{Family, FamilyJob, JOB_CELLS, run_families};
use crate::harmonics::{Gradient, Harmonics, stride};
use crate::lists::Lists;
use crate::particles::{Particles, Strengths, split};
use crate::plan::{Densities, Potentials, StageSeconds};
use crate::simd::{Level, Real};
use crate::translate::{Kind, Tables, Vector};
use crate::tree::{Cell, Order, Root, Tree};
use crate::truncation::Orders;
use crate::{l2l, l2p, m2l, m2m, p2m, p2p};

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
    multipoles: Vec<Vec<T>>,
    locals: Vec<Vec<T>>,
    strengths: Strengths<T>,
    /// k potentials in Morton order, in units of the root's side.
    potential: Vec<Vec<T>>,
    gradients: Vec<[Vec<T>; 3]>,
    /// Whether inverse distances must be good to working precision.
    full: bool,
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
    /// Whether inverse distances must be good to working precision.
    pub full: bool,
}

impl<T: Real> Engine<T> {
    pub(crate) fn new(parts: Parts, sources: &[[f64; 3]], targets: Option<&[[f64; 3]]>) -> Self {
        let Parts { simd, root, tree, lists, orders, source_order, target_order, full } = parts;
        let source_particles =
            Particles::new(&root, &tree, &source_order, sources, |c| c.sources.clone());
        let target_particles = match (targets, &target_order) {
            (Some(points), Some(order)) => {
                Some(Particles::new(&root, &tree, order, points, |c| c.targets.clone()))
            }
            _ => None,
        };
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
        let storage = |orders: &[usize]| -> Vec<Vec<T>> {
            let of = |(level, &p): (&Range<usize>, &usize)| {
                vec![T::default(); if p > 0 { level.len() * stride::<T>(p) } else { 0 }]
            };
            tree.levels.iter().zip(orders).map(of).collect()
        };
        let (multipoles, locals) = (storage(&orders.multipole), storage(&orders.local));
        let close = find_close(
            simd,
            &Places { root: &root, tree: &tree, lists: &lists },
            (&source_particles, &source_order, sources),
            match (&target_particles, &target_order, targets) {
                (Some(particles), Some(order), Some(points)) => (particles, order, points),
                _ => (&source_particles, &source_order, sources),
            },
        );
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
            root,
            tree,
            lists,
            orders,
            source_order,
            target_order,
            full,
        }
    }

    /// Sums k densities; the arrays have been checked.
    pub(crate) fn apply(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
    ) -> StageSeconds {
        let started = Instant::now();
        let mut seconds = StageSeconds::default();
        let side = self.root.side;
        self.strengths.gather(&self.source_order, k, densities.charges, densities.dipoles, side);
        let with_gradient = potentials.gradient.is_some();
        self.clear(k, with_gradient);
        for density in 0..k {
            timed(&mut seconds.p2m, || self.p2m(density));
            timed(&mut seconds.m2m, || self.m2m());
            timed(&mut seconds.m2l, || self.m2l());
            timed(&mut seconds.l2l, || self.l2l());
            timed(&mut seconds.l2p, || self.l2p(density, with_gradient));
        }
        timed(&mut seconds.p2p, || self.p2p());
        self.scatter(potentials);
        seconds.total = started.elapsed().as_secs_f64();
        seconds
    }

    fn target_order(&self) -> &Order {
        self.target_order.as_ref().unwrap_or(&self.source_order)
    }

    /// Zeroes the sums, growing them on the first call with so many densities.
    fn clear(&mut self, k: usize, with_gradient: bool) {
        let m = self.target_order().index.len();
        self.potential.resize_with(k, Vec::new);
        for potential in &mut self.potential {
            potential.clear();
            potential.resize(m, T::default());
        }
        self.gradients.resize_with(if with_gradient { k } else { 0 }, Default::default);
        for axis in self.gradients.iter_mut().flatten() {
            axis.clear();
            axis.resize(m, T::default());
        }
    }

    fn p2m(&mut self, density: usize) {
        let Self {
            simd, tree, orders, harmonics, gradient, sources, strengths, multipoles, ..
        } = self;
        let tables = p2m::Tables { harmonics, gradient };
        for (level, multipoles) in multipoles.iter_mut().enumerate() {
            let p = orders.multipole[level];
            if p == 0 {
                continue;
            }
            let stride = stride::<T>(p);
            let cells = &tree.cells[tree.levels[level].clone()];
            multipoles
                .par_chunks_mut(stride * JOB_CELLS)
                .zip(cells.par_chunks(JOB_CELLS))
                .for_each(|(multipoles, cells)| {
                    T::dispatch(
                        *simd,
                        p2m::P2mJob {
                            tables,
                            p,
                            stride,
                            cells,
                            sources,
                            strengths,
                            density,
                            multipoles,
                        },
                    );
                });
        }
    }

    fn m2m(&mut self) {
        let Self { simd, tree, orders, upward, m2m, multipoles, .. } = self;
        let levels = tree.levels.len();
        for (i, families) in upward.iter().enumerate() {
            let level = levels - 2 - i;
            let (order_in, order_out) = (orders.multipole[level + 1], orders.multipole[level]);
            let (parents, children) = multipoles.split_at_mut(level + 1);
            let job = FamilyJob { tables: m2m, order_in, order_out };
            run_families(*simd, job, families, &children[0], &mut parents[level]);
        }
    }

    fn l2l(&mut self) {
        let Self { simd, orders, downward, l2l, locals, .. } = self;
        for (i, families) in downward.iter().enumerate() {
            let level = i + 1;
            let (order_in, order_out) = (orders.local[level - 1], orders.local[level]);
            let (parents, children) = locals.split_at_mut(level);
            let job = FamilyJob { tables: l2l, order_in, order_out };
            run_families(*simd, job, families, &parents[level - 1], &mut children[0]);
        }
    }

    fn m2l(&mut self) {
        let Self { simd, tree, lists, orders, m2l, multipoles, locals, .. } = self;
        // Split each level's locals into the chunks' own runs.
        let mut jobs = Vec::with_capacity(lists.chunks.len());
        let mut chunks = lists.chunks.iter().peekable();
        for (level, mut rest) in locals.iter_mut().map(Vec::as_mut_slice).enumerate() {
            rest.par_iter_mut().with_min_len(1 << 16).for_each(|l| *l = T::default());
            let stride = stride::<T>(orders.local[level]);
            let mut begin = tree.levels[level].start;
            while let Some(chunk) = chunks.next_if(|c| c.level as usize == level) {
                let (_, after) =
                    std::mem::take(&mut rest).split_at_mut((chunk.cells.start - begin) * stride);
                let (own, after) = after.split_at_mut(chunk.cells.len() * stride);
                (begin, rest) = (chunk.cells.end, after);
                jobs.push((chunk, own, stride));
            }
        }
        jobs.into_par_iter().with_max_len(1).for_each(|(chunk, locals, stride)| {
            T::dispatch(
                *simd,
                m2l::M2lJob { chunk, tables: m2l, orders, multipoles, locals, stride },
            );
        });
    }

    fn l2p(&mut self, density: usize, with_gradient: bool) {
        let Self {
            simd, tree, lists, orders, harmonics, gradient, sources, targets, locals, ..
        } = self;
        let tables = p2m::Tables { harmonics, gradient };
        let particles = targets.as_ref().unwrap_or(sources);
        let potential = &mut self.potential[density][..];
        let gradients = if with_gradient {
            self.gradients[density].each_mut().map(|g| Some(&mut g[..]))
        } else {
            [None, None, None]
        };
        let jobs = l2p::leaves(tree, &lists.near.cells, potential, gradients);
        jobs.into_par_iter().for_each(|job| {
            let task = l2p::L2pJob { tables, tree, orders, locals, particles, job };
            T::dispatch(*simd, task);
        });
    }

    fn p2p(&mut self) {
        let full = self.full;
        let Self { simd, root, tree, lists, sources, targets, strengths, close, .. } = self;
        let particles = targets.as_ref().unwrap_or(sources);
        let cells = &lists.near.cells;
        // The leaves' target ranges follow one another only level by level; hand each job its own pieces.
        let mut jobs: Vec<p2p::P2pJob<'_, T>> = (0..cells.len().div_ceil(P2P_LEAVES))
            .map(|i| p2p::P2pJob {
                rows: i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(cells.len()),
                lists,
                root,
                tree,
                sources,
                targets: particles,
                strengths,
                close: close.get(i),
                full,
                sums: Vec::new(),
            })
            .collect();
        let mut pieces: Vec<Vec<&mut [T]>> =
            self.potential.iter_mut().map(|p| split(tree, cells, p)).collect();
        let mut of_gradients: Vec<[Vec<&mut [T]>; 3]> = self
            .gradients
            .iter_mut()
            .map(|g| g.each_mut().map(|axis| split(tree, cells, axis)))
            .collect();
        for (row, _) in cells.iter().enumerate() {
            let potential = pieces.iter_mut().map(|p| std::mem::take(&mut p[row])).collect();
            let gradient = of_gradients
                .iter_mut()
                .map(|g| g.each_mut().map(|axis| std::mem::take(&mut axis[row])))
                .collect();
            jobs[row / P2P_LEAVES].sums.push(p2p::Sums { potential, gradient });
        }
        jobs.into_par_iter().with_max_len(1).for_each(|job| T::dispatch(*simd, job));
    }

    /// Brings the sums into the caller's order and units.
    fn scatter(&self, potentials: Potentials<'_>) {
        let index = &self.target_order().index;
        let m = index.len();
        let side = self.root.side;
        // Morton order to caller's order: the inverse permutation lets every job write its own run.
        let mut inverse = vec![0u32; m];
        for (slot, &i) in index.iter().enumerate() {
            inverse[i as usize] = slot as u32;
        }
        if let Some(out) = potentials.potential {
            for (out, from) in out.chunks_mut(m.max(1)).zip(&self.potential) {
                out.par_iter_mut()
                    .with_min_len(4096)
                    .zip(&inverse)
                    .for_each(|(out, &slot)| *out = from[slot as usize].to_f64() / side);
            }
        }
        if let Some(out) = potentials.gradient {
            for (out, from) in out.chunks_mut((3 * m).max(1)).zip(&self.gradients) {
                out.par_chunks_mut(3).with_min_len(4096).zip(&inverse).for_each(|(out, &slot)| {
                    for (out, axis) in out.iter_mut().zip(from) {
                        *out = axis[slot as usize].to_f64() / (side * side);
                    }
                });
            }
        }
    }

    /// Bytes of points, lists and expansions.
    pub(crate) fn bytes(&self) -> usize {
        let expansions: usize =
            self.multipoles.iter().chain(&self.locals).map(|v| v.len() * size_of::<T>()).sum();
        let pairs: usize = self.lists.chunks.iter().map(|c| 8 * c.pairs.len()).sum();
        let order = |o: &Order| 8 * o.keys.len() + 4 * o.index.len();
        self.sources.bytes()
            + self.targets.as_ref().map_or(0, Particles::bytes)
            + expansions
            + pairs
            + 4 * self.lists.near.entries.len()
            + self
                .close
                .iter()
                .map(|c| c.pairs.len() * size_of::<p2p::ClosePair<T>>())
                .sum::<usize>()
            + self.tree.cells.len() * size_of::<Cell>()
            + order(&self.source_order)
            + self.target_order.as_ref().map_or(0, order)
    }
}

/// Adds the seconds that `work` takes.
fn timed(seconds: &mut f64, work: impl FnOnce()) {
    let started = Instant::now();
    work();
    *seconds += started.elapsed().as_secs_f64();
}
