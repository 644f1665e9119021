//! From a case to what the solver takes: the mesh, and which triangle belongs to which conductor.

use mesh::check::Defects;
use mesh::conductors::{self, Assignment, Request};
use mesh::intersect::{Intersection, intersections};
use mesh::topology::Topology;
use mesh::{Mesh, PhysicalGroup, files, quality};

use crate::case::{Case, Defect, ResolvedConductor, Sort};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::media::{self, Media};
use crate::output::Output;
use crate::probes;
use crate::sources::{self, Source};

/// A mesh that can be solved on.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) mesh: Mesh,
    /// Each triangle's area, in the square of the mesh's unit.
    pub(crate) areas: Vec<f64>,
    pub(crate) conductors: Conductors,
    /// `None` where one medium fills all space.
    pub(crate) media: Option<Media>,
    /// All point charges.
    pub(crate) sources: Vec<Source>,
    /// Points of each probe, in the mesh's unit.
    pub(crate) probes: Vec<Vec<[f64; 3]>>,
}

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
    prepare(case, mesh)
}

/// Checks the mesh, which is that of `case` or one made of it, and finds its conductors.
pub(crate) fn prepare(case: &Case, mesh: Mesh) -> Result<Problem, Failure> {
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
    check_crossings(case, &mesh, &assignment)?;
    let areas = quality::areas(&mesh);
    let conductors = describe(case, &mesh, &areas, assignment);
    let regions = media::regions(case, &mesh)?;
    let media = (!regions.is_empty()).then(|| media::find(case, &mesh, &regions));
    let sources = sources::find(case, &mesh, &regions)?;
    let probes = probes::points(case)?;
    Ok(Problem { mesh, areas, conductors, media, sources, probes })
}

/// Refuses surfaces of different bodies that go through each other. Within one conductor they do no more harm than making some
/// of its surface an inner one.
fn check_crossings(case: &Case, mesh: &Mesh, assignment: &Assignment) -> Result<(), Failure> {
    if assignment.names.len() + case.dielectrics.len() < 2 {
        return Ok(());
    }
    let bodies = |triangle: u32| -> Vec<&str> {
        let conductor = assignment.of_triangle[triangle as usize]
            .map(|owner| assignment.names[owner as usize].as_str());
        let dielectrics = case
            .dielectrics
            .iter()
            .filter(|dielectric| media::is_in(mesh, &dielectric.groups, triangle as usize));
        conductor.into_iter().chain(dielectrics.map(|d| d.name.value.as_str())).collect()
    };
    let found = intersections(mesh);
    let between = |pair: &&Intersection| {
        let [a, b] = pair.triangles.map(bodies);
        !a.is_empty() && !b.is_empty() && !a.iter().any(|body| b.contains(body))
    };
    let Some(first) = found.iter().find(between) else { return Ok(()) };
    let [a, b] = first.triangles.map(|t| {
        let name = bodies(t).first().copied().unwrap_or_default();
        format!("triangle {t} of \"{name}\"")
    });
    let what = if case.dielectrics.is_empty() { "conductors" } else { "bodies" };
    let count = found.iter().filter(between).count();
    let file = case.mesh.file.display();
    Err(Failure::with_help(
        Exit::BadInput,
        format!(
            "in {file}, {what} go through each other: {} (first: {a} and {b})",
            if count == 1 {
                "1 pair of triangles".to_owned()
            } else {
                format!("{count} pairs of triangles")
            }
        ),
        format!(
            "move them apart, make them one conductor, or mesh them as one body; `farad mesh check {file}` writes the triangles \
             to a VTK file"
        ),
    ))
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
    let interfaces = case.dielectrics.iter().flat_map(|dielectric| &dielectric.groups);
    let claimed = |group: &str| {
        requests.iter().any(|request| request.groups.iter().any(|name| name == group))
    };
    let ignore: Vec<String> = case
        .mesh
        .ignore
        .iter()
        .chain(interfaces.clone().filter(|group| !claimed(&group.value)))
        .map(|group| group.value.clone())
        .collect();
    if mesh.groups.is_empty() && requests.is_empty() && !case.dielectrics.is_empty() {
        let of_triangle = vec![None; mesh.triangles.len()];
        return Ok(Assignment { names: Vec::new(), of_triangle });
    }
    conductors::assign(mesh, &requests, &ignore).map_err(|problems| {
        let defects = problems
            .iter()
            .map(|problem| Defect::new(Sort::Value, place(case, problem), problem.to_string()));
        case.failure(defects.collect())
    })
}

/// The place in the case file that a problem is about: a group, a conductor, or else the mesh.
fn place(case: &Case, problem: &conductors::Problem) -> std::ops::Range<usize> {
    use conductors::Problem as P;
    let name = match problem {
        P::RepeatedName(name) | P::NoGroups(name) | P::Empty(name) => Some(name),
        _ => None,
    };
    let group = match problem {
        P::UnknownGroup { group, .. } | P::GroupTwice { group, .. } => Some(group),
        _ => None,
    };
    let groups = case.conductors.iter().flat_map(|conductor| &conductor.groups);
    let interfaces = case.dielectrics.iter().flat_map(|dielectric| &dielectric.groups);
    let mut names = case.conductors.iter().map(|conductor| &conductor.name);
    let found = match (name, group) {
        (Some(name), _) => names.find(|known| known.value == *name),
        (_, Some(group)) => {
            groups.chain(&case.mesh.ignore).chain(interfaces).find(|known| known.value == *group)
        }
        _ => None,
    };
    found.map_or_else(|| case.mesh.place.clone(), |located| located.span.clone())
}

fn describe(case: &Case, mesh: &Mesh, areas: &[f64], assignment: Assignment) -> Conductors {
    let Assignment { names, of_triangle } = assignment;
    let mut area_of = vec![0.0; names.len()];
    for (owner, area) in of_triangle.iter().zip(areas) {
        if let Some(owner) = owner {
            area_of[*owner as usize] += area;
        }
    }
    let parts = Topology::of(&grouped_by_conductor(mesh, &names, &of_triangle)).groups;
    let summaries = names
        .iter()
        .zip(area_of)
        .zip(parts)
        .map(|((name, area), part)| Summary {
            name: name.clone(),
            triangles: part.triangles,
            area,
            closed: part.closed,
        })
        .collect();
    let resolved = resolve(case, mesh, &names);
    Conductors { names, of_triangle, summaries, resolved }
}

/// The mesh with its conductors in place of its groups, so that they can be studied alike.
fn grouped_by_conductor(mesh: &Mesh, names: &[String], of_triangle: &[Option<u32>]) -> Mesh {
    let group = |(tag, name): (i64, &String)| PhysicalGroup { tag, name: Some(name.clone()) };
    Mesh {
        vertices: mesh.vertices.clone(),
        triangles: mesh.triangles.clone(),
        groups: (1..).zip(names).map(group).collect(),
        membership: of_triangle.iter().map(|owner| owner.map_or(0, |owner| owner + 1)).collect(),
        memberships: [vec![]].into_iter().chain((0..names.len() as u32).map(|g| vec![g])).collect(),
    }
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
