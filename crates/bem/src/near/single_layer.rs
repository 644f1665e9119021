//! Single-layer entries between panels.

use super::curved;
use super::entry::{PairIntegrals, RowKind};
use crate::constants::SOLID_ANGLES;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Triangle;
use crate::integrals::curved::Entries;
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::errors;
use crate::quadrature::rule::Rule;
use crate::quadrature::sums;

/// A_ij = 1/(A_i A_j) int_i int_j dS_x dS_y / |x - y|: the mean potential on panel i of a unit
/// charge spread evenly over panel j.
pub struct SingleLayerPairs<'a> {
    /// Panels, including their images.
    pub panels: &'a Panels,
    /// How pairs are integrated.
    pub quadrature: PairQuadrature,
}

/// Scratch space for many pairs: nodes, and the panel that consecutive pairs share.
#[derive(Default)]
pub struct Scratch {
    nodes: WeightedPoints,
    last: Option<(usize, Triangle)>,
}

/// Row kinds of a pair.
const KINDS: [RowKind; 2] = [RowKind::Single; 2];

impl PairIntegrals for SingleLayerPairs<'_> {
    type Entry = f64;
    type Scratch = Scratch;

    fn is_symmetric(&self) -> bool {
        true
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
        if curved::is_pair(self.panels, i, j) {
            let accuracies = (self.quadrature, SOLID_ANGLES);
            let [entry, _] =
                curved::exact_means(self.panels, KINDS, [i, j], accuracies, &mut scratch.nodes);
            return [entry; 2];
        }
        let last = scratch.last.take();
        let panel = |k: usize| match last {
            Some((known, triangle)) if known == k => triangle,
            _ => self.panels.panel(k),
        };
        let (s, t) = (panel(i), panel(j));
        scratch.last = last.filter(|&(known, _)| known == j).or(Some((i, s)));
        let entry =
            self.quadrature.single_layer_with(&s, &t, &mut scratch.nodes) / (s.area * t.area);
        [entry; 2]
    }

    fn by_points(&self, [outer, inner]: [&'static Rule; 2], i: usize, j: usize) -> [f64; 2] {
        if curved::is_pair(self.panels, i, j) {
            let [entries, _] = curved::by_points(self.panels, KINDS, [outer, inner], [i, j]);
            return [entries[0][0]; 2];
        }
        [sums::sum(outer, self.panels.vertices(i), inner, self.panels.vertices(j)); 2]
    }

    fn errors(&self, rules: [&'static Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        if self.panels.are_curved() {
            let of_constants = |entries: &Entries| entries[0][0].abs();
            return errors.extend(
                pairs
                    .iter()
                    .map(|&pair| curved::changes(self.panels, KINDS, rules, pair, of_constants)),
            );
        }
        let mut both = Vec::with_capacity(pairs.len());
        errors::of_potentials(rules, self.panels.all_vertices(), pairs, &mut both);
        errors.extend(both.into_iter().map(|error| [error; 2]));
    }
}
