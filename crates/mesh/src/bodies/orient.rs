//! Which way normals point, found by geometry: which bodies enclose which, and surfaces turned to
//! face out.

use crate::geometry::bvh::Box3;
use crate::geometry::curved;
use crate::geometry::curved::bezier;
use crate::queries::locate::Locator;
use crate::surface::Mesh;
use crate::topology::{Orientation, Part, Sides, Topology};
use crate::vector::Vector;

/// Corners of a body that are tried, to find one well away from another body's surface.
const TRIED: usize = 16;

/// A component of a mesh among the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Enclosure {
    /// The smallest closed component that encloses this one.
    pub parent: Option<u32>,
    /// How many closed components enclose this one.
    pub depth: u32,
    /// Volume enclosed, in the cube of the mesh's unit; 0 if open.
    pub volume: f64,
}

/// Which way normals are to point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facing {
    /// Out of the space that each closed component encloses.
    Outward,
    /// Out of a solid: outward at depth 0, inward at depth 1, which bounds a cavity, outward again
    /// at depth 2, and so on.
    OutOfSolid,
}

/// What [`face`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faced {
    /// Triangles turned over.
    pub turned: usize,
    /// Components left unchanged, since they enclose nothing.
    pub open: Vec<u32>,
    /// Components left unchanged, since their triangles cannot all face one side.
    pub unorientable: Vec<u32>,
}

/// Finds which components of a valid mesh ([`Mesh::validate`]) enclose which, in the order of
/// [`Topology::components`].
///
/// Triangles of a component must face one side ([`face`] makes them), no matter which. Components
/// must not intersect ([`crate::queries::intersect`]); they may touch. A component that lies on
/// another one's surface altogether is not enclosed by it.
pub fn enclosures(mesh: &Mesh, topology: &Topology) -> Vec<Enclosure> {
    let count = topology.components.len();
    let members = topology.members();
    let boxes: Vec<Box3> = members
        .iter()
        .map(|triangles| {
            let each = triangles.iter().map(|&t| bezier::bounds(mesh, t as usize));
            each.reduce(|all, one| all.joined(&one)).unwrap_or(Box3::around(&[]))
        })
        .collect();
    let volumes: Vec<f64> = topology.components.iter().map(volume).collect();
    let mut enclosures: Vec<Enclosure> =
        volumes.iter().map(|&volume| Enclosure { parent: None, depth: 0, volume }).collect();
    for outer in (0..count).filter(|&outer| topology.components[outer].closed) {
        let inside: Vec<usize> = (0..count)
            .filter(|&inner| inner != outer && boxes[outer].holds(&boxes[inner]))
            .collect();
        if inside.is_empty() {
            continue;
        }
        let locator = Locator::of_part(mesh, members[outer].clone());
        let whole = (boxes[outer].high[0] - boxes[outer].low[0]).max(f64::MIN_POSITIVE);
        for inner in inside {
            if is_within(mesh, &members[inner], &locator, whole) {
                enclosures[inner].depth += 1;
                let smaller =
                    enclosures[inner].parent.is_none_or(|p| volumes[outer] < volumes[p as usize]);
                if smaller {
                    enclosures[inner].parent = Some(outer as u32);
                }
            }
        }
    }
    enclosures
}

/// The volume a closed component encloses, whichever way its triangles face; 0 for an open one.
fn volume(part: &Part) -> f64 {
    if part.closed { part.signed_volume.abs() } else { 0.0 }
}

/// Whether a component lies within the surface of another: the one of its corners that is furthest
/// from it does.
pub(crate) fn is_within(mesh: &Mesh, members: &[u32], surface: &Locator, size: f64) -> bool {
    let step = (members.len() / TRIED).max(1);
    let corners = members.iter().step_by(step).flat_map(|&t| mesh.corners(t as usize));
    let mut furthest: Option<(f64, Vector)> = None;
    for corner in corners.take(3 * TRIED) {
        let distance = surface.nearest(corner).map_or(f64::INFINITY, |nearest| nearest.distance);
        if furthest.is_none_or(|(known, _)| distance > known) {
            furthest = Some((distance, corner));
        }
    }
    // What lies on the surface but for rounding has no side.
    furthest.is_some_and(|(distance, corner)| distance > 1e-12 * size && surface.contains(corner))
}

