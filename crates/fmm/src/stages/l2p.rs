//! L2P: a leaf's local expansion at its targets, `phi(x) = (1/s) sum L(n,m) C(n,m)(x/s)`
//! (docs/math.md, "L2P").

use crate::expansions::Expansions;
use crate::expansions::harmonics::Visit;
use crate::expansions::radial::walk;
use crate::geometry::Geometry;
use crate::particles::sums::Sums;
use crate::particles::{PADDING, Particles};
use crate::scratch::Scratch;
use crate::stages::p2m::{Tables, together};
use crate::tree::{Cell, side};
use simd::{Real, Simd, Task, scalars_mut};

/// Adds up `C` components' coefficients times the harmonics of `B` vectors of points. Those of one
/// place are `step` apart.
struct Values<'a, V: Simd, const B: usize, const C: usize> {
    coefficients: &'a [V::Scalar],
    step: usize,
    sums: [[V; B]; C],
}

impl<V: Simd, const B: usize, const C: usize> Visit<V, B> for Values<'_, V, B, C> {
    #[inline(always)]
    fn visit(&mut self, _: usize, place: usize, harmonics: [V; B]) {
        let coefficients = &self.coefficients[place * self.step..][..C];
        for c in 0..C {
            let coefficient = V::splat(coefficients[c]);
            for b in 0..B {
                self.sums[c][b] = coefficient.mul_add(harmonics[b], self.sums[c][b]);
            }
        }
    }
}

/// Adds the first lanes of `sum`, as many as `to` has.
#[inline(always)]
pub(crate) fn add<V: Simd>(sum: V, to: &mut [V::Scalar]) {
    if to.len() == V::LANES {
        V::load(to).add(sum).store(to);
        return;
    }
    let mut lanes = [V::Scalar::default(); PADDING];
    sum.store(&mut lanes);
    for (to, lane) in to.iter_mut().zip(lanes) {
        *to += lane;
    }
}

/// Adds what the local expansions of a run of leaves give.
pub(crate) struct L2pJob<'a, T> {
    pub(crate) tables: Tables<'a, T>,
    pub(crate) geometry: &'a Geometry,
    pub(crate) locals: &'a Expansions<T>,
    pub(crate) particles: &'a Particles<T>,
    pub(crate) cells: &'a [u32],
    pub(crate) k: usize,
    pub(crate) sums: &'a Sums<'a, T>,
}

/// The expansions that one leaf evaluates.
struct Leaf<'a, T> {
    cell: &'a Cell,
    p: usize,
    /// Of each density the potential's coefficients and, if asked for, its derivatives': component
    /// `i` of harmonic `place` at `coefficients[place * step + i]`.
    coefficients: &'a [T],
    step: usize,
    components: usize,
}

impl<T: Real> L2pJob<'_, T> {
    /// Evaluates `C` components of a leaf, from `first` on.
    #[inline(always)]
    fn leaf<V: Simd<Scalar = T>, const B: usize, const C: usize>(
        &self,
        leaf: &Leaf<'_, T>,
        first: usize,
    ) {
        let inverse = V::splat(T::of(1.0 / side(leaf.cell.level)));
        let end = leaf.cell.targets.end as usize;
        for at in (leaf.cell.targets.start as usize..end).step_by(B * V::LANES) {
            let mut points = [[V::zero(); B]; 3];
            for b in 0..B {
                // The last block may reach beyond the leaf, but not beyond the padding.
                let begin = (at + b * V::LANES).min(end);
                let lanes = self.particles.lanes::<V>(begin);
                for axis in 0..3 {
                    points[axis][b] = lanes[axis].mul(inverse);
                }
            }
            let mut visitor = Values {
                coefficients: &leaf.coefficients[first..],
                step: leaf.step,
                sums: [[V::zero(); B]; C],
            };
            let level = usize::from(leaf.cell.level);
            let radial = self.tables.screened.map(|tables| &tables.local[level]);
            walk(self.tables.harmonics, radial, leaf.p, &points, &mut visitor);
            for c in 0..C.min(leaf.components - first) {
                for b in 0..B {
                    let begin = at + b * V::LANES;
                    if begin < end {
                        let run = begin..(begin + V::LANES).min(end);
                        let sum = visitor.sums[c][b].mul(inverse);
                        let component = first + c;
                        // SAFETY: a target is in one leaf, and each leaf is in one job.
                        unsafe {
                            if !self.sums.has_gradient() {
                                add(sum, self.sums.potential(component, run));
                            } else if component.is_multiple_of(4) {
                                add(sum, self.sums.potential(component / 4, run));
                            } else {
                                let to = self.sums.gradient(component / 4, component % 4 - 1, run);
                                add(sum.mul(inverse), to);
                            }
                        }
                    }
                }
            }
        }
    }
}

impl<T: Real> Task<T> for L2pJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let Geometry { tree, numbers, .. } = self.geometry;
        let p_max = numbers.local.iter().copied().max().unwrap_or(0);
        let of_density = if self.sums.has_gradient() { 4 } else { 1 };
        let components = self.k * of_density;
        // Rows hold whole groups.
        let step = if components == 1 { 1 } else { components.next_multiple_of(4) };
        let step = if components > 4 { step.next_multiple_of(8) } else { step };
        let copied = if components == 1 { 0 } else { step * p_max * p_max };
        let mut coefficients = Scratch::<V>::new(copied.div_ceil(V::LANES));
        let coefficients = scalars_mut(&mut coefficients);
        for &index in self.cells {
            let cell = &tree.cells[index as usize];
            let (p, level) =
                (numbers.local[cell.level as usize], self.locals.level(cell.level as usize));
            if p == 0 {
                continue;
            }
            let place = index as usize - tree.levels[cell.level as usize].start;
            let local = |density: usize| {
                &level.values[density * level.step + place * level.stride..][..p * p]
            };
            if components > 1 {
                let rows = &mut coefficients[..step * p * p];
                rows.fill(T::default());
                for density in 0..self.k {
                    let first = density * of_density;
                    for (row, &value) in rows.chunks_exact_mut(step).zip(local(density)) {
                        row[first] = value;
                    }
                    if self.sums.has_gradient() {
                        let of_axes = &mut rows[first + 1..];
                        if let Some(screened) = self.tables.screened {
                            let radial = &screened.local[usize::from(cell.level)];
                            let gradient = &screened.gradient;
                            gradient.differentiate(p, radial, local(density), of_axes, step);
                        } else {
                            self.tables.gradient.differentiate(p, local(density), of_axes, step);
                        }
                    }
                }
            }
            let coefficients = if components == 1 { local(0) } else { &*coefficients };
            let leaf = Leaf { cell, p, coefficients, step, components };
            let mut first = 0;
            while first < components {
                let count = together(components - first);
                match count {
                    1 => self.leaf::<V, 2, 1>(&leaf, first),
                    4 => self.leaf::<V, 2, 4>(&leaf, first),
                    _ => self.leaf::<V, 1, 8>(&leaf, first),
                }
                first += count;
            }
        }
    }
}
