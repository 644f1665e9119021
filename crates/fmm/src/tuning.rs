//! Precision, leaf size and size of the root cube from the tolerance (docs/math.md, "Cost model").

use crate::expansions::costs::rotated_cost;
use crate::model::{Mode, Options, Precision, Stencil};
use crate::tree::morton::{MAX_DEPTH, Sample};
use crate::truncation::expected;

/// Single precision reaches this relative error with a margin of three: rounding alone leaves 3e-7
/// to 6e-7.
const SINGLE_TOLERANCE: f64 = 2e-6;

/// The format of near field and expansions.
pub(crate) fn precision(options: &Options) -> Precision {
    options.precision.unwrap_or(if options.tolerance >= SINGLE_TOLERANCE {
        Precision::Single
    } else {
        Precision::Double
    })
}

/// From these tolerances on near pairs of sums in double precision are computed in single
/// precision: they leave 3e-8 to 5e-8 of potentials, of which they are a small part, and some 6e-8
/// of derivatives, of which they are most.
const NEAR_SINGLE_TOLERANCE: f64 = 2e-7;
const NEAR_SINGLE_GRADIENT_TOLERANCE: f64 = 5e-7;
const NEAR_SINGLE_DIPOLE_TOLERANCE: f64 = 1e-6;

/// The format of the near pairs of a sum in `precision`.
pub(crate) fn near_precision(options: &Options, precision: Precision) -> Precision {
    let least = match (options.dipoles, options.gradient) {
        (true, _) => NEAR_SINGLE_DIPOLE_TOLERANCE,
        (false, true) => NEAR_SINGLE_GRADIENT_TOLERANCE,
        (false, false) => NEAR_SINGLE_TOLERANCE,
    };
    let single = options.precision.is_none() && options.tolerance >= least;
    if single { Precision::Single } else { precision }
}

/// From this tolerance on the shortest stencil pays; below it, truncation numbers outgrow what
/// fewer translations save.
const SHORTEST_TOLERANCE: f64 = 1e-5;

/// The stencil on a CPU.
pub(crate) fn stencil(options: &Options, precision: Precision) -> Stencil {
    options.stencil.unwrap_or(match precision {
        Precision::Single if options.tolerance >= SHORTEST_TOLERANCE => Stencil::Shortest,
        _ => Stencil::Reduced,
    })
}

/// Time of one near pair in units of the time of one multiply-add of a translation, gathering and
/// scattering included: ratios of kernels measured on AVX2, at the leaf sizes where whole sums were
/// fastest.
fn pair_cost(precision: Precision, near: Precision) -> f64 {
    match (precision, near) {
        (Precision::Single, _) => 2.4,
        (Precision::Double, Precision::Single) => 1.4,
        (Precision::Double, Precision::Double) => 4.2,
    }
}

/// Time of an exponential and what it is multiplied with, together with a near pair's.
const SCREENED_PAIR: f64 = 3.0;

/// Points in a leaf for which P2P and M2L cost the same: a point has about 27 n near pairs and its
/// share, 136 / n, of the translations of all levels (docs/math.md, "Cost model").
pub(crate) fn occupancy(options: &Options, precision: Precision) -> f64 {
    let p = expected::mean(options.tolerance).max(2.0);
    (136.0 * rotated_cost(p) / (27.0 * cost_of_pair(options, precision))).sqrt().clamp(12.0, 512.0)
}

/// Pairs of points that cost as much as one translation with the largest truncation number; none
/// where pairs are less exact than translations, which limits charges that cancel at a distance.
pub(crate) fn direct_pairs(options: &Options, precision: Precision) -> u64 {
    if near_precision(options, precision) != precision {
        return 0;
    }
    let p = expected::largest(options);
    (rotated_cost(p as f64) / cost_of_pair(options, precision)) as u64
}

/// Points in a leaf of a treecode, whose targets are few: a source costs its share of the moments
/// whatever the size of its leaf, and fewer boxes take less time to make.
pub(crate) fn treecode_occupancy(options: &Options, precision: Precision) -> f64 {
    1.5 * occupancy(options, precision)
}

