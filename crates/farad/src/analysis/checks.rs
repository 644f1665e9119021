//! Self-checks at the end of every solve: properties that exact results have are measured on the
//! computed ones and judged.
//!
//! `bem` measures; this module decides what is a warning and what an error. docs/math.md,
//! "Self-checks", says where the promises come from, docs/results.md what a user reads.

use std::collections::HashMap;

use bem::checks::{Finding, Law, capacitance_matrix, ratio, replaced_entries};

use crate::analysis::excitations;
use crate::problem::Problem;
use crate::problem::fault::{Fault, Note};
use crate::result::bars::Bars;
use crate::result::participation::{Derivative, FilmShare};
use crate::result::state::Balance;
use crate::result::warning::{Remedy, Warning};

/// Factor by which the residual at a sample of panels may exceed the tolerance: few panels stand
/// for all, and the solve's own residual was computed with a fast sum that may be off by a third of
/// the tolerance.
const RESIDUAL_SHARE: f64 = 5.0;

/// As [`RESIDUAL_SHARE`], for a fast sum's error, measured at a sample of points; its tolerance is
/// for all points together.
const FMM_SHARE: f64 = 3.0;

/// Gauss's law is enforced in each product. The correction hides a defect of quadrature or sums,
/// which must be small compared with the charge.
const GAUSS: f64 = 1e-2;

/// Relative error of charges induced on conductors, in one medium: a few tolerances.
pub const INDUCED: f64 = 10.0;

/// As [`INDUCED`], in several media, where the error of the mesh dominates.
const INDUCED_BY_MESH: f64 = 0.1;

/// Share of the forces that may be left of their sum where action is reaction: quadrature of the
/// field of close bodies, well below what the mesh leaves.
const BALANCE: f64 = 1e-3;

/// Share of the energy up to which a film is so thin that it leaves the field as it is.
const THIN: f64 = 0.1;

/// Shares of the energy in all media may add up to so much more or less than 1, and be so far
/// below 0.
const SHARES: f64 = 5e-3;

/// Measurements after a solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// One for each excitation, by its index.
    pub(crate) residuals: Vec<bem::SampledResidual>,
    pub(crate) induced: Vec<Induced>,
    pub(crate) gauss_defect: Option<f64>,
}

/// The charge that sources induce on a conductor, by two ways.
#[derive(Clone, Debug)]
pub struct Induced {
    /// The charge, and what it is by potentials.
    pub by: bem::Reciprocity,
    /// Magnitudes of what has errors of the tolerance and is no part of it: charges that potentials
    /// hold there, which the induced one comes in addition to; and among dielectrics the sources
    /// times 1 V, since these may shield a conductor's potential from the sources.
    pub besides: f64,
}

impl Measured {
    /// Adds the measurements of further excitations.
    pub(crate) fn add(&mut self, other: Self) {
        self.residuals.extend(other.residuals);
        self.induced.extend(other.induced);
        self.gauss_defect = match (self.gauss_defect, other.gauss_defect) {
            (Some(a), Some(b)) => Some(if b > a || b.is_nan() { b } else { a }),
            (a, b) => a.or(b),
        };
    }
}

/// Films whose share of the energy says that they are not thin, and those whose share is not known.
pub(crate) fn films(films: &[FilmShare]) -> impl Iterator<Item = Warning> {
    let unknown = films.iter().filter_map(|film| {
        let mut shares = film.participation.iter().zip(&film.bars);
        let (share, bar) = shares.find(|(share, bar)| bar > share)?;
        let message = format!(
            "the bar of the film \"{}\" is longer than its share: refine (--accuracy), or choose a cutoff \
             that is small against the distances to a ground and to other metal",
            film.name
        );
        // The bar says so, too: no error.
        let warning = Warning::new("film", film.name.clone(), [*bar, *share], message);
        Some(Warning { is_error: false, ..warning })
    });
    let thick = films.iter().filter_map(|film| {
        let share = film.participation.iter().copied().fold(0.0, f64::max);
        let message = format!(
            "the film \"{}\" would have {:.0} % of the energy, too much for a film that does not change \
            the field: mesh it as a dielectric",
            film.name,
            100.0 * share
        );
        let name = film.name.clone();
        (share > THIN).then(|| Warning::new("film", name, [share, THIN], message))
    });
    unknown.chain(thick)
}

