//! Meshes for tests of this crate.

use mesh::Mesh;
use mesh::generate::{Plate, Resolution};

/// Unit squares over each other, `gap` apart, each turned in its own plane so that no two have
/// their triangles over each other; each a group of its own.
pub(crate) fn sheets(count: usize, elements: usize, gap: f64) -> Mesh {
    let resolution = Resolution::Elements(elements);
    let square = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    let sheet = |k: usize| {
        let (sin, cos) = (0.37 * k as f64).sin_cos();
        let mut mesh = square.clone();
        for [x, y, z] in &mut mesh.vertices {
            [*x, *y, *z] = [cos * *x - sin * *y, sin * *x + cos * *y, gap * k as f64];
        }
        (format!("sheet_{k}"), mesh)
    };
    mesh::join::joined((0..count).map(sheet).collect())
}
