//! Points in Morton order, each relative to the centre of its leaf in units of the root's side.
//!
//! Relative coordinates keep single precision exact to 1e-7 of a leaf, where global ones would lose
//! the gradient of close pairs. Points that coincide have the same relative coordinates in every
//! format, so their distance is exactly zero.
//!
//! Fine coordinates come in two parts: one on a grid of which all differences between near boxes
//! are exact, and the rest. The difference of two points is that of the first parts plus that of
//! the rests, to working precision however close they are.

pub mod scale;
pub(crate) mod sums;

use parallel::prelude::*;

use crate::model::Densities;
use crate::particles::scale::Scale;
use crate::tree::{MortonOrder, Root, Tree, side};
use parallel::DisjointSlice;
use simd::{Real, Simd};

/// Grid of fine coordinates in sides of a leaf: with 24 bits differences up to two sides are exact,
/// larger ones relatively good.
const GRID: f64 = 1.0 / (1u64 << 23) as f64;

/// Points fetched from the caller's array at a time.
const GATHERED: usize = 64;

/// Scalars that may be read past the end of an array: two of the widest vectors.
pub(crate) const PADDING: usize = 32;

/// Coordinates of one set of points.
#[derive(Clone, Debug)]
pub(crate) struct Particles<T> {
    /// x, y, z, each padded.
    axes: [Vec<T>; 3],
    /// The rests of fine coordinates; otherwise empty.
    rests: [Vec<T>; 3],
}

impl<T: Real> Particles<T> {
    /// `range` picks sources or targets of a box; `fine` keeps rests.
    pub(crate) fn new(
        root: &Root,
        tree: &Tree,
        order: &MortonOrder,
        points: &[[f64; 3]],
        range: impl Fn(&crate::tree::Cell) -> std::ops::Range<u32> + Sync,
        fine: bool,
    ) -> Self {
        let n = points.len();
        let padded = |n| std::array::from_fn(|_| vec![T::default(); n]);
        let mut axes: [Vec<T>; 3] = padded(n + PADDING);
        let mut rests: [Vec<T>; 3] = padded(if fine { n + PADDING } else { 0 });
        let [x, y, z] = axes.each_mut().map(|a| DisjointSlice::new(a));
        let shared_rests = rests.each_mut().map(|a| DisjointSlice::new(a));
        let scale = 1.0 / root.side;
        tree.cells.par_iter().with_min_len(64).filter(|cell| cell.is_leaf()).for_each(|leaf| {
            let own = range(leaf).start as usize..range(leaf).end as usize;
            // SAFETY: a point is in one leaf.
            let [x, y, z] = [&x, &y, &z].map(|axis| unsafe { axis.slice(own.clone()) });
            let centre = root.centre(leaf);
            let relative = |point: &[f64; 3]| -> [f64; 3] {
                std::array::from_fn(|axis| (point[axis] - centre[axis]) * scale)
            };
            // Added and taken off again, it leaves a number on the grid: the spacing of doubles
            // there.
            let grid = GRID * side(leaf.level) * (1.5 / f64::EPSILON);
            let mut rests = fine.then(|| {
                // SAFETY: as above.
                shared_rests.each_ref().map(|axis| unsafe { axis.slice(own.clone()) })
            });
            let mut gathered = [[0.0; 3]; GATHERED];
            for (run, index) in order.index[own].chunks(GATHERED).enumerate() {
                // Alone, reads all over memory do not wait for one another.
                for (to, &i) in gathered.iter_mut().zip(index) {
                    *to = points[i as usize];
                }
                for (slot, point) in (run * GATHERED..).zip(&gathered[..index.len()]) {
                    let point = relative(point);
                    let Some(rests) = &mut rests else {
                        [x[slot], y[slot], z[slot]] = point.map(T::of);
                        continue;
                    };
                    let coarse = point.map(|x| (x + grid) - grid);
                    [x[slot], y[slot], z[slot]] = coarse.map(T::of);
                    for axis in 0..3 {
                        rests[axis][slot] = T::of(point[axis] - coarse[axis]);
                    }
                }
            }
        });
        Self { axes, rests }
    }

    /// Of `count` targets that are the sources of their leaves, in the same order.
    pub(crate) fn of_targets(&self, tree: &Tree, count: usize) -> Self {
        let copied = |from: &Vec<T>| {
            if from.is_empty() {
                return Vec::new();
            }
            let mut to = vec![T::default(); count + PADDING];
            let shared = DisjointSlice::new(&mut to);
            tree.cells.par_iter().with_min_len(64).filter(|cell| cell.is_leaf()).for_each(|leaf| {
                let (first, own) = (leaf.sources.start as usize, leaf.targets.clone());
                // SAFETY: a target is in one leaf.
                let to = unsafe { shared.slice(own.start as usize..own.end as usize) };
                to.copy_from_slice(&from[first..first + to.len()]);
            });
            to
        };
        Self { axes: self.axes.each_ref().map(copied), rests: self.rests.each_ref().map(copied) }
    }

