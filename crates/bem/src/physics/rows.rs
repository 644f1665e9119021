//! The equations row by row: terms that an interface adds to the fast sum, and Gauss's law on
//! closed interfaces.
//!
//! With panel charges x_j (over 4 pi eps0), d_i = sum_j D_ij x_j the mean normal derivative of the
//! potential on panel i, and f = (eps_back - eps_front) / (eps_back + eps_front):
//!
//! ```text
//! conductor: sum_j A_ij x_j                       = V_k - phi_ext
//! interface: L (2 pi x_i / A_i + f d_i)           = -L f dphi_ext/dn
//! ```
//!
//! L, the radius of the sphere with the interface's area, converts fields to potentials. On closed
//! surfaces [`gauss`](super::gauss) corrects the flux of d and scales the mean of the rows.

use std::f64::consts::PI;
use std::sync::Arc;

use parallel::prelude::*;

use super::closed::{Equations, Finder, PanelInfo};
use super::gauss::Gauss;
use super::interfaces::{Parts, factor};
use super::pieces::Pieces;
use crate::Error;
use crate::constants::NO_DIGITS;
use crate::geometry::panels::Panels;
use crate::near::RowKind;
use crate::sampling::drawn::Surface;
use crate::solve::backend::mean_squares;
use crate::solve::completion::{Completion, Laws, Vectors};
use crate::space::Density;

/// Fields above this multiple of their mean over an interface are a peak, next to a charge.
const PEAK: f64 = 10.0;

/// The equations: one per panel for means, and for linear densities another one for each linear
/// mode, in the order (modes, panels).
#[derive(Clone)]
pub struct Rows {
    /// One per panel, like the following fields unless they say "of rows".
    pub(super) kinds: Vec<RowKind>,
    pub(super) conductor: Vec<Option<u32>>,
    /// Relative permittivity on the normal's side and on the other side.
    permittivity: Vec<[f64; 2]>,
    /// f of interfaces, 0 on conductors.
    factor: Vec<f64>,
    /// L of the panel's interface.
    length: Vec<f64>,
    pub(super) areas: Vec<f64>,
    /// Weights of the residual's norm, of rows: each panel's share of its part's area.
    pub(super) weights: Vec<f64>,
    /// Conductor, or number of conductors plus interface, of rows.
    part: Vec<u32>,
    parts: usize,
    pub(super) pieces: Pieces,
    pub(super) gauss: Gauss,
}

/// Raises actions without digits to the smallest action with digits; false if there is no action.
fn raised(action: &mut [f64]) -> bool {
    let largest = action.iter().copied().fold(0.0, f64::max);
    action.iter_mut().for_each(|action| *action = action.max(NO_DIGITS * largest));
    largest > 0.0
}

/// The largest root mean square of parts.
pub(super) fn largest(parts: &[f64]) -> f64 {
    // NaN must be kept: f64::max drops it.
    parts.iter().fold(0.0, |a: f64, &b| if b > a || b.is_nan() { b } else { a })
}

/// The norm of the residual relative to the action, from root mean squares over each part of the
/// residual and of the action balanced by charges.
pub(super) fn relative_to_action(left: &[f64], balanced: &[f64]) -> f64 {
    let mut action: Vec<f64> = balanced.iter().zip(left).map(|(a, b)| a + b).collect();
    let acts = raised(&mut action);
    let relative = |(left, action): (&f64, &f64)| if acts { left / action } else { *left };
    left.iter().zip(&action).map(relative).map(|v| v * v).sum::<f64>().sqrt()
}

/// The root of the weighted sum of squares.
pub(super) fn weighted_norm(weights: &[f64], r: &[f64]) -> f64 {
    r.iter().zip(weights).map(|(r, w)| w * r * r).sum::<f64>().sqrt()
}

