//! Tables of screened expansions: the gradient of their harmonics, and the radial functions of each
//! level.

use crate::expansions::harmonics::{Entry, Gradient};
use crate::expansions::radial::Radial;
use crate::expansions::screened::Screening;
use crate::expansions::truncation_numbers::TruncationNumbers;
use simd::Real;

/// The gradient of harmonics with screening (docs/math.md, "Screened sums"): [`Gradient`], and
/// `(kappa s)^2 / ((2n+1)(2n+3))` times its transpose from degree n + 1 to degree n.
#[derive(Clone, Debug)]
pub(crate) struct ScreenedGradient {
    /// For x, y, z; rows ascend.
    entries: [Vec<Entry>; 3],
}

impl ScreenedGradient {
    /// Of expansions up to truncation number `p`.
    pub(crate) fn new(p: usize) -> Self {
        let entries = Gradient::<f64>::new(p).entries.map(|of_axis| {
            let lower = of_axis.iter().map(|&(row, column, factor)| {
                let (row, column) = (row as usize, column as usize);
                Entry { row, column, degrees: [row.isqrt(), column.isqrt()], factor }
            });
            let upper = lower.clone().map(|Entry { row, column, degrees: [above, n], factor }| {
                let factor = factor / ((2 * n + 1) * (2 * n + 3)) as f64;
                Entry { row: column, column: row, degrees: [n, above], factor }
            });
            let mut entries: Vec<_> = lower.clone().chain(upper).collect();
            entries.sort_by_key(|entry| (entry.row, entry.column));
            entries
        });
        Self { entries }
    }

    /// The entries of the derivative along `axis` between harmonics below truncation number `p`:
    /// what leads out of an expansion is left out, as is what would come into it from outside.
    pub(crate) fn within(&self, p: usize, axis: usize) -> impl Iterator<Item = &Entry> {
        let entries = self.entries[axis].iter().take_while(move |entry| entry.row < p * p);
        entries.filter(move |entry| entry.column < p * p)
    }

    /// As [`Gradient::differentiate`], in a box with `radial` functions.
    pub(crate) fn differentiate<T: Real>(
        &self,
        p: usize,
        radial: &Radial<T>,
        local: &[T],
        derivatives: &mut [T],
        step: usize,
    ) {
        for axis in 0..3 {
            for entry in self.within(p, axis) {
                let factor = T::of(radial.scaled(entry));
                derivatives[entry.column * step + axis] += factor * local[entry.row];
            }
        }
    }

    /// As [`Gradient::accumulate`], in a box with `radial` functions.
    pub(crate) fn accumulate<T: Real>(
        &self,
        p: usize,
        radial: &Radial<T>,
        moments: &[T],
        step: usize,
        multipole: &mut [T],
    ) {
        for axis in 0..3 {
            for entry in self.within(p, axis) {
                let factor = T::of(radial.scaled(entry));
                multipole[entry.row] += factor * moments[entry.column * step + axis];
            }
        }
    }
}

/// What screened expansions of leaves need besides harmonics.
#[derive(Clone, Debug)]
pub(crate) struct ScreenedTables<T> {
    pub(crate) gradient: ScreenedGradient,
    /// For the multipole expansions of each level.
    pub(crate) multipole: Vec<Radial<T>>,
    /// For the local expansions of each level.
    pub(crate) local: Vec<Radial<T>>,
}

impl<T: Real> ScreenedTables<T> {
    /// The tables of a plan; `None` without screening.
    pub(crate) fn new(screening: Screening, numbers: &TruncationNumbers) -> Option<Self> {
        if !screening.is_some() {
            return None;
        }
        let of = |orders: &[usize]| {
            let of_level = |(level, &p): (usize, &usize)| Radial::new(p, screening.at(level as u8));
            orders.iter().enumerate().map(of_level).collect()
        };
        Some(Self {
            gradient: ScreenedGradient::new(numbers.max()),
            multipole: of(&numbers.multipole),
            local: of(&numbers.local),
        })
    }
}
