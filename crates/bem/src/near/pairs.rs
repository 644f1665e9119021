//! Entries between panels of an operator whose rows are potentials or normal derivatives.

use super::accuracy::IntegralAccuracy;
use super::entry::RowKind;
use super::{PairIntegrals, Requirements, curved};
use crate::constants::SOLID_ANGLES;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::curved::Entries;
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;
use crate::integrals::solid_angle::solid_angle_over;
use crate::quadrature::errors;
use crate::quadrature::remainder::Remainder;
use crate::quadrature::rule::Rule;
use crate::quadrature::sums;

/// Entries between panels, each of the kind of its row. Of potentials, A_ij = 1/(A_i A_j) int_i
/// int_j dS_x dS_y / |x - y|: the mean potential on panel i of a unit charge spread evenly over
/// panel j.
pub struct LayerPairs<'a> {
    pub(super) panels: &'a Panels,
    /// One row kind per panel, or one for all.
    kinds: &'a [RowKind],
    /// Whether all of them are [`RowKind::Single`].
    are_potentials: bool,
    accuracy: IntegralAccuracy,
    /// Accuracy required by charges in space, beyond the panels' own weights.
    requirements: Option<&'a Requirements>,
}

/// Scratch space of integrals, shared by many pairs.
#[derive(Default)]
pub struct Scratch {
    pub(super) nodes: WeightedPoints,
    /// The panels of the last pair, of which the next one may share one.
    pub(super) last: [Option<(usize, Triangle)>; 2],
}

/// A panel, and how close points of another come to it.
pub(super) struct Separation {
    radius: f64,
    /// Smallest distance of the centroid from a point.
    distance: f64,
}

impl Separation {
    /// A bound of errors by radius and distance.
    pub(super) fn bound(
        &self,
        remainder: &Remainder,
        bound: fn(&Remainder, f64, f64) -> f64,
    ) -> f64 {
        bound(remainder, self.radius, self.distance)
    }
}

impl<'a> LayerPairs<'a> {
    /// Rows of these kinds: potentials by `quadrature`, solid angles to `SOLID_ANGLES`.
    pub fn new(panels: &'a Panels, kinds: &'a [RowKind], quadrature: PairQuadrature) -> Self {
        let are_potentials = kinds.iter().all(|&kind| kind == RowKind::Single);
        let accuracy = IntegralAccuracy { pairs: quadrature, solid_angles: SOLID_ANGLES };
        Self { panels, kinds, are_potentials, accuracy, requirements: None }
    }

    /// Sets the accuracy of solid angles.
    pub fn with_solid_angles(self, solid_angles: f64) -> Self {
        Self { accuracy: IntegralAccuracy { solid_angles, ..self.accuracy }, ..self }
    }

    /// Sets the accuracy that charges in space require.
    pub fn with_requirements(self, requirements: Option<&'a Requirements>) -> Self {
        Self { requirements: requirements.filter(|requirements| requirements.are_any()), ..self }
    }

    pub(super) fn kind(&self, i: usize) -> RowKind {
        self.kinds[i % self.kinds.len()]
    }

    /// Kinds of the rows of both panels.
    fn both_kinds(&self, i: usize, j: usize) -> [RowKind; 2] {
        [i, j].map(|k| self.kind(k))
    }

    /// Entry (i, j), exact to the accuracy asked for; either may be an image.
    pub(crate) fn entry(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        match self.kind(i) {
            RowKind::Single => self.potential(i, j, scratch),
            RowKind::Double | RowKind::Adjoint if curved::is_pair(self.panels, i, j) => {
                self.curved([self.kind(i), RowKind::None], i, j, scratch)[0]
            }
            RowKind::Double | RowKind::Adjoint => {
                let Scratch { nodes, last } = scratch;
                self.field(i, [i, j], self.triangles(i, j, last), nodes)
            }
            RowKind::None => 0.0,
        }
    }

