//! The residual at some panels, independent of the solve: whole rows, summed directly over all
//! points and over all pairs too close for points, without a fast sum and without a selection of
//! close pairs.

use std::ops::Range;

use parallel::prelude::*;

use super::system::System;
use super::{Charges, Excitation, Media, external};
use crate::constants::{FINE, NO_DIGITS};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::integrals::potentials::WeightedPoints;
use crate::near::RowKind;
use crate::near::accuracy::{Accuracy, IntegralAccuracy};
use crate::near::modes::ModePairs;
use crate::near::pairs::{LayerPairs, Scratch};
use crate::near::{Entry, PairIntegrals};
use crate::ordered;
use crate::quadrature::modes::MODES;
use crate::quadrature::rule::Rule;
use crate::sampling::far::{self, SeenFar};
use crate::sampling::points::QuadraturePoints;
use crate::space::{Carrier, Density, Dofs};
use crate::{Error, PairQuadrature};
use mesh::Mesh;

/// Panels at which the size of right-hand sides is estimated; fewer could miss peaks under charges,
/// or sides that face a field.
const SIZED: usize = 1024;

/// Relative accuracy of the integrals of close pairs, better than in a solve, unless the tolerance
/// is smaller; for curved panels, whose integrals have no closed forms, a share of the tolerance.
const ACCURACY: f64 = 1e-8;
const ACCURACY_OF_CURVED: f64 = 0.01;

/// Pairs farther apart than this many radii of the larger panel are summed by rules of this degree
/// on both: to better than 1e-6 of the entry.
const FAR: [(f64, usize); 3] = [(25.0, 2), (8.0, 5), (4.0, 8)];

/// The same to better than 1e-10, for tolerances below [`FINE`] and where the action on a body is a
/// small part of the terms that add up there.
const FAR_FINE: [(f64, usize); 3] = [(25.0, 5), (8.0, 9), (4.0, 16)];

/// Panels whose entries with all rows are multiplied together.
const TOGETHER: usize = 128;

/// Result at the sampled panels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledResidual {
    /// The conductor on which the residual is largest; `None` = an interface.
    pub conductor: Option<u32>,
    /// Root mean square over the area of that conductor or interface, estimated from the sampled
    /// panels, relative to that of the right-hand side where this is largest, as in
    /// [`Response::relative_residual`](super::Response::relative_residual); for a
    /// [`Refined`](super::Refined) state relative to the action there.
    pub relative: f64,
}

/// Reference value of a residual.
#[derive(Clone, Copy, PartialEq)]
enum RelativeTo {
    /// The right-hand side, of the conductor or interface where it is largest.
    Largest,
    /// The action on the conductor or interface itself.
    Action,
}

