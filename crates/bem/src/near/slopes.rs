//! Near-field blocks of the linear modes.
//!
//! Over the [`modes`] of linear functions each pair of panels has nine entries. The
//! constant-constant entry is in [`Near`](super::Near), as for constant densities; the other eight
//! are here.

use std::sync::atomic::{AtomicU64, Ordering};

use parallel::prelude::*;

use super::accuracy::Accuracy;
use super::entry::{RowKind, changes};
use super::pairs::LayerPairs;
use super::select::Choice;
use super::{Entry, PairIntegrals, Precision, Selection, curved, is_wanted, over_images};
use crate::constants::COARSE_REACH;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::{double_layer, single_layer, transposed};
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::remainder::Remainder;
use crate::quadrature::rule::Rule;
use crate::quadrature::sums;
use crate::{Error, Progress, Stage};

/// Rows per assembly task.
const ROWS: usize = 64;

/// Entries kept per pair: all but the constant-constant one.
const KEPT: usize = MODES * MODES - 1;

/// Entries between modes for a pair of panels, each divided by both areas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Modes([[f64; MODES]; MODES]);

impl Modes {
    /// Modes of the row and of the column, and the entry, for all entries that involve a linear
    /// mode.
    pub(crate) fn of_slopes(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let kept = self.kept();
        (0..KEPT).map(move |k| ((k + 1) / MODES, (k + 1) % MODES, kept[k]))
    }

    /// The constant-constant entry.
    pub(crate) fn even(&self) -> f64 {
        self.0[0][0]
    }

    pub(crate) fn entries(&self) -> &[[f64; MODES]; MODES] {
        &self.0
    }

    fn kept(&self) -> [f64; KEPT] {
        std::array::from_fn(|k| self.0[(k + 1) / MODES][(k + 1) % MODES])
    }
}

impl Entry for Modes {
    fn plus(self, times: f64, other: Self) -> Self {
        let sum = |m: usize, l: usize| self.0[m][l] + times * other.0[m][l];
        Self(std::array::from_fn(|m| std::array::from_fn(|l| sum(m, l))))
    }

    fn size(&self) -> f64 {
        // A NaN must not be dropped.
        let larger = |most: f64, entry: f64| if entry.abs() <= most { most } else { entry.abs() };
        self.kept().into_iter().fold(0.0, larger)
    }
}

/// Pairs farther apart than this multiple of the larger radius: points of this degree give all
/// digits.
const FAR_AWAY: f64 = 30.0;
const OF_FAR_AWAY: usize = 7;

/// Entries between modes of linear densities; [`LayerPairs`] has the constant-constant ones.
pub(crate) struct SlopePairs<'a> {
    pub(crate) even: &'a LayerPairs<'a>,
    pub(crate) accuracy: &'a Accuracy,
    /// Accuracy of solid angles.
    pub(crate) solid_angles: f64,
}

