//! From a case to what the solver takes: the mesh, and which triangle belongs to which conductor.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use mesh::check::Defects;
use mesh::conductors::{self, Assignment, Request};
use mesh::contact::{Contact, Touch, contacts};
use mesh::intersect::{Intersection, intersections};
use mesh::local_refine::{self, Sizes};
use mesh::topology::Topology;
use mesh::{Mesh, files, quality};

use crate::case::{Case, Defect, Located, ResolvedConductor, Sort};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::media::{self, Media};
use crate::output::Output;
use crate::probes;
use crate::sources::{self, Source};
use crate::symmetry::Symmetry;
use crate::units;

/// A mesh that can be solved on.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) mesh: Mesh,
    /// Each triangle's area, in the square of the mesh's unit.
    pub(crate) areas: Vec<f64>,
    pub(crate) conductors: Conductors,
    pub(crate) symmetry: Symmetry,
    /// `None` where one medium fills all space.
    pub(crate) media: Option<Media>,
    /// All point charges.
    pub(crate) sources: Vec<Source>,
    /// Points of each probe, in the mesh's unit.
    pub(crate) probes: Vec<Vec<[f64; 3]>>,
    /// What the user should know of the surfaces.
    pub(crate) notes: Vec<String>,
    /// Triangles that the mesh has more than what was given, next to point charges.
    pub(crate) added_next_to_charges: usize,
    /// The mesh without them, if there are any.
    given: Option<Mesh>,
}

impl Problem {
    /// The mesh without the triangles that were added next to point charges.
    pub(crate) fn given_mesh(&self) -> &Mesh {
        self.given.as_ref().unwrap_or(&self.mesh)
    }
}

/// Triangles are split where the longest side of one is more than this times its distance from a point charge: the charge that it induces
/// there changes more within the triangle than from triangle to triangle.
const COARSE_FOR_CHARGES: f64 = 2.0;

/// Then sides of triangles are at most this times their distance from that charge: constant densities on such triangles give
/// the energy of a charge over a plane to 1 % (1.6 % where they are as long as their distance).
const CHARGE_SIDES: f64 = 0.7;

/// Distances of charges from the surface below this share of its size ask for no smaller triangles.
const CHARGE_FLOOR: f64 = 1e-6;

/// Triangles that a mesh may have after this.
const MOST_TRIANGLES: usize = 1 << 24;

/// The conductors of a mesh, in the order of the capacitance matrix.
#[derive(Debug)]
pub(crate) struct Conductors {
    pub(crate) names: Vec<String>,
    /// Each triangle's conductor; `None` = ignored.
    pub(crate) of_triangle: Vec<Option<u32>>,
    pub(crate) summaries: Vec<Summary>,
    pub(crate) resolved: Vec<ResolvedConductor>,
}

/// One conductor in numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) triangles: usize,
    /// In the square of the mesh's unit.
    pub(crate) area: f64,
    /// Whether it encloses space.
    pub(crate) closed: bool,
}

/// Reads the mesh of `case`, checks it, and finds its conductors.
pub(crate) fn load(case: &Case, output: &Output) -> Result<Problem, Failure> {
    let file = &case.mesh.file;
    let (mesh, reading) = files::read(file).map_err(unreadable)?;
    tracing::info!(
        vertices = mesh.vertices.len(),
        triangles = mesh.triangles.len(),
        "read {} ({})",
        file.display(),
        reading.format
    );
    for note in &reading.notes {
        output.note(&format!("{}: {note}", file.display()));
    }
    interrupt::check()?;
    let problem = prepare(case, mesh)?;
    problem.notes.iter().for_each(|note| output.note(note));
    Ok(problem)
}

/// Checks the mesh, which is that of `case` or one made of it, and finds its conductors. Triangles that are large next to a point
/// charge are halved, since no density on them could follow the charge that it induces.
pub(crate) fn prepare(case: &Case, mesh: Mesh) -> Result<Problem, Failure> {
    let given = checked(case, mesh)?;
    let Some(finer) = finer_next_to_charges(case, &given)? else { return Ok(given) };
    let (before, after) = (given.mesh.triangles.len(), finer.triangles.len());
    let mut problem = checked(case, finer)?;
    problem.added_next_to_charges = after - before;
    problem.given = Some(given.mesh);
    problem.notes.push(format!(
        "{}: triangles were split next to point charges that are closer to them than half a side: {} more triangles",
        case.mesh.file.display(),
        units::count((after - before) as u64),
    ));
    Ok(problem)
}

