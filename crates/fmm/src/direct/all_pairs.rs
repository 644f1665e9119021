//! All pairs in double precision, by vectors: what `Mode::Direct` sums.
//!
//! Lanes are sources, so that one target alone fills them, too; a block of targets shares what is
//! read of each source. Where targets are too few to occupy all threads, these share the sources.

use std::ops::Range;

use parallel::prelude::*;

use crate::distances::{screen, square};
use crate::expansions::screened::Screening;
use crate::model::stop::Ending;
use crate::model::{Densities, Kernel, Potentials};
use crate::{Error, direct};
use simd::{Level, Real, Simd, Task, dispatch};

/// Targets of a block.
const BLOCK: usize = 4;

/// Targets of a job.
const JOB_TARGETS: usize = 64;

/// Sources that a job takes at a time, with all of its targets: they stay in the cache.
const RUN: usize = 1024;

/// Extents whose powers are numbers; points beyond are summed by the oracle.
const EXTENTS: Range<f64> = 1e-60..1e60;

/// Squared distances in units of the extent up to which a pair is summed apart: coincident points,
/// and those beyond the range of inverse roots.
const CLOSE: f64 = 1e-30;

/// Sources and targets of a direct sum.
#[derive(Debug)]
pub struct AllPairs {
    kernel: Kernel,
    level: Level,
    /// Ends a sum before it is through.
    pub(crate) stop: Ending,
    /// The caller's.
    sources: Vec<[f64; 3]>,
    /// None: the sources.
    targets: Option<Vec<[f64; 3]>>,
    /// What coordinates are multiplied by, a power of two that makes the extent about 1; 0: sums
    /// are the oracle's.
    scale: f64,
    /// Scaled coordinates of the sources, axis by axis, padded to whole vectors.
    axes: [Vec<f64>; 3],
    /// One density's charges and dipoles likewise, padded with zeros.
    strengths: [Vec<f64>; 4],
    /// Sums of each share of the sources.
    sums: Vec<[f64; 4]>,
}

