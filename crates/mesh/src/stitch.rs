//! Joins triangles that have separate vertices where they should share them.
//!
//! Some programs write every facet with its own three vertices, or every patch with its own rim.
//! Only edges are joined that lie on each other and at which the surface would end otherwise;
//! bodies that touch have no such edges and stay apart.

use crate::check::coincident;
use crate::curved;
use crate::surface::Mesh;
use crate::topology::{Side, Sides};
use crate::vector::Vector;
use std::collections::HashMap;

/// Stands for a vertex that is not at an open edge.
const NONE: u32 = u32::MAX;

/// Merges the vertices at the ends of open edges that lie on each other; the number of such edges,
/// 0 if nothing changed.
///
/// For valid meshes ([`Mesh::validate`]). O(n).
pub fn stitch(mesh: &mut Mesh) -> usize {
    let open = open_edges(mesh);
    if open.is_empty() {
        return 0;
    }
    // The ends of open edges alone are compared: other vertices stay as they are.
    let mut ends: Vec<u32> = open.iter().flatten().copied().collect();
    ends.sort_unstable();
    ends.dedup();
    let points: Vec<Vector> = ends.iter().map(|&v| mesh.vertices[v as usize]).collect();
    let mut place = vec![NONE; mesh.vertices.len()];
    for (&vertex, first) in ends.iter().zip(coincident(&points, &mesh.vertices)) {
        place[vertex as usize] = first;
    }
    let mut at: HashMap<[u32; 2], Vec<[u32; 2]>> = HashMap::with_capacity(open.len());
    for edge in open {
        let mut key = edge.map(|v| place[v as usize]);
        key.sort_unstable();
        if key[0] != key[1] {
            at.entry(key).or_default().push(edge);
        }
    }
    let mut joined = 0;
    // For each place the least vertex that an edge joined there has.
    let mut vertex_at = vec![NONE; points.len()];
    let mut moves = vec![false; mesh.vertices.len()];
    for edges in at.values().filter(|edges| edges.len() > 1) {
        joined += edges.len();
        for &vertex in edges.iter().flatten() {
            moves[vertex as usize] = true;
            let kept = &mut vertex_at[place[vertex as usize] as usize];
            *kept = vertex.min(*kept);
        }
    }
    if joined == 0 {
        return 0;
    }
    for vertex in mesh.triangles.iter_mut().flatten() {
        if moves[*vertex as usize] {
            *vertex = vertex_at[place[*vertex as usize] as usize];
        }
    }
    mesh.drop_unused();
    mesh.with_patches(|mesh, patches| {
        curved::share_sides(mesh, patches);
    });
    joined
}

/// The edges of one triangle, as pairs of vertices.
pub(crate) fn open_edges(mesh: &Mesh) -> Vec<[u32; 2]> {
    let sides = Sides::of(mesh);
    let alone = sides.edges().filter(|edge| edge.len() == 1);
    let ends = |edge: &[Side]| {
        let Side { low, high, forward, .. } = edge[0];
        if forward { [low, high] } else { [high, low] }
    };
    alone.map(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Report;
    use crate::generate::{Cube, Plate, Resolution, Sphere, SphereBase};
    use crate::join::joined;

    const RESOLUTION: Resolution = Resolution::Elements(200);

    /// Every triangle with three vertices of its own.
    fn apart(mesh: &Mesh) -> Mesh {
        let vertices = (0..mesh.triangles.len()).flat_map(|t| mesh.corners(t)).collect();
        let triangles = (0..mesh.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]);
        Mesh { vertices, triangles: triangles.collect(), ..mesh.clone() }
    }

    #[test]
    fn facets_of_their_own_vertices_become_the_surface() {
        let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution: RESOLUTION };
        let plate = Plate { width: 2.0, height: 1.0, grade: 3.0, resolution: RESOLUTION };
        for whole in [sphere.build().unwrap(), plate.build().unwrap()] {
            let mut mesh = apart(&whole);
            assert!(stitch(&mut mesh) > 0);
            mesh.validate().unwrap();
            let [found, expected] = [&mesh, &whole].map(|mesh| Report::of(mesh).unwrap());
            assert_eq!(found.vertices, expected.vertices);
            assert_eq!(found.whole, expected.whole);
            assert_eq!((found.components.len(), found.coincident_vertices), (1, 0));
            for t in 0..mesh.triangles.len() {
                assert_eq!(mesh.corners(t), whole.corners(t));
            }
            // Once is enough.
            let before = mesh.clone();
            assert_eq!(stitch(&mut mesh), 0);
            assert_eq!(mesh, before);
        }
    }

    #[test]
    fn bodies_that_touch_and_sheets_that_touch_at_corners_stay_apart() {
        let cube = Cube { edge: 1.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap();
        let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution: RESOLUTION };
        let plate = plate.build().unwrap();
        for (body, shift) in [(cube, [1.0, 0.0, 0.0]), (plate, [1.0, 1.0, 0.0])] {
            let mut other = body.clone();
            for vertex in &mut other.vertices {
                *vertex = std::array::from_fn(|i| vertex[i] + shift[i]);
            }
            let mut both = joined(vec![("a".into(), body), ("b".into(), other)]);
            assert!(Report::of(&both).unwrap().coincident_vertices > 0);
            let before = both.clone();
            assert_eq!(stitch(&mut both), 0);
            assert_eq!(both, before);
        }
    }
}
