//! Shares of the energy in thin films on surfaces: what dielectric loss at interfaces is weighted
//! with (docs/math.md, "Films").

mod faces;
mod gap;
pub(crate) mod rims;
mod sides;
pub(crate) mod squares;
pub(crate) mod wedge;

use std::f64::consts::PI;

use crate::bars;
use crate::fault::{Error, Fault};
use crate::problem::Problem;
use crate::sensitivity::listed;
use gap::Through;
use sides::{Part, Ways};

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
    /// By how much these may be off, as two ways of integrating differ, and, where error bars
    /// were wanted, by what charges miss.
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

/// What answers are short of.
pub(crate) struct Missing<'a> {
    /// The bars of their own capacitances relative to them.
    pub(crate) capacitances: Option<&'a [f64]>,
    /// The charges of triangles, one set for each answer, over 4 pi eps0; none without bars.
    pub(crate) charges: &'a [Vec<f64>],
}

/// All that the description wants, for answers to each conductor in turn at 1 V.
pub(crate) fn find(
    problem: &Problem,
    responses: &[bem::Response],
    missing: &Missing<'_>,
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
    let factor = bars::factor(problem);
    for (k, unit) in units.iter().enumerate() {
        let as_solved = of_unit(problem, &parts, (k, unit))?;
        let completed = match missing.charges.get(k) {
            Some(missing) => of_unit(problem, &parts, (k, &completed(problem, unit, missing)))?,
            None => as_solved.clone(),
        };
        let relative = missing.capacitances.map_or(0.0, |relative| relative[k]);
        let both = as_solved.iter().zip(&completed);
        for (share, (as_solved, completed)) in shares.iter_mut().zip(both) {
            let found = completed.found[sides::OWN];
            let all = || as_solved.found.into_iter().chain(completed.found);
            let spread = all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min);
            let bar = factor * spread + completed.cut.abs() + (relative * found).abs();
            // No film has less than nothing; the upper end is what it was.
            share.participation.push(found.max(0.0));
            share.bars.push(if found < 0.0 { (found + bar).max(0.0) } else { bar });
        }
    }
    Ok(shares)
}

/// An answer with the charges that it misses; free ones go with all charge.
fn completed(problem: &Problem, unit: &bem::Response, missing: &[f64]) -> bem::Response {
    let mut response = unit.clone();
    for (t, &more) in missing.iter().enumerate() {
        let all = unit.charge[t];
        let free = if all == 0.0 { 0.0 } else { unit.free_charge[t] / all * more };
        response.charge[t] += more;
        response.free_charge[t] += free;
        response.at_corners.get_mut(t).into_iter().flatten().for_each(|q| *q += more);
        if let Some(conductor) = problem.conductors.of_triangle[t] {
            response.conductor_charge[conductor as usize] += free;
        }
    }
    response
}

/// The shares of all films for conductor `k` at 1 V.
fn of_unit(
    problem: &Problem,
    parts: &[Part],
    (k, unit): (usize, &bem::Response),
) -> Result<Vec<Ways>, Error> {
    let fields = sides::Fields::find(problem, unit, parts)?;
    let films = &problem.description.films;
    let copies = problem.symmetry.images.copies() as f64;
    let share = |(index, (film, part)): (usize, (&Film, &Part))| {
        // Twice the energy of all fields over 4 pi eps0 at 1 V.
        let factor = copies * film.thickness / (4.0 * PI * unit.conductor_charge[k]);
        Ways::default().and(factor, energy(problem, part, (film, fields.gaps[index]), &fields))
    };
    Ok(films.iter().zip(parts).enumerate().map(share).collect())
}

/// The integral of the film's permittivity times the square of its field, over its surface, in
/// both ways of [`squares::Square::of`].
fn energy(
    problem: &Problem,
    part: &Part,
    (film, [through, roughly]): (&Film, [Through; 2]),
    fields: &sides::Fields<'_>,
) -> Ways {
    let eps = film.relative_permittivity;
    let [charges, even] = part.fluxes(fields);
    let mut sums = part.square([&charges, &even]);
    if let Some(gap) = &part.gap {
        // Tensions cancel over the whole plane, and so they do beyond the cutoff but for what they
        // differ by within it.
        sums = sums.and(1.0, part.more_on_metal([&charges, &even]));
        let of_metal = eps / gap.half_space.powi(2);
        let of = |(on_metal, between): (f64, Through)| {
            of_metal * (on_metal + between.all) + between.beyond / eps
        };
        let cut = of_metal * sums.cut + (of((0.0, through)) - of((0.0, roughly))).abs();
        return Ways { found: sums.found.map(|on_metal| of((on_metal, through))), cut };
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
