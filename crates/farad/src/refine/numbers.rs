//! The numbers that an accuracy is asked of, with their bars, in a solution.

use mesh::vector::norm;

use crate::analysis::{excitations, forces};
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::refine::target::Target;
use crate::result::bars::Bars;
use crate::result::key::{Axis, Key, MatrixEntry};
use crate::result::solution::Solution;
use crate::result::state::{ConductorState, Force, ProbeBars, Probed, State};
use crate::result::unit::Unit;
use crate::scene::description::Setting;

/// A force is asked for relative to this share of the forces on a body's parts, if they cancel to
/// less than that; a charge, and a potential, which is one over a capacitance, relative to this
/// share of those on its parts.
const OF_PARTS: f64 = 0.1;

/// One number that is asked for.
pub(crate) struct Number {
    pub(crate) key: Key,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
    pub(crate) bar: f64,
    /// The size that the accuracy is relative to.
    pub(crate) size: f64,
    /// The excitations whose energies' errors are its own, and how much of it each of their
    /// energies makes.
    pub(crate) shares: Vec<(usize, f64)>,
}

impl Number {
    /// The bar relative to the size; 0 where the number is exact.
    pub(crate) fn relative(&self) -> f64 {
        if self.bar == 0.0 { 0.0 } else { self.bar / self.size.max(f64::MIN_POSITIVE) }
    }
}

/// The numbers that are asked for, with their bars.
pub(crate) fn find(
    problem: &Problem,
    solution: &Solution,
    target: &Target,
) -> Result<Vec<Number>, Error> {
    let Some(bars) = &solution.bars else { return Err(target.nothing()) };
    let results = Results { problem, solution, bars };
    let numbers = match target {
        Target::All => results.all(),
        Target::Entry(a, b) => results.named_entry(a, b).into_iter().collect(),
        Target::Energy => results.energy().into_iter().collect(),
        Target::Polarisability => results.polarisability(),
        Target::Films => results.films(|_| true),
        Target::Film(name) => results.films(|film| film == name),
        of_state => match &solution.state {
            Some(state) => OfState { results: &results, state }.find(of_state),
            None => Vec::new(),
        },
    };
    if numbers.is_empty() { Err(target.nothing()) } else { Ok(numbers) }
}

/// Refuses a target of which a problem has no numbers, as far as that is known before a solve.
pub(crate) fn check(problem: &Problem, target: &Target) -> Result<(), Error> {
    let description = &problem.description;
    let is_floating = |name: &String| {
        let is_there = description.has_state() && problem.conductors.names.contains(name);
        let setting = excitations::setting(problem, name);
        is_there.then_some(matches!(setting, Some(Setting::Charge(_))))
    };
    let has_any = match target {
        Target::All => !problem.excited.is_empty() || description.has_charges(),
        Target::Energy => description.has_charges(),
        Target::Entry(a, b) => entry(problem, a, b).is_some(),
        Target::Potential(name) => is_floating(name) == Some(true),
        Target::Charge(name) => is_floating(name) == Some(false),
        Target::Force(name) => {
            let is_asked = description.forces && description.has_state();
            is_asked && forces::bodies(problem).iter().any(|(body, _)| body == name)
        }
        Target::Probe(name) | Target::Field(name) => {
            description.has_state() && description.probes.iter().any(|probe| probe.name == *name)
        }
        Target::Polarisability => {
            description.polarisability && excitations::field_axes(problem).1.is_empty()
        }
        Target::Films => !description.films.is_empty(),
        Target::Film(name) => description.films.iter().any(|film| film.name == *name),
    };
    if has_any { Ok(()) } else { Err(target.nothing()) }
}

/// The excited conductors of these names, by their numbers among them; others have no bars.
fn entry(problem: &Problem, a: &str, b: &str) -> Option<[usize; 2]> {
    let names = &problem.conductors.names;
    let index = |name: &str| problem.excited.iter().position(|&k| names[k] == name);
    // Names may have commas: whichever split of both is known.
    let both = format!("{a}, {b}");
    let mut splits = both.match_indices(',').filter_map(|(comma, _)| {
        Some([index(both[..comma].trim())?, index(both[comma + 1..].trim())?])
    });
    splits.next()
}

struct Results<'a> {
    problem: &'a Problem,
    solution: &'a Solution,
    bars: &'a Bars,
}

