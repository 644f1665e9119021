//! Formats, leaf size, stencil and costs of a sum on several ranks, by where it is computed.

use crate::expansions::costs::rotated_cost;
use crate::expansions::product::BLOCK;
use crate::model::{Backend, Options, Precision, Stencil};
use crate::planning::block_size;
use crate::truncation::expected;
use crate::{gpu, tuning};
use simd::{Level, Real, Simd, Task, dispatch};

/// What the cost model says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    pub precision: Precision,
    pub stencil: Stencil,
    /// Points of a leaf, on average.
    pub occupancy: f64,
    /// Boxes of a block of M2L.
    pub block_size: usize,
    /// Pairs of points up to which boxes two levels apart or more are summed directly.
    pub direct: u64,
    pub costs: Costs,
}

/// What parts of a sum cost, in the time of one multiply-add of a translation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// A near pair.
    pair: f64,
    /// A translation, whatever its truncation number; none: by its truncation number.
    translation: Option<f64>,
    /// Lanes of vectors of near targets, and of expansions.
    lanes: [usize; 2],
    /// Components of sources, and of sums at targets.
    components: [f64; 2],
}

impl Tuning {
    /// For the backend of `options`, which is known.
    pub(super) fn new(options: &Options, simd: Level) -> Self {
        let precision = tuning::precision(options);
        let block_size = block_size(options, precision);
        if options.backend == Backend::Cuda {
            let [pair, translation] = gpu::costs_of(options, precision);
            let stencil = options.stencil.unwrap_or(Stencil::Reduced);
            let occupancy = gpu::occupancy(options, precision);
            let (lanes, components) = ([1; 2], [0.0; 2]);
            let costs = Costs { pair, translation: Some(translation), lanes, components };
            return Self { precision, stencil, occupancy, block_size, direct: 0, costs };
        }
        let near = tuning::near_precision(options, precision);
        if options.backend == Backend::Hybrid {
            let occupancy = gpu::hybrid_occupancy(options, precision);
            // Leaves are such that near pairs take the GPU as long as translations take the cores.
            let translation = rotated_cost(expected::stored(options.tolerance).max(3.0));
            let pair = 136.0 * translation / (27.0 * occupancy * occupancy);
            let lanes = [1, lanes(simd, precision)];
            return Self {
                precision,
                stencil: tuning::stencil(options, precision),
                occupancy,
                block_size,
                direct: 0,
                costs: Costs { pair, translation: None, lanes, components: [0.0; 2] },
            };
        }
        Self {
            precision,
            stencil: tuning::stencil(options, precision),
            occupancy: tuning::occupancy(options, precision),
            block_size,
            direct: tuning::direct_pairs(options, precision),
            costs: Costs {
                pair: NEAR * tuning::cost_of_pair(options, precision),
                translation: None,
                lanes: [near, precision].map(|format| lanes(simd, format)),
                components: [options.dipoles, options.gradient]
                    .map(|all| if all { 4.0 } else { 1.0 }),
            },
        }
    }
}

impl Costs {
    /// Cost of a leaf's targets with `sources` near sources in `leaves` leaves.
    pub(super) fn p2p(&self, targets: usize, sources: usize, leaves: usize) -> f64 {
        let targets = targets.next_multiple_of(self.lanes[0]) as f64;
        self.pair * targets * (sources as f64 + LEAF * leaves as f64)
    }

    /// Translations of a batch with truncation number `p`.
    pub(super) fn m2l(&self, pairs: usize, p: usize) -> f64 {
        self.filled(pairs) * self.translation.unwrap_or_else(|| rotated_cost(p as f64))
    }

    /// Translations between two levels by one vector, whose expansions have truncation numbers `p`.
    pub(super) fn between(&self, pairs: usize, p: [usize; 2]) -> f64 {
        if self.translation.is_some() || p.contains(&0) {
            return 0.0;
        }
        BETWEEN * self.filled(pairs) * p.map(|p| 0.5 * rotated_cost(p as f64)).iter().sum::<f64>()
    }

    /// Translations of full blocks of vectors that take as long as these.
    fn filled(&self, pairs: usize) -> f64 {
        if self.translation.is_some() {
            return pairs as f64;
        }
        let vectors = pairs.div_ceil(self.lanes[1]);
        let read = MATRICES * vectors.div_ceil(BLOCK) as f64;
        self.lanes[1] as f64 * (vectors as f64 + read) / (1.0 + MATRICES / BLOCK as f64)
    }

    /// P2M of a leaf.
    pub(super) fn p2m(&self, sources: usize, p: usize) -> f64 {
        self.particles(sources, p, self.components[0])
            + self.components[0] * SUM_OF_LANES * (p * p) as f64
    }

    /// L2P of a leaf.
    pub(super) fn l2p(&self, targets: usize, p: usize) -> f64 {
        self.particles(targets, p, self.components[1])
    }

    /// Harmonics at points, two vectors at a time, and what is done with each.
    fn particles(&self, points: usize, p: usize, components: f64) -> f64 {
        let points = points.next_multiple_of(2 * self.lanes[1]) as f64;
        if components == 0.0 {
            0.0
        } else {
            points * (p * p) as f64 * (HARMONIC + COMPONENT * components)
        }
    }
}

// Processor time of the stages over their counted work, against M2L: of 16 ranks of a Plummer
// cloud, a graded plate and a sphere, 1e6 points at 1e-5, with AVX-512 (`examples/ranks.rs`).

/// Near pairs take so much more of the time than the cost model that chooses the size of leaves,
/// which is one of AVX2, takes them for.
const NEAR: f64 = 2.0;

/// What a near leaf costs besides its pairs, in pairs for each target.
const LEAF: f64 = 4.0;

/// What the matrices of a translation cost to read, for each block of vectors that goes through
/// them together, against a vector's own work.
const MATRICES: f64 = 1.0;

/// A translation of M2M or L2L against one of M2L. They work on all coefficients of the rotated
/// frame, M2L on two thirds, but by eight vectors alone.
const BETWEEN: f64 = 0.83;

/// Cost of a harmonic at a point, and of what is done with one for each component.
const HARMONIC: f64 = 1.8;
const COMPONENT: f64 = 0.6;

/// Cost of the sum over the lanes of a coefficient.
const SUM_OF_LANES: f64 = 77.0;

/// Lanes of vectors of a format.
pub fn lanes(simd: Level, format: Precision) -> usize {
    match format {
        Precision::Single => dispatch::<f32, _>(simd, Lanes),
        Precision::Double => dispatch::<f64, _>(simd, Lanes),
    }
}

struct Lanes;

impl<T: Real> Task<T> for Lanes {
    type Output = usize;

    fn run<V: Simd<Scalar = T>>(self) -> usize {
        V::LANES
    }
}
