//! Error bars: how far the numbers of a solution may be from those of the exact solution on the
//! same surfaces (docs/math.md, "Error estimates").

use nalgebra::{DMatrix, DVector};

use crate::problem::Problem;
use crate::solution::ConductorState;
use crate::units;

/// Estimates are multiplied by this: they find half of the error at the rims of films, 0.7 of it at
/// the edges of cubes and nearly all on smooth surfaces, since edges leave more to densities on
/// finer meshes than the next.
const SAFETY: f64 = 2.0;

/// Meshes of so many triangles hide as much again from the estimate: edges, which need it most, are
/// next to every triangle.
const COARSE: f64 = 40.0;

/// Bars of a solution's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Of the entries of the matrix `answer.maxwell`, over 4 pi eps like these.
    pub maxwell: Vec<Vec<f64>>,
    /// Of each conductor's potential in volt and charge in coulomb; empty without a state.
    pub conductors: Vec<ConductorBars>,
    /// Of the energy that surfaces add to point charges, in joule; `None` without charges.
    pub reaction_j: Option<f64>,
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

impl Bars {
    /// From the estimated errors of the answers to the problem's excitations.
    pub(crate) fn new(
        problem: &Problem,
        estimate: bem::ErrorEstimate,
        answer: &bem::Electrostatics,
    ) -> Self {
        let bounds = bounds(problem, &estimate, answer);
        let count = problem.conductors.names.len();
        let eps = problem.description.relative_permittivity;
        let row = |i: usize| (0..count).map(|j| bounds[i][j] / eps).collect();
        Self {
            maxwell: (0..count).map(row).collect(),
            conductors: Vec::new(),
            reaction_j: None,
            sides: estimate.sides,
        }
        .with_state(problem, answer, &bounds)
    }

    /// Adds the bars of the state that these answers make.
    fn with_state(
        mut self,
        problem: &Problem,
        answer: &bem::Electrostatics,
        bounds: &[Vec<f64>],
    ) -> Self {
        let count = problem.conductors.names.len();
        let has_sources = problem.description.has_sources();
        if !problem.description.has_state() {
            return self;
        }
        let conditions = crate::state::conditions(problem);
        let sources = has_sources.then_some(count);
        let Some(state) = answer.state(&conditions, sources) else { return self };
        // What is added to the excitation of the sources.
        let had = |k: usize| sources.map_or(0.0, |s| answer.responses[s].potentials[k]);
        let added: Vec<f64> = (0..count).map(|k| (state.potentials[k] - had(k)).abs()).collect();
        let off = |row: &[f64]| -> f64 {
            let of_units: f64 = row.iter().zip(&added).map(|(bar, v)| bar * v).sum();
            of_units + sources.map_or(0.0, |s| row[s])
        };
        let mut charges: Vec<f64> = bounds[..count].iter().map(|row| off(row)).collect();
        let mut potentials = vec![0.0; count];
        let is_floating = |k: &usize| matches!(conditions[*k], bem::Condition::Charge(_));
        let floating: Vec<usize> = (0..count).filter(is_floating).collect();
        let capacitance = |i: usize, j: usize| answer.responses[j].conductor_charge[i];
        if !floating.is_empty() {
            let m = floating.len();
            let matrix = DMatrix::from_fn(m, m, |a, b| capacitance(floating[a], floating[b]));
            let of_floating = DVector::from_iterator(m, floating.iter().map(|&k| charges[k]));
            if let Some(inverse) = matrix.try_inverse() {
                let off = inverse.abs() * of_floating;
                floating.iter().zip(off.iter()).for_each(|(&k, off)| potentials[k] = *off);
            }
            for i in 0..count {
                let by_others = |&k: &usize| capacitance(i, k).abs() * potentials[k];
                charges[i] += floating.iter().map(by_others).sum::<f64>();
            }
            floating.iter().for_each(|&k| charges[k] = 0.0);
        }
        // A charge over 4 pi eps0 is a potential times a length.
        let coulomb = units::farads(1.0, problem.description.unit);
        self.conductors = potentials
            .iter()
            .zip(&charges)
            .map(|(&potential_v, charge)| ConductorBars { potential_v, charge_c: charge * coulomb })
            .collect();
        if let Some(s) = sources.filter(|_| problem.description.has_charges()) {
            // Reciprocity: what floating potentials are off by acts by the charge that sources
            // induce.
            let induced = |k: usize| answer.responses[s].conductor_charge[k].abs();
            let by_potentials: f64 = (0..count).map(|k| induced(k) * potentials[k]).sum();
            self.reaction_j = Some(0.5 * coulomb * (off(&bounds[s]) + by_potentials));
        }
        self
    }