    /// For each panel of a pair how close the other, or points of a rule on it, come to it.
    pub(super) fn separations(&self, rule: Option<&Rule>, i: usize, j: usize) -> [Separation; 2] {
        let panels = self.panels;
        let apart = (panels.centroid(i) - panels.centroid(j)).norm();
        [[i, j], [j, i]].map(|[own, other]| {
            let Some(rule) = rule else {
                let distance = apart - panels.radius(other);
                return Separation { radius: panels.radius(own), distance };
            };
            let centroid = panels.centroid(own);
            let to_points = |(x, _): (Vec3, f64)| (x - centroid).norm_squared();
            let points = rule.on(panels.vertices(other));
            let nearest = points.map(to_points).fold(f64::INFINITY, f64::min);
            Separation { radius: panels.radius(own), distance: nearest.sqrt() }
        })
    }

    /// The potential's entry, the same for (i, j) and (j, i).
    fn potential(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        if curved::is_pair(self.panels, i, j) {
            let (i, j) = self.panels.ordered(i, j);
            return self.curved([RowKind::Single; 2], i, j, scratch)[0];
        }
        let Scratch { nodes, last } = scratch;
        self.flat_potential([i, j], self.triangles(i, j, last), nodes)
    }

    /// The same between flat panels.
    fn flat_potential(
        &self,
        [i, j]: [usize; 2],
        [s, t]: [&Triangle; 2],
        nodes: &mut WeightedPoints,
    ) -> f64 {
        let (s, t) = if self.panels.ordered(i, j) == (i, j) { (s, t) } else { (t, s) };
        self.accuracy.pairs.single_layer_with(s, t, nodes) / (s.area * t.area)
    }

    /// Entries of panels of which one is curved.
    fn curved(&self, kinds: [RowKind; 2], i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
        curved::exact_means(self.panels, kinds, [i, j], &self.accuracy, &mut scratch.nodes)
    }

