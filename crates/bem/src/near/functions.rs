//! The near field between functions: integrals over pairs of panels with linear functions,
//! assembled over coefficients.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use parallel::prelude::*;

use super::accuracy::Accuracy;
use super::block::{Builder, Value};
use super::entry::RowKind;
use super::select::Choice;
use super::{BLOCK, Blocks, Entry, Near, PairIntegrals, Precision, Selection, over_images};
use crate::constants::{COARSE_REACH, SOLID_ANGLES};
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::{double_layer, single_layer, transposed};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::modes;
use crate::quadrature::rule::Rule;
use crate::space::{Test, TestTrial};
use crate::{Error, Progress, Stage};

/// Exact integrals and their quadrature sums between panels with linear functions: int_i int_j
/// lambda_k(x) mu_l(y) times the kernel. For collocation the outer integral is the value at the
/// centroid times the area, one third of it for each k.
pub struct FunctionPairs<'a> {
    /// Panels, including their images.
    pub panels: &'a Panels,
    /// One per panel.
    pub kinds: &'a [RowKind],
    /// Functions of the rows and of the columns.
    pub functions: &'a TestTrial,
    /// Accuracy of integrals and quadrature points.
    pub accuracy: &'a Accuracy,
}

impl FunctionPairs<'_> {
    fn kind(&self, i: usize) -> RowKind {
        self.kinds[i % self.kinds.len()]
    }

    /// Reorders a block to the panels' own vertex order: mirror images have the opposite
    /// orientation.
    fn as_own(&self, i: usize, j: usize, block: Block) -> Block {
        let [i, j] = [i, j].map(|k| if self.panels.is_mirrored(k) { [0, 2, 1] } else { [0, 1, 2] });
        i.map(|k| j.map(|l| block[k][l]))
    }

    /// The integrals between panels `i` (tested) and `j`.
    fn tested(&self, i: usize, j: usize, points: &mut WeightedPoints) -> Block {
        self.as_own(i, j, self.integrals(i, j, points))
    }

    fn integrals(&self, i: usize, j: usize, points: &mut WeightedPoints) -> Block {
        let kind = self.kind(i);
        if kind == RowKind::None || kind != RowKind::Single && i == j {
            return Block::default();
        }
        let (s, t) = (self.panels.panel(i), self.panels.panel(j));
        match (self.functions.test, kind) {
            (Test::Means(_), RowKind::Single) => {
                let (first, second) = self.panels.ordered(i, j);
                let (s, t) = (self.panels.panel(first), self.panels.panel(second));
                let block = single_layer(&s, &t, &self.accuracy.pairs, points);
                if first == i { block } else { transposed(block) }
            }
            (Test::Means(_), RowKind::Double) => double_layer(&s, &t, SOLID_ANGLES, points),
            (Test::Means(_), _) => transposed(double_layer(&t, &s, SOLID_ANGLES, points)),
            (Test::Centroids, kind) => {
                let at = t.linear_potentials(s.centroid.into());
                let values = match kind {
                    RowKind::Single => at.single_layer,
                    RowKind::Double => at.double_layer,
                    _ => at.gradient.map(|gradient| Vec3::from(gradient).dot(&s.normal)),
                };
                [values.map(|value| value * s.area / 3.0); 3]
            }
        }
    }

    /// The same, summed over the points of the first rule on `i` and of the second on `j`;
    /// coincident points contribute nothing.
    fn tested_by_points(&self, [outer, inner]: [&Rule; 2], i: usize, j: usize) -> Block {
        let outer = self.functions.test.rule(outer);
        let panels = self.panels;
        let (kind, n) = (self.kind(i), panels.len());
        let normal = match kind {
            RowKind::Double => panels.normal(j),
            RowKind::Adjoint => -panels.normal(i),
            _ => Vec3::zeros(),
        };
        let mut block = Block::default();
        if kind == RowKind::None {
            return block;
        }
        let areas = panels.areas()[i % n] * panels.areas()[j % n];
        for ((x, w), node) in outer.on(panels.vertices(i)).zip(outer.nodes()) {
            let mut sums = [0.0; 3];
            for ((y, v), node) in inner.on(panels.vertices(j)).zip(inner.nodes()) {
                let r = x - y;
                let r2 = r.norm_squared();
                if r2 > 0.0 {
                    let inverse = 1.0 / r2.sqrt();
                    let single = kind == RowKind::Single;
                    let value = if single { inverse } else { normal.dot(&r) * inverse / r2 };
                    (0..3).for_each(|l| sums[l] += v * node.barycentric[l] * value);
                }
            }
            for (row, share) in block.iter_mut().zip(node.barycentric) {
                (0..3).for_each(|l| row[l] += areas * w * share * sums[l]);
            }
        }
        self.as_own(i, j, block)
    }

    /// Which pairs are examined.
    pub fn selection(&self) -> Selection {
        let selection = &self.accuracy.selection;
        Selection { diameters: selection.diameters.max(COARSE_REACH), ..selection.clone() }
    }
}

impl PairIntegrals for FunctionPairs<'_> {
    type Entry = Block;
    type Scratch = WeightedPoints;

    fn is_symmetric(&self) -> bool {
        false
    }

    fn exact(&self, i: usize, j: usize, points: &mut WeightedPoints) -> [Block; 2] {
        let forth = self.tested(i, j, points);
        let both_single = [i, j].iter().all(|&k| self.kind(k) == RowKind::Single);
        if both_single && matches!(self.functions.test, Test::Means(_)) {
            return [forth, transposed(forth)];
        }
        [forth, self.tested(j, i, points)]
    }

    fn by_points(&self, [outer, inner]: [&Rule; 2], i: usize, j: usize) -> [Block; 2] {
        [self.tested_by_points([outer, inner], i, j), self.tested_by_points([inner, outer], j, i)]
    }

    /// Errors are weighted as between functions of unit norm.
    fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
        let n = panels.len();
        [1.0 / (panels.areas()[i % n] * panels.areas()[j % n]).sqrt(); 2]
    }
}