impl SlopePairs<'_> {
    pub(crate) fn panels(&self) -> &Panels {
        self.even.panels
    }

    fn accuracies(&self) -> (PairQuadrature, f64) {
        (self.accuracy.pairs, self.solid_angles)
    }

    /// In the panels' own vertex order, for areas of 1.
    fn as_own(&self, i: usize, j: usize, block: &Block) -> Modes {
        let panels = self.even.panels;
        let n = panels.len();
        let areas = panels.areas()[i % n] * panels.areas()[j % n];
        let mirrored = [i, j].map(|k| panels.is_mirrored(k));
        let block = modes::run_around(mirrored, *block);
        Modes(block.map(|row| row.map(|entry| entry / areas)))
    }

    /// Entries of both rows of a pair, integrated over the parameters of its panels.
    fn of_curved(
        &self,
        [i, j]: [usize; 2],
        [forth, back]: [[[f64; MODES]; MODES]; 2],
    ) -> [Modes; 2] {
        let mirrored = [i, j].map(|k| self.even.panels.is_mirrored(k));
        let [first, second] = mirrored;
        [Modes(modes::run_around(mirrored, forth)), Modes(modes::run_around([second, first], back))]
    }

    /// Whether the constant-constant entry, too, is that of the pair.
    pub(crate) fn has_even(&self, i: usize, j: usize) -> bool {
        curved::is_pair(self.even.panels, i, j)
    }

    /// Entries of panel `i` (tested) with the density on panel `j`; either may be an image.
    pub(crate) fn entries(&self, i: usize, j: usize, points: &mut WeightedPoints) -> Modes {
        let (panels, kind) = (self.even.panels, self.even.kernel(i));
        if curved::is_pair(panels, i, j) {
            let (kinds, accuracies) = ([kind, RowKind::None], self.accuracies());
            let both = curved::exact(panels, kinds, [i, j], accuracies, points);
            let [forth, _] = self.of_curved([i, j], both);
            return forth;
        }
        if kind == RowKind::None || kind != RowKind::Single && i == j {
            return Modes::default();
        }
        let (s, t) = (panels.panel(i), panels.panel(j));
        let block = match kind {
            RowKind::Single => {
                let (first, second) = panels.ordered(i, j);
                let (s, t) = (panels.panel(first), panels.panel(second));
                let block = single_layer(&s, &t, &self.accuracy.pairs, points);
                if first == i { block } else { transposed(block) }
            }
            RowKind::Double => double_layer(&s, &t, self.solid_angles, points),
            _ => transposed(double_layer(&t, &s, self.solid_angles, points)),
        };
        self.as_own(i, j, &modes::between(&block))
    }

    /// The same, summed over the points of the first rule on `i` and of the second on `j`.
    pub(crate) fn entries_by_points(&self, rules: [&'static Rule; 2], i: usize, j: usize) -> Modes {
        let panels = self.even.panels;
        let mirrored = [i, j].map(|k| panels.is_mirrored(k));
        if curved::is_pair(panels, i, j) {
            let kinds = [self.even.kernel(i), RowKind::None];
            let [forth, _] =
                self.of_curved([i, j], curved::by_points(panels, kinds, rules, [i, j]));
            return forth;
        }
        let normal = match self.even.kernel(i) {
            RowKind::None => return Modes::default(),
            RowKind::Single => None,
            RowKind::Double => Some(panels.normal(j)),
            RowKind::Adjoint => Some(-panels.normal(i)),
        };
        let [s, t] = [i, j].map(|k| panels.vertices(k));
        let block = sums::between_modes(rules[0], s, rules[1], t, normal);
        Modes(modes::run_around(mirrored, block))
    }
}

fn turned(entries: Modes) -> Modes {
    Modes(transposed(entries.0))
}

impl PairIntegrals for SlopePairs<'_> {
    type Entry = Modes;
    type Scratch = WeightedPoints;

    fn is_symmetric(&self) -> bool {
        false
    }

    fn exact(&self, i: usize, j: usize, points: &mut WeightedPoints) -> [Modes; 2] {
        if curved::is_pair(self.panels(), i, j) {
            let (kinds, accuracies) = ([i, j].map(|k| self.even.kernel(k)), self.accuracies());
            let both = curved::exact(self.panels(), kinds, [i, j], accuracies, points);
            return self.of_curved([i, j], both);
        }
        // Closed forms cancel where images are far away.
        let panels = self.panels();
        let distance = (panels.centroid(i) - panels.centroid(j)).norm();
        if distance > FAR_AWAY * panels.radius(i).max(panels.radius(j)) {
            return self.by_points([Rule::of_degree(OF_FAR_AWAY); 2], i, j);
        }
        let forth = self.entries(i, j, points);
        if [i, j].iter().all(|&k| self.even.kernel(k) == RowKind::Single) {
            return [forth, turned(forth)];
        }
        [forth, self.entries(j, i, points)]
    }

    fn by_points(&self, [outer, inner]: [&'static Rule; 2], i: usize, j: usize) -> [Modes; 2] {
        if curved::is_pair(self.panels(), i, j) {
            let kinds = [i, j].map(|k| self.even.kernel(k));
            let both = curved::by_points(self.panels(), kinds, [outer, inner], [i, j]);
            return self.of_curved([i, j], both);
        }
        let forth = self.entries_by_points([outer, inner], i, j);
        if [i, j].iter().all(|&k| self.even.kernel(k) == RowKind::Single) {
            return [forth, turned(forth)];
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
            let kinds = [i, j].map(|k| self.even.kernel(k));
            let of_slopes = |entries: &[[f64; MODES]; MODES]| Modes(*entries).size();
            curved::changes(self.panels(), kinds, rules, [i, j], of_slopes)
        }));
    }

    fn largest_errors(&self, rules: [&Rule; 2], i: usize, j: usize) -> [f64; 2] {
        if curved::is_pair(self.even.panels, i, j) {
            return [f64::INFINITY; 2];
        }
        let (remainder, seen) = (Remainder::between(rules), self.even.seen(rules[0], i, j));
        // The mean magnitude of a mode is at most 1.
        let sum = |even: fn(&Remainder, f64, f64) -> f64,
                   slopes: fn(&Remainder, f64, f64) -> f64| {
            let of = |&(radius, distance): &(f64, f64)| {
                even(remainder, radius, distance).max(slopes(remainder, radius, distance))
            };
            seen.iter().map(of).sum::<f64>()
        };
        [i, j].map(|row| match self.even.kernel(row) {
            RowKind::Single => sum(Remainder::of_potentials, Remainder::of_potentials_of_slopes),
            RowKind::None => 0.0,
            _ => sum(Remainder::of_fields, Remainder::of_fields_of_slopes),
        })
    }
}

