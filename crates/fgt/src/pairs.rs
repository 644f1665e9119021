//! Sums over pairs: targets in lanes and sources broadcast or, for a few targets, sources in lanes.

use std::ops::Range;

use simd::{COUNTED, Elementary, Simd, Task};

/// Sources as the loops read them, in one order; every array has [`simd::MAX_LANES`] more numbers
/// than there are sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    pub(crate) axes: [&'a [f64]; 3],
    /// -1 / bandwidth of each.
    pub(crate) exponents: &'a [f64],
    /// One array of charges for each density.
    pub(crate) charges: &'a [Vec<f64>],
}

/// A run of targets and what is summed at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Targets<'a> {
    /// Padded as those of the sources.
    pub(crate) axes: [&'a [f64]; 3],
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// Dimensions: the last axes that count.
    pub(crate) dimensions: usize,
    pub(crate) gradient: bool,
    /// Whether exponentials are rough.
    pub(crate) rough: bool,
}

impl Targets<'_> {
    /// Sums at each target: for each density its value and, with gradients, as many more as there
    /// are dimensions.
    pub(crate) fn columns(&self, densities: usize) -> usize {
        densities * self.each()
    }

    #[inline(always)]
    fn each(&self) -> usize {
        1 + if self.gradient { self.dimensions } else { 0 }
    }
}

/// Adds the sums over the sources of all `runs` to `sums`, shape (targets, columns).
pub(crate) struct AddPairs<'a> {
    pub(crate) targets: Targets<'a>,
    pub(crate) sources: Sources<'a>,
    pub(crate) runs: &'a [(u32, u32)],
    pub(crate) sums: &'a mut [f64],
}

impl Task<f64> for AddPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        match (self.targets.dimensions, self.targets.gradient, self.targets.rough) {
            (1, false, false) => V::run(Loops::<1, false, false>(self)),
            (1, false, true) => V::run(Loops::<1, false, true>(self)),
            (1, true, false) => V::run(Loops::<1, true, false>(self)),
            (1, true, true) => V::run(Loops::<1, true, true>(self)),
            (2, false, false) => V::run(Loops::<2, false, false>(self)),
            (2, false, true) => V::run(Loops::<2, false, true>(self)),
            (2, true, false) => V::run(Loops::<2, true, false>(self)),
            (2, true, true) => V::run(Loops::<2, true, true>(self)),
            (_, false, false) => V::run(Loops::<3, false, false>(self)),
            (_, false, true) => V::run(Loops::<3, false, true>(self)),
            (_, true, false) => V::run(Loops::<3, true, false>(self)),
            (_, true, true) => V::run(Loops::<3, true, true>(self)),
        }
    }
}

/// The loops for `D` dimensions, with gradients if `G`, by rough exponentials if `R`.
struct Loops<'a, const D: usize, const G: bool, const R: bool>(AddPairs<'a>);

impl<const D: usize, const G: bool, const R: bool> Task<f64> for Loops<'_, D, G, R> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let AddPairs { targets, sources, runs, sums } = self.0;
        let count = targets.end - targets.begin;
        let densities = sources.charges.len();
        let length = |&(a, b): &(u32, u32)| (b - a) as usize;
        let by_targets = count.div_ceil(V::LANES) * runs.iter().map(length).sum::<usize>();
        let by_sources: usize = runs.iter().map(|run| length(run).div_ceil(V::LANES) + 1).sum();
        if by_targets <= count * by_sources {
            let mut first = targets.begin;
            while first < targets.end {
                let rest = targets.end - first;
                let mut density = 0;
                let done = if rest > V::LANES { 2 * V::LANES } else { V::LANES };
                while density < densities {
                    let what = (&targets, &sources, runs);
                    density += match (densities - density >= 4, rest > V::LANES) {
                        (true, _) => {
                            let mut at = first;
                            while at < targets.end.min(first + done) {
                                block::<V, D, G, R, 1, 4>(what, at, density, sums);
                                at += V::LANES;
                            }
                            4
                        }
                        (false, true) => {
                            block::<V, D, G, R, 2, 1>(what, first, density, sums);
                            1
                        }
                        (false, false) => {
                            block::<V, D, G, R, 1, 1>(what, first, density, sums);
                            1
                        }
                    };
                }
                first += done;
            }
        } else {
            for target in targets.begin..targets.end {
                for density in 0..densities {
                    single::<V, D, G, R>((&targets, &sources, runs), target, density, sums);
                }
            }
        }
    }
}

type What<'a> = (&'a Targets<'a>, &'a Sources<'a>, &'a [(u32, u32)]);

/// exp of exponents of at most 0.
#[inline(always)]
fn exponential<V: Simd<Scalar = f64>, const R: bool>(x: V) -> V {
    if R { x.rough_exp() } else { x.exp() }
}

/// `K` densities from `density` on at `B` vectors of targets from `first` on.
#[inline(always)]
fn block<
    V: Simd<Scalar = f64>,
    const D: usize,
    const G: bool,
    const R: bool,
    const B: usize,
    const K: usize,
