//! Error bars of the numbers of a solution.

/// Bars of a solution's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Of the entries of the matrix `answer.maxwell`, over 4 pi eps like these. NaN in rows of
    /// conductors that were not excited.
    pub maxwell: Vec<Vec<f64>>,
    /// Of each conductor's potential in volt and charge in coulomb; empty without a state.
    pub conductors: Vec<ConductorBars>,
    /// Of the energy that surfaces add to point charges, in joule; `None` without charges.
    pub reaction_j: Option<f64>,
    /// Of the polarisability over 4 pi eps0; `None` where it was not wanted, or where fields go
    /// through planes of symmetry, which takes solves of their own.
    pub polarisability: Option<[[f64; 3]; 3]>,
    /// Of the values at each probe.
    pub probes: Vec<ProbeBars>,
    /// Of the forces on bodies, in the order of [`crate::State::forces`].
    pub forces: Vec<ForceBar>,
    /// For each excitation of the solve and each triangle, what error of its energy belongs to each
    /// side: [`bem::ErrorEstimate::sides`].
    pub(crate) sides: Vec<Vec<[f64; 3]>>,
}

/// Bars of one conductor in a state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConductorBars {
    /// Volt; 0 where the potential is given.
    pub potential_v: f64,
    /// Coulomb; 0 where the charge is given.
    pub charge_c: f64,
}

/// Bars at the points of one probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeBars {
    /// Volt.
    pub potential_v: Vec<f64>,
    /// Of the field in any direction, volt a metre.
    pub field_v_per_m: Vec<f64>,
}

/// Bars of the force and the torque on one body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForceBar {
    /// Newton, in any direction.
    pub newton: f64,
    /// Newton metre, about any axis.
    pub newton_metre: f64,
}

impl Bars {
    /// Of an energy alone.
    pub(crate) fn of_reaction(reaction_j: f64) -> Self {
        Self {
            maxwell: Vec::new(),
            conductors: Vec::new(),
            reaction_j: Some(reaction_j),
            polarisability: None,
            probes: Vec::new(),
            forces: Vec::new(),
            sides: Vec::new(),
        }
    }

    /// The same with what a solve to `tolerance` leaves of this energy and polarisability.
    pub(crate) fn with_solver(
        mut self,
        reaction_j: Option<f64>,
        polarisability: Option<&[[f64; 3]; 3]>,
        tolerance: f64,
    ) -> Self {
        let left = |bar: f64| bar + tolerance * reaction_j.unwrap_or(0.0).abs();
        self.reaction_j = self.reaction_j.map(left);
        if let (Some(bars), Some(found)) = (&mut self.polarisability, polarisability) {
            let largest = found.iter().flatten().fold(0.0_f64, |m, value| m.max(value.abs()));
            bars.iter_mut().flatten().for_each(|bar| *bar += tolerance * largest);
        }
        self
    }

    /// The same times `factor`.
    pub(crate) fn times(mut self, factor: f64) -> Self {
        self.maxwell.iter_mut().flatten().for_each(|bar| *bar *= factor);
        for bars in &mut self.conductors {
            bars.potential_v *= factor;
            bars.charge_c *= factor;
        }
        self.reaction_j = self.reaction_j.map(|bar| bar * factor);
        self.polarisability.iter_mut().flatten().flatten().for_each(|bar| *bar *= factor);
        for bars in &mut self.probes {
            let all = bars.potential_v.iter_mut().chain(&mut bars.field_v_per_m);
            all.for_each(|bar| *bar *= factor);
        }
        for bar in &mut self.forces {
            bar.newton *= factor;
            bar.newton_metre *= factor;
        }
        self
    }
}
