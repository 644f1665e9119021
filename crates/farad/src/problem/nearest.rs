//! The places of surfaces that are nearest to point charges.

use mesh::Mesh;
use mesh::locate::{Locator, Nearest};
use parallel::prelude::*;

use crate::problem::sources::Source;

/// The place nearest to each charge of the surfaces that carry charge, conductors and interfaces;
/// `None` without such surfaces. `surfaces` are all there are.
pub(crate) fn find(
    mesh: &Mesh,
    surfaces: &Locator,
    carries_charge: impl Fn(u32) -> bool,
    sources: &[Source],
) -> Vec<Option<Nearest>> {
    let of = |surfaces: &Locator| -> Vec<Option<Nearest>> {
        sources.par_iter().map(|source| surfaces.nearest(source.position)).collect()
    };
    let nearest = of(surfaces);
    if nearest.iter().flatten().all(|near| carries_charge(near.triangle)) {
        return nearest;
    }
    let charged = (0..mesh.triangles.len() as u32).filter(|&t| carries_charge(t));
    of(&Locator::of_part(mesh, charged.collect()))
}
