//! What an accuracy is asked of, and the numbers and bars that belong to it.

use std::fmt;
use std::str::FromStr;

use mesh::vector::norm;

use crate::analysis::excitations;
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::result::bars::Bars;
use crate::result::key::{Axis, Key, MatrixEntry};
use crate::result::solution::Solution;
use crate::result::state::State;
use crate::result::unit::Unit;

/// What the accuracy is asked of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Of {
    /// All entries of the capacitance matrix, relative to the smaller of their two conductors'
    /// diagonals, and the solvation energy where there are point charges.
    #[default]
    All,
    /// The solvation energy.
    Energy,
    /// One entry of the capacitance matrix, relative to itself, by the conductors' names.
    Entry(String, String),
    /// A floating conductor's potential, relative to itself.
    Potential(String),
    /// The charge of a conductor that is held at a potential, relative to itself.
    Charge(String),
    /// The force on a body, relative to its size.
    Force(String),
    /// The potential at all points of a probe, relative to the largest there.
    Probe(String),
    /// The field at all points of a probe, relative to the largest there.
    Field(String),
    /// All entries of the polarisability, relative to the largest.
    Polarisability,
}

/// Words that name nothing an accuracy is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be all, energy, polarisability, an entry such as C(left, right), or one of V(conductor), \
     Q(conductor), F(body), probe(name) and field(name)"
)]
pub struct UnknownOf;

impl FromStr for Of {
    type Err = UnknownOf;

    fn from_str(text: &str) -> Result<Self, UnknownOf> {
        let text = text.trim();
        match text {
            "all" | "C" => return Ok(Self::All),
            "energy" => return Ok(Self::Energy),
            "polarisability" => return Ok(Self::Polarisability),
            _ => {}
        }
        let inside = text.strip_suffix(')').and_then(|rest| rest.split_once('('));
        let Some((kind, inside)) = inside else { return Err(UnknownOf) };
        let name = || inside.trim().to_owned();
        match kind.trim() {
            "C" => match inside.split_once(',') {
                Some((a, b)) => Ok(Self::Entry(a.trim().to_owned(), b.trim().to_owned())),
                None => Err(UnknownOf),
            },
            "V" => Ok(Self::Potential(name())),
            "Q" => Ok(Self::Charge(name())),
            "F" => Ok(Self::Force(name())),
            "probe" => Ok(Self::Probe(name())),
            "field" => Ok(Self::Field(name())),
            _ => Err(UnknownOf),
        }
    }
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "all"),
            Self::Energy => write!(f, "energy"),
            Self::Polarisability => write!(f, "polarisability"),
            Self::Entry(a, b) => write!(f, "C({a}, {b})"),
            Self::Potential(name) => write!(f, "V({name})"),
            Self::Charge(name) => write!(f, "Q({name})"),
            Self::Force(name) => write!(f, "F({name})"),
            Self::Probe(name) => write!(f, "probe({name})"),
            Self::Field(name) => write!(f, "field({name})"),
        }
    }
}

/// One number that is asked for.
pub(crate) struct Number {
    pub(crate) key: Key,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
    pub(crate) bar: f64,
    /// What the accuracy is relative to.
    pub(crate) size: f64,
    /// The excitations whose energies' errors are its own, and how much of it each of their
    /// energies makes.
    pub(crate) of: Vec<(usize, f64)>,
}

impl Number {
    /// The bar relative to that; 0 where the number is exact.
    pub(crate) fn relative(&self) -> f64 {
        if self.bar == 0.0 { 0.0 } else { self.bar / self.size.max(f64::MIN_POSITIVE) }
    }
}

