//! Entries between panels of an operator whose rows are potentials or normal derivatives.

use super::entry::RowKind;
use super::single_layer::{self, SingleLayerPairs};
use super::{Near, Needs, PairIntegrals, Precision, Selection, curved};
use crate::constants::SOLID_ANGLES;
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::curved::Entries;
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;
use crate::integrals::solid_angle::solid_angle_over;
use crate::quadrature::errors;
use crate::quadrature::remainder::Remainder;
use crate::quadrature::rule::Rule;
use crate::quadrature::sums;
use crate::{Error, Progress};

/// Entries between panels, each of the kind of its row.
pub struct LayerPairs<'a> {
    pub(super) panels: &'a Panels,
    /// One row kind per panel.
    kinds: &'a [RowKind],
    /// Whether all of them are [`RowKind::Single`].
    pub(super) are_potentials: bool,
    single: SingleLayerPairs<'a>,
    /// Accuracy required by charges in space, beyond the panels' own weights.
    needs: Option<&'a Needs>,
    solid_angles: f64,
}

/// Scratch space of integrals, shared by many pairs.
#[derive(Default)]
pub struct Scratch {
    single: single_layer::Scratch,
    nodes: WeightedPoints,
    last: Option<(usize, Triangle)>,
}

impl<'a> LayerPairs<'a> {
    /// Rows of these kinds: potentials by `quadrature`, solid angles to `SOLID_ANGLES`.
    pub fn new(panels: &'a Panels, kinds: &'a [RowKind], quadrature: PairQuadrature) -> Self {
        let single = SingleLayerPairs { panels, quadrature };
        let are_potentials = kinds.iter().all(|&kernel| kernel == RowKind::Single);
        Self { panels, kinds, are_potentials, single, needs: None, solid_angles: SOLID_ANGLES }
    }

    /// The same with solid angles to this accuracy.
    pub fn with_solid_angles(self, solid_angles: f64) -> Self {
        Self { solid_angles, ..self }
    }

    /// The same with the accuracy that charges in space require.
    pub fn with_needs(self, needs: Option<&'a Needs>) -> Self {
        Self { needs: needs.filter(|needs| needs.are_any()), ..self }
    }

    /// Builds their near field: [`Near::new`].
    ///
    /// # Errors
    /// As for [`Near::new`].
    pub fn near(
        &self,
        partition: &Partition,
        selection: &Selection,
        precision: Precision,
        check: &(dyn Fn(usize) -> Result<(), Error> + Sync),
        progress: &dyn Progress,
    ) -> Result<Near, Error> {
        Near::new(self.panels, partition, selection, self, precision, check, progress)
    }

    /// Subtracts the quadrature sums from their near field: [`Near::subtract_points`].
    pub fn subtract_points(&self, near: &mut Near, rule: &'static Rule) {
        near.subtract_points(self.panels, self, rule);
    }

    pub(super) fn kernel(&self, i: usize) -> RowKind {
        self.kinds[i % self.kinds.len()]
    }

    /// Entry (i, j), exact to the accuracy asked for; either may be an image.
    pub(crate) fn entry(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        match self.kernel(i) {
            RowKind::Single => self.potential(i, j, scratch),
            RowKind::Double | RowKind::Adjoint if curved::is_pair(self.panels, i, j) => {
                self.curved(i, j, scratch)
            }
            RowKind::Double | RowKind::Adjoint => {
                let [s, t] = self.triangles(i, j, scratch);
                self.field(i, [i, j], [&s, &t], scratch)
            }
            RowKind::None => 0.0,
        }
    }

