//! Spheres with facets of their volume, charges for them, and how close numbers are.

use farad::mesh::Mesh;
use farad::mesh::generate::{Resolution, Sphere, SphereBase, TwoSpheres, with_volumes};
use farad::{Amount, Charge};

pub const BASE: SphereBase = SphereBase::Octahedron;

/// A sphere of radius 1 with facets of its volume; group `sphere`.
pub fn sphere() -> Mesh {
    let sphere = Sphere { radius: 1.0, base: BASE, resolution: Resolution::Elements(512) };
    with_volumes(sphere.build().unwrap(), &[([0.0; 3], 1.0)])
}

pub fn two_spheres(distance: f64) -> Mesh {
    let resolution = Resolution::Elements(512);
    TwoSpheres { radius: 1.0, distance, base: BASE, resolution }.build_with_volumes(1.0).unwrap()
}

pub fn close(found: f64, exact: f64, tolerance: f64) {
    assert!((found / exact - 1.0).abs() < tolerance, "{found:e} is not {exact:e}");
}

pub fn elementary(position: [f64; 3], amount: f64) -> Charge {
    Charge { position, amount: Amount::Elementary(amount) }
}