    /// Both panels.
    pub(super) fn triangles<'s>(
        &'s self,
        i: usize,
        j: usize,
        last: &'s mut [Option<(usize, Triangle)>; 2],
    ) -> [&'s Triangle; 2] {
        if let Some(shapes) = self.panels.shapes() {
            return [&shapes[i], &shapes[j]];
        }
        let [first, second] = last;
        [(first, i), (second, j)].map(|(known, k)| {
            if known.as_ref().is_some_and(|(index, _)| *index != k) {
                *known = None;
            }
            &known.get_or_insert_with(|| (k, self.panels.panel(k))).1
        })
    }

    /// The entry of row `row`, one panel of a pair: the mean over one panel of the solid angle of
    /// the other, divided by the other's area.
    fn field(
        &self,
        row: usize,
        pair: [usize; 2],
        [s, t]: [&Triangle; 2],
        nodes: &mut WeightedPoints,
    ) -> f64 {
        let (own, other) = if row == pair[0] { (s, t) } else { (t, s) };
        let (over, of) = match self.kind(row) {
            _ if pair[0] == pair[1] => return 0.0,
            RowKind::Double => (own, other),
            RowKind::Adjoint => (other, own),
            RowKind::Single | RowKind::None => return 0.0,
        };
        solid_angle_over(over, of, self.accuracy.solid_angles, nodes) / (s.area * t.area)
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
        let kinds = self.both_kinds(i, j);
        if kinds == [RowKind::Single; 2] {
            return [self.potential(i, j, scratch); 2];
        }
        if curved::is_pair(self.panels, i, j) {
            return self.curved(kinds, i, j, scratch);
        }
        let Scratch { nodes, last } = scratch;
        let triangles = self.triangles(i, j, last);
        let potential = if kinds.contains(&RowKind::Single) {
            self.flat_potential([i, j], triangles, nodes)
        } else {
            0.0
        };
        let mut entry = |row| match self.kind(row) {
            RowKind::Single => potential,
            _ => self.field(row, [i, j], triangles, nodes),
        };
        let forth = entry(i);
        [forth, if i == j { forth } else { entry(j) }]
    }

    fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
        let mut weights = panels.weights(i, j);
        if !self.are_potentials {
            let of_gradients = panels.weights_of_gradients(i, j);
            for (side, row) in [i, j].into_iter().enumerate() {
                if self.kind(row) != RowKind::Single {
                    weights[side] = of_gradients[side];
                }
            }
        }
        if let Some(requirements) = self.requirements {
            weights[0] = weights[0].max(requirements.weight(panels, i, j));
            weights[1] = weights[1].max(requirements.weight(panels, j, i));
        }
        weights
    }

    fn largest_errors(&self, rules: [&Rule; 2], [i, j]: [usize; 2], from_points: bool) -> [f64; 2] {
        if curved::is_pair(self.panels, i, j) {
            // The bounds hold for polynomials in space.
            return [f64::INFINITY; 2];
        }
        let remainder = Remainder::between(rules);
        let both = self.separations(from_points.then_some(rules[0]), i, j);
        let sum = |bound: fn(&Remainder, f64, f64) -> f64| {
            both.iter().map(|separation| separation.bound(remainder, bound)).sum::<f64>()
        };
        let potential = sum(Remainder::of_potentials);
        if self.are_potentials {
            return [potential; 2];
        }
        let field = sum(Remainder::of_fields);
        [i, j].map(|row| match self.kind(row) {
            RowKind::Single => potential,
            RowKind::Double | RowKind::Adjoint => field,
            RowKind::None => 0.0,
        })
    }

    fn errors(&self, rules: [&'static Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        let panels = self.panels;
        if panels.are_curved() {
            let of_constants = |entries: &Entries| entries[0][0].abs();
            return errors.extend(pairs.iter().map(|&[i, j]| {
                curved::changes(panels, self.both_kinds(i, j), rules, [i, j], of_constants)
            }));
        }
        let of = |pairs| errors::Pairs { rules, vertices: panels.all_vertices(), pairs };
        let mut of_potentials = Vec::with_capacity(pairs.len());
        if self.are_potentials {
            errors::of_potentials(of(pairs), &mut of_potentials);
            return errors.extend(of_potentials.into_iter().map(|error| [error; 2]));
        }
        let has = |pair: &[usize; 2], kind| pair.iter().any(|&k| self.kind(k) == kind);
        let has_potential = |pair: &&[usize; 2]| has(pair, RowKind::Single);
        let has_field =
            |pair: &&[usize; 2]| has(pair, RowKind::Adjoint) || has(pair, RowKind::Double);
        let chosen: Vec<[usize; 2]> = pairs.iter().filter(has_potential).copied().collect();
        errors::of_potentials(of(&chosen), &mut of_potentials);
        let chosen: Vec<[usize; 2]> = pairs.iter().filter(has_field).copied().collect();
        let mut of_fields = Vec::with_capacity(chosen.len());
        errors::of_fields(of(&chosen), &mut of_fields);
        let (mut potentials, mut fields) = (of_potentials.into_iter(), of_fields.into_iter());
        errors.extend(pairs.iter().map(|pair| {
            let potential = has_potential(&pair).then(|| potentials.next()).flatten();
            let field = has_field(&pair).then(|| fields.next()).flatten().unwrap_or_default();
            [0, 1].map(|row| match self.kind(pair[row]) {
                RowKind::Single => potential.unwrap_or_default(),
                RowKind::Adjoint => field[row],
                RowKind::Double => field[1 - row],
                RowKind::None => 0.0,
            })
        }));
    }

    fn by_points(&self, [outer, inner]: [&'static Rule; 2], i: usize, j: usize) -> [f64; 2] {
        let (panels, kinds) = (self.panels, self.both_kinds(i, j));
        if curved::is_pair(panels, i, j) {
            let both = curved::by_points(panels, kinds, [outer, inner], [i, j]);
            return both.map(|entries| entries[0][0]);
        }
        let [s, t] = [i, j].map(|k| panels.vertices(k));
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
