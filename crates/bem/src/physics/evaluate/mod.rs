//! Potential and field of surface charges, point charges and a uniform field at any points.
//!
//! For few points: closed forms of every triangle. For more: sums over quadrature points on the
//! triangles and over the point charges, by the FMM where points are many, with the points as
//! separate targets; for triangles near a point the closed form replaces the contribution of their
//! quadrature points, so that values next to the surface are as accurate as those far from it.

pub(crate) mod by_points;
pub(crate) mod closed_forms;
pub(crate) mod sums;

use mesh::Mesh;
use parallel::prelude::*;

use self::closed_forms::add_point;
pub(super) use self::closed_forms::gradient_of_point;
pub(super) use self::sums::direct_sums;
use super::recovery::{Known, Recovered, recover};
use super::{Charges, Excitation, PointCharge};
use crate::Error;
use crate::constants::{TIGHTEST, TOLERANCE};
use crate::geometry::neighbours::Neighbours;
use crate::geometry::order::sorted;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;

/// Up to this number of pairs of a triangle and a point are evaluated one by one: about a tenth of
/// a second on two cores.
const DIRECT: usize = 1_000_000;

/// A triangle is near a point within this many of its diameters: at that distance the rule's error
/// is some 1e-5 of the triangle's contribution.
const NEAR: f64 = 3.0;

/// The same where an accuracy of 1e-3 is enough.
const ROUGHLY: f64 = 1.0;

/// Charges on triangles, for evaluation at any points.
///
/// Charges are over 4 pi eps0, so that a potential is their sum over distances, in the mesh's unit.
#[derive(Clone, Debug)]
#[must_use]
pub struct SurfaceCharge {
    panels: Panels,
    /// Scaled density at the vertices of each panel: charge over the scale and the scaled area.
    densities: Vec<[f64; 3]>,
    /// Squares of the scaled radii to which the edges of each panel are rounded off for fields.
    rounding: Vec<[f64; 3]>,
    /// Whether the density is constant on each panel.
    constant: bool,
    /// Relative L2 error of fast sums.
    tolerance: f64,
    /// Distance, in diameters, within which panels are near.
    reach: f64,
}

/// Values at points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Potential.
    pub potential: Vec<f64>,
    /// Electric field, minus the gradient of the potential; empty unless asked for.
    pub field: Vec<[f64; 3]>,
}

