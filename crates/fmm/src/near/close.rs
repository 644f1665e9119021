//! Close pairs: those that P2P's vector loop leaves out.
//!
//! In single precision a coordinate relative to its leaf is good to 1e-7 of the leaf's side, in
//! double precision to 1e-16, which ruins the distance of points much closer than that side: a
//! small body far from the rest, in a leaf as small as leaves get, may be any part of it. Pairs
//! closer than [`close_sides`] sides are therefore found once for a plan and kept with the
//! displacement that double precision gives; the vector loop leaves out exactly these. Pairs of
//! leaves without any, nearly all, are summed without asking.

use std::marker::PhantomData;
use std::ops::Range;

use parallel::prelude::*;

use crate::distances::{displacements, square, squares};
use crate::expansions::screened::Screening;
use crate::geometry::Geometry;
use crate::model::Points;
use crate::near::leaf::{NearLeaf, TargetLeaf, close_sides};
use crate::particles::sums::Sums;
use crate::particles::{Particles, Strengths};
use crate::tree::lists::Rows;
use crate::tree::{Cell, MortonOrder, Tree};
use simd::{Level, MAX_LANES, Real, Simd, Task, dispatch};

/// Target leaves of one P2P job: few, so that small sums are work for many threads.
pub(crate) const P2P_LEAVES: usize = 8;

/// A pair that the vector loop leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnresolvedPair<T> {
    /// Target within its leaf.
    pub target: u32,
    pub source: u32,
    /// Target minus source.
    pub displacement: [T; 3],
}

/// The close pairs of one P2P job.
#[derive(Clone, Debug)]
pub(crate) struct CloseRows<T> {
    /// For each row of the job where its pairs end.
    pub(crate) ends: Vec<u32>,
    /// For each source leaf of each row whether any pair must be left out of the vector loop.
    pub(crate) masked: Vec<bool>,
    pub(crate) pairs: Vec<UnresolvedPair<T>>,
}

/// One set of points: as the loops see them, their order, as the caller gave them.
type PointSet<'a, T> = (&'a Particles<T>, &'a MortonOrder, &'a [[f64; 3]]);

/// The close pairs of every P2P job over the rows of `near` whose vector loop works in `N`; without
/// `targets` they are the sources.
pub(crate) fn find_close<N: Real, T: Real>(
    simd: Level,
    geometry: &Geometry,
    near: &Rows,
    points: Points<'_>,
    sources: &Particles<N>,
    targets: Option<&Particles<N>>,
    derivatives: bool,
) -> Vec<CloseRows<T>> {
    let tree = &geometry.tree;
    let sources = (sources, &geometry.source_order, points.sources);
    let targets = match (targets, &geometry.target_order, points.targets) {
        (Some(particles), Some(order), Some(points)) => (particles, order, points),
        _ => sources,
    };
    let source_bounds = bounds(tree, sources.0, |cell| &cell.sources);
    let own_targets = !std::ptr::eq(sources.1, targets.1);
    let target_bounds = own_targets.then(|| bounds(tree, targets.0, |cell| &cell.targets));
    let bounds = [target_bounds.as_deref().unwrap_or(&source_bounds), &source_bounds];
    let rows = near.cells.len();
    (0..rows.div_ceil(P2P_LEAVES))
        .into_par_iter()
        .map(|i| {
            let rows = i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(rows);
            let stored = PhantomData;
            let job =
                CloseJob { geometry, near, sources, targets, bounds, rows, derivatives, stored };
            dispatch(simd, job)
        })
        .collect()
}

/// The box about a leaf's points: lowest and highest coordinates from the leaf's centre.
type Bounds<T> = [[T; 3]; 2];