/// Exact entries of close pairs minus their quadrature sums, row by row.
#[derive(Debug)]
pub(crate) struct Slopes {
    /// Where the entries of each row begin; last, where they end.
    starts: Vec<usize>,
    columns: Vec<u32>,
    entries: Entries,
}

#[derive(Debug)]
enum Entries {
    Single(Vec<[f32; KEPT]>),
    Double(Vec<[f64; KEPT]>),
}

/// Both entries of a pair, one for each row.
struct Pair {
    panels: [u32; 2],
    entries: [[f64; KEPT]; 2],
}

impl Slopes {
    /// Pairs to examine, given those of constant densities.
    pub(crate) fn selection(of_means: &Selection) -> Selection {
        Selection { diameters: of_means.diameters.max(COARSE_REACH), ..of_means.clone() }
    }

    /// For the operator with these pairs, as [`Near::new`](super::Near::new). `check(entries)` may
    /// refuse that number of entries.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and errors of `check`.
    pub(crate) fn new(
        pairs: &SlopePairs<'_>,
        partition: &Partition,
        check: impl Fn(usize) -> Result<(), Error> + Sync,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let (panels, rule) = (pairs.even.panels, pairs.accuracy.rule);
        let selection = &pairs.accuracy.selection;
        let selection = Self::selection(selection);
        let n = panels.len();
        let reach = selection.reach(panels);
        let search = Neighbours::new(panels.centroids(), &reach);
        let (done, count) = (AtomicU64::new(0), AtomicU64::new(0));
        let rows = |first: usize| -> Result<Vec<Pair>, Error> {
            let rows = first..n.min(first + ROWS);
            let mut found = Vec::new();
            let (mut candidates, mut chosen) = (Vec::new(), Vec::new());
            let (mut choice, mut points) = (Choice::default(), WeightedPoints::default());
            let mut walk = search.walk();
            for i in rows.clone() {
                candidates.clear();
                walk.of(i, &mut candidates);
                if panels.total() > n {
                    candidates.iter_mut().for_each(|j| *j %= n as u32);
                    candidates.sort_unstable();
                    candidates.dedup();
                }
                // Each pair once, in the mesh's order, independent of the order of the rows.
                candidates
                    .retain(|&j| j as usize > i && is_wanted(partition, panels, i, j as usize));
                chosen.clear();
                let ordered = |&j: &u32| <[usize; 2]>::from(panels.ordered(i, j as usize));
                chosen.extend(candidates.iter().map(ordered));
                selection.choose(panels, pairs, &chosen, &mut choice, &mut points);
                let by_points = |[i, j]: [usize; 2]| {
                    over_images(panels, i, j, |i, j| pairs.by_points([rule; 2], i, j))
                };
                let mut push = |pair: [usize; 2], exact: [Modes; 2]| {
                    let points = by_points(pair);
                    let left = |side: usize| exact[side].plus(-1.0, points[side]).kept();
                    let panels = pair.map(|k| k as u32);
                    found.push(Pair { panels, entries: [left(0), left(1)] });
                };
                for (&pair, kept) in chosen.iter().zip(choice.kept()) {
                    if let Some(exact) = *kept {
                        push(pair, exact);
                    }
                }
                let exact = over_images(panels, i, i, |i, j| pairs.exact(i, j, &mut points));
                push([i, i], exact);
            }
            let added = (2 * KEPT * found.len()) as u64;
            check((count.fetch_add(added, Ordering::Relaxed) + added) as usize)?;
            let done = done.fetch_add(rows.len() as u64, Ordering::Relaxed) + rows.len() as u64;
            let goes_on = progress.advance(Stage::NearField, done, n as u64);
            if goes_on { Ok(found) } else { Err(Error::Interrupted) }
        };
        let starts: Vec<usize> = (0..n).step_by(ROWS).collect();
        let parts: Vec<_> = starts.into_par_iter().map(rows).collect::<Result<_, Error>>()?;
        Ok(Self::of_parts(n, &parts, pairs.accuracy.precision))
    }

