//! Checks a description and a mesh together, and makes a problem of them: what names mean
//! ([`named`]), where surfaces are ([`placed`]), what is between them ([`filled`]).

mod contradictions;
mod filled;
mod named;
mod placed;

use mesh::local_refine::{self, Sizes};
use mesh::{Mesh, quality};
use parallel::prelude::*;

use crate::analysis::list;
use crate::problem::fault::{Error, Fault, Note};
use crate::problem::{Problem, conductors, layers};
use crate::scene::description::Description;
use filled::Filled;
use named::Named;
use placed::{Placed, intact};

/// Triangles are split where the longest side of one is more than this times its distance from a
/// point charge: the charge that it induces there changes more within the triangle than from
/// triangle to triangle.
const COARSE_FOR_CHARGES: f64 = 2.0;

/// Then sides of triangles are at most this times their distance from that charge: constant
/// densities on such triangles give the energy of a charge over a plane to 1 % (1.6 % where they
/// are as long as their distance).
const CHARGE_SIDES: f64 = 0.7;

/// Share of the surface's size: charges closer to the surface than this need no smaller triangles
/// than charges at this distance.
const CHARGE_FLOOR: f64 = 1e-6;

/// Rounding of coordinates that moves vertices by more than this share of a triangle's side is
/// noted: it is no longer little compared with the solver's tolerance.
const ROUNDED: f64 = 1e-7;

/// Triangles that a mesh may have after this.
const MOST_TRIANGLES: usize = 1 << 24;

impl Problem {
    /// Checks the mesh and finds its conductors and media. Triangles that are large compared with
    /// their distance from a point charge are halved, since constant densities on them cannot
    /// resolve the charge that it induces, and so are those that are very large compared with their
    /// distance from another surface.
    ///
    /// # Errors
    /// [`Error::Faults`], as many as are found at once.
    pub fn new(description: Description, mesh: Mesh) -> Result<Self, Error> {
        let problem = Self::next_to_charges(description, mesh)?;
        let finer = problem.finer_next_to_surfaces()?;
        problem.on(finer, |added| Note::SplitNextToSurfaces { added })
    }

    /// As [`Self::new`], without splitting triangles next to other surfaces.
    pub(crate) fn next_to_charges(description: Description, mesh: Mesh) -> Result<Self, Error> {
        let mut faults = description.faults();
        if let Err(invalid) = mesh.validate() {
            faults.push(Fault::Mesh(invalid));
        } else if !faults.is_empty() {
            faults.extend(Self::misnamed(&description, &mesh));
        }
        if !faults.is_empty() {
            return Err(Error::Faults(faults));
        }
        let given = Self::checked(description, mesh).map_err(Error::Faults)?;
        let rounded = rounded(&given.mesh);
        let finer = given.finer_next_to_charges().map_err(Error::Faults)?;
        let mut problem = given.on(finer, |added| Note::Split { added })?;
        problem.notes.extend(rounded);
        Ok(problem)
    }

    /// The same on a finer mesh, if there is one, with a note of how many triangles that has more.
    fn on(self, finer: Option<Mesh>, note: impl Fn(usize) -> Note) -> Result<Self, Error> {
        let Some(finer) = finer else { return Ok(self) };
        let is_kept = |note: &Note| note.is_of_splitting() || matches!(note, Note::Rounded { .. });
        let mut notes: Vec<Note> = self.notes.into_iter().filter(is_kept).collect();
        notes.push(note(finer.triangles.len() - self.mesh.triangles.len()));
        let mut problem = Self::checked(self.description, finer).map_err(Error::Faults)?;
        problem.notes.extend(notes);
        problem.given = Some(self.given.unwrap_or((self.mesh, self.nearest)));
        Ok(problem)
    }

    /// Names in a description that this mesh does not have: for callers that have found the
    /// description wrong already, and report all faults.
    pub fn misnamed(description: &Description, mesh: &Mesh) -> Vec<Fault> {
        Named::find(description, mesh).err().unwrap_or_default()
    }

    /// The mesh with small triangles next to point charges, if it has none there.
    fn finer_next_to_charges(&self) -> Result<Option<Mesh>, Vec<Fault>> {
        let _span = tracing::debug_span!("triangles next to charges").entered();
        let points: Vec<[f64; 3]> = self.sources.iter().map(|source| source.position).collect();
        if points.is_empty() {
            return Ok(None);
        }
        let [low, high] = quality::bounding_box(&self.mesh);
        let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        let sizes = Sizes {
            coarse: COARSE_FOR_CHARGES,
            ratio: CHARGE_SIDES,
            floor: CHARGE_FLOOR * size,
            most: MOST_TRIANGLES,
        };
        let finer = local_refine::around_points(&self.mesh, &points, sizes)
            .map_err(|error| vec![Fault::TooFine(error)])?;
        Ok((finer.triangles.len() > self.mesh.triangles.len()).then_some(finer))
    }

    /// One pass of [`Problem::new`].
    fn checked(mut description: Description, mut mesh: Mesh) -> Result<Self, Vec<Fault>> {
        let _span = tracing::debug_span!("checks of the mesh").entered();
        if let Some(stack) = &description.stack {
            layers::snap(stack, &mut mesh);
        }
        let Named { assignment, excited, reducers } = Named::find(&description, &mesh)?;
        let mut notes = intact(&description, &mesh, &assignment)?;
        let placed = Placed::find(&description, &mesh, &assignment)?;
        if let Some(place) = &placed.in_layers {
            description.relative_permittivity = place.reference();
        }
        let filled = Filled::find(&description, &mesh, &assignment, &placed)?;
        let whole = placed.symmetry.whole(&mesh);
        notes.extend(conductors::separate(&description, &mesh, whole, &assignment));
        notes.extend(filled.notes);
        let areas = quality::areas(&mesh);
        let conductors = conductors::describe(&mesh, whole, &areas, assignment);
        let Placed { symmetry, in_layers } = placed;
        let Filled { sources, nearest, media, .. } = filled;
        let problem = Self {
            description,
            mesh,
            areas,
            conductors,
            symmetry,
            media,
            in_layers,
            sources,
            nearest,
            notes,
            excited,
            reducers,
            given: None,
        };
        let faults = problem.impossible();
        if faults.is_empty() { Ok(problem) } else { Err(faults) }
    }

    /// Requests that are impossible on this mesh.
    fn impossible(&self) -> Vec<Fault> {
        let description = &self.description;
        let has_metal = !self.conductors.names.is_empty();
        let has_other = description.has_sources() || description.polarisability;
        if !(has_metal || has_other) {
            return vec![Fault::NothingToSolve];
        }
        if description.has_salt() && has_metal {
            return vec![Fault::Salt { what: "conductors" }];
        }
        list::faults_on_mesh(self)
    }
}

/// A note where coordinates have too few digits for the triangles that they are of.
fn rounded(mesh: &Mesh) -> Option<Note> {
    let share = |t: usize| {
        let corners = mesh.corners(t);
        let largest = corners.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
        let side = |a: usize, b: usize| {
            (0..3).map(|k| (corners[a][k] - corners[b][k]).powi(2)).sum::<f64>().sqrt()
        };
        0.5 * f64::EPSILON * largest / side(0, 1).max(side(1, 2)).max(side(2, 0))
    };
    let shares = (0..mesh.triangles.len()).into_par_iter().map(|t| (share(t), t as u32));
    let (share, triangle) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share > ROUNDED).then_some(Note::Rounded { triangle, share })
}