>(
    (targets, sources, runs): What<'_>,
    first: usize,
    density: usize,
    sums: &mut [f64],
) {
    let mut x = [[V::zero(); B]; D];
    for (d, x) in x.iter_mut().enumerate() {
        for (b, x) in x.iter_mut().enumerate() {
            *x = V::load(&targets.axes[3 - D + d][first + b * V::LANES..]);
        }
    }
    let mut values = [[V::zero(); B]; K];
    let mut slopes = [[[V::zero(); B]; K]; D];
    for run in runs {
        let run = run.0 as usize..run.1 as usize;
        let y: [&[f64]; D] = std::array::from_fn(|d| &sources.axes[3 - D + d][run.clone()]);
        let exponents = &sources.exponents[run.clone()];
        let charges: [&[f64]; K] =
            std::array::from_fn(|k| &sources.charges[density + k][run.clone()]);
        for j in 0..exponents.len() {
            let exponent = V::splat(exponents[j]);
            let mut r = [[V::zero(); B]; D];
            let mut square = [V::zero(); B];
            for d in 0..D {
                let y = V::splat(y[d][j]);
                for b in 0..B {
                    r[d][b] = x[d][b].sub(y);
                    square[b] = r[d][b].mul_add(r[d][b], square[b]);
                }
            }
            // Not by `map`: what it calls is not always compiled for the vectors' instruction set.
            let mut gaussian = square;
            for b in 0..B {
                gaussian[b] = exponential::<V, R>(square[b].mul(exponent));
            }
            for k in 0..K {
                let charge = V::splat(charges[k][j]);
                for b in 0..B {
                    if G {
                        let value = charge.mul(gaussian[b]);
                        values[k][b] = values[k][b].add(value);
                        let slope = value.mul(exponent);
                        for d in 0..D {
                            slopes[d][k][b] = slope.mul_add(r[d][b], slopes[d][k][b]);
                        }
                    } else {
                        values[k][b] = charge.mul_add(gaussian[b], values[k][b]);
                    }
                }
            }
        }
    }
    let columns = targets.columns(sources.charges.len());
    for b in 0..B {
        let at = first + b * V::LANES;
        if at >= targets.end {
            break;
        }
        for k in 0..K {
            let column = (density + k) * targets.each();
            let range = at - targets.begin..(at + V::LANES).min(targets.end) - targets.begin;
            add_lanes(values[k][b], 1.0, sums, range.clone(), columns, column);
            if G {
                for d in 0..D {
                    add_lanes(slopes[d][k][b], 2.0, sums, range.clone(), columns, column + 1 + d);
                }
            }
        }
    }
}

/// Adds lanes, times a factor, to one column of `sums` at a run of targets.
#[inline(always)]
fn add_lanes<V: Simd<Scalar = f64>>(
    lanes: V,
    factor: f64,
    sums: &mut [f64],
    range: Range<usize>,
    columns: usize,
    column: usize,
) {
    let lanes = lanes.lanes();
    for (lane, target) in range.enumerate() {
        sums[target * columns + column] += factor * lanes[lane];
    }
}

/// One density at one target, sources in lanes.
#[inline(always)]
fn single<V: Simd<Scalar = f64>, const D: usize, const G: bool, const R: bool>(
    (targets, sources, runs): What<'_>,
    target: usize,
    density: usize,
    sums: &mut [f64],
) {
    let mut x = [V::zero(); D];
    for (d, x) in x.iter_mut().enumerate() {
        *x = V::splat(targets.axes[3 - D + d][target]);
    }
    let mut value = V::zero();
    let mut slopes = [V::zero(); D];
    let charges = &sources.charges[density];
    let counted = V::load(&COUNTED);
    for &(begin, end) in runs {
        let (begin, end) = (begin as usize, end as usize);
        let mut j = begin;
        while j < end {
            let exponent = V::load(&sources.exponents[j..]);
            let mut square = V::zero();
            let mut r = [V::zero(); D];
            for d in 0..D {
                r[d] = x[d].sub(V::load(&sources.axes[3 - D + d][j..]));
                square = r[d].mul_add(r[d], square);
            }
            let gaussian = exponential::<V, R>(square.mul(exponent));
            // Lanes past the end are other sources'.
            let charge = V::load(&charges[j..]);
            let charge = V::splat((end - j) as f64).where_above(counted, charge, V::zero());
            let term = charge.mul(gaussian);
            value = value.add(term);
            if G {
                let slope = term.mul(exponent);
                for d in 0..D {
                    slopes[d] = slope.mul_add(r[d], slopes[d]);
                }
            }
            j += V::LANES;
        }
    }
    let column = (target - targets.begin) * targets.columns(sources.charges.len())
        + density * targets.each();
    sums[column] += value.quick_sum();
    if G {
        for d in 0..D {
            sums[column + 1 + d] += 2.0 * slopes[d].quick_sum();
        }
    }
}
