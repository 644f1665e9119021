//! Close pairs: those that P2P's vector loop leaves out in single precision.
//!
//! In single precision a coordinate is good to 1e-7 of a leaf's side, which ruins the distance of points much closer than
//! that side. Pairs closer than [`close_sides`] sides are therefore found once for a plan and kept with the displacement that
//! double precision gives; the vector loop leaves out exactly these. Pairs of leaves without any, nearly all, are summed
//! without asking.

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use crate::Precision;
use crate::lists::Lists;
use crate::near::{Near, View, close_sides};
use crate::p2p::{displacements, square, squares};
use crate::particles::{Particles, Strengths};
use crate::simd::{Level, MAX_LANES, Real, Simd, Task};
use crate::sums::Sums;
use crate::tree::{Order, Root, Tree, side};

/// Target leaves of one P2P job.
pub(crate) const P2P_LEAVES: usize = 64;

/// A pair that the vector loop leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosePair<T> {
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
    pub(crate) pairs: Vec<ClosePair<T>>,
}

/// Boxes and what they are near to.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) root: &'a Root,
    pub(crate) tree: &'a Tree,
    pub(crate) lists: &'a Lists,
}

/// One set of points: as the loops see them, their order, as the caller gave them.
pub(crate) type Points<'a, T> = (&'a Particles<T>, &'a Order, &'a [[f64; 3]]);

/// The close pairs of every P2P job whose vector loop works in `N`; none in double precision, which needs no such care.
pub(crate) fn find_close<N: Real, T: Real>(
    simd: Level,
    places: &Places<'_>,
    sources: Points<'_, N>,
    targets: Points<'_, N>,
    derivatives: bool,
) -> Vec<CloseRows<T>> {
    if N::PRECISION == Precision::Double {
        return Vec::new();
    }
    let rows = places.lists.near.cells.len();
    (0..rows.div_ceil(P2P_LEAVES))
        .into_par_iter()
        .map(|i| {
            let rows = i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(rows);
            let job = CloseJob { places, sources, targets, rows, derivatives, stored: PhantomData };
            N::dispatch(simd, job)
        })
        .collect()
}

struct CloseJob<'a, N, T> {
    places: &'a Places<'a>,
    sources: Points<'a, N>,
    targets: Points<'a, N>,
    rows: Range<usize>,
    derivatives: bool,
    stored: PhantomData<T>,
}

impl<N: Real, T: Real> Task<N> for CloseJob<'_, N, T> {
    type Output = CloseRows<T>;

    #[inline(always)]
    fn run<V: Simd<Scalar = N>>(self) -> CloseRows<T> {
        let Places { root, tree, lists } = *self.places;
        let (sources, source_order, source_points) = self.sources;
        let (targets, target_order, target_points) = self.targets;
        let same = std::ptr::eq(source_order, target_order);
        let mut found = CloseRows {
            ends: Vec::with_capacity(self.rows.len()),
            masked: Vec::new(),
            pairs: Vec::new(),
        };
        for row in self.rows {
            let index = lists.near.cells[row];
            let target = &tree.cells[index as usize];
            let list = lists.near.row(row);
            let range = target.targets.start as usize..target.targets.end as usize;
            let view = View::new(root, tree, index, close_sides::<N, T>(self.derivatives));
            for &source in list {
                let near = view.of(source);
                let within = match (source == index, same) {
                    (true, true) => Within::SamePoints,
                    (true, false) => Within::SameBox,
                    _ => Within::Reach(0.5 * side(target.level)),
                };
                let mut any = source == index;
                let put = |t: usize, s: usize| {
                    any = true;
                    let x = &target_points[target_order.index[t] as usize];
                    let y = &source_points[source_order.index[s] as usize];
                    let displacement = std::array::from_fn(|i| T::of((x[i] - y[i]) / root.side));
                    // Coincident points contribute nothing, so they need no entry.
                    if x != y {
                        let target = (t - range.start) as u32;
                        found.pairs.push(ClosePair { target, source: s as u32, displacement });
                    }
                };
                let leaves = Leaves { targets, range: range.clone(), sources, near };
                if N::IS_SINGLE && !T::IS_SINGLE {
                    leaves.close_pairs::<V, true>(within, put);
                } else {
                    leaves.close_pairs::<V, false>(within, put);
                }
                found.masked.push(any);
            }
            found.ends.push(found.pairs.len() as u32);
        }
        found.pairs.shrink_to_fit();
        found
    }
}

/// Which sources of a near leaf may be close to a target.
#[derive(Clone, Copy, Debug)]
enum Within {
    /// All: they are in the target leaf too.
    SameBox,
    /// Likewise, and the sources are the targets: each pair is looked at once, a point and itself never.
    SamePoints,
    /// Those about as close to the target leaf, of this half side, as the threshold.
    Reach(f64),
}

