//! One state of a system, combined from the answers to its excitations.

use nalgebra::{DMatrix, DVector};

use super::Electrostatics;

/// The given quantity of a conductor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// It is held at this potential.
    Potential(f64),
    /// It floats, with this free charge over 4 pi eps0.
    Charge(f64),
}

/// Potentials and charges, charges over 4 pi eps0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// Potential of each conductor.
    pub potentials: Vec<f64>,
    /// Free charge on each conductor.
    pub conductor_charge: Vec<f64>,
    /// Total charge of each triangle, free and bound.
    pub charge: Vec<f64>,
    /// As in [`Response::at_corners`](super::Response::at_corners).
    pub at_corners: Vec<[f64; 3]>,
    /// Free charge of each triangle.
    pub free_charge: Vec<f64>,
}

impl Electrostatics {
    /// The state in which conductor k meets `conditions[k]`, with the sources of excitation
    /// `sources`, or without sources (`None`). The first excitations must have been each conductor
    /// in turn at potential 1, the others at 0, without sources. The excitation of the sources may
    /// have any potentials: the closer they are to the result, the fewer digits cancel.
    ///
    /// `None` if there is no such excitation, or if the given charges do not determine the
    /// potentials.
    #[must_use]
    pub fn state(&self, conditions: &[Condition], sources: Option<usize>) -> Option<State> {
        let count = conditions.len();
        let units = self.responses.get(..count)?;
        let sources = match sources {
            Some(index) => Some(self.responses.get(index)?),
            None => None,
        };
        let floating: Vec<(usize, f64)> = conditions
            .iter()
            .enumerate()
            .filter_map(|(k, condition)| match condition {
                Condition::Charge(q) => Some((k, *q)),
                Condition::Potential(_) => None,
            })
            .collect();
        let mut potentials: Vec<f64> = conditions
            .iter()
            .map(|condition| match condition {
                Condition::Potential(v) => *v,
                Condition::Charge(_) => 0.0,
            })
            .collect();
        // Subtract the conductors' potentials in the sources' excitation.
        let had = match sources {
            Some(sources) => sources.potentials.clone(),
            None => vec![0.0; count],
        };
        if had.len() != count {
            return None;
        }
        for &(k, _) in &floating {
            potentials[k] = had[k];
        }
        let charge_at = |potentials: &[f64], k: usize| -> f64 {
            let units = units.iter().zip(potentials.iter().zip(&had));
            let held: f64 =
                units.map(|(unit, (v, had))| (v - had) * unit.conductor_charge[k]).sum();
            held + sources.map_or(0.0, |sources| sources.conductor_charge[k])
        };
        if !floating.is_empty() {
            let m = floating.len();
            let matrix =
                DMatrix::from_fn(m, m, |a, b| units[floating[b].0].conductor_charge[floating[a].0]);
            let missing = floating.iter().map(|&(k, q)| q - charge_at(&potentials, k));
            let found = matrix.lu().solve(&DVector::from_iterator(m, missing))?;
            floating.iter().zip(found.iter()).for_each(|(&(k, _), v)| potentials[k] += *v);
        }
        let triangles = self.responses.first().map_or(0, |response| response.charge.len());
        let corners = self.responses.first().map_or(0, |response| response.at_corners.len());
        let mut state = State {
            conductor_charge: (0..count).map(|k| charge_at(&potentials, k)).collect(),
            charge: vec![0.0; triangles],
            at_corners: vec![[0.0; 3]; corners],
            free_charge: vec![0.0; triangles],
            potentials,
        };
        let moved = state.potentials.iter().zip(&had).map(|(v, had)| v - had);
        let terms = units.iter().zip(moved);
        for (response, factor) in terms.chain(sources.map(|sources| (sources, 1.0))) {
            for (sum, part) in [
                (&mut state.charge, &response.charge),
                (&mut state.free_charge, &response.free_charge),
            ] {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += factor * part);
            }
            for (sum, part) in state.at_corners.iter_mut().zip(&response.at_corners) {
                (0..3).for_each(|k| sum[k] += factor * part[k]);
            }
        }
        Some(state)
    }
}
