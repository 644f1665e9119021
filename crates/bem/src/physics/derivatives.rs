//! Changes of capacitances when bodies move or media change, from known solutions: a change of
//! Green's function dG changes entry (i, j) of the matrix by -q_i dG q_j (docs/math.md,
//! "Derivatives"). No further solve is needed.

use mesh::Mesh;
use parallel::prelude::*;

use super::evaluate::SurfaceCharge;
use super::{Body, Charges, Excitation};
use crate::Error;
use crate::geometry::images::Images;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::quadrature::TriangleNode;
use crate::quadrature::rule::Rule;
use crate::space::strengths;

/// Degree of the rule by which potentials and fields are averaged over a triangle.
const DEGREE: usize = 6;

/// A matrix over pairs of solutions.
pub type OfPairs<T> = Vec<Vec<T>>;

/// Evaluation points on triangles.
struct Places {
    triangles: Vec<usize>,
    points: Vec<[f64; 3]>,
    rule: &'static Rule,
}

impl Places {
    fn new(mesh: &Mesh, triangles: Vec<usize>) -> Self {
        let rule = Rule::of_degree(DEGREE);
        let on = |&t: &usize| {
            let patch = Patch::of_triangle(mesh, t);
            let place =
                |node: &TriangleNode| patch.at([node.barycentric[1], node.barycentric[2]]).into();
            rule.nodes().iter().map(place).collect::<Vec<[f64; 3]>>()
        };
        let points = triangles.par_iter().flat_map_iter(on).collect();
        Self { triangles, points, rule }
    }

    /// The charge at each of the points.
    fn strengths(&self, charges: Charges<'_>) -> Vec<f64> {
        let of = |&t: &usize| strengths(self.rule, charges.corners(t), 1.0);
        self.triangles.iter().flat_map(of).collect()
    }
}

fn check(mesh: &Mesh, charges: &[Charges<'_>]) -> Result<(), Error> {
    let expected = mesh.triangles.len();
    match charges.iter().map(|of| of.total.len()).find(|found| *found != expected) {
        Some(found) => Err(Error::Length { what: "charges.total", expected, found }),
        None => Ok(()),
    }
}

/// For each body the derivative of the capacitance matrix over 4 pi eps0 with respect to its
/// position along each axis; `charges` are those of each conductor in turn at 1 V, over 4 pi eps0:
/// the field of one solution acts on the charges of the other.
///
/// # Errors
/// [`Error::Length`], [`Error::Fmm`].
pub fn by_shifts(
    mesh: &Mesh,
    charges: &[Charges<'_>],
    bodies: &[Body],
) -> Result<Vec<OfPairs<[f64; 3]>>, Error> {
    check(mesh, charges)?;
    let count = charges.len();
    let of_body = |body: &Body| {
        let places = Places::new(mesh, body.triangles.iter().map(|&t| t as usize).collect());
        let strengths: Vec<Vec<f64>> = charges.iter().map(|&of| places.strengths(of)).collect();
        let mut found = vec![vec![Vec3::zeros(); count]; count];
        for (j, of) in charges.iter().enumerate() {
            // The field of all others.
            let mut total = of.total.to_vec();
            let mut at_corners = of.at_corners.to_vec();
            for &t in &body.triangles {
                total[t as usize] = 0.0;
                at_corners.get_mut(t as usize).into_iter().for_each(|own| *own = [0.0; 3]);
            }
            let others = Charges { total: &total, at_corners: &at_corners };
            let others = SurfaceCharge::new(mesh, others);
            let field = others.evaluate(&Excitation::default(), &places.points, true)?.field;
            for (i, strengths) in strengths.iter().enumerate() {
                let pull: Vec3 =
                    strengths.iter().zip(&field).map(|(q, e)| Vec3::from(*e) * *q).sum();
                found[i][j] += pull * body.permittivity;
                found[j][i] += pull * body.permittivity;
            }
        }
        Ok(found.into_iter().map(|row| row.into_iter().map(<[f64; 3]>::from).collect()).collect())
    };
    bodies.iter().map(of_body).collect()
}

/// For each set of weights of triangles a matrix over the solutions: entry (i, j) is the charges of
/// solution i, those of each triangle times its weight, times the potential of solution j and its
/// images, for charges over 4 pi eps0. Potentials are evaluated where any weight is not 0.
///
/// # Errors
/// [`Error::Length`], [`Error::Fmm`].
pub fn works(
    mesh: &Mesh,
    charges: &[Charges<'_>],
    images: &Images,
    weights: &[&[f64]],
) -> Result<Vec<OfPairs<f64>>, Error> {
    check(mesh, charges)?;
    let expected = mesh.triangles.len();
    if let Some(found) = weights.iter().map(|of| of.len()).find(|found| *found != expected) {
        return Err(Error::Length { what: "weights", expected, found });
    }
    let is_weighted = |&t: &usize| weights.iter().any(|of| of[t] != 0.0);
    let places = Places::new(mesh, (0..expected).filter(is_weighted).collect());
    let strengths: Vec<Vec<f64>> = charges.iter().map(|&of| places.strengths(of)).collect();
    let whole = images.mesh(mesh);
    let none = vec![vec![0.0; charges.len()]; charges.len()];
    let mut found = vec![none; weights.len()];
    for (j, of) in charges.iter().enumerate() {
        let (total, at_corners) =
            (images.charges(of.total, 0), images.at_corners(of.at_corners, 0));
        let all = SurfaceCharge::new(&whole, Charges { total: &total, at_corners: &at_corners });
        let potential = all.evaluate(&Excitation::default(), &places.points, false)?.potential;
        for (i, strengths) in strengths.iter().enumerate() {
            let nodes =
                strengths.chunks(places.rule.len()).zip(potential.chunks(places.rule.len()));
            for (&t, (strengths, potential)) in places.triangles.iter().zip(nodes) {
                let work: f64 = strengths.iter().zip(potential).map(|(q, v)| q * v).sum();
                for (found, weights) in found.iter_mut().zip(weights) {
                    found[i][j] += weights[t] * work;
                }
            }
        }
    }
    Ok(found)
}