    /// For each panel of a pair: its radius, and the smallest distance of its centroid from a point
    /// of `rule` on the other panel.
    pub(super) fn seen(&self, rule: &Rule, i: usize, j: usize) -> [(f64, f64); 2] {
        let panels = self.panels;
        let apart = (panels.centroid(i) - panels.centroid(j)).norm();
        [(i, j), (j, i)].map(|(of, from)| {
            let to_points = |(x, _): (Vec3, f64)| (x - panels.centroid(of)).norm();
            let nearest = apart - panels.radius(from);
            let nearest = if panels.radius(from) > panels.radius(of) {
                rule.on(panels.vertices(from)).map(to_points).fold(f64::INFINITY, f64::min)
            } else {
                nearest
            };
            (panels.radius(of), nearest)
        })
    }

    fn potential(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        let (first, second) = self.panels.ordered(i, j);
        self.single.exact(first, second, &mut scratch.single)[0]
    }

    /// Entry (i, j) of panels of which one is curved.
    fn curved(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        let accuracies = (self.single.quadrature, self.solid_angles);
        let kinds = [self.kernel(i), RowKind::None];
        curved::exact_means(self.panels, kinds, [i, j], accuracies, &mut scratch.nodes)[0]
    }

    /// Both panels; the first is kept for the next pairs.
    fn triangles(&self, i: usize, j: usize, scratch: &mut Scratch) -> [Triangle; 2] {
        let first = match scratch.last {
            Some((known, triangle)) if known == i => triangle,
            _ => self.panels.panel(i),
        };
        scratch.last = Some((i, first));
        [first, self.panels.panel(j)]
    }

    /// The entry of row `row`, one panel of a pair: the mean over one panel of the solid angle of
    /// the other, divided by the other's area.
    fn field(
        &self,
        row: usize,
        pair: [usize; 2],
        [s, t]: [&Triangle; 2],
        scratch: &mut Scratch,
    ) -> f64 {
        let (own, other) = if row == pair[0] { (s, t) } else { (t, s) };
        let (over, of) = match self.kernel(row) {
            _ if pair[0] == pair[1] => return 0.0,
            RowKind::Double => (own, other),
            RowKind::Adjoint => (other, own),
            RowKind::Single | RowKind::None => return 0.0,
        };
        solid_angle_over(over, of, self.solid_angles, &mut scratch.nodes) / (s.area * t.area)
    }
}