/// The mesh with small triangles next to point charges, if it has none there.
fn finer_next_to_charges(case: &Case, problem: &Problem) -> Result<Option<Mesh>, Failure> {
    let points: Vec<[f64; 3]> = problem.sources.iter().map(|source| source.position).collect();
    if points.is_empty() {
        return Ok(None);
    }
    let mesh = &problem.mesh;
    let [low, high] = quality::bounding_box(mesh);
    let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let sizes = Sizes {
        coarse: COARSE_FOR_CHARGES,
        ratio: CHARGE_SIDES,
        floor: CHARGE_FLOOR * size,
        most: MOST_TRIANGLES,
    };
    let finer = local_refine::around_points(mesh, &points, sizes);
    let finer = finer.map_err(|error| {
        Failure::with_help(
            Exit::BadInput,
            format!("{}: next to the point charges: {error}", case.mesh.file.display()),
            "charges lie very close to the surface, compared with its triangles; use a finer mesh or move them".to_owned(),
        )
    })?;
    Ok((finer.triangles.len() > mesh.triangles.len()).then_some(finer))
}

/// One pass of [`prepare`].
fn checked(case: &Case, mesh: Mesh) -> Result<Problem, Failure> {
    let file = &case.mesh.file;
    let assignment = assign(case, &mesh)?;
    let defects = Defects::of(&mesh);
    if !defects.is_empty() {
        let file = file.display();
        return Err(Failure::with_help(
            Exit::BadInput,
            format!("the mesh {file} cannot be solved on:\n{defects}"),
            format!("`farad mesh check {file}` writes the triangles to a VTK file"),
        ));
    }
    let mut notes = check_crossings(case, &mesh, &assignment)?;
    notes.extend(check_contacts(case, &mesh, &assignment)?);
    let symmetry = mirrored(case, &mesh, &assignment)?;
    let areas = quality::areas(&mesh);
    let conductors = describe(case, &mesh, symmetry.whole(&mesh), &areas, assignment);
    let regions = media::regions(case, symmetry.whole(&mesh))?;
    let sources = sources::find(case, &mesh, &symmetry, &regions)?;
    let whole = symmetry.whole(&mesh);
    let is_conductor = |t: usize| conductors.of_triangle[t].is_some();
    let media = if !case.surfaces.is_empty() {
        Some(media::by_surfaces(case, &mesh, whole, is_conductor)?)
    } else if regions.is_empty() {
        None
    } else {
        Some(media::find(case, &mesh, whole, &regions, is_conductor, &sources))
    };
    if conductors.names.is_empty() && !case.has_sources() && !case.polarisability {
        let message = "there is nothing to solve: no conductor, no charge and no field is given";
        let defect = Defect::new(Sort::Missing, case.mesh.place.clone(), message);
        let help = "a dielectric needs something that polarises it: a [[charge]], a PQR file of charges, an [external] field or output.polarisability";
        return Err(case.failure(vec![defect.help(help)]));
    }
    let probes = probes::points(case)?;
    Ok(Problem {
        mesh,
        areas,
        conductors,
        symmetry,
        media,
        sources,
        probes,
        notes,
        added_next_to_charges: 0,
        given: None,
    })
}

/// The images of all surfaces in the planes of the case.
fn mirrored(case: &Case, mesh: &Mesh, assignment: &Assignment) -> Result<Symmetry, Failure> {
    let is_conductor = |t: usize| assignment.of_triangle[t].is_some();
    let interfaces: Vec<_> = case.interfaces().cloned().collect();
    let bounds = |t: usize| media::is_in(mesh, &interfaces, t);
    Symmetry::find(case, mesh, |t| is_conductor(t) || bounds(t), is_conductor)
}