impl Entry for Block {
    fn plus(self, times: f64, other: Self) -> Self {
        std::array::from_fn(|k| std::array::from_fn(|l| self[k][l] + times * other[k][l]))
    }

    /// The largest entry between functions of unit norm on panels of unit area: the modes.
    fn size(&self) -> f64 {
        // A NaN must not be dropped.
        let larger = |most: f64, entry: f64| if entry.abs() <= most { most } else { entry.abs() };
        modes::between(self).into_iter().flatten().fold(0.0, larger)
    }
}

impl Near {
    /// Exact entries minus quadrature sums for close pairs, over test functions and coefficients.
    /// `check(entries)` may refuse that number of entries.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and errors of `check`.
    pub(crate) fn of_functions(
        pairs: &FunctionPairs<'_>,
        precision: Precision,
        check: impl Fn(usize) -> Result<(), Error> + Sync,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let TestTrial { rows, columns, .. } = pairs.functions;
        let blocks = match precision {
            Precision::Single => Blocks::Single(assemble(pairs, check, progress)?),
            Precision::Double => Blocks::Double(assemble(pairs, check, progress)?),
        };
        Ok(Self { rows: rows.len(), columns: columns.len(), blocks })
    }
}

fn assemble<V: Value>(
    pairs: &FunctionPairs<'_>,
    check: impl Fn(usize) -> Result<(), Error> + Sync,
    progress: &dyn Progress,
) -> Result<Vec<super::block::Block<V>>, Error> {
    let TestTrial { rows, .. } = pairs.functions;
    let panels = pairs.panels;
    let selection = pairs.selection();
    let reach = selection.reach(panels);
    let search = Neighbours::new(panels.centroids(), &reach);
    // Panels that contribute to the rows of each block.
    let mut members = vec![Vec::new(); rows.len().div_ceil(BLOCK)];
    for i in 0..panels.len() {
        for &row in rows.of(i) {
            let of_block: &mut Vec<u32> = &mut members[row as usize / BLOCK];
            if of_block.last() != Some(&(i as u32)) {
                of_block.push(i as u32);
            }
        }
    }
    let (done, entries) = (AtomicU64::new(0), AtomicU64::new(0));
    let block = |(block, members): (usize, &Vec<u32>)| {
        let own = block * BLOCK..rows.len().min((block + 1) * BLOCK);
        let mut terms = terms(pairs, &selection, &search, members, &own);
        terms.sort_unstable_by_key(|&(row, column, _)| (row, column));
        let mut block = Builder::plain(own.clone());
        let mut terms = terms.into_iter().peekable();
        for row in own {
            while let Some((_, column, first)) = terms.next_if(|term| term.0 as usize == row) {
                let mut sum = first;
                while let Some((.., more)) = terms.next_if(|t| (t.0 as usize, t.1) == (row, column))
                {
                    sum += more;
                }
                block.push(column as usize, [sum, 0.0]);
            }
            block.end_row(None);
        }
        let block = block.finish();
        let added = block.entries() as u64;
        check((entries.fetch_add(added, Ordering::Relaxed) + added) as usize)?;
        let done = done.fetch_add(BLOCK as u64, Ordering::Relaxed) + BLOCK as u64;
        let total = rows.len() as u64;
        let on = progress.advance(Stage::NearField, done.min(total), total);
        if on { Ok(block) } else { Err(Error::Interrupted) }
    };
    members.par_iter().enumerate().map(block).collect()
}

/// Contributions of the pairs of these panels to some rows: row, column and value.
fn terms(
    pairs: &FunctionPairs<'_>,
    selection: &Selection,
    search: &Neighbours<'_>,
    members: &[u32],
    own: &Range<usize>,
) -> Vec<(u32, u32, f64)> {
    let (panels, n) = (pairs.panels, pairs.panels.len());
    let is_member = |j: u32| members.binary_search(&j).is_ok();
    let mut walk = search.walk();
    let (mut found, mut scratch) = (Vec::new(), WeightedPoints::default());
    let (mut chosen, mut choice, mut terms) = (Vec::new(), Choice::default(), Vec::new());
    for &i in members {
        found.clear();
        walk.of(i as usize, &mut found);
        if panels.total() > n {
            found.iter_mut().for_each(|j| *j %= n as u32);
            found.sort_unstable();
            found.dedup();
        }
        // Each pair once.
        found.retain(|&j| j >= i || !is_member(j));
        chosen.clear();
        let ordered = |&j: &u32| <[usize; 2]>::from(panels.ordered(i as usize, j as usize));
        chosen.extend(found.iter().map(ordered));
        selection.choose(panels, pairs, &chosen, &mut choice, &mut scratch);
        for (&[first, second], kept) in chosen.iter().zip(choice.kept()) {
            let Some(exact) = kept else { continue };
            let rules = [selection.rules[0]; 2];
            let points = over_images(panels, first, second, |i, j| pairs.by_points(rules, i, j));
            let sides = [(first, second, 0), (second, first, 1)];
            for (tested, of, side) in sides.into_iter().take(if first == second { 1 } else { 2 }) {
                let left = exact[side].plus(-1.0, points[side]);
                pairs.functions.for_entries((tested, of), &left, |row, column, value| {
                    if own.contains(&(row as usize)) {
                        terms.push((row, column, value));
                    }
                });
            }
        }
    }
    terms
}
