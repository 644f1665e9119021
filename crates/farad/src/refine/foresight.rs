//! From which gain on a refinement splits sides, and their parts that still have as much. With
//! constant densities these are the sides with most of the error; with linear ones it is foreseen
//! which error a threshold leaves, on how many triangles.
//!
//! How a side's gain falls where it is split follows from the order of the density: little of it
//! remains in the halves, except next to an edge, where densities are singular: there the part
//! that ends at the edge keeps most.

use bem::Density;

/// Error to aim at, as a share of the requested one: a mesh that misses it narrowly costs another.
const AIM: f64 = 0.9;

/// Share of the error that a step leaves at most: less is not worth a solve.
const MOST: f64 = 0.7;

/// Of constant densities, whose errors show where they are step by step: share of the error whose
/// sides are split at a time, the least such share, what that takes away of it at most, and the
/// error to aim at. (With foresight, two bars in films take one and a half to four times as long.)
const MARKED: f64 = 0.7;
const LEAST_MARKED: f64 = 0.2;
const TAKEN: f64 = 0.6;
const AIM_OF_CONSTANTS: f64 = 0.8;

/// Splittings before the next solve.
pub(crate) fn layers(density: Density) -> usize {
    match density {
        Density::Constant => 2,
        Density::Linear => 3,
    }
}

/// Triangles after these over those before, at most, but for sides that go along with others.
pub const GROWTH: f64 = 3.0;

/// Gains that differ by less are alike.
const ALIKE: f64 = 1e-6;

/// Thresholds are between this share of the largest gain and that gain, found by this number of
/// halvings.
const SMALLEST: f64 = 1e-12;
const HALVINGS: usize = 28;

/// Share of a side's gain that remains in each of its halves, by density; next to an edge, in the
/// half that ends there and in the other.
pub(crate) struct Left {
    pub(crate) half: f64,
    pub(crate) next_to_edge: f64,
    pub(crate) beyond: f64,
}

impl Left {
    pub(crate) fn of(density: Density) -> Self {
        match density {
            Density::Constant => Self { half: 0.15, next_to_edge: 0.25, beyond: 0.1 },
            Density::Linear => Self { half: 0.06, next_to_edge: 0.25, beyond: 0.05 },
        }
    }
}

/// A side with something to gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// What there is to gain.
    pub of: f64,
    /// Whether one of its ends is on an edge.
    pub ends_at_edge: bool,
}

/// What is foreseen of a threshold.
#[derive(Clone, Copy, Debug, Default)]
struct Foreseen {
    /// Gain that is left.
    left: f64,
    splits: f64,
}

impl Foreseen {
    fn and(self, other: Self) -> Self {
        Self { left: self.left + other.left, splits: self.splits + other.splits }
    }
}

/// All sides of a mesh.
pub struct Foresight {
    gains: Vec<Gain>,
    triangles: f64,
    density: Density,
    left: Left,
}

impl Foresight {
    /// Of the sides of a mesh with this number of triangles.
    pub fn new(mut gains: Vec<Gain>, triangles: usize, density: Density) -> Self {
        gains.retain(|gain| gain.of > 0.0);
        // Sums round the same way each time.
        gains.sort_unstable_by(|a, b| {
            b.of.total_cmp(&a.of).then(a.ends_at_edge.cmp(&b.ends_at_edge))
        });
        Self { gains, triangles: triangles as f64, density, left: Left::of(density) }
    }

    /// The threshold of the next mesh, if `share` of the error shall remain. Where that takes more
    /// triangles than a step may add, steps are of equal size.
    pub fn threshold(&self, share: f64) -> f64 {
        let all: f64 = self.gains.iter().map(|gain| gain.of).sum();
        if self.density == Density::Constant {
            let marked = (1.0 - AIM_OF_CONSTANTS * share) / TAKEN;
            return self.of_share(marked.clamp(LEAST_MARKED, MARKED) * all);
        }
        let least = (AIM * share).min(MOST) * all;
        let threshold = self.highest(|foreseen| foreseen.left <= least);
        let times = self.times(self.at(threshold));
        if times <= GROWTH {
            return threshold;
        }
        let steps = (times.ln() / GROWTH.ln()).ceil();
        let enough = times.powf(1.0 / steps);
        self.highest(|foreseen| self.times(foreseen) >= enough)
    }

    /// The least gain of the largest that have this sum.
    fn of_share(&self, share: f64) -> f64 {
        let mut sum = 0.0;
        let least = self.gains.iter().find(|gain| {
            sum += gain.of;
            sum >= share
        });
        least.map_or(0.0, |gain| gain.of * (1.0 - ALIKE))
    }

    /// Triangles over those of the mesh: each split of a side is one of two triangles.
    fn times(&self, foreseen: Foreseen) -> f64 {
        1.0 + 2.0 * foreseen.splits / self.triangles
    }

    /// The highest threshold that is enough.
    fn highest(&self, is_enough: impl Fn(Foreseen) -> bool) -> f64 {
        let Some(largest) = self.gains.first() else { return 0.0 };
        let (mut low, mut high) = (SMALLEST.ln(), 0.0);
        for _ in 0..HALVINGS {
            let middle: f64 = 0.5 * (low + high);
            let enough = is_enough(self.at(largest.of * middle.exp()));
            *(if enough { &mut low } else { &mut high }) = middle;
        }
        // Those that are alike but for rounding go together.
        largest.of * low.exp() * (1.0 - ALIKE)
    }

    fn at(&self, threshold: f64) -> Foreseen {
        let layers = layers(self.density);
        let of = |gain: &Gain| self.of_side(*gain, threshold, layers);
        self.gains.iter().map(of).fold(Foreseen::default(), Foreseen::and)
    }

    fn of_side(&self, Gain { of, ends_at_edge }: Gain, threshold: f64, layers: usize) -> Foreseen {
        if layers == 0 || of <= threshold {
            return Foreseen { left: of, splits: 0.0 };
        }
        let Left { half, next_to_edge, beyond } = self.left;
        let [first, second] = if ends_at_edge { [next_to_edge, beyond] } else { [half; 2] };
        let part = |share: f64, ends_at_edge: bool| {
            self.of_side(Gain { of: share * of, ends_at_edge }, threshold, layers - 1)
        };
        let parts = part(first, ends_at_edge).and(part(second, false));
        parts.and(Foreseen { left: 0.0, splits: 1.0 })
    }
}
