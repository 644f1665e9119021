//! P2M: the multipole expansion of a leaf, `M(n,m) = sum q C(n,m)(y/s)` (docs/math.md, "P2M";
//! [Gumerov2008], eq. 14).

use std::ops::Range;

use crate::expansions::Level;
use crate::expansions::harmonics::{Gradient, Harmonics, Visit};
use crate::expansions::radial::walk;
use crate::expansions::screened_tables::ScreenedTables;
use crate::particles::{PADDING, Particles, Strengths};
use crate::scratch::Scratch;
use crate::tree::{Cell, side};
use parallel::DisjointSlice;
use simd::{Real, Simd, Task, scalars_mut};

/// Tables that a leaf's expansions need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a, T> {
    pub harmonics: &'a Harmonics<T>,
    pub gradient: &'a Gradient<T>,
    /// None: the kernel is not screened.
    pub screened: Option<&'a ScreenedTables<T>>,
}

/// How many of the components that are left (densities, axes of dipoles, derivatives) share the
/// harmonics: their sums and `B` vectors of points fit the registers.
pub(crate) const fn together(left: usize) -> usize {
    match left {
        0 | 1 => 1,
        2..=4 => 4,
        _ => 8,
    }
}

/// Adds up `C` components' strengths times the harmonics of `B` vectors of points:
/// `sums[place][component]`.
struct Moments<'a, V, const B: usize, const C: usize> {
    strengths: [[V; B]; C],
    sums: &'a mut [[V; C]],
}

impl<V: Simd, const B: usize, const C: usize> Visit<V, B> for Moments<'_, V, B, C> {
    #[inline(always)]
    fn visit(&mut self, _: usize, place: usize, harmonics: [V; B]) {
        let sums = &mut self.sums[place];
        for c in 0..C {
            for b in 0..B {
                sums[c] = self.strengths[c][b].mul_add(harmonics[b], sums[c]);
            }
        }
    }
}

/// The expansions of a run of boxes of one level; those of boxes that are not leaves are zeroed for
/// M2M.
pub(crate) struct P2mJob<'a, T> {
    pub(crate) tables: Tables<'a, T>,
    pub(crate) p: usize,
    pub(crate) level: usize,
    pub(crate) cells: &'a [Cell],
    /// Which of `cells` to expand: expansions of others come from elsewhere.
    pub(crate) is_own: &'a (dyn Fn(usize) -> bool + Sync),
    /// Place of the first of `cells` within its level.
    pub(crate) first: usize,
    pub(crate) k: usize,
    pub(crate) sources: &'a Particles<T>,
    pub(crate) strengths: &'a Strengths<T>,
    pub(crate) multipoles: &'a Level<DisjointSlice<'a, T>>,
}

impl<T: Real> P2mJob<'_, T> {
    /// Components: the charges of all densities, then the dipoles, axis by axis.
    fn components(&self) -> usize {
        self.strengths.charges.len() + 3 * self.strengths.dipoles.len()
    }

    fn component(&self, i: usize) -> &[T] {
        let Strengths { charges, dipoles, .. } = self.strengths;
        match i.checked_sub(charges.len()) {
            None => &charges[i],
            Some(i) => &dipoles[i / 3][i % 3],
        }
    }

    /// Moments of `C` components from `first` on of a leaf's points: of component `i` and harmonic
    /// `place` at `moments[place * components + i]`.
    #[inline(always)]
    fn leaf<V: Simd<Scalar = T>, const B: usize, const C: usize>(
        &self,
        cell: &Cell,
        first: usize,
        sums: &mut [V],
        moments: &mut [T],
    ) {
        let scale = V::splat(T::of(1.0 / side(cell.level)));
        let charges = self.strengths.charges.len();
        let components = self.components();
        let count = C.min(components - first);
        let (sums, _) = sums.as_chunks_mut::<C>();
        let sums = &mut sums[..self.p * self.p];
        sums.fill([V::zero(); C]);
        let end = cell.sources.end as usize;
        for at in (cell.sources.start as usize..end).step_by(B * V::LANES) {
            let mut points = [[V::zero(); B]; 3];
            let mut strengths = [[V::zero(); B]; C];
            for b in 0..B {
                let own = at + b * V::LANES..end;
                for axis in 0..3 {
                    points[axis][b] = lanes::<V>(self.sources.axis(axis), &own).mul(scale);
                }
                for c in 0..count {
                    let strength = lanes::<V>(self.component(first + c), &own);
                    // The gradient of degree n takes harmonics of degree n - 1.
                    strengths[c][b] =
                        if first + c < charges { strength } else { strength.mul(scale) };
                }
            }
            let mut visitor = Moments { strengths, sums: &mut *sums };
            let radial = self.tables.screened.map(|tables| &tables.multipole[self.level]);
            walk(self.tables.harmonics, radial, self.p, &points, &mut visitor);
        }
        for (moments, sums) in moments.chunks_exact_mut(components).zip(sums) {
            for c in 0..count {
                moments[first + c] = sums[c].quick_sum();
            }
        }
    }
}

/// The scalars from `own.start` on, zero from `own.end` on: what follows belongs to another leaf.
#[inline(always)]
fn lanes<V: Simd>(scalars: &[V::Scalar], own: &Range<usize>) -> V {
    if own.start + V::LANES <= own.end {
        return V::load(&scalars[own.start..]);
    }
    let mut some = [V::Scalar::default(); PADDING];
    if own.start < own.end {
        some[..own.len()].copy_from_slice(&scalars[own.clone()]);
    }
    V::load(&some)
}

impl<T: Real> Task<T> for P2mJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let (length, components) = (self.p * self.p, self.components());
        let charges = self.strengths.charges.len();
        let mut sums = Scratch::<V>::new(together(components) * length);
        let mut moments = Scratch::<V>::new((components * length).div_ceil(V::LANES));
        let moments = &mut scalars_mut(&mut moments)[..components * length];
        for (i, cell) in self.cells.iter().enumerate() {
            if !(self.is_own)(i) {
                continue;
            }
            let filled = cell.is_leaf() && !cell.sources.is_empty();
            if filled {
                let mut first = 0;
                while first < components {
                    let count = together(components - first);
                    match count {
                        1 => self.leaf::<V, 2, 1>(cell, first, &mut sums, moments),
                        4 => self.leaf::<V, 2, 4>(cell, first, &mut sums, moments),
                        _ => self.leaf::<V, 1, 8>(cell, first, &mut sums, moments),
                    }
                    first += count;
                }
            }
            let Level { values, stride, step } = self.multipoles;
            for density in 0..self.k {
                let begin = density * step + (self.first + i) * stride;
                // SAFETY: jobs have boxes of their own.
                let multipole = unsafe { values.slice(begin..begin + stride) };
                multipole.fill(T::default());
                if !filled {
                    continue;
                }
                if charges > 0 {
                    let of_density = moments[density..].iter().step_by(components);
                    for (to, &moment) in multipole.iter_mut().zip(of_density) {
                        *to = moment;
                    }
                }
                if !self.strengths.dipoles.is_empty() {
                    let of_density = &moments[charges + 3 * density..];
                    if let Some(screened) = self.tables.screened {
                        let radial = &screened.multipole[self.level];
                        let gradient = &screened.gradient;
                        gradient.accumulate(self.p, radial, of_density, components, multipole);
                    } else {
                        self.tables.gradient.accumulate(self.p, of_density, components, multipole);
                    }
                }
            }
        }
    }
}
