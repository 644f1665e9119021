//! Leaf size on the device (docs/math.md, "Cost model").

use crate::expansions::costs::rotated_cost;
use crate::treecode::TARGETS;
use crate::truncation::expected;
use crate::tuning::precision;
use crate::{Backend, Mode, Options, Precision};

/// Seconds of one near pair and of one multiply-add of a dense translation, as measured on one H200
/// (docs/performance.md, "GPU"); only the ratio matters here, and it is about the same on other
/// GPUs in single precision.
fn costs(precision: Precision) -> (f64, f64) {
    match precision {
        Precision::Single => (1.0 / 2.4e12, 2.0 / 22e12),
        Precision::Double => (1.0 / 8.8e11, 2.0 / 20e12),
    }
}

/// Time of a near pair with its exponential, together with one without.
fn screened_pair(options: &Options, precision: Precision) -> f64 {
    match precision {
        _ if options.kernel.kappa() == 0.0 => 1.0,
        // A second operation of the special-function unit.
        Precision::Single => 1.6,
        // Some 25 more multiply-adds.
        Precision::Double => 2.5,
    }
}

/// Seconds of one near pair of these sums, for each density, and of one translation.
pub(crate) fn costs_of(options: &Options, precision: Precision) -> [f64; 2] {
    let (pair, product) = costs(precision);
    let pair = pair * screened_pair(options, precision);
    let translation = expected::dense(options).powi(4) * product;
    let dipoles = if options.dipoles { 1.5 } else { 1.0 };
    let gradient = if options.gradient { 1.7 } else { 1.0 };
    let shared = 0.4 + 0.6 / options.densities.max(1) as f64;
    [pair * dipoles * gradient * shared, translation]
}

/// Points in a leaf for which P2P and M2L cost the same. Warps want at least a few dozen.
pub(crate) fn occupancy(options: &Options, precision: Precision) -> f64 {
    let [pair, translation] = costs_of(options, precision);
    (136.0 * translation / (27.0 * pair)).sqrt().clamp(48.0, 512.0)
}

/// Points in a leaf where all pairs are summed: leaves only keep coordinates relative there. With
/// few targets leaves are larger, so that a warp of P2P has targets for its lanes, as long as there
/// are leaves for all warps and coordinates have the digits.
pub(super) fn direct_occupancy(n: usize, m: usize) -> f64 {
    let (n, m) = (n as f64, m as f64);
    (16.0 * n / m.max(1.0)).min(n / 64.0).clamp(256.0, 16_384.0)
}

/// Half of what a leaf of a treecode may hold. Targets are few: few and large boxes save moments
/// and time to plan, until near pairs take longer than evaluations.
pub(super) fn treecode_occupancy(options: &Options, precision: Precision) -> f64 {
    300.0 / screened_pair(options, precision).sqrt()
}

/// Sources of a far leaf up to which they are summed directly, at one target and for each more: a
/// pair takes about three times what a coefficient does, and the lanes for sixteen targets.
pub(super) fn direct_sources(options: &Options) -> [f64; 2] {
    let p = expected::mean(options.tolerance).max(2.0);
    [p * p / 64.0; 2]
}

/// From this tolerance on `Auto` sums all pairs in single precision: 1e7 sources leave up to 2e-6.
const DIRECT_TOLERANCE: f64 = 5e-6;

/// How a sum over `n` sources at `m` targets is done on a GPU: what takes the least time to plan
/// and to apply once. Milliseconds, fitted to sums over 1e5 to 1e7 points at 10 to 1e5 targets on
/// one H200 (docs/performance.md, "Few targets"); ratios count. In a hybrid sum the CPU translates.
pub fn mode(options: &Options, n: usize, m: usize) -> Mode {
    if options.mode != Mode::Auto {
        return options.mode;
    }
    if options.backend == Backend::Hybrid {
        return Mode::Fmm;
    }
    let precision = precision(options);
    let (n, m, k) = (n as f64, m as f64, options.densities.max(1) as f64);
    let of = |asked: bool, factor: f64| if asked { factor } else { 1.0 };
    let (double, screened) = (precision == Precision::Double, options.kernel.kappa() > 0.0);
    let derivatives = options.gradient || options.dipoles;
    let with_targets = |occupancy: f64| {
        let boxes = (n / occupancy).max(1.0);
        boxes * (1.0 - (-m / boxes).exp())
    };
    let pair = of(double, 2.4) * of(screened, 1.4) * of(derivatives, 1.7) * (0.6 + 0.4 * k);
    // A warp has lanes for sixteen targets of a leaf.
    let lanes = m + 14.0 * with_targets(direct_occupancy(n as usize, m as usize));
    let direct = 2.0 + 5e-6 * n + 5.5e-10 * n * lanes * pair;
    let exact = double || options.tolerance >= DIRECT_TOLERANCE;

    // Of matrices, and of one translation.
    let dense = (expected::dense(options) / 9.6).powi(4);
    // Of each box with targets the CPU lists the far boxes; with too many targets it is split.
    let leaves = with_targets(0.8 * treecode_occupancy(options, precision));
    let listed = if m > TARGETS as f64 * leaves { 8.0 * leaves } else { leaves };
    let p = expected::mean(options.tolerance).max(2.0);
    let of_target = 0.4 * p * p * of(double, 1.25) * of(screened, 1.7) * of(options.gradient, 2.0);
    let treecode = (2.0 + 4.0 * dense * of(double, 1.5)) * of(screened, 1.6)
        + 6e-6 * n
        + 2.5e-3 * listed
        + m * (2e-5 + 1e-6 * k * of_target);

    let fmm = (10.0 + 12.0 * dense * of(double, 3.0)) * of(screened, 1.5)
        + 5e-6 * n
        + 7e-5 * k * dense * with_targets(occupancy(options, precision))
        + 1e-5 * m;
    if exact && direct <= treecode.min(fmm) {
        Mode::Direct
    } else if treecode < fmm {
        Mode::Treecode
    } else {
        Mode::Fmm
    }
}

/// Multiply-adds of a translation by rotations that one of 16 CPU cores does in a second, in single
/// precision, all that M2L does next to them counted in.
const CPU_RATE: f64 = 5e9;

/// Points in a leaf for which P2P on the GPU takes as long as M2L on the CPU's threads.
pub(crate) fn hybrid_occupancy(options: &Options, precision: Precision) -> f64 {
    let pair = costs(precision).0 * screened_pair(options, precision);
    let p = expected::stored(options.tolerance).max(3.0);
    let rate = if precision == Precision::Single { CPU_RATE } else { 0.5 * CPU_RATE };
    let threads = rayon::current_num_threads() as f64;
    let translation = rotated_cost(p) / (rate * threads);
    let gradient = if options.gradient { 1.7 } else { 1.0 };
    (136.0 * translation / (27.0 * pair * gradient)).sqrt().clamp(64.0, 2048.0)
}

/// How much larger than the smallest cube the root should be, so that boxes of some level hold
/// about `occupancy` of the `n` points; `boxes`: occupied boxes of each level. As
/// `tuning::enlargement` does it.
pub fn enlargement(n: usize, boxes: &[usize], occupancy: f64) -> f64 {
    let n = n as f64;
    if n <= 2.0 * occupancy {
        return 1.0;
    }
    let mut above = n;
    for &count in boxes.iter().skip(1) {
        let here = n / count as f64;
        if here <= occupancy {
            let dimension = (above / here).log2().clamp(1.0, 3.0);
            let factor = (occupancy / here).powf(1.0 / dimension);
            return if (1.08..1.9).contains(&factor) { factor } else { 1.0 };
        }
        above = here;
    }
    1.0
}
