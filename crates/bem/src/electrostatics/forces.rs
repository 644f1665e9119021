//! Forces and torques on bodies, and dipole moments, from the charges that a solve gave.
//!
//! Around a body that lies in one medium of relative permittivity eps, the stress of the field is that of a fluid dielectric, and
//! what it does to the body is eps times what the field of all charges outside does to all charges in the body, free and bound,
//! in vacuum: the body's own field exerts nothing on it (docs/math.md, "Forces").

use mesh::Mesh;

use super::evaluate::SurfaceCharge;
use super::{Excitation, PointCharge};
use crate::Error;
use crate::product::Rule;
use crate::triangle::Vec3;

/// Degree of the rule by which the field is averaged over a triangle.
const DEGREE: usize = 4;

/// What belongs to a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Its triangles, those inside of it among them.
    pub triangles: Vec<u32>,
    /// Indices of the point charges inside.
    pub charges: Vec<usize>,
    /// Relative permittivity of the medium around it.
    pub permittivity: f64,
    /// The point that the torque is about.
    pub about: [f64; 3],
}

/// Force and torque on a body over 4 pi eps0, in the mesh's unit: with potentials in volt, 4 pi eps0 times the force is in
/// newton whatever the unit, and the torque in newton times that unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force {
    /// Force.
    pub force: [f64; 3],
    /// Torque about [`Body::about`].
    pub torque: [f64; 3],
}

/// Force and torque on each body, for the charges of `charge` (as in [`Response::charge`](crate::Response::charge)) and the sources
/// of `excitation`.
///
/// # Errors
/// [`Error::Length`], [`Error::Fmm`].
pub fn forces(
    mesh: &Mesh,
    charge: &[f64],
    excitation: &Excitation,
    bodies: &[Body],
) -> Result<Vec<Force>, Error> {
    let (expected, found) = (mesh.triangles.len(), charge.len());
    if expected != found {
        return Err(Error::Length { what: "charge", expected, found });
    }
    bodies.iter().map(|body| force_on(mesh, charge, excitation, body)).collect()
}

fn force_on(
    mesh: &Mesh,
    charge: &[f64],
    excitation: &Excitation,
    body: &Body,
) -> Result<Force, Error> {
    let mut others = charge.to_vec();
    let (mut points, mut strengths) = (Vec::new(), Vec::new());
    for &t in &body.triangles {
        let t = t as usize;
        others[t] = 0.0;
        if charge[t] == 0.0 {
            continue;
        }
        for (x, weight) in Rule::of_degree(DEGREE).on(&mesh.corners(t).map(Vec3::from)) {
            points.push(x.into());
            strengths.push(weight * charge[t]);
        }
    }
    let is_own = |index: &usize| body.charges.contains(index);
    for (_, q) in excitation.charges.iter().enumerate().filter(|(index, _)| is_own(index)) {
        points.push(q.position);
        strengths.push(q.charge / q.permittivity);
    }
    let outside = |(index, q): (usize, &PointCharge)| (!is_own(&index)).then_some(*q);
    let sources = Excitation {
        potentials: Vec::new(),
        charges: excitation.charges.iter().enumerate().filter_map(outside).collect(),
        ..excitation.clone()
    };
    let field = SurfaceCharge::new(mesh, &others).evaluate(&sources, &points, true)?.field;
    let about = Vec3::from(body.about);
    let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
    for ((x, q), e) in points.iter().zip(&strengths).zip(&field) {
        let pull = Vec3::from(*e) * (q * body.permittivity);
        force += pull;
        torque += (Vec3::from(*x) - about).cross(&pull);
    }
    Ok(Force { force: force.into(), torque: torque.into() })
}

/// Dipole moment about the origin of charges that are spread evenly over their triangles: a charge times a length.
pub fn dipole_moment(mesh: &Mesh, charge: &[f64]) -> [f64; 3] {
    let mut moment = Vec3::zeros();
    for (t, q) in charge.iter().enumerate() {
        let [a, b, c] = mesh.corners(t).map(Vec3::from);
        moment += (a + b + c) * (q / 3.0);
    }
    moment.into()
}
