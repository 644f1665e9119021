//! Keys of the numbers of results, whose text is the name in tables and files.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Key of a number of a result. Its text is the name in tables and files; names of conductors may
/// have commas and parentheses in them, so the text must not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Key {
    /// An entry of the Maxwell matrix, in farad: "C(a, b)", or "C" where it is the only one.
    Capacitance(MatrixEntry),
    /// The potential of a floating conductor, in volt: "V(a)".
    Potential {
        /// Its name.
        conductor: String,
    },
    /// The charge of a conductor at a given potential, in coulomb: "Q(a)".
    Charge {
        /// Its name.
        conductor: String,
    },
    /// The energy that surfaces add to point charges.
    SolvationEnergy,
    /// The energy of the point charges alone, which does not depend on the mesh.
    CoulombEnergy,
    /// The solvation and the Coulomb energy together.
    TotalEnergy,
    /// A component of the force on a body, in newton: "Fx(a)".
    Force {
        /// The body's name.
        body: String,
        /// Along this axis.
        axis: Axis,
    },
    /// The size of the force on a body, in newton: "F(a)".
    ForceSize {
        /// The body's name.
        body: String,
    },
    /// The potential at a point of a probe, in volt: "potential at p, point 1".
    ProbePotential {
        /// The probe's name.
        probe: String,
        /// Which of its points, counted from 1.
        point: usize,
    },
    /// The size of the field at a point of a probe, in volt a metre: "field at p, point 1".
    ProbeField {
        /// The probe's name.
        probe: String,
        /// Which of its points, counted from 1.
        point: usize,
    },
    /// A component of the polarisability over 4 pi eps0, in the cube of the problem's unit:
    /// "polarisability xy/(4 pi eps0)".
    Polarisability {
        /// Axis of the dipole moment.
        moment: Axis,
        /// Axis of the field.
        field: Axis,
    },
    /// The share of the energy in a film with a conductor at a potential: "participation of f, a".
    Participation {
        /// The film's name.
        film: String,
        /// The conductor's.
        conductor: String,
    },
    /// An entry of the matrix that a reduction makes, in farad: "r: C(a, b)".
    Reduced {
        /// The reduction's name.
        reduction: String,
        /// The entry, between nets.
        entry: MatrixEntry,
    },
    /// The capacitance of a reduction between two nets, in farad: "r: C between a and b".
    Between {
        /// The reduction's name.
        reduction: String,
        /// The two nets.
        nets: [String; 2],
    },
}

/// An entry of a capacitance matrix, between conductors or nets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MatrixEntry {
    /// The one whose charge it tells.
    pub row: String,
    /// The one that is at 1 V.
    pub column: String,
    /// Whether the matrix has no other row.
    pub is_only: bool,
}

/// An axis of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

impl Axis {
    /// All three, in order.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// Its place among the three coordinates, counted from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}

impl MatrixEntry {
    /// The key of an entry of a matrix over conductors or nets of these names.
    pub(crate) fn new(names: &[String], row: usize, column: usize) -> Self {
        let [row, column] = [row, column].map(|k| names[k].clone());
        Self { row, column, is_only: names.len() == 1 }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
        })
    }
}

impl fmt::Display for MatrixEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { is_only: true, .. } => write!(f, "C"),
            Self { row, column, .. } => write!(f, "C({row}, {column})"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacitance(entry) => write!(f, "{entry}"),
            Self::Potential { conductor } => write!(f, "V({conductor})"),
            Self::Charge { conductor } => write!(f, "Q({conductor})"),
            Self::SolvationEnergy => write!(f, "solvation energy"),
            Self::CoulombEnergy => write!(f, "Coulomb energy"),
            Self::TotalEnergy => write!(f, "total energy"),
            Self::Force { body, axis } => write!(f, "F{axis}({body})"),
            Self::ForceSize { body } => write!(f, "F({body})"),
            Self::ProbePotential { probe, point } => {
                write!(f, "potential at {probe}, point {point}")
            }
            Self::ProbeField { probe, point } => write!(f, "field at {probe}, point {point}"),
            Self::Polarisability { moment, field } => {
                write!(f, "polarisability {moment}{field}/(4 pi eps0)")
            }
            Self::Participation { film, conductor } => {
                write!(f, "participation of {film}, {conductor}")
            }
            Self::Reduced { reduction, entry } => write!(f, "{reduction}: {entry}"),
            Self::Between { reduction, nets: [a, b] } => {
                write!(f, "{reduction}: C between {a} and {b}")
            }
        }
    }
}
