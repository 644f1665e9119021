//! Near-field blocks of the linear modes.
//!
//! Over the [`modes`] of linear functions each pair of panels has nine entries. The
//! constant-constant entry is in the near field between constants, the other eight are stored here.

use nalgebra::Vector3;

use super::accuracy::{Accuracy, IntegralAccuracy};
use super::block::{Coefficient, Value};
use super::entry::{RowKind, changes, largest};
use super::pairs::LayerPairs;
use super::{Entry, PairIntegrals, Stored, curved};
use crate::geometry::panels::Panels;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::{double_layer, single_layer, transposed};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::remainder::Remainder;
use crate::quadrature::rule::Rule;
use crate::quadrature::sums;

/// Entries stored per pair: all but the constant-constant one.
const KEPT: usize = MODES * MODES - 1;

/// Rows per block: integrals of modes take long, so that few panels are enough work for a thread.
const ROWS: usize = 128;

/// Entries between modes for a pair of panels, each divided by both areas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModeBlock([[f64; MODES]; MODES]);

impl ModeBlock {
    /// Modes of the row and of the column, and the entry, for all entries that involve a linear
    /// mode.
    pub(crate) fn linear(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let kept = self.kept();
        (0..KEPT).map(move |k| ((k + 1) / MODES, (k + 1) % MODES, kept[k]))
    }

    /// The block with this constant-constant entry alone.
    pub(crate) fn constant(entry: f64) -> Self {
        let mut block = Self::default();
        block.0[0][0] = entry;
        block
    }

    /// The constant-constant entry.
    pub(crate) fn even(&self) -> f64 {
        self.0[0][0]
    }

    /// All entries, that between constants included.
    pub fn entries(&self) -> &[[f64; MODES]; MODES] {
        &self.0
    }

    fn kept(&self) -> [f64; KEPT] {
        std::array::from_fn(|k| self.0[(k + 1) / MODES][(k + 1) % MODES])
    }

    /// Exchanges rows and columns.
    pub(crate) fn transposed(self) -> Self {
        Self(transposed(self.0))
    }
}

impl Entry for ModeBlock {
    fn plus(self, times: f64, other: Self) -> Self {
        Self(self.0.plus(times, other.0))
    }

    fn size(&self) -> f64 {
        largest(self.kept())
    }
}

impl Coefficient for ModeBlock {
    type Values = Vector3<f64>;

    fn add_product(self, x: Vector3<f64>, sum: &mut Vector3<f64>) {
        self.kept().add_product(x, sum);
    }
}

impl Stored for ModeBlock {
    type Single = [f32; KEPT];
    type Double = [f64; KEPT];
    const MODES: usize = MODES;
    const NUMBERS: usize = KEPT;
    const ROWS: usize = ROWS;

    fn by_panels(
        x: &[f64],
        y: &mut [f64],
        multiply_add: impl FnOnce(&[Vector3<f64>], &mut [Vector3<f64>]),
    ) {
        let n = x.len() / MODES;
        let x: Vec<Vector3<f64>> = (0..n).map(|j| Vector3::from_fn(|m, _| x[m * n + j])).collect();
        let mut sums = vec![Vector3::zeros(); n];
        multiply_add(&x, &mut sums);
        for (i, sum) in sums.iter().enumerate() {
            (0..MODES).for_each(|m| y[m * n + i] += sum[m]);
        }
    }
}

macro_rules! kept {
    ($($number:ty),*) => {$(
        impl Coefficient for [$number; KEPT] {
            type Values = Vector3<f64>;

            fn add_product(self, x: Vector3<f64>, sum: &mut Vector3<f64>) {
                for (k, entry) in self.into_iter().enumerate() {
                    sum[(k + 1) / MODES] += f64::from(entry) * x[(k + 1) % MODES];
                }
            }
        }

        impl Value for [$number; KEPT] {
            type Entry = ModeBlock;

            fn of(entry: ModeBlock) -> Self {
                entry.kept().map(|value| value as $number)
            }

            fn entry(self) -> ModeBlock {
                let [a, b, c, d, e, f, g, h] = self.map(f64::from);
                ModeBlock([[0.0, a, b], [c, d, e], [f, g, h]])
            }

            fn transposed(self) -> Self {
                let [a, b, c, d, e, f, g, h] = self;
                [c, f, a, d, g, b, e, h]
            }

            /// Rounded as all others.
            fn of_diagonal(entry: ModeBlock) -> ModeBlock {
                Self::of(entry).entry()
            }
        }
    )*};
}

