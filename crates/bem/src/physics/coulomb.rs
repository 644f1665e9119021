//! Potentials of point charges at each other.

use parallel::prelude::*;

use super::PointCharge;
use crate::constants::DIRECT_SUMS;
use crate::geometry::triangle::Vec3;
use crate::{Error, Excitation, SurfaceCharge};

/// Potential of `charges` at `points`, each charge over the permittivity of its own medium; a
/// charge that coincides with a point adds nothing.
///
/// # Errors
/// [`Error::Fmm`] if a point is not finite or there are too many.
pub fn coulomb_potentials(charges: &[PointCharge], points: &[[f64; 3]]) -> Result<Vec<f64>, Error> {
    if charges.len().saturating_mul(points.len()) > DIRECT_SUMS {
        let nothing = SurfaceCharge::new(&mesh::Mesh::default(), &Vec::new());
        let excitation = Excitation { charges: charges.to_vec(), ..Excitation::default() };
        return Ok(nothing.evaluate(&excitation, points, false)?.potential);
    }
    let potential = |point: &[f64; 3]| {
        let x = Vec3::from(*point);
        let of = |q: &PointCharge| {
            let distance = (x - Vec3::from(q.position)).norm();
            if distance > 0.0 { q.charge / (q.permittivity * distance) } else { 0.0 }
        };
        charges.iter().map(of).sum()
    };
    Ok(points.par_iter().map(potential).collect())
}
