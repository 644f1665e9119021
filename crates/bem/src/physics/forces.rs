//! Forces and torques on bodies, and dipole moments, from the charges of a solve.
//!
//! Around a body that lies in one medium of relative permittivity eps, the stress of the field is
//! that of a fluid dielectric, and what it does to the body is eps times what the field of all
//! charges outside does to all charges in the body, free and bound, in vacuum: the body's own field
//! exerts nothing on it (docs/math.md, "Forces").

use std::f64::consts::PI;

use mesh::Mesh;

use super::evaluate::SurfaceCharge;
use super::{Charges, Excitation, PointCharge};
use crate::Error;
use crate::constants::NO_DIGITS;
use crate::geometry::order::connected;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::quadrature::TriangleNode;
use crate::quadrature::rule::Rule;
use crate::space::strengths;

/// Degree of the rule by which the field is averaged over a triangle, and over one near other
/// bodies. For the latter the rule of lower degree also gives the error.
const DEGREES: [usize; 2] = [4, 6];

/// Degree of the rule for dipole moments of curved triangles.
const OF_MOMENTS: usize = 6;

/// Contents of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Its triangles, including those inside it.
    pub triangles: Vec<u32>,
    /// Indices of the point charges inside.
    pub charges: Vec<usize>,
    /// Relative permittivity of the medium around it.
    pub permittivity: f64,
    /// Reference point of the torque.
    pub about: [f64; 3],
}

/// Force and torque on a body over 4 pi eps0, in the mesh's unit: with potentials in volt, 4 pi
/// eps0 times the force is in newton whatever the unit, and the torque in newton times that unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Force {
    /// Force.
    pub force: [f64; 3],
    /// Torque about [`Body::about`].
    pub torque: [f64; 3],
    /// Sum of the magnitudes of the forces on its parts, which may nearly cancel.
    pub size: f64,
    /// Total pull of its own field at its surface, without regard to direction: 2 pi q^2/A of each
    /// triangle. If another body closely surrounds this one, errors of that body's charges are
    /// relative to this.
    pub stress: f64,
    /// Estimated error of the force: its change when fields on triangles near other bodies are
    /// averaged by another rule.
    pub quadrature_error: f64,
    /// False for a body whose charge is so much smaller than the others' that the force on it has
    /// no digits.
    pub is_resolved: bool,
}

/// Force and torque on each body, for these charges and the sources of `excitation`.
///
/// # Errors
/// [`Error::Length`], [`Error::Fmm`].
pub fn forces<'a>(
    mesh: &Mesh,
    charges: impl Into<Charges<'a>>,
    excitation: &Excitation,
    bodies: &[Body],
) -> Result<Vec<Force>, Error> {
    let charges = charges.into();
    let (expected, found) = (mesh.triangles.len(), charges.total.len());
    if expected != found {
        return Err(Error::Length { what: "charges.total", expected, found });
    }
    let strengths: Vec<f64> =
        bodies.iter().map(|body| strength(mesh, charges.total, body)).collect();
    let strongest = strengths.iter().copied().fold(0.0, f64::max);
    let force = |(body, strength): (&Body, &f64)| {
        let force = force_on(mesh, charges, excitation, body)?;
        // Induced charge is as strong as its cause.
        let is_resolved = *strength >= NO_DIGITS * strongest || !body.charges.is_empty();
        let stress = 2.0 * PI * body.permittivity * strength.powi(2);
        Ok(Force { is_resolved, stress, ..force })
    };
    bodies.iter().zip(&strengths).map(force).collect()
}

/// The root of the integral of the squared charge density on a body's triangles: the strength of
/// the external field on it, if it has no other charge.
fn strength(mesh: &Mesh, charge: &[f64], body: &Body) -> f64 {
    let square = |&t: &u32| {
        let [a, b, c] = mesh.corners(t as usize).map(Vec3::from);
        let area = 0.5 * (b - a).cross(&(c - a)).norm();
        if area > 0.0 { charge[t as usize].powi(2) / area } else { 0.0 }
    };
    body.triangles.iter().map(square).sum::<f64>().sqrt()
}

