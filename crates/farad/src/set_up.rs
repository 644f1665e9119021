//! Checks a description and a mesh together, and makes a problem of them.

use mesh::check::Defects;
use mesh::conductors::{self as owners, Assignment};
use mesh::local_refine::{self, Sizes};
use mesh::locate::Locator;
use mesh::{Mesh, quality};
use parallel::prelude::*;

use crate::analysis::{films, sensitivity};
use crate::problem::Problem;
use crate::problem::conductors;
use crate::problem::fault::{Error, Fault, Note};
use crate::problem::media::{self, Chosen};
use crate::problem::names::fits;
use crate::problem::planes::Symmetry;
use crate::problem::request_fault::ReductionFault;
use crate::problem::sources;
use crate::problem::{in_metal, layers, meetings, nearest};
use crate::refine::first_mesh;
use crate::result::reduction::Reducer;
use crate::scene::description::Description;
use crate::scene::requests::Reduction;

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
        let finer = problem.finer_next_to_surfaces(first_mesh::SEEN)?;
        problem.on(finer, |added| Note::SplitNextToSurfaces { added })
    }

    /// The same without triangles split next to other surfaces.
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

    /// What a description names and this mesh does not have: for those who have found the
    /// description wrong already, and tell all that is.
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
        let defects = Defects::of(&mesh);
        if !defects.is_empty() {
            return Err(vec![Fault::Defects(defects)]);
        }
        let mut notes = Vec::new();
        let meetings = [
            meetings::check_crossings(&description, &mesh, &assignment),
            meetings::check_contacts(&description, &mesh, &assignment)
                .map(|note| note.into_iter().collect()),
        ];
        for found in meetings {
            match found {
                Err(faults) if description.lenient => {
                    notes.extend(faults.into_iter().map(Note::Allowed));
                }
                found => notes.extend(found?),
            }
        }
        let is_conductor = |t: usize| assignment.of_triangle[t].is_some();
        let interfaces: Vec<String> = description.interfaces().cloned().collect();
        let interfaces = Chosen::by(&mesh, &interfaces);
        let bounds = |t: usize| is_conductor(t) || interfaces.has(t);
        let mut symmetry = Symmetry::find(&description, &mesh, bounds, is_conductor)?;
        let mut in_layers = None;
        if let Some(stack) = &description.stack {
            let place = layers::find(stack, &mesh, bounds, is_conductor)?;
            let points = description.probes.iter().flat_map(|probe| probe.place.points());
            symmetry = place.images(stack, &mesh, symmetry, points)?;
            let is_interface = |t: usize| interfaces.has(t);
            let placed = (stack, &place);
            layers::check_places(&description, placed, &mesh, &symmetry.images, is_interface)?;
            description.relative_permittivity = place.reference();
            in_layers = Some(place);
        }
        let whole = symmetry.whole(&mesh);
        notes.extend(conductors::separate(&description, &mesh, whole, &assignment));
        let areas = quality::areas(&mesh);
        let regions = media::regions(&description, whole)?;
        let surfaces = description.has_charges().then(|| Locator::new(&mesh));
        let sources = match &surfaces {
            Some(surfaces) => sources::find(&description, &mesh, &symmetry, &regions, surfaces)?,
            None => Vec::new(),
        };
        let media = if !description.surfaces.is_empty() {
            let (media, fault) = media::by_surfaces(&description, &mesh, whole, is_conductor)?;
            match fault {
                Some(fault) if !description.lenient => return Err(vec![fault]),
                fault => notes.extend(fault.map(Note::Allowed)),
            }
            Some(media)
        } else if regions.is_empty() {
            None
        } else {
            Some(media::find(&description, &mesh, whole, &regions, is_conductor, &sources))
        };
        let bounds = |t: usize| {
            let sides = media.as_ref().map(|media| media.permittivity[t]);
            is_conductor(t) || sides.is_some_and(|[a, b]| a != b)
        };
        let of = (&mesh, whole);
        notes.extend(in_metal::notes(&description, of, &assignment, &regions, &sources, bounds));
        let carries_charge = |t: u32| bounds(t as usize);
        let nearest = surfaces.map_or_else(Vec::new, |surfaces| {
            nearest::find(&mesh, &surfaces, carries_charge, &sources)
        });
        let is_both = !regions.is_empty() && !assignment.names.is_empty();
        if description.diffusion.is_some() && is_both {
            return Err(vec![Fault::DiffusionOfMedia]);
        }
        let conductors = conductors::describe(&mesh, whole, &areas, assignment);
        let has_sources = description.has_sources() || description.polarisability;
        if conductors.names.is_empty() && !has_sources {
            return Err(vec![Fault::NothingToSolve]);
        }
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
        let has_metal = !problem.conductors.names.is_empty();
        if problem.description.has_salt() && has_metal {
            return Err(vec![Fault::Salt { what: "conductors" }]);
        }
        let mut faults = sensitivity::faults(&problem);
        faults.extend(films::faults(&problem));
        if faults.is_empty() { Ok(problem) } else { Err(faults) }
    }
}