/// Shares of the energy are positive, and those of all media add up to 1.
pub fn participations(problem: &Problem, derivatives: &[Derivative]) -> Option<Warning> {
    let description = &problem.description;
    let mut media: Vec<&Derivative> = Vec::new();
    for of in derivatives.iter().filter(|of| !of.participation.is_empty()) {
        if media.iter().all(|known| known.by != of.by) {
            media.push(of);
        }
    }
    let layers = description.stack.as_ref().map_or(1, |stack| stack.layers.len() + 2);
    let grounds = description.stack.as_ref().map_or(0, |stack| {
        [stack.below, stack.above].iter().filter(|end| **end == bem::Beyond::Ground).count()
    });
    let is_all = media.len() == description.dielectrics.len() + layers - grounds;
    let least = media.iter().flat_map(|of| &of.participation).copied().fold(0.0, f64::min);
    let of_conductor = |k: usize| media.iter().map(|of| of.participation[k]).sum::<f64>();
    let off = (0..problem.conductors.names.len()).map(|k| {
        let sum = if media.is_empty() { 1.0 } else { of_conductor(k) };
        if is_all { (sum - 1.0).abs() } else { sum - 1.0 }
    });
    let off = off.fold(0.0, f64::max);
    let value = off.max(-least);
    (ratio(value, SHARES) > 1.0).then(|| {
        let what = match -least > off {
            true => format!("one of them is {least:.1e}"),
            false => format!("theirs add up to 1 but for {off:.1e}"),
        };
        let message = format!(
            "shares of the energy in media are positive and add up to 1, and {what}: \
             refine the mesh where metal and dielectrics meet"
        );
        Warning::new("participation", "sensitivities".to_owned(), [value, SHARES], message)
    })
}