/// Sources of a leaf up to which they are summed directly rather than by an evaluation of their
/// expansion, at one target, and how many more at each further one that shares the lanes; none
/// where pairs are less exact than expansions.
pub(crate) fn direct_sources(options: &Options, precision: Precision) -> [f64; 2] {
    if near_precision(options, precision) != precision {
        return [0.0; 2];
    }
    let p = expected::mean(options.tolerance).max(2.0);
    let lanes = if precision == Precision::Single { 16.0 } else { 8.0 };
    // A pair takes about twice what a coefficient does.
    [0.5 * p * p / lanes; 2]
}

/// How a sum over `n` sources at `m` targets is done: what takes the least time to plan and to
/// apply once. Nanoseconds of wall time, fitted to sums over 1e5 and 1e6 points in a cube at 10 to
/// 1e5 targets on two cores with AVX-512 (docs/performance.md, "Few targets"); ratios count.
pub(crate) fn mode(options: &Options, n: usize, m: usize) -> Mode {
    if options.mode != Mode::Auto {
        return options.mode;
    }
    let precision = precision(options);
    let (n, m, k) = (n as f64, m as f64, options.densities.max(1) as f64);
    let p = expected::mean(options.tolerance).max(2.0);
    let of = |asked: bool, factor: f64| if asked { factor } else { 1.0 };
    let screened = options.kernel.kappa() > 0.0;
    let double = of(precision == Precision::Double, 2.0);
    let direct =
        0.66 * n * m * k * of(screened, 2.6) * of(options.gradient || options.dipoles, 2.7);

    // Boxes far from a target; targets that lie together share the data of a box.
    let occupancy = treecode_occupancy(options, precision);
    let levels = (n / occupancy).max(1.0).log(8.0);
    let shared = 0.3 + 1.0 / (1.0 + 2.0 * occupancy * m / n.max(1.0));
    let of_box = double * p * p * shared * (0.5 + 0.5 * k) * of(options.gradient, 2.2);
    let treecode = 200.0 * n + m * (4000.0 + 75.0 * levels * of_box * of(screened, 1.3));

    let depth = (n / self::occupancy(options, precision)).max(1.0).log(8.0).ceil() as i32;
    let boxes: f64 = (2..=depth).map(|level| 8f64.powi(level).min(m)).sum();
    let translations = 80.0 * boxes * k;
    let fmm = 260.0 * n + 500.0 * m + 0.142 * double * rotated_cost(p) * translations;
    if direct <= treecode.min(fmm) {
        Mode::Direct
    } else if treecode < fmm {
        Mode::Treecode
    } else {
        Mode::Fmm
    }
}

/// Time of one near pair of these sums in units of [`rotated_cost`], for each density.
pub(crate) fn cost_of_pair(options: &Options, precision: Precision) -> f64 {
    let dipoles = if options.dipoles { 1.05 } else { 1.0 };
    let gradient = if options.gradient { 1.1 } else { 1.0 };
    // k densities share a distance, which is three quarters of a pair; they share nothing of a
    // translation.
    let shared = 0.25 + 0.75 / options.densities.max(1) as f64;
    let screened = if options.kernel.kappa() > 0.0 { SCREENED_PAIR } else { 1.0 };
    pair_cost(precision, near_precision(options, precision))
        * dipoles
        * gradient
        * shared
        * screened
}

/// How much larger than the smallest cube the root should be, so that boxes of some level hold
/// about `occupancy` points: occupancies jump by 8 (by 4 on surfaces) from level to level
/// otherwise. 1 = the smallest cube is right already.
pub(crate) fn enlargement(sample: &Sample, occupancy: f64) -> f64 {
    let n = sample.count() as f64;
    if n <= 2.0 * occupancy {
        return 1.0;
    }
    let mut above = n;
    for level in 1..MAX_DEPTH {
        let here = sample.occupancy(level);
        if here <= occupancy {
            let dimension = (above / here).log2().clamp(1.0, 3.0);
            let factor = (occupancy / here).powf(1.0 / dimension);
            // A whole number of boxes along the side: none lies partly outside of points that fill
            // a cube.
            let boxes = (1u64 << level) as f64;
            return if (1.08..1.9).contains(&factor) {
                boxes / (boxes / factor).round()
            } else {
                1.0
            };
        }
        above = here;
    }
    1.0
}