/// Refuses surfaces of different bodies that go through each other, and parts of one dielectric's surface that do. Within one
/// conductor they do no more harm than making some of its surface an inner one. A part that goes through itself, as molecular
/// surfaces do here and there, is told in what is returned.
fn check_crossings(
    case: &Case,
    mesh: &Mesh,
    assignment: &Assignment,
) -> Result<Vec<String>, Failure> {
    if case.dielectrics.is_empty() && assignment.names.len() + case.surfaces.len() < 2 {
        return Ok(Vec::new());
    }
    let found = intersections(mesh);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let dielectrics_of = |triangle: u32| -> Vec<&str> {
        let dielectrics = case
            .dielectrics
            .iter()
            .filter(|dielectric| media::is_in(mesh, &dielectric.groups, triangle as usize));
        dielectrics.map(|dielectric| dielectric.name.value.as_str()).collect()
    };
    let bodies = |triangle: u32| -> Vec<&str> {
        let conductor = assignment.of_triangle[triangle as usize]
            .map(|owner| assignment.names[owner as usize].as_str());
        let interfaces = case
            .surfaces
            .iter()
            .filter(|_| conductor.is_none())
            .flat_map(|surface| &surface.groups)
            .filter(|group| media::is_in(mesh, std::slice::from_ref(*group), triangle as usize));
        let interfaces = interfaces.map(|group| group.value.as_str());
        conductor.into_iter().chain(dielectrics_of(triangle)).chain(interfaces).collect()
    };
    let component_of = Topology::of(mesh).component_of;
    let of_dielectric = |pair: &Intersection| -> Option<&str> {
        let [a, b] = pair.triangles.map(dielectrics_of);
        a.into_iter().find(|name| b.contains(name))
    };
    let is_one_part = |pair: &Intersection| {
        let [a, b] = pair.triangles.map(|t| component_of[t as usize]);
        a == b
    };
    let is_fault = |pair: &&Intersection| {
        let [a, b] = pair.triangles.map(bodies);
        let different = !a.is_empty() && !b.is_empty() && !a.iter().any(|body| b.contains(body));
        different || (of_dielectric(pair).is_some() && !is_one_part(pair))
    };
    let pairs = |count: usize| match count {
        1 => "1 pair of triangles".to_owned(),
        count => format!("{} pairs of triangles", units::count(count as u64)),
    };
    let file = case.mesh.file.display();
    if let Some(first) = found.iter().find(is_fault) {
        let [a, b] = first.triangles.map(|t| {
            let name = bodies(t).first().copied().unwrap_or_default();
            format!("triangle {t} of \"{name}\"")
        });
        let what = match of_dielectric(first) {
            Some(_) => "parts of one body's surface",
            None if case.interfaces().next().is_none() => "conductors",
            None => "bodies",
        };
        let count = pairs(found.iter().filter(is_fault).count());
        return Err(Failure::with_help(
            Exit::BadInput,
            format!("in {file}, {what} go through each other: {count} (first: {a} and {b})"),
            format!(
                "move them apart, make them one conductor, or mesh them as one body; `farad mesh check {file}` writes the \
                 triangles to a VTK file"
            ),
        ));
    }
    let through_itself = |name: &str| {
        let own: Vec<_> = found.iter().filter(|pair| of_dielectric(pair) == Some(name)).collect();
        let [a, b] = own.first()?.triangles;
        Some(format!(
            "the surface of \"{name}\" goes through itself: {} (first: {a} and {b}); values near them are in doubt, and \
             `farad mesh check {file}` writes them to a VTK file",
            pairs(own.len())
        ))
    };
    Ok(case.dielectrics.iter().filter_map(|d| through_itself(&d.name.value)).collect())
}

/// Refuses conductors that touch along a line, whose mutual capacitance has no bound; contacts at points are returned as a note.
fn check_contacts(
    case: &Case,
    mesh: &Mesh,
    assignment: &Assignment,
) -> Result<Option<String>, Failure> {
    let found = contacts(mesh, &assignment.of_triangle);
    let Some(first) = found.first() else { return Ok(None) };
    let owner = |t: u32| assignment.of_triangle[t as usize];
    let named = |t: u32| {
        let owner = owner(t).map_or("", |owner| assignment.names[owner as usize].as_str());
        format!("\"{owner}\" (triangle {t})")
    };
    let pair_of = |contact: &Contact| {
        let [a, b] = contact.triangles.map(owner);
        (a.min(b), a.max(b))
    };
    let pairs: HashSet<_> =
        found.iter().filter(|contact| contact.touch == first.touch).map(pair_of).collect();
    let others = match pairs.len() {
        1 => String::new(),
        count => format!(", and so do {} more pairs of conductors", units::count(count as u64 - 1)),
    };
    let ([a, b], [x, y, z]) = (first.triangles.map(named), first.place);
    let (file, unit) = (case.mesh.file.display(), case.mesh.unit.name());
    let place = format!("({x}, {y}, {z}) {unit}");
    match first.touch {
        Touch::Line => Err(Failure::with_help(
            Exit::BadInput,
            format!(
                "in {file}, the conductors {a} and {b} touch along a line or an area, at {place}{others}: their mutual capacitance \
                 has no bound, and what is computed grows with refinement"
            ),
            "leave a gap between them, or make them one conductor: group = [\"a\", \"b\"]",
        )),
        Touch::Point => Ok(Some(format!(
            "in {file}, the conductors {a} and {b} touch at a point, at {place}{others}; their mutual capacitance converges slowly"
        ))),
    }
}

/// The failure for a mesh file that cannot be read: the system's fault or the file's.
pub(crate) fn unreadable(error: files::Error) -> Failure {
    let exit = match error {
        files::Error::Io { .. } => Exit::Io,
        _ => Exit::BadInput,
    };
    Failure::new(exit, error)
}