/// Measures a solve, of this `system` if it is still there: the first excitations of a problem are
/// each conductor in turn at 1 V, and those with sources come after.
pub(crate) fn measure(
    problem: &Problem,
    media: bem::Media<'_>,
    system: Option<&bem::System>,
    excitations: &[bem::Excitation],
    answer: &bem::Electrostatics,
) -> Result<Measured, bem::Error> {
    let _span = tracing::debug_span!("self-checks").entered();
    let charges = answer.responses.iter().map(bem::Charges::from);
    let solved: Vec<(&bem::Excitation, bem::Charges<'_>)> =
        excitations.iter().zip(charges).collect();
    let residuals = match system {
        Some(system) => system.sampled_residual(&solved, answer.tolerance)?,
        None => bem::sampled_residual(&problem.mesh, media, &solved, answer.tolerance)?,
    };
    let gauss_defect = problem.media.is_some().then_some(answer.gauss_defect);
    Ok(Measured { residuals, induced: Vec::new(), gauss_defect })
}

/// Green's reciprocity between conductors and the sources of `excitation`, whose answer is
/// `driven`: that of which results are made. The first answers are those of each conductor in turn
/// at 1 V.
pub(crate) fn reciprocity(
    problem: &Problem,
    media: bem::Media<'_>,
    answer: &bem::Electrostatics,
    excitation: &bem::Excitation,
    driven: &bem::Response,
) -> Result<Vec<Induced>, bem::Error> {
    let units = &answer.responses[..media.conductors];
    // Reciprocity with an external field holds in this form only in one medium.
    if units.is_empty() || problem.media.is_some() && excitation.field != [0.0; 3] {
        return Ok(Vec::new());
    }
    // The induced charge alone: without the charge of conductors that are not at 0 V in this
    // excitation.
    let held = |k: usize| {
        let each = units.iter().zip(&driven.potentials);
        each.map(move |(unit, volt)| unit.conductor_charge[k] * volt)
    };
    let all = driven.conductor_charge.iter().enumerate();
    let charge: Vec<f64> = all.map(|(k, charge)| charge - held(k).sum::<f64>()).collect();
    let of_units: Vec<bem::Charges<'_>> = units.iter().map(bem::Charges::from).collect();
    let around = problem.description.relative_permittivity;
    let found = bem::reciprocity(&problem.mesh, media, around, &of_units, &charge, excitation)?;
    let all: f64 = excitation.charges.iter().map(|q| q.charge.abs()).sum();
    let shielded = if problem.media.is_some() { all } else { 0.0 };
    let with_besides = |by: bem::Reciprocity| {
        let held: f64 = held(by.conductor).map(f64::abs).sum();
        Induced { besides: held + shielded, by }
    };
    Ok(found.into_iter().map(with_besides).collect())
}

/// All broken promises of a solve.
pub(crate) fn judge(
    problem: &Problem,
    options: &bem::SolveOptions,
    answer: &bem::Capacitance,
    bars: Option<&Bars>,
    measured: &Measured,
) -> Vec<Warning> {
    let names = &problem.conductors.names;
    let residual = residual(problem, answer, &measured.residuals);
    let fmm_error = fmm_error(options.fmm_tolerance.is_some(), answer, residual.is_some());
    let mut warnings: Vec<Warning> = residual.into_iter().chain(fmm_error).collect();
    warnings.extend(gauss(measured.gauss_defect, answer));
    let is_in_doubt = |note: &Note| matches!(note, Note::ThroughItself { .. } | Note::Allowed(_));
    if problem.notes.iter().any(is_in_doubt) {
        // Gauss's law does not hold on such a surface, and a note has said that values near the
        // crossing are in doubt.
        warnings.iter_mut().for_each(|warning| warning.is_error = false);
    }
    warnings.extend(problem.notes.iter().filter_map(allowed));
    warnings.extend(unresolved(names, &answer.unresolved));
    warnings.extend(matrix(names, &problem.excited, answer, bars, problem.media.is_none()));
    warnings.extend(induced(problem, answer, &measured.induced));
    warnings.extend(coincident_charges(problem));
    warnings
}

/// Action and reaction: the bodies' forces, and their torques, add up to nothing where nothing else
/// acts.
pub fn balance(found: Balance) -> Option<Warning> {
    let value = if found.torque > found.force { found.torque } else { found.force };
    (ratio(value, BALANCE) > 1.0).then(|| {
        let message = format!(
            "the forces on the bodies add up to {:.1e} of their sizes and the torques to {:.1e} instead of 0: bodies are closer to \
            each other than their facets can follow; refine the mesh there",
            found.force, found.torque
        );
        Warning::new("balance", "forces".to_owned(), [value, BALANCE], message)
    })
}

/// A fault of the surfaces that the description allows, and how many there are.
fn allowed(note: &Note) -> Option<Warning> {
    let Note::Allowed(fault) = note else { return None };
    let (what, count) = match fault {
        Fault::Crossing { what, pairs, .. } => ((*what).to_owned(), *pairs),
        Fault::Touching(found) => ("conductors".to_owned(), found.pairs),
        Fault::Contradiction { count, .. } => ("media".to_owned(), *count),
        _ => ("surfaces".to_owned(), 1),
    };
    let warning = Warning::new("geometry", what, [count as f64, 0.0], note.to_string());
    Some(Warning { is_error: false, ..warning })
}

/// Two charges at one place: their Coulomb energy has no bound, and sums leave the pair out.
fn coincident_charges(problem: &Problem) -> Option<Warning> {
    let mut known: HashMap<[u64; 3], usize> = HashMap::new();
    for (index, source) in problem.sources.iter().enumerate().filter(|(_, q)| q.coulomb != 0.0) {
        // -0 + 0 is 0.
        let place = source.position.map(|x| (x + 0.0).to_bits());
        if let Some(first) = known.insert(place, index) {
            let [a, b] = [first, index].map(|index| problem.sources[index].called(index));
            let message = format!(
                "{a} and {b} are at the same place, where the energy of the pair is infinite: remove one of them"
            );
            let what = format!("{a}, {b}");
            return Some(Warning::new("coincident_charges", what, [1.0, 0.0], message));
        }
    }
    None
}

/// The equations at some panels, by another path than the solve's.
pub fn residual(
    problem: &Problem,
    answer: &bem::Capacitance,
    found: &[bem::SampledResidual],
) -> Option<Warning> {
    let tolerance = answer.tolerance;
    let excitation = |index: usize| problem.excitation_name(index);
    let asked = |index: usize| {
        if excitation(index) == excitations::STATE {
            tolerance.max(bem::internals::RESIDUAL_PER_FIELD)
        } else {
            tolerance
        }
    };
    type Found<'a> = (usize, &'a bem::SampledResidual);
    let times =
        |(index, residual): &Found<'_>| ratio(residual.relative, RESIDUAL_SHARE * asked(*index));
    let broken = found.iter().enumerate().filter(|found| times(found) > 1.0);
    let (index, worst) = broken.max_by(|a, b| times(a).total_cmp(&times(b)))?;
    let (excitation, asked) = (excitation(index), asked(index));
    let promise = RESIDUAL_SHARE * asked;
    let place = match worst.conductor.and_then(|k| problem.conductors.names.get(k as usize)) {
        Some(name) => format!("conductor \"{name}\""),
        None => "an interface".to_owned(),
    };
    let remedy = match answer.method {
        bem::Method::Dense => Remedy::Tolerance,
        _ => Remedy::Sums,
    };
    let message = format!(
        "the solution for {excitation:?} does not satisfy the equations on {place}: the residual there, from integrals of whole \
         rows, is {:.1e} where {asked:.1e} was asked for",
        worst.relative,
    );
    Some(Warning::new("residual", excitation, [worst.relative, promise], message).with(remedy))
}