    /// The `LANES` points from `first` on; lanes past the end of a box belong to the next.
    #[inline(always)]
    pub(crate) fn lanes<V: Simd<Scalar = T>>(&self, first: usize) -> [V; 3] {
        [
            V::load(&self.axes[0][first..]),
            V::load(&self.axes[1][first..]),
            V::load(&self.axes[2][first..]),
        ]
    }

    /// The rests of the `LANES` points from `first` on; for fine coordinates alone.
    #[inline(always)]
    pub(crate) fn rest_lanes<V: Simd<Scalar = T>>(&self, first: usize) -> [V; 3] {
        [
            V::load(&self.rests[0][first..]),
            V::load(&self.rests[1][first..]),
            V::load(&self.rests[2][first..]),
        ]
    }

    /// The rests of a range of points, axis by axis; for fine coordinates alone.
    #[inline(always)]
    pub(crate) fn rests(&self, range: std::ops::Range<usize>) -> [&[T]; 3] {
        self.rests.each_ref().map(|a| &a[range.clone()])
    }

    /// One coordinate of all points, padded.
    #[inline(always)]
    pub(crate) fn axis(&self, axis: usize) -> &[T] {
        &self.axes[axis]
    }

    /// Coordinates of one point.
    #[inline(always)]
    pub(crate) fn point(&self, i: usize) -> [T; 3] {
        [self.axes[0][i], self.axes[1][i], self.axes[2][i]]
    }

    /// Coordinates of a range of points, axis by axis.
    #[inline(always)]
    pub(crate) fn range(&self, range: std::ops::Range<usize>) -> [&[T]; 3] {
        self.axes.each_ref().map(|a| &a[range.clone()])
    }

    pub(crate) fn bytes(&self) -> usize {
        3 * (self.axes[0].len() + self.rests[0].len()) * size_of::<T>()
    }
}

/// Strengths of one `apply` in Morton order, padded with zeros like the coordinates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strengths<T> {
    /// k arrays of charges, or none.
    pub charges: Vec<Vec<T>>,
    /// k dipole moments, axis by axis, or none; in units of the root's side, so that they combine
    /// with the charges.
    pub dipoles: Vec<[Vec<T>; 3]>,
    /// What each density was multiplied by, if it was gathered.
    pub scales: Vec<Scale>,
}

impl<T: Real> Strengths<T> {
    /// Takes over strengths of another format, rounded.
    pub(crate) fn round<U: Real>(&mut self, from: &Strengths<U>) {
        self.charges.resize_with(from.charges.len(), Vec::new);
        self.dipoles.resize_with(from.dipoles.len(), Default::default);
        let charges = self.charges.iter_mut().zip(&from.charges);
        let dipoles = self.dipoles.iter_mut().flatten().zip(from.dipoles.iter().flatten());
        for (to, from) in charges.chain(dipoles) {
            to.resize(from.len(), T::default());
            to.par_iter_mut()
                .with_min_len(4096)
                .zip(from)
                .for_each(|(to, from)| *to = T::of(from.to_f64()));
        }
    }

    /// All arrays: charges, then dipoles axis by axis.
    pub(crate) fn components(&mut self) -> impl Iterator<Item = &mut Vec<T>> {
        self.charges.iter_mut().chain(self.dipoles.iter_mut().flatten())
    }

    /// Brings caller's densities into Morton order, each by its own of `scales`.
    pub(crate) fn gather(
        &mut self,
        order: &MortonOrder,
        scales: Vec<Scale>,
        Densities { charges, dipoles }: Densities<'_>,
        side: f64,
    ) {
        let (n, k) = (order.index.len(), scales.len());
        self.charges.resize_with(charges.map_or(0, |_| k), Vec::new);
        self.charges.par_iter_mut().enumerate().for_each(|(density, to)| {
            let from = charges.map_or(&[][..], |q| &q[density * n..(density + 1) * n]);
            let scale = scales[density];
            to.resize(n + PADDING, T::default());
            to[..n]
                .par_iter_mut()
                .with_min_len(4096)
                .zip(&order.index)
                .for_each(|(to, &i)| *to = T::of(scale.apply(from[i as usize])));
        });
        self.dipoles.resize_with(dipoles.map_or(0, |_| k), Default::default);
        for (density, to) in self.dipoles.iter_mut().enumerate() {
            let from = dipoles.map_or(&[][..], |d| &d[density * 3 * n..(density + 1) * 3 * n]);
            let scale = scales[density];
            for (axis, to) in to.iter_mut().enumerate() {
                to.resize(n + PADDING, T::default());
                to[..n].par_iter_mut().with_min_len(4096).zip(&order.index).for_each(|(to, &i)| {
                    *to = T::of(scale.apply(from[3 * i as usize + axis]) / side);
                });
            }
        }
        self.scales = scales;
    }
}
