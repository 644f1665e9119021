//! Derivatives of the capacitance matrix, and shares of the energy in media and in films.

use crate::scene::requests::Parameter;

/// The derivative of the capacitance matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivative {
    /// The name of the [`Sensitivity`](crate::Sensitivity).
    pub name: String,
    /// By what.
    pub by: Parameter,
    /// Permittivity or, in metres, thickness; `None` for shifts.
    pub at: Option<f64>,
    /// Farad for a relative permittivity, farad a metre else: one matrix, or three for shifts along
    /// the axes.
    pub matrices: Vec<Vec<Vec<f64>>>,
    /// By how much their entries may be off; none where no bars were wanted.
    pub bars: Vec<Vec<Vec<f64>>>,
    /// By a permittivity, the share of the energy in the medium with each conductor in turn at a
    /// potential, the others at 0 V; empty else.
    pub participation: Vec<f64>,
    /// By how much these may be off; none where no bars were wanted.
    pub participation_bars: Vec<f64>,
}

/// A film's share of the energy.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmShare {
    /// The name of the [`Film`](crate::Film).
    pub name: String,
    /// In metres.
    pub thickness: f64,
    /// Relative permittivity of the film.
    pub relative_permittivity: f64,
    /// The share with each conductor in turn at a potential, the others at 0 V.
    pub participation: Vec<f64>,
    /// By how much these may be off, as two ways of integrating differ, and, where error bars
    /// were wanted, by what charges miss.
    pub bars: Vec<f64>,
}
