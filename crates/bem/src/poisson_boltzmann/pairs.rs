//! Entries of the near field between the points of two panels.

use std::array;
use std::ops::AddAssign;

use super::close::{Scratch, Source};
use super::kernel::{Entries, Term, between_points};
use super::nodes::Nodes;
use super::regions::Regions;
use crate::geometry::panels::Panels;
use crate::near::{Coefficient, Entry, PairIntegrals, Selection, Stored, Value, largest};
use crate::quadrature::rule::Rule;

/// Number of layers: from fluxes and from potentials, to potentials and to normal derivatives.
pub(super) const LAYERS: usize = 4;

/// Factors V, K, K' and T from each of the second panel's points to each of the first's, shape
/// (first, second, layers).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointBlock<const Q: usize, T = f64>([[[T; LAYERS]; Q]; Q]);

/// Potential and flux at the points of a panel, or the potential and its normal derivative.
#[derive(Clone, Copy)]
pub(crate) struct PointValues<const Q: usize>(pub(super) [[f64; 2]; Q]);

impl<const Q: usize, T: Copy + Default> Default for PointBlock<Q, T> {
    fn default() -> Self {
        Self([[[T::default(); LAYERS]; Q]; Q])
    }
}

impl<const Q: usize> Default for PointValues<Q> {
    fn default() -> Self {
        Self([[0.0; 2]; Q])
    }
}

impl<const Q: usize> AddAssign for PointValues<Q> {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *sum += more;
        }
    }
}

impl<const Q: usize, T: Copy> PointBlock<Q, T> {
    fn map<U: Copy>(self, f: impl Fn(T) -> U + Copy) -> PointBlock<Q, U> {
        PointBlock(self.0.map(|row| row.map(|layers| layers.map(f))))
    }

    /// The layers between a point and itself.
    pub(super) fn diagonal(&self, point: usize) -> [T; LAYERS] {
        self.0[point][point]
    }
}

impl<const Q: usize> PointBlock<Q> {
    fn of(entries: &[[Entries; Q]; Q]) -> Self {
        let layers = |e: Entries| [e.single, e.double, e.adjoint, e.hypersingular];
        Self(entries.map(|row| row.map(layers)))
    }
}

impl<const Q: usize> Entry for PointBlock<Q> {
    fn plus(mut self, times: f64, other: Self) -> Self {
        let others = other.0.as_flattened().as_flattened();
        let sums = self.0.as_flattened_mut().as_flattened_mut();
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += times * other);
        self
    }

    fn size(&self) -> f64 {
        largest(self.0.as_flattened().as_flattened().iter().copied())
    }
}

impl<const Q: usize, T> Coefficient for PointBlock<Q, T>
where
    T: Copy + Default + Send + Sync + std::fmt::Debug + Into<f64>,
{
    type Values = PointValues<Q>;

    fn add_product(self, x: PointValues<Q>, sum: &mut PointValues<Q>) {
        for (row, [of_potential, of_normal]) in self.0.iter().zip(&mut sum.0) {
            for (layers, [u, flux]) in row.iter().zip(x.0) {
                let [single, double, adjoint, hypersingular] = layers.map(Into::into);
                *of_potential += single * flux + double * u;
                *of_normal += adjoint * flux + hypersingular * u;
            }
        }
    }
}

macro_rules! values {
    ($($number:ty),*) => { $(
        impl<const Q: usize> Value for PointBlock<Q, $number> {
            type Entry = PointBlock<Q>;

            fn of(entry: PointBlock<Q>) -> Self {
                entry.map(|value| value as $number)
            }

            fn entry(self) -> PointBlock<Q> {
                self.map(f64::from)
            }

            fn transposed(self) -> Self {
                Self(array::from_fn(|row| array::from_fn(|column| self.0[column][row])))
            }
        }
    )* };
}

values!(f32, f64);

impl<const Q: usize> Stored for PointBlock<Q> {
    type Single = PointBlock<Q, f32>;
    type Double = PointBlock<Q>;
    const MODES: usize = 2 * Q;
    const NUMBERS: usize = LAYERS * Q * Q;
    const ROWS: usize = 256;

    /// Modes are the potentials at the points of panels, then the fluxes.
    fn by_panels(
        x: &[f64],
        y: &mut [f64],
        multiply_add: impl FnOnce(&[PointValues<Q>], &mut [PointValues<Q>]),
    ) {
        let n = x.len() / Self::MODES;
        let of_panel =
            |j: usize| PointValues(array::from_fn(|k| [x[k * n + j], x[(Q + k) * n + j]]));
        let x: Vec<PointValues<Q>> = (0..n).map(of_panel).collect();
        let mut sums = vec![PointValues::default(); n];
        multiply_add(&x, &mut sums);
        for (i, sum) in sums.iter().enumerate() {
            for (k, [of_potential, of_normal]) in sum.0.iter().enumerate() {
                y[k * n + i] += of_potential;
                y[(Q + k) * n + i] += of_normal;
            }
        }
    }
}

