//! Shares of the field's energy in media, from which derivatives by permittivities follow
//! (docs/math.md, "Derivatives").
//!
//! By the charges of the solve each share is an integral over the medium's surface, and the shares
//! of all media add up to 1. Errors of charges on metal count as often as the permittivity next to
//! it says: what the shares lack of 1 is lacking in the highest permittivities. Where too little of
//! a share is left that way, and where not all media are known, the share follows from the change
//! of capacitances between solves with less and with more permittivity. These are with linear
//! densities, and once more with constant ones, since their difference shows how accurate they are.
//! Capacitances go with all permittivities together: of all media one share, the largest, is what
//! the others leave.

use bem::derivatives;
use mesh::regions;

use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::problem::media::SURROUNDINGS;
use crate::problem::request_fault::SensitivityFault;
use crate::result::matrices::square;

/// Shares by charges are good where they may be off by no more than this part of themselves; solves
/// take as long as the solve itself, and leave about 1 %.
const GOOD: f64 = 0.03;

/// Part of all energy by which integrals over charges may be off: shares of curved shells are off
/// by 1e-5, whatever their permittivity, against their closed form.
const OF_INTEGRALS: f64 = 2e-5;

/// Part of the bar of the capacitance by which shares may be off by potentials on interfaces: what
/// these take from one medium is in another one, so that the sum of all shares does not show it.
const OF_BARS: f64 = 0.125;

/// Logarithm of the factor by which permittivities are less and more. Over twice its sinh the
/// difference is exact for what goes with the permittivity or one over it, else off by up to 6e-4.
const STEP: f64 = 0.05;
const OF_STEP: f64 = 1e-3;

/// Tolerances of these solves: the second where what the first leaves is more than this part of a
/// share. A share of 1e-4 is then left with one part in a hundred.
const TOLERANCE: f64 = 1e-6;
const TIGHTER: f64 = 1e-7;
const RESOLVED: f64 = 0.01;

/// Entry (i, j) is of the energy of the fields of conductors i and j, over the mean of their own.
pub type Matrix = Vec<Vec<f64>>;

/// Shares of one medium.
#[derive(Default)]
pub struct Shares {
    /// One for each pair of conductors.
    pub shares: Matrix,
    /// By how much each may be off.
    pub bars: Matrix,
    /// Whether they are those of the solve's charges, so that what is off in these is not in bars.
    pub are_of_charges: bool,
}

/// A medium by the surfaces around it.
pub struct Medium {
    /// The dielectric; `None` = the surroundings.
    of: Option<u32>,
    /// Its permittivity.
    pub(crate) at: f64,
    /// Weights of free charge, and of all charge, of each triangle of metal.
    on_metal: Vec<[f64; 2]>,
    /// Weight of charge times potential of each triangle of an interface.
    on_interfaces: Vec<f64>,
}

impl Medium {
    /// The dielectric of this name, or the surrounding medium.
    pub fn new(problem: &Problem, name: &str) -> Result<Self, SensitivityFault> {
        let description = &problem.description;
        if !description.surfaces.is_empty() {
            return Err(SensitivityFault::BySurfaces);
        }
        let all = &description.dielectrics;
        let index = all.iter().position(|dielectric| dielectric.name == name);
        if index.is_none() && (name != SURROUNDINGS || description.stack.is_some()) {
            let available = all.iter().map(|dielectric| dielectric.name.clone());
            let around = description.stack.is_none().then(|| SURROUNDINGS.to_owned());
            let (name, available) = (name.to_owned(), available.chain(around).collect());
            return Err(SensitivityFault::NoDielectric { name, available });
        }
        let at = index.map_or(description.relative_permittivity, |k| all[k].relative_permittivity);
        let count = problem.mesh.triangles.len();
        let of = index.map(|k| k as u32);
        let Some(media) = &problem.media else {
            let (on_metal, on_interfaces) = (vec![[0.0, 1.0]; count], vec![0.0; count]);
            return Ok(Self { of, at, on_metal, on_interfaces });
        };
        let sides = regions::on_both_sides(problem.symmetry.whole(&problem.mesh), &media.regions);
        let (mut on_metal, mut on_interfaces) = (vec![[0.0; 2]; count], vec![0.0; count]);
        for t in 0..count {
            let eps = media.permittivity[t];
            let is_own = [0, 1].map(|side| sides[t][side] == of && eps[side] == at);
            if is_own == [false; 2] {
                continue;
            }
            let other = if is_own[0] { eps[1] } else { eps[0] };
            let is_metal = problem.conductors.of_triangle[t].is_some();
            match (is_metal, other == at) {
                // The fields on both sides add up to the total charge.
                (true, true) => on_metal[t] = [0.0, 1.0],
                (true, false) => on_metal[t] = [1.0, -other].map(|share| share / (at - other)),
                (false, false) => on_interfaces[t] = other / (other - at),
                // Inside of it nothing is bounded.
                (false, true) if is_own == [true; 2] => {}
                (false, true) => return Err(SensitivityFault::Alike(name.to_owned())),
            }
        }
        Ok(Self { of, at, on_metal, on_interfaces })
    }

