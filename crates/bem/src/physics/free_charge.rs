//! Free charge of metal that several media touch, from the normal derivatives on its sides
//! (docs/math.md, "Gauss's law").

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

use super::closed::{Closed, Member};
use super::metal::Metal;
use super::rows::Rows;
use super::{Excitation, PointCharge};
use crate::constants::{AMPLIFIED, CANCELLED};

impl Metal {
    /// Shifts the normal derivatives on metal so that Gauss's law holds in bodies that it partly
    /// covers and inside the metal, where no field is left then. `sides` are the derivatives in
    /// front of and behind each panel, of all charge; `rows` gives the normal derivatives that the
    /// equations of interfaces require; charges of the excitation and their positions are in the
    /// mesh's unit, `scale` is that of panels.
    pub(super) fn enforce_flux(
        &self,
        rows: &Rows,
        x: &[f64],
        sides: &mut [[f64; 2]],
        excitation: &Excitation,
        scale: f64,
    ) {
        let is_metal = |m: &Member| rows.conductor[m.panel as usize].is_some();
        let is_empty = |surface: &&Closed| {
            !excitation.charges.iter().any(|q| surface.region.contains(q.position))
        };
        let solid: Vec<&Closed> = self.solid.iter().filter(is_empty).collect();
        // The side of each panel that is inside metal.
        let mut buried: Vec<Option<usize>> = vec![None; sides.len()];
        for m in solid.iter().flat_map(|surface| &surface.members) {
            buried[m.panel as usize] = Some(m.inner());
        }
        let asked: Vec<[f64; 2]> = (0..x.len())
            .map(|i| rows.normal_derivatives_of_interface(i, x[i]).unwrap_or(sides[i]))
            .collect();
        let mut is_known = vec![false; sides.len()];
        let large = CANCELLED * rows.areas.iter().sum::<f64>();
        for surface in &self.covered {
            let within = |q: &&PointCharge| surface.region.contains(q.position);
            let charges = excitation.charges.iter().filter(within);
            let charges: f64 = charges.map(|q| q.charge / (q.permittivity * scale)).sum();
            let enclosed: f64 =
                surface.inside.iter().map(|&(i, sign)| sign * x[i as usize]).sum::<f64>() + charges;
            let (mut flux, mut area) = (0.0, 0.0);
            for m in &surface.members {
                let i = m.panel as usize;
                flux += m.sign() * m.outward() * rows.areas[i] * asked[i][m.inner()];
                if is_metal(m) {
                    area += m.sign() * rows.areas[i];
                }
            }
            if area <= large {
                continue;
            }
            let shift = (-4.0 * PI * enclosed - flux) / area;
            for m in surface.members.iter().filter(|m| m.is_itself && is_metal(m)) {
                let i = m.panel as usize;
                sides[i][m.inner()] += m.outward() * shift;
                // The charge between both sides stays what it is.
                if let Some(side) = buried[i].filter(|&side| side != m.inner()) {
                    sides[i][side] += m.outward() * shift;
                    is_known[i] = true;
                }
            }
        }
        for surface in solid {
            let (mut flux, mut area) = (0.0, 0.0);
            for m in &surface.members {
                let i = m.panel as usize;
                flux += m.sign() * m.outward() * rows.areas[i] * sides[i][m.inner()];
                if !is_known[i] {
                    area += m.sign() * rows.areas[i];
                }
            }
            let shift = if area > large { -flux / area } else { 0.0 };
            for m in surface.members.iter().filter(|m| m.is_itself) {
                let i = m.panel as usize;
                if !is_known[i] {
                    sides[i][1 - m.inner()] += m.outward() * shift;
                }
                sides[i][m.inner()] = 0.0;
            }
        }
    }
}

/// A closed surface such that permittivities outside it amplify errors less than those next to some
/// metal on it or inside it.
pub(super) struct Total<'a> {
    surface: &'a Closed,
    /// The largest relative permittivity outside.
    amplifies: f64,
    /// Panels of that metal, with their weights: largest where errors are amplified most.
    weights: BTreeMap<usize, f64>,
}

impl Total<'_> {
    /// All metal on the surface and inside, images with their signs.
    fn metal(&self, rows: &Rows) -> impl Iterator<Item = (usize, f64)> {
        let on = self.surface.members.iter().map(|m| (m.panel, m.sign()));
        let all = on.chain(self.surface.inside.iter().copied());
        all.map(|(i, sign)| (i as usize, sign)).filter(|(i, _)| rows.conductor[*i].is_some())
    }
}

/// The side of a member that faces away from what the surface encloses: its relative permittivity.
fn outside(rows: &Rows, m: &Member) -> f64 {
    rows.permittivity(m.panel as usize)[1 - m.inner()]
}