fn force_on(
    mesh: &Mesh,
    charges: Charges<'_>,
    excitation: &Excitation,
    body: &Body,
) -> Result<Force, Error> {
    let is_own = |index: &usize| body.charges.contains(index);
    let outside = |(index, q): (usize, &PointCharge)| (!is_own(&index)).then_some(*q);
    let sources = Excitation {
        potentials: Vec::new(),
        charges: excitation.charges.iter().enumerate().filter_map(outside).collect(),
        ..excitation.clone()
    };
    let mut total = charges.total.to_vec();
    body.triangles.iter().for_each(|&t| total[t as usize] = 0.0);
    let mut at_corners = charges.at_corners.to_vec();
    if !at_corners.is_empty() {
        body.triangles.iter().for_each(|&t| at_corners[t as usize] = [0.0; 3]);
    }
    let others = Charges { total: &total, at_corners: &at_corners };
    let others = SurfaceCharge::new(mesh, others);

    let charged = |t: &usize| charges.corners(*t).into_iter().any(|q| q != 0.0);
    let own: Vec<usize> = body.triangles.iter().map(|&t| t as usize).filter(charged).collect();
    let mut parts = Parts::default();
    let corners: Vec<[Vec3; 3]> = own.iter().map(|&t| mesh.corners(t).map(Vec3::from)).collect();
    let near = others.are_near(&corners, &sources.charges);
    for (k, &t) in own.iter().enumerate() {
        let patch = Patch::of_triangle(mesh, t);
        parts.add_triangle(&patch, charges.corners(t), near[k].then_some(k));
    }
    for (_, q) in excitation.charges.iter().enumerate().filter(|(index, _)| is_own(index)) {
        parts.add(q.position, q.charge / q.permittivity, None);
    }
    let field = others.evaluate(&sources, &parts.places, true)?.field;
    let about = Vec3::from(body.about);
    let (mut force, mut torque, mut size) = (Vec3::zeros(), Vec3::zeros(), 0.0);
    let mut errors = vec![Vec3::zeros(); own.len()];
    for (k, e) in field.into_iter().enumerate() {
        let e = Vec3::from(e) * body.permittivity;
        let pull = e * parts.strengths[k];
        force += pull;
        size += pull.norm();
        torque += (Vec3::from(parts.places[k]) - about).cross(&pull);
        if let Some((triangle, difference)) = parts.differences[k] {
            errors[triangle] += e * difference;
        }
    }
    let sum: Vec3 = errors.iter().sum();
    let squares: f64 = errors.iter().map(|e| e.norm_squared()).sum();
    // Errors of triangles may cancel by chance.
    let quadrature_error = sum.norm().max(squares.sqrt());
    let (force, torque) = (force.into(), torque.into());
    Ok(Force { force, torque, size, quadrature_error, ..Force::default() })
}

/// Point charges that represent a body's charge.
#[derive(Debug, Default)]
struct Parts {
    places: Vec<[f64; 3]>,
    strengths: Vec<f64>,
    /// For triangles near other bodies: the triangle, and the difference of the strength to that of
    /// the error rule.
    differences: Vec<Option<(usize, f64)>>,
}

impl Parts {
    fn add(&mut self, place: [f64; 3], strength: f64, difference: Option<(usize, f64)>) {
        self.places.push(place);
        self.strengths.push(strength);
        self.differences.push(difference);
    }

    /// Adds a triangle; if `near`, by both rules, with the error assigned to this triangle.
    fn add_triangle(&mut self, patch: &Patch, charges: [f64; 3], near: Option<usize>) {
        let [low, high] = DEGREES.map(|degree| {
            let rule = Rule::of_degree(degree);
            let place = |node: &TriangleNode| {
                <[f64; 3]>::from(patch.at([node.barycentric[1], node.barycentric[2]]))
            };
            rule.nodes().iter().map(place).zip(strengths(rule, charges, 1.0))
        });
        match near {
            None => low.for_each(|(x, q)| self.add(x, q, None)),
            Some(t) => {
                low.for_each(|(x, q)| self.add(x, 0.0, Some((t, -q))));
                high.for_each(|(x, q)| self.add(x, q, Some((t, q))));
            }
        }
    }
}

