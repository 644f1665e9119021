//! M2P: multipole expansions of boxes, at targets far from them (docs/math.md, "Treecode").
//!
//! Lanes are boxes, not targets: where a treecode pays, a leaf has few targets, often one, but each
//! target is far from some hundred boxes. A tile of boxes has its coefficients side by side,
//! transposed once for all targets of a row.

use std::ops::Range;

use crate::distances::square;
use crate::expansions::Expansions;
use crate::expansions::harmonics::{Harmonics, Visit};
use crate::expansions::radial::Scaled;
use crate::expansions::screened::HALF_DIAGONAL;
use crate::expansions::screened_tables::{ScreenedGradient, ScreenedTables};
use crate::expansions::truncation_numbers::P_MAX;
use crate::geometry::Geometry;
use crate::geometry::far_rows::FarRows;
use crate::particles::Particles;
use crate::particles::sums::Sums;
use crate::scratch::Scratch;
use crate::stages::p2m::together;
use crate::tree::morton::MAX_DEPTH;
use crate::tree::side;
use simd::{Call, MAX_LANES, Real, Simd, Task, scalars_mut};

/// Vectors of boxes in a tile: the steps of one hide the latency of the other's.
const PAIR: usize = 2;

/// What M2P needs of a plan.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a, T> {
    pub(crate) harmonics: &'a Harmonics<T>,
    /// Derivatives of harmonics, up to the largest truncation number.
    pub(crate) gradient: &'a ScreenedGradient,
    /// None: the kernel is not screened.
    pub(crate) screened: Option<&'a ScreenedTables<T>>,
}

/// The boxes of one row at a run of its targets.
pub(crate) struct M2pJob<'a, T> {
    pub(crate) tables: Tables<'a, T>,
    pub(crate) geometry: &'a Geometry,
    pub(crate) rows: &'a FarRows,
    pub(crate) row: usize,
    pub(crate) targets: Range<usize>,
    pub(crate) multipoles: &'a Expansions<T>,
    pub(crate) particles: &'a Particles<T>,
    pub(crate) k: usize,
    pub(crate) sums: &'a Sums<'a, T>,
}

/// `B` vectors of boxes as seen from the box of the targets.
struct Tile<'a, V, const B: usize> {
    p: usize,
    /// Centre of the targets' box minus centre of each box, in units of the root's side.
    shift: [[V; B]; 3],
    /// One over the side of each box.
    inverse_side: [V; B],
    /// kappa times the side of each box.
    kappa: [V; B],
    /// Component `i` of harmonic `place` at `(place * step + i) * B`.
    coefficients: &'a [V],
    step: usize,
}

/// Adds up `C` components' coefficients times harmonics, lane by lane.
struct Values<'a, V, const B: usize, const C: usize> {
    coefficients: &'a [V],
    step: usize,
    sums: [[V; B]; C],
}

impl<V: Simd, const B: usize, const C: usize> Visit<V, B> for Values<'_, V, B, C> {
    #[inline(always)]
    fn visit(&mut self, _: usize, place: usize, harmonics: [V; B]) {
        let (coefficients, _) = self.coefficients[place * self.step..].as_chunks::<B>();
        let coefficients = &coefficients[..C];
        for c in 0..C {
            for b in 0..B {
                self.sums[c][b] = coefficients[c][b].mul_add(harmonics[b], self.sums[c][b]);
            }
        }
    }
}

/// One tile at some targets, components from `first` on.
struct Work<'a, V: Simd, const B: usize> {
    harmonics: &'a Harmonics<V::Scalar>,
    tile: &'a Tile<'a, V, B>,
    first: usize,
    /// Relative to the targets' box.
    points: &'a [[V::Scalar; 3]],
    /// Of each target the sums of all components.
    sums: &'a mut [V],
    components: usize,
}

/// `C` components of such work.
struct Evaluate<'a, V: Simd, const B: usize, const C: usize, const SCREENED: bool>(Work<'a, V, B>);

