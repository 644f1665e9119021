//! The results of a problem, in SI units except for lengths, which are in the problem's unit.

use crate::bars::Bars;
use crate::checks::{self, Warning};
use crate::fault::Error;
use crate::films::{self, FilmShare};
use crate::forces::{Balance, Force};
use crate::hydrodynamics::Hydrodynamics;
use crate::probes::Probed;
use crate::problem::Problem;
use crate::reduction::{Reduced, Reducer};
use crate::sensitivity::{self, Derivative};
use crate::study::entry_name;
use crate::units::{self, LengthUnit};

/// The energy that surfaces add.
pub const SOLVATION_ENERGY: &str = "solvation energy";

/// The energy of the charges alone, which does not depend on the mesh.
pub const COULOMB_ENERGY: &str = "Coulomb energy";

/// Both together.
pub const TOTAL_ENERGY: &str = "total energy";

/// All that was found.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The problem's unit.
    pub unit: LengthUnit,
    /// Relative permittivity of the surrounding medium.
    pub relative_permittivity: f64,
    /// How densities vary over triangles.
    pub density: bem::Density,
    /// The solver's answer: [`Solution::matrices`] has the matrix in farad.
    pub answer: bem::Capacitance,
    /// The conductor of each column of the matrix: all, unless the description chooses some.
    pub columns: Vec<usize>,
    /// `None` if no potential, charge or field is set.
    pub state: Option<State>,
    /// `None` unless wanted.
    pub polarisability: Option<Polarisability>,
    /// `None` unless wanted.
    pub hydrodynamics: Option<Hydrodynamics>,
    /// Largest relative defect of Gauss's law that was corrected; `None` without dielectrics.
    pub gauss_defect: Option<f64>,
    /// How far its numbers may be from those of the exact solution on the same surfaces; `None`
    /// unless wanted.
    pub bars: Option<Bars>,
    /// What self-checks found wrong.
    pub warnings: Vec<Warning>,
    /// With dielectrics, for each conductor at 1 V all charge of each triangle, free and bound, in
    /// coulomb; empty without dielectrics, or unless wanted.
    pub all_charge: Vec<Vec<f64>>,
    /// What the description's sensitivities ask for.
    pub derivatives: Vec<Derivative>,
    /// What the description's films ask for.
    pub films: Vec<FilmShare>,
    /// Whether surfaces are in layers.
    pub(crate) is_in_layers: bool,
    /// The answers to each conductor in turn at 1 V, if the former are wanted.
    pub(crate) units: Vec<bem::Response>,
    /// What these miss on each triangle, if bars of films are wanted.
    pub(crate) missing: Vec<Vec<f64>>,
    /// What [`Solution::reduced`] does.
    pub(crate) reducers: Vec<Reducer>,
    /// Wall seconds of the error estimate.
    pub estimate_seconds: f64,
    /// Wall seconds of the self-checks.
    pub check_seconds: f64,
    /// Wall seconds of everything that follows from the surface charge.
    pub evaluation_seconds: f64,
}

