//! The near field between functions: integrals over pairs of panels with linear functions,
//! assembled over coefficients.

use std::ops::Range;

use parallel::prelude::*;

use super::accuracy::{Accuracy, IntegralAccuracy};
use super::assembly::{Assembly, ClosePairs, Tally};
use super::block::{self, Builder, Value};
use super::entry::{RowKind, largest};
use super::{BLOCK, Blocks, Entry, Near, PairIntegrals, Precision, modes};
use crate::Error;
use crate::constants::SOLID_ANGLES;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::integrals::linear_nodes::{Block, Potential};
use crate::integrals::linear_pair::transposed;
use crate::integrals::potentials::WeightedPoints;
use crate::integrals::screened::Screening;
use crate::quadrature::modes::{between, between_corners};
use crate::quadrature::rule::Rule;
use crate::space::{Test, TestTrial};

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
    /// Inverse of the screening length of the kernel exp(-kappa r) / r, in scaled coordinates; 0
    /// without screening.
    pub kappa: f64,
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
        let (panels, kind) = (self.panels, self.kind(i));
        // Screened entries are small differences: they need more digits.
        let share = Screening::share(self.kappa, panels.radius(i).max(panels.radius(j)));
        let accuracy = IntegralAccuracy {
            pairs: self.accuracy.pairs.tightened(share),
            solid_angles: share * SOLID_ANGLES,
        };
        let block = match (self.functions.test, kind) {
            (Test::Means(_), _) => {
                let (s, t) = (panels.panel(i), panels.panel(j));
                modes::integrals(panels, kind, [i, j], [&s, &t], &accuracy, points)
            }
            (Test::Centroids, RowKind::Double | RowKind::Adjoint) if i == j => Block::default(),
            (Test::Centroids, RowKind::None) => Block::default(),
            (Test::Centroids, kind) => {
                let (s, t) = (panels.panel(i), panels.panel(j));
                let at = t.linear_potentials(s.centroid.into());
                let values = match kind {
                    RowKind::Single => at.single_layer,
                    RowKind::Double => at.double_layer,
                    _ => at.gradient.map(|gradient| Vec3::from(gradient).dot(&s.normal)),
                };
                [values.map(|value| value * s.area / 3.0); 3]
            }
        };
        if self.kappa == 0.0 || kind == RowKind::None || kind != RowKind::Single && i == j {
            return self.as_own(i, j, block);
        }
        let change = self.change_by_screening([i, j], &accuracy, points);
        self.used(self.as_own(i, j, block.plus(1.0, change)))
    }

    /// What screening changes in the integrals between panels `i` (tested) and `j`.
    fn change_by_screening(
        &self,
        [i, j]: [usize; 2],
        accuracy: &IntegralAccuracy,
        points: &mut WeightedPoints,
    ) -> Block {
        let (s, t) = (self.panels.panel(i), self.panels.panel(j));
        let kind = self.kind(i);
        let accuracy = match kind {
            RowKind::Single => accuracy.pairs.accuracy_and_increment().0,
            _ => accuracy.solid_angles,
        };
        let screening = Screening { kappa: self.kappa, accuracy };
        match (self.functions.test, kind) {
            (Test::Means(_), RowKind::Single) => {
                screening.between(&s, &t, Potential::Single, points)
            }
            (Test::Means(_), RowKind::Double) => {
                screening.between(&s, &t, Potential::Double, points)
            }
            (Test::Means(_), _) => transposed(screening.between(&t, &s, Potential::Double, points)),
            (Test::Centroids, kind) => {
                let normal = match kind {
                    RowKind::Single => None,
                    RowKind::Double => Some(t.normal),
                    _ => Some(-s.normal),
                };
                let values = screening.at(&s.centroid, &t, normal, points);
                [values.map(|value| value * s.area / 3.0); 3]
            }
        }
    }

    /// Of a block between constants its sum, evenly: entries of linear functions, which are not
    /// used, ask for no pairs.
    fn used(&self, block: Block) -> Block {
        if self.functions.rows.width() * self.functions.columns.width() > 1 {
            return block;
        }
        [[block.as_flattened().iter().sum::<f64>() / 9.0; 3]; 3]
    }

    /// As [`tested`](Self::tested), by sums over the points of these rules on `i` and `j`.
    fn tested_by_points(&self, [outer, inner]: [&Rule; 2], i: usize, j: usize) -> Block {
        let (panels, rules) = (self.panels, [self.functions.test.rule(outer), inner]);
        let [first, second] = [i, j].map(|k| panels.areas()[k % panels.len()]);
        let block = modes::by_points(panels, self.kind(i), rules, [i, j], self.kappa);
        let block = between_corners(&block).map(|row| row.map(|entry| first * second * entry));
        if self.kappa == 0.0 { block } else { self.used(block) }
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
        largest(between(self).into_iter().flatten())
    }
}