impl<V: Simd, const B: usize, const C: usize, const SCREENED: bool> Call
    for Evaluate<'_, V, B, C, SCREENED>
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Work { harmonics, tile, first, points, sums, components } = self.0;
        let count = C.min(components - first);
        for (point, sums) in points.iter().zip(sums.chunks_exact_mut(components)) {
            // In units of the boxes, and inverted at their spheres: singular harmonics are regular
            // ones there, over the distance.
            let mut place = [[V::zero(); B]; 3];
            for axis in 0..3 {
                let x = V::splat(point[axis]);
                for b in 0..B {
                    place[axis][b] = x.add(tile.shift[axis][b]).mul(tile.inverse_side[b]);
                }
            }
            let r2 = square(&place);
            let inverse = V::inverse_roots::<B, true>(r2);
            for axis in 0..3 {
                for b in 0..B {
                    place[axis][b] = place[axis][b].mul(inverse[b]).mul(inverse[b]);
                }
            }
            let coefficients = &tile.coefficients[first * B..];
            let zero = [[V::zero(); B]; C];
            let mut values = Values { coefficients, step: tile.step * B, sums: zero };
            if SCREENED {
                let mut factors = [[V::zero(); B]; P_MAX];
                radial(tile, r2, inverse, &mut factors);
                let visitor = &mut Scaled { factors: &factors, visitor: &mut values };
                harmonics.walk(tile.p, &place, visitor);
            } else {
                harmonics.walk(tile.p, &place, &mut values);
            }
            for (to, of) in sums[first..first + count].iter_mut().zip(values.sums) {
                for b in 0..B {
                    *to = of[b].mul(inverse[b]).mul_add(tile.inverse_side[b], *to);
                }
            }
        }
    }
}

/// `k^(n)(t) exp(kappa h)` for `n < p` (module `screened`), t being kappa times the distance and h
/// that of the boxes' corners.
#[inline(always)]
fn radial<V: Simd, const B: usize>(
    tile: &Tile<'_, V, B>,
    r2: [V; B],
    inverse: [V; B],
    factors: &mut [[V; B]],
) {
    let of = |value: f64| V::splat(V::Scalar::of(value));
    let (corner, per_bit) = (of(HALF_DIAGONAL), of(std::f64::consts::LOG2_E));
    let one = of(1.0);
    let (mut exponent, mut t2, mut above) = (r2, r2, r2);
    for b in 0..B {
        let r = r2[b].mul(inverse[b]);
        exponent[b] = corner.sub(r).mul(tile.kappa[b]).mul(per_bit);
        let t = r.mul(tile.kappa[b]);
        (t2[b], above[b]) = (t.mul(t), t.add(one));
    }
    let mut here = V::powers_of_two::<B, true>(exponent);
    for b in 0..B {
        above[b] = above[b].mul(here[b]);
    }
    for n in 0..tile.p {
        factors[n] = here;
        let over = of(1.0 / ((2 * n + 3) * (2 * n + 1)) as f64);
        for b in 0..B {
            let next = t2[b].mul(over).mul_add(here[b], above[b]);
            (here[b], above[b]) = (above[b], next);
        }
    }
}