    fn of_parts(n: usize, parts: &[Vec<Pair>], precision: Precision) -> Self {
        // A panel with itself has one entry, not two.
        let sides = |pair: &Pair| if pair.panels[0] == pair.panels[1] { 1 } else { 2 };
        let all = || parts.iter().flatten();
        let mut starts = vec![0; n + 1];
        for pair in all() {
            (0..sides(pair)).for_each(|side| starts[pair.panels[side] as usize + 1] += 1);
        }
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = starts.clone();
        let mut columns = vec![0; starts[n]];
        let mut place = |pair: &Pair, side: usize| {
            let at = &mut next[pair.panels[side] as usize];
            columns[*at] = pair.panels[1 - side];
            *at += 1;
            *at - 1
        };
        let entries = match precision {
            Precision::Single => {
                let mut entries = vec![[0.0; KEPT]; starts[n]];
                for pair in all() {
                    for side in 0..sides(pair) {
                        entries[place(pair, side)] = pair.entries[side].map(|v| v as f32);
                    }
                }
                Entries::Single(entries)
            }
            Precision::Double => {
                let mut entries = vec![[0.0; KEPT]; starts[n]];
                for pair in all() {
                    (0..sides(pair))
                        .for_each(|side| entries[place(pair, side)] = pair.entries[side]);
                }
                Entries::Double(entries)
            }
        };
        Self { starts, columns, entries }
    }

    /// Number of stored entries.
    pub(crate) fn entries(&self) -> usize {
        KEPT * self.columns.len()
    }

    /// Calls `f` with the column, the modes of the row and of the column, and the entry, for all
    /// entries of row `i`.
    pub(crate) fn each_of_row(&self, i: usize, mut f: impl FnMut(usize, usize, usize, f64)) {
        for at in self.starts[i]..self.starts[i + 1] {
            let j = self.columns[at] as usize;
            for k in 0..KEPT {
                let entry = match &self.entries {
                    Entries::Single(entries) => f64::from(entries[at][k]),
                    Entries::Double(entries) => entries[at][k],
                };
                f(j, (k + 1) / MODES, (k + 1) % MODES, entry);
            }
        }
    }

    /// y += A x for both of shape (k, modes, panels).
    pub(crate) fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        match &self.entries {
            Entries::Single(entries) => self.multiply_add_by(entries, x, y),
            Entries::Double(entries) => self.multiply_add_by(entries, x, y),
        }
    }

    fn multiply_add_by<V>(&self, entries: &[[V; KEPT]], x: &[f64], y: &mut [f64])
    where
        V: Copy + Into<f64> + Sync,
    {
        let n = self.starts.len() - 1;
        let size = (MODES * n).max(1);
        for (x, y) in x.chunks_exact(size).zip(y.chunks_exact_mut(size)) {
            let row = |i: usize| {
                let mut sums = [0.0; MODES];
                for at in self.starts[i]..self.starts[i + 1] {
                    let j = self.columns[at] as usize;
                    let x: [f64; MODES] = std::array::from_fn(|m| x[m * n + j]);
                    for (k, &entry) in entries[at].iter().enumerate() {
                        sums[(k + 1) / MODES] += entry.into() * x[(k + 1) % MODES];
                    }
                }
                sums
            };
            let rows: Vec<[f64; MODES]> =
                (0..n).into_par_iter().with_min_len(ROWS).map(row).collect();
            for (i, sums) in rows.iter().enumerate() {
                (0..MODES).for_each(|m| y[m * n + i] += sums[m]);
            }
        }
    }
}
