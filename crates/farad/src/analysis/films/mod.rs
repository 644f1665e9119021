//! Shares of the energy in thin films on surfaces: what dielectric loss at interfaces is weighted
//! with (docs/math.md, "Films").

pub(crate) mod across;
mod faces;
mod gap;
pub(crate) mod rims;
mod side;
mod sides;
pub(crate) mod squares;
pub(crate) mod wedge;

use std::f64::consts::PI;

use crate::analysis::bars;
use crate::analysis::checks;
use crate::analysis::interface::{Analysis, Answers, ChargeOfBars, Conclusion, Results};
use crate::problem::Problem;
use crate::problem::fault::{Error, Fault};
use crate::problem::request_fault::FilmFault;
use crate::result::participation::FilmShare;
use crate::result::solution::Solution;
use crate::scene::description::Description;
use crate::scene::requests::Film;
use gap::Through;
use sides::{Fields, Integral, Part};

/// Of what missing charges change on single triangles this part counts where changes cancel, with
/// constant and with linear densities: measured on strips and on meshes that an accuracy refines.
/// Linear densities miss less, and less of what constants times powers of distances do.
const BY_CHANCE: [f64; 2] = [0.1, 0.3];

/// Coarse meshes hide no more of what missing charges change than this factor: their capacitances
/// have the rest.
const MOST_HIDDEN: f64 = 1.5;

/// Shares of films in the energy of each conductor at 1 V.
pub(crate) struct FilmAnalysis;

impl Analysis for FilmAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        !description.films.is_empty()
    }

    fn name_with_all_nets(&self) -> Option<&'static str> {
        Some("a film")
    }

    fn name_in_one_layer(&self) -> Option<&'static str> {
        Some("films")
    }

    fn faults_on_mesh(&self, problem: &Problem) -> Vec<Fault> {
        let fault = |(film, request): (usize, &Film)| {
            let wrong = number(request).or_else(|| sides::find(problem, request).err())?;
            Some(Fault::Film { film, name: request.name.clone(), problem: wrong })
        };
        problem.description.films.iter().enumerate().filter_map(fault).collect()
    }

    fn find(&self, answers: &Answers<'_>, results: &mut Results) -> Result<(), Error> {
        results.units = answers.units();
        Ok(())
    }

    fn charge_of_bars(&self) -> ChargeOfBars {
        ChargeOfBars::Units
    }

    fn conclude(&self, conclusion: &Conclusion<'_>, solution: &mut Solution) -> Result<(), Error> {
        let relative = relative_bars(solution);
        let (capacitances, charges) = (relative.as_deref(), &solution.missing[..]);
        let missing = Missing { capacitances, charges };
        solution.films = find(conclusion.problem, &solution.units, &missing)?;
        solution.warnings.extend(checks::films(&solution.films));
        Ok(())
    }

    fn is_of_last_mesh(&self, for_films: bool) -> bool {
        !for_films
    }
}

/// The bars of the conductors' own capacitances relative to them.
fn relative_bars(solution: &Solution) -> Option<Vec<f64>> {
    let (bars, matrix) = (solution.matrix_bars()?, solution.matrices().maxwell_farad);
    // There are no films where some of the conductors alone are excited.
    let own = bars.maxwell_farad.iter().zip(&matrix).enumerate();
    let relative = |(k, (bars, row)): (usize, (&Vec<f64>, &Vec<f64>))| {
        Some((bars.get(k)? / row.get(k)?).abs())
    };
    Some(own.filter_map(relative).collect())
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

/// Missing parts of solutions.
struct Missing<'a> {
    /// The bars of their own capacitances relative to them.
    capacitances: Option<&'a [f64]>,
    /// The charges of triangles, one set for each answer, over 4 pi eps0; none without bars.
    charges: &'a [Vec<f64>],
}

