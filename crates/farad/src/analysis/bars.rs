//! Error bars: how far the numbers of a solution may be from those of the exact solution on the
//! same surfaces (docs/math.md, "Error estimates").

use nalgebra::DMatrix;

use crate::analysis::excitations;
use crate::problem::Problem;
use crate::result::bars::Bars;
use crate::result::matrices::square;
use crate::result::solution::Solution;
use crate::units;

/// Estimates are multiplied by this beyond what [`crate::problem::edges::weights`] are.
pub(crate) const SAFETY: f64 = 1.5;

/// Meshes of this many triangles hide as much again from the estimate: edges, which need it most,
/// are next to every triangle.
const COARSE: f64 = 40.0;

/// This part of two states' own errors counts where errors with their signs cancel.
const BY_CHANCE: f64 = 0.05;

/// The number of triangles of each conductor, and of interfaces.
fn triangles(problem: &Problem) -> (Vec<usize>, usize) {
    let mut of_conductors = vec![0; problem.conductors.names.len()];
    let mut of_interfaces = 0;
    for own in problem.conductors.of_triangle.chunk_by(|a, b| a == b) {
        match own[0] {
            Some(conductor) => of_conductors[conductor as usize] += own.len(),
            None => of_interfaces += own.len(),
        }
    }
    (of_conductors, of_interfaces)
}

/// Safety factor of estimates on this problem's mesh, as its coarsest surface needs.
pub(crate) fn factor(problem: &Problem) -> f64 {
    let (of_conductors, of_interfaces) = triangles(problem);
    let all = of_conductors.into_iter().chain([of_interfaces]).filter(|&triangles| triangles > 0);
    SAFETY * all.map(coarse).fold(1.0, f64::max)
}

/// How much more a surface of this many triangles may hide than a fine one.
pub(crate) fn coarse(triangles: usize) -> f64 {
    1.0 + COARSE / triangles.max(1) as f64
}

/// Bars of what the answers to a problem's excitations lead to.
pub(crate) struct EstimatedBars {
    pub(crate) matrix: Bars,
    /// Empty without a state.
    pub(crate) conductors: Vec<ConductorBars>,
    /// Bar of the energy that surfaces add to point charges, in joule; `None` without charges.
    reaction_j: Option<f64>,
    /// Over 4 pi eps0; `None` where it is not wanted, or not known.
    polarisability: Option<[[f64; 3]; 3]>,
}

/// Bars of one conductor in a state.
pub(crate) struct ConductorBars {
    /// Volt; 0 where the potential is given.
    pub(crate) potential_v: f64,
    /// Coulomb; 0 where the charge is given.
    pub(crate) charge_c: f64,
}

impl EstimatedBars {
    /// From the estimated errors of the answers to the problem's excitations, and what fringes hide
    /// from the estimate.
    pub(crate) fn new(
        problem: &Problem,
        estimate: bem::ErrorEstimate,
        hidden: &[Vec<f64>],
        answer: &bem::Electrostatics,
    ) -> Self {
        let by_conductors = Some(&estimate.of_conductors_at_most);
        let bounds = bounds(problem, by_conductors, &estimate.of_interfaces_at_most, answer);
        let signed = Signed::new(problem, &estimate, hidden, answer);
        let eps = problem.description.relative_permittivity;
        let excited = &problem.excited;
        let mut maxwell = vec![vec![f64::NAN; excited.len()]; problem.conductors.names.len()];
        for (row, &conductor) in bounds.iter().zip(excited) {
            maxwell[conductor] = row[..excited.len()].iter().map(|bound| bound / eps).collect();
        }
        Self {
            matrix: Bars { maxwell, sides: estimate.sides },
            conductors: Vec::new(),
            reaction_j: None,
            polarisability: polarisability(problem, answer, &bounds, &signed),
        }
        .with_state(problem, answer, &bounds, &signed)
    }

    /// Puts the bars next to their values, with what a solve to `tolerance` leaves of these.
    pub(crate) fn give_to(self, solution: &mut Solution, tolerance: f64) {
        if let Some(state) = &mut solution.state {
            for (found, bars) in state.conductors.iter_mut().zip(&self.conductors) {
                found.potential_error_v = Some(bars.potential_v);
                found.charge_error_c = Some(bars.charge_c);
            }
            if let Some(found) = &mut state.solvation {
                let left = tolerance * found.energies.reaction_j.abs();
                found.reaction_error_j = self.reaction_j.map(|bar| bar + left);
            }
        }
        if let Some(found) = &mut solution.polarisability {
            let values = found.over_4pi_eps0.iter().flatten();
            let left = tolerance * values.fold(0.0_f64, |most, value| most.max(value.abs()));
            let bars = self.polarisability.map(|bars| bars.map(|row| row.map(|bar| bar + left)));
            found.over_4pi_eps0_error = bars;
        }
        solution.bars = Some(self.matrix);
    }