impl Rows {
    /// The equations of panels in these parts.
    pub(super) fn new(
        panels: &Arc<Panels>,
        density: Density,
        parts: Parts,
        finder: &Finder<'_>,
    ) -> Self {
        let (infos, part) = (finder.panels, &parts.of_panels);
        let mut area = vec![0.0; parts.count];
        let mut areas = panels.areas().iter();
        for own in part.chunk_by(|a, b| a == b) {
            area[own[0] as usize] += areas.by_ref().take(own.len()).sum::<f64>();
        }
        let length: Vec<f64> =
            part.par_iter().map(|&p| (area[p as usize] / (4.0 * PI)).sqrt()).collect();
        let gauss = finder.gauss(parts.closed, &length, panels);
        let is_metal = |info: &PanelInfo| info.conductor.is_some();
        let kind =
            |info: &PanelInfo| if is_metal(info) { RowKind::Single } else { RowKind::Adjoint };
        let factor =
            |info: &PanelInfo| if is_metal(info) { 0.0 } else { factor(info.permittivity) };
        let weight = |i: usize| panels.areas()[i] / area[part[i] as usize];
        let weights: Vec<f64> = (0..panels.len()).into_par_iter().map(weight).collect();
        Self {
            kinds: infos.par_iter().map(kind).collect(),
            conductor: infos.par_iter().map(|info| info.conductor).collect(),
            permittivity: infos.par_iter().map(|info| info.permittivity).collect(),
            factor: infos.par_iter().map(factor).collect(),
            weights: weights.repeat(density.modes()),
            areas: panels.areas().to_vec(),
            length,
            part: part.repeat(density.modes()),
            parts: parts.count,
            pieces: Pieces::new(finder.whole, finder.triangles, panels.triangles(), infos),
            gauss,
        }
    }

    /// Replaces the permittivities of panels, which are of the same interfaces as before.
    pub(super) fn set_permittivity(&mut self, permittivity: Vec<[f64; 2]>) {
        for (i, sides) in permittivity.iter().enumerate() {
            if self.conductor[i].is_none() {
                self.factor[i] = factor(*sides);
            }
        }
        self.permittivity = permittivity;
        self.gauss.set_permittivity(&Equations {
            areas: &self.areas,
            lengths: &self.length,
            permittivity: &self.permittivity,
        });
    }

    /// Converts potentials and normal derivatives of charges into left-hand sides; `None` for
    /// conductors alone, where they are the left-hand sides.
    pub(super) fn completion(&self) -> Option<&dyn Completion> {
        let are_complete = self.conductor.iter().all(Option::is_some) && !self.gauss.changes_rows();
        if are_complete { None } else { Some(self) }
    }

    /// Converts external potentials and normal derivatives in each row into right-hand sides, with
    /// conductors at `potentials`.
    pub(super) fn right_hand_side(&self, potentials: &[f64], external: &mut [f64]) {
        for (row, value) in external.iter_mut().enumerate() {
            let i = self.panel(row);
            *value = match self.conductor[i] {
                Some(k) if row == i => potentials[k as usize] - *value,
                Some(_) => -*value,
                None => -self.length[i] * self.factor[i] * *value,
            };
        }
        self.gauss.means.scale(external);
    }

    /// Weights of the norm in which iterations reduce residuals, for a right-hand side `b` of size
    /// 1.
    ///
    /// On conductors the mean over panels is added to the mean over the area. In the latter alone
    /// small panels next to a point charge count for nothing, and conductors at 1 V might end with
    /// any potential there; where the right-hand side is large, next to its charge, residuals count
    /// relative to it. On interfaces fields next to a charge may be so much larger than their mean
    /// that all other fields would count for nothing: above [`PEAK`] means residuals count by the
    /// root of the excess.
    pub(super) fn norm_weights(&self, b: &[f64]) -> Vec<f64> {
        let (mut panels, mut means) = (vec![0.0; self.parts], vec![0.0; self.parts]);
        for ((&p, weight), b) in self.part.iter().zip(&self.weights).zip(b) {
            panels[p as usize] += 1.0;
            means[p as usize] += weight * b.abs();
        }
        let weight = |i: usize| {
            let (of_area, part) = (self.weights[i], self.part[i] as usize);
            match self.conductor[self.panel(i)] {
                Some(_) => 0.5 * (of_area + 1.0 / (panels[part] * (b[i] * b[i]).max(1.0))),
                None if means[part] > 0.0 => of_area / (b[i].abs() / (PEAK * means[part])).max(1.0),
                None => of_area,
            }
        };
        (0..b.len()).map(weight).collect()
    }

