//! Corrections of sums over points by closed forms of close panels.

use std::ops::Range;

use parallel::prelude::*;
use simd::{Real, Simd, Task};

use super::super::system::System;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::integrals::curved_potentials::{self, OfModes, Wanted};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::rule::Rule;
use crate::space::Density;

/// Degree of the rule whose points represent a panel with a constant density, and number of radii
/// from its centroid within which the closed form replaces them: at that distance the rule is off
/// by at most 3e-4 of the panel's contribution, and bars by less than 1e-3 of themselves. Linear
/// modes need one degree more.
const DEGREE: usize = 4;
const NEAR: f64 = 1.75;
const NEAR_LINEAR: f64 = 2.5;

/// The rule whose points represent panels with this density.
pub fn rule(density: Density) -> &'static Rule {
    Rule::of_degree(DEGREE + usize::from(density == Density::Linear))
}

/// Within how many radii panels with this density are near.
pub fn near_radii(density: Density) -> f64 {
    match density {
        Density::Constant => NEAR,
        Density::Linear => NEAR_LINEAR,
    }
}

/// Accuracy of potentials of curved panels.
pub(super) const CURVED: f64 = 1e-4;

/// Positions on a panel.
pub(super) fn targets(
    panels: &Panels,
    i: usize,
    barycentric: &[[f64; 3]],
) -> impl Iterator<Item = Vec3> + use<> {
    barycentric.iter().map(|&at| panels.point(i, at)).collect::<Vec<Vec3>>().into_iter()
}

/// Corrections to values at the positions on some panels, shape (places, excitations), with rows
/// padded to whole vectors of lanes.
pub(super) struct Corrections {
    stride: usize,
    potential: Vec<f64>,
    /// Empty without interfaces.
    normal: Vec<f64>,
}

impl Corrections {
    /// Correction of the potential and of the normal derivative at a position in an excitation.
    pub(super) fn at(&self, t: usize, p: usize) -> (f64, f64) {
        let place = t * self.stride + p;
        (self.potential[place], self.normal.get(place).copied().unwrap_or(0.0))
    }
}

/// Adds to a row, for all excitations, the contribution of modes with these amplitudes at a
/// position: `values` for unit amplitudes, `amplitudes` of shape (modes, excitations).
struct AddModes<'a> {
    values: &'a [f64],
    amplitudes: &'a [f64],
    row: &'a mut [f64],
}

impl Task<f64> for AddModes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { values, amplitudes, row } = self;
        let stride = row.len();
        for at in (0..stride).step_by(V::LANES) {
            let mut sum = V::load(&row[at..]);
            for (m, &value) in values.iter().enumerate() {
                sum = V::splat(value).mul_add(V::load(&amplitudes[m * stride + at..]), sum);
            }
            sum.store(&mut row[at..]);
        }
    }
}

/// Densities of some excitations, evaluated at positions on each panel.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'a> {
    pub(super) system: &'a System,
    /// Rule whose points represent panels.
    pub(super) rule: &'static Rule,
    /// Unknowns of each excitation.
    pub(super) x: &'a [Vec<f64>],
    /// Barycentric coordinates of the positions.
    pub(super) barycentric: &'a [[f64; 3]],
}

/// Closed forms of near panels minus the contributions of their points.
pub(super) struct Near<'a> {
    pub(super) evaluation: Evaluation<'a>,
    pub(super) search: &'a Neighbours<'a>,
}

/// Scratch space for a panel's contributions at some positions: values of each mode, by closed
/// forms minus those by points.
#[derive(Default)]
struct Differences {
    near: WeightedPoints,
    points: WeightedPoints,
    places: Vec<[f64; 3]>,
    /// Contributions of a curved panel.
    of_curved: Vec<OfModes>,
    of_modes: [Vec<f64>; MODES],
    by_points: Vec<f64>,
}

/// A panel, or image, near some positions.
struct NearPanel {
    j: usize,
    /// Region of the positions.
    region: usize,
    /// The positions.
    chosen: Vec<usize>,
    /// What the panel contributes there, if it is curved.
    of_curved: Vec<OfModes>,
}

