//! Derivatives of the capacitance matrix, and shares of the energy in media and in films.

use serde::{Serialize, Serializer};

use crate::result::labelled::Labelled;
use crate::result::unit::Unit;
use crate::scene::requests::Parameter;

/// The derivative of the capacitance matrix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Derivative {
    /// The name of the [`Sensitivity`](crate::Sensitivity).
    pub name: String,
    /// By what.
    #[serde(serialize_with = "kind")]
    pub by: Parameter,
    /// Permittivity or, in metres, thickness; `None` for shifts.
    pub at: Option<f64>,
    /// Unit of the entries: farad for a relative permittivity, else farad per metre.
    pub unit: Unit,
    /// One matrix, or three for shifts along the axes.
    #[serde(rename = "derivatives")]
    pub matrices: Vec<Vec<Vec<f64>>>,
    /// By how much their entries may be off; none where no bars were wanted.
    #[serde(rename = "derivatives_error", serialize_with = "unless_empty")]
    pub bars: Vec<Vec<Vec<f64>>>,
    /// By a permittivity, the share of the energy in the medium with each conductor in turn at a
    /// potential, the others at 0 V; empty else.
    #[serde(serialize_with = "unless_empty")]
    pub participation: Vec<f64>,
    /// By how much these may be off; none where no bars were wanted.
    #[serde(rename = "participation_error", serialize_with = "unless_empty")]
    pub participation_bars: Vec<f64>,
}

impl Derivative {
    /// Its matrices, over conductors of these names.
    pub fn labelled<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = Labelled<'a>> {
        self.matrices.iter().enumerate().map(move |(k, values)| {
            let bars = self.bars.get(k).map(Vec::as_slice);
            Labelled { rows: names, columns: names, values, bars, unit: self.unit }
        })
    }
}

impl Parameter {
    /// Unit of a derivative of capacitances by it.
    pub(crate) fn unit_of_derivative(&self) -> Unit {
        match self {
            Self::Shift(_) | Self::Thickness(_) => Unit::FaradPerMetre,
            Self::Permittivity(_) | Self::OfLayer(_) => Unit::Farad,
        }
    }
}

fn kind<S: Serializer>(by: &Parameter, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match by {
        Parameter::Shift(_) => "shift",
        Parameter::Permittivity(_) | Parameter::OfLayer(_) => "permittivity",
        Parameter::Thickness(_) => "thickness",
    })
}

fn unless_empty<T: Serialize, S: Serializer>(all: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    (!all.is_empty()).then_some(all).serialize(serializer)
}

/// A film's share of the energy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilmShare {
    /// The name of the [`Film`](crate::Film).
    pub name: String,
    /// In metres.
    #[serde(rename = "thickness_m")]
    pub thickness: f64,
    /// Relative permittivity of the film.
    pub relative_permittivity: f64,
    /// The share with each conductor in turn at a potential, the others at 0 V.
    pub participation: Vec<f64>,
    /// By how much these may be off; none where no bars were wanted.
    #[serde(rename = "participation_error", serialize_with = "unless_empty")]
    pub bars: Vec<f64>,
}