/// A number of the result other than the matrix: name, unit, value.
pub type Quantity = (String, &'static str, f64);

impl Solution {
    /// The capacitance matrix.
    pub fn matrices(&self) -> Matrices {
        self.matrices_of(&self.answer.maxwell, self.relative_permittivity)
    }

    fn matrices_of(&self, over_4pi_eps: &[Vec<f64>], permittivity: f64) -> Matrices {
        Matrices::new(over_4pi_eps, &self.columns, permittivity, self.unit)
    }

    /// The capacitance matrix in a surrounding medium of another permittivity, where that is all
    /// that changes: charges at 1 V per permittivity are the same in any one medium. `None` with
    /// dielectrics, layers, a state, a polarisability or reductions.
    pub fn matrices_in(&self, relative_permittivity: f64) -> Option<Matrices> {
        let is_one_medium = self.gauss_defect.is_none() && !self.is_in_layers;
        let alone = is_one_medium
            && self.state.is_none()
            && self.polarisability.is_none()
            && self.reducers.is_empty();
        alone.then(|| self.matrices_of(&self.answer.maxwell, relative_permittivity))
    }

    /// Bars of the entries of [`Self::matrices`], unless none were wanted.
    pub fn matrix_bars(&self) -> Option<Matrices> {
        let of = self.matrices_of(&self.bars()?.maxwell, self.relative_permittivity);
        let mutual_farad = with_sums(&of.maxwell_farad, &self.columns, |bar| bar);
        Some(Matrices { mutual_farad, ..of })
    }

    /// Finds the derivatives and the shares of films that the description of its problem wants.
    pub(crate) fn find_derivatives(
        &mut self,
        problem: &Problem,
        progress: &dyn bem::Progress,
    ) -> Result<(), Error> {
        let (matrix, bars) = (self.matrices().maxwell_farad, self.matrix_bars());
        let matrix = (&matrix, bars.as_ref().map(|bars| &bars.maxwell_farad));
        self.derivatives = sensitivity::find(problem, &self.units, matrix, progress)?;
        self.warnings.extend(checks::participations(problem, &self.derivatives));
        let relative = matrix.1.map(|bars| {
            let own = bars.iter().zip(matrix.0).enumerate();
            // There are no films where some of the conductors alone are excited.
            let relative = |(k, (bars, row)): (usize, (&Vec<f64>, &Vec<f64>))| {
                Some((bars.get(k)? / row.get(k)?).abs())
            };
            own.filter_map(relative).collect::<Vec<f64>>()
        });
        let capacitances = relative.as_deref();
        let missing = films::Missing { capacitances, charges: &self.missing };
        self.films = films::find(problem, &self.units, &missing)?;
        self.warnings.extend(checks::films(&self.films));
        Ok(())
    }

    /// What the description's reductions make of the capacitance matrix, in farad.
    pub fn reduced(&self) -> Vec<Reduced> {
        if self.reducers.is_empty() {
            return Vec::new();
        }
        let (maxwell, bars) = (self.matrices().maxwell_farad, self.matrix_bars());
        let bars = bars.as_ref().map(|bars| bars.maxwell_farad.as_slice());
        self.reducers.iter().map(|reducer| reducer.apply(&maxwell, bars)).collect()
    }

    /// The bars of all its numbers, unless none were wanted.
    pub fn bars(&self) -> Option<&Bars> {
        self.bars.as_ref()
    }

    /// Whether every solve met the tolerance.
    pub fn converged(&self) -> bool {
        self.answer.solves.iter().all(|solve| solve.reason == bem::StopReason::Converged)
    }

    /// Whether a self-check failed, so that the results are not to be used.
    pub fn failed_checks(&self) -> bool {
        self.warnings.iter().any(|warning| warning.is_error)
    }

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

/// The state that the given potentials, charges and field lead to.
#[derive(Clone, Debug)]
pub struct State {
    /// All conductors.
    pub conductors: Vec<ConductorState>,
    /// `None` without point charges.
    pub solvation: Option<Solvation>,
    /// All charge of each triangle, free and bound, in coulomb.
    pub charge: Vec<f64>,
    /// Free charge of each triangle in coulomb.
    pub free_charge: Vec<f64>,
    /// Potential of each triangle in volt, NaN where there is neither conductor nor interface;
    /// `None` unless wanted.
    pub potential: Option<Vec<f64>>,
    /// Values at each of the description's probes.
    pub probes: Vec<Probed>,
    /// `None` unless wanted.
    pub forces: Option<Vec<Force>>,
    /// `None` where anything but the bodies themselves acts on them.
    pub balance: Option<Balance>,
}

/// One conductor in a state.
#[derive(Clone, Debug, PartialEq)]
pub struct ConductorState {
    /// Its name.
    pub name: String,
    /// Volt.
    pub potential_v: f64,
    /// Free charge in coulomb.
    pub charge_c: f64,
    /// Whether its charge is given, not its potential.
    pub floating: bool,
}

/// The effect of the surfaces on the point charges.
#[derive(Clone, Debug, PartialEq)]
pub struct Solvation {
    /// Potential of all surface charge at each point charge, in volt.
    pub reaction_v: Vec<f64>,
    /// Potential of the other point charges at each, in volt.
    pub coulomb_v: Vec<f64>,
    /// Of all together.
    pub energies: Energies,
    /// Each molecule's part.
    pub molecules: Vec<Molecule>,
}

/// Parts of the electrostatic energy of point charges, without that of each charge in its own
/// field, in joule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energies {
    /// Half the charges times the potentials of the other charges, each over the permittivity of
    /// its own medium.
    pub coulomb_j: f64,
    /// Half the charges times the potentials of all surface charge, that on grounded planes
    /// included: the solvation energy.
    pub reaction_j: f64,
}

impl Energies {
    /// Both together.
    pub fn total_j(&self) -> f64 {
        self.coulomb_j + self.reaction_j
    }
}

/// A dielectric with atoms in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Molecule {
    /// Its name.
    pub name: String,
    /// How many atoms.
    pub atoms: usize,
    /// Net charge in elementary charges.
    pub charge_e: f64,
    /// Its atoms' part of the energies.
    pub energies: Energies,
    /// Least distance of an atom from a surface, in the problem's unit.
    pub least_distance: Option<f64>,
}

