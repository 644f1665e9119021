//! The conductor of each triangle, and a summary of each conductor.

use std::collections::HashSet;

use mesh::conductors::{self, Assignment, Request, UNGROUPED};
use mesh::{Mesh, topology};

use crate::problem::fault::{Fault, Note};
use crate::scene::description::{Conductor, Description};

/// The conductors of a mesh, in the order of the capacitance matrix.
#[derive(Clone, Debug)]
pub struct Conductors {
    /// Their names.
    pub names: Vec<String>,
    /// Each triangle's conductor; `None` = ignored.
    pub of_triangle: Vec<Option<u32>>,
    /// Each in numbers.
    pub summaries: Vec<Summary>,
}

/// A conductor's size.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// How many.
    pub triangles: usize,
    /// In the square of the problem's unit.
    pub area: f64,
    /// Whether it encloses space.
    pub closed: bool,
}

/// The conductor of each triangle.
pub fn assign(description: &Description, mesh: &Mesh) -> Result<Assignment, Vec<Fault>> {
    let request = |Conductor { name, groups, .. }: &Conductor| Request {
        name: name.clone(),
        groups: groups.clone(),
    };
    let requests: Vec<Request> = description.conductors.iter().map(request).collect();
    if mesh.groups.is_empty() && requests.is_empty() && description.has_media() {
        let of_triangle = vec![None; mesh.triangles.len()];
        return Ok(Assignment { names: Vec::new(), of_triangle });
    }
    // A group that bounds a dielectric and is in no conductor is an interface, which belongs to
    // none. Names that the mesh does not have are reported as those of interfaces.
    let claimed: HashSet<&String> = requests.iter().flat_map(|request| &request.groups).collect();
    let known: HashSet<String> = mesh.groups.iter().map(mesh::PhysicalGroup::label).collect();
    let is_there = |group: &String| known.contains(group) || group == UNGROUPED;
    let interfaces =
        description.interfaces().filter(|group| is_there(group) && !claimed.contains(group));
    let ignore: Vec<String> = description.ignore.iter().chain(interfaces).cloned().collect();
    conductors::assign(mesh, &requests, &ignore)
        .map_err(|problems| problems.into_iter().map(Fault::Conductors).collect())
}

/// A note on conductors of more pieces than physical groups, in a mesh that is `whole` with its
/// images: pieces that these join are one.
pub(crate) fn separate(
    description: &Description,
    mesh: &Mesh,
    whole: &Mesh,
    Assignment { names, of_triangle }: &Assignment,
) -> Option<Note> {
    // Without groups, pieces are conductors of their own unless all are made one on purpose.
    if mesh.groups.is_empty() {
        return None;
    }
    let count = mesh.triangles.len();
    let pieces = topology::pieces(whole, count, names.len(), |t| of_triangle[t % count].as_slice());
    let groups_of = |name: &str| {
        let asked = description.conductors.iter().find(|conductor| conductor.name == name);
        asked.map_or(1, |conductor| conductor.groups.len())
    };
    let several = names.iter().map(String::as_str).zip(pieces);
    mesh::check::separate(several.filter(|(name, pieces)| *pieces > groups_of(name)))
        .map(Note::Separate)
}

/// The conductors of a mesh that is `whole` with its images.
pub(crate) fn describe(
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
    let parts = topology::parts(whole, names.len(), |t| of_triangle[t % of_triangle.len()]);
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
    Conductors { names, of_triangle, summaries }
}