/// The fast sum against direct sums. One whose tolerance follows the solver's is judged by what it
/// does to the equations: where charges nearly cancel, its error relative to their sum says little.
pub fn fmm_error(
    is_asked_for: bool,
    answer: &bem::Capacitance,
    equations_broken: bool,
) -> Option<Warning> {
    let (tolerance, error) = (answer.fmm_tolerance?, answer.fmm_error_sampled?);
    let promise = FMM_SHARE * tolerance;
    if ratio(error, promise) <= 1.0 || !(is_asked_for || equations_broken || error.is_nan()) {
        return None;
    }
    let message = format!(
        "fast sums differ from direct sums by {error:.1e}, more than the tolerance of {tolerance:.1e}: sizes or distances differ \
        too much for one sum"
    );
    let what = "fast sums".to_owned();
    Some(Warning::new("fmm_error", what, [error, promise], message).with(Remedy::Dense))
}

/// Symmetry, signs and row sums: for each law the worst entry, and how many others there are. Of
/// conductors that are not excited there are only charges, which make row sums by symmetry. A law
/// that is broken by no more than error bars say is one that a finer mesh will keep, and no error.
fn matrix(
    names: &[String],
    excited: &[usize],
    answer: &bem::Capacitance,
    bars: Option<&Bars>,
    one_medium: bool,
) -> Vec<Warning> {
    let all = &answer.maxwell;
    let c: Vec<Vec<f64>> = excited.iter().map(|&i| all[i].clone()).collect();
    let sums: Vec<f64> = match excited.len() == all.len() {
        true => c.iter().map(|row| row.iter().sum()).collect(),
        false => (0..excited.len()).map(|k| all.iter().map(|row| row[k]).sum()).collect(),
    };
    let names: Vec<String> = excited.iter().map(|&i| names[i].clone()).collect();
    let place = |conductor: usize| excited.iter().position(|&known| known == conductor);
    let replaced = answer.replaced.iter().filter_map(|entry| {
        let [i, j] = entry.at;
        Some(bem::Replaced { at: [place(i)?, place(j)?], ..*entry })
    });
    let replaced: Vec<bem::Replaced> = replaced.collect();
    let mut found = capacitance_matrix(&c, &sums, answer.tolerance, one_medium);
    found.extend(replaced_entries(&c, &replaced));
    let laws = [Law::Diagonal, Law::Symmetry, Law::Transposed, Law::OffDiagonal, Law::RowSum];
    let worst = |law: Law| {
        let mut of_law: Vec<&Finding> = found.iter().filter(|finding| finding.law == law).collect();
        of_law.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
        let first = **of_law.first()?;
        let others = match of_law.len() - 1 {
            0 => String::new(),
            1 => " (and of 1 other entry)".to_owned(),
            count => format!(" (and of {count} other entries)"),
        };
        let warning = entry(&names, &c, &first, &others);
        let is_expected = |finding: &&Finding| {
            let [i, j] = finding.at;
            let Some(rows) = bars.map(|bars| &bars.maxwell) else { return false };
            finding.value
                <= match law {
                    Law::OffDiagonal => rows[excited[i]][j],
                    Law::Symmetry => rows[excited[i]][j] + rows[excited[j]][i],
                    Law::RowSum => rows[excited[i]].iter().sum(),
                    Law::Diagonal | Law::Transposed => 0.0,
                }
        };
        let is_error = warning.is_error && !of_law.iter().all(is_expected);
        Some(Warning { is_error, ..warning })
    };
    laws.into_iter().filter_map(worst).collect()
}