    /// Largest over conductors and interfaces of the root mean square over the area.
    pub(super) fn measure(&self, r: &[f64]) -> f64 {
        largest(&self.of_parts(r.iter().copied()))
    }

    /// Weights in which a residual's norm is at least the largest, over conductors and interfaces,
    /// of its root mean square relative to the action on each. The action is the potential, or the
    /// normal field, of all others and of the sources there, which its own charge must balance. It
    /// is computed as the part balanced so far, by the diagonals of interfaces, plus the residual.
    pub(super) fn weights_by_action(&self, x: &[f64], r: &[f64]) -> Vec<f64> {
        let left = self.of_parts(r.iter().copied());
        let mut action = self.balanced(x);
        action.iter_mut().zip(left).for_each(|(action, left)| *action += left);
        if !raised(&mut action) {
            return self.weights.clone();
        }
        let square = |i: usize| action[self.part(i)].powi(2);
        self.weights.iter().enumerate().map(|(i, w)| w / square(i)).collect()
    }

    /// Largest, over conductors and interfaces, of the root mean square of errors in some rows
    /// relative to the action there, given the charges `x` that balance it. `errors` are those of
    /// potentials and normal derivatives.
    pub(super) fn worst_by_action(&self, x: &[f64], chosen: &[usize], errors: &[f64]) -> f64 {
        let mut action = self.balanced(x);
        if !raised(&mut action) {
            return 0.0;
        }
        let mut squares = vec![(0.0, 0.0); self.parts];
        for (&i, error) in chosen.iter().zip(errors) {
            let counts = if self.conductor[i].is_some() { 1.0 } else { self.coupling(i) };
            let (sum, count) = &mut squares[self.part(i)];
            *sum += (counts * error).powi(2);
            *count += 1.0;
        }
        let relative = |(&(sum, count), action): (&(f64, f64), &f64)| {
            if count > 0.0 { (sum / count).sqrt() / action } else { 0.0 }
        };
        squares.iter().zip(&action).map(relative).fold(0.0, f64::max)
    }

    /// Root mean square of the action that charges on each conductor and interface balance, by the
    /// diagonals of interfaces.
    pub(super) fn balanced(&self, x: &[f64]) -> Vec<f64> {
        self.of_parts(x.iter().enumerate().map(|(i, x)| self.diagonal(i) * x))
    }

    /// Root mean square over the area of each conductor and interface.
    fn of_parts(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        let squares = mean_squares(&self.part, self.parts, &self.weights, values);
        squares.into_iter().map(f64::sqrt).collect()
    }

    /// Diagonal of the row of an interface, without d's own part.
    pub(super) fn diagonal(&self, row: usize) -> f64 {
        let i = self.panel(row);
        2.0 * PI * self.length[i] / self.areas[i]
    }

    /// Factor of a normal derivative in its row.
    pub(super) fn coupling(&self, row: usize) -> f64 {
        let i = self.panel(row);
        self.length[i] * self.factor[i]
    }

    /// The panel of a row.
    fn panel(&self, row: usize) -> usize {
        row % self.kinds.len()
    }

    /// Index of the conductor, or number of conductors plus index of the interface, for each row,
    /// and its panel's share of the area of that conductor or interface.
    pub(super) fn shares(&self) -> (&[u32], &[f64]) {
        (&self.part, &self.weights)
    }

    /// Index of the conductor, or number of conductors plus index of the interface, of panel `i`.
    pub(super) fn part(&self, i: usize) -> usize {
        self.part[i] as usize
    }

