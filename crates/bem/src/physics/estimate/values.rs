//! Potentials and normal derivatives at some points of each panel.

use rayon::prelude::*;

use super::super::rows::System;
use super::super::{Excitation, external};
use crate::Error;
use crate::constants::GROUP;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::integrals::curved_potentials::{self, OfModes, Wanted};
use crate::integrals::potentials::WeightedPoints;
use crate::near::Sources;
use crate::operator::far;
use crate::operator::points::QuadraturePoints;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::sums::Rule;
use crate::space::{Density, Dofs};

/// Relative error of the fast sum. Errors of energies are products of two residuals: one of 1e-5
/// belongs to a capacitance of ten digits.
const TOLERANCE: f64 = 1e-6;

/// Degree of the rule whose points stand for a panel with a constant density, and within how many
/// radii of its centroid the closed form takes their place: there the rule is off by 1e-4 of what
/// the panel contributes. Slopes take a degree.
pub(super) const DEGREE: usize = 4;
pub(super) const NEAR: f64 = 2.5;

/// Accuracy of potentials of curved panels.
pub(super) const CURVED: f64 = 1e-4;

/// Panels whose targets are looked at together; more where near panels are curved, whose parts
/// serve all targets.
const PANELS: usize = 16;
const PANELS_CURVED: usize = 64;

/// Values at the same places on each panel, shape (excitations, panels * places).
pub(super) struct Values {
    pub(super) potential: Vec<Vec<f64>>,
    /// Mean of both sides; empty without interfaces, 0 on conductors.
    pub(super) normal_derivative: Vec<Vec<f64>>,
}

/// What unknowns `x` of each excitation and its sources make at these barycentric coordinates of
/// each panel.
pub(super) fn at(
    system: &System,
    excitations: &[Excitation],
    x: &[Vec<f64>],
    barycentric: &[[f64; 3]],
) -> Result<Values, Error> {
    let panels = &system.panels;
    let (n, places) = (panels.len(), barycentric.len());
    let has_interfaces = system.rows.conductor.iter().any(Option::is_none);
    let points: Vec<[f64; 3]> = (0..n)
        .into_par_iter()
        .flat_map_iter(|i| targets(panels, i, barycentric).map(<[f64; 3]>::from))
        .collect();
    let rule = Rule::of_degree(DEGREE + usize::from(system.density == Density::Linear));
    let (potential, gradient) = sums(system, rule, x, &points, has_interfaces)?;
    let reach: Vec<f64> = (0..panels.total()).map(|i| NEAR * panels.radius(i)).collect();
    let search = Neighbours::new(panels.centroids(), &reach);
    let outside: Vec<Outside> =
        excitations.iter().map(|excitation| Outside::of(system, excitation)).collect();
    let together = if panels.are_curved() { PANELS_CURVED } else { PANELS };
    let block = |start: usize| {
        let near = Near { system, rule, search: &search, x, barycentric };
        let own = start..n.min(start + together);
        let of_block = places * own.start..places * own.end;
        let (mut potentials, mut normals) = near.corrections(own.clone());
        for (p, outside) in outside.iter().enumerate() {
            let (of_outside, field) = outside.at(&points[of_block.clone()], has_interfaces);
            for (t, at) in of_block.clone().enumerate() {
                potentials[p][t] += potential[p * points.len() + at] + of_outside[t];
                let i = own.start + t / places;
                if let (None, Some(normals)) = (system.rows.conductor[i], normals.get_mut(p)) {
                    let of = 3 * (p * points.len() + at);
                    let far = Vec3::from_column_slice(&gradient[of..of + 3]);
                    let near = Vec3::from_column_slice(&field[3 * t..3 * t + 3]);
                    let normal = panels.normal_at(i, barycentric[t % places]);
                    normals[t] += (far + near).dot(&normal);
                }
            }
        }
        (potentials, normals)
    };
    let starts: Vec<usize> = (0..n).step_by(together).collect();
    let blocks: Vec<_> = starts.into_par_iter().map(block).collect();
    let room = || vec![Vec::with_capacity(points.len()); x.len()];
    let mut values = Values {
        potential: room(),
        normal_derivative: if has_interfaces { room() } else { Vec::new() },
    };
    for (potential, normal) in blocks {
        values.potential.iter_mut().zip(potential).for_each(|(all, some)| all.extend(some));
        values.normal_derivative.iter_mut().zip(normal).for_each(|(all, some)| all.extend(some));
    }
    Ok(values)
}