impl Results<'_> {
    /// The error of an excitation that the sides of all triangles have.
    fn error(&self, excitation: usize) -> f64 {
        self.bars.sides.get(excitation).map_or(0.0, |sides| sides.iter().flatten().sum())
    }

    /// Shares of excitations that make a number each.
    fn each(&self, excitations: impl IntoIterator<Item = usize>) -> Vec<(usize, f64)> {
        let share = |excitation: usize| {
            let error = self.error(excitation);
            (error > 0.0).then(|| (excitation, 1.0 / error))
        };
        excitations.into_iter().filter_map(share).collect()
    }

    /// All entries of the matrix and the solvation energy.
    fn all(&self) -> Vec<Number> {
        let excited = &self.problem.excited;
        let farad = &self.solution.matrices().maxwell_farad;
        let own = |i: usize| farad[excited[i]][i].abs();
        let mut all = Vec::new();
        for i in 0..excited.len() {
            for j in 0..excited.len() {
                all.push(Number { size: own(i).min(own(j)), ..self.entry(farad, i, j) });
            }
        }
        all.extend(self.energy());
        all
    }

    /// The entry between conductors of these names, if both are excited.
    fn named_entry(&self, a: &str, b: &str) -> Option<Number> {
        let [i, j] = entry(self.problem, a, b)?;
        Some(self.entry(&self.solution.matrices().maxwell_farad, i, j))
    }

    /// The entry of the matrix between two of the excited conductors, relative to itself.
    fn entry(&self, farad: &[Vec<f64>], i: usize, j: usize) -> Number {
        let [row, column] = [i, j].map(|k| self.problem.excited[k]);
        let (value, length) = (farad[row][j], self.solution.answer.maxwell[row][j]);
        let per_length = if length == 0.0 { 0.0 } else { value / length };
        Number {
            key: Key::Capacitance(MatrixEntry::new(&self.problem.conductors.names, row, column)),
            unit: Unit::Farad,
            value,
            bar: self.bars.maxwell[row][j] * per_length.abs(),
            size: value.abs(),
            shares: self.each([i, j]),
        }
    }

    /// The solvation energy.
    fn energy(&self) -> Option<Number> {
        let solvation = self.solution.state.as_ref()?.solvation.as_ref()?;
        let value = solvation.energies.reaction_j;
        Some(Number {
            key: Key::SolvationEnergy,
            unit: Unit::Joule,
            value,
            bar: solvation.reaction_error_j?,
            size: value.abs(),
            shares: self.each([self.problem.conductors.names.len()]),
        })
    }

    /// The shares of the films of these names.
    fn films(&self, is_asked: impl Fn(&str) -> bool) -> Vec<Number> {
        let names = &self.problem.conductors.names;
        let mut all = Vec::new();
        for film in self.solution.films.iter().filter(|film| is_asked(&film.name)) {
            let shares = film.participation.iter().zip(&film.bars).zip(names);
            for (k, ((&value, &bar), conductor)) in shares.enumerate() {
                let (film, conductor) = (film.name.clone(), conductor.clone());
                all.push(Number {
                    key: Key::Participation { film, conductor },
                    unit: Unit::Ratio,
                    value,
                    bar,
                    size: value,
                    shares: self.each([k]),
                });
            }
        }
        all
    }

    fn polarisability(&self) -> Vec<Number> {
        let tensor = self.solution.polarisability.as_ref();
        let Some((values, bars)) =
            tensor.and_then(|found| Some((found.over_4pi_eps0, found.over_4pi_eps0_error?)))
        else {
            return Vec::new();
        };
        let size = values.iter().flatten().fold(0.0_f64, |size, value| size.max(value.abs()));
        let sources = usize::from(self.problem.description.has_sources());
        let first = self.problem.conductors.names.len() + sources;
        let fields = first..first + excitations::field_axes(self.problem).0.len();
        let mut all = Vec::new();
        for moment in Axis::ALL {
            for field in Axis::ALL {
                all.push(Number {
                    key: Key::Polarisability { moment, field },
                    unit: Unit::Cubed(self.problem.description.unit),
                    value: values[moment.index()][field.index()],
                    bar: bars[moment.index()][field.index()],
                    size,
                    shares: self.each(fields.clone()),
                });
            }
        }
        all
    }
}

/// Numbers of a state.
struct OfState<'a> {
    results: &'a Results<'a>,
    state: &'a State,
}