/// The bounds of every leaf; what other boxes get means nothing.
fn bounds<T: Real>(
    tree: &Tree,
    particles: &Particles<T>,
    range: fn(&Cell) -> &Range<u32>,
) -> Vec<Bounds<T>> {
    let of = |cell: &Cell| {
        let mut bounds = Bounds::default();
        let range = range(cell).start as usize..range(cell).end as usize;
        if !cell.is_leaf() || range.is_empty() {
            return bounds;
        }
        for (axis, x) in particles.range(range).into_iter().enumerate() {
            let (mut low, mut high) = (x[0], x[0]);
            for &x in x {
                low = if x < low { x } else { low };
                high = if x > high { x } else { high };
            }
            (bounds[0][axis], bounds[1][axis]) = (low, high);
        }
        bounds
    };
    tree.cells.par_iter().with_min_len(64).map(of).collect()
}

struct CloseJob<'a, N, T> {
    geometry: &'a Geometry,
    near: &'a Rows,
    sources: PointSet<'a, N>,
    targets: PointSet<'a, N>,
    /// Of targets and sources in every leaf.
    bounds: [&'a [Bounds<N>]; 2],
    rows: Range<usize>,
    derivatives: bool,
    stored: PhantomData<T>,
}

impl<N: Real, T: Real> Task<N> for CloseJob<'_, N, T> {
    type Output = CloseRows<T>;

    #[inline(always)]
    fn run<V: Simd<Scalar = N>>(self) -> CloseRows<T> {
        let Geometry { root, tree, .. } = self.geometry;
        let (sources, source_order, source_points) = self.sources;
        let (targets, target_order, target_points) = self.targets;
        let same = std::ptr::eq(source_order, target_order) || self.geometry.itself;
        let mut found = CloseRows {
            ends: Vec::with_capacity(self.rows.len()),
            masked: Vec::new(),
            pairs: Vec::new(),
        };
        for row in self.rows {
            let index = self.near.cells[row];
            let target = &tree.cells[index as usize];
            let list = self.near.row(row);
            let range = target.targets.start as usize..target.targets.end as usize;
            let leaf = TargetLeaf::new(root, tree, index, close_sides::<N, T>(self.derivatives));
            for &source in list {
                let near = leaf.of(source);
                let bounds = [self.bounds[0][index as usize], self.bounds[1][source as usize]];
                let mut any = source == index;
                // Pairs within a leaf have places of targets.
                let itself = source == index && same;
                let first = tree.cells[source as usize].sources.start as usize;
                let shift = if itself { first.wrapping_sub(range.start) } else { 0 };
                let put = |t: usize, s: usize| {
                    any = true;
                    let s = s.wrapping_add(shift);
                    let x = &target_points[target_order.index[t] as usize];
                    let y = &source_points[source_order.index[s] as usize];
                    let displacement = std::array::from_fn(|i| T::of((x[i] - y[i]) / root.side));
                    // Coincident points contribute nothing, so they need no entry.
                    if x != y {
                        let target = (t - range.start) as u32;
                        found.pairs.push(UnresolvedPair { target, source: s as u32, displacement });
                    }
                };
                let sources = if itself { targets } else { sources };
                let leaves = Leaves { targets, range: range.clone(), sources, near, bounds };
                match (itself, N::IS_SINGLE && !T::IS_SINGLE) {
                    (true, true) => leaves.own_close_pairs::<V, true>(put),
                    (true, false) => leaves.own_close_pairs::<V, false>(put),
                    (false, true) => leaves.close_pairs::<V, true>(put),
                    (false, false) => leaves.close_pairs::<V, false>(put),
                }
                found.masked.push(any);
            }
            found.ends.push(found.pairs.len() as u32);
        }
        found.pairs.shrink_to_fit();
        found
    }
}

/// A target leaf and one near leaf.
struct Leaves<'a, T> {
    targets: &'a Particles<T>,
    range: Range<usize>,
    sources: &'a Particles<T>,
    near: NearLeaf<T>,
    /// Of the targets and of the sources.
    bounds: [Bounds<T>; 2],
}

/// Fine coordinates move a squared distance at the threshold by less than this part of it, rounding
/// by much less.
const FINE_PART: f64 = 1e-4;