/// Places on a panel.
fn targets(
    panels: &Panels,
    i: usize,
    barycentric: &[[f64; 3]],
) -> impl Iterator<Item = Vec3> + use<> {
    barycentric.iter().map(|&at| panels.point(i, at)).collect::<Vec<Vec3>>().into_iter()
}

/// Potentials at `points` of what the points of a rule carry, and gradients if wanted, each one
/// excitation after the other.
fn sums(
    system: &System,
    rule: &'static Rule,
    x: &[Vec<f64>],
    points: &[[f64; 3]],
    with_gradients: bool,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let panels = &system.panels;
    let n = panels.len();
    let dofs = Dofs::Charges(system.density);
    let sources = QuadraturePoints::new(panels, rule);
    let places = sources.with_images().unwrap_or_else(|| sources.all());
    let options = fmm::Options {
        tolerance: TOLERANCE,
        // What points near a target add the closed form takes away again.
        precision: Some(fmm::Precision::Double),
        densities: x.len().min(GROUP),
        gradient: with_gradients,
        ..fmm::Options::default()
    };
    let mut plan = fmm::Plan::new(&places, Some(points), &options)?;
    let (mut potential, mut gradient) = (Vec::new(), Vec::new());
    for group in x.chunks(GROUP) {
        let mut strengths = vec![0.0; group.len() * places.len()];
        for (strengths, x) in strengths.chunks_exact_mut(places.len()).zip(group) {
            strengths.par_chunks_exact_mut(rule.len()).enumerate().for_each(|(j, of_panel)| {
                let panel = (j % n, panels.is_mirrored(j));
                let put = |k: usize, charge: f64| of_panel[k] = panels.factor(j) * charge;
                dofs.strengths(rule, panel, x, panels.areas()[j % n], put);
            });
        }
        let (targets, from) = (group.len() * points.len(), potential.len());
        potential.resize(from + targets, 0.0);
        let from_gradient = gradient.len();
        gradient.resize(from_gradient + if with_gradients { 3 * targets } else { 0 }, 0.0);
        plan.apply(
            fmm::Densities { charges: Some(&strengths), dipoles: None },
            fmm::Potentials {
                potential: Some(&mut potential[from..]),
                gradient: with_gradients.then_some(&mut gradient[from_gradient..]),
            },
        )?;
    }
    if let Some(far) = panels.far() {
        for (p, x) in x.iter().enumerate() {
            let coefficients = far::coefficients(far, panels, rule, &dofs, x);
            let own = p * points.len()..(p + 1) * points.len();
            potential[own.clone()].par_iter_mut().zip(points).for_each(|(value, at)| {
                *value += far.potential(&Vec3::from(*at), &coefficients);
            });
            let gradient = gradient.get_mut(3 * own.start..3 * own.end).unwrap_or_default();
            gradient.par_chunks_exact_mut(3).zip(points).for_each(|(value, at)| {
                let more = far.gradient(&Vec3::from(*at), &coefficients);
                value.iter_mut().zip(more.iter()).for_each(|(value, more)| *value += more);
            });
        }
    }
    Ok((potential, gradient))
}

/// Charges and field outside of the surfaces, in scaled coordinates.
struct Outside {
    charges: WeightedPoints,
    field: Vec3,
    /// Where the field's potential is 0.
    origin: Vec3,
}

impl Outside {
    fn of(system: &System, excitation: &Excitation) -> Self {
        let Sources { charges: points, field, .. } = external::sources(system, excitation, 1.0);
        let mut charges = WeightedPoints::default();
        points.iter().for_each(|(y, q)| charges.push(y, *q));
        Self { charges, field, origin: system.panels.scaled(excitation.origin) }
    }

