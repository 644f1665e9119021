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
use std::ops::Range;
use std::sync::Arc;

use comm::Group;
use mesh::Mesh;
use mesh::regions::{self, Places};
use parallel::prelude::*;

use super::Media;
use super::closed::{Equations, Finder, PanelInfo};
use super::gauss::Gauss;
use super::pieces::Pieces;
use crate::collective;
use crate::constants::NO_DIGITS;
use crate::geometry::panels::Panels;
use crate::near::RowKind;
use crate::physics::capacitance::check_conductors;
use crate::solve::backend::mean_squares;
use crate::solve::completion::{Completion, Laws, Vectors};
use crate::space::Density;
use crate::{Error, Images};

/// Errors of distant images, as a share of the solver's tolerance.
const OF_FAR_IMAGES: f64 = 0.03;

/// Fields above this multiple of their mean over an interface are a peak, next to a charge.
const PEAK: f64 = 10.0;

/// Panels and equations.
#[derive(Clone)]
pub struct System {
    pub(super) panels: Arc<Panels>,
    pub(super) density: Density,
    /// Its equations.
    pub rows: Arc<Rows>,
    pub(super) images: Images,
    /// Number of triangles of the mesh.
    pub(super) triangles: usize,
    pub(super) conductors: usize,
    /// Ranks that share the computations, each with its own GPU.
    pub(super) ranks: Group,
    pub(super) gpu: usize,
}

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

/// Number of panels among the triangles in these media, and whether they include interfaces.
pub(super) fn panels_in(media: &Media<'_>) -> (usize, bool) {
    let is_interface = |sides: &[f64; 2]| factor(*sides) != 0.0;
    let all = || media.conductor.iter().zip(media.permittivity);
    let interfaces =
        all().filter(|(conductor, sides)| conductor.is_none() && is_interface(sides)).count();
    let metal = all().filter(|(conductor, _)| conductor.is_some()).count();
    (metal + interfaces, interfaces > 0)
}

/// Checks that media are given for this number of triangles.
fn check_lengths(media: &Media<'_>, triangles: usize) -> Result<(), Error> {
    let given = [
        ("media.conductor", media.conductor.len()),
        ("media.permittivity", media.permittivity.len()),
    ];
    match given.into_iter().find(|&(_, found)| found != triangles) {
        Some((what, found)) => Err(Error::Length { what, expected: triangles, found }),
        None => Ok(()),
    }
}