/// Integrals over panels, and sums over their points; panels are close within a distance.
pub(super) struct PointPairs<'a, const Q: usize> {
    pub(super) nodes: &'a Nodes,
    pub(super) regions: &'a Regions,
    /// One per panel.
    pub(super) sources: &'a [Source<'a>],
    /// Distance from its centroid within which each panel is close.
    pub(super) reach: &'a [f64],
    /// Relative accuracy of the integrals.
    pub(super) accuracy: f64,
}

/// Scratch space of integrals.
#[derive(Default)]
pub(super) struct PairScratch {
    terms: Vec<Term>,
    points: Scratch,
}

impl<const Q: usize> PointPairs<'_, Q> {
    /// Integrals over panel `j` for the points of panel `i`.
    fn integrals(&self, i: usize, j: usize, scratch: &mut PairScratch) -> [[Entries; Q]; Q] {
        self.regions.terms(i, j, &mut scratch.terms);
        let mut entries = [[Entries::default(); Q]; Q];
        if scratch.terms.is_empty() {
            return entries;
        }
        for (own, row) in entries.iter_mut().enumerate() {
            let target = self.nodes.target(i * Q + own, (i == j).then_some(own));
            let of_points = self.sources[j].entries(
                &target,
                &scratch.terms,
                self.accuracy,
                &mut scratch.points,
            );
            row.copy_from_slice(&of_points[..Q]);
        }
        entries
    }

    /// Sums over the points of panel `j` for those of panel `i`.
    pub(super) fn sums(&self, i: usize, j: usize) -> PointBlock<Q> {
        let mut terms = Vec::new();
        self.regions.terms(i, j, &mut terms);
        let entry = |own: usize, other: usize| {
            let target = self.nodes.target(i * Q + own, None);
            between_points(&terms, &target, self.nodes.source(j * Q + other))
        };
        PointBlock::of(&array::from_fn(|own| array::from_fn(|other| entry(own, other))))
    }

    /// Replaces K' from panel `j` to panel `i` by the transposed K of the other direction. Along
    /// edges of a polyhedron normal derivatives differ from those in the middle of its faces: the
    /// transposed double layer has their means, and so obeys Gauss's law.
    fn transpose(&self, i: usize, j: usize, forth: &mut [[Entries; Q]; Q], back: [[f64; Q]; Q]) {
        for (own, row) in forth.iter_mut().enumerate() {
            for (other, entry) in row.iter_mut().enumerate() {
                let [x, y] = [i * Q + own, j * Q + other].map(|node| self.nodes.weights[node]);
                entry.adjoint = y / x * back[other][own];
            }
        }
    }
}

impl<const Q: usize> PairIntegrals for PointPairs<'_, Q> {
    type Entry = PointBlock<Q>;
    type Scratch = PairScratch;

    fn is_symmetric(&self) -> bool {
        false
    }

    fn reach(&self, _panels: &Panels, _selection: &Selection) -> Vec<f64> {
        self.reach.to_vec()
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut PairScratch) -> [PointBlock<Q>; 2] {
        let mut forth = self.integrals(i, j, scratch);
        if i == j {
            return [PointBlock::of(&forth); 2];
        }
        let mut back = self.integrals(j, i, scratch);
        if [i, j].iter().all(|&panel| self.nodes.patches[panel].is_straight()) {
            let [of_forth, of_back] =
                [&forth, &back].map(|all| all.map(|row| row.map(|entry| entry.transposed)));
            self.transpose(i, j, &mut forth, of_back);
            self.transpose(j, i, &mut back, of_forth);
        }
        [PointBlock::of(&forth), PointBlock::of(&back)]
    }

    /// Rules are those of the points.
    fn by_points(&self, _rules: [&'static Rule; 2], i: usize, j: usize) -> [PointBlock<Q>; 2] {
        [self.sums(i, j), self.sums(j, i)]
    }

    /// All panels within reach that bound a common region are close.
    fn errors(&self, _rules: [&'static Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        errors.extend(pairs.iter().map(|&[i, j]| {
            let is_close = self.regions.have_common(i, j);
            [if is_close { f64::INFINITY } else { 0.0 }; 2]
        }));
    }
}
