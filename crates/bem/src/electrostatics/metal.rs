//! Free charge of metal that several media touch, from the normal derivatives on its sides (docs/math.md, "Gauss's law").

use std::collections::BTreeSet;
use std::f64::consts::PI;

use super::gauss::{CANCELLED, Closed, Member};
use super::rows::Rows;
use super::{Excitation, PointCharge};

/// The flux outside of a closed surface tells the free charge inside if permittivities there are this many times less than beside
/// the metal.
const AMPLIFIED: f64 = 10.0;

/// Closed surfaces that metal takes part in.
pub(super) struct Metal {
    /// Bodies that it covers in part.
    pub(super) covered: Vec<Closed>,
    /// Metal with nothing inside, where several media lie around it or it covers a body.
    pub(super) solid: Vec<Closed>,
}

impl Metal {
    /// Marks the panels whose free charge the normal derivatives tell: all metal of bodies that it covers in part, where eps times the
    /// charge amplifies errors that Gauss's law does not have; and, with any panel of a piece of metal, all of that piece, so that
    /// what leaves it on one side is what is missing on the other.
    pub(super) fn mark(&self, told: &mut [bool], conductor: &[Option<u32>], media: &[[f64; 2]]) {
        let metal = self.covered.iter().flat_map(|surface| &surface.members);
        let metal = metal.map(|m| m.panel as usize).filter(|&i| conductor[i].is_some());
        metal.for_each(|i| told[i] = true);
        for surface in &self.solid {
            let panels = || surface.members.iter().map(|m| m.panel as usize);
            let mut outside =
                surface.members.iter().map(|m| media[m.panel as usize][1 - m.inner()]);
            let first = outside.next();
            if outside.any(|medium| Some(medium) != first) || panels().any(|i| told[i]) {
                panels().for_each(|i| told[i] = true);
            }
        }
    }

    /// Shifts the normal derivatives on metal, `sides` in front of and behind each panel and of all charge there is, so that Gauss's law
    /// holds in bodies that it covers in part and inside of the metal, where then no field is left. `rows` tells the normal derivatives
    /// that the equations of interfaces ask for; charges of the excitation and their positions are in the mesh's unit, `scale` is that
    /// of panels.
    pub(super) fn put_right(
        &self,
        rows: &Rows,
        (x, sides): (&[f64], &mut [[f64; 2]]),
        excitation: &Excitation,
        scale: f64,
    ) {
        let is_metal = |m: &Member| rows.conductor[m.panel as usize].is_some();
        let is_empty = |surface: &&Closed| {
            !excitation.charges.iter().any(|q| surface.region.contains(q.position))
        };
        let solid: Vec<&Closed> = self.solid.iter().filter(is_empty).collect();
        // The side of each panel that is inside of metal.
        let mut buried: Vec<Option<usize>> = vec![None; sides.len()];
        for m in solid.iter().flat_map(|surface| &surface.members) {
            buried[m.panel as usize] = Some(m.inner());
        }
        let asked: Vec<[f64; 2]> =
            (0..x.len()).map(|i| rows.slopes_of_interface(i, x[i]).unwrap_or(sides[i])).collect();
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
                flux += m.sign * m.outward * rows.areas[i] * asked[i][m.inner()];
                if is_metal(m) {
                    area += m.sign * rows.areas[i];
                }
            }
            if area <= large {
                continue;
            }
            let shift = (-4.0 * PI * enclosed - flux) / area;
            for m in surface.members.iter().filter(|m| m.is_itself && is_metal(m)) {
                let i = m.panel as usize;
                sides[i][m.inner()] += m.outward * shift;
                // The charge between both sides stays what it is.
                if let Some(side) = buried[i].filter(|&side| side != m.inner()) {
                    sides[i][side] += m.outward * shift;
                    is_known[i] = true;
                }
            }
        }
        for surface in solid {
            let (mut flux, mut area) = (0.0, 0.0);
            for m in &surface.members {
                let i = m.panel as usize;
                flux += m.sign * m.outward * rows.areas[i] * sides[i][m.inner()];
                if !is_known[i] {
                    area += m.sign * rows.areas[i];
                }
            }
            let shift = if area > large { -flux / area } else { 0.0 };
            for m in surface.members.iter().filter(|m| m.is_itself) {
                let i = m.panel as usize;
                if !is_known[i] {
                    sides[i][1 - m.inner()] += m.outward * shift;
                }
                sides[i][m.inner()] = 0.0;
            }
        }
    }
}

/// Shifts the free charge of panels so that the flux outside of each closed surface is that of all free charge inside, wherever the
/// permittivity outside amplifies errors less than that beside the metal. A shell of high permittivity with metal on both of its sides
/// is the case in point: the field in it is next to none, but eps times that is what both sides' free charges differ by. Arguments as for
/// [`Metal::put_right`].
pub(super) fn put_totals_right<'a>(
    rows: &Rows,
    surfaces: impl Iterator<Item = &'a Closed>,
    (x, sides): (&[f64], &[[f64; 2]]),
    excitation: &Excitation,
    scale: f64,
    free: &mut [f64],
) {
    let mut surfaces: Vec<&Closed> = surfaces.collect();
    surfaces.sort_by_key(|surface| surface.inside.len());
    let mut is_fixed = vec![false; x.len()];
    for surface in surfaces {
        let outside = |m: &Member| rows.permittivity(m.panel as usize)[1 - m.inner()];
        let amplifies = surface.members.iter().map(outside).fold(0.0, f64::max);
        let on = surface.members.iter().map(|m| (m.panel, m.sign));
        let metal = || {
            let all = on.clone().chain(surface.inside.iter().copied());
            all.map(|(i, sign)| (i as usize, sign)).filter(|(i, _)| rows.conductor[*i].is_some())
        };
        let weight = |i: usize| {
            let beside = rows.permittivity_beside(i);
            let may_move = !is_fixed[i] && beside > AMPLIFIED * amplifies;
            if may_move { rows.areas[i] * beside } else { 0.0 }
        };
        let (mut enclosed, mut total) = (0.0, 0.0);
        for (i, sign) in metal() {
            enclosed += sign * free[i];
            total += sign * weight(i);
        }
        if total <= 0.0 {
            continue;
        }
        let within = |q: &&PointCharge| surface.region.contains(q.position);
        enclosed += excitation.charges.iter().filter(within).map(|q| q.charge / scale).sum::<f64>();
        let flux = |m: &Member| {
            let i = m.panel as usize;
            let slope = rows.slopes_of_interface(i, x[i]).unwrap_or(sides[i])[1 - m.inner()];
            m.sign * m.outward * rows.areas[i] * outside(m) * slope
        };
        let told = -surface.members.iter().map(flux).sum::<f64>() / (4.0 * PI);
        let shift = (told - enclosed) / total;
        let own: BTreeSet<usize> = metal().map(|(i, _)| i).collect();
        let shifts: Vec<(usize, f64)> = own.iter().map(|&i| (i, shift * weight(i))).collect();
        shifts.into_iter().for_each(|(i, more)| free[i] += more);
        own.into_iter().for_each(|i| is_fixed[i] = true);
    }
}