impl AllPairs {
    /// Keeps the points.
    pub fn new(
        kernel: Kernel,
        level: Level,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
    ) -> Self {
        let most = |points: &[[f64; 3]]| {
            points.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()))
        };
        let extent = most(sources).max(most(targets.unwrap_or(&[])));
        let scale = if EXTENTS.contains(&extent) { (-extent.log2().ceil()).exp2() } else { 0.0 };
        let length = sources.len().next_multiple_of(f64::MAX_LANES);
        let axes = std::array::from_fn(|i| {
            let mut axis: Vec<f64> = sources.iter().map(|x| x[i] * scale).collect();
            // With no strength, away from every target.
            axis.resize(length, 4.0);
            axis
        });
        let (sources, targets) = (sources.to_vec(), targets.map(<[_]>::to_vec));
        let (strengths, sums) = (Default::default(), Vec::new());
        let stop = Ending::default();
        Self { kernel, level, stop, sources, targets, scale, axes, strengths, sums }
    }

    pub(crate) fn bytes(&self) -> usize {
        48 * self.sources.len() + 24 * self.targets.as_ref().map_or(0, Vec::len)
    }

    /// Sums k densities; the arrays have been checked.
    pub fn apply(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        potentials: &mut Potentials<'_>,
    ) -> Result<(), Error> {
        let targets = self.targets.as_deref().unwrap_or(&self.sources);
        let (n, m) = (self.sources.len(), targets.len());
        if self.scale == 0.0 || n == 0 || m == 0 {
            return direct::sum(self.kernel, &self.sources, targets, densities, potentials);
        }
        let jobs = m.div_ceil(JOB_TARGETS);
        let shares = (4 * rayon::current_num_threads()).div_ceil(jobs).min(n.div_ceil(RUN));
        let share = n.div_ceil(shares).next_multiple_of(RUN);
        for density in 0..k {
            let charges = densities.charges.map(|q| &q[density * n..(density + 1) * n]);
            let dipoles = densities.dipoles.map(|d| &d[density * 3 * n..(density + 1) * 3 * n]);
            self.gather(charges, dipoles);
            let mut sums = std::mem::take(&mut self.sums);
            sums.clear();
            sums.resize(n.div_ceil(share) * m, [0.0; 4]);
            let general = dipoles.is_some() || potentials.gradient.is_some();
            let all = &*self;
            sums.par_chunks_mut(m).enumerate().for_each(|(i, sums)| {
                let sources = i * share..((i + 1) * share).min(n);
                sums.par_chunks_mut(JOB_TARGETS).enumerate().for_each(|(i, sums)| {
                    let (sources, first) = (sources.clone(), i * JOB_TARGETS);
                    // Each kind is code of its own.
                    match (general, all.kernel.kappa() > 0.0) {
                        (false, false) => {
                            dispatch(
                                all.level,
                                Job::<false, false> { all, charges, dipoles, sources, first, sums },
                            );
                        }
                        (false, true) => {
                            dispatch(
                                all.level,
                                Job::<false, true> { all, charges, dipoles, sources, first, sums },
                            );
                        }
                        (true, false) => {
                            dispatch(
                                all.level,
                                Job::<true, false> { all, charges, dipoles, sources, first, sums },
                            );
                        }
                        (true, true) => {
                            dispatch(
                                all.level,
                                Job::<true, true> { all, charges, dipoles, sources, first, sums },
                            );
                        }
                    }
                });
            });
            self.stop.check()?;
            // Powers of the scale one after another: together they may be beyond any number.
            let scale = self.scale;
            let total = |target: usize, component: usize| -> f64 {
                let sum: f64 = sums.iter().skip(target).step_by(m).map(|s| s[component]).sum();
                if component == 0 { sum * scale } else { sum * scale * scale }
            };
            if let Some(potential) = potentials.potential.as_deref_mut() {
                let out = potential[density * m..(density + 1) * m].par_iter_mut();
                out.with_min_len(1024).enumerate().for_each(|(i, out)| *out = total(i, 0));
            }
            if let Some(gradient) = potentials.gradient.as_deref_mut() {
                let out = gradient[density * 3 * m..(density + 1) * 3 * m].par_iter_mut();
                out.with_min_len(1024)
                    .enumerate()
                    .for_each(|(i, out)| *out = total(i / 3, 1 + i % 3));
            }
            self.sums = sums;
        }
        Ok(())
    }

    /// Takes over the strengths of one density, dipoles in scaled units.
    fn gather(&mut self, charges: Option<&[f64]>, dipoles: Option<&[f64]>) {
        let (length, scale) = (self.axes[0].len(), self.scale);
        for (component, to) in self.strengths.iter_mut().enumerate() {
            to.clear();
            match (component, charges, dipoles) {
                (0, Some(charges), _) => to.extend_from_slice(charges),
                (1.., _, Some(dipoles)) => {
                    to.extend(dipoles.iter().skip(component - 1).step_by(3).map(|d| d * scale));
                }
                _ => {}
            }
            to.resize(length, 0.0);
        }
    }
}

/// A run of sources at a run of targets; `GENERAL`: with dipoles or gradients.
struct Job<'a, const GENERAL: bool, const SCREENED: bool> {
    all: &'a AllPairs,
    /// The caller's.
    charges: Option<&'a [f64]>,
    dipoles: Option<&'a [f64]>,
    sources: Range<usize>,
    first: usize,
    sums: &'a mut [[f64; 4]],
}

impl<const GENERAL: bool, const SCREENED: bool> Task<f64> for Job<'_, GENERAL, SCREENED> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { all, charges, dipoles, sources, first, sums } = self;
        let targets = all.targets.as_deref().unwrap_or(&all.sources);
        for begin in sources.clone().step_by(RUN) {
            if all.stop.is_set() {
                return;
            }
            let run = begin..sources.end.min(begin + RUN);
            for (i, sums) in sums.chunks_mut(BLOCK).enumerate() {
                let own = first + i * BLOCK;
                let mut points = [[V::zero(); BLOCK]; 3];
                for b in 0..BLOCK {
                    // Past the last target the last one.
                    let x = &targets[own + b.min(sums.len() - 1)];
                    for axis in 0..3 {
                        points[axis][b] = V::splat(x[axis] * all.scale);
                    }
                }
                let mut totals = [[V::zero(); BLOCK]; 4];
                for j in run.clone().step_by(V::LANES) {
                    let close = add::<V, GENERAL, SCREENED>(all, j, &points, &mut totals);
                    if close {
                        let lanes = j..(j + V::LANES).min(run.end);
                        add_close(all, charges, dipoles, lanes, own, sums);
                    }
                }
                for (b, sum) in sums.iter_mut().enumerate() {
                    for (total, sum) in totals.iter().zip(sum) {
                        *sum += total[b].quick_sum();
                    }
                }
            }
        }
    }
}