/// Turns the triangles of each closed component of a valid mesh so that they face the wanted side.
///
/// Components of which more than two triangles meet at an edge, as dielectrics that share a wall,
/// have no outside in this sense and are left as they are, and so are open ones.
pub fn face(mesh: &mut Mesh, facing: Facing) -> Faced {
    face_and_connect(mesh, facing).0
}

/// As [`face`], with the connections of the turned mesh.
pub(crate) fn face_and_connect(mesh: &mut Mesh, facing: Facing) -> (Faced, Topology) {
    let mut faced = Faced::default();
    let mut topology = Topology::of(mesh);
    let mut turned = vec![false; mesh.triangles.len()];
    let crooked = |part: &Part| part.orientation() == Orientation::Inconsistent;
    if topology.components.iter().any(crooked) {
        let failed = align(mesh, &topology, &mut turned);
        faced.unorientable = failed;
        turn(mesh, &turned);
        topology = Topology::of(mesh);
    }
    let depths: Vec<u32> = match facing {
        Facing::Outward => vec![0; topology.components.len()],
        Facing::OutOfSolid => enclosures(mesh, &topology).iter().map(|e| e.depth).collect(),
    };
    let mut flip = vec![false; topology.components.len()];
    for (component, part) in topology.components.iter().enumerate() {
        let index = component as u32;
        if !part.closed {
            faced.open.push(index);
        } else if part.flipped_edges > 0 || part.non_manifold_edges > 0 {
            if !faced.unorientable.contains(&index) {
                faced.unorientable.push(index);
            }
        } else {
            let outward = depths[component].is_multiple_of(2);
            flip[component] = (part.signed_volume > 0.0) != outward;
        }
    }
    faced.unorientable.sort_unstable();
    let again: Vec<bool> = topology.component_of.iter().map(|&c| flip[c as usize]).collect();
    turn(mesh, &again);
    // Turned twice is not turned.
    faced.turned = turned.iter().zip(&again).filter(|(a, b)| a != b).count();
    if again.contains(&true) {
        topology = Topology::of(mesh);
    }
    (faced, topology)
}

/// Turns some triangles over.
#[doc(hidden)]
pub fn turn(mesh: &mut Mesh, which: &[bool]) {
    for (corners, _) in mesh.triangles.iter_mut().zip(which).filter(|(_, which)| **which) {
        corners.swap(1, 2);
    }
    mesh.with_patches(|_, patches| {
        for t in (0..which.len()).filter(|&t| which[t]) {
            curved::reverse(patches.order, patches.of_mut(t));
        }
    });
}

/// Finds which triangles to turn so that neighbours face one side; the components where that cannot
/// be.
pub(crate) fn align(mesh: &Mesh, topology: &Topology, turned: &mut [bool]) -> Vec<u32> {
    let neighbours = Sides::of(mesh).neighbours(mesh.triangles.len(), |_| true);
    let mut seen = vec![false; mesh.triangles.len()];
    let mut failed = Vec::new();
    for first in 0..mesh.triangles.len() {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let mut stack = vec![first];
        while let Some(triangle) = stack.pop() {
            for &(other, same) in &neighbours[triangle] {
                let other = other as usize;
                let wanted = turned[triangle] != same;
                if !seen[other] {
                    seen[other] = true;
                    turned[other] = wanted;
                    stack.push(other);
                } else if turned[other] != wanted {
                    failed.push(topology.component_of[triangle]);
                }
            }
        }
    }
    failed.sort_unstable();
    failed.dedup();
    for (triangle, component) in topology.component_of.iter().enumerate() {
        if failed.binary_search(component).is_ok() {
            turned[triangle] = false;
        }
    }
    failed
}
