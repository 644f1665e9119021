//! Potential and normal field of point charges and of a uniform field on panels, in closed form, or
//! to high accuracy where panels are curved.
//!
//! The mean over a panel of 1/|x - y| is the panel's own potential at y over its area, and that of
//! n . grad 1/|x - y| its solid angle there: exact however near the charge is.

use parallel::prelude::*;

use super::system::System;
use super::{Excitation, PointCharge};
use crate::geometry::panels::Panels;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::integrals::curved_potentials::{self, Wanted};
use crate::integrals::linear_nodes::Potential;
use crate::integrals::potentials::WeightedPoints;
use crate::near::RowKind;
use crate::near::Sources;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::rule::Rule;
use crate::space::Density;

/// Accuracy of potentials of curved panels at charges.
const OF_CURVED: f64 = 1e-9;

/// Degree of the rule for a uniform field on curved panels: of polynomials of order 4 and their
/// normals.
const OF_FIELD: usize = 9;

/// Right-hand side of one excitation.
pub(super) fn right_hand_side(system: &System, excitation: &Excitation) -> Vec<f64> {
    let _span = tracing::debug_span!("right-hand side").entered();
    let mut external = in_rows(system, excitation);
    system.rows.right_hand_side(&excitation.potentials, &mut external);
    external
}

/// Normal derivative of the external potential on conductors between two media, 0 elsewhere; empty
/// if there are no such conductors.
pub(super) fn sheet_normal_derivatives(system: &System, excitation: &Excitation) -> Vec<f64> {
    let kinds = system.rows.sheets();
    kinds.map_or_else(Vec::new, |kinds| on_panels(system, excitation, &kinds))
}

/// External sources in scaled coordinates, with a right-hand side of this size.
pub(super) fn sources(system: &System, excitation: &Excitation, size: f64) -> Sources {
    let (panels, scale) = (&system.panels, system.panels.scale());
    let all = excitation.with_images(&system.images, |_| true);
    let scaled = |q: &PointCharge| (panels.scaled(q.position), q.charge / (q.permittivity * scale));
    Sources {
        charges: all.charges.iter().map(scaled).collect(),
        field: Vec3::from(excitation.field) * scale,
        size,
    }
}

/// External potentials in all rows: mean potentials or normal derivatives, weighted with the modes.
fn in_rows(system: &System, excitation: &Excitation) -> Vec<f64> {
    let (panels, kinds) = (&system.panels, &system.rows.kinds);
    let mut rows = on_panels(system, excitation, kinds);
    if system.density == Density::Constant {
        return rows;
    }
    let Sources { charges: points, field, .. } = sources(system, excitation, 1.0);
    let mut charges = WeightedPoints::default();
    points.iter().for_each(|(y, q)| charges.push(y, *q));
    let slopes = |charges: &mut WeightedPoints, (i, kind): (usize, &RowKind)| -> [f64; MODES] {
        if let Some(patch) = panels.curved(i) {
            let acting = Acting { charges: &points, field, origin: Vec3::zeros() };
            return on_curved(panels, i, patch, *kind, &acting);
        }
        let panel = panels.panel(i);
        let mut tested = match kind {
            RowKind::Single | RowKind::Adjoint => of_charges(system, i, *kind, &points, charges),
            RowKind::Double | RowKind::None => return [0.0; MODES],
        };
        if *kind == RowKind::Single {
            let at = panel.vertices.map(|v| -field.dot(&v));
            let sum: f64 = at.iter().sum();
            let of_field = modes::tested(at.map(|at| (sum + at) / 12.0));
            tested.iter_mut().zip(of_field).for_each(|(tested, of_field)| *tested += of_field);
        }
        tested
    };
    let each = kinds.par_iter().enumerate().with_min_len(64);
    let slopes: Vec<[f64; MODES]> = each.map_init(|| charges.clone(), slopes).collect();
    for m in 1..MODES {
        rows.extend(slopes.iter().map(|values| values[m]));
    }
    rows
}

