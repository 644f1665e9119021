//! Shares of the energy in thin films on surfaces: what dielectric loss at interfaces is weighted
//! with (docs/math.md, "Films").

mod faces;
mod gap;
mod sides;
mod squares;
mod wedge;

use std::f64::consts::PI;

use crate::fault::{Error, Fault};
use crate::problem::Problem;
use crate::sensitivity::listed;
use sides::{Part, Ways};

/// Ways of integrating that agree as a whole may do so by chance: this part of what they differ by
/// on all triangles counts, for constant and for linear densities.
const OF_APART: [f64; 2] = [0.1, 0.8];

/// A share goes with the square of densities next to edges, where the mesh leaves out most: so
/// often the bar of the capacitance counts. With these bars cover what strips of 64 to 288
/// triangles miss with cutoffs down to 1e-4 of their width.
const OF_MESH: [f64; 2] = [1.0, 3.0];

/// The field within the cutoff beside metal goes on from that on metal at first order, with the
/// other sign next to a gap, and next to a round edge with three times that.
const CUT: f64 = 3.0;

/// A film that is wanted: so thin that it leaves the field as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Film {
    /// Its name in results.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// In the problem's unit.
    pub thickness: f64,
    /// Relative permittivity of the film.
    pub relative_permittivity: f64,
    /// Distance from sharp edges within which the field does not count, in the problem's unit.
    pub cutoff: Option<f64>,
}

/// The surfaces that a film covers.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Those of conductors, and those of dielectrics where there is no metal.
    On {
        /// Their names.
        names: Vec<String>,
        /// Only the sides that face this.
        toward: Option<Toward>,
    },
    /// An interface of layers, from 0, the lowest, on, where there is no metal.
    Interface(usize),
}

/// What is on one side of a surface.
#[derive(Clone, Debug, PartialEq)]
pub enum Toward {
    /// A dielectric, or the surrounding medium ([`crate::SURROUNDINGS`]).
    Medium(String),
    /// A layer: 0 is what is below all of them, 1 the lowest, and the last what is above all.
    Layer(usize),
}

/// A film's share of the energy.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmShare {
    /// The name of the [`Film`].
    pub name: String,
    /// In metres.
    pub thickness: f64,
    /// Relative permittivity of the film.
    pub relative_permittivity: f64,
    /// The share with each conductor in turn at a potential, the others at 0 V.
    pub participation: Vec<f64>,
    /// By how much these may be off, as three ways of integrating differ, and, where error bars
    /// were wanted, by the mesh.
    pub bars: Vec<f64>,
}

/// Why there is no share of a film.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FilmFault {
    /// No surface.
    #[error("it is on nothing")]
    Nothing,
    /// A value without meaning.
    #[error("{what} is {value}, and must be a number above 0")]
    Number {
        /// Of what.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// No body of this name.
    #[error("there is no conductor or dielectric \"{name}\"; there is {}", listed(available))]
    Unknown {
        /// The name.
        name: String,
        /// What there is.
        available: Vec<String>,
    },
    /// No medium of this name.
    #[error("there is no dielectric \"{name}\"; there is {}", listed(available))]
    NoMedium {
        /// The name.
        name: String,
        /// What there is.
        available: Vec<String>,
    },
    /// No such layer.
    #[error("there is no layer {layer}; layers are counted from 0, what is below all, to {last}")]
    NoLayer {
        /// Which.
        layer: usize,
        /// The highest.
        last: usize,
    },
    /// Layers without a stack.
    #[error("there are no layers")]
    NoStack,
    /// An interface that is not there, or no metal in it.
    #[error(
        "the fields next to interface {interface} are not known: films are in an interface that metal lies in, and all metal lies in it, with a half-space on at least one side"
    )]
    NoInterface {
        /// Which.
        interface: usize,
    },
    /// Media that are listed by surfaces.
    #[error("media by surfaces have no names that a film could be next to")]
    BySurfaces,
    /// Nothing of the surfaces faces the medium.
    #[error("no part of its surfaces faces that medium")]
    Nowhere,
    /// A cutoff that leaves nothing.
    #[error("no part of it is farther than its cutoff, {0}, from an edge")]
    Within(f64),
    /// Metal without thickness.
    #[error(
        "\"{0}\" has an edge without thickness, toward which the energy in a film grows without bound: give a cutoff, such as half the metal's thickness"
    )]
    Sheet(String),
}

