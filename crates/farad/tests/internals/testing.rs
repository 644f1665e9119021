//! Small meshes for tests.

use mesh::Mesh;
use mesh::generate::{ConcentricSpheres, Cube, Resolution, Sphere, SphereBase};
use mesh::transform::{Motion, moved};

const BASE: SphereBase = SphereBase::Octahedron;

/// A sphere of radius 1 around the origin, group `sphere`, 128 triangles.
pub fn sphere() -> Mesh {
    Sphere { radius: 1.0, base: BASE, resolution: Resolution::Elements(128) }.build().unwrap()
}

/// Spheres of radius 1 and 2 around the origin, groups `inner` and `outer`, 72 triangles each.
pub fn shells() -> Mesh {
    let resolution = Resolution::Elements(144);
    let shells = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base: BASE, resolution };
    shells.build().unwrap()
}

/// A cube of edge 1 around a point, group `cube`.
pub fn cube(at: [f64; 3]) -> Mesh {
    let mesh =
        Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(48) }.build().unwrap();
    moved(&mesh, |_| true, &Motion::along(at))
}

/// Surfaces in one mesh: their groups keep their names, or are called after the surface where these
/// are taken.
pub fn joined<const N: usize>(parts: [(&str, Mesh); N]) -> Mesh {
    mesh::join::joined(parts.into_iter().map(|(name, mesh)| (name.to_owned(), mesh)).collect())
}
