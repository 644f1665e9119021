//! The numbers of a solution other than its matrix, each with its key, unit and bar.

use serde::{Deserialize, Serialize};

use crate::result::key::{Axis, Key, MatrixEntry};
use crate::result::solution::Solution;
use crate::result::state::{ConductorState, State};
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
    /// Unit of both.
    pub unit: Unit,
}

impl Solution {
    /// Its numbers other than the matrix, with their bars, in an order that only the description
    /// determines.
    pub fn quantities(&self) -> Vec<(Key, Measured)> {
        let mut all = self.state.as_ref().map(State::quantities).unwrap_or_default();
        all.extend(self.polarisabilities());
        all.extend(self.reduced_quantities());
        all
    }

    /// The diagonal of the polarisability, if that is wanted.
    fn polarisabilities(&self) -> impl Iterator<Item = (Key, Measured)> {
        let unit = Unit::Cubed(self.unit);
        self.polarisability.iter().flat_map(move |found| {
            Axis::ALL.map(|axis| {
                let k = axis.index();
                let bar = found.over_4pi_eps0_error.map(|bars| bars[k][k]);
                let value = found.over_4pi_eps0[k][k];
                (Key::Polarisability { moment: axis, field: axis }, Measured { value, bar, unit })
            })
        })
    }

    /// The numbers of reductions: a capacitance between two nets, or the entries of a matrix on and
    /// above its diagonal.
    fn reduced_quantities(&self) -> Vec<(Key, Measured)> {
        let unit = Unit::Farad;
        let mut all = Vec::new();
        for found in self.reduced() {
            if let (Some(value), [a, b, ..]) = (found.between, &found.nets[..]) {
                let key = Key::Between { reduction: found.name, nets: [a.clone(), b.clone()] };
                all.push((key, Measured { value, bar: found.between_bar, unit }));
                continue;
            }
            for (i, row) in found.maxwell.iter().enumerate() {
                for (j, &value) in row.iter().enumerate().skip(i) {
                    let bar = found.bars.as_ref().map(|bars| bars[i][j]);
                    let entry = MatrixEntry::new(&found.nets, i, j);
                    let key = Key::Reduced { reduction: found.name.clone(), entry };
                    all.push((key, Measured { value, bar, unit }));
                }
            }
        }
        all
    }
}

impl State {
    /// Its numbers: potentials or charges of conductors, energies, forces.
    fn quantities(&self) -> Vec<(Key, Measured)> {
        let mut all: Vec<_> = self.conductors.iter().map(ConductorState::unknown).collect();
        if let Some(solvation) = &self.solvation {
            let energies = &solvation.energies;
            let mut energy = |key: Key, joule: f64, bar: Option<f64>| {
                let (value, bar) =
                    (units::kilocalorie_per_mole(joule), bar.map(units::kilocalorie_per_mole));
                all.push((key, Measured { value, bar, unit: Unit::KilocaloriePerMole }));
            };
            energy(Key::SolvationEnergy, energies.reaction_j, solvation.reaction_error_j);
            if solvation.reaction_v.len() > 1 {
                // The energy of the charges alone is exact.
                energy(Key::CoulombEnergy, energies.coulomb_j, None);
                energy(Key::TotalEnergy, energies.total_j(), solvation.reaction_error_j);
            }
        }
        for force in self.forces.iter().flatten() {
            all.extend(Axis::ALL.into_iter().zip(force.newton).map(|(axis, value)| {
                let key = Key::Force { body: force.name.clone(), axis };
                (key, Measured { value, bar: force.newton_error, unit: Unit::Newton })
            }));
        }
        all
    }
}

impl ConductorState {
    /// The potential if the charge is given, else the charge.
    pub(crate) fn unknown(&self) -> (Key, Measured) {
        let conductor = self.name.clone();
        if self.floating {
            let (value, bar) = (self.potential_v, self.potential_error_v);
            (Key::Potential { conductor }, Measured { value, bar, unit: Unit::Volt })
        } else {
            let (value, bar) = (self.charge_c, self.charge_error_c);
            (Key::Charge { conductor }, Measured { value, bar, unit: Unit::Coulomb })
        }
    }
}
