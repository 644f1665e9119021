//! Contribution of small charges, beyond those of a solve, to forces and torques: accurate enough
//! for error bars.
//!
//! Each triangle's charge acts at its centre, a linear one at three points. The field of other
//! bodies is the total field minus a body's own, so that the time does not grow with the number of
//! bodies: the effects of own points on each other cancel. Where a triangle of another body is
//! near, its closed form replaces its points.

use mesh::Mesh;
use parallel::prelude::*;

use super::evaluate::{self, SurfaceCharge};
use super::{Body, Charges, Excitation};
use crate::Error;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::quadrature::rule::Rule;
use crate::space::strengths;

/// Up to this number of pairs of points are summed directly.
const DIRECT: usize = 1_000_000;

/// Relative error of fast sums.
const TOLERANCE: f64 = 1e-5;

/// Contribution of the small `missing` charges to force and torque on each body, shape (bodies,
/// [force, torque]), over 4 pi eps0.
///
/// # Errors
/// [`Error::Length`], [`Error::Fmm`].
pub fn force_changes<'a>(
    mesh: &Mesh,
    charges: impl Into<Charges<'a>>,
    missing: impl Into<Charges<'a>>,
    excitation: &Excitation,
    bodies: &[Body],
) -> Result<Vec<[[f64; 3]; 2]>, Error> {
    let (charges, missing) = (charges.into(), missing.into());
    let expected = mesh.triangles.len();
    for found in [charges.total.len(), missing.total.len()] {
        if expected != found {
            return Err(Error::Length { what: "charges.total", expected, found });
        }
    }
    let acting = Acting::new(mesh, [charges, missing], excitation)?;
    let [surface, _] = &acting.surfaces;
    let reach = surface.reach_of_values();
    let near = Neighbours::new(surface.centroids(), &reach);
    let body = |body: &Body| {
        let fields = acting.on(body, &near)?;
        let about = Vec3::from(body.about);
        let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
        let mut add = |place: [f64; 3], pull: Vec3| {
            force += pull * body.permittivity;
            torque += (Vec3::from(place) - about).cross(&pull) * body.permittivity;
        };
        let own = acting.own(body);
        let (on_triangles, on_charges) = fields.split_at(own.len() - body.charges.len());
        for (&k, [by_charges, by_missing]) in own.iter().zip(on_triangles) {
            let [known, more] = acting.strengths.each_ref().map(|of| acting.scale * of[k]);
            add(acting.places[k], by_charges * more + by_missing * (known + more));
        }
        for (&index, [_, by_missing]) in body.charges.iter().zip(on_charges) {
            let q = &excitation.charges[index];
            add(q.position, by_missing * (q.charge / q.permittivity));
        }
        Ok([force.into(), torque.into()])
    };
    bodies.iter().map(body).collect()
}

/// Charges and missing charges, and the field of each set at all their positions.
struct Acting {
    /// Points on each triangle.
    per: usize,
    /// The points of all triangles, then the point charges.
    points: usize,
    scale: f64,
    places: Vec<[f64; 3]>,
    /// These points in the surfaces' coordinates.
    scaled: Vec<[f64; 3]>,
    /// Scaled strengths there, of both.
    strengths: [Vec<f64>; 2],
    /// Scaled gradients there, of both.
    gradients: [Vec<Vec3>; 2],
    surfaces: [SurfaceCharge; 2],
    uniform: Vec3,
}