kept!(f32, f64);

/// Pairs farther apart than this multiple of the larger radius: points of this degree give all
/// digits.
const FAR_AWAY: f64 = 30.0;
const OF_FAR_AWAY: usize = 7;

/// Entries between modes of linear densities; [`LayerPairs`] has the constant-constant ones.
pub struct ModePairs<'a> {
    /// Entries between constants.
    pub even: &'a LayerPairs<'a>,
    /// Points of panels, and close pairs.
    pub accuracy: &'a Accuracy,
    /// Accuracy of integrals.
    pub integrals: IntegralAccuracy,
}

/// Integrals between the linear functions on panels `i` (tested) and `j`; either may be an image.
/// Functions are numbered by the corners of [`Panels::panel`].
pub(super) fn integrals(
    panels: &Panels,
    kind: RowKind,
    [i, j]: [usize; 2],
    accuracy: &IntegralAccuracy,
    points: &mut WeightedPoints,
) -> Block {
    if kind == RowKind::None || kind != RowKind::Single && i == j {
        return Block::default();
    }
    // Single layers in the mesh's order, so that entries (i, j) and (j, i) are the same.
    let (first, second) = if kind == RowKind::Single { panels.ordered(i, j) } else { (i, j) };
    let (s, t) = (panels.panel(first), panels.panel(second));
    match kind {
        RowKind::Single => {
            let block = single_layer(&s, &t, &accuracy.pairs, points);
            if first == i { block } else { transposed(block) }
        }
        RowKind::Double => double_layer(&s, &t, accuracy.solid_angles, points),
        _ => transposed(double_layer(&t, &s, accuracy.solid_angles, points)),
    }
}

/// Means between modes of flat panels over the points of the first rule on `i` (tested) and of the
/// second on `j`, screened with kappa; coincident points contribute nothing.
pub(super) fn by_points(
    panels: &Panels,
    kind: RowKind,
    [outer, inner]: [&Rule; 2],
    [i, j]: [usize; 2],
    kappa: f64,
) -> [[f64; MODES]; MODES] {
    let normal = match kind {
        RowKind::None => return Default::default(),
        RowKind::Single => None,
        RowKind::Double => Some(panels.normal(j)),
        RowKind::Adjoint => Some(-panels.normal(i)),
    };
    let [s, t] = [i, j].map(|k| panels.vertices(k));
    let mirrored = [i, j].map(|k| panels.is_mirrored(k));
    modes::run_around(mirrored, sums::between_modes(outer, s, inner, t, normal, kappa))
}

impl ModePairs<'_> {
    pub(crate) fn panels(&self) -> &Panels {
        self.even.panels
    }

    /// Kinds of the rows of both panels.
    fn kinds(&self, i: usize, j: usize) -> [RowKind; 2] {
        [i, j].map(|k| self.even.kind(k))
    }

    /// Entries of both rows of a pair, integrated over the parameters of its panels.
    fn of_curved(&self, [i, j]: [usize; 2], [forth, back]: curved::Both) -> [ModeBlock; 2] {
        let [first, second] = [i, j].map(|k| self.panels().is_mirrored(k));
        let forth = modes::run_around([first, second], forth);
        [forth, modes::run_around([second, first], back)].map(ModeBlock)
    }

    /// Whether the constant-constant entry, too, is that of the pair.
    pub(crate) fn has_even(&self, i: usize, j: usize) -> bool {
        curved::is_pair(self.panels(), i, j)
    }

    /// Entries of panel `i` (tested) with the density on panel `j`; either may be an image.
    pub(crate) fn entries(&self, i: usize, j: usize, points: &mut WeightedPoints) -> ModeBlock {
        let (panels, kind) = (self.panels(), self.even.kind(i));
        if curved::is_pair(panels, i, j) {
            let kinds = [kind, RowKind::None];
            let both = curved::exact(panels, kinds, [i, j], &self.integrals, points);
            return self.of_curved([i, j], both)[0];
        }
        let block = integrals(panels, kind, [i, j], &self.integrals, points);
        // In the panels' own vertex order, for areas of 1.
        let n = panels.len();
        let areas = panels.areas()[i % n] * panels.areas()[j % n];
        let mirrored = [i, j].map(|k| panels.is_mirrored(k));
        let block = modes::run_around(mirrored, modes::between(&block));
        ModeBlock(block.map(|row| row.map(|entry| entry / areas)))
    }

    /// As [`entries`](Self::entries), by sums over the points of these rules on `i` and `j`.
    pub(crate) fn entries_by_points(
        &self,
        rules: [&'static Rule; 2],
        i: usize,
        j: usize,
    ) -> ModeBlock {
        let (panels, kind) = (self.panels(), self.even.kind(i));
        if curved::is_pair(panels, i, j) {
            let kinds = [kind, RowKind::None];
            return self.of_curved([i, j], curved::by_points(panels, kinds, rules, [i, j]))[0];
        }
        ModeBlock(by_points(panels, kind, rules, [i, j], 0.0))
    }
}