/// Mean potential or normal derivative over panel `i` of point charges, in both forms, weighted
/// with each mode.
pub(super) fn of_charges(
    system: &System,
    i: usize,
    kind: RowKind,
    points: &[(Vec3, f64)],
    charges: &mut WeightedPoints,
) -> [f64; MODES] {
    let panels = &system.panels;
    if let Some(patch) = panels.curved(i) {
        let acting = Acting { charges: points, field: Vec3::zeros(), origin: Vec3::zeros() };
        return on_curved(panels, i, patch, kind, &acting);
    }
    let panel = panels.panel(i);
    let is_single = kind == RowKind::Single;
    if system.density == Density::Constant {
        let sum =
            if is_single { charges.sum_potential(&panel) } else { charges.sum_solid_angle(&panel) };
        return [sum / panel.area, 0.0, 0.0];
    }
    // Over all charges: any weights that add up to 1 do.
    let potential = if is_single { Potential::Single } else { Potential::Double };
    let block = charges.sum_linear(&panel, &panel, potential);
    let tested = [0, 1, 2].map(|l| block.iter().map(|row| row[l]).sum::<f64>());
    modes::tested(tested).map(|value| value / panel.area)
}

/// Mean potential or normal derivative of the external sources, in scaled coordinates.
pub(super) fn on_panels(system: &System, excitation: &Excitation, kinds: &[RowKind]) -> Vec<f64> {
    let panels = &system.panels;
    let Sources { charges: points, field, .. } = sources(system, excitation, 1.0);
    let mut charges = WeightedPoints::default();
    points.iter().for_each(|(y, q)| charges.push(y, *q));
    // Where the uniform field's potential is 0.
    let origin = panels.scaled(excitation.origin);
    let value = |charges: &mut WeightedPoints, (i, kernel): (usize, &RowKind)| {
        if let Some(patch) = panels.curved(i) {
            let acting = Acting { charges: &points, field, origin };
            return on_curved(panels, i, patch, *kernel, &acting)[0];
        }
        let panel = panels.panel(i);
        match kernel {
            RowKind::Single => {
                charges.sum_potential(&panel) / panel.area - field.dot(&(panel.centroid - origin))
            }
            RowKind::Adjoint => {
                charges.sum_solid_angle(&panel) / panel.area - field.dot(&panel.normal)
            }
            RowKind::Double | RowKind::None => 0.0,
        }
    };
    let rows = kinds.par_iter().enumerate().with_min_len(64);
    rows.map_init(|| charges.clone(), value).collect()
}

/// Point charges and a uniform field, whose potential is 0 at its origin.
struct Acting<'a> {
    charges: &'a [(Vec3, f64)],
    field: Vec3,
    origin: Vec3,
}

/// Mean potential or normal derivative on curved panel `i`, weighted with each mode.
fn on_curved(
    panels: &Panels,
    i: usize,
    patch: &Patch,
    kind: RowKind,
    acting: &Acting<'_>,
) -> [f64; MODES] {
    let Acting { charges, field, origin } = acting;
    let (wanted, factor) = match kind {
        RowKind::Single => (Wanted::Potential, 1.0),
        // Mean of the normal derivative: normals have the length of the area element.
        RowKind::Adjoint => (Wanted::Double, 0.5 / panels.areas()[i]),
        RowKind::Double | RowKind::None => return [0.0; MODES],
    };
    let mut sums = [0.0; MODES];
    for (y, q) in *charges {
        let found = curved_potentials::at(patch, y, wanted, OF_CURVED).potential;
        sums.iter_mut().zip(found).for_each(|(sum, value)| *sum += q * factor * value);
    }
    let rule = Rule::of_degree(OF_FIELD);
    let normals = panels.normals(rule, i);
    for (k, ((x, _), normal)) in panels.points(rule, i).zip(normals).enumerate() {
        let value = match kind {
            RowKind::Single => -field.dot(&(x - origin)),
            _ => -field.dot(&normal),
        };
        sums.iter_mut().zip(rule.modes()).for_each(|(sum, weights)| *sum += weights[k] * value);
    }
    sums
}