    /// Shares of media by the charges of these answers.
    pub fn by_charges(
        all: &[Self],
        problem: &Problem,
        units: &[bem::Response],
    ) -> Result<Vec<Matrix>, bem::Error> {
        let (mesh, images) = (&problem.mesh, &problem.symmetry.images);
        let weights: Vec<&[f64]> = all.iter().map(|medium| &*medium.on_interfaces).collect();
        let works = derivatives::works(mesh, &charges(units), images, &weights)?;
        let of_medium = |(medium, mut rows): (&Self, Matrix)| {
            // Row j: the field of solution j at conductors at 1 V in others.
            for (row, unit) in rows.iter_mut().zip(units) {
                for (t, owner) in problem.conductors.of_triangle.iter().enumerate() {
                    if let Some(to) = owner.and_then(|i| row.get_mut(i as usize)) {
                        let [free, total] = medium.on_metal[t];
                        *to += free * unit.free_charge[t] + total * unit.charge[t];
                    }
                }
            }
            let factor = 0.5 * images.copies() as f64 * medium.at;
            over_own(units, |i, j| factor * (rows[i][j] + rows[j][i]))
        };
        Ok(all.iter().zip(works).map(of_medium).collect())
    }

    /// All permittivities with that of this medium times a factor.
    fn permittivity(&self, problem: &Problem, factor: f64) -> Vec<[f64; 2]> {
        let mut all = problem.permittivity();
        let Some(media) = &problem.media else { return all };
        let whole = problem.symmetry.whole(&problem.mesh);
        let sides = regions::on_both_sides(whole, &media.regions);
        for (eps, sides) in all.iter_mut().zip(sides) {
            for (eps, of) in eps.iter_mut().zip(sides) {
                *eps *= if of == self.of && *eps == self.at { factor } else { 1.0 };
            }
        }
        all
    }
}

/// The charges of these answers.
pub(crate) fn charges(units: &[bem::Response]) -> Vec<bem::Charges<'_>> {
    units.iter().map(bem::Charges::from).collect()
}

/// The square roots of each conductor's own capacitance.
fn roots(units: &[bem::Response]) -> Vec<f64> {
    units.iter().enumerate().map(|(k, unit)| unit.conductor_charge[k].abs().sqrt()).collect()
}

fn over_own(units: &[bem::Response], entry: impl Fn(usize, usize) -> f64) -> Matrix {
    let roots = roots(units);
    let n = roots.len();
    let share = |i: usize, j: usize| entry(i, j) / (roots[i] * roots[j]);
    square(n, share)
}

/// Capacitances, each entry the mean of both halves.
pub fn all(units: &[bem::Response]) -> Matrix {
    let entry = |i: usize, j: usize| units[j].conductor_charge[i];
    over_own(units, |i, j| 0.5 * (entry(i, j) + entry(j, i)))
}