impl PairIntegrals for ModePairs<'_> {
    type Entry = ModeBlock;
    type Scratch = WeightedPoints;

    fn is_symmetric(&self) -> bool {
        self.even.is_symmetric()
    }

    fn exact(&self, i: usize, j: usize, points: &mut WeightedPoints) -> [ModeBlock; 2] {
        let (panels, kinds) = (self.panels(), self.kinds(i, j));
        if curved::is_pair(panels, i, j) {
            let both = curved::exact(panels, kinds, [i, j], &self.integrals, points);
            return self.of_curved([i, j], both);
        }
        // Closed forms cancel where images are far away.
        let distance = (panels.centroid(i) - panels.centroid(j)).norm();
        if distance > FAR_AWAY * panels.radius(i).max(panels.radius(j)) {
            return self.by_points([Rule::of_degree(OF_FAR_AWAY); 2], i, j);
        }
        let forth = self.entries(i, j, points);
        if kinds == [RowKind::Single; 2] {
            return [forth, forth.transposed()];
        }
        [forth, self.entries(j, i, points)]
    }

    fn by_points(&self, [outer, inner]: [&'static Rule; 2], i: usize, j: usize) -> [ModeBlock; 2] {
        let kinds = self.kinds(i, j);
        if curved::is_pair(self.panels(), i, j) {
            let both = curved::by_points(self.panels(), kinds, [outer, inner], [i, j]);
            return self.of_curved([i, j], both);
        }
        let forth = self.entries_by_points([outer, inner], i, j);
        if kinds == [RowKind::Single; 2] {
            return [forth, forth.transposed()];
        }
        [forth, self.entries_by_points([inner, outer], j, i)]
    }

    fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
        self.even.weights(panels, i, j)
    }

    fn errors(&self, rules: [&'static Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        errors.extend(pairs.iter().map(|&[i, j]| {
            if !curved::is_pair(self.panels(), i, j) {
                return changes(self, rules, [i, j]);
            }
            let size = |entries: &[[f64; MODES]; MODES]| ModeBlock(*entries).size();
            curved::changes(self.panels(), self.kinds(i, j), rules, [i, j], size)
        }));
    }

    fn largest_errors(&self, rules: [&Rule; 2], i: usize, j: usize) -> [f64; 2] {
        if curved::is_pair(self.panels(), i, j) {
            return [f64::INFINITY; 2];
        }
        let (remainder, both) = (Remainder::between(rules), self.even.separations(rules[0], i, j));
        // The mean magnitude of a mode is at most 1.
        type Bound = fn(&Remainder, f64, f64) -> f64;
        let sum = |even: Bound, linear: Bound| {
            both.iter().map(|at| at.bound(remainder, even).max(at.bound(remainder, linear))).sum()
        };
        self.kinds(i, j).map(|kind| match kind {
            RowKind::Single => sum(Remainder::of_potentials, Remainder::of_mode_potentials),
            RowKind::None => 0.0,
            _ => sum(Remainder::of_fields, Remainder::of_mode_fields),
        })
    }
}