/// Adds a vector of sources from `j` on at a block of targets; tells whether any pair was left out
/// because it is too close.
#[inline(always)]
fn add<V: Simd<Scalar = f64>, const GENERAL: bool, const SCREENED: bool>(
    all: &AllPairs,
    j: usize,
    points: &[[V; BLOCK]; 3],
    totals: &mut [[V; BLOCK]; 4],
) -> bool {
    let source: [V; 3] = std::array::from_fn(|axis| V::load(&all.axes[axis][j..]));
    let mut d = *points;
    for axis in 0..3 {
        for b in 0..BLOCK {
            d[axis][b] = points[axis][b].sub(source[axis]);
        }
    }
    let r2 = square(&d);
    let close = V::splat(CLOSE);
    let least = r2[0].min(r2[1]).min(r2[2].min(r2[3]));
    let mut inverse = V::inverse_roots::<BLOCK, true>(r2);
    let any = least.any_at_most(close);
    if any {
        for b in 0..BLOCK {
            inverse[b] = inverse[b].zero_unless_above(r2[b], close);
        }
    }
    let charge = V::load(&all.strengths[0][j..]);
    let mut first = inverse;
    let one = V::splat(1.0);
    let mut argument = inverse;
    if SCREENED {
        // No pair is screened so much, and pairs that are left out must be 0.
        let kappa = (all.kernel.kappa() / all.scale).min(1e100);
        let of = screen::<V, BLOCK, true>(kappa, r2, inverse);
        argument = of.argument;
        for b in 0..BLOCK {
            first[b] = inverse[b].mul(of.decay[b]);
        }
    }
    if !GENERAL {
        for b in 0..BLOCK {
            totals[0][b] = charge.mul_add(first[b], totals[0][b]);
        }
        return any;
    }
    // As in P2P (`p2p::derivatives`).
    let dipole: [V; 3] = std::array::from_fn(|axis| V::load(&all.strengths[1 + axis][j..]));
    for b in 0..BLOCK {
        let inverse2 = inverse[b].mul(inverse[b]);
        let (mut slope, mut three) = (inverse2, V::splat(3.0));
        if SCREENED {
            let more = argument[b].add(one);
            slope = inverse2.mul(more);
            three = three.add(argument[b].mul(argument[b]).div(more));
        }
        let inverse3 = slope.mul(first[b]);
        let projection = dipole[0].mul(d[0][b]);
        let projection = dipole[1].mul_add(d[1][b], projection);
        let projection = dipole[2].mul_add(d[2][b], projection);
        let value = projection.mul(inverse3);
        totals[0][b] = charge.mul_add(first[b], totals[0][b]).add(value);
        let along_r = three.mul(value).mul_add(inverse2, charge.mul(inverse3));
        for axis in 0..3 {
            let total = dipole[axis].mul_add(inverse3, totals[1 + axis][b]);
            totals[1 + axis][b] = along_r.neg_mul_add(d[axis][b], total);
        }
    }
    any
}

/// Adds the pairs that [`add`] leaves out of a vector of sources, by the oracle's arithmetic.
#[cold]
fn add_close(
    all: &AllPairs,
    charges: Option<&[f64]>,
    dipoles: Option<&[f64]>,
    sources: Range<usize>,
    first: usize,
    sums: &mut [[f64; 4]],
) {
    let targets = all.targets.as_deref().unwrap_or(&all.sources);
    for (x, sum) in targets[first..].iter().zip(sums) {
        for j in sources.clone() {
            let y = &all.sources[j];
            let r2: f64 = (0..3).map(|i| ((x[i] - y[i]) * all.scale).powi(2)).sum();
            if r2 > CLOSE {
                continue;
            }
            let charges = charges.map(|q| &q[j..=j]);
            let dipoles = dipoles.map(|d| &d[3 * j..3 * j + 3]);
            let screening = Screening::unscaled(all.kernel);
            let one = direct::at(screening, x, std::slice::from_ref(y), charges, dipoles);
            for (component, (sum, value)) in sum.iter_mut().zip(one).enumerate() {
                *sum += value / all.scale / if component == 0 { 1.0 } else { all.scale };
            }
        }
    }
}
