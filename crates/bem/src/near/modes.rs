//! Near-field blocks of the linear modes.
//!
//! Over the [`modes`] of linear functions each pair of panels has nine entries, from one integral.

use nalgebra::Vector3;
use parallel::prelude::*;

use super::accuracy::{Accuracy, IntegralAccuracy};
use super::block::{Builder, Coefficient, Value};
use super::entry::{RowKind, changes, largest};
use super::pairs::{LayerPairs, Scratch};
use super::{BLOCK, Blocks, Entry, Near, PairIntegrals, Stored, curved};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Triangle;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::{double_layer, single_layer, transposed};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::errors;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::remainder::Remainder;
use crate::quadrature::rule::Rule;
use crate::quadrature::sums;

/// Entries per pair.
const ENTRIES: usize = MODES * MODES;

/// Rows per block: integrals of modes take long, so that few panels are enough work for a thread.
const ROWS: usize = 128;

/// Entries between modes for a pair of panels, each divided by both areas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModeBlock([[f64; MODES]; MODES]);

impl ModeBlock {
    /// The constant-constant entry.
    pub(crate) fn even(&self) -> f64 {
        self.0[0][0]
    }

    /// All entries, shape (modes of the row, modes of the column).
    pub fn entries(&self) -> &[[f64; MODES]; MODES] {
        &self.0
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
        largest(self.0.into_iter().flatten())
    }
}

impl Coefficient for ModeBlock {
    type Values = Vector3<f64>;

    fn add_product(self, x: Vector3<f64>, sum: &mut Vector3<f64>) {
        for (sum, row) in sum.iter_mut().zip(self.0) {
            *sum += (0..MODES).map(|l| row[l] * x[l]).sum::<f64>();
        }
    }
}

impl Stored for ModeBlock {
    type Single = [f32; ENTRIES];
    type Double = [f64; ENTRIES];
    const MODES: usize = MODES;
    const NUMBERS: usize = ENTRIES;
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

macro_rules! entries {
    ($($number:ty),*) => {$(
        impl Coefficient for [$number; ENTRIES] {
            type Values = Vector3<f64>;

            fn add_product(self, x: Vector3<f64>, sum: &mut Vector3<f64>) {
                for (k, entry) in self.into_iter().enumerate() {
                    sum[k / MODES] += f64::from(entry) * x[k % MODES];
                }
            }
        }

        impl Value for [$number; ENTRIES] {
            type Entry = ModeBlock;

            fn of(entry: ModeBlock) -> Self {
                std::array::from_fn(|k| entry.0[k / MODES][k % MODES] as $number)
            }

            fn entry(self) -> ModeBlock {
                let [a, b, c, d, e, f, g, h, i] = self.map(f64::from);
                ModeBlock([[a, b, c], [d, e, f], [g, h, i]])
            }

            fn transposed(self) -> Self {
                let [a, b, c, d, e, f, g, h, i] = self;
                [a, d, g, b, e, h, c, f, i]
            }

            /// Rounded as all others.
            fn of_diagonal(entry: ModeBlock) -> ModeBlock {
                Self::of(entry).entry()
            }
        }
    )*};
}

entries!(f32, f64);

/// Pairs farther apart than this multiple of the larger radius: points of this degree give all
/// digits.
const FAR_AWAY: f64 = 30.0;
const OF_FAR_AWAY: usize = 7;

/// Errors of integrals between curved panels as a share of those that points may have.
const OF_SELECTION: f64 = 0.3;

/// Entries between modes of linear densities.
pub struct ModePairs<'a> {
    /// Entries between constants: kinds of rows, weights, and solid angles, which have integrals
    /// along edges there.
    pub even: &'a LayerPairs<'a>,
    /// Points of panels, and close pairs.
    pub accuracy: &'a Accuracy,
    /// Accuracy of integrals.
    pub integrals: IntegralAccuracy,
}

