//! The stages of one `apply`, in one floating-point format.
//!
//! P2M on the leaves, M2M level by level upward, M2L over chunks of target boxes, L2L level by level downward, then L2P and
//! P2P on the leaves. Each parallel job owns a contiguous run of boxes of one level (or of targets), so no two jobs write
//! the same memory.

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use crate::harmonics::{Gradient, Harmonics, stride};
use crate::lists::Lists;
use crate::particles::{Particles, Strengths};
use crate::plan::{Densities, Potentials, StageSeconds};
use crate::simd::{Level, Real, Simd, Task};
use crate::translate::{Expansions, Kind, Tables, Vector, batch};
use crate::tree::{Cell, Order, Root, Tree, side};
use crate::truncation::Orders;
use crate::{Precision, l2p, p2m, p2p};

/// Boxes whose expansions one M2M, L2L, P2M or L2P job owns.
const JOB_CELLS: usize = 256;

/// Parents and children of one run of boxes, by octant of the child.
#[derive(Clone, Debug)]
struct Family {
    /// The boxes that are written: parents in M2M, children in L2L.
    cells: Range<usize>,
    /// For each octant: box that is read, within its level; box that is written, within `cells`.
    octants: [Vec<[u32; 2]>; 8],
}

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
}

impl<T: Real> Engine<T> {
    pub(crate) fn new(parts: Parts, sources: &[[f64; 3]], targets: Option<&[[f64; 3]]>) -> Self {
        let Parts { simd, root, tree, lists, orders, source_order, target_order } = parts;
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
        let upward = (0..levels.saturating_sub(1))
            .rev()
            .map(
                |level| {
                    if orders.multipole[level] > 0 { parents(&tree, level) } else { Vec::new() }
                },
            )
            .collect();
        let downward = (1..levels)
            .map(
                |level| {
                    if orders.local[level - 1] > 0 { children(&tree, level) } else { Vec::new() }
                },
            )
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
                        P2mJob {
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
            T::dispatch(*simd, M2lJob { chunk, tables: m2l, orders, multipoles, locals, stride });
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
        let jobs = split_targets(tree, &lists.near.cells, potential, gradients);
        jobs.into_par_iter().for_each(|job| {
            let task = L2pJob { tables, tree, orders, locals, particles, job };
            T::dispatch(*simd, task);
        });
    }

    fn p2p(&mut self) {
        let Self { simd, root, tree, lists, sources, targets, strengths, close, .. } = self;
        let particles = targets.as_ref().unwrap_or(sources);
        let cells = &lists.near.cells;
        // The leaves' target ranges follow one another only level by level; hand each job its own pieces.
        let mut jobs: Vec<P2pJob<'_, T>> = (0..cells.len().div_ceil(P2P_LEAVES))
            .map(|i| P2pJob {
                rows: i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(cells.len()),
                lists,
                root,
                tree,
                sources,
                targets: particles,
                strengths,
                close: close.get(i),
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

/// The families of M2M onto `level`.
fn parents(tree: &Tree, level: usize) -> Vec<Family> {
    let below = tree.levels[level + 1].start;
    families(&tree.levels[level], |cells, octants| {
        for (slot, cell) in tree.cells[cells].iter().enumerate() {
            for child in cell.children().filter(|_| !cell.is_leaf()) {
                if !tree.cells[child].sources.is_empty() {
                    octants[octant(&tree.cells[child])].push([(child - below) as u32, slot as u32]);
                }
            }
        }
    })
}

/// The families of L2L onto `level`.
fn children(tree: &Tree, level: usize) -> Vec<Family> {
    let above = tree.levels[level - 1].start as u32;
    families(&tree.levels[level], |cells, octants| {
        for (slot, cell) in tree.cells[cells].iter().enumerate() {
            if !cell.targets.is_empty() {
                octants[octant(cell)].push([cell.parent - above, slot as u32]);
            }
        }
    })
}

fn families(
    level: &Range<usize>,
    fill: impl Fn(Range<usize>, &mut [Vec<[u32; 2]>; 8]),
) -> Vec<Family> {
    level
        .clone()
        .step_by(JOB_CELLS)
        .map(|start| {
            let cells = start..(start + JOB_CELLS).min(level.end);
            let mut octants: [Vec<[u32; 2]>; 8] = Default::default();
            fill(cells.clone(), &mut octants);
            Family { cells, octants }
        })
        .collect()
}

/// Which child of its parent a box is: bit i tells the upper half of axis i.
fn octant(cell: &Cell) -> usize {
    (0..3).map(|i| ((cell.place[i] & 1) as usize) << i).sum()
}

#[derive(Clone, Copy)]
struct FamilyJob<'a, T> {
    tables: &'a Tables<T>,
    order_in: usize,
    order_out: usize,
}

/// Translates between two levels.
fn run_families<T: Real>(
    simd: Level,
    job: FamilyJob<'_, T>,
    families: &[Family],
    from: &[T],
    to: &mut [T],
) {
    if families.is_empty() || job.order_in == 0 || job.order_out == 0 {
        return;
    }
    let stride_out = stride::<T>(job.order_out);
    families.par_iter().zip(to.par_chunks_mut(stride_out * JOB_CELLS)).for_each(|(family, to)| {
        debug_assert_eq!(to.len(), family.cells.len() * stride_out);
        T::dispatch(simd, FamilyTask { job, family, from, to });
    });
}

struct FamilyTask<'a, T> {
    job: FamilyJob<'a, T>,
    family: &'a Family,
    from: &'a [T],
    to: &'a mut [T],
}

impl<T: Real> Task<T> for FamilyTask<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let FamilyJob { tables, order_in, order_out } = self.job;
        let mut scratch = crate::translate::Scratch::<V>::new(order_in.max(order_out));
        let sources = Expansions { values: self.from, stride: stride::<T>(order_in) };
        let stride_out = stride::<T>(order_out);
        for (octant, pairs) in self.family.octants.iter().enumerate() {
            let translation = tables.translation(octant, order_in, order_out);
            batch(&translation, pairs, sources, self.to, stride_out, &mut scratch);
        }
    }
}

struct P2mJob<'a, T> {
    tables: p2m::Tables<'a, T>,
    p: usize,
    stride: usize,
    cells: &'a [Cell],
    sources: &'a Particles<T>,
    strengths: &'a Strengths<T>,
    density: usize,
    multipoles: &'a mut [T],
}