/// Dipole moment, about the origin, of charges on triangles: a charge times a length.
pub fn dipole_moment<'a>(mesh: &Mesh, charges: impl Into<Charges<'a>>) -> [f64; 3] {
    let charges = charges.into();
    let of = |t: usize| moment_about(mesh, charges, t, &Vec3::zeros());
    (0..charges.total.len()).map(of).sum::<Vec3>().into()
}

/// The dipole moment of the charge on one triangle, about a point.
pub(super) fn moment_about(
    mesh: &Mesh,
    charges: Charges<'_>,
    triangle: usize,
    about: &Vec3,
) -> Vec3 {
    let at = charges.corners(triangle);
    if mesh.patches.is_some() {
        // Exact for curved triangles of any order, and linear densities.
        let rule = Rule::of_degree(OF_MOMENTS);
        let patch = Patch::of_triangle(mesh, triangle).moved(&-about);
        let at_node = |(node, charge): (&TriangleNode, f64)| {
            patch.at([node.barycentric[1], node.barycentric[2]]) * charge
        };
        return rule.nodes().iter().zip(strengths(rule, at, 1.0)).map(at_node).sum();
    }
    let sum: f64 = at.iter().sum();
    let corners = mesh.corners(triangle).map(|x| Vec3::from(x) - about);
    corners.iter().zip(at).map(|(x, q)| x * ((sum + q) / 12.0)).sum()
}

/// The dipole moment of bodies without net charge, such as for polarisabilities.
///
/// A solve leaves a small net charge; times the distance from the origin it would look like a
/// moment if the bodies are far away. So the moment of each connected part of the mesh is taken
/// about its own centre, and that of parts with a net charge, such as the unconnected parts of one
/// body, about the centre of all of them. `tolerance` is that of the charges.
pub fn neutral_dipole_moment<'a>(
    mesh: &Mesh,
    charges: impl Into<Charges<'a>>,
    tolerance: f64,
) -> [f64; 3] {
    let charges = charges.into();
    let charge = charges.total;
    /// A net charge below this many tolerances times the charges on a part counts as an error.
    const NEUTRAL: f64 = 10.0;
    /// A larger share is always a net charge, however loose the tolerance.
    const CHARGED: f64 = 1e-2;
    let all: Vec<u32> = (0..mesh.triangles.len().min(charge.len()) as u32).collect();
    let part = connected(mesh, &all);
    let count = part.iter().map(|&p| p as usize + 1).max().unwrap_or(0);
    let centroid = |t: usize| {
        let [a, b, c] = mesh.corners(t).map(Vec3::from);
        ((a + b + c) / 3.0, (b - a).cross(&(c - a)).norm())
    };
    // Area, first moment of the area, charge and its size.
    let mut sums = vec![(0.0, Vec3::zeros(), 0.0, 0.0); count];
    for (t, &p) in part.iter().enumerate() {
        let (x, area) = centroid(t);
        let sum = &mut sums[p as usize];
        *sum = (sum.0 + area, sum.1 + x * area, sum.2 + charge[t], sum.3 + charge[t].abs());
    }
    let charged =
        |sum: &&(f64, Vec3, f64, f64)| sum.2.abs() > (NEUTRAL * tolerance).min(CHARGED) * sum.3;
    let (area, first) = sums
        .iter()
        .filter(charged)
        .fold((0.0, Vec3::zeros()), |(area, first), sum| (area + sum.0, first + sum.1));
    let common = first / area;
    let centre = |sum: &(f64, Vec3, f64, f64)| if charged(&sum) { common } else { sum.1 / sum.0 };
    let centres: Vec<Vec3> = sums.iter().map(centre).collect();
    let mut moment = Vec3::zeros();
    for (t, &p) in part.iter().enumerate() {
        // Parts without area have no centre, and no charge.
        if charges.corners(t).into_iter().any(|q| q != 0.0) {
            moment += moment_about(mesh, charges, t, &centres[p as usize]);
        }
    }
    moment.into()
}