/// The numbers that are asked for, with their bars.
pub(crate) fn numbers(
    problem: &Problem,
    solution: &Solution,
    of: &Of,
) -> Result<Vec<Number>, Error> {
    let Some(bars) = &solution.bars else { return Err(nothing(of)) };
    let names = &problem.conductors.names;
    let found = Found { problem, solution, bars };
    // The place of a conductor among those that are excited; entries with others have no bars.
    let excited = &problem.excited;
    let index = |name: &String| excited.iter().position(|&known| names[known] == *name);
    let numbers = match of {
        Of::All => {
            let count = excited.len();
            let pairs = (0..count).flat_map(|i| (0..count).map(move |j| (i, j)));
            let farad = &solution.matrices().maxwell_farad;
            let own = |i: usize| farad[excited[i]][i].abs();
            let size = |(i, j): (usize, usize)| own(i).min(own(j));
            let mut all: Vec<Number> =
                pairs.map(|at| Number { size: size(at), ..found.entry(farad, at) }).collect();
            all.extend(found.energy());
            all
        }
        Of::Entry(a, b) => {
            // Names may have commas: whichever split of both is known.
            let both = format!("{a}, {b}");
            let splits = both.match_indices(',').filter_map(|(at, _)| {
                let [a, b] = [&both[..at], &both[at + 1..]].map(|name| name.trim().to_owned());
                Some((index(&a)?, index(&b)?))
            });
            let farad = &solution.matrices().maxwell_farad;
            splits.take(1).map(|at| found.entry(farad, at)).collect()
        }
        Of::Energy => found.energy().into_iter().collect(),
        Of::Polarisability => found.polarisability(),
        of_state => match &solution.state {
            Some(state) => found.of_state(of_state, state),
            None => Vec::new(),
        },
    };
    if numbers.is_empty() { Err(nothing(of)) } else { Ok(numbers) }
}

struct Found<'a> {
    problem: &'a Problem,
    solution: &'a Solution,
    bars: &'a Bars,
}

impl Found<'_> {
    /// What the sides of all triangles have of an excitation's error.
    fn error_of(&self, excitation: usize) -> f64 {
        self.bars.sides.get(excitation).map_or(0.0, |sides| sides.iter().flatten().sum())
    }

    /// Shares of excitations that make a number each.
    fn each(&self, excitations: impl IntoIterator<Item = usize>) -> Vec<(usize, f64)> {
        let share = |excitation: usize| {
            let error = self.error_of(excitation);
            (error > 0.0).then(|| (excitation, 1.0 / error))
        };
        excitations.into_iter().filter_map(share).collect()
    }

    /// Shares of excitations in a state: their energies are added up with the squares of the
    /// potentials.
    fn of_all(&self, state: &State) -> Vec<(usize, f64)> {
        let volts = state.conductors.iter().map(|conductor| conductor.potential_v.powi(2));
        let sources = self.problem.description.has_sources().then_some(1.0);
        let all: Vec<(usize, f64)> = volts.chain(sources).enumerate().collect();
        let error: f64 = all.iter().map(|&(k, factor)| factor * self.error_of(k)).sum();
        let share = |(k, factor): (usize, f64)| (error > 0.0).then(|| (k, factor / error));
        all.into_iter().filter_map(share).collect()
    }

    /// The entry of the matrix between two of the excited conductors, relative to itself.
    fn entry(&self, farad: &[Vec<f64>], (i, j): (usize, usize)) -> Number {
        let [row, column] = [i, j].map(|k| self.problem.excited[k]);
        let (value, length) = (farad[row][j], self.solution.answer.maxwell[row][j]);
        let per_length = if length == 0.0 { 0.0 } else { value / length };
        Number {
            key: Key::Capacitance(MatrixEntry::new(&self.problem.conductors.names, row, column)),
            unit: Unit::Farad,
            value,
            bar: self.bars.maxwell[row][j] * per_length.abs(),
            size: value.abs(),
            of: self.each([i, j]),
        }
    }

    /// The solvation energy.
    fn energy(&self) -> Option<Number> {
        let found = self.solution.state.as_ref()?.solvation.as_ref()?;
        let value = found.energies.reaction_j;
        Some(Number {
            key: Key::SolvationEnergy,
            unit: Unit::Joule,
            value,
            bar: found.reaction_error_j?,
            size: value.abs(),
            of: self.each([self.problem.conductors.names.len()]),
        })
    }

    fn polarisability(&self) -> Vec<Number> {
        let found = self.solution.polarisability.as_ref();
        let Some((values, bars)) =
            found.and_then(|found| Some((found.over_4pi_eps0, found.over_4pi_eps0_error?)))
        else {
            return Vec::new();
        };
        let size = values.iter().flatten().fold(0.0_f64, |size, value| size.max(value.abs()));
        let sources = usize::from(self.problem.description.has_sources());
        let first = self.problem.conductors.names.len() + sources;
        let fields = first..first + excitations::field_axes(self.problem).0.len();
        let entry = |(moment, field): (Axis, Axis)| Number {
            key: Key::Polarisability { moment, field },
            unit: Unit::Cubed(self.problem.description.unit),
            value: values[moment.index()][field.index()],
            bar: bars[moment.index()][field.index()],
            size,
            of: self.each(fields.clone()),
        };
        let pairs = Axis::ALL.into_iter().flat_map(|i| Axis::ALL.map(|j| (i, j)));
        pairs.map(entry).collect()
    }

    fn of_state(&self, of: &Of, state: &State) -> Vec<Number> {
        let mut numbers = state_numbers(of, state);
        let shares = self.of_all(state);
        numbers.iter_mut().for_each(|number| number.of.clone_from(&shares));
        numbers
    }
}