impl OfState<'_> {
    fn find(&self, target: &Target) -> Vec<Number> {
        match target {
            Target::Potential(name) => self.unknown(name, true).into_iter().collect(),
            Target::Charge(name) => self.unknown(name, false).into_iter().collect(),
            Target::Force(name) => self.forces(name),
            Target::Probe(name) => self.probe_potentials(name).unwrap_or_default(),
            Target::Field(name) => self.probe_fields(name).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Shares of the excitations in the state: their energies are added up with the squares of the
    /// potentials.
    fn shares(&self) -> Vec<(usize, f64)> {
        let volts = self.state.conductors.iter().map(|conductor| conductor.potential_v.powi(2));
        let sources = self.results.problem.description.has_sources().then_some(1.0);
        let all: Vec<(usize, f64)> = volts.chain(sources).enumerate().collect();
        let error: f64 = all.iter().map(|&(k, factor)| factor * self.results.error(k)).sum();
        let share = |(k, factor): (usize, f64)| (error > 0.0).then(|| (k, factor / error));
        all.into_iter().filter_map(share).collect()
    }

    fn number(&self, key: Key, unit: Unit, value: f64, bar: f64) -> Number {
        Number { key, unit, value, bar, size: value.abs(), shares: self.shares() }
    }

    /// The potential of a conductor that is `floating`, or the charge of one that is not.
    fn unknown(&self, name: &str, floating: bool) -> Option<Number> {
        let is_wanted = |found: &ConductorState| found.name == name && found.floating == floating;
        let conductor = self.state.conductors.iter().position(is_wanted)?;
        let (key, found) = self.state.conductors[conductor].unknown();
        let number = self.number(key, found.unit, found.value, found.bar?);
        let on_parts = self.charge_on_parts(conductor);
        let parts = if floating { on_parts / self.own_capacitance(conductor)? } else { on_parts };
        Some(Number { size: number.size.max(OF_PARTS * parts), ..number })
    }

    /// Sum of the sizes of the free charges of a conductor's triangles, in coulomb.
    fn charge_on_parts(&self, conductor: usize) -> f64 {
        let owners = &self.results.problem.conductors.of_triangle;
        let charges = owners.iter().zip(&self.state.free_charge);
        let own = charges.filter(|(owner, _)| **owner == Some(conductor as u32));
        own.map(|(_, charge)| charge.abs()).sum()
    }

    /// In farad.
    fn own_capacitance(&self, conductor: usize) -> Option<f64> {
        let column = self.results.problem.excited.iter().position(|&k| k == conductor)?;
        Some(self.results.solution.matrices().maxwell_farad[conductor][column])
    }

    fn forces(&self, name: &str) -> Vec<Number> {
        let of_body = self.state.forces.iter().flatten().filter(|force| force.name == name);
        let key = || Key::ForceSize { body: name.to_owned() };
        let number = |force: &Force| {
            let value = norm(force.newton);
            let number = self.number(key(), Unit::Newton, value, force.newton_error?);
            Some(Number { size: value.max(OF_PARTS * force.on_parts), ..number })
        };
        of_body.filter_map(number).collect()
    }

    fn probe_potentials(&self, name: &str) -> Option<Vec<Number>> {
        let (found, bars) = self.probe(name)?;
        let key = |point| Key::ProbePotential { probe: name.to_owned(), point };
        Some(self.at_points(&found.potential, &bars.potential_v, Unit::Volt, key))
    }

    fn probe_fields(&self, name: &str) -> Option<Vec<Number>> {
        let (found, bars) = self.probe(name)?;
        let sizes: Vec<f64> = found.field.iter().map(|field| norm(*field)).collect();
        let key = |point| Key::ProbeField { probe: name.to_owned(), point };
        Some(self.at_points(&sizes, &bars.field_v_per_m, Unit::VoltPerMetre, key))
    }

    fn probe(&self, name: &str) -> Option<(&Probed, &ProbeBars)> {
        let found = self.state.probes.iter().find(|found| found.name == *name)?;
        Some((found, found.bars.as_ref()?))
    }

    /// Values at all points of a probe, relative to the largest; points count from 1.
    fn at_points(
        &self,
        values: &[f64],
        bars: &[f64],
        unit: Unit,
        key: impl Fn(usize) -> Key,
    ) -> Vec<Number> {
        let size = values.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
        let numbers = values.iter().zip(bars).zip(1..);
        let number =
            |((&value, &bar), point)| Number { size, ..self.number(key(point), unit, value, bar) };
        numbers.map(number).collect()
    }
}
