//! Point charges within a closed surface of metal: in a cavity of a shell, or in solid metal, where
//! there can be none. A surface alone does not tell which.

use std::collections::BTreeMap;

use mesh::Mesh;
use mesh::conductors::Assignment;
use mesh::regions::{self, Places, Position, Region};

use crate::problem::fault::Note;
use crate::problem::sources::Source;
use crate::scene::description::Description;

/// Surfaces, and the media between them.
pub(crate) struct Bodies<'a> {
    pub(crate) mesh: &'a Mesh,
    /// The mesh with its images.
    pub(crate) whole: &'a Mesh,
    pub(crate) assignment: &'a Assignment,
    /// The space of each medium.
    pub(crate) regions: &'a [Region],
}

/// A note for each conductor that charges may be in the metal of: an odd number of its closed
/// surfaces is around them, and in the innermost are neither surfaces of others nor a medium that
/// fills it. `bounds` holds for triangles that are metal or between two media.
pub(crate) fn notes(
    description: &Description,
    bodies: &Bodies<'_>,
    sources: &[Source],
    bounds: impl Fn(usize) -> bool,
) -> Vec<Note> {
    let &Bodies { mesh, whole, assignment, regions } = bodies;
    let count = mesh.triangles.len();
    let owner = |t: u32| assignment.of_triangle[t as usize % count];
    let alone = || sources.iter().filter(|source| source.molecule.is_none());
    if alone().next().is_none() {
        return Vec::new();
    }
    let mut bodies: BTreeMap<u32, Vec<(Vec<u32>, Region)>> = BTreeMap::new();
    let of_metal: Vec<u32> =
        (0..whole.triangles.len() as u32).filter(|&t| owner(t).is_some()).collect();
    for (triangles, space) in regions::parts(whole, &of_metal, &[]) {
        let conductor = triangles.first().and_then(|&t| owner(t));
        if let (Some(conductor), Some(space)) = (conductor, space) {
            bodies.entry(conductor).or_default().push((triangles, space));
        }
    }
    let mut notes = Vec::new();
    let places = Places::new(whole);
    for (conductor, parts) in bodies {
        let is_of_others = |&(t, position): &(u32, Position)| {
            position == Position::Inside
                && bounds(t as usize % count)
                && owner(t) != Some(conductor)
        };
        let has_others: Vec<bool> =
            parts.iter().map(|(_, space)| places.of(space).iter().any(is_of_others)).collect();
        let is_in_metal = |x: [f64; 3]| {
            let around: Vec<usize> = (0..parts.len()).filter(|&k| parts[k].1.contains(x)).collect();
            let volume = |k: &usize| parts[*k].1.volume.abs();
            let innermost = around.iter().copied().min_by(|a, b| volume(a).total_cmp(&volume(b)));
            let Some(innermost) = innermost.filter(|_| around.len() % 2 == 1) else { return false };
            let is_of_wall = |(t, _): &(u32, bool)| parts[innermost].0.binary_search(t).is_ok();
            let fills =
                |region: &Region| region.boundary.iter().any(is_of_wall) && region.contains(x);
            !has_others[innermost] && !regions.iter().any(fills)
        };
        let found: Vec<[f64; 3]> =
            alone().map(|source| source.position).filter(|x| is_in_metal(*x)).collect();
        if let Some(&first) = found.first() {
            let name = assignment.names[conductor as usize].clone();
            let unit = description.unit.name();
            notes.push(Note::InMetal { conductor: name, charges: found.len(), first, unit });
        }
    }
    notes
}