impl<T: Real> Task<T> for P2mJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let mut scratch = p2m::Scratch::<V>::new(self.p);
        for (cell, multipole) in self.cells.iter().zip(self.multipoles.chunks_mut(self.stride)) {
            multipole.fill(T::default());
            if cell.is_leaf() && !cell.sources.is_empty() {
                p2m::p2m(
                    self.tables,
                    self.p,
                    side(cell.level),
                    cell.sources.start as usize..cell.sources.end as usize,
                    self.sources,
                    self.strengths,
                    self.density,
                    multipole,
                    &mut scratch,
                );
            }
        }
    }
}

struct M2lJob<'a, T> {
    chunk: &'a crate::lists::Chunk,
    tables: &'a Tables<T>,
    orders: &'a Orders,
    multipoles: &'a [Vec<T>],
    locals: &'a mut [T],
    stride: usize,
}

impl<T: Real> Task<T> for M2lJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let chunk = self.chunk;
        let p = chunk.batches.iter().map(|b| b.order as usize).max().unwrap_or(1);
        let mut scratch = crate::translate::Scratch::<V>::new(p);
        for b in &chunk.batches {
            let level = b.source_level as usize;
            let order = b.order as usize;
            let sources = Expansions {
                values: &self.multipoles[level],
                stride: stride::<T>(self.orders.multipole[level]),
            };
            let pairs = &chunk.pairs[b.pairs.start as usize..b.pairs.end as usize];
            let translation = self.tables.translation(b.vector as usize, order, order);
            batch(&translation, pairs, sources, self.locals, self.stride, &mut scratch);
        }
    }
}