impl PairIntegrals for LayerPairs<'_> {
    type Entry = f64;
    type Scratch = Scratch;

    /// Images of panels come in groups of reflections, which preserve the symmetry.
    fn is_symmetric(&self) -> bool {
        self.are_potentials
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
        let kinds = [i, j].map(|k| self.kernel(k));
        if kinds == [RowKind::Single; 2] {
            return [self.potential(i, j, scratch); 2];
        }
        if curved::is_pair(self.panels, i, j) {
            let accuracies = (self.single.quadrature, self.solid_angles);
            return curved::exact_means(self.panels, kinds, [i, j], accuracies, &mut scratch.nodes);
        }
        let triangles = self.triangles(i, j, scratch);
        let potential =
            if kinds.contains(&RowKind::Single) { self.potential(i, j, scratch) } else { 0.0 };
        let mut entry = |row| match self.kernel(row) {
            RowKind::Single => potential,
            _ => self.field(row, [i, j], triangles.each_ref(), scratch),
        };
        let forth = entry(i);
        [forth, if i == j { forth } else { entry(j) }]
    }

    fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
        let mut weights = panels.weights(i, j);
        if !self.are_potentials {
            let of_gradients = panels.weights_of_gradients(i, j);
            for (side, row) in [i, j].into_iter().enumerate() {
                if self.kernel(row) != RowKind::Single {
                    weights[side] = of_gradients[side];
                }
            }
        }
        if let Some(needs) = self.needs {
            weights[0] = weights[0].max(needs.weight(panels, i, j));
            weights[1] = weights[1].max(needs.weight(panels, j, i));
        }
        weights
    }

    fn largest_errors(&self, rules: [&Rule; 2], i: usize, j: usize) -> [f64; 2] {
        if curved::is_pair(self.panels, i, j) {
            // The bounds hold for polynomials in space.
            return [f64::INFINITY; 2];
        }
        let (remainder, both) = (Remainder::between(rules), self.seen(rules[0], i, j));
        let sum = |bound: fn(&Remainder, f64, f64) -> f64| {
            both.iter().map(|&(radius, distance)| bound(remainder, radius, distance)).sum::<f64>()
        };
        let potential = sum(Remainder::of_potentials);
        if self.are_potentials {
            return [potential; 2];
        }
        let field = sum(Remainder::of_fields);
        [i, j].map(|row| match self.kernel(row) {
            RowKind::Single => potential,
            RowKind::Double | RowKind::Adjoint => field,
            RowKind::None => 0.0,
        })
    }

    fn errors(&self, rules: [&'static Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        if self.are_potentials {
            return self.single.errors(rules, pairs, errors);
        }
        if self.panels.are_curved() {
            let of_constants = |entries: &Entries| entries[0][0].abs();
            return errors.extend(pairs.iter().map(|&pair| {
                let kinds = pair.map(|k| self.kernel(k));
                curved::changes(self.panels, kinds, rules, pair, of_constants)
            }));
        }
        let vertices = self.panels.all_vertices();
        let has = |pair: &&[usize; 2], kernel| pair.iter().any(|&k| self.kernel(k) == kernel);
        let potentials = |pair: &&[usize; 2]| has(pair, RowKind::Single);
        let fields = |pair: &&[usize; 2]| has(pair, RowKind::Adjoint) || has(pair, RowKind::Double);
        let (mut of_potentials, mut of_fields) = (Vec::new(), Vec::new());
        let chosen: Vec<[usize; 2]> = pairs.iter().filter(potentials).copied().collect();
        errors::of_potentials(rules, vertices, &chosen, &mut of_potentials);
        let chosen: Vec<[usize; 2]> = pairs.iter().filter(fields).copied().collect();
        errors::of_fields(rules, vertices, &chosen, &mut of_fields);
        let (mut of_potentials, mut of_fields) = (of_potentials.into_iter(), of_fields.into_iter());
        errors.extend(pairs.iter().map(|pair| {
            let none = [0.0; 2];
            let potential =
                if potentials(&pair) { of_potentials.next().unwrap_or(0.0) } else { 0.0 };
            let field = if fields(&pair) { of_fields.next().unwrap_or(none) } else { none };
            [0, 1].map(|row| match self.kernel(pair[row]) {
                RowKind::Single => potential,
                RowKind::Adjoint => field[row],
                RowKind::Double => field[1 - row],
                RowKind::None => 0.0,
            })
        }));
    }

    fn by_points(&self, [outer, inner]: [&'static Rule; 2], i: usize, j: usize) -> [f64; 2] {
        let panels = self.panels;
        if curved::is_pair(panels, i, j) {
            let kinds = [i, j].map(|k| self.kernel(k));
            let both = curved::by_points(panels, kinds, [outer, inner], [i, j]);
            return both.map(|entries| entries[0][0]);
        }
        let [s, t] = [i, j].map(|k| panels.vertices(k));
        let kinds = [i, j].map(|k| self.kernel(k));
        // Rules are swapped together with the panels: both entries use the same points.
        let has_field = |kernel| matches!(kernel, RowKind::Double | RowKind::Adjoint);
        let potential =
            if kinds.contains(&RowKind::Single) { sums::sum(outer, s, inner, t) } else { 0.0 };
        let field = if kinds.into_iter().any(has_field) {
            sums::field(outer, s, inner, t)
        } else {
            Vec3::zeros()
        };
        let entry = |kernel, row: usize, column: usize, field: Vec3| match kernel {
            RowKind::Single => potential,
            RowKind::Double => panels.normal(column).dot(&field),
            RowKind::Adjoint => -panels.normal(row).dot(&field),
            RowKind::None => 0.0,
        };
        [entry(kinds[0], i, j, field), entry(kinds[1], j, i, -field)]
    }
}
