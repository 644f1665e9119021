//! Entries of near fields: of an operator between two panels.

use std::fmt::Debug;

use super::Selection;
use crate::geometry::panels::Panels;
use crate::quadrature::rule::Rule;

/// The kind of a row of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Mean potential.
    Single,
    /// Mean potential of dipoles along the normals.
    Double,
    /// Mean normal derivative of the potential.
    Adjoint,
    /// An empty row.
    None,
}

/// An operator's entry for a pair of panels: a number for charges of panels, a block for functions.
pub trait Entry: Copy + Default + Send + Sync + Debug {
    /// `self + times * other`.
    fn plus(self, times: f64, other: Self) -> Self;
    /// Magnitude, as an error measure; NaN is kept.
    fn size(&self) -> f64;
}

impl Entry for f64 {
    fn plus(self, times: f64, other: Self) -> Self {
        self + times * other
    }

    fn size(&self) -> f64 {
        self.abs()
    }
}

/// The largest magnitude of some numbers; NaN is kept.
pub(crate) fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    // Bits of magnitudes are in order, those of NaN last.
    let bits = values.into_iter().map(|value| value.abs().to_bits());
    f64::from_bits(bits.fold(0, u64::max))
}

/// Entries of an operator between two panels, the second of which may be an image; a near field is
/// built from them.
///
/// Everything known of the panels' shape is here, in the rules' points on them, and in the
/// centroids, radii and diameters of [`Panels`].
pub trait PairIntegrals: Sync {
    /// Entry of a pair.
    type Entry: Entry;
    /// Scratch space shared by many pairs.
    type Scratch: Default;
    /// Whether (i, j) and (j, i) are equal for all pairs.
    fn is_symmetric(&self) -> bool;
    /// Entries (i, j) and (j, i), integrated; j may be i.
    fn exact(&self, i: usize, j: usize, scratch: &mut Self::Scratch) -> [Self::Entry; 2];
    /// The same entries summed over the points of the first rule on panel i and of the second on j;
    /// coincident points contribute nothing.
    fn by_points(&self, rules: [&'static Rule; 2], i: usize, j: usize) -> [Self::Entry; 2];

    /// How far each panel, images included, looks for others.
    fn reach(&self, panels: &Panels, selection: &Selection) -> Vec<f64> {
        selection.reach(panels)
    }

    /// Weights of errors of entries (i, j) and (j, i) in their rows.
    fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
        panels.weights(i, j)
    }

    /// Upper bounds of [`Self::errors`] of a pair (i, j), where known without sums: from the
    /// circles around the panels, or, closer, from the points on them.
    fn largest_errors(
        &self,
        _rules: [&Rule; 2],
        _pair: [usize; 2],
        _from_points: bool,
    ) -> [f64; 2] {
        [f64::INFINITY; 2]
    }

    /// For each of `pairs` (i, j), appends the change of entries (i, j) and (j, i), summed over
    /// points, when the second rule replaces the first on one panel and on the other: the sum of
    /// both changes. No two panels overlap.
    fn errors(&self, rules: [&'static Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        errors.extend(pairs.iter().map(|&pair| changes(self, rules, pair)));
    }
}

/// Change of the entries of a pair from the first rule to the second, on either panel.
pub(super) fn changes<I: PairIntegrals + ?Sized>(
    integrals: &I,
    [rule, finer]: [&'static Rule; 2],
    [i, j]: [usize; 2],
) -> [f64; 2] {
    let plain = integrals.by_points([rule, rule], i, j);
    let left = integrals.by_points([finer, rule], i, j);
    let right = integrals.by_points([rule, finer], i, j);
    let change = |of: I::Entry, k: usize| of.plus(-1.0, plain[k]).size();
    let error = |k: usize| change(left[k], k) + change(right[k], k);
    [error(0), error(1)]
}

/// Entries (i, j) and (j, i) of two panels, from `f`, which gives them for the panels in the mesh's
/// order: independent of the order of the rows.
pub(super) fn in_mesh_order<E: Copy>(
    panels: &Panels,
    i: usize,
    j: usize,
    f: impl FnOnce(usize, usize) -> [E; 2],
) -> [E; 2] {
    let (first, second) = panels.ordered(i, j);
    let [forth, back] = f(first, second);
    if first == i { [forth, back] } else { [back, forth] }
}

/// The sum over the images g of panel `second`, with their factors, of `f` for panel `first` and
/// image g.
pub(crate) fn over_images<E: Entry>(
    panels: &Panels,
    first: usize,
    second: usize,
    mut f: impl FnMut(usize, usize) -> [E; 2],
) -> [E; 2] {
    let n = panels.len();
    let mut sum = [E::default(); 2];
    for start in (0..panels.total()).step_by(n) {
        if panels.act(first, start + second) {
            let [forth, back] = f(first, start + second);
            // As seen from the image, the first panel is the image.
            let j = start + second;
            let factors = [panels.factor(first, j), panels.factor_back(first, j)];
            sum = [sum[0].plus(factors[0], forth), sum[1].plus(factors[1], back)];
        }
    }
    sum
}