/// Leaves of one L2P job with their pieces of the outputs.
struct Leaves<'a, T> {
    cells: &'a [u32],
    potential: Vec<&'a mut [T]>,
    gradient: Option<[Vec<&'a mut [T]>; 3]>,
}

/// The pieces of `array` that belong to each of `cells`, which between them own every target once.
fn split<'a, T>(tree: &Tree, cells: &[u32], array: &'a mut [T]) -> Vec<&'a mut [T]> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_unstable_by_key(|&i| tree.cells[cells[i] as usize].targets.start);
    let mut pieces: Vec<&mut [T]> = Vec::with_capacity(cells.len());
    pieces.resize_with(cells.len(), Default::default);
    let mut rest = array;
    for i in order {
        let length = tree.cells[cells[i] as usize].targets.len();
        let (piece, after) = std::mem::take(&mut rest).split_at_mut(length);
        (pieces[i], rest) = (piece, after);
    }
    pieces
}

fn split_targets<'a, T>(
    tree: &Tree,
    cells: &'a [u32],
    potential: &'a mut [T],
    gradient: [Option<&'a mut [T]>; 3],
) -> Vec<Leaves<'a, T>> {
    let mut potential = split(tree, cells, potential).into_iter();
    let mut gradient = match gradient {
        [Some(x), Some(y), Some(z)] => Some([x, y, z].map(|g| split(tree, cells, g).into_iter())),
        _ => None,
    };
    cells
        .chunks(JOB_CELLS)
        .map(|cells| Leaves {
            cells,
            potential: potential.by_ref().take(cells.len()).collect(),
            gradient: gradient
                .as_mut()
                .map(|g| g.each_mut().map(|axis| axis.by_ref().take(cells.len()).collect())),
        })
        .collect()
}

struct L2pJob<'a, T> {
    tables: p2m::Tables<'a, T>,
    tree: &'a Tree,
    orders: &'a Orders,
    locals: &'a [Vec<T>],
    particles: &'a Particles<T>,
    job: Leaves<'a, T>,
}

impl<T: Real> Task<T> for L2pJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let p_max = self.orders.local.iter().copied().max().unwrap_or(0);
        let mut scratch = l2p::Scratch::<V>::new(p_max);
        let Leaves { cells, potential, mut gradient } = self.job;
        for (i, (&index, potential)) in cells.iter().zip(potential).enumerate() {
            let cell = &self.tree.cells[index as usize];
            let level = cell.level as usize;
            let p = self.orders.local[level];
            if p == 0 {
                continue;
            }
            let stride = stride::<T>(p);
            let begin = (index as usize - self.tree.levels[level].start) * stride;
            l2p::l2p(
                self.tables,
                p,
                side(cell.level),
                cell.targets.start as usize..cell.targets.end as usize,
                self.particles,
                &self.locals[level][begin..begin + stride],
                potential,
                gradient.as_mut().map(|g| g.each_mut().map(|axis| std::mem::take(&mut axis[i]))),
                &mut scratch,
            );
        }
    }
}

/// Target leaves of one P2P job.
const P2P_LEAVES: usize = 64;

struct P2pJob<'a, T> {
    rows: Range<usize>,
    lists: &'a Lists,
    root: &'a Root,
    tree: &'a Tree,
    sources: &'a Particles<T>,
    targets: &'a Particles<T>,
    strengths: &'a Strengths<T>,
    close: Option<&'a CloseRows<T>>,
    sums: Vec<p2p::Sums<'a, T>>,
}

/// The close pairs of one P2P job.
#[derive(Clone, Debug)]
struct CloseRows<T> {
    /// For each row of the job where its pairs end.
    ends: Vec<u32>,
    pairs: Vec<p2p::ClosePair<T>>,
}