impl<T: Real> M2pJob<'_, T> {
    /// Targets of the job relative to the centre of the row's box.
    fn points(&self, points: &mut [[T; 3]]) {
        let Geometry { root, tree, .. } = self.geometry;
        let row = self.rows.cells[self.row] as usize;
        let centre = root.centre(&tree.cells[row]);
        // Siblings of each box on the way down.
        let mut stack = [0; 8 * (MAX_DEPTH + 1)];
        stack[0] = row;
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let cell = &tree.cells[stack[waiting]];
            let own = cell.targets.start as usize..cell.targets.end as usize;
            if own.end <= self.targets.start || own.start >= self.targets.end {
                continue;
            }
            if !cell.is_leaf() {
                for child in cell.children() {
                    stack[waiting] = child;
                    waiting += 1;
                }
                continue;
            }
            let there = root.centre(cell);
            let shift: [f64; 3] = std::array::from_fn(|i| (there[i] - centre[i]) / root.side);
            for target in own.start.max(self.targets.start)..own.end.min(self.targets.end) {
                let point = self.particles.point(target);
                points[target - self.targets.start] =
                    std::array::from_fn(|i| T::of(point[i].to_f64() + shift[i]));
            }
        }
    }

    /// Gathers the coefficients of `B` vectors of boxes, of which the lanes past the last stay
    /// empty, and evaluates them.
    #[inline(always)]
    fn tile<V: Simd<Scalar = T>, const B: usize>(
        &self,
        entries: Range<usize>,
        coefficients: &mut [V],
        points: &[[T; 3]],
        sums: &mut [V],
    ) {
        let Geometry { root, screening, tree, .. } = self.geometry;
        let gradient = self.sums.has_gradient();
        let of_density = if gradient { 4 } else { 1 };
        let components = self.k * of_density;
        let step = components_stored(components);
        let orders = &self.rows.orders[entries.clone()];
        let p = usize::from(orders[0]);
        let cells = &self.rows.entries[entries];
        let here = root.centre(&tree.cells[self.rows.cells[self.row] as usize]);
        let zero = [V::zero(); B];
        let mut tile =
            Tile { p, shift: [zero; 3], inverse_side: zero, kappa: zero, coefficients: &[], step };
        let coefficients = &mut coefficients[..p * p * step * B];
        if step > components {
            coefficients.fill(V::zero());
        }
        for lane in 0..B * V::LANES {
            // Empty lanes are where the first is.
            let cell = &tree.cells[*cells.get(lane).unwrap_or(&cells[0]) as usize];
            let there = root.centre(cell);
            for axis in 0..3 {
                let shift = T::of((here[axis] - there[axis]) / root.side);
                scalars_mut(&mut tile.shift[axis])[lane] = shift;
            }
            scalars_mut(&mut tile.inverse_side)[lane] = T::of(1.0 / side(cell.level));
            scalars_mut(&mut tile.kappa)[lane] = T::of(screening.at(cell.level));
        }
        for density in 0..self.k {
            for b in 0..B {
                let begin = cells.len().min(b * V::LANES);
                let own = begin..cells.len().min(begin + V::LANES);
                let (cells, orders) = (&cells[own.clone()], &orders[own]);
                for at in (0..p * p).step_by(V::LANES) {
                    let mut block = [V::zero(); MAX_LANES];
                    for (row, (&cell, &p)) in block.iter_mut().zip(cells.iter().zip(orders)) {
                        let p = usize::from(p) - self.rows.for_gradients;
                        *row = self.coefficients_of::<V>(cell, p, density, at);
                    }
                    V::transpose(&mut block[..V::LANES]);
                    for (i, &column) in block[..V::LANES.min(p * p - at)].iter().enumerate() {
                        coefficients[((at + i) * step + density * of_density) * B + b] = column;
                    }
                }
            }
            if self.tables.screened.is_some() {
                self.apply_corners::<V, B>(
                    cells,
                    p,
                    |place| (place * step + density * of_density) * B,
                    coefficients,
                );
            }
            if gradient {
                self.differentiate(&tile, density * 4, coefficients);
            }
        }
        tile.coefficients = coefficients;
        let harmonics = self.tables.harmonics;
        let screened = self.tables.screened.is_some();
        let mut first = 0;
        while first < components {
            let (tile, points, sums) = (&tile, &points[..self.targets.len()], &mut *sums);
            let work = Work { harmonics, tile, first, points, sums, components };
            // Each kind is code of its own: no more than are used.
            match (together(components - first), screened) {
                (1, false) => V::call(Evaluate::<V, B, 1, false>(work)),
                (1, true) => V::call(Evaluate::<V, B, 1, true>(work)),
                (_, false) => V::call(Evaluate::<V, B, 4, false>(work)),
                (_, true) => V::call(Evaluate::<V, B, 4, true>(work)),
            }
            first += if together(components - first) == 1 { 1 } else { 4 };
        }
    }

    /// Coefficients `at ..` of one box, zeros from truncation number `p` on: the sums do not depend
    /// on what shares a tile.
    #[inline(always)]
    fn coefficients_of<V: Simd<Scalar = T>>(
        &self,
        cell: u32,
        p: usize,
        density: usize,
        at: usize,
    ) -> V {
        let tree = &self.geometry.tree;
        let cell = cell as usize;
        let level = usize::from(tree.cells[cell].level);
        let stored = self.multipoles.level(level);
        let begin = density * stored.step + (cell - tree.levels[level].start) * stored.stride;
        if at + V::LANES <= p * p {
            return V::load(&stored.values[begin + at..]);
        }
        let mut lanes = [T::default(); MAX_LANES];
        if at < p * p {
            let own = &stored.values[begin + at..begin + p * p];
            lanes[..own.len()].copy_from_slice(own);
        }
        V::load(&lanes)
    }

    /// From units of the functions at the corners of boxes to none; what a box does not store is
    /// zero.
    #[inline(always)]
    fn apply_corners<V: Simd<Scalar = T>, const B: usize>(
        &self,
        cells: &[u32],
        p: usize,
        place_of: impl Fn(usize) -> usize,
        coefficients: &mut [V],
    ) {
        let Some(screened) = self.tables.screened else { return };
        let Geometry { tree, numbers, .. } = self.geometry;
        for n in 0..p {
            let mut corners = [V::zero(); B];
            for (lane, &cell) in cells.iter().enumerate() {
                let level = usize::from(tree.cells[cell as usize].level);
                if n < numbers.multipole[level] {
                    let corner = screened.multipole[level].corner(n);
                    scalars_mut(&mut corners)[lane] = T::of(corner);
                }
            }
            for place in n * n..(n + 1) * (n + 1) {
                let of_place = &mut coefficients[place_of(place)..][..B];
                for b in 0..B {
                    of_place[b] = of_place[b].mul(corners[b]);
                }
            }
        }
    }

    /// Fills the three components after `component`: derivatives at the target, which are those at
    /// the source with the other sign.
    #[inline(always)]
    fn differentiate<V: Simd<Scalar = T>, const B: usize>(
        &self,
        tile: &Tile<'_, V, B>,
        component: usize,
        coefficients: &mut [V],
    ) {
        let (p, step) = (tile.p, tile.step);
        let mut kappa2 = tile.kappa;
        for b in 0..B {
            kappa2[b] = tile.kappa[b].mul(tile.kappa[b]).mul(tile.inverse_side[b]);
        }
        for axis in 0..3 {
            for place in 0..p * p {
                coefficients[(place * step + component + 1 + axis) * B..][..B].fill(V::zero());
            }
            for entry in self.tables.gradient.within(p, axis) {
                let upward = entry.degrees[1] > entry.degrees[0];
                if upward && self.tables.screened.is_none() {
                    continue;
                }
                let factor = V::splat(T::of(entry.factor));
                for b in 0..B {
                    let units = if upward { kappa2[b] } else { tile.inverse_side[b] };
                    let from = coefficients[(entry.column * step + component) * B + b];
                    let to = &mut coefficients[(entry.row * step + component + 1 + axis) * B + b];
                    *to = from.mul(units).neg_mul_add(factor, *to);
                }
            }
        }
    }
}