    /// Potentials at some points, and gradients, shape (points, 3), if wanted.
    fn at(&self, points: &[[f64; 3]], with_gradients: bool) -> (Vec<f64>, Vec<f64>) {
        let potential = |x: &[f64; 3]| -self.field.dot(&(Vec3::from(*x) - self.origin));
        let mut potentials: Vec<f64> = points.iter().map(potential).collect();
        let mut gradients = Vec::new();
        if with_gradients {
            let field = points.iter().flat_map(|_| [-self.field.x, -self.field.y, -self.field.z]);
            gradients.extend(field);
        }
        if !self.charges.x.is_empty() {
            let mut charges = self.charges.clone();
            charges.add_inverse_distances(points, &mut potentials);
            if with_gradients {
                charges.add_gradients(points, &mut gradients);
            }
        }
        (potentials, gradients)
    }
}

/// Values at the places of some panels, shape (excitations, panels * places).
type OfBlock = Vec<Vec<f64>>;

/// What closed forms of near panels add to what their points give.
struct Near<'a> {
    system: &'a System,
    rule: &'static Rule,
    search: &'a Neighbours<'a>,
    x: &'a [Vec<f64>],
    barycentric: &'a [[f64; 3]],
}

/// Room for what a panel makes at some places: values of each mode, by closed forms less those by
/// points.
#[derive(Default)]
struct Differences {
    near: WeightedPoints,
    points: WeightedPoints,
    chosen: Vec<usize>,
    places: Vec<[f64; 3]>,
    /// What a curved panel makes there.
    of_curved: Vec<OfModes>,
    of_modes: [Vec<f64>; MODES],
    by_points: Vec<f64>,
}

