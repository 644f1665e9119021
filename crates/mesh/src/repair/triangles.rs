//! Triangles and parts of a mesh, as several steps of a repair see them.

use crate::bodies::check::is_degenerate;
use crate::bodies::orient::enclosures;
use crate::surface::Mesh;
use crate::topology::Topology;
use crate::vector::{Vector, norm, sub};

/// The edge lengths of a triangle, that from its first corner to the second first.
pub(super) fn lengths([a, b, c]: [Vector; 3]) -> [f64; 3] {
    [norm(sub(b, a)), norm(sub(c, b)), norm(sub(a, c))]
}

/// Leaves out the triangles that are not to be kept; how many, and where the first was.
pub(super) fn retain(mesh: &mut Mesh, keep: &[bool]) -> (usize, Vector) {
    let first = keep.iter().position(|keep| !keep);
    let place = first.map_or([0.0; 3], |t| mesh.corners(t)[0]);
    let mut each = keep.iter();
    mesh.triangles.retain(|_| each.next() == Some(&true));
    let mut each = keep.iter();
    mesh.membership.retain(|_| each.next() == Some(&true));
    (keep.iter().filter(|keep| !**keep).count(), place)
}

/// Volumes and depths of the parts of a mesh, with the part of each triangle.
pub(super) fn parts(mesh: &Mesh) -> (Topology, Vec<u32>) {
    let topology = Topology::of(mesh);
    let depths = enclosures(mesh, &topology).iter().map(|part| part.depth).collect();
    (topology, depths)
}

/// Whether a triangle has no area.
pub(super) fn is_flat(corners: [Vector; 3]) -> bool {
    is_degenerate(corners)
}
