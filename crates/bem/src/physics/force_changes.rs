//! What small charges beyond those of a solve add to forces and torques: as good as error bars need.
//!
//! Each triangle's charge acts in its middle. The field of others is that of all less a body's own,
//! so that the time does not grow with the number of bodies: what own points do to each other
//! cancels. Where a triangle of another body is near, its closed form replaces its point.

use mesh::Mesh;
use rayon::prelude::*;

use super::evaluate::{self, SurfaceCharge};
use super::{Body, Charges, Excitation};
use crate::Error;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;

/// Pairs of points up to which all are summed one by one.
const DIRECT: usize = 1_000_000;

/// Relative error of fast sums.
const TOLERANCE: f64 = 1e-5;

/// What `missing` charges, small ones, add to force and torque on each body, shape (bodies, [force,
/// torque]), over 4 pi eps0.
///
/// # Errors
/// [`Error::Length`], [`Error::Fmm`].
pub fn force_changes<'a>(
    mesh: &Mesh,
    (charges, missing): (impl Into<Charges<'a>>, impl Into<Charges<'a>>),
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
        let (on_triangles, on_charges) = fields.split_at(body.triangles.len());
        for (&t, [by_charges, by_missing]) in body.triangles.iter().zip(on_triangles) {
            let (known, more) = (charges.total[t as usize], missing.total[t as usize]);
            add(acting.places[t as usize], by_charges * more + by_missing * (known + more));
        }
        for (&index, [_, by_missing]) in body.charges.iter().zip(on_charges) {
            let q = &excitation.charges[index];
            add(q.position, by_missing * (q.charge / q.permittivity));
        }
        Ok([force.into(), torque.into()])
    };
    bodies.iter().map(body).collect()
}

/// Charges and missing ones, and what all of each do at all their places.
struct Acting {
    triangles: usize,
    /// The middle of each triangle, then the point charges.
    places: Vec<[f64; 3]>,
    /// The same in the surfaces' coordinates.
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
        let surfaces = sets.map(|set| surface.carrying(set));
        let scale = surface.scale();
        let triangles = mesh.triangles.len();
        let sources = &excitation.charges;
        let middle = |t: usize| <[f64; 3]>::from(Patch::of_triangle(mesh, t).at([1.0 / 3.0; 2]));
        let mut places: Vec<[f64; 3]> = (0..triangles).map(middle).collect();
        places.extend(sources.iter().map(|q| q.position));
        let scaled: Vec<[f64; 3]> = places.iter().map(|&x| surface.scaled(x).into()).collect();
        let mut strengths = sets.map(|set| -> Vec<f64> {
            let mut strengths: Vec<f64> = set.total.iter().map(|q| q / scale).collect();
            strengths.resize(places.len(), 0.0);
            strengths
        });
        let of_sources = strengths[0][triangles..].iter_mut().zip(sources);
        of_sources.for_each(|(to, q)| *to = q.charge / (q.permittivity * scale));
        let gradients = gradients(&scaled, &strengths)?;
        let uniform = Vec3::from(excitation.field);
        Ok(Self { triangles, places, scaled, strengths, gradients, surfaces, uniform })
    }

    /// The fields of others, charges and missing ones, in the middle of each of a body's triangles
    /// and at the point charges in it.
    fn on(&self, body: &Body, near: &Neighbours<'_>) -> Result<Vec<[Vec3; 2]>, Error> {
        let sources = body.charges.iter().map(|index| self.triangles + index);
        let own: Vec<usize> = body.triangles.iter().map(|&t| t as usize).chain(sources).collect();
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
                let triangle = self.surfaces[0].triangle(i as usize);
                if is_own[triangle] {
                    continue;
                }
                for (set, gradient) in gradient.iter_mut().enumerate() {
                    let exact = self.surfaces[set].gradient_of(i as usize, &x);
                    let point = (Vec3::from(self.scaled[triangle]), self.strengths[set][triangle]);
                    *gradient += exact - evaluate::gradient_of_point(&x, &point.0, point.1);
                }
            }
            let per = 1.0 / self.surfaces[0].scale();
            [self.uniform - gradient[0] * per, -gradient[1] * per]
        };
        Ok(own.par_iter().enumerate().map_init(Vec::new, field).collect())
    }
}

/// Gradients at all places of each set of charges there, but for that at the very place.
fn gradients(places: &[[f64; 3]], strengths: &[Vec<f64>; 2]) -> Result<[Vec<Vec3>; 2], Error> {
    let n = places.len();
    let mut sums = vec![0.0; 6 * n];
    if n.saturating_mul(n) <= DIRECT {
        let each = |strengths: &Vec<f64>| evaluate::direct_sums(places, strengths, places, true).1;
        sums = strengths.iter().flat_map(each).collect();
    } else {
        let options =
            fmm::Options { tolerance: TOLERANCE, gradient: true, ..fmm::Options::default() };
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