/// The warning on an entry of the matrix `c` that breaks a law, and on `others` like it.
pub fn entry(names: &[String], c: &[Vec<f64>], finding: &Finding, others: &str) -> Warning {
    let [i, j] = finding.at;
    let name = |i: usize, j: usize| format!("C({}, {})", names[i], names[j]);
    let own = (c[i][i] * c[j][j]).abs().sqrt();
    let relative = |scale: f64| [finding.value / scale, finding.promise / scale];
    match finding.law {
        Law::Diagonal => {
            let largest = c.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
            let message = format!("{} is not positive{others}: the result is wrong", name(i, i));
            Warning::new("sign", name(i, i), relative(largest), message).with(Remedy::Mesh)
        }
        Law::OffDiagonal => {
            let message = format!(
                "{} is positive, {:.1e} of the conductors' own capacitances{others}, which is impossible; refine the mesh",
                name(i, j),
                finding.value / own
            );
            Warning::new("sign", name(i, j), relative(own), message)
        }
        Law::Symmetry => {
            let larger = c[i][j].abs().max(c[j][i].abs());
            let message = format!(
                "{} and {} differ by {:.1e} of the larger, where {:.1e} is expected{others}: the coupling is not known \
                 better than that; refine the mesh",
                name(i, j),
                name(j, i),
                finding.value / larger,
                finding.promise / larger
            );
            Warning::new("symmetry", name(i, j), relative(larger), message)
        }
        Law::Transposed => {
            let message = format!(
                "{} was replaced by {}: the charge on \"{}\" violates reciprocity by {:.1e} of its own capacitance, where {:.1e} is \
                expected{others}; the charge of metal next to high permittivities is not resolved, refine the mesh there",
                name(i, j),
                name(j, i),
                names[i],
                finding.value / c[i][i].abs(),
                finding.promise / c[i][i].abs()
            );
            Warning::new("symmetry", name(i, j), relative(c[i][i].abs()), message)
        }
        Law::RowSum => {
            let message = format!(
                "row \"{}\" of the matrix has a negative sum, {:.1e} of its diagonal{others}: with all conductors at one potential \
                 there would be charge of the wrong sign; refine the mesh",
                names[i],
                finding.value / c[i][i].abs()
            );
            Warning::new("row_sum", names[i].clone(), relative(c[i][i].abs()), message)
        }
    }
}

/// Gauss's law in the products of the fast method. Dense matrices are corrected column by column:
/// the defect of one facet's charge says nothing about the solution, and only rows of exact
/// integrals can be checked.
pub fn gauss(defect: Option<f64>, answer: &bem::Capacitance) -> Option<Warning> {
    let (defect, promise) = (defect?, GAUSS.max(answer.tolerance));
    answer.fmm.as_ref()?;
    (ratio(defect, promise) > 1.0).then(|| {
        let message = format!(
            "Gauss's law on a closed interface was off by {defect:.1e} of the charge before its correction: integrals or sums \
             there are wrong"
        );
        let what = "interfaces".to_owned();
        Warning::new("gauss", what, [defect, promise], message).with(Remedy::Mesh)
    })
}

/// Couplings that only the solve for another conductor would resolve.
pub fn unresolved(names: &[String], entries: &[[usize; 2]]) -> Option<Warning> {
    let [i, j] = *entries.first()?;
    let name = format!("C({}, {})", names[i], names[j]);
    let others = match entries.len() - 1 {
        0 => String::new(),
        1 => ", like 1 other entry".to_owned(),
        count => format!(", like {count} other entries"),
    };
    let message = format!(
        "{name} follows from the charge on \"{}\" next to a high permittivity, which is not resolved{others}: choose that net too, \
        then the entry follows from the charge on \"{}\"",
        names[i], names[j]
    );
    let warning = Warning::new("unresolved", name, [entries.len() as f64, 0.0], message);
    Some(Warning { is_error: false, ..warning })
}

/// Charge that point charges and field induce on conductors, against the potentials that these
/// conductors make there.
pub fn induced(problem: &Problem, answer: &bem::Capacitance, found: &[Induced]) -> Option<Warning> {
    let c = &answer.maxwell;
    let own = |k: usize| c[k][k].abs();
    // The largest effect of the sources, as a potential.
    let volt = found.iter().map(|f| f.by.size / own(f.by.conductor)).fold(0.0f64, f64::max);
    let by_mesh = if problem.media.is_some() { INDUCED_BY_MESH } else { 0.0 };
    let judged = found.iter().map(|Induced { by: f, besides }| {
        let by_residual = INDUCED * answer.tolerance * (own(f.conductor) * volt + besides);
        let (value, promise) =
            ((f.charge - f.by_potentials).abs(), by_residual.max(by_mesh * f.size));
        (f, value, promise)
    });
    let broken = judged.filter(|(_, value, promise)| ratio(*value, *promise) > 1.0);
    let (worst, value, promise) =
        broken.max_by(|a, b| ratio(a.1, a.2).total_cmp(&ratio(b.1, b.2)))?;
    let name = problem.conductors.names.get(worst.conductor)?;
    let relative = [value / worst.size, promise / worst.size];
    let message = format!(
        "the charge that the sources induce on \"{name}\" is off by {:.1e} by reciprocity, where {:.1e} is to be \
         expected; refine the mesh",
        relative[0], relative[1]
    );
    Some(Warning::new("reciprocity", name.clone(), relative, message))
}