/// A target leaf and one near leaf.
struct Leaves<'a, T> {
    targets: &'a Particles<T>,
    range: Range<usize>,
    sources: &'a Particles<T>,
    near: Near<T>,
}

/// Fine coordinates move a squared distance at the threshold by less than this part of it.
const FINE_PART: f64 = 1e-4;

impl<T: Real> Leaves<'_, T> {
    /// Calls `put(target, source)` for every pair within the threshold: the pairs that the vector loop leaves out, decided by the
    /// same arithmetic.
    #[inline(always)]
    fn close_pairs<V: Simd<Scalar = T>, const FINE: bool>(
        &self,
        within: Within,
        mut put: impl FnMut(usize, usize),
    ) {
        let (sources, range) = (&self.near.sources, &self.range);
        let half = match within {
            Within::SameBox => {
                for j in sources.clone() {
                    self.compare::<V, FINE>(range.clone(), j, &mut put);
                }
                return;
            }
            Within::SamePoints => {
                let mut both = |t, s| {
                    put(t, s);
                    put(s, t);
                };
                for j in sources.clone() {
                    self.compare::<V, FINE>(j + 1..range.end, j, &mut both);
                }
                return;
            }
            Within::Reach(half) => half,
        };
        let reach = V::splat(T::of(half + 1.001 * self.near.threshold.to_f64().sqrt()));
        let shift = self.shift::<V>();
        // Most leaves have no such source: they are asked once.
        let mut least = reach.add(reach);
        for first in sources.clone().step_by(V::LANES) {
            least = least.min(offset(self.sources.lanes::<V>(first), shift));
        }
        if !least.any_at_most(reach) {
            return;
        }
        for first in sources.clone().step_by(V::LANES) {
            let offset = offset(self.sources.lanes::<V>(first), shift);
            if offset.any_at_most(reach) {
                let mut lanes = [T::default(); MAX_LANES];
                offset.sub(reach).store(&mut lanes);
                let valid = (sources.end - first).min(V::LANES);
                for (lane, beyond) in lanes[..valid].iter().enumerate() {
                    if *beyond <= T::default() {
                        self.compare::<V, FINE>(range.clone(), first + lane, &mut put);
                    }
                }
            }
        }
    }

    /// Calls `put(target, source)` for source `j` and those of the targets `range` within its threshold.
    #[inline(always)]
    fn compare<V: Simd<Scalar = T>, const FINE: bool>(
        &self,
        range: Range<usize>,
        j: usize,
        put: &mut impl FnMut(usize, usize),
    ) {
        // Most have none: coarse coordinates tell, plane loops over whole vectors.
        let part = if FINE { FINE_PART } else { 0.0 };
        let threshold = V::splat(T::of(self.near.threshold.to_f64() * (1.0 + part)));
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
            let rests = (&[[x], [y], [z]], [a[0], b[0], c[0]]);
            square(&displacements(&points, self.sources.point(j), rests))
        } else {
            squares(&points, self.sources.point(j))
        };
        r2
    }
}

/// Largest coordinate, without its sign, of points seen from `centre`.
#[inline(always)]
fn offset<V: Simd>([x, y, z]: [V; 3], centre: [V; 3]) -> V {
    x.sub(centre[0]).abs().max(y.sub(centre[1]).abs()).max(z.sub(centre[2]).abs())
}

/// Adds the pairs that the vector loop left out at one leaf's targets, the first of which is `first`.
///
/// # Safety
/// No other job has part in these targets.
pub(crate) unsafe fn add_close<T: Real>(
    pairs: &[ClosePair<T>],
    strengths: &Strengths<T>,
    first: usize,
    sums: &Sums<'_, T>,
) {
    let k = strengths.charges.len().max(strengths.dipoles.len());
    for pair in pairs {
        let r = pair.displacement.map(Real::to_f64);
        let (target, source) = (first + pair.target as usize, pair.source as usize);
        let inverse = 1.0 / (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
        let inverse3 = inverse * inverse * inverse;
        for density in 0..k {
            let q = strengths.charges.get(density).map_or(0.0, |q| q[source].to_f64());
            let d = strengths
                .dipoles
                .get(density)
                .map_or([0.0; 3], |d| d.each_ref().map(|d| d[source].to_f64()));
            let along = (d[0] * r[0] + d[1] * r[1] + d[2] * r[2]) * inverse3;
            // SAFETY: the caller's.
            let potential = unsafe { sums.potential(density, target..target + 1) };
            potential[0] += T::of(q * inverse + along);
            if sums.has_gradient() {
                let factor = q * inverse3 + 3.0 * along * inverse * inverse;
                for axis in 0..3 {
                    // SAFETY: the caller's.
                    let gradient = unsafe { sums.gradient(density, axis, target..target + 1) };
                    gradient[0] += T::of(d[axis] * inverse3 - factor * r[axis]);
                }
            }
        }
    }
}
