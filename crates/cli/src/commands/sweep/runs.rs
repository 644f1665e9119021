//! The runs of a sweep, one for each combination of values: the case of each, and its mesh.

use std::path::PathBuf;

use mesh::Mesh;
use serde::Serialize;

use crate::case::Case;
use crate::case::sweep::{Sweep, Values};
use crate::machine::deal;
use crate::machine::ranks::Ranks;
use crate::terminal::exit::{Exit, Failure};

/// More combinations than this are refused as a mistake.
const MOST_RUNS: usize = 100_000;

/// The value of a sweep in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Parameter {
    Number(f64),
    /// The name of a file.
    Text(String),
}

impl std::fmt::Display for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

/// "gap = 1, angle = 30".
pub(super) fn equations<'a>(
    names: impl IntoIterator<Item = &'a String>,
    parameters: &[Parameter],
) -> String {
    let each = names.into_iter().zip(parameters);
    each.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// Ending of the names of a run's files, runs counted from 1.
pub(super) fn tag(number: usize) -> String {
    format!("_{number:04}")
}

/// The picture of a run, runs counted from 1.
pub(super) fn picture(number: usize) -> String {
    format!("surface{}.vtu", tag(number))
}

/// All runs of a case; the last sweep varies fastest.
#[derive(Clone, Debug)]
pub(super) struct Runs<'a> {
    pub(super) case: &'a Case,
    /// For each run the index of its value in every sweep.
    values: Vec<Vec<usize>>,
}

impl<'a> Runs<'a> {
    pub(super) fn of(case: &'a Case) -> Result<Self, Failure> {
        if case.sweeps.is_empty() {
            return Err(Failure::with_help(
                Exit::BadInput,
                format!("{} varies nothing", case.path().display()),
                "add a [[sweep]] table (see docs/case-file.md), or use `farad solve`",
            ));
        }
        let lengths: Vec<usize> = case.sweeps.iter().map(Sweep::len).collect();
        let values = farad::combinations(&lengths, MOST_RUNS).ok_or_else(|| {
            Failure::with_help(
                Exit::BadInput,
                format!(
                    "the sweeps of {} have more than {MOST_RUNS} combinations",
                    case.path().display()
                ),
                "every value of one goes with every value of the others; vary less at once",
            )
        })?;
        Ok(Self { case, values })
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The sweeps, each with the index of its value in a run.
    fn choice(&self, run: usize) -> impl Iterator<Item = (&'a Sweep, usize)> {
        self.case.sweeps.iter().zip(self.values[run].iter().copied())
    }

    /// The runs, sorted so that those of one geometry follow each other.
    pub(super) fn by_geometry(&self) -> Vec<usize> {
        let key = |&run: &usize| -> Vec<usize> {
            let geometry =
                |(sweep, value): (&Sweep, usize)| sweep.is_of_geometry().then_some(value);
            self.choice(run).filter_map(geometry).collect()
        };
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_cached_key(key);
        order
    }

    /// Whether two runs differ in their permittivity at most.
    pub(super) fn have_same_geometry(&self, a: usize, b: usize) -> bool {
        let mut pairs = self.choice(a).zip(&self.values[b]);
        pairs.all(|((sweep, a), b)| a == *b || !sweep.is_of_geometry())
    }

    /// Whether solves in one medium give those of the same geometry in all others.
    fn follow_from_one(&self) -> bool {
        let of = &self.case.description;
        let is_one_medium = !of.has_media() && of.stack.is_none() && !of.has_state();
        is_one_medium && !of.polarisability && of.reductions.is_empty()
    }

    /// The case of one run: its permittivities, and the atoms of molecules where their surfaces
    /// are.
    pub(super) fn case(&self, run: usize) -> Case {
        let mut case = self.case.clone();
        for (sweep, value) in self.choice(run) {
            if let Some(change) = sweep.change() {
                change.describe(value, &mut case.description);
            }
        }
        case
    }

    pub(super) fn parameters(&self, run: usize) -> Vec<Parameter> {
        let value = |(sweep, index): (&Sweep, usize)| match &sweep.values {
            Values::Of(change) => Parameter::Number(change.values()[index]),
            Values::Files(files) => {
                let name = files[index].file_name().unwrap_or_default();
                Parameter::Text(name.to_string_lossy().into_owned())
            }
        };
        self.choice(run).map(value).collect()
    }

    /// "gap = 1, angle = 30".
    pub(super) fn describe(&self, run: usize) -> String {
        equations(self.case.sweeps.iter().map(|sweep| &sweep.name), &self.parameters(run))
    }

    /// The file of a run's mesh, if it has one.
    pub(super) fn file(&self, run: usize) -> Option<PathBuf> {
        let file = |(sweep, value): (&'a Sweep, usize)| match &sweep.values {
            Values::Files(files) => Some(&files[value]),
            Values::Of(_) => None,
        };
        self.choice(run).filter_map(file).last().or(self.case.mesh.as_ref()).cloned()
    }

    /// The mesh of a run, from that of its file, which has the groups that move.
    pub(super) fn place(&self, run: usize, mut mesh: Mesh) -> Result<Mesh, Failure> {
        for (sweep, value) in self.choice(run) {
            let Some(change) = sweep.change() else { continue };
            mesh = change
                .place(value, mesh)
                .map_err(|missing| Failure::new(Exit::BadInput, missing))?;
        }
        Ok(mesh)
    }

    /// Which of these runs this rank solves, of an order in which those of one geometry follow each
    /// other: these stay together, unless other ranks would have none.
    pub(super) fn share<'r>(&self, ranks: &Ranks, order: &'r [usize]) -> &'r [usize] {
        let together = |a: &usize, b: &usize| self.have_same_geometry(*a, *b);
        let lengths = || order.chunk_by(together).map(<[usize]>::len);
        let work: Vec<u64> = match lengths().count() < ranks.size() && !self.follow_from_one() {
            true => vec![1; order.len()],
            false => lengths().map(|runs| runs as u64).collect(),
        };
        let mut dealt = deal::consecutive(&work, ranks.size()).into_iter();
        let items = dealt.nth(ranks.rank()).unwrap_or_default();
        let runs = |items: &[u64]| items.iter().sum::<u64>() as usize;
        let begin = runs(&work[..items.start]);
        &order[begin..begin + runs(&work[items])]
    }

    /// Fails if a run has other conductors than the first.
    pub(super) fn check_conductors(
        &self,
        run: usize,
        names: &[String],
        of_first: &[String],
    ) -> Result<(), Failure> {
        if names == of_first {
            return Ok(());
        }
        Err(Failure::with_help(
            Exit::BadInput,
            format!(
                "in the run with {} the conductors are {}",
                self.describe(run),
                names.join(", ")
            ),
            "every mesh of a sweep must have the conductors of the first, in its order; list them with [[conductor]]",
        ))
    }
}