impl Acting {
    fn new(mesh: &Mesh, sets: [Charges<'_>; 2], excitation: &Excitation) -> Result<Self, Error> {
        let surface = SurfaceCharge::of_any(mesh, &sets).roughly();
        let surfaces = sets.map(|set| surface.clone().carrying(set));
        let scale = surface.scale();
        let sources = &excitation.charges;
        let are_linear = sets.iter().any(|set| !set.at_corners.is_empty());
        let rule = Rule::of_degree(if are_linear { 2 } else { 1 });
        let on_triangle = |t: usize| {
            let patch = Patch::of_triangle(mesh, t);
            rule.nodes().iter().map(move |node| {
                <[f64; 3]>::from(patch.at([node.barycentric[1], node.barycentric[2]]))
            })
        };
        let triangles = 0..mesh.triangles.len();
        let mut places: Vec<[f64; 3]> = triangles.clone().flat_map(on_triangle).collect();
        let points = places.len();
        places.extend(sources.iter().map(|q| q.position));
        let scaled: Vec<[f64; 3]> = places.iter().map(|&x| surface.scaled(x).into()).collect();
        let mut strengths = sets.map(|set| -> Vec<f64> {
            let of_triangle = |t| strengths(rule, set.corners(t), 1.0 / scale);
            let mut strengths: Vec<f64> = triangles.clone().flat_map(of_triangle).collect();
            strengths.resize(places.len(), 0.0);
            strengths
        });
        let of_sources = strengths[0][points..].iter_mut().zip(sources);
        of_sources.for_each(|(to, q)| *to = q.charge / (q.permittivity * scale));
        let gradients = gradients(&scaled, &strengths)?;
        let uniform = Vec3::from(excitation.field);
        let per = rule.len();
        Ok(Self { per, points, scale, places, scaled, strengths, gradients, surfaces, uniform })
    }

    /// A body's points, those on its triangles first.
    fn own(&self, body: &Body) -> Vec<usize> {
        let per = self.per;
        let on_triangles =
            body.triangles.iter().flat_map(|&t| per * t as usize..per * (t as usize + 1));
        on_triangles.chain(body.charges.iter().map(|index| self.points + index)).collect()
    }

    /// The fields of others, charges and missing ones, at a body's points.
    fn on(&self, body: &Body, near: &Neighbours<'_>) -> Result<Vec<[Vec3; 2]>, Error> {
        let (own, per) = (self.own(body), self.per);
        let mut is_own = vec![false; self.places.len()];
        own.iter().for_each(|&k| is_own[k] = true);
        let places: Vec<[f64; 3]> = own.iter().map(|&k| self.scaled[k]).collect();
        let strengths = self.strengths.each_ref().map(|of| own.iter().map(|&k| of[k]).collect());
        let by_own = gradients(&places, &strengths)?;
        let field = |found: &mut Vec<u32>, (index, &k): (usize, &usize)| {
            let x = Vec3::from(self.scaled[k]);
            let mut gradient = [0, 1].map(|set| self.gradients[set][k] - by_own[set][index]);
            found.clear();
            near.around(&x, found);
            for &i in found.iter() {
                let i = i as usize;
                let first = per * self.surfaces[0].triangle(i);
                if is_own[first] {
                    continue;
                }
                for (set, gradient) in gradient.iter_mut().enumerate() {
                    *gradient += self.surfaces[set].gradient_of(i, &x);
                    for point in first..first + per {
                        let (y, q) = (Vec3::from(self.scaled[point]), self.strengths[set][point]);
                        *gradient -= evaluate::gradient_of_point(&x, &y, q);
                    }
                }
            }
            [self.uniform - gradient[0] / self.scale, -gradient[1] / self.scale]
        };
        Ok(own.par_iter().enumerate().map_init(Vec::new, field).collect())
    }
}

/// Gradients at all positions of each set of charges there, without that of the charge at the same
/// position.
fn gradients(places: &[[f64; 3]], strengths: &[Vec<f64>; 2]) -> Result<[Vec<Vec3>; 2], Error> {
    let n = places.len();
    let mut sums = vec![0.0; 6 * n];
    if n.saturating_mul(n) <= DIRECT {
        let each = |strengths: &Vec<f64>| evaluate::direct_sums(places, strengths, places, true).1;
        sums = strengths.iter().flat_map(each).collect();
    } else {
        let options = fmm::Options::default().tolerance(TOLERANCE).gradient(true);
        let mut plan = fmm::Plan::new(places, None, &options)?;
        let charges = strengths.concat();
        plan.apply(
            fmm::Densities { charges: Some(&charges), dipoles: None },
            fmm::Potentials { potential: None, gradient: Some(&mut sums) },
        )?;
    }
    let vectors = |sums: &[f64]| sums.chunks_exact(3).map(Vec3::from_column_slice).collect();
    Ok([vectors(&sums[..3 * n]), vectors(&sums[3 * n..])])
}