/// The shares of these media, for answers to each conductor in turn at 1 V, of whose capacitances
/// `relative` are the square roots of relative bars; without bars where there are none.
pub fn shares(
    problem: &Problem,
    units: &[bem::Response],
    media: &[&Medium],
    relative: Option<&[f64]>,
    progress: &dyn bem::Progress,
) -> Result<Vec<Shares>, Error> {
    if media.is_empty() {
        return Ok(Vec::new());
    }
    let known = OfAll::by_charges(problem, units)?;
    if let Some(found) = by_charges(problem, units, media, known.as_ref(), relative) {
        return Ok(found);
    }
    let with_bars = relative.is_some();
    let mut solves = Pair::new(TOLERANCE);
    let mut of = |medium: &Medium| -> Result<Solved, Error> {
        let solved = solves.solved(problem, units, medium, with_bars, progress)?;
        if solved.is_resolved() || solves.tolerance == TIGHTER {
            return Ok(solved);
        }
        solves = Pair::new(TIGHTER);
        solves.solved(problem, units, medium, with_bars, progress)
    };
    let Some(largest) = known.and_then(|known| known.largest(media)) else {
        return media.iter().map(|medium| Ok(of(medium)?.shares)).collect();
    };
    let others = media.iter().enumerate().filter(|(k, _)| *k != largest);
    let solved: Vec<Solved> = others.map(|(_, medium)| of(medium)).collect::<Result<_, _>>()?;
    let rest = match rest(units, &solved, with_bars) {
        Some(rest) => rest,
        None => of(media[largest])?.shares,
    };
    let mut found: Vec<Shares> = solved.into_iter().map(|solved| solved.shares).collect();
    found.insert(largest, rest);
    Ok(found)
}

/// Shares by solves with less and more of a permittivity, the capacitances around which these are,
/// and how far the shares may be off by what the solver leaves.
struct Solved {
    shares: Shares,
    around: Matrix,
    left: f64,
}

impl Solved {
    fn is_resolved(&self) -> bool {
        let shares = &self.shares.shares;
        (0..shares.len()).all(|i| self.left <= RESOLVED * shares[i][i].abs())
    }
}

/// Solves with both densities.
struct Pair {
    tolerance: f64,
    linear: Solves,
    constant: Solves,
}

impl Pair {
    fn new(tolerance: f64) -> Self {
        let [linear, constant] = [bem::Density::Linear, bem::Density::Constant]
            .map(|density| Solves { density, tolerance, prepared: None });
        Self { tolerance, linear, constant }
    }

    fn solved(
        &mut self,
        problem: &Problem,
        units: &[bem::Response],
        medium: &Medium,
        with_bars: bool,
        progress: &dyn bem::Progress,
    ) -> Result<Solved, Error> {
        let Changed { shares, around, left } =
            self.linear.shares(problem, units, medium, progress)?;
        if !with_bars {
            return Ok(Solved { shares: Shares { shares, ..Shares::default() }, around, left });
        }
        let others = self.constant.shares(problem, units, medium, progress)?;
        let left = left + others.left;
        let bar = |i: usize, j: usize| {
            let step = OF_STEP * shares[i][j].abs();
            (shares[i][j] - others.shares[i][j]).abs() + step + left
        };
        let bars = square(units.len(), bar);
        Ok(Solved { shares: Shares { shares, bars, are_of_charges: false }, around, left })
    }
}

/// The shares of all dielectrics and of the surroundings by charges.
struct OfAll {
    media: Vec<Medium>,
    shares: Vec<Matrix>,
}

impl OfAll {
    /// `None` where not all media have shares, or there is one only.
    fn by_charges(problem: &Problem, units: &[bem::Response]) -> Result<Option<Self>, Error> {
        if problem.description.stack.is_some() || problem.media.is_none() {
            return Ok(None);
        }
        let names = problem.description.dielectrics.iter().map(|body| body.name.as_str());
        let media = names.chain([SURROUNDINGS]).map(|name| Medium::new(problem, name).ok());
        let Some(media) = media.collect::<Option<Vec<Medium>>>() else { return Ok(None) };
        let shares = Medium::by_charges(&media, problem, units)?;
        Ok(Some(Self { media, shares }))
    }

    fn place(&self, medium: &Medium) -> Option<usize> {
        self.media.iter().position(|known| known.of == medium.of)
    }

    /// How what all shares lack of 1 is distributed to them.
    fn parts_of_lacking(&self, problem: &Problem) -> Vec<f64> {
        let areas = mesh::quality::areas(&problem.mesh);
        // Errors of charges are alike on all metal.
        let size = |medium: &Medium| {
            let on_metal = medium.on_metal.iter().zip(&areas);
            let touched = on_metal.filter(|(weights, _)| **weights != [0.0; 2]);
            medium.at * touched.map(|(_, area)| area).sum::<f64>()
        };
        let all: f64 = self.media.iter().map(size).sum();
        self.media.iter().map(|medium| size(medium) / all).collect()
    }