fn assign(case: &Case, mesh: &Mesh) -> Result<Assignment, Failure> {
    let requests: Vec<Request> = case
        .conductors
        .iter()
        .map(|conductor| Request {
            name: conductor.name.value.clone(),
            groups: conductor.groups.iter().map(|group| group.value.clone()).collect(),
        })
        .collect();
    // What bounds a dielectric and is in no conductor is an interface, which belongs to none.
    let interfaces = case.interfaces();
    let claimed: HashSet<&str> =
        requests.iter().flat_map(|request| &request.groups).map(String::as_str).collect();
    let ignore: Vec<String> = case
        .mesh
        .ignore
        .iter()
        .chain(interfaces.filter(|group| !claimed.contains(group.value.as_str())))
        .map(|group| group.value.clone())
        .collect();
    let media = case.dielectrics.len() + case.surfaces.len();
    if mesh.groups.is_empty() && requests.is_empty() && media > 0 {
        let of_triangle = vec![None; mesh.triangles.len()];
        return Ok(Assignment { names: Vec::new(), of_triangle });
    }
    conductors::assign(mesh, &requests, &ignore).map_err(|problems| {
        let places = Places::of(case);
        let defects = problems
            .iter()
            .map(|problem| {
                let place = places.of_problem(problem);
                let defect = Defect::new(Sort::Value, place, problem.to_string());
                match problem {
                    conductors::Problem::Unclaimed { .. } if media > 0 => defect.help(
                        "if it is an interface between media, the [[dielectric]] that it bounds must list its group",
                    ),
                    _ => defect,
                }
            });
        case.failure(defects.collect())
    })
}

/// The places in the case file of conductors and groups.
struct Places<'a> {
    conductors: HashMap<&'a str, Range<usize>>,
    groups: HashMap<&'a str, Range<usize>>,
    mesh: Range<usize>,
}

impl<'a> Places<'a> {
    fn of(case: &'a Case) -> Self {
        let mut places = Self {
            conductors: HashMap::new(),
            groups: HashMap::new(),
            mesh: case.mesh.place.clone(),
        };
        for Located { value, span } in case.conductors.iter().map(|conductor| &conductor.name) {
            places.conductors.entry(value).or_insert_with(|| span.clone());
        }
        let groups = case.conductors.iter().flat_map(|conductor| &conductor.groups);
        for Located { value, span } in groups.chain(&case.mesh.ignore).chain(case.interfaces()) {
            places.groups.entry(value).or_insert_with(|| span.clone());
        }
        places
    }

    /// What a problem is about: a group, a conductor, or else the mesh.
    fn of_problem(&self, problem: &conductors::Problem) -> Range<usize> {
        use conductors::Problem as P;
        let found = match problem {
            P::RepeatedName(name) | P::NoGroups(name) | P::Empty(name) => {
                self.conductors.get(name.as_str())
            }
            P::UnknownGroup { group, .. } | P::GroupTwice { group, .. } => {
                self.groups.get(group.as_str())
            }
            _ => None,
        };
        found.unwrap_or(&self.mesh).clone()
    }
}

fn describe(
    case: &Case,
    mesh: &Mesh,
    whole: &Mesh,
    areas: &[f64],
    assignment: Assignment,
) -> Conductors {
    let Assignment { names, of_triangle } = assignment;
    let mut area_of = vec![0.0; names.len()];
    for (owner, area) in of_triangle.iter().zip(areas) {
        if let Some(owner) = owner {
            area_of[*owner as usize] += area;
        }
    }
    // Cut by a plane of symmetry, a surface is closed by its images.
    let images = whole.triangles.len() / mesh.triangles.len().max(1);
    let owner = |t: usize| of_triangle[t % of_triangle.len()];
    let parts = mesh::topology::parts(whole, names.len(), owner);
    let summaries = names
        .iter()
        .zip(area_of)
        .zip(parts)
        .map(|((name, area), part)| Summary {
            name: name.clone(),
            triangles: part.triangles / images.max(1),
            area,
            closed: part.closed,
        })
        .collect();
    let resolved = resolve(case, mesh, &names);
    Conductors { names, of_triangle, summaries, resolved }
}

/// The conductors as a case file would have to list them.
fn resolve(case: &Case, mesh: &Mesh, names: &[String]) -> Vec<ResolvedConductor> {
    let listed = case.conductors.iter().map(|conductor| ResolvedConductor {
        name: conductor.name.value.clone(),
        groups: conductor.groups.iter().map(|group| group.value.clone()).collect(),
    });
    // Without [[conductor]], conductors are groups under their own names, or components without any.
    let own_group =
        |name: &String| if mesh.groups.is_empty() { vec![] } else { vec![name.clone()] };
    let found =
        names.iter().map(|name| ResolvedConductor { name: name.clone(), groups: own_group(name) });
    if case.conductors.is_empty() { found.collect() } else { listed.collect() }
}