/// The residual of the charges of each pair in the equations of its excitation, on panels
/// distributed over the area and over the charge of each conductor and interface: a residual
/// matters by its work on the charge, most of which may be on a small share of the area. Accurate
/// enough to judge a solve with this `tolerance`.
///
/// # Errors
/// [`Error::Length`].
pub fn sampled_residual(
    mesh: &Mesh,
    media: Media<'_>,
    solved: &[(&Excitation, Charges<'_>)],
    tolerance: f64,
) -> Result<Vec<SampledResidual>, Error> {
    let is_linear = solved.iter().any(|(_, charges)| !charges.at_corners.is_empty());
    let density = if is_linear { Density::Linear } else { Density::Constant };
    of_triangles(&System::new(mesh, media, density, Some(tolerance))?, solved, tolerance)
}

impl System {
    /// [`sampled_residual`](super::sampled_residual) of solves of these equations.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn sampled_residual(
        &self,
        solved: &[(&Excitation, Charges<'_>)],
        tolerance: f64,
    ) -> Result<Vec<SampledResidual>, Error> {
        of_triangles(self, solved, tolerance)
    }
}

/// As [`sampled_residual`], for an existing system.
pub(super) fn of_triangles(
    system: &System,
    solved: &[(&Excitation, Charges<'_>)],
    tolerance: f64,
) -> Result<Vec<SampledResidual>, Error> {
    for (_, charges) in solved {
        let (expected, found) = (system.triangles, charges.total.len());
        if expected != found {
            return Err(Error::Length { what: "charges.total", expected, found });
        }
    }
    let of_modes = |charges: &Charges<'_>| charges.of_modes(&system.panels, system.density);
    let x: Vec<Vec<f64>> = solved.iter().map(|(_, charges)| of_modes(charges)).collect();
    let solved: Vec<(&Excitation, &[f64])> =
        solved.iter().zip(&x).map(|((excitation, _), x)| (*excitation, &x[..])).collect();
    of_system(system, &solved, RelativeTo::Largest, tolerance)
}

/// The residual of a state with unknowns `x`, relative to the action on each conductor and
/// interface.
pub(super) fn by_action(
    system: &System,
    excitation: &Excitation,
    x: &[f64],
    tolerance: f64,
) -> Result<SampledResidual, Error> {
    let found = of_system(system, &[(excitation, x)], RelativeTo::Action, tolerance)?;
    Ok(found.first().copied().unwrap_or(SampledResidual { conductor: None, relative: 0.0 }))
}

/// The residual of unknowns in the equations of each excitation.
fn of_system(
    system: &System,
    solved: &[(&Excitation, &[f64])],
    relative_to: RelativeTo,
    tolerance: f64,
) -> Result<Vec<SampledResidual>, Error> {
    let (panels, rows) = (&system.panels, &system.rows);
    let columns: Vec<&[f64]> = solved.iter().map(|(_, x)| *x).collect();
    let surface = rows.surface();
    let drawn = surface.drawn(&surface.by_area_and_charge(&columns), surface.rows(panels.total()));
    let chosen: Vec<usize> = drawn.iter().map(|&(i, _)| i).collect();
    let sized = self::chosen(system, SIZED.max(chosen.len()));
    let mut kinds = vec![RowKind::None; panels.len()];
    chosen.iter().chain(&sized).for_each(|&i| kinds[i] = rows.kinds[i]);
    // The right-hand sides before means are scaled, because these rows are not scaled.
    let external: Vec<Vec<f64>> =
        solved.iter().map(|(e, _)| external::on_panels(system, e, &kinds)).collect();
    let usual = Accuracy::new(tolerance, 0);
    let accuracy =
        if panels.are_curved() { (ACCURACY_OF_CURVED * tolerance).max(ACCURACY) } else { ACCURACY };
    let quadrature = PairQuadrature::new(accuracy.min(tolerance), 0);
    let pairs =
        LayerPairs::new(panels, &kinds, quadrature).with_solid_angles(usual.solid_angles_of_rows);
    let accuracy = Accuracy { pairs: quadrature, ..usual };
    let integrals =
        IntegralAccuracy { pairs: quadrature, solid_angles: accuracy.solid_angles_of_rows };
    let linear = ModePairs { even: &pairs, accuracy: &accuracy, integrals };
    let is_fine = tolerance < FINE || relative_to == RelativeTo::Action;
    let whole = WholeRows::new(system, &kinds, &linear, &chosen, is_fine);
    let products = whole.times(&columns)?;
    let residual = |column: usize| {
        let (excitation, x) = solved[column];
        let right = |i: usize| match rows.conductor[i] {
            Some(k) => excitation.potentials[k as usize] - external[column][i],
            None => -rows.coupling(i) * external[column][i],
        };
        let left = |i: usize, known: f64| match rows.conductor[i] {
            Some(_) => known,
            None => rows.diagonal(i) * x[i] + rows.coupling(i) * known,
        };
        let [mut residuals, mut sizes] = [(); 2].map(|()| Squares::new(rows.parts()));
        for (&(i, stands_for), &known) in drawn.iter().zip(&products[column]) {
            let (part, residual) = (rows.part(i), right(i) - left(i, known));
            residuals.add(part, rows.areas[i] * stands_for, residual);
        }
        sized.iter().for_each(|&i| sizes.add(rows.part(i), 1.0, right(i)));
        worst(system, excitation, x, [&residuals, &sizes], relative_to)
    };
    Ok((0..solved.len()).map(residual).collect())
}

/// The part with the largest residual, given residuals and right-hand sides of each part.
fn worst(
    system: &System,
    excitation: &Excitation,
    x: &[f64],
    [residuals, sizes]: [&Squares; 2],
    relative_to: RelativeTo,
) -> SampledResidual {
    let rows = &system.rows;
    let largest = (0..rows.parts()).fold(0.0f64, |size, part| size.max(sizes.root(part)));
    let balanced = rows.balanced(x);
    let strongest = balanced.iter().copied().fold(0.0, f64::max);
    let mut worst = SampledResidual { conductor: None, relative: 0.0 };
    for part in 0..rows.parts() {
        let own = residuals.root(part);
        let size = match relative_to {
            // The right-hand side of charges in a body of high permittivity is small compared with
            // the charges that they induce on its surface, and with those on metal.
            RelativeTo::Largest if part >= system.conductors || excitation.has_sources() => {
                largest.max(balanced[part])
            }
            RelativeTo::Largest => largest,
            RelativeTo::Action => (balanced[part] + own).max(NO_DIGITS * strongest),
        };
        let relative = if size > 0.0 { own / size } else { own };
        if relative > worst.relative || relative.is_nan() {
            let conductor = (part < system.conductors).then_some(part as u32);
            worst = SampledResidual { conductor, relative };
        }
    }
    worst
}

/// Rows of chosen panels, summed directly over all points, with corrections for close pairs.
struct WholeRows<'a> {
    /// Ranks add up the results of their panels of this system.
    system: &'a System,
    panels: &'a Panels,
    kinds: &'a [RowKind],
    chosen: &'a [usize],
    points: QuadraturePoints<'a>,
    dofs: Dofs,
    /// Panels too close to each chosen one for the points of the first rule, and the corrections of
    /// their entries with each mode.
    corrections: Vec<Vec<(usize, [f64; MODES])>>,
}

impl<'a> WholeRows<'a> {
    fn new(
        system: &'a System,
        kinds: &'a [RowKind],
        linear: &ModePairs<'_>,
        chosen: &'a [usize],
        is_fine: bool,
    ) -> Self {
        let (panels, density) = (&*system.panels, system.density);
        let far = if is_fine { FAR_FINE } else { FAR };
        let (pairs, is_linear) = (linear.even, density == Density::Linear);
        // A linear function needs one degree more.
        let degree = |degree| degree + usize::from(is_linear);
        let rules = far.map(|(radii, of_rule)| (radii, Rule::of_degree(degree(of_rule))));
        let (far, plain) = rules[0];
        let radius = |i: usize, j: usize| panels.radius(i).max(panels.radius(j));
        let distance = |i: usize, j: usize| (panels.centroid(i) - panels.centroid(j)).norm();
        let correction = |scratch: &mut Scratch, i: usize, j: usize| {
            let (radius, distance) = (radius(i, j), distance(i, j));
            let rule = rules.iter().find(|(radii, _)| distance > radii * radius);
            if is_linear {
                let of_modes = match rule {
                    Some((_, rule)) => linear.entries_by_points([rule, rule], i, j),
                    None => linear.entries(i, j, scratch),
                };
                let plain = linear.entries_by_points([plain, plain], i, j);
                return (j, of_modes.plus(-1.0, plain).entries()[0]);
            }
            let even = match rule {
                Some((_, rule)) => pairs.by_points([rule, rule], i, j)[0],
                None => pairs.entry(i, j, scratch),
            };
            let mut entries = [0.0; MODES];
            entries[0] = even - pairs.by_points([plain, plain], i, j)[0];
            (j, entries)
        };
        // Pairs are tasks, too: the rows are few, and some take much longer than others.
        let row = |&i: &usize| {
            let all = system.own(panels.total()).filter(|&j| panels.factor(i, j) != 0.0);
            let close: Vec<usize> = all.filter(|&j| distance(i, j) <= far * radius(i, j)).collect();
            let pairs = close.into_par_iter();
            pairs.map_init(Scratch::default, |scratch, j| correction(scratch, i, j)).collect()
        };
        let corrections = chosen.par_iter().map(row).collect();
        let points = QuadraturePoints::new(panels, plain);
        let dofs = Dofs::Charges(density);
        Self { system, panels, kinds, chosen, points, dofs, corrections }
    }

    /// The rows' products with unknowns of each column. Collective where ranks share them.
    fn times(&self, columns: &[&[f64]]) -> Result<Vec<Vec<f64>>, Error> {
        let (panels, n, rows) = (self.panels, self.panels.len(), self.chosen.len());
        let modes = columns.first().map_or(0, |x| x.len() / n.max(1));
        let add_panels = |own: Range<usize>, sums: &mut [f64]| {
            let entries = self.entries(own.clone(), modes);
            for (sums, x) in sums.chunks_exact_mut(rows.max(1)).zip(columns) {
                let unknowns = own.clone().flat_map(|j| (0..modes).map(move |m| x[m * n + j % n]));
                for (entries, x) in entries.chunks_exact(rows.max(1)).zip(unknowns) {
                    sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry * x);
                }
            }
        };
        let all = self.system.own(panels.total());
        let sums = ordered::sums(all, TOGETHER, columns.len() * rows, add_panels);
        let is_first = self.system.ranks.rank() == 0;
        let completed = |(c, x): (usize, &&[f64])| -> Result<Vec<f64>, Error> {
            let mut sums = sums[c * rows..(c + 1) * rows].to_vec();
            if panels.far().is_some() && is_first {
                let mut all = vec![0.0; x.len()];
                let rule = self.points.rule();
                let (rules, kinds, dofs) = ([rule; 2], self.kinds, &self.dofs);
                let seen = SeenFar { panels, rules, kinds, dofs };
                far::add(seen, &*comm::alone(), x, &mut all, 1)?;
                sums.iter_mut().zip(self.chosen).for_each(|(sum, &i)| *sum += all[i]);
            }
            for ((sum, row), &i) in sums.iter_mut().zip(&self.corrections).zip(self.chosen) {
                let of = |&(j, entries): &(usize, [f64; MODES])| -> f64 {
                    let terms = (0..modes).map(|m| entries[m] * x[m * n + j % n]);
                    panels.factor(i, j) * terms.sum::<f64>()
                };
                *sum += row.iter().map(of).sum::<f64>();
            }
            self.system.of_all_ranks(&mut sums)?;
            Ok(sums)
        };
        columns.iter().enumerate().map(completed).collect()
    }

    /// Entries, by points, of all rows with the modes of some panels or images, shape (panels,
    /// modes, rows).
    fn entries(&self, own: Range<usize>, modes: usize) -> Vec<f64> {
        let (panels, rule, rows) = (self.panels, self.points.rule(), self.chosen.len());
        let nodes = rule.len();
        let sources: Vec<[f64; 3]> =
            own.clone().flat_map(|j| panels.points(rule, j)).map(|(y, _)| y.into()).collect();
        // Strengths of each mode at the points of a panel, also of a mirrored one.
        let strengths = [false, true].map(|is_mirrored| {
            let of_mode = |m: usize| {
                let mut x = vec![0.0; modes];
                x[m] = 1.0;
                let mut strengths = vec![0.0; nodes];
                let put = |k: usize, strength: f64| strengths[k] = strength;
                // Only the coefficients of one panel are used.
                let carrier = Carrier { panel: 0, is_mirrored, area: 1.0 };
                self.dofs.strengths(rule, carrier, &x, put);
                strengths
            };
            (0..modes).map(of_mode).collect::<Vec<_>>()
        });
        let mut entries = vec![0.0; own.len() * modes * rows];
        let (mut values, mut gradients) = (Vec::new(), Vec::new());
        let mut targets = WeightedPoints::default();
        for (r, &i) in self.chosen.iter().enumerate() {
            values.clear();
            values.resize(sources.len(), 0.0);
            let places = || panels.points(rule, i).zip(rule.nodes());
            if self.kinds[i] == RowKind::Adjoint {
                // One normal serves all points of a flat panel.
                let together = if panels.curved(i).is_some() { 1 } else { nodes };
                for first in (0..nodes).step_by(together) {
                    targets.clear();
                    let own = places().skip(first).take(together);
                    own.for_each(|((x, _), node)| targets.push(&x, node.weight));
                    gradients.clear();
                    gradients.resize(3 * sources.len(), 0.0);
                    targets.add_gradients(&sources, &mut gradients);
                    let normal = panels.normals(rule, i).nth(first).unwrap_or_else(Vec3::zeros);
                    // The gradient at the target is minus that at the source.
                    for (value, g) in values.iter_mut().zip(gradients.chunks_exact(3)) {
                        *value -= Vec3::from_column_slice(g).dot(&normal);
                    }
                }
            } else {
                targets.clear();
                places().for_each(|((x, _), node)| targets.push(&x, node.weight));
                targets.add_inverse_distances(&sources, &mut values);
            }
            for (k, j) in own.clone().enumerate() {
                let of_panel = &values[k * nodes..(k + 1) * nodes];
                for (m, strengths) in
                    strengths[usize::from(panels.is_mirrored(j))].iter().enumerate()
                {
                    let sum: f64 = strengths.iter().zip(of_panel).map(|(q, v)| q * v).sum();
                    entries[(k * modes + m) * rows + r] = panels.factor(i, j) * sum;
                }
            }
        }
        entries
    }
}

/// Sums of weights and of weighted squares on each part.
struct Squares(Vec<[f64; 2]>);

impl Squares {
    fn new(parts: usize) -> Self {
        Self(vec![[0.0; 2]; parts])
    }

    fn add(&mut self, part: usize, weight: f64, value: f64) {
        self.0[part][0] += weight;
        self.0[part][1] += weight * value * value;
    }

    /// Root mean square, 0 where nothing has weight.
    fn root(&self, part: usize) -> f64 {
        let [weight, squares] = self.0[part];
        if weight > 0.0 { (squares / weight).sqrt() } else { squares.sqrt() }
    }
}

/// Panels at equal steps of the area of each part.
pub fn chosen(system: &System, rows: usize) -> Vec<usize> {
    let surface = system.rows.surface();
    surface.drawn(surface.areas, rows).into_iter().map(|(i, _)| i).collect()
}
