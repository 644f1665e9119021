//! A problem: a description on a mesh that it can be solved on, and the checks that make it one.

pub(crate) mod conductors;
pub(crate) mod edges;
pub(crate) mod fault;
pub(crate) mod geometry;
pub(crate) mod heights;
pub(crate) mod in_metal;
pub(crate) mod layers;
pub(crate) mod media;
pub(crate) mod media_check;
pub(crate) mod meetings;
pub(crate) mod names;
pub(crate) mod nearest;
pub(crate) mod place_fault;
pub(crate) mod planes;
pub(crate) mod reduction;
pub(crate) mod request_fault;
pub(crate) mod sources;

use mesh::Mesh;
use mesh::locate::Nearest;

use crate::problem::conductors::Conductors;
use crate::problem::fault::Note;
use crate::problem::media::Media;
use crate::problem::planes::Symmetry;
use crate::problem::sources::Source;
use crate::result::reduction::Reducer;
use crate::scene::description::Description;

/// A description on a mesh that it can be solved on; it does not change.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(crate) description: Description,
    pub(crate) mesh: Mesh,
    pub(crate) areas: Vec<f64>,
    pub(crate) conductors: Conductors,
    pub(crate) symmetry: Symmetry,
    pub(crate) media: Option<Media>,
    /// Where surfaces are in the layers of the description.
    pub(crate) in_layers: Option<layers::Place>,
    pub(crate) sources: Vec<Source>,
    /// The place nearest to each of them of the surfaces that carry charge.
    pub(crate) nearest: Vec<Option<Nearest>>,
    pub(crate) notes: Vec<Note>,
    /// The conductors whose columns of the matrix are wanted, in its order.
    pub(crate) excited: Vec<usize>,
    /// The reductions of the description.
    pub(crate) reducers: Vec<Reducer>,
    /// The mesh as it was given, and the places nearest to charges on it, if triangles were split.
    pub(crate) given: Option<(Mesh, Vec<Option<Nearest>>)>,
}

impl Problem {
    /// The description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The mesh, with smaller triangles next to point charges and other surfaces where those given
    /// were large.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Each triangle's area, in the square of the description's unit.
    pub fn areas(&self) -> &[f64] {
        &self.areas
    }

    /// The conductors.
    pub fn conductors(&self) -> &Conductors {
        &self.conductors
    }

    /// The conductors whose columns of the capacitance matrix are wanted: all, unless the
    /// description chooses some.
    pub fn excited(&self) -> &[usize] {
        &self.excited
    }

    /// The media; `None` where one medium fills all space.
    pub fn media(&self) -> Option<&Media> {
        self.media.as_ref()
    }

    /// All point charges.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Notes on the surfaces.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The mesh without the triangles that were added.
    pub fn given_mesh(&self) -> &Mesh {
        self.as_given().0
    }

    /// That mesh, and the place on it nearest to each charge.
    pub(crate) fn as_given(&self) -> (&Mesh, &[Option<Nearest>]) {
        match &self.given {
            Some((mesh, nearest)) => (mesh, nearest),
            None => (&self.mesh, &self.nearest),
        }
    }

    /// How many triangles were added next to point charges and other surfaces.
    pub fn added_triangles(&self) -> usize {
        self.mesh.triangles.len() - self.given_mesh().triangles.len()
    }

    /// The layers that surfaces are in, from the lowest on, and their relative permittivities: 0 is
    /// what is below all layers. Empty without layers.
    pub fn layers(&self) -> Vec<(usize, f64)> {
        self.in_layers.as_ref().map_or_else(Vec::new, layers::Place::media)
    }

    /// Relative permittivity of the medium around all bodies where a triangle is.
    pub(crate) fn surroundings(&self, triangle: usize) -> f64 {
        match &self.in_layers {
            Some(place) => place.permittivity(triangle),
            None => self.description.relative_permittivity,
        }
    }

    /// The permittivity on both sides of each triangle.
    pub(crate) fn permittivity(&self) -> Vec<[f64; 2]> {
        match &self.media {
            Some(media) => media.permittivity.clone(),
            None => vec![[self.description.relative_permittivity; 2]; self.mesh.triangles.len()],
        }
    }

    pub(crate) fn media_of<'a>(&'a self, permittivity: &'a [[f64; 2]]) -> bem::Media<'a> {
        bem::Media {
            conductor: &self.conductors.of_triangle,
            conductors: self.conductors.names.len(),
            permittivity,
            images: &self.symmetry.images,
            bodies: self.media.as_ref().map_or(&[], |media| &media.regions),
        }
    }
}
