//! The numbers that an accuracy is asked of.

use std::fmt;
use std::str::FromStr;

use crate::problem::fault::Error;

/// The numbers that an accuracy is asked of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
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
    /// The force on a body, relative to its size, or to a tenth of the sizes of forces on its
    /// triangles where they cancel to less.
    Force(String),
    /// The potential at all points of a probe, relative to the largest there.
    Probe(String),
    /// The field at all points of a probe, relative to the largest there.
    Field(String),
    /// All entries of the polarisability, relative to the largest.
    Polarisability,
    /// The shares of all films, each relative to itself.
    Films,
    /// As [`Target::Films`], of the films of this name.
    Film(String),
}

/// Words that name nothing an accuracy is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be all, energy, polarisability, films, an entry such as C(left, right), or one of \
     V(conductor), Q(conductor), F(body), probe(name), field(name) and film(name)"
)]
pub struct ParseTargetError;

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, ParseTargetError> {
        let text = text.trim();
        match text {
            "all" | "C" => return Ok(Self::All),
            "energy" => return Ok(Self::Energy),
            "polarisability" => return Ok(Self::Polarisability),
            "films" => return Ok(Self::Films),
            _ => {}
        }
        let inside = text.strip_suffix(')').and_then(|rest| rest.split_once('('));
        let Some((kind, inside)) = inside else { return Err(ParseTargetError) };
        let name = || inside.trim().to_owned();
        match kind.trim() {
            "C" => match inside.split_once(',') {
                Some((a, b)) => Ok(Self::Entry(a.trim().to_owned(), b.trim().to_owned())),
                None => Err(ParseTargetError),
            },
            "V" => Ok(Self::Potential(name())),
            "Q" => Ok(Self::Charge(name())),
            "F" => Ok(Self::Force(name())),
            "probe" => Ok(Self::Probe(name())),
            "field" => Ok(Self::Field(name())),
            "film" => Ok(Self::Film(name())),
            _ => Err(ParseTargetError),
        }
    }
}

impl fmt::Display for Target {
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
            Self::Films => write!(f, "films"),
            Self::Film(name) => write!(f, "film({name})"),
        }
    }
}

impl Target {
    /// Whether it needs the shares of films on every mesh.
    pub(crate) fn is_of_films(&self) -> bool {
        matches!(self, Self::Films | Self::Film(_))
    }

    /// The error that none of its numbers is computed.
    pub(crate) fn nothing(&self) -> Error {
        Error::Accuracy(match self {
            Self::All => {
                "there is neither a conductor nor a point charge, so no capacitance or energy to be accurate to; ask for an accuracy of \
                 something else: polarisability, probe(NAME), field(NAME) or F(BODY), by --accuracy-of, solver.accuracy_of or, in \
                 Python, of"
                    .to_owned()
            }
            Self::Energy => "there is no point charge, so no solvation energy".to_owned(),
            Self::Entry(a, b) => format!("there is no entry C({a}, {b}) of conductors that are excited"),
            Self::Potential(name) => format!(
                "there is no floating conductor {name}; for one at a potential ask for its charge, Q({name})"
            ),
            Self::Charge(name) => format!(
                "there is no conductor {name} with a given potential; for a floating one ask for V({name})"
            ),
            Self::Force(name) => format!(
                "no force on {name} is computed: it needs output.forces = true, and a body of that name with one medium all around it that stands on no ground plane"
            ),
            Self::Probe(name) | Self::Field(name) => format!("there is no probe {name}"),
            Self::Films => "there is no film".to_owned(),
            Self::Film(name) => format!("there is no film {name}"),
            Self::Polarisability => {
                "no polarisability with bars is computed: it needs output.polarisability = true, and no plane of symmetry across a field"
                    .to_owned()
            }
        })
    }
}
