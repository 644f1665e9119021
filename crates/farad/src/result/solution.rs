//! The results of a problem, in SI units except for lengths, which are in the problem's unit.

use crate::result::bars::Bars;
use crate::result::body::{Hydrodynamics, Polarisability};
use crate::result::matrices::{CapacitanceMatrix, Matrices, with_sums};
use crate::result::participation::{Derivative, FilmShare};
use crate::result::reduction::{Reduced, Reducer};
use crate::result::state::State;
use crate::result::warning::Warning;
use crate::units::LengthUnit;

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
    /// Names of conductors: the rows of the matrix.
    pub conductors: Vec<String>,
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
    /// How far the matrix may be from that of the exact solution on the same surfaces; `None`
    /// unless wanted, and then no value has a bar.
    pub bars: Option<Bars>,
    /// Warnings of self-checks.
    pub warnings: Vec<Warning>,
    /// With dielectrics, for each conductor at 1 V all charge of each triangle, free and bound, in
    /// coulomb; empty without dielectrics, or unless wanted.
    pub all_charge: Vec<Vec<f64>>,
    /// Results of the description's sensitivities.
    pub derivatives: Vec<Derivative>,
    /// Results of the description's films.
    pub films: Vec<FilmShare>,
    /// Whether surfaces are in layers.
    pub(crate) is_in_layers: bool,
    /// The answers to each conductor in turn at 1 V, if the former are wanted.
    pub(crate) units: Vec<bem::Response>,
    /// Missing charge of these on each triangle, if bars of films are requested.
    pub(crate) missing: Vec<Vec<f64>>,
    /// Reductions for [`Solution::reduced`].
    pub(crate) reducers: Vec<Reducer>,
    /// Wall seconds of the error estimate.
    pub estimate_seconds: f64,
    /// Wall seconds of the self-checks.
    pub check_seconds: f64,
    /// Wall seconds of everything that follows from the surface charge.
    pub evaluation_seconds: f64,
}

impl Solution {
    /// The capacitance matrix.
    #[must_use]
    pub fn matrices(&self) -> Matrices {
        self.matrices_of(&self.answer.maxwell, self.relative_permittivity)
    }

    fn matrices_of(&self, over_4pi_eps: &[Vec<f64>], permittivity: f64) -> Matrices {
        Matrices::new(over_4pi_eps, &self.columns, permittivity, self.unit)
    }

    /// The capacitance matrix in a surrounding medium of another permittivity, where that is all
    /// that changes: charges at 1 V per permittivity are the same in any one medium. `None` with
    /// dielectrics, layers, a state, a polarisability or reductions.
    #[must_use]
    pub fn matrices_in(&self, relative_permittivity: f64) -> Option<Matrices> {
        let is_one_medium = self.gauss_defect.is_none() && !self.is_in_layers;
        let alone = is_one_medium
            && self.state.is_none()
            && self.polarisability.is_none()
            && self.reducers.is_empty();
        alone.then(|| self.matrices_of(&self.answer.maxwell, relative_permittivity))
    }

    /// Bars of the entries of [`Self::matrices`], unless none were wanted.
    #[must_use]
    pub fn matrix_bars(&self) -> Option<Matrices> {
        let of = self.matrices_of(&self.bars.as_ref()?.maxwell, self.relative_permittivity);
        let mutual_farad = with_sums(&of.maxwell_farad, &self.columns, |bar| bar);
        Some(Matrices { mutual_farad, ..of })
    }

    /// The conductors of the matrix's columns.
    #[must_use]
    pub fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|&conductor| self.conductors[conductor].clone()).collect()
    }

    /// The capacitance matrix with its names and bars.
    #[must_use]
    pub fn capacitance(&self) -> CapacitanceMatrix {
        CapacitanceMatrix {
            conductors: self.conductors.clone(),
            columns: self.column_names(),
            unit: self.unit,
            values: self.matrices(),
            bars: self.matrix_bars(),
        }
    }

    /// The capacitance matrices after the description's reductions, in farad.
    #[must_use]
    pub fn reduced(&self) -> Vec<Reduced> {
        if self.reducers.is_empty() {
            return Vec::new();
        }
        let (maxwell, bars) = (self.matrices().maxwell_farad, self.matrix_bars());
        let bars = bars.as_ref().map(|bars| bars.maxwell_farad.as_slice());
        self.reducers.iter().map(|reducer| reducer.apply(&maxwell, bars)).collect()
    }

    /// Whether every solve met the tolerance.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.answer.solves.iter().all(|solve| solve.reason == bem::StopReason::Converged)
    }

    /// Whether a self-check failed, so that the results are not to be used.
    #[must_use]
    pub fn failed_checks(&self) -> bool {
        self.warnings.iter().any(|warning| warning.is_error)
    }
}