    /// Which of these has the largest shares, if they are all media, and more than one.
    fn largest(&self, media: &[&Medium]) -> Option<usize> {
        let mut wanted: Vec<Option<u32>> = media.iter().map(|medium| medium.of).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if media.len() < 2 || wanted.len() < media.len() || wanted.len() < self.media.len() {
            return None;
        }
        let sum = |medium: &&Medium| -> Option<f64> {
            let shares = &self.shares[self.place(medium)?];
            Some((0..shares.len()).map(|i| shares[i][i]).sum())
        };
        let sums = media.iter().map(sum).collect::<Option<Vec<f64>>>()?;
        (0..sums.len()).max_by(|&a, &b| sums[a].total_cmp(&sums[b]))
    }
}

/// What shares of all media but one leave of all energy; `None` if that is not the largest one, of
/// which little is lost.
fn rest(units: &[bem::Response], others: &[Solved], with_bars: bool) -> Option<Shares> {
    let n = units.len();
    let all = all(units);
    let sum = |of: fn(&Shares) -> &Matrix, i: usize, j: usize| {
        others.iter().map(|solved| of(&solved.shares)[i][j]).sum::<f64>()
    };
    let shares = square(n, |i, j| all[i][j] - sum(|of| &of.shares, i, j));
    let is_largest =
        others.iter().all(|solved| (0..n).all(|i| shares[i][i] >= solved.shares.shares[i][i]));
    // The capacitances of the solve itself are as exact as it is.
    let off = |i: usize, j: usize| {
        let each = others.iter().map(|solved| (all[i][j] - solved.around[i][j]).abs());
        sum(|of| &of.bars, i, j) + each.fold(0.0, f64::max)
    };
    let bars = if with_bars { square(n, off) } else { Matrix::default() };
    is_largest.then_some(Shares { shares, bars, are_of_charges: false })
}

/// The same by charges alone, where they are good.
fn by_charges(
    problem: &Problem,
    units: &[bem::Response],
    media: &[&Medium],
    known: Option<&OfAll>,
    relative: Option<&[f64]>,
) -> Option<Vec<Shares>> {
    let n = units.len();
    let are_of_charges = true;
    if problem.media.is_none() {
        let of = |_| Shares { shares: all(units), bars: square(n, |_, _| 0.0), are_of_charges };
        return Some(media.iter().map(of).collect());
    }
    let known = known?;
    let sum = |i: usize, j: usize| known.shares.iter().map(|shares| shares[i][j]).sum::<f64>();
    let all = all(units);
    let lacking = square(n, |i, j| all[i][j] - sum(i, j));
    let most = (0..n).map(|i| lacking[i][i].abs()).fold(0.0, f64::max);
    let parts = known.parts_of_lacking(problem);
    let of_medium = |medium: &&Medium| {
        let place = known.place(medium)?;
        let (part, shares) = (parts[place], &known.shares[place]);
        // Either of two media may lack what both do.
        let unclear = 2.0 * part * (1.0 - part) * most;
        let off = |i: usize, j: usize| match relative {
            Some(relative) => OF_INTEGRALS + unclear + OF_BARS * relative[i] * relative[j],
            None => OF_INTEGRALS + most,
        };
        let entry = |i: usize, j: usize| shares[i][j] + part * lacking[i][j];
        Some(Shares { shares: square(n, entry), bars: square(n, off), are_of_charges })
    };
    let found: Vec<Shares> = media.iter().map(of_medium).collect::<Option<_>>()?;
    let is_good = |Shares { shares, bars, .. }: &Shares| {
        let largest = |of: &Matrix| (0..n).map(|i| of[i][i]).fold(0.0, f64::max);
        (0..n).all(|i| shares[i][i] > 0.0) && largest(bars) <= GOOD * largest(shares)
    };
    found.iter().all(is_good).then_some(found)
}

/// What a change of one permittivity shows.
struct Changed {
    shares: Matrix,
    /// Capacitances in the middle.
    around: Matrix,
    /// How far shares may be off by what the solver leaves.
    left: f64,
}