/// What is wrong with those of the problem's description.
pub(crate) fn faults(problem: &Problem) -> Vec<Fault> {
    let wanted = problem.description.films.iter().enumerate();
    let fault = |(film, of): (usize, &Film)| {
        let problem = number(of).map_or_else(|| sides::find(problem, of).err(), Some)?;
        Some(Fault::Film { film, name: of.name.clone(), problem })
    };
    wanted.filter_map(fault).collect()
}

fn number(of: &Film) -> Option<FilmFault> {
    let values = [
        ("its thickness", Some(of.thickness)),
        ("its relative permittivity", Some(of.relative_permittivity)),
        ("its cutoff", of.cutoff),
    ];
    let is_wrong = |value: f64| !(value > 0.0 && value.is_finite());
    let values = values.into_iter().filter_map(|(what, value)| Some((what, value?)));
    let mut wrong = values.filter(|(_, value)| is_wrong(*value));
    wrong.next().map(|(what, value)| FilmFault::Number { what, value })
}

/// All that the description wants, for answers to each conductor in turn at 1 V, and the bars of
/// their own capacitances relative to them.
pub(crate) fn find(
    problem: &Problem,
    responses: &[bem::Response],
    relative: Option<&[f64]>,
) -> Result<Vec<FilmShare>, Error> {
    let films = &problem.description.films;
    let units = &responses[..problem.conductors.names.len().min(responses.len())];
    let mut parts = Vec::new();
    for (film, of) in films.iter().enumerate() {
        let faulty =
            |problem| Error::Faults(vec![Fault::Film { film, name: of.name.clone(), problem }]);
        parts.push(Part::new(problem, of, sides::find(problem, of).map_err(faulty)?));
    }
    let mut shares: Vec<FilmShare> = films
        .iter()
        .map(|of| FilmShare {
            name: of.name.clone(),
            thickness: of.thickness * problem.description.unit.metres(),
            relative_permittivity: of.relative_permittivity,
            participation: Vec::new(),
            bars: Vec::new(),
        })
        .collect();
    let copies = problem.symmetry.images.copies() as f64;
    for (k, unit) in units.iter().enumerate() {
        let fields = sides::Fields::find(problem, unit, &parts)?;
        for (index, (share, part)) in shares.iter_mut().zip(&parts).enumerate() {
            let film = &films[index];
            let ways = energy(problem, part, (film, fields.gaps[index]), &fields);
            // Twice the energy of all fields over 4 pi eps0 at 1 V.
            let factor = copies * film.thickness / (4.0 * PI * unit.conductor_charge[k]);
            let [low, high] = sides::ends(ways.found);
            let density = usize::from(!unit.at_corners.is_empty());
            let found = factor * ways.found[density];
            share.participation.push(found);
            let integration = (factor * (high - low).max(OF_APART[density] * ways.apart)).abs();
            let cut = (factor * CUT * ways.cut).abs();
            let mesh =
                relative.map_or(0.0, |relative| OF_MESH[density] * relative[k] * found.abs());
            share.bars.push(integration + cut + mesh);
        }
    }
    Ok(shares)
}

/// The integral of the film's permittivity times the square of its field, over its surface, in the
/// three ways of [`squares::Square::of`].
fn energy(
    problem: &Problem,
    part: &Part,
    (film, [through, roughly]): (&Film, [f64; 2]),
    fields: &sides::Fields<'_>,
) -> Ways {
    let eps = film.relative_permittivity;
    let [charges, even] = part.fluxes(fields);
    let mut sums = part.square([&charges, &even]);
    if let Some(gap) = &part.gap {
        // Near edges the square is as large on metal as beside it but for what is bounded.
        let at_edges = part.at_edges(&charges).map(|sum| sum / 10f64.ln());
        // The charges of single triangles at edges say little of what is left where tensions
        // cancel: both fits, and fewer points between metal.
        let of_metal = eps / gap.half_space.powi(2);
        let found = [(0, through), (1, through), (0, roughly)].map(|(way, between)| {
            let on_metal = sums.found[way] + at_edges[way] * sides::NEARER.ln();
            of_metal * (on_metal + between) + between / eps
        });
        // What ways differ by within the cutoff is that of the singular part, which cancels.
        let beyond = part.square_beyond([&charges, &even]);
        let within = sums.found[0] - beyond.found[0];
        let cut = of_metal * (within + at_edges[0] * sides::NEARER.ln());
        return Ways { found, apart: of_metal * beyond.apart, cut };
    }
    sums = Ways::default().and(1.0 / eps, sums);
    if part.has_along() {
        let none = vec![0.0; charges.len()];
        for component in part.along(problem, fields) {
            sums = sums.and(eps, part.square([&component, &none]));
        }
    }
    sums
}
