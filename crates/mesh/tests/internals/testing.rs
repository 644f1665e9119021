//! Meshes that several tests use.

use mesh::Mesh;
use mesh::vector::{Vector, add};

/// Rectangles of two triangles each: corner, and the two sides.
pub(crate) fn rectangles(of: &[[Vector; 3]]) -> (Mesh, Vec<Option<u32>>) {
    let mut mesh = Mesh::default();
    let mut surface = Vec::new();
    for (number, &[at, u, v]) in (0..).zip(of) {
        let first = mesh.vertices.len() as u32;
        mesh.vertices.extend([at, add(at, u), add(add(at, u), v), add(at, v)]);
        mesh.triangles.extend([[0, 1, 2], [0, 2, 3]].map(|t| t.map(|k| first + k)));
        surface.extend([Some(number); 2]);
    }
    mesh.membership = vec![0; mesh.triangles.len()];
    (mesh, surface)
}