    /// Adds the bars of the state that these answers make.
    fn with_state(
        mut self,
        problem: &Problem,
        answer: &bem::Electrostatics,
        bounds: &[Vec<f64>],
        signed: &Signed,
    ) -> Self {
        let count = problem.conductors.names.len();
        let has_sources = problem.description.has_sources();
        if !problem.description.has_state() {
            return self;
        }
        let conditions = excitations::conditions(problem);
        let sources = has_sources.then_some(count);
        let Some(state) = answer.state(&conditions, sources) else { return self };
        // Potentials added to the excitation of the sources.
        let had = |k: usize| sources.map_or(0.0, |s| answer.responses[s].potentials[k]);
        let added: Vec<f64> = (0..count).map(|k| (state.potentials[k] - had(k)).abs()).collect();
        let off = |row: &[f64]| -> f64 {
            let of_units: f64 = row.iter().zip(&added).map(|(bar, v)| bar * v).sum();
            of_units + sources.map_or(0.0, |s| row[s])
        };
        let at_most: Vec<f64> = bounds[..count].iter().map(|row| off(row)).collect();
        // The state, as shares of excitations.
        let mut all = vec![0.0; bounds.len()];
        (0..count).for_each(|k| all[k] = state.potentials[k] - had(k));
        sources.into_iter().for_each(|s| all[s] = 1.0);
        let charge = |k: usize| {
            let mut own = vec![0.0; bounds.len()];
            own[k] = 1.0;
            signed.of(&own, &all).min(at_most[k])
        };
        let mut charges: Vec<f64> = (0..count).map(charge).collect();
        let mut potentials = vec![0.0; count];
        let floating = excitations::floating(&conditions);
        let capacitance = |i: usize, j: usize| answer.responses[j].conductor_charge[i];
        if !floating.is_empty() {
            let m = floating.len();
            let matrix = DMatrix::from_fn(m, m, |a, b| capacitance(floating[a], floating[b]));
            if let Some(inverse) = matrix.try_inverse() {
                for (a, &k) in floating.iter().enumerate() {
                    // The potentials that a charge on this conductor alone makes.
                    let mut alone = vec![0.0; bounds.len()];
                    floating.iter().enumerate().for_each(|(b, &i)| alone[i] = inverse[(a, b)]);
                    let at_most: f64 = floating.iter().map(|&i| alone[i].abs() * at_most[i]).sum();
                    potentials[k] = signed.of(&alone, &all).min(at_most);
                }
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
}

impl Solution {
    /// Multiplies the bars of matrix, state, polarisability and films by `factor`.
    pub(crate) fn stretch_bars(&mut self, factor: f64) {
        let matrix = self.bars.iter_mut().flat_map(|bars| bars.maxwell.as_mut_slice());
        let mut all: Vec<&mut f64> = matrix.flatten().collect();
        if let Some(state) = &mut self.state {
            for found in &mut state.conductors {
                all.extend(found.potential_error_v.iter_mut().chain(&mut found.charge_error_c));
            }
            all.extend(state.solvation.iter_mut().flat_map(|found| &mut found.reaction_error_j));
            for bars in state.probes.iter_mut().filter_map(|found| found.bars.as_mut()) {
                all.extend(bars.potential_v.iter_mut().chain(&mut bars.field_v_per_m));
            }
            for force in state.forces.iter_mut().flatten() {
                all.extend(force.newton_error.iter_mut().chain(&mut force.newton_metre_error));
            }
        }
        all.extend(self.films.iter_mut().flat_map(|film| &mut film.bars));
        let tensor = self.polarisability.iter_mut().flat_map(|of| &mut of.over_4pi_eps0_error);
        all.extend(tensor.flatten().flatten());
        all.into_iter().for_each(|bar| *bar *= factor);
    }
}

/// Errors of the energies of all pairs of excitations, with their sign, for states in which errors
/// cancel: of a charge between two plates, what both miss of the field around them.
struct Signed {
    by_conductors: Vec<Vec<f64>>,
    /// Other errors, all of them positive.
    others: Vec<Vec<f64>>,
}

impl Signed {
    fn new(
        problem: &Problem,
        estimate: &bem::ErrorEstimate,
        hidden: &[Vec<f64>],
        answer: &bem::Electrostatics,
    ) -> Self {
        let others = bounds(problem, None, &estimate.of_interfaces_at_most, answer);
        let mut by_conductors = estimate.of_conductors.clone();
        for (row, hidden) in by_conductors.iter_mut().zip(hidden) {
            row.iter_mut().zip(hidden).for_each(|(energy, hidden)| *energy += hidden);
        }
        let factor = factor(problem);
        by_conductors.iter_mut().flatten().for_each(|energy| *energy *= factor);
        Self { by_conductors, others }
    }

    /// Error of the mutual energy of two states, given as shares of excitations. Errors may cancel
    /// by chance: part of the two states' own errors counts in any case.
    fn of(&self, a: &[f64], b: &[f64]) -> f64 {
        let form = |matrix: &[Vec<f64>], a: &[f64], b: &[f64]| -> f64 {
            let row = |row: &Vec<f64>| row.iter().zip(b).map(|(entry, b)| entry * b).sum::<f64>();
            matrix.iter().zip(a).map(|(entries, a)| a * row(entries)).sum()
        };
        let of = |a: &[f64], b: &[f64]| form(&self.by_conductors, a, b).abs();
        let [sizes_a, sizes_b] = [a, b].map(|of| of.iter().map(|x| x.abs()).collect::<Vec<f64>>());
        let own = (of(a, a) * of(b, b)).sqrt();
        of(a, b) + BY_CHANCE * own + form(&self.others, &sizes_a, &sizes_b)
    }
}

/// Bars of the dipole moments that fields of unit strength make: by reciprocity products of the
/// field's own excitation and that of the field along which the moment is taken, both with the
/// potentials that uncharged conductors have.
fn polarisability(
    problem: &Problem,
    answer: &bem::Electrostatics,
    bounds: &[Vec<f64>],
    signed: &Signed,
) -> Option<[[f64; 3]; 3]> {
    let (along, across) = excitations::field_axes(problem);
    if !problem.description.polarisability || !across.is_empty() {
        return None;
    }
    let count = problem.conductors.names.len();
    let first = count + usize::from(problem.description.has_sources());
    let uncharged = vec![bem::Condition::Charge(0.0); count];
    // The share of each excitation in the state of a field.
    let shares = |index: usize| -> Option<Vec<f64>> {
        let field = answer.responses.get(first + index)?;
        let state = answer.state(&uncharged, Some(first + index))?;
        let mut shares = vec![0.0; bounds.len()];
        for (k, share) in shares.iter_mut().take(count).enumerate() {
            *share = state.potentials[k] - field.potentials[k];
        }
        *shares.get_mut(first + index)? = 1.0;
        Some(shares)
    };
    let shares: Vec<Vec<f64>> = (0..along.len()).map(shares).collect::<Option<_>>()?;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        let row = |row: &Vec<f64>| row.iter().zip(b).map(|(bound, b)| bound * b.abs()).sum::<f64>();
        let at_most = bounds.iter().zip(a).map(|(bounds, a)| a.abs() * row(bounds)).sum::<f64>();
        signed.of(a, b).min(at_most)
    };
    let mut bars = [[0.0; 3]; 3];
    for (a, &i) in along.iter().enumerate() {
        for (b, &j) in along.iter().enumerate() {
            bars[i][j] = product(&shares[a], &shares[b]);
        }
    }
    Some(bars)
}

/// Bars of the energies of all pairs of excitations, by what is missing of these at most by
/// conductors, if that counts, and by interfaces: charges over 4 pi eps0 times potentials.
fn bounds(
    problem: &Problem,
    by_conductors: Option<&Vec<Vec<f64>>>,
    by_interfaces: &[Vec<f64>],
    answer: &bem::Electrostatics,
) -> Vec<Vec<f64>> {
    let (triangles, interfaces) = triangles(problem);
    // Sources act on everything.
    let excited = &problem.excited;
    let of_conductors = |i: usize| match excited.get(i) {
        Some(&conductor) => coarse(triangles[conductor]),
        None => triangles.iter().map(|&n| coarse(n)).fold(1.0, f64::max),
    };
    let energy = |i: usize, j: usize| {
        let entry = |i: usize, j: usize| {
            let response = answer.responses.get(j)?;
            Some(response.conductor_charge.get(*excited.get(i)?)?.abs())
        };
        // Of sources, the charge that they induce at the potential that they are at.
        entry(i, j).or_else(|| entry(j, i)).unwrap_or(0.0)
    };
    let size = |i: usize, j: usize| match i.max(j) < excited.len() {
        true => (energy(i, i) * energy(j, j)).sqrt(),
        false => energy(i, j),
    };
    let left = |j: usize| {
        let residual = answer.responses.get(j).map_or(0.0, |response| response.relative_residual);
        residual.max(answer.tolerance) + answer.fmm_error_potential.unwrap_or(0.0)
    };
    let all = by_interfaces.len();
    let bound = |i: usize, j: usize| {
        let metal = by_conductors.map_or(0.0, |missing| missing[i][j]);
        let metal = metal * of_conductors(i).max(of_conductors(j));
        let interface = by_interfaces[i][j] * coarse(interfaces);
        SAFETY * (metal + interface) + left(j) * size(i, j)
    };
    square(all, bound)
}
