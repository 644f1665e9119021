//! Green's reciprocity between sources and conductors: the charge that sources induce, computed
//! from the potentials at the sources.

use mesh::Mesh;

use super::forces::moment_about;
use super::{Charges, Excitation, Media, SurfaceCharge};
use crate::Error;
use crate::geometry::triangle::Vec3;

/// Up to this number of pairs of a charge and a triangle, reciprocity is checked.
const PAIRS: usize = 8_000_000;

/// Free charge that sources induce on a conductor, computed in two ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reciprocity {
    /// The conductor.
    pub conductor: usize,
    /// Charge on it with all conductors at 0 V among the sources.
    pub charge: f64,
    /// The same by Green's reciprocity: minus the sum of the sources' charges times the potentials
    /// there with this conductor at 1 V.
    pub by_potentials: f64,
    /// Sum of the magnitudes of its terms.
    pub size: f64,
}

/// Both charges of each conductor, unless that takes too long. `units` are the charges of triangles
/// with each conductor in turn at 1 V and the others at 0 V, `induced` the free charge of each
/// conductor with the sources of `excitation`. The uniform field counts as one in a medium of
/// relative permittivity `surroundings` that fills all space.
///
/// # Errors
/// [`Error::Fmm`].
pub fn reciprocity(
    mesh: &Mesh,
    media: Media<'_>,
    surroundings: f64,
    units: &[Charges<'_>],
    induced: &[f64],
    excitation: &Excitation,
) -> Result<Vec<Reciprocity>, Error> {
    let images = media.images;
    let charges = &excitation.charges;
    let pairs = charges.len().saturating_mul(mesh.triangles.len() * images.count());
    if pairs.saturating_mul(units.len()) > PAIRS {
        return Ok(Vec::new());
    }
    let whole = images.mesh(mesh);
    let places: Vec<[f64; 3]> = charges.iter().map(|q| q.position).collect();
    let mut found = Vec::new();
    for (conductor, (unit, &charge)) in units.iter().zip(induced).enumerate() {
        let (total, at_corners) =
            (images.charges(unit.total, 0), images.at_corners(unit.at_corners, 0));
        let of_all = Charges { total: &total, at_corners: &at_corners };
        let surface = SurfaceCharge::new(&whole, of_all);
        let potential = surface.evaluate(&Excitation::default(), &places, false)?.potential;
        let of_charges = charges.iter().zip(&potential).map(|(q, v)| {
            let copies = images.copies() as f64 / images.coincident(q.position) as f64;
            copies * q.charge * v
        });
        let (field, origin) = (Vec3::from(excitation.field), Vec3::from(excitation.origin));
        let of_field = (0..mesh.triangles.len()).map(|t| {
            let along = -field.dot(&moment_about(mesh, *unit, t, &origin));
            images.copies() as f64 * surroundings * along
        });
        let (mut sum, mut size) = (0.0, 0.0);
        for term in of_charges.chain(of_field) {
            sum += term;
            size += term.abs();
        }
        found.push(Reciprocity { conductor, charge, by_potentials: -sum, size });
    }
    Ok(found)
}
