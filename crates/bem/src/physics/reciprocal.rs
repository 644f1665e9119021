//! Entries of the capacitance matrix that their own row does not resolve, from the transposed entry
//! (docs/math.md, "Gauss's law").
//!
//! The free charge of metal is eps times a field next to it. On metal in contact with a high
//! permittivity the charge that a distant conductor induces is a small difference of fields times
//! that permittivity, and errors of the mesh are multiplied by it. The charge that this metal
//! induces on the other one is no such difference, and both are the same number.

use super::free_charge::{Total, amplification};
use super::rows::Rows;
use super::{Excitation, Response};
use crate::constants::AMPLIFIED;

/// An entry of the capacitance matrix that was replaced by its transpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replaced {
    /// Row and column.
    pub at: [usize; 2],
    /// The value from its own row, in the matrix's unit.
    pub was: f64,
}

/// For each conductor the error of its free charge: the field's error, amplified, over its largest
/// piece.
fn errors_of_charge(rows: &Rows, amplified: &[f64]) -> Vec<f64> {
    let mut areas = vec![0.0f64; amplified.len()];
    for (i, conductor) in rows.conductor.iter().enumerate() {
        if let Some(area) = conductor.and_then(|k| areas.get_mut(k as usize)) {
            *area = area.max(rows.pieces.area(i));
        }
    }
    amplified.iter().zip(areas).map(|(amplified, area)| amplified * area.sqrt()).collect()
}

/// Replaces entries, if the first excitations are each conductor in turn at potential 1, without
/// sources; if only some conductors are excited, the entries between these. Also returns the
/// entries whose transpose is missing because their conductor is not excited. `triangles` are those
/// of panels, each with this number of copies.
pub(super) fn replace(
    rows: &Rows,
    totals: &[Total<'_>],
    triangles: &[u32],
    copies: f64,
    excitations: &[Excitation],
    responses: &mut [Response],
) -> (Vec<Replaced>, Vec<[usize; 2]>) {
    let conductors = excitations.first().map_or(0, |first| first.potentials.len());
    if conductors < 2 {
        return Default::default();
    }
    // The conductor that is at potential 1.
    let unit = |excitation: &Excitation| {
        let mut held = excitation.potentials.iter().enumerate().filter(|(_, volt)| **volt != 0.0);
        let is_alone = excitation.charges.is_empty() && excitation.field == [0.0; 3];
        let (conductor, volt) = held.next()?;
        (is_alone && *volt == 1.0 && held.next().is_none()).then_some(conductor)
    };
    // The excitation of each conductor.
    let mut excited: Vec<Option<usize>> = vec![None; conductors];
    for (index, excitation) in excitations.iter().enumerate() {
        match unit(excitation).and_then(|conductor| excited.get_mut(conductor)) {
            Some(place) if place.is_none() => *place = Some(index),
            _ => break,
        }
    }
    let amplified = amplification(rows, totals, conductors);
    let errors = errors_of_charge(rows, &amplified);
    let is_replaced = |i: usize, j: usize| {
        let by_permittivity = |i: usize, j: usize| amplified[i] > AMPLIFIED * amplified[j];
        // Next to a large conductor, a small one has the smaller errors in its own row.
        let by_size = || errors[i] > AMPLIFIED * errors[j];
        by_permittivity(i, j) || (!by_permittivity(j, i) && by_size())
    };
    let (mut replaced, mut unresolved) = (Vec::new(), Vec::new());
    for i in (0..conductors).filter(|&i| excited[i].is_none()) {
        let columns = (0..conductors).filter(|&j| excited[j].is_some() && is_replaced(i, j));
        unresolved.extend(columns.map(|j| [i, j]));
    }
    let each = || excited.iter().enumerate().filter_map(|(k, index)| Some((k, (*index)?)));
    for (i, of_i) in each() {
        for (j, of_j) in each().filter(|(j, _)| is_replaced(i, *j)) {
            let was = responses[of_j].conductor_charge[i];
            let charge = responses[of_i].conductor_charge[j];
            responses[of_j].conductor_charge[i] = charge;
            replaced.push(Replaced { at: [i, j], was });
            // Dominated by the panels with the largest amplification.
            let own = |panel: &usize| rows.conductor[*panel] == Some(i as u32);
            let weight = |panel: usize| rows.areas[panel] * rows.permittivity_next_to(panel);
            let panels = || (0..rows.areas.len()).filter(own);
            let total: f64 = panels().map(weight).sum();
            for panel in panels() {
                responses[of_j].free_charge[triangles[panel] as usize] +=
                    (charge - was) / copies * weight(panel) / total;
            }
        }
    }
    (replaced, unresolved)
}