impl Near<'_> {
    /// Corrections to potentials at the places of some panels and, where there are interfaces, to
    /// normal derivatives.
    fn corrections(&self, own: std::ops::Range<usize>) -> (OfBlock, OfBlock) {
        let (panels, rows) = (&self.system.panels, &self.system.rows);
        let places = self.barycentric.len();
        let has_interfaces = own.clone().any(|i| rows.conductor[i].is_none());
        let zeros = || vec![vec![0.0; own.len() * places]; self.x.len()];
        let mut potential = zeros();
        let any_interface = rows.conductor.iter().any(Option::is_none);
        let mut normal = if any_interface { zeros() } else { Vec::new() };
        let targets: Vec<Vec3> =
            own.clone().flat_map(|i| targets(panels, i, self.barycentric)).collect();
        let nothing = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        let around = |(low, high): (Vec3, Vec3), x: &Vec3| (low.inf(x), high.sup(x));
        let (low, high) = targets.iter().fold(nothing, around);
        let mut found = Vec::new();
        self.search.around_box(&low, &high, &mut found);
        let mut room = Differences::default();
        let found = found.into_iter().map(|j| j as usize);
        for j in found.filter(|&j| panels.factor(j) != 0.0) {
            let Differences { near, chosen, places: at, .. } = &mut room;
            let reach = NEAR * panels.radius(j);
            near.clear();
            chosen.clear();
            at.clear();
            for (t, x) in targets.iter().enumerate() {
                if (x - panels.centroid(j)).norm_squared() < reach * reach {
                    near.push(x, 1.0);
                    chosen.push(t);
                    at.push(<[f64; 3]>::from(*x));
                }
            }
            if chosen.is_empty() {
                continue;
            }
            let of_panel: Vec<[f64; MODES]> =
                self.x.iter().map(|x| self.amplitudes(j, panels.factor(j), x)).collect();
            room.of_curved.clear();
            if let Some(patch) = panels.curved(j) {
                let wanted = if has_interfaces { Wanted::Gradient } else { Wanted::Potential };
                let at: Vec<Vec3> = room.chosen.iter().map(|&t| targets[t]).collect();
                room.of_curved = curved_potentials::at_points(patch, &at, wanted, CURVED);
            }
            self.potentials(j, &mut room);
            for (k, &t) in room.chosen.iter().enumerate() {
                for (potential, amplitudes) in potential.iter_mut().zip(&of_panel) {
                    let terms = room.of_modes.iter().zip(amplitudes);
                    potential[t] += terms.map(|(values, x)| values[k] * x).sum::<f64>();
                }
            }
            if !has_interfaces {
                continue;
            }
            for (k, &t) in room.chosen.iter().enumerate() {
                let i = own.start + t / places;
                if rows.conductor[i].is_some() {
                    continue;
                }
                let along = panels.normal_at(i, self.barycentric[t % places]);
                let of_curved = room.of_curved.get(k);
                let of_modes = self.normal_derivatives((i, &along), (j, of_curved), &targets[t]);
                for (normal, amplitudes) in normal.iter_mut().zip(&of_panel) {
                    let terms = of_modes.iter().zip(amplitudes);
                    normal[t] += terms.map(|(value, x)| value * x).sum::<f64>();
                }
            }
        }
        (potential, normal)
    }

    fn is_linear(&self) -> bool {
        self.system.density == Density::Linear
    }

    /// Coefficients of the modes on a panel or image, in the order of its own vertices.
    fn amplitudes(&self, j: usize, sign: f64, x: &[f64]) -> [f64; MODES] {
        let panels = &self.system.panels;
        let (n, panel) = (panels.len(), j % panels.len());
        if !self.is_linear() {
            return [sign * x[panel], 0.0, 0.0];
        }
        let of = [0, 1, 2].map(|m| sign * x[m * n + panel]);
        if !panels.is_mirrored(j) {
            return of;
        }
        let [a, b, c] = modes::at_corners(of);
        modes::of_corners([a, c, b])
    }

    /// What unit amplitudes on panel `j` have at the chosen places beyond the rule's points.
    fn potentials(&self, j: usize, room: &mut Differences) {
        let panels = &self.system.panels;
        let (panel, area) = (panels.panel(j), panels.areas()[j % panels.len()]);
        let Differences { near, points, places, of_curved, of_modes, by_points, .. } = room;
        of_modes.iter_mut().for_each(Vec::clear);
        let modes = if panels.curved(j).is_some() {
            for found in of_curved {
                of_modes.iter_mut().zip(found.potential).for_each(|(all, one)| all.push(one));
            }
            MODES
        } else if self.is_linear() {
            near.add_modes(&panel, 1.0 / area, of_modes);
            MODES
        } else {
            near.add_potentials(&panel, 1.0 / area, &mut of_modes[0]);
            of_modes[1..].iter_mut().for_each(|values| values.resize(places.len(), 0.0));
            1
        };
        let nodes = || panels.points(self.rule, j);
        for (values, weights) in of_modes[..modes].iter_mut().zip(self.rule.modes()) {
            points.clear();
            nodes().zip(weights).for_each(|((y, _), &weight)| points.push(&y, weight));
            by_points.clear();
            by_points.resize(places.len(), 0.0);
            points.add_inverse_distances(places, by_points);
            values.iter_mut().zip(by_points.iter()).for_each(|(value, more)| *value -= more);
        }
    }

    /// The same of normal derivatives at a place on panel `i`.
    fn normal_derivatives(
        &self,
        (i, normal): (usize, &Vec3),
        (j, of_curved): (usize, Option<&OfModes>),
        x: &Vec3,
    ) -> [f64; MODES] {
        let panels = &self.system.panels;
        let (panel, area) = (panels.panel(j), panels.areas()[j % panels.len()]);
        let mut of_modes = [0.0; MODES];
        if let Some(found) = of_curved {
            of_modes = found.gradient.map(|gradient| gradient.dot(normal));
        } else if i != j {
            // In its own plane a panel makes no normal derivative.
            of_modes = if self.is_linear() {
                let gradient = panel.linear_potentials((*x).into()).gradient;
                modes::tested(gradient.map(|g| Vec3::from(g).dot(normal) / area))
            } else {
                [panel.gradient_at(x).dot(normal) / area, 0.0, 0.0]
            };
        }
        let modes = if self.is_linear() { MODES } else { 1 };
        for (k, (y, _)) in panels.points(self.rule, j).enumerate() {
            let r = x - y;
            let r2 = r.norm_squared();
            if r2 > 0.0 {
                let along = r.dot(normal) / (r2 * r2.sqrt());
                let weights = self.rule.modes();
                (0..modes).for_each(|m| of_modes[m] += weights[m][k] * along);
            }
        }
        of_modes
    }
}