/// Dipole moment of all bodies together over a uniform field, conductors uncharged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polarisability {
    /// Over 4 pi eps0, in the cube of the problem's unit: column k is the moment in a field along
    /// axis k.
    pub over_4pi_eps0: [[f64; 3]; 3],
}

/// The capacitance matrix in the forms that are reported, rows as they were computed: one row for
/// each conductor, and one column for each or for those that were chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrices {
    /// C/(4 pi eps0) in the problem's unit.
    pub maxwell_length: Vec<Vec<f64>>,
    /// The same in farad: Q_i = sum_j C_ij V_j.
    pub maxwell_farad: Vec<Vec<f64>>,
    /// In farad between conductors, and on the diagonal to infinity.
    pub mutual_farad: Vec<Vec<f64>>,
    /// max |C_ij - C_ji| / max |C_ij|, where both are known.
    pub relative_asymmetry: f64,
}

impl Matrices {
    /// Converts the solver's C/(4 pi eps), a length in `unit`, for a surrounding medium of this
    /// relative permittivity.
    pub fn new(
        over_4pi_eps: &[Vec<f64>],
        columns: &[usize],
        permittivity: f64,
        unit: LengthUnit,
    ) -> Self {
        let each = |rows: &[Vec<f64>], f: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().map(|&value| f(value)).collect()).collect()
        };
        let maxwell_length = each(over_4pi_eps, &|length| length * permittivity);
        let maxwell_farad = each(&maxwell_length, &|length| units::farads(length, unit));
        Self {
            mutual_farad: with_sums(&maxwell_farad, columns, |c| -c),
            relative_asymmetry: relative_asymmetry(&maxwell_length, columns),
            maxwell_length,
            maxwell_farad,
        }
    }
}

/// The SPICE form of a Maxwell matrix: capacitances between conductors, and on the diagonal those
/// to infinity.
pub fn mutual(maxwell: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..maxwell.len()).collect();
    with_sums(maxwell, &all, |c| -c)
}

/// The entries off the diagonal changed, and on the diagonal the sums of rows. Where there are
/// only some of the columns, those of rows that are not whole are the columns', by symmetry.
fn with_sums(
    matrix: &[Vec<f64>],
    columns: &[usize],
    off_diagonal: impl Fn(f64) -> f64,
) -> Vec<Vec<f64>> {
    let mut changed: Vec<Vec<f64>> =
        matrix.iter().map(|row| row.iter().map(|c| off_diagonal(*c)).collect()).collect();
    let is_whole = columns.len() == matrix.len();
    for (k, &conductor) in columns.iter().enumerate() {
        changed[conductor][k] = match is_whole {
            true => matrix[conductor].iter().sum(),
            false => matrix.iter().map(|row| row[k]).sum(),
        };
    }
    changed
}

/// The entries of a matrix of so many rows and these columns without those that others are equal
/// to by symmetry: row and place in the row, row by row.
pub fn distinct_entries(rows: usize, columns: &[usize]) -> Vec<(usize, usize)> {
    let mut is_column = vec![false; rows];
    columns.iter().for_each(|&conductor| is_column[conductor] = true);
    let is_column = &is_column;
    let of_row = |i: usize| {
        let each = columns.iter().enumerate();
        each.filter(move |(_, conductor)| i <= **conductor || !is_column[i])
            .map(move |(k, _)| (i, k))
    };
    (0..rows).flat_map(of_row).collect()
}

/// The largest difference between an entry and its transposed one, over the largest entry.
pub fn relative_asymmetry(matrix: &[Vec<f64>], columns: &[usize]) -> f64 {
    let largest = matrix.iter().flatten().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let mut difference = 0.0_f64;
    for (a, &i) in columns.iter().enumerate() {
        for (b, &j) in columns.iter().enumerate() {
            difference = difference.max((matrix[i][b] - matrix[j][a]).abs());
        }
    }
    if largest > 0.0 { difference / largest } else { 0.0 }
}