impl Near<'_> {
    /// Corrections at the positions on some panels.
    pub(super) fn corrections(&self, own: Range<usize>) -> Corrections {
        let Evaluation { system, x, barycentric, .. } = self.evaluation;
        let (panels, rows) = (&system.panels, &system.rows);
        let places = barycentric.len();
        let has_interfaces = own.clone().any(|i| rows.conductor[i].is_none());
        let stride = x.len().next_multiple_of(f64::MAX_LANES);
        let zeros = || vec![0.0; own.len() * places * stride];
        let mut potential = zeros();
        let mut normal = if has_interfaces { zeros() } else { Vec::new() };
        let mut amplitudes = vec![0.0; MODES * stride];
        let modes = if self.is_linear() { MODES } else { 1 };
        let targets: Vec<Vec3> =
            own.clone().flat_map(|i| targets(panels, i, barycentric)).collect();
        let nothing = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        let around = |(low, high): (Vec3, Vec3), x: &Vec3| (low.inf(x), high.sup(x));
        let (low, high) = targets.iter().fold(nothing, around);
        let mut found = Vec::new();
        self.search.around_box(&low, &high, &mut found);
        let mut room = Differences::default();
        let regions = panels.regions();
        let found =
            found.into_iter().flat_map(|j| (0..regions).map(move |region| (j as usize, region)));
        let near = |(j, region): (usize, usize)| {
            let reach = near_radii(system.density) * panels.radius(j);
            let is_near = |t: &usize| {
                let is_there = regions == 1 || panels.region(own.start + t / places) == region;
                is_there && (targets[*t] - panels.centroid(j)).norm_squared() < reach * reach
            };
            let chosen: Vec<usize> = (0..targets.len()).filter(is_near).collect();
            NearPanel { j, region, chosen, of_curved: Vec::new() }
        };
        let found = found.filter(|&(j, region)| panels.factor_in(region, j) != 0.0).map(near);
        let mut found: Vec<NearPanel> = found.filter(|near| !near.chosen.is_empty()).collect();
        // Integrals over curved panels take long, some of them much longer than others.
        if panels.are_curved() {
            let wanted = if has_interfaces { Wanted::Gradient } else { Wanted::Potential };
            found.par_iter_mut().for_each(|NearPanel { j, chosen, of_curved, .. }| {
                if let Some(patch) = panels.curved(*j) {
                    let at: Vec<Vec3> = chosen.iter().map(|&t| targets[t]).collect();
                    *of_curved = curved_potentials::at_points(patch, &at, wanted, CURVED);
                }
            });
        }
        for NearPanel { j, region, chosen, of_curved } in found {
            room.near.clear();
            chosen.iter().for_each(|&t| room.near.push(&targets[t], 1.0));
            room.places.clear();
            room.places.extend(chosen.iter().map(|&t| <[f64; 3]>::from(targets[t])));
            room.of_curved = of_curved;
            for (p, x) in x.iter().enumerate() {
                let of_modes = self.amplitudes(j, panels.factor_in(region, j), x);
                (0..modes).for_each(|m| amplitudes[m * stride + p] = of_modes[m]);
            }
            self.potentials(j, &mut room);
            for (k, &t) in chosen.iter().enumerate() {
                let of_modes = room.of_modes.each_ref().map(|values| values[k]);
                simd::run(AddModes {
                    values: &of_modes[..modes],
                    amplitudes: &amplitudes,
                    row: &mut potential[t * stride..(t + 1) * stride],
                });
            }
            if !has_interfaces {
                continue;
            }
            for (k, &t) in chosen.iter().enumerate() {
                let i = own.start + t / places;
                if rows.conductor[i].is_some() {
                    continue;
                }
                let along = panels.normal_at(i, barycentric[t % places]);
                let of_curved = room.of_curved.get(k);
                let of_modes = self.normal_derivatives([i, j], &along, of_curved, &targets[t]);
                simd::run(AddModes {
                    values: &of_modes[..modes],
                    amplitudes: &amplitudes,
                    row: &mut normal[t * stride..(t + 1) * stride],
                });
            }
        }
        Corrections { stride, potential, normal }
    }

    fn is_linear(&self) -> bool {
        self.evaluation.system.density == Density::Linear
    }

    /// Coefficients of the modes on a panel or image, in the order of its own vertices.
    fn amplitudes(&self, j: usize, sign: f64, x: &[f64]) -> [f64; MODES] {
        let panels = &self.evaluation.system.panels;
        let (n, panel) = (panels.len(), j % panels.len());
        if !self.is_linear() {
            return [sign * x[panel], 0.0, 0.0];
        }
        let amplitudes = [0, 1, 2].map(|m| sign * x[m * n + panel]);
        if !panels.is_mirrored(j) {
            return amplitudes;
        }
        let [a, b, c] = modes::at_corners(amplitudes);
        modes::of_corners([a, c, b])
    }

    /// Closed form minus the rule's points, for unit amplitudes on panel `j` at the chosen
    /// positions.
    fn potentials(&self, j: usize, room: &mut Differences) {
        let panels = &self.evaluation.system.panels;
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
        let nodes = || panels.points(self.evaluation.rule, j);
        for (values, weights) in of_modes[..modes].iter_mut().zip(self.evaluation.rule.modes()) {
            points.clear();
            nodes().zip(weights).for_each(|((y, _), &weight)| points.push(&y, weight));
            by_points.clear();
            by_points.resize(places.len(), 0.0);
            points.add_inverse_distances(places, by_points);
            values.iter_mut().zip(by_points.iter()).for_each(|(value, more)| *value -= more);
        }
    }

    /// As [`potentials`](Self::potentials), for derivatives along this normal at `x` on panel `i`.
    fn normal_derivatives(
        &self,
        [i, j]: [usize; 2],
        normal: &Vec3,
        of_curved: Option<&OfModes>,
        x: &Vec3,
    ) -> [f64; MODES] {
        let panels = &self.evaluation.system.panels;
        let (panel, area) = (panels.panel(j), panels.areas()[j % panels.len()]);
        let mut of_modes = [0.0; MODES];
        if let Some(found) = of_curved {
            of_modes = found.gradient.map(|gradient| gradient.dot(normal));
        } else if i != j {
            // In its own plane a panel has no normal derivative.
            of_modes = if self.is_linear() {
                let gradient = panel.linear_potentials((*x).into()).gradient;
                modes::tested(gradient.map(|g| Vec3::from(g).dot(normal) / area))
            } else {
                [panel.gradient_at(x).dot(normal) / area, 0.0, 0.0]
            };
        }
        let modes = if self.is_linear() { MODES } else { 1 };
        for (k, (y, _)) in panels.points(self.evaluation.rule, j).enumerate() {
            let r = x - y;
            let r2 = r.norm_squared();
            if r2 > 0.0 {
                let along = r.dot(normal) / (r2 * r2.sqrt());
                let weights = self.evaluation.rule.modes();
                (0..modes).for_each(|m| of_modes[m] += weights[m][k] * along);
            }
        }
        of_modes
    }
}