/// The numbers of a state that are asked for, with no shares of excitations yet.
fn state_numbers(of: &Of, state: &State) -> Vec<Number> {
    let number = |key: Key, unit: Unit, value: f64, bar: f64| Number {
        key,
        unit,
        value,
        bar,
        size: value.abs(),
        of: Vec::new(),
    };
    match of {
        Of::Potential(name) | Of::Charge(name) => {
            let floating = matches!(of, Of::Potential(_));
            let mut conductors = state.conductors.iter();
            let wanted = conductors.find(|found| found.name == *name && found.floating == floating);
            wanted
                .and_then(|found| {
                    let (key, found) = found.unknown();
                    Some(number(key, found.unit, found.value, found.bar?))
                })
                .into_iter()
                .collect()
        }
        Of::Force(name) => {
            let of_body = state.forces.iter().flatten().filter(|force| force.name == *name);
            of_body
                .filter_map(|force| {
                    let key = Key::ForceSize { body: name.clone() };
                    Some(number(key, Unit::Newton, norm(force.newton), force.newton_error?))
                })
                .collect()
        }
        Of::Probe(name) | Of::Field(name) => {
            let found = state.probes.iter().find(|found| found.name == *name);
            let Some((found, bars)) = found.and_then(|found| Some((found, found.bars.as_ref()?)))
            else {
                return Vec::new();
            };
            let is_field = matches!(of, Of::Field(_));
            let (values, bars): (Vec<f64>, _) = match is_field {
                true => (found.field.iter().copied().map(norm).collect(), &bars.field_v_per_m),
                false => (found.potential.clone(), &bars.potential_v),
            };
            let largest = values.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
            let each = values.into_iter().zip(bars).zip(1..);
            each.map(|((value, &bar), point)| {
                let probe = name.clone();
                let (key, unit) = match is_field {
                    true => (Key::ProbeField { probe, point }, Unit::VoltPerMetre),
                    false => (Key::ProbePotential { probe, point }, Unit::Volt),
                };
                Number { size: largest, ..number(key, unit, value, bar) }
            })
            .collect()
        }
        _ => Vec::new(),
    }
}

/// That nothing of what is asked for is computed.
pub(crate) fn nothing(of: &Of) -> Error {
    Error::Accuracy(match of {
        Of::All => {
            "there is neither a conductor nor a point charge, so no capacitance or energy to be accurate to; ask for an accuracy of \
             something else: polarisability, probe(NAME), field(NAME) or F(BODY), by --accuracy-of, solver.accuracy_of or, in \
             Python, of"
                .to_owned()
        }
        Of::Energy => "there is no point charge, so no solvation energy".to_owned(),
        Of::Entry(a, b) => format!("there is no entry C({a}, {b}) of conductors that are excited"),
        Of::Potential(name) => format!(
            "there is no floating conductor {name}; of one at a potential ask for its charge, Q({name})"
        ),
        Of::Charge(name) => format!(
            "there is no conductor {name} at a potential, where any is set; of a floating one ask for V({name})"
        ),
        Of::Force(name) => format!(
            "no force on {name} is computed: it takes output.forces = true, and a body of that name with one medium all around it that stands on no ground plane"
        ),
        Of::Probe(name) | Of::Field(name) => format!("there is no probe {name}"),
        Of::Polarisability => {
            "no polarisability with bars is computed: it takes output.polarisability = true, and no plane of symmetry across a field"
                .to_owned()
        }
    })
}
