//! The numbers of a solution other than its matrix, each with its key, unit and bar.

use serde::{Deserialize, Serialize};

use crate::result::bars::Bars;
use crate::result::key::{Axis, Key, MatrixEntry};
use crate::result::reduction::Reduced;
use crate::result::solution::Solution;
use crate::result::state::State;
use crate::result::unit::Unit;
use crate::units;

/// A number of a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// In `unit`.
    pub value: f64,
    /// How far the value may be from that of the exact solution on the same surfaces, in `unit`;
    /// `None` where no bar is known.
    pub bar: Option<f64>,
    /// Of both.
    pub unit: Unit,
}

impl Solution {
    /// Its numbers other than the matrix, with their bars, in an order that only the description
    /// determines.
    pub fn quantities(&self) -> Vec<(Key, Measured)> {
        let state = self.state.as_ref();
        let mut all: Vec<(Key, Measured)> = state
            .map(State::quantities)
            .into_iter()
            .flatten()
            .chain(self.polarisabilities())
            .map(|(key, value, unit)| {
                let bar = self.bars().and_then(|bars| bars.of(&key, state));
                (key, Measured { value, bar, unit })
            })
            .collect();
        all.extend(self.reduced_quantities());
        all
    }

    /// The diagonal of the polarisability, if that is wanted.
    fn polarisabilities(&self) -> impl Iterator<Item = (Key, f64, Unit)> {
        let unit = Unit::Cubed(self.unit);
        self.polarisability.iter().flat_map(move |found| {
            Axis::ALL.map(|axis| {
                let value = found.over_4pi_eps0[axis.index()][axis.index()];
                (Key::Polarisability { moment: axis, field: axis }, value, unit)
            })
        })
    }

    /// The numbers of reductions: a capacitance between two nets, or the entries of a matrix on and
    /// above its diagonal.
    fn reduced_quantities(&self) -> Vec<(Key, Measured)> {
        let unit = Unit::Farad;
        let mut all = Vec::new();
        for Reduced { name, nets, maxwell, bars, between } in self.reduced() {
            if let (Some((value, bar)), [a, b, ..]) = (between, &nets[..]) {
                let nets = [a.clone(), b.clone()];
                all.push((Key::Between { reduction: name, nets }, Measured { value, bar, unit }));
                continue;
            }
            for (i, row) in maxwell.iter().enumerate() {
                for (j, &value) in row.iter().enumerate().skip(i) {
                    let bar = bars.as_ref().map(|bars| bars[i][j]);
                    let (reduction, entry) = (name.clone(), MatrixEntry::new(&nets, i, j));
                    all.push((Key::Reduced { reduction, entry }, Measured { value, bar, unit }));
                }
            }
        }
        all
    }
}

impl State {
    /// Its numbers: potentials or charges of conductors, energies, forces.
    fn quantities(&self) -> Vec<(Key, f64, Unit)> {
        let mut all = Vec::new();
        for found in &self.conductors {
            let conductor = found.name.clone();
            all.push(if found.floating {
                (Key::Potential { conductor }, found.potential_v, Unit::Volt)
            } else {
                (Key::Charge { conductor }, found.charge_c, Unit::Coulomb)
            });
        }
        if let Some(solvation) = &self.solvation {
            let energies = &solvation.energies;
            let mut energy = |key: Key, joule: f64| {
                all.push((key, units::kilocalorie_per_mole(joule), Unit::KilocaloriePerMole));
            };
            energy(Key::SolvationEnergy, energies.reaction_j);
            if solvation.reaction_v.len() > 1 {
                energy(Key::CoulombEnergy, energies.coulomb_j);
                energy(Key::TotalEnergy, energies.total_j());
            }
        }
        for force in self.forces.iter().flatten() {
            let key = |axis| Key::Force { body: force.name.clone(), axis };
            let each = Axis::ALL.into_iter().zip(force.newton);
            all.extend(each.map(|(axis, newton)| (key(axis), newton, Unit::Newton)));
        }
        all
    }
}

impl Bars {
    /// The bar of a number of [`Solution::quantities`] in its unit there, in the state that it is
    /// of. `None` where there is no bar, of what only an accuracy is asked of, and of entries of
    /// matrices, whose bars [`Solution::matrix_bars`] and [`Solution::reduced`] have.
    pub fn of(&self, key: &Key, state: Option<&State>) -> Option<f64> {
        let of_conductor = |name: &String| {
            let place = state?.conductors.iter().position(|found| found.name == *name)?;
            self.conductors.get(place)
        };
        match key {
            Key::Potential { conductor } => Some(of_conductor(conductor)?.potential_v),
            Key::Charge { conductor } => Some(of_conductor(conductor)?.charge_c),
            // The energy of the charges alone is exact.
            Key::SolvationEnergy | Key::TotalEnergy => {
                self.reaction_j.map(units::kilocalorie_per_mole)
            }
            Key::Force { body, .. } => {
                let mut forces = state?.forces.iter().flatten();
                let place = forces.position(|found| found.name == *body)?;
                Some(self.forces.get(place)?.newton)
            }
            Key::Polarisability { moment, field } => {
                Some(self.polarisability?[moment.index()][field.index()])
            }
            Key::Capacitance(_)
            | Key::CoulombEnergy
            | Key::ForceSize { .. }
            | Key::ProbePotential { .. }
            | Key::ProbeField { .. }
            | Key::Reduced { .. }
            | Key::Between { .. } => None,
        }
    }
}