/// Integrals between the linear functions on panels `i` (tested) and `j`, the triangles `s` and
/// `t`; either may be an image. Functions are numbered by the corners of [`Panels::panel`].
pub(super) fn integrals(
    panels: &Panels,
    kind: RowKind,
    [i, j]: [usize; 2],
    [s, t]: [&Triangle; 2],
    accuracy: &IntegralAccuracy,
    points: &mut WeightedPoints,
) -> Block {
    match kind {
        // In the mesh's order, so that entries (i, j) and (j, i) are the same.
        RowKind::Single if panels.ordered(i, j) == (i, j) => {
            single_layer(s, t, &accuracy.pairs, points)
        }
        RowKind::Single => transposed(single_layer(t, s, &accuracy.pairs, points)),
        RowKind::None => Block::default(),
        RowKind::Double | RowKind::Adjoint if i == j => Block::default(),
        RowKind::Double => double_layer(s, t, accuracy.solid_angles, points),
        RowKind::Adjoint => transposed(double_layer(t, s, accuracy.solid_angles, points)),
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

impl Near<ModeBlock> {
    /// The entries between constants, for a preconditioner: rows in full, not for products.
    pub(crate) fn constants(&self) -> Near {
        let block = |first: usize| {
            let rows = first..self.rows.min(first + BLOCK);
            let mut block = Builder::plain(rows.clone());
            for full in (first / ROWS..rows.end.div_ceil(ROWS)).map(|k| self.full_rows(k)) {
                for i in full.rows.clone() {
                    let others = full.row(i).iter().filter(|(j, _)| *j as usize != i);
                    let mut row: Vec<(u32, f64)> = others.map(|(j, of)| (*j, of.even())).collect();
                    row.sort_unstable_by_key(|entry| entry.0);
                    row.iter().for_each(|&(j, even)| block.push(j as usize, [even, 0.0]));
                    block.end_row(Some(self.diagonal(i).even()));
                }
            }
            block.finish()
        };
        let starts: Vec<usize> = (0..self.rows).step_by(BLOCK).collect();
        let blocks = Blocks::Double(starts.into_par_iter().map(block).collect());
        Near { rows: self.rows, columns: self.rows, blocks }
    }
}

impl ModePairs<'_> {
    pub(crate) fn panels(&self) -> &Panels {
        self.even.panels
    }

    /// Kinds of the rows of both panels.
    fn kinds(&self, i: usize, j: usize) -> [RowKind; 2] {
        [i, j].map(|k| self.even.kind(k))
    }

    /// Error that an integrated entry may always have: where entries of small panels that their
    /// points are enough for are off by more, others need not be better.
    fn least(&self, i: usize, j: usize) -> f64 {
        let panels = self.panels();
        let [forth, back] = self.even.weights(panels, i, j % panels.len());
        OF_SELECTION * self.accuracy.selection.error / forth.max(back)
    }

    /// Entries of both rows of a pair, integrated over the parameters of its panels.
    fn of_curved(&self, [i, j]: [usize; 2], [forth, back]: curved::Both) -> [ModeBlock; 2] {
        let [first, second] = [i, j].map(|k| self.panels().is_mirrored(k));
        let forth = modes::run_around([first, second], forth);
        [forth, modes::run_around([second, first], back)].map(ModeBlock)
    }

    /// Entries of panel `i` (tested) with the density on panel `j`; either may be an image.
    pub(crate) fn entries(&self, i: usize, j: usize, scratch: &mut Scratch) -> ModeBlock {
        let (panels, kind) = (self.panels(), self.even.kind(i));
        if curved::is_pair(panels, i, j) {
            let kinds = [kind, RowKind::None];
            let both =
                curved::exact(panels, kinds, [i, j], &self.integrals, 0.0, &mut scratch.nodes);
            return self.of_curved([i, j], both)[0];
        }
        let Scratch { nodes, last } = scratch;
        let triangles = self.even.triangles(i, j, last);
        let block = integrals(panels, kind, [i, j], triangles, &self.integrals, nodes);
        // In the panels' own vertex order, for areas of 1.
        let n = panels.len();
        let areas = panels.areas()[i % n] * panels.areas()[j % n];
        let mirrored = [i, j].map(|k| panels.is_mirrored(k));
        let block = modes::run_around(mirrored, modes::between(&block));
        let mut block = block.map(|row| row.map(|entry| entry / areas));
        if kind != RowKind::Single {
            block[0][0] = self.even.entry(i, j, scratch);
        }
        ModeBlock(block)
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
    type Scratch = Scratch;

    fn is_symmetric(&self) -> bool {
        self.even.is_symmetric()
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [ModeBlock; 2] {
        let (panels, kinds) = (self.panels(), self.kinds(i, j));
        if curved::is_pair(panels, i, j) {
            let least = self.least(i, j);
            let both =
                curved::exact(panels, kinds, [i, j], &self.integrals, least, &mut scratch.nodes);
            return self.of_curved([i, j], both);
        }
        // Closed forms cancel where images are far away.
        let distance = (panels.centroid(i) - panels.centroid(j)).norm();
        if distance > FAR_AWAY * panels.radius(i).max(panels.radius(j)) {
            return self.by_points([Rule::of_degree(OF_FAR_AWAY); 2], i, j);
        }
        let forth = self.entries(i, j, scratch);
        if kinds == [RowKind::Single; 2] {
            return [forth, forth.transposed()];
        }
        [forth, self.entries(j, i, scratch)]
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
        if self.is_symmetric() && !self.panels().are_curved() {
            let mut changes = Vec::with_capacity(pairs.len());
            let vertices = self.panels().all_vertices();
            errors::of_modes(errors::Pairs { rules, vertices, pairs }, &mut changes);
            return errors.extend(changes.into_iter().map(|change| [change; 2]));
        }
        errors.extend(pairs.iter().map(|&[i, j]| {
            if !curved::is_pair(self.panels(), i, j) {
                return changes(self, rules, [i, j]);
            }
            let size = |entries: &[[f64; MODES]; MODES]| ModeBlock(*entries).size();
            curved::changes(self.panels(), self.kinds(i, j), rules, [i, j], size)
        }));
    }

    fn largest_errors(&self, rules: [&Rule; 2], [i, j]: [usize; 2], from_points: bool) -> [f64; 2] {
        if curved::is_pair(self.panels(), i, j) {
            return [f64::INFINITY; 2];
        }
        let remainder = Remainder::between(rules);
        let both = self.even.separations(from_points.then_some(rules[0]), i, j);
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