/// Charges from which a solve starts.
struct Start {
    total: Vec<f64>,
    at_corners: Vec<[f64; 3]>,
}

impl From<&bem::Response> for Start {
    fn from(of: &bem::Response) -> Self {
        Self { total: of.charge.clone(), at_corners: of.at_corners.clone() }
    }
}

impl Start {
    /// As far from `middle` as `other`, on the other side.
    fn beyond(middle: &bem::Response, other: &bem::Response) -> Self {
        let total = middle.charge.iter().zip(&other.charge).map(|(a, b)| 2.0 * a - b);
        let corners = middle.at_corners.iter().zip(&other.at_corners);
        let at_corners = corners.map(|(a, b)| [0, 1, 2].map(|k| 2.0 * a[k] - b[k]));
        Self { total: total.collect(), at_corners: at_corners.collect() }
    }

    fn charges(&self) -> bem::Charges<'_> {
        bem::Charges { total: &self.total, at_corners: &self.at_corners }
    }
}

/// Solves with other permittivities on the same surfaces.
struct Solves {
    density: bem::Density,
    tolerance: f64,
    prepared: Option<bem::Prepared>,
}

impl Solves {
    /// Shares of a medium, by its permittivity.
    fn shares(
        &mut self,
        problem: &Problem,
        units: &[bem::Response],
        medium: &Medium,
        progress: &dyn bem::Progress,
    ) -> Result<Changed, Error> {
        let [fewer, further] = [(-STEP).exp(), STEP.exp()];
        let start: Vec<Start> = units.iter().map(Start::from).collect();
        let less =
            self.solve(problem, start, units, &medium.permittivity(problem, fewer), progress)?;
        let is_alike = units.iter().all(|unit| self.is_of_density(unit));
        let start = less.iter().zip(units).map(|(less, unit)| {
            // As far on the other side.
            if is_alike { Start::beyond(unit, less) } else { Start::from(less) }
        });
        let more = self.solve(
            problem,
            start.collect(),
            units,
            &medium.permittivity(problem, further),
            progress,
        )?;
        let n = units.len();
        let both = [roots(&less), roots(&more)];
        let own = |i: usize, j: usize| {
            let of = |k: usize| both[0][k] * both[1][k];
            (of(i) * of(j)).sqrt()
        };
        let even = |of: &[bem::Response], i: usize, j: usize| {
            0.5 * (of[j].conductor_charge[i] + of[i].conductor_charge[j])
        };
        let share = |i: usize, j: usize| {
            (even(&more, i, j) - even(&less, i, j)) / (2.0 * STEP.sinh() * own(i, j))
        };
        let around = |i: usize, j: usize| 0.5 * (even(&more, i, j) + even(&less, i, j)) / own(i, j);
        let left = less.iter().chain(&more).map(|unit| unit.relative_residual).fold(0.0, f64::max);
        let left = left / STEP.sinh();
        Ok(Changed { shares: square(n, share), around: square(n, around), left })
    }

    fn is_of_density(&self, unit: &bem::Response) -> bool {
        unit.at_corners.is_empty() != (self.density == bem::Density::Linear)
    }

    fn solve(
        &mut self,
        problem: &Problem,
        start: Vec<Start>,
        units: &[bem::Response],
        permittivity: &[[f64; 2]],
        progress: &dyn bem::Progress,
    ) -> Result<Vec<bem::Response>, Error> {
        let options = bem::SolveOptions::default().density(self.density).tolerance(self.tolerance);
        let kept = self.prepared.take();
        let kept = kept.and_then(|mut kept| kept.set_permittivity(permittivity).then_some(kept));
        let mut prepared = match kept {
            Some(kept) => kept,
            None => {
                let media = problem.media_of(permittivity);
                bem::Prepared::new(&problem.mesh, media, units.len(), &options)?
            }
        };
        let start: Vec<bem::Charges<'_>> = start.iter().map(Start::charges).collect();
        let of_unit =
            |unit: &bem::Response| bem::Excitation::default().potentials(unit.potentials.clone());
        let excitations: Vec<bem::Excitation> = units.iter().map(of_unit).collect();
        let answer = prepared.solve_from(&start, &excitations, progress)?;
        self.prepared = Some(prepared);
        Ok(answer.responses)
    }
}