impl<T: Real> Leaves<'_, T> {
    /// Calls `put(target, source)` for every pair within the threshold: the pairs that the vector
    /// loop leaves out, decided by the same arithmetic.
    #[inline(always)]
    fn close_pairs<V: Simd<Scalar = T>, const FINE: bool>(
        &self,
        mut put: impl FnMut(usize, usize),
    ) {
        // Most leaves' points are farther apart than the threshold as a whole.
        let [targets, sources] = self.bounds;
        let threshold = (1.0 + FINE_PART) * self.near.threshold.to_f64();
        let (mut apart, mut middle, mut half) = (0.0, [V::zero(); 3], [V::zero(); 3]);
        for axis in 0..3 {
            let shift = self.near.shift[axis].to_f64();
            let [low, high] = targets.map(|of| of[axis].to_f64() + shift);
            let [from, to] = sources.map(|of| of[axis].to_f64());
            let gap = (low - to).max(from - high).max(0.0);
            apart += gap * gap;
            middle[axis] = V::splat(T::of(0.5 * (low + high)));
            half[axis] = V::splat(T::of(0.5 * (high - low)));
        }
        if apart > threshold {
            return;
        }
        let reach = V::splat(T::of(1.001 * threshold.sqrt()));
        let range = self.near.sources.clone();
        for first in range.clone().step_by(V::LANES) {
            let beyond = beyond(self.sources.lanes::<V>(first), middle, half);
            if beyond.any_at_most(reach) {
                let mut lanes = [T::default(); MAX_LANES];
                beyond.sub(reach).store(&mut lanes);
                let valid = (range.end - first).min(V::LANES);
                for (lane, beyond) in lanes[..valid].iter().enumerate() {
                    if *beyond <= T::default() {
                        self.compare::<V, FINE>(self.range.clone(), first + lane, &mut put);
                    }
                }
            }
        }
    }

    /// As [`Self::close_pairs`] where sources are the targets: a point and itself are no pair.
    #[inline(always)]
    fn own_close_pairs<V: Simd<Scalar = T>, const FINE: bool>(
        &self,
        mut put: impl FnMut(usize, usize),
    ) {
        let threshold = V::splat(T::of((1.0 + FINE_PART) * self.near.threshold.to_f64()));
        let mut both = |t, s| {
            put(t, s);
            put(s, t);
        };
        let end = self.range.end;
        for first in self.range.clone().step_by(V::LANES) {
            // Each point of a vector with all later ones, lane by lane; those past the end of the
            // leaf may be close by chance.
            let own = self.targets.lanes::<V>(first);
            let mut least = threshold.add(threshold);
            for j in first + 1..end {
                let [x, y, z] = self.targets.lanes::<V>(j);
                let (x, y, z) = (x.sub(own[0]), y.sub(own[1]), z.sub(own[2]));
                least = least.min(x.mul_add(x, y.mul_add(y, z.mul(z))));
            }
            if least.any_at_most(threshold) {
                for j in first..(first + V::LANES).min(end) {
                    self.compare::<V, FINE>(j + 1..end, j, &mut both);
                }
            }
        }
    }

    /// Calls `put(target, source)` for source `j` and those of the targets `range` within its
    /// threshold.
    #[inline(always)]
    fn compare<V: Simd<Scalar = T>, const FINE: bool>(
        &self,
        range: Range<usize>,
        j: usize,
        put: &mut impl FnMut(usize, usize),
    ) {
        // Most have none: coarse coordinates tell, plane loops over whole vectors.
        let threshold = V::splat(T::of((1.0 + FINE_PART) * self.near.threshold.to_f64()));
        let source = self.sources.point(j);
        let shift = self.shift::<V>();
        let whole = range.start..range.start + range.len().next_multiple_of(V::LANES);
        let [x, y, z] = self.targets.range(whole);
        let (y, z) = (&y[..x.len()], &z[..x.len()]);
        let mut least = threshold.add(threshold);
        for i in (0..x.len()).step_by(V::LANES) {
            let [x, y, z] = [V::load(&x[i..]), V::load(&y[i..]), V::load(&z[i..])];
            let points = [[x.add(shift[0])], [y.add(shift[1])], [z.add(shift[2])]];
            let [r2] = squares(&points, source);
            least = least.min(r2);
        }
        if !least.any_at_most(threshold) {
            return;
        }
        let threshold = V::splat(self.near.threshold);
        for first in range.clone().step_by(V::LANES) {
            let r2 = self.squared::<V, FINE>(first, j);
            if r2.any_at_most(threshold) {
                let mut lanes = [T::default(); MAX_LANES];
                r2.store(&mut lanes);
                for (lane, r2) in lanes[..(range.end - first).min(V::LANES)].iter().enumerate() {
                    if *r2 <= self.near.threshold {
                        put(first + lane, j);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn shift<V: Simd<Scalar = T>>(&self) -> [V; 3] {
        let [x, y, z] = self.near.shift;
        [V::splat(x), V::splat(y), V::splat(z)]
    }

    /// Squared distances of the targets from `first` on from source `j`.
    #[inline(always)]
    fn squared<V: Simd<Scalar = T>, const FINE: bool>(&self, first: usize, j: usize) -> V {
        let [x, y, z] = self.targets.lanes::<V>(first);
        let shift = self.shift::<V>();
        let points = [[x.add(shift[0])], [y.add(shift[1])], [z.add(shift[2])]];
        let [r2] = if FINE {
            let [x, y, z] = self.targets.rest_lanes::<V>(first);
            let [a, b, c] = self.sources.rests(j..j + 1);
            let (rests, rest) = ([[x], [y], [z]], [a[0], b[0], c[0]]);
            square(&displacements(&points, self.sources.point(j), &rests, rest))
        } else {
            squares(&points, self.sources.point(j))
        };
        r2
    }
}

/// How far points lie outside of a box, along the axis where that is most; negative inside.
#[inline(always)]
fn beyond<V: Simd>([x, y, z]: [V; 3], middle: [V; 3], half: [V; 3]) -> V {
    let x = x.sub(middle[0]).abs().sub(half[0]);
    let y = y.sub(middle[1]).abs().sub(half[1]);
    let z = z.sub(middle[2]).abs().sub(half[2]);
    x.max(y).max(z)
}

/// Adds the pairs that the vector loop left out at one leaf's targets, the first of which is
/// `first`.
///
/// # Safety
/// No other job has part in these targets.
pub(crate) unsafe fn add_close<T: Real>(
    screening: Screening,
    pairs: &[UnresolvedPair<T>],
    strengths: &Strengths<T>,
    first: usize,
    sums: &Sums<'_, T>,
) {
    let k = strengths.charges.len().max(strengths.dipoles.len());
    for pair in pairs {
        let r = pair.displacement.map(Real::to_f64);
        let (target, source) = (first + pair.target as usize, pair.source as usize);
        let [inverse, inverse3, inverse5] =
            screening.slopes((r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt());
        for density in 0..k {
            let q = strengths.charges.get(density).map_or(0.0, |q| q[source].to_f64());
            let d = strengths
                .dipoles
                .get(density)
                .map_or([0.0; 3], |d| d.each_ref().map(|d| d[source].to_f64()));
            let along = d[0] * r[0] + d[1] * r[1] + d[2] * r[2];
            // SAFETY: the caller's.
            let potential = unsafe { sums.potential(density, target..target + 1) };
            potential[0] += T::of(q * inverse + along * inverse3);
            if sums.has_gradient() {
                let factor = q * inverse3 + along * inverse5;
                for axis in 0..3 {
                    // SAFETY: the caller's.
                    let gradient = unsafe { sums.gradient(density, axis, target..target + 1) };
                    gradient[0] += T::of(d[axis] * inverse3 - factor * r[axis]);
                }
            }
        }
    }
}
