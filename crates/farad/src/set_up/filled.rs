//! Media and charges between surfaces.

use mesh::Mesh;
use mesh::conductors::Assignment;
use mesh::locate::{Locator, Nearest};

use super::placed::Placed;
use crate::problem::fault::{Fault, Note};
use crate::problem::media::{self, Media};
use crate::problem::sources::Source;
use crate::problem::{in_metal, nearest, sources};
use crate::scene::description::Description;

/// Media and charges among placed surfaces.
pub(super) struct Filled {
    pub(super) sources: Vec<Source>,
    /// The place nearest to each of them of the surfaces that carry charge.
    pub(super) nearest: Vec<Option<Nearest>>,
    /// `None` where one medium fills all space.
    pub(super) media: Option<Media>,
    pub(super) notes: Vec<Note>,
}

impl Filled {
    /// The description has the permittivity of the medium that the surfaces are in.
    pub(super) fn find(
        description: &Description,
        mesh: &Mesh,
        assignment: &Assignment,
        placed: &Placed,
    ) -> Result<Self, Vec<Fault>> {
        let symmetry = &placed.symmetry;
        let whole = symmetry.whole(mesh);
        let regions = media::regions(description, whole)?;
        let surfaces = description.has_charges().then(|| Locator::new(mesh));
        let sources = match &surfaces {
            Some(surfaces) => sources::find(description, mesh, symmetry, &regions, surfaces)?,
            None => Vec::new(),
        };
        let is_conductor = |t: usize| assignment.of_triangle[t].is_some();
        let mut notes = Vec::new();
        let media = if !description.surfaces.is_empty() {
            let (media, fault) = media::by_surfaces(description, mesh, whole, is_conductor)?;
            match fault {
                Some(fault) if !description.lenient => return Err(vec![fault]),
                fault => notes.extend(fault.map(Note::Allowed)),
            }
            Some(media)
        } else if regions.is_empty() {
            None
        } else {
            Some(media::find(description, mesh, whole, &regions, is_conductor, &sources))
        };
        let bounds =
            |t: usize| is_conductor(t) || media.as_ref().is_some_and(|media| media.differ_at(t));
        let bodies = in_metal::Bodies { mesh, whole, assignment, regions: &regions };
        notes.extend(in_metal::notes(description, &bodies, &sources, bounds));
        let carries_charge = |t: u32| bounds(t as usize);
        let nearest = surfaces.map_or_else(Vec::new, |surfaces| {
            nearest::find(mesh, &surfaces, carries_charge, &sources)
        });
        Ok(Self { sources, nearest, media, notes })
    }
}