impl SurfaceCharge {
    /// For these charges, distributed over triangles as they are.
    pub fn new<'a>(mesh: &Mesh, charges: impl Into<Charges<'a>>) -> Self {
        let charges = charges.into();
        Self::of_any(mesh, &[charges]).carrying(charges)
    }

    /// Without charges yet, on the triangles that carry charge in any of these sets.
    pub(super) fn of_any(mesh: &Mesh, sets: &[Charges<'_>]) -> Self {
        let is_charged = |t: usize| {
            let has = |of: &Charges<'_>| {
                t < of.total.len() && of.corners(t).into_iter().any(|q| q != 0.0)
            };
            sets.iter().any(has)
        };
        let panels = Panels::without_parts(mesh, is_charged);
        let none = vec![[0.0; 3]; panels.len()];
        let (densities, rounding) = (none.clone(), none);
        Self { densities, panels, rounding, constant: true, tolerance: TOLERANCE, reach: NEAR }
    }

    /// The same triangles with these charges.
    pub(super) fn carrying(self, charges: Charges<'_>) -> Self {
        let panels = &self.panels;
        let density = |(&t, area): (&u32, &f64)| {
            charges.corners(t as usize).map(|q| q / (panels.scale() * area))
        };
        let densities = panels.triangles().par_iter().zip(panels.areas()).map(density).collect();
        Self { densities, constant: charges.at_corners.is_empty(), ..self }
    }

    /// Sets the relative error of values at many points, at most 1e-6.
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance: tolerance.clamp(TIGHTEST, TOLERANCE), ..self }
    }

    /// Trades accuracy for speed: near triangles contribute to some thousandths.
    pub fn roughly(self) -> Self {
        Self { reach: ROUGHLY, ..self }
    }

    fn is_rough(&self) -> bool {
        self.reach < NEAR
    }

    /// The same charges as a density that is linear on each triangle and continuous where the
    /// surface is smooth, with the same charge and moments (docs/math.md, "Recovered densities").
    /// Triangles of different `surfaces` (which conductor, which interface) are never one smooth
    /// surface. For its field the edges within a smooth surface count as rounded, so that the field
    /// has no jumps and no peaks between triangles. Charges of curved triangles are used unchanged.
    pub fn recovered<'a>(
        mesh: &Mesh,
        charges: impl Into<Charges<'a>>,
        surfaces: impl Fn(usize) -> Option<u32> + Sync,
    ) -> Self {
        let surface = Self::new(mesh, charges);
        // On curved triangles densities are per unit of parameters, which are not continuous.
        if surface.panels.are_curved() {
            return surface;
        }
        let known = if surface.constant { Known::Means } else { Known::Linear };
        let Recovered { densities, rounding } =
            recover(mesh, &surface.panels, &surface.densities, known, surfaces);
        Self { densities, rounding, constant: false, ..surface }
    }

    /// Potential at `x`, in closed form.
    #[must_use]
    pub fn potential(&self, x: [f64; 3]) -> f64 {
        self.closed_form(&self.panels.scaled(x), false)[0]
    }

    /// Electric field at `x`, minus the gradient of the potential, in closed form. On a triangle
    /// its normal component is the mean of both sides.
    #[must_use]
    pub fn field(&self, x: [f64; 3]) -> [f64; 3] {
        let [_, gx, gy, gz] = self.closed_form(&self.panels.scaled(x), true);
        [gx, gy, gz].map(|g| -g / self.panels.scale())
    }

    /// Potential, and if asked for field, of these charges and the sources of `excitation` at
    /// `points`; potentials of conductors in the excitation are ignored.
    ///
    /// # Errors
    /// [`Error::Fmm`] if a point is not finite or there are too many.
    pub fn evaluate(
        &self,
        excitation: &Excitation,
        points: &[[f64; 3]],
        with_field: bool,
    ) -> Result<Values, Error> {
        // Without a surface, charges need a scale of their own.
        let scale = self.scale();
        let targets: Vec<Vec3> = points.iter().map(|&x| self.scaled(x)).collect();
        let charges: Vec<(Vec3, f64)> = excitation
            .charges
            .iter()
            .map(|&PointCharge { position, charge, permittivity }| {
                (self.scaled(position), charge / (permittivity * scale))
            })
            .collect();
        let pairs = (self.panels.len() + charges.len()).saturating_mul(points.len());
        let direct = if self.is_rough() { DIRECT / 10 } else { DIRECT };
        let mut values = if pairs <= direct {
            let of = |x: &Vec3| {
                let mut value = self.closed_form(x, with_field);
                charges.iter().for_each(|(y, q)| add_point(&mut value, x, y, *q, with_field));
                value
            };
            targets.par_iter().map(of).collect()
        } else {
            self.by_points(&targets, &charges, with_field)?
        };
        let (field, origin) = (Vec3::from(excitation.field), Vec3::from(excitation.origin));
        for (value, x) in values.iter_mut().zip(points) {
            value[0] -= field.dot(&(Vec3::from(*x) - origin));
            (0..3).for_each(|k| value[k + 1] -= field[k] * scale);
        }
        let field = |value: &[f64; 4]| [1, 2, 3].map(|k| -value[k] / scale);
        Ok(Values {
            potential: values.iter().map(|value| value[0]).collect(),
            field: if with_field { values.iter().map(field).collect() } else { Vec::new() },
        })
    }

    /// Which of `triangles` are within about their own diameter, or the other's, of a triangle of
    /// these charges or of one of the point `charges`: the field is less smooth on them than on the
    /// rest.
    pub(crate) fn are_near(&self, triangles: &[[Vec3; 3]], charges: &[PointCharge]) -> Vec<bool> {
        let panels = &self.panels;
        let diameters = (0..panels.len()).into_par_iter().map(|i| panels.panel(i).diameter());
        let reach: Vec<f64> = diameters.collect();
        let centroids = &panels.centroids()[..panels.len()];
        let places = charges.iter().zip(0..).map(|(q, k)| (k, self.scaled(q.position))).collect();
        let places = sorted(places).into_iter().map(|k| charges[k as usize].position);
        let places: Vec<Vec3> = places.map(|x| self.scaled(x)).collect();
        let no_reach = vec![0.0; places.len()];
        let searches = [Neighbours::new(centroids, &reach), Neighbours::new(&places, &no_reach)];
        let is_near = |found: &mut Vec<u32>, vertices: &[Vec3; 3]| {
            let [a, b, c] = vertices.map(|v| self.scaled(v.into()));
            let around = Vec3::repeat((a - b).norm().max((b - c).norm()).max((c - a).norm()));
            let (low, high) = (a.inf(&b).inf(&c) - around, a.sup(&b).sup(&c) + around);
            found.clear();
            searches.iter().for_each(|search| search.around_box(&low, &high, found));
            !found.is_empty()
        };
        triangles.par_iter().map_init(Vec::new, is_near).collect()
    }

    /// The triangles with charges.
    #[doc(hidden)]
    #[must_use]
    pub fn panels(&self) -> &Panels {
        &self.panels
    }

    /// The length that is 1 in the surface's coordinates; without a surface, in the mesh's.
    pub(super) fn scale(&self) -> f64 {
        if self.panels.len() > 0 { self.panels.scale() } else { 1.0 }
    }

    /// Scaled centroids of its panels.
    pub(super) fn centroids(&self) -> &[Vec3] {
        &self.panels.centroids()[..self.panels.len()]
    }

    /// The mesh's triangle of a panel.
    pub(super) fn triangle(&self, panel: usize) -> usize {
        self.panels.triangles()[panel] as usize
    }

    /// The scaled gradient of a panel's potential at a scaled point.
    pub(super) fn gradient_of(&self, panel: usize, x: &Vec3) -> Vec3 {
        let [_, gradient @ ..] = self.of_panel(panel, x, true);
        gradient.into()
    }

    /// A point in the scaled coordinates of the surface; without a surface, unchanged.
    pub(super) fn scaled(&self, x: [f64; 3]) -> Vec3 {
        if self.panels.len() > 0 { self.panels.scaled(x) } else { Vec3::from(x) }
    }
}