/// Components of a place with those that fill the last group.
fn components_stored(components: usize) -> usize {
    if components == 1 { 1 } else { components.next_multiple_of(4) }
}

impl<T: Real> Task<T> for M2pJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let components = self.k * if self.sums.has_gradient() { 4 } else { 1 };
        let count = self.targets.len();
        let mut buffer = Scratch::<V>::new((3 * count).div_ceil(V::LANES));
        let (points, _) = scalars_mut(&mut buffer).as_chunks_mut::<3>();
        self.points(points);
        let mut sums = Scratch::<V>::new(count * components);
        sums.fill(V::zero());
        let entries = self.rows.range(self.row);
        let p = entries.clone().next().map_or(0, |first| usize::from(self.rows.orders[first]));
        let mut coefficients = Scratch::<V>::new(p * p * components_stored(components) * PAIR);
        let mut begin = entries.start;
        while begin < entries.end {
            let left = entries.end - begin;
            if left > V::LANES {
                let end = begin + left.min(PAIR * V::LANES);
                self.tile::<V, PAIR>(begin..end, &mut coefficients, points, &mut sums);
                begin = end;
            } else {
                self.tile::<V, 1>(begin..entries.end, &mut coefficients, points, &mut sums);
                begin = entries.end;
            }
        }
        for (target, sums) in self.targets.clone().zip(sums.chunks_exact(components)) {
            for (component, sum) in sums.iter().enumerate() {
                // SAFETY: a target is in one row of a level and in one job of the row, and levels
                // come one after another.
                let to = unsafe {
                    if !self.sums.has_gradient() {
                        self.sums.potential(component, target..target + 1)
                    } else if component.is_multiple_of(4) {
                        self.sums.potential(component / 4, target..target + 1)
                    } else {
                        self.sums.gradient(component / 4, component % 4 - 1, target..target + 1)
                    }
                };
                to[0] += sum.quick_sum();
            }
        }
    }
}