impl System {
    /// The equations of surfaces in media. For solves to a `tolerance` by fast sums, distant images
    /// in layers are summed separately.
    pub fn new(
        mesh: &Mesh,
        media: Media<'_>,
        density: Density,
        tolerance: Option<f64>,
    ) -> Result<Self, Error> {
        let _span = tracing::debug_span!("equations").entered();
        let triangles = mesh.triangles.len();
        check_lengths(&media, triangles)?;
        check_conductors(media.conductor, media.conductors)?;
        let conductor = |t: usize| media.conductor[t];
        let factor = |t: usize| factor(media.permittivity[t]);
        let is_interface = |t: usize| conductor(t).is_none() && factor(t) != 0.0;
        let images = media.images;
        let panels = Panels::without_parts(mesh, |t| conductor(t).is_some() || is_interface(t));
        let apart = tolerance.filter(|_| images.has_layers());
        let panels = panels.with_images(images, apart.map(|tolerance| OF_FAR_IMAGES * tolerance));
        let of = |i: usize| panels.triangles()[i] as usize;
        let n = panels.len();
        let mut panel_of = vec![u32::MAX; triangles];
        (0..n).for_each(|i| panel_of[of(i)] = i as u32);

        let mut part: Vec<u32> =
            (0..n).into_par_iter().map(|i| conductor(of(i)).unwrap_or(0)).collect();
        let mut parts = media.conductors;
        let with_images;
        // Layers are reflectors, not parts of a body.
        let mirrored = images.mirrored();
        let whole = if mirrored.count() > 1 {
            with_images = mirrored.mesh(mesh);
            &with_images
        } else {
            mesh
        };
        let is_itself = |t: u32| (t as usize) < triangles;
        let mut closed = Vec::new();
        let interfaces: Vec<u32> = (0..whole.triangles.len() as u32)
            .filter(|&t| is_interface(t as usize % triangles))
            .collect();
        for (members, region) in regions::parts(whole, &interfaces, media.bodies) {
            let mut own = members.iter().filter(|&&t| is_itself(t)).peekable();
            if own.peek().is_none() {
                continue;
            }
            own.for_each(|&t| part[panel_of[t as usize] as usize] = parts as u32);
            parts += 1;
            closed.extend(region);
        }
        let panels = Arc::new(panels.with_parts(part.clone()));
        let of = |i: usize| panels.triangles()[i] as usize;
        let info = |i: usize| PanelInfo {
            area: panels.areas()[i],
            permittivity: media.permittivity[of(i)],
            conductor: conductor(of(i)),
        };
        let infos: Vec<PanelInfo> = (0..n).into_par_iter().map(info).collect();
        let finder = Finder {
            whole,
            images: &mirrored,
            triangles,
            panel_of: &panel_of,
            panels: &infos,
            bodies: media.bodies,
            places: Places::new(whole),
        };
        let mut area = vec![0.0; parts];
        let mut areas = panels.areas().iter();
        for own in part.chunk_by(|a, b| a == b) {
            area[own[0] as usize] += areas.by_ref().take(own.len()).sum::<f64>();
        }
        let length: Vec<f64> =
            part.par_iter().map(|&p| (area[p as usize] / (4.0 * PI)).sqrt()).collect();
        let gauss = finder.gauss(closed, &length, &panels);
        let of_panels = || (0..n).into_par_iter();
        let is_metal = |i: usize| conductor(of(i)).is_some();
        let kind = |i| if is_metal(i) { RowKind::Single } else { RowKind::Adjoint };
        let weight = |i: usize| panels.areas()[i] / area[part[i] as usize];
        let weights: Vec<f64> = of_panels().map(weight).collect();
        let rows = Arc::new(Rows {
            kinds: of_panels().map(kind).collect(),
            conductor: of_panels().map(|i| conductor(of(i))).collect(),
            permittivity: of_panels().map(|i| media.permittivity[of(i)]).collect(),
            factor: of_panels().map(|i| if is_metal(i) { 0.0 } else { factor(of(i)) }).collect(),
            weights: weights.repeat(density.modes()),
            areas: panels.areas().to_vec(),
            length,
            part: part.repeat(density.modes()),
            parts,
            pieces: Pieces::new(whole, triangles, panels.triangles(), &infos),
            gauss,
        });
        let (images, conductors) = (images.clone(), media.conductors);
        let (ranks, gpu) = (comm::alone(), 0);
        Ok(Self { panels, density, rows, images, triangles, conductors, ranks, gpu })
    }
}

impl System {
    /// Range of the `panels` (or panels and images) that this rank evaluates.
    pub(super) fn own(&self, panels: usize) -> Range<usize> {
        let [rank, ranks] = [self.ranks.rank(), self.ranks.size()];
        panels * rank / ranks..panels * (rank + 1) / ranks
    }

    /// Sums over all ranks of their results for their own panels. Collective.
    pub(super) fn of_all_ranks(&self, values: &mut [f64]) -> Result<(), Error> {
        collective::sum(&*self.ranks, values)
    }

    /// Replaces the media; false if interfaces would appear or disappear.
    pub(super) fn set_permittivity(&mut self, permittivity: &[[f64; 2]]) -> bool {
        let is_interface = |t: usize| permittivity[t][0] != permittivity[t][1];
        if permittivity.len() != self.triangles {
            return false;
        }
        let of = |i: usize| self.panels.triangles()[i] as usize;
        let rows = Arc::make_mut(&mut self.rows);
        let n = self.panels.len();
        if (0..n).any(|i| rows.conductor[i].is_none() && !is_interface(of(i))) {
            return false;
        }
        // All others belong to conductors or have the same medium on both sides.
        let mut has_panel = vec![false; self.triangles];
        (0..n).for_each(|i| has_panel[of(i)] = true);
        if (0..self.triangles).any(|t| !has_panel[t] && is_interface(t)) {
            return false;
        }
        rows.permittivity = (0..n).map(|i| permittivity[of(i)]).collect();
        for i in (0..n).filter(|&i| rows.conductor[i].is_none()) {
            rows.factor[i] = factor(permittivity[of(i)]);
        }
        rows.gauss.set_permittivity(&Equations {
            areas: &rows.areas,
            lengths: &rows.length,
            permittivity: &rows.permittivity,
        });
        true
    }
}

/// f of an interface with this permittivity in front and behind.
fn factor([front, back]: [f64; 2]) -> f64 {
    (back - front) / (back + front)
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
        let mut marked: Vec<bool> = (0..self.areas.len()).map(|i| self.is_sheet(i)).collect();
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