impl Near {
    /// Exact entries minus quadrature sums for close pairs, over test functions and coefficients.
    pub(crate) fn of_functions(
        assembly: &Assembly<'_>,
        pairs: &FunctionPairs<'_>,
    ) -> Result<Self, Error> {
        let TestTrial { rows, columns, .. } = pairs.functions;
        let blocks = match assembly.precision {
            Precision::Single => Blocks::Single(assemble(assembly, pairs)?),
            Precision::Double => Blocks::Double(assemble(assembly, pairs)?),
        };
        Ok(Self { rows: rows.len(), columns: columns.len(), blocks })
    }
}

fn assemble<V: Value<Entry = f64>>(
    assembly: &Assembly<'_>,
    pairs: &FunctionPairs<'_>,
) -> Result<Vec<block::Block<V>>, Error> {
    let (panels, rows) = (assembly.panels, &pairs.functions.rows);
    let reach = assembly.selection.reach(panels);
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
    let tally = Tally::new(assembly, rows.len());
    let block = |(block, members): (usize, &Vec<u32>)| {
        let own = block * BLOCK..rows.len().min((block + 1) * BLOCK);
        let close = ClosePairs::new(assembly, pairs, Some(pairs.accuracy.rule), &search);
        let mut terms = terms(pairs, close, members, &own);
        terms.sort_by_key(|term| (term.row, term.column));
        let mut block = Builder::plain(own.clone());
        let mut terms = terms.into_iter().peekable();
        for row in own.clone() {
            while let Some(Term { column, mut value, .. }) =
                terms.next_if(|term| term.row as usize == row)
            {
                let is_same = |term: &Term| term.row as usize == row && term.column == column;
                while let Some(term) = terms.next_if(is_same) {
                    value += term.value;
                }
                block.push(column as usize, [value, 0.0]);
            }
            block.end_row(None);
        }
        let block = block.finish();
        tally.add_entries(block.entries())?;
        tally.add_rows(own.len())?;
        Ok(block)
    };
    members.par_iter().enumerate().map(block).collect()
}

/// Contribution of a pair of panels to an entry.
struct Term {
    row: u32,
    column: u32,
    value: f64,
}

/// Contributions of the pairs of these panels to some rows.
fn terms(
    pairs: &FunctionPairs<'_>,
    mut close: ClosePairs<'_, FunctionPairs<'_>>,
    members: &[u32],
    own: &Range<usize>,
) -> Vec<Term> {
    let is_member = |j: usize| members.binary_search(&(j as u32)).is_ok();
    let mut terms = Vec::new();
    let mut add = |pair: [usize; 2], block: &Block| {
        pairs.functions.for_entries(pair, block, |row, column, value| {
            if own.contains(&(row as usize)) {
                terms.push(Term { row, column, value });
            }
        });
    };
    for i in members.iter().map(|&i| i as usize) {
        // Each pair once.
        close.of_row(
            i,
            |j| j >= i || !is_member(j),
            |j, [forth, back]| {
                add([i, j], &forth);
                if j != i {
                    add([j, i], &back);
                }
            },
        );
    }
    terms
}