/// All that the description wants, for answers to each conductor in turn at 1 V.
fn find(
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
    for (k, unit) in units.iter().enumerate() {
        let fields = Fields::find(problem, unit, &parts, None)?;
        let as_solved = of_unit(problem, &parts, k, &fields);
        let Some((charges, capacitances)) = missing.charges.get(k).zip(missing.capacitances) else {
            let found = shares.iter_mut().zip(&as_solved);
            found.for_each(|(share, found)| share.participation.push(found.found.max(0.0)));
            continue;
        };
        let response = completed(problem, unit, charges);
        // Missing charges change the field next to metal little.
        let fields = Fields::find(problem, &response, &parts, Some(&fields.gaps))?;
        let completed = of_unit(problem, &parts, k, &fields);
        let triangles = problem.conductors.of_triangle.iter();
        let triangles = triangles.filter(|owner| **owner == Some(k as u32)).count();
        let hidden = bars::coarse(triangles).min(MOST_HIDDEN);
        let by_chance = BY_CHANCE[usize::from(!unit.at_corners.is_empty())];
        let both = films.iter().zip(&parts).zip(as_solved.iter().zip(&completed));
        for (share, ((film, part), (before, with))) in shares.iter_mut().zip(both) {
            let found = with.found;
            let changes = before.each.iter().zip(&with.each).map(|(a, b)| (a - b).abs());
            let squares = part.triangles().zip(before.each.iter().zip(&with.each));
            let squares = squares.map(|(t, (a, b))| {
                let (a, b) = (a.max(0.0).sqrt(), b.max(0.0).sqrt());
                let has_turned = unit.charge[t] * (unit.charge[t] + charges[t]) < 0.0;
                if has_turned { (a + b).powi(2) } else { (a - b).powi(2) }
            });
            // Squares of what is missing cancel nowhere; a cutoff leaves out the narrow triangles
            // that miss most.
            let squares = if film.cutoff.is_none() { squares.sum() } else { 0.0 };
            let change = (found - before.found).abs() + by_chance * changes.sum::<f64>() + squares;
            let bar = hidden * change + with.cut.abs() + (capacitances[k] * found).abs();
            // No film has less than nothing.
            share.participation.push(found.max(0.0));
            share.bars.push(bar.max(-found));
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
fn of_unit(problem: &Problem, parts: &[Part], k: usize, fields: &Fields<'_>) -> Vec<Integral> {
    let films = &problem.description.films;
    let copies = problem.symmetry.images.copies() as f64;
    let share = |(index, (film, part)): (usize, (&Film, &Part))| {
        // Twice the energy of all fields over 4 pi eps0 at 1 V.
        let factor = copies * film.thickness / (4.0 * PI * fields.unit.conductor_charge[k]);
        Integral::default().and(factor, &energy(problem, part, film, fields.gaps[index], fields))
    };
    films.iter().zip(parts).enumerate().map(share).collect()
}

/// The integral of the film's permittivity times the square of its field, over its surface.
fn energy(
    problem: &Problem,
    part: &Part,
    film: &Film,
    [through, roughly]: [Through; 2],
    fields: &Fields<'_>,
) -> Integral {
    let eps = film.relative_permittivity;
    let [charges, even] = part.fluxes(fields);
    let mut sum = part.square([&charges, &even]);
    if let Some(gap) = &part.gap {
        // Tensions cancel over the whole plane, and so they do beyond the cutoff but for what they
        // differ by within it.
        sum = sum.and(1.0, &part.more_on_metal([&charges, &even]));
        let of_metal = eps / gap.half_space.powi(2);
        let of_gap = |between: Through| of_metal * between.all + between.beyond / eps;
        let (found, cut) = (of_gap(through), (of_gap(through) - of_gap(roughly)).abs());
        return Integral { found, each: Vec::new(), cut }.and(of_metal, &sum);
    }
    sum = Integral::default().and(1.0 / eps, &sum);
    if part.has_along() {
        let none = vec![0.0; charges.len()];
        for component in part.along(problem, fields) {
            sum = sum.and(eps, &part.square([&component, &none]));
        }
    }
    sum
}