/// What the names in a description mean on its mesh.
struct Named {
    assignment: Assignment,
    excited: Vec<usize>,
    reducers: Vec<Reducer>,
}

impl Named {
    /// All names that mean nothing are found at once.
    fn find(description: &Description, mesh: &Mesh) -> Result<Self, Vec<Fault>> {
        let mut faults = media::check_groups(description, mesh).err().unwrap_or_default();
        let assignment = match conductors::assign(description, mesh) {
            Ok(assignment) => assignment,
            Err(more) => {
                // Of a group that has another name there, nothing lists the triangles.
                let is_echo = |fault: &Fault| {
                    matches!(fault, Fault::Conductors(owners::Error::Unclaimed { .. }))
                };
                let is_first = faults.is_empty();
                faults.extend(more.into_iter().filter(|fault| is_first || !is_echo(fault)));
                return Err(faults);
            }
        };
        let excited = excited(&description.nets, &assignment.names);
        let reducers = reducers(&description.reductions, &assignment.names);
        match (excited, reducers) {
            (Ok(excited), Ok(reducers)) if faults.is_empty() => {
                Ok(Self { assignment, excited, reducers })
            }
            (excited, reducers) => {
                faults.extend(excited.err().into_iter().flatten());
                faults.extend(reducers.err().into_iter().flatten());
                Err(faults)
            }
        }
    }
}

/// The conductors that the patterns choose, all without any.
fn excited(patterns: &[String], names: &[String]) -> Result<Vec<usize>, Vec<Fault>> {
    if patterns.is_empty() {
        return Ok((0..names.len()).collect());
    }
    let mut is_chosen = vec![false; names.len()];
    let mut faults = Vec::new();
    for (net, pattern) in patterns.iter().enumerate() {
        let is_meant = |name: &String| name == pattern || fits(pattern, name);
        let mut is_there = false;
        for (is_chosen, _) in is_chosen.iter_mut().zip(names).filter(|(_, name)| is_meant(name)) {
            (*is_chosen, is_there) = (true, true);
        }
        if !is_there {
            let (name, available) = (pattern.clone(), names.into());
            faults.push(Fault::UnknownNet { net, name, available });
        }
    }
    let chosen = (0..names.len()).filter(|&k| is_chosen[k]).collect();
    if faults.is_empty() { Ok(chosen) } else { Err(faults) }
}

/// Reductions of matrices over conductors of these names.
fn reducers(reductions: &[Reduction], names: &[String]) -> Result<Vec<Reducer>, Vec<Fault>> {
    let (mut reducers, mut faults) = (Vec::new(), Vec::new());
    for (index, reduction) in reductions.iter().enumerate() {
        let fault = |problem: ReductionFault| Fault::Reduction {
            reduction: index,
            name: reduction.name.clone(),
            problem,
        };
        match reduction.over(names) {
            Ok(reducer) => reducers.push(reducer),
            Err(problems) => faults.extend(problems.into_iter().map(fault)),
        }
    }
    if faults.is_empty() { Ok(reducers) } else { Err(faults) }
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