/// All such surfaces, starting with the innermost. One around others gives the sum of what they
/// enclose once more, where it amplifies less.
pub(super) fn totals(rows: &Rows) -> Vec<Total<'_>> {
    let mut surfaces: Vec<&Closed> = rows.gauss.closed().collect();
    if surfaces.is_empty() {
        return Vec::new();
    }
    surfaces.sort_by_key(|surface| surface.inside.len());
    // No field is left inside of metal.
    let solid = rows.gauss.metal.solid.iter().flat_map(|surface| &surface.members);
    let buried: BTreeSet<(u32, usize)> = solid.map(|m| (m.panel, m.inner())).collect();
    // Amplification of field errors in the free charge of each panel, by the way it is computed so
    // far.
    let mut amplified: Vec<f64> =
        (0..rows.areas.len()).map(|i| rows.permittivity_next_to(i)).collect();
    let mut found = Vec::new();
    for surface in surfaces {
        let has_field = |m: &&Member| !buried.contains(&(m.panel, 1 - m.inner()));
        let next_to = surface.members.iter().filter(has_field).map(|m| outside(rows, m));
        let amplifies = next_to.fold(0.0, f64::max);
        let mut total = Total { surface, amplifies, weights: BTreeMap::new() };
        let metal: BTreeSet<usize> = total.metal(rows).map(|(i, _)| i).collect();
        let metal = metal.into_iter().filter(|&i| amplified[i] > AMPLIFIED * amplifies);
        total.weights = metal.map(|i| (i, rows.areas[i] * amplified[i])).collect();
        if !total.weights.is_empty() {
            total.weights.keys().for_each(|&i| amplified[i] = amplifies);
            found.push(total);
        }
    }
    found
}

/// Shifts the free charge of panels so that the flux outside each of these surfaces is that of all
/// free charge inside. Example: a shell of high permittivity with metal on both sides. The field in
/// it is almost zero, but eps times that field is the difference of the free charges on its two
/// sides. Other arguments as for [`Metal::enforce_flux`].
pub(super) fn enforce_totals(
    rows: &Rows,
    totals: &[Total<'_>],
    x: &[f64],
    sides: &[[f64; 2]],
    excitation: &Excitation,
    scale: f64,
    free: &mut [f64],
) {
    for total in totals {
        let surface = total.surface;
        let (mut enclosed, mut whole) = (0.0, 0.0);
        for (i, sign) in total.metal(rows) {
            enclosed += sign * free[i];
            whole += sign * total.weights.get(&i).copied().unwrap_or(0.0);
        }
        if whole <= 0.0 {
            continue;
        }
        let within = |q: &&PointCharge| surface.region.contains(q.position);
        enclosed += excitation.charges.iter().filter(within).map(|q| q.charge / scale).sum::<f64>();
        let flux = |m: &Member| {
            let i = m.panel as usize;
            let normal_derivative =
                rows.normal_derivatives_of_interface(i, x[i]).unwrap_or(sides[i])[1 - m.inner()];
            m.sign() * m.outward() * rows.areas[i] * outside(rows, m) * normal_derivative
        };
        let found = -surface.members.iter().map(flux).sum::<f64>() / (4.0 * PI);
        let shift = (found - enclosed) / whole;
        total.weights.iter().for_each(|(&i, weight)| free[i] += shift * weight);
    }
}

/// Amplification of field errors in the free charge of each conductor: the mean permittivity next
/// to it, or, where all of its metal next to a higher one is the only such piece of metal in a
/// surface, the permittivity outside.
pub(super) fn amplification(rows: &Rows, totals: &[Total<'_>], conductors: usize) -> Vec<f64> {
    let mut permittivity: Vec<f64> =
        (0..rows.areas.len()).map(|i| rows.permittivity_next_to(i)).collect();
    for total in totals {
        let mut images: BTreeMap<usize, usize> = BTreeMap::new();
        total.metal(rows).for_each(|(i, _)| *images.entry(i).or_default() += 1);
        if rows.pieces.is_one(total.weights.keys().map(|&i| (i, images[&i]))) {
            total.weights.keys().for_each(|&i| permittivity[i] = total.amplifies);
        }
    }
    let mut sums = vec![(0.0, 0.0); conductors];
    for (i, conductor) in rows.conductor.iter().enumerate() {
        if let Some(sum) = conductor.and_then(|k| sums.get_mut(k as usize)) {
            sum.0 += rows.areas[i] * permittivity[i];
            sum.1 += rows.areas[i];
        }
    }
    sums.into_iter().map(|(sum, area)| if area > 0.0 { sum / area } else { 1.0 }).collect()
}
