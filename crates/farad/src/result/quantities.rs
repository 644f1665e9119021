//! The numbers of a solution other than its matrix: their names, units and bars.

use crate::result::bars::{Bars, ConductorBars, ForceBar};
use crate::result::matrices::entry_name;
use crate::result::reduction::Reduced;
use crate::result::solution::Solution;
use crate::result::state::{ConductorState, Force, State};
use crate::units;

/// The energy that surfaces add.
pub const SOLVATION_ENERGY: &str = "solvation energy";

/// The energy of the charges alone, which does not depend on the mesh.
pub const COULOMB_ENERGY: &str = "Coulomb energy";

/// Both together.
pub const TOTAL_ENERGY: &str = "total energy";

/// A number of the result other than the matrix: name, unit, value.
pub type Quantity = (String, &'static str, f64);

impl Solution {
    /// Its numbers other than the matrix, in an order that only the description determines.
    pub fn quantities(&self) -> Vec<Quantity> {
        let mut all = Vec::new();
        if let Some(state) = &self.state {
            for conductor in &state.conductors {
                let name = &conductor.name;
                all.push(if conductor.floating {
                    (format!("V({name})"), "V", conductor.potential_v)
                } else {
                    (format!("Q({name})"), "C", conductor.charge_c)
                });
            }
            if let Some(solvation) = &state.solvation {
                let energies = &solvation.energies;
                let mut energy = |name: &str, joule: f64| {
                    all.push((name.to_owned(), "kcal/mol", units::kilocalorie_per_mole(joule)));
                };
                energy(SOLVATION_ENERGY, energies.reaction_j);
                if solvation.reaction_v.len() > 1 {
                    energy(COULOMB_ENERGY, energies.coulomb_j);
                    energy(TOTAL_ENERGY, energies.total_j());
                }
            }
            for force in state.forces.iter().flatten() {
                let axes = ["x", "y", "z"].iter().zip(force.newton);
                all.extend(axes.map(|(axis, f)| (format!("F{axis}({})", force.name), "N", f)));
            }
        }
        if let Some(found) = &self.polarisability {
            for (i, axis) in ["x", "y", "z"].iter().enumerate() {
                let value = found.over_4pi_eps0[i][i];
                let unit = self.unit.cubed();
                all.push((format!("polarisability {axis}{axis}/(4 pi eps0)"), unit, value));
            }
        }
        all.extend(
            self.reduced_quantities().into_iter().map(|(name, value, _)| (name, "F", value)),
        );
        all
    }

    /// The numbers of reductions in farad, with their bars: a capacitance between two nets, or the
    /// entries of a matrix on and above its diagonal.
    pub(crate) fn reduced_quantities(&self) -> Vec<(String, f64, Option<f64>)> {
        let mut all = Vec::new();
        for Reduced { name, nets, maxwell, bars, between } in self.reduced() {
            if let Some((value, bar)) = between {
                all.push((format!("{name}: C between {} and {}", nets[0], nets[1]), value, bar));
                continue;
            }
            for (i, row) in maxwell.iter().enumerate() {
                for (j, value) in row.iter().enumerate().skip(i) {
                    let bar = bars.as_ref().map(|bars| bars[i][j]);
                    all.push((format!("{name}: {}", entry_name(&nets, i, j)), *value, bar));
                }
            }
        }
        all
    }
}

impl Bars {
    /// The bar of a number of [`crate::Solution::quantities`], in its unit, by its name.
    pub fn of_quantity(&self, name: &str, state: Option<&State>) -> Option<f64> {
        if let Some(axes) = name.strip_prefix("polarisability ") {
            let axis = |k: usize| "xyz".find(axes.get(k..k + 1)?);
            return Some(self.polarisability?[axis(0)?][axis(1)?]);
        }
        // The energy of the charges alone is exact.
        if [SOLVATION_ENERGY, TOTAL_ENERGY].contains(&name) {
            return self.reaction_j.map(units::kilocalorie_per_mole);
        }
        let state = state?;
        let bars = self.conductors.iter().zip(&state.conductors);
        let of_conductor = |(bars, conductor): (&ConductorBars, &ConductorState)| {
            let is = |kind: &str| name == format!("{kind}({})", conductor.name);
            let floats = conductor.floating;
            (is("V") && floats).then_some(bars.potential_v).or((is("Q")).then_some(bars.charge_c))
        };
        let of_force = |(bar, force): (&ForceBar, &Force)| {
            let is = |axis: &str| name == format!("F{axis}({})", force.name);
            ["x", "y", "z"].into_iter().any(is).then_some(bar.newton)
        };
        let forces = self.forces.iter().zip(state.forces.iter().flatten());
        bars.filter_map(of_conductor).next().or_else(|| forces.filter_map(of_force).next())
    }
}
