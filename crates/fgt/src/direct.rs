//! All pairs in double precision: the oracle that every other path is measured against.

use parallel::prelude::*;
use simd::{Level, MAX_LANES, dispatch};

use crate::input::{check_bandwidths, check_charges, check_points, count_densities, padded};
use crate::pairs::{AddPairs, Sources, Targets};
use crate::{Bandwidths, Error, Options, Sums, gpu};

/// Targets of one job.
const JOB: usize = 64;

/// Sources whose coordinates and charges fit the cache of a core.
const TILE: u32 = 512;

/// Sums charges over all `sources` at `targets` in double precision, O(n m), with no cut-off.
///
/// Shapes: charges (k, n); the sums as in [`Sums`].
///
/// # Errors
/// [`Error::NotFinite`], [`Error::TooLarge`], [`Error::Bandwidth`], [`Error::Charge`],
/// [`Error::Length`], [`Error::Simd`].
pub fn sum<const D: usize>(
    sources: &[[f64; D]],
    bandwidths: Bandwidths<'_>,
    targets: &[[f64; D]],
    charges: &[f64],
    sums: &mut Sums<'_>,
) -> Result<(), Error> {
    let level = simd::check()?;
    check_points("source", sources)?;
    check_points("target", targets)?;
    let bandwidths = check_bandwidths(bandwidths, sources.len())?;
    let k = count_densities::<D>(sources.len(), targets.len(), charges, sums)?;
    check_charges(charges, sources.len())?;
    let all = AllPairs::new(&padded(sources), &bandwidths, &padded(targets), D);
    all.apply(level, charges, k, sums);
    Ok(())
}

/// Points as the loops read them.
#[derive(Debug)]
pub(crate) struct AllPairs {
    sources: [Vec<f64>; 3],
    targets: [Vec<f64>; 3],
    exponents: Vec<f64>,
    dimensions: usize,
}

impl AllPairs {
    pub(crate) fn new(
        sources: &[[f64; 3]],
        bandwidths: &[f64],
        targets: &[[f64; 3]],
        dimensions: usize,
    ) -> Self {
        let axes = |points: &[[f64; 3]]| {
            std::array::from_fn(|axis| pad(points.iter().map(|x| x[axis]).collect()))
        };
        let exponents = match *bandwidths {
            [one] => vec![-1.0 / one; sources.len()],
            _ => bandwidths.iter().map(|bandwidth| -1.0 / bandwidth).collect(),
        };
        let (sources, targets) = (axes(sources), axes(targets));
        Self { sources, targets, exponents: pad(exponents), dimensions }
    }

    /// Overwrites `sums` by those of k densities.
    pub(crate) fn apply(&self, level: Level, charges: &[f64], k: usize, sums: &mut Sums<'_>) {
        let n = self.exponents.len() - MAX_LANES;
        let m = self.targets[0].len() - MAX_LANES;
        let gradient = sums.gradients.is_some();
        let each = 1 + if gradient { self.dimensions } else { 0 };
        let densities: Vec<Vec<f64>> =
            (0..k).map(|density| pad(charges[density * n..(density + 1) * n].to_vec())).collect();
        let sources = Sources {
            axes: self.sources.each_ref().map(|axis| &axis[..]),
            exponents: &self.exponents,
            charges: &densities,
        };
        let axes = self.targets.each_ref().map(|axis| &axis[..]);
        let runs: Vec<(u32, u32)> = (0..n as u32)
            .step_by(TILE as usize)
            .map(|begin| (begin, (begin + TILE).min(n as u32)))
            .collect();
        let mut all = vec![0.0; m * k * each];
        if k > 0 {
            all.par_chunks_mut(JOB * k * each).enumerate().for_each(|(job, out)| {
                let (begin, end) = (job * JOB, ((job + 1) * JOB).min(m));
                let targets = Targets {
                    axes,
                    begin,
                    end,
                    dimensions: self.dimensions,
                    gradient,
                    rough: false,
                };
                for run in runs.chunks(1) {
                    dispatch(level, AddPairs { targets, sources, runs: run, sums: out });
                }
            });
        }
        sums.clear();
        sums.add(&all, k, self.dimensions, None, 1.0);
    }

    /// [`sum`] on a GPU.
    pub(crate) fn on_gpu(
        &self,
        device: cuda::Device,
        options: &Options,
    ) -> Result<gpu::Engine, cuda::Error> {
        let unpadded = |axes: &[Vec<f64>; 3]| {
            axes.each_ref().map(|axis| axis[..axis.len() - MAX_LANES].to_vec())
        };
        let points = [unpadded(&self.sources), unpadded(&self.targets)];
        gpu::Engine::all_pairs(device, self.dimensions, &points, &self.exponents, options)
    }

    pub(crate) fn bytes(&self) -> usize {
        8 * (3 * self.sources[0].len() + 3 * self.targets[0].len() + self.exponents.len())
    }
}

fn pad(mut values: Vec<f64>) -> Vec<f64> {
    values.resize(values.len() + MAX_LANES, 0.0);
    values
}