    /// The same with what a solve to `tolerance` leaves of this energy.
    pub(crate) fn with_energy(self, reaction_j: Option<f64>, tolerance: f64) -> Self {
        let left = |bar: f64| bar + tolerance * reaction_j.unwrap_or(0.0).abs();
        Self { reaction_j: self.reaction_j.map(left), ..self }
    }

    /// The same times `factor`.
    pub(crate) fn times(mut self, factor: f64) -> Self {
        self.maxwell.iter_mut().flatten().for_each(|bar| *bar *= factor);
        for bars in &mut self.conductors {
            bars.potential_v *= factor;
            bars.charge_c *= factor;
        }
        self.reaction_j = self.reaction_j.map(|bar| bar * factor);
        self
    }

    /// The bar of a number of [`crate::Solution::quantities`], in its unit, by its name.
    pub fn of_quantity(&self, name: &str, conductors: &[ConductorState]) -> Option<f64> {
        if name == crate::solution::SOLVATION_ENERGY {
            return self.reaction_j.map(units::kilocalorie_per_mole);
        }
        let bars = self.conductors.iter().zip(conductors);
        bars.filter_map(|(bars, conductor)| {
            let is = |kind: &str| name == format!("{kind}({})", conductor.name);
            let floats = conductor.floating;
            (is("V") && floats).then_some(bars.potential_v).or((is("Q")).then_some(bars.charge_c))
        })
        .next()
    }
}

/// Bars of the energies of all pairs of excitations that were estimated: charges over 4 pi eps0
/// times potentials.
fn bounds(
    problem: &Problem,
    estimate: &bem::ErrorEstimate,
    answer: &bem::Electrostatics,
) -> Vec<Vec<f64>> {
    let owner = &problem.conductors.of_triangle;
    let count = problem.conductors.names.len();
    let mut triangles = vec![0usize; count];
    owner.iter().flatten().for_each(|&c| triangles[c as usize] += 1);
    let interfaces = owner.iter().filter(|owner| owner.is_none()).count();
    let coarse = |triangles: usize| 1.0 + COARSE / triangles.max(1) as f64;
    // Sources act on everything.
    let of_conductors = |i: usize| match triangles.get(i) {
        Some(&triangles) => coarse(triangles),
        None => triangles.iter().map(|&n| coarse(n)).fold(1.0, f64::max),
    };
    let energy = |i: usize, j: usize| {
        let entry = |i: usize, j: usize| {
            let response = answer.responses.get(j)?;
            Some(response.conductor_charge.get(i)?.abs())
        };
        // Of sources, the charge that they induce at the potential that they are at.
        entry(i, j).or_else(|| entry(j, i)).unwrap_or(0.0)
    };
    let size = |i: usize, j: usize| match i.max(j) < count {
        true => (energy(i, i) * energy(j, j)).sqrt(),
        false => energy(i, j),
    };
    let left = |j: usize| {
        let residual = answer.responses.get(j).map_or(0.0, |response| response.relative_residual);
        residual.max(answer.tolerance) + answer.fmm_error_potential.unwrap_or(0.0)
    };
    let all = estimate.of_conductors_at_most.len();
    let bound = |i: usize, j: usize| {
        let metal = estimate.of_conductors_at_most[i][j] * of_conductors(i).max(of_conductors(j));
        let interface = estimate.of_interfaces_at_most[i][j] * coarse(interfaces);
        SAFETY * (metal + interface) + left(j) * size(i, j)
    };
    (0..all).map(|i| (0..all).map(|j| bound(i, j)).collect()).collect()
}