/// Boxes and what they are near to.
#[derive(Clone, Copy)]
struct Places<'a> {
    root: &'a Root,
    tree: &'a Tree,
    lists: &'a Lists,
}

/// One set of points: as the loops see them, their order, as the caller gave them.
type Points<'a, T> = (&'a Particles<T>, &'a Order, &'a [[f64; 3]]);

/// The close pairs of every P2P job; none in double precision, which needs no such care.
fn find_close<T: Real>(
    simd: Level,
    places: &Places<'_>,
    sources: Points<'_, T>,
    targets: Points<'_, T>,
) -> Vec<CloseRows<T>> {
    if T::PRECISION == Precision::Double {
        return Vec::new();
    }
    let rows = places.lists.near.cells.len();
    (0..rows.div_ceil(P2P_LEAVES))
        .into_par_iter()
        .map(|i| {
            let rows = i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(rows);
            T::dispatch(simd, CloseJob { places, sources, targets, rows })
        })
        .collect()
}

struct CloseJob<'a, T> {
    places: &'a Places<'a>,
    sources: Points<'a, T>,
    targets: Points<'a, T>,
    rows: Range<usize>,
}

impl<T: Real> Task<T> for CloseJob<'_, T> {
    type Output = CloseRows<T>;

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) -> CloseRows<T> {
        let Places { root, tree, lists } = *self.places;
        let (sources, source_order, source_points) = self.sources;
        let (targets, target_order, target_points) = self.targets;
        let mut found = CloseRows { ends: Vec::with_capacity(self.rows.len()), pairs: Vec::new() };
        let mut near = Vec::new();
        for row in self.rows {
            let target = &tree.cells[lists.near.cells[row] as usize];
            near_sources(root, tree, target, lists.near.row(row), &mut near);
            let range = target.targets.start as usize..target.targets.end as usize;
            p2p::close_pairs::<V>(range.clone(), targets, &near, sources, |t, s| {
                let x = &target_points[target_order.index[t] as usize];
                let y = &source_points[source_order.index[s] as usize];
                let displacement = std::array::from_fn(|i| T::of((x[i] - y[i]) / root.side));
                // Coincident points contribute nothing, so they need no entry.
                if x != y {
                    let target = (t - range.start) as u32;
                    found.pairs.push(p2p::ClosePair { target, source: s as u32, displacement });
                }
            });
            found.ends.push(found.pairs.len() as u32);
        }
        found.pairs.shrink_to_fit();
        found
    }
}

/// The source leaves near `target` as P2P sees them.
fn near_sources<T: Real>(
    root: &Root,
    tree: &Tree,
    target: &Cell,
    row: &[u32],
    near: &mut Vec<p2p::Near<T>>,
) {
    let centre = root.centre(target);
    near.clear();
    near.extend(row.iter().map(|&s| {
        let source = &tree.cells[s as usize];
        let there = root.centre(source);
        p2p::Near {
            sources: source.sources.start as usize..source.sources.end as usize,
            shift: std::array::from_fn(|i| T::of((centre[i] - there[i]) / root.side)),
            threshold: p2p::threshold(side(target.level.min(source.level))),
        }
    }));
}

impl<T: Real> Task<T> for P2pJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let mut near = Vec::new();
        let mut begin = 0;
        for (i, (row, mut sums)) in self.rows.zip(self.sums).enumerate() {
            let target = &self.tree.cells[self.lists.near.cells[row] as usize];
            near_sources(self.root, self.tree, target, self.lists.near.row(row), &mut near);
            p2p::p2p::<V>(
                target.targets.start as usize..target.targets.end as usize,
                self.targets,
                &near,
                self.sources,
                self.strengths,
                &mut sums,
            );
            if let Some(close) = self.close {
                let end = close.ends[i] as usize;
                p2p::add_close(&close.pairs[begin..end], self.strengths, &mut sums);
                begin = end;
            }
        }
    }
}