    /// Its panels, in these parts.
    pub fn surface(&self) -> Surface<'_> {
        Surface { areas: &self.areas, part: &self.part, parts: self.parts }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.part.len()
    }

    /// Number of conductors and interfaces.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// Relative permittivity on the normal's side of panel `i` and on the other side.
    pub(super) fn permittivity(&self, i: usize) -> [f64; 2] {
        self.permittivity[i]
    }

    /// The larger of the permittivities on both sides.
    pub(super) fn permittivity_next_to(&self, i: usize) -> f64 {
        let [front, back] = self.permittivity[i];
        front.max(back)
    }

    /// Whether a conductor's panel has different media on its two sides, so that its free charge
    /// depends on the field there.
    fn is_sheet(&self, i: usize) -> bool {
        self.conductor[i].is_some() && self.permittivity[i][0] != self.permittivity[i][1]
    }

    /// Kinds of rows that compute the normal derivative where the free charge needs it; `None` if
    /// it is needed nowhere.
    pub(super) fn sheets(&self) -> Option<Vec<RowKind>> {
        let by_normal_derivative = self.needs_normal_derivative();
        let kind = |&is_needed: &bool| if is_needed { RowKind::Adjoint } else { RowKind::None };
        by_normal_derivative
            .contains(&true)
            .then(|| by_normal_derivative.iter().map(kind).collect())
    }

    /// Whether the free charge of each panel is computed from the normal derivatives on its sides:
    /// on conductors between two media, and on [`metal`](super::metal) that several media touch.
    pub(super) fn needs_normal_derivative(&self) -> Vec<bool> {
        let panels = (0..self.areas.len()).into_par_iter();
        let mut marked: Vec<bool> = panels.map(|i| self.is_sheet(i)).collect();
        self.gauss.metal.mark(&mut marked, &self.conductor, &self.permittivity);
        marked
    }

    /// The normal derivatives of all charge in front of and behind an interface's panel with charge
    /// `x`, as its equation requires; `None` on conductors.
    pub(super) fn normal_derivatives_of_interface(&self, i: usize, x: f64) -> Option<[f64; 2]> {
        let [front, back] = self.permittivity[i];
        // d = -2 pi x / (A f), and d -/+ 2 pi x / A without subtracting nearly equal numbers.
        let per_permittivity = -4.0 * PI * x / (self.areas[i] * (back - front));
        self.conductor[i].is_none().then_some([back * per_permittivity, front * per_permittivity])
    }

    /// Normal derivatives in front of and behind each panel with charges `x`, whose means of both
    /// sides are `normal_derivatives` (empty: all 0).
    pub(super) fn sides(&self, x: &[f64], normal_derivatives: &[f64]) -> Vec<[f64; 2]> {
        let side = |i: usize| {
            let normal_derivative = normal_derivatives.get(i).copied().unwrap_or(0.0);
            let own = 2.0 * PI * x[i] / self.areas[i];
            [normal_derivative - own, normal_derivative + own]
        };
        (0..x.len()).map(side).collect()
    }

    /// Free charge of each conductor's panel: eps x in one medium, else A/(4 pi) (eps_back d_back -
    /// eps_front d_front) with the normal derivatives d of all charge.
    pub(super) fn free_charges(&self, x: &[f64], sides: &[[f64; 2]]) -> Vec<f64> {
        let needs_normal_derivative = self.needs_normal_derivative();
        let free = |i: usize| {
            let ([front, back], [before, behind]) = (self.permittivity[i], sides[i]);
            match self.conductor[i] {
                None => 0.0,
                Some(_) if needs_normal_derivative[i] => {
                    self.areas[i] / (4.0 * PI) * (back * behind - front * before)
                }
                Some(_) => front * x[i],
            }
        };
        (0..x.len()).map(free).collect()
    }
}

impl Completion for Rows {
    /// Gauss's law.
    fn first(&self) -> &Laws {
        &self.gauss.fluxes
    }

    fn row(&self, i: usize) -> [f64; 2] {
        if self.conductor[self.panel(i)].is_some() {
            [0.0, 1.0]
        } else {
            [self.diagonal(i), self.coupling(i)]
        }
    }

    fn second(&self) -> &Laws {
        &self.gauss.means.laws
    }

    fn defect(
        &self,
        missing: &[f64],
        sizes: &[f64],
        vectors: &mut Vectors<'_>,
    ) -> Result<f64, Error> {
        self.gauss.defect(&self.areas, missing, sizes, vectors)
    }
}
