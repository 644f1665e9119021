//! The capacitance matrix of two metal spheres, compared with its series.
//!
//!     cargo run --release -p farad-bem --example two_spheres

#![allow(clippy::print_stdout)] // a program

use std::error::Error;

use bem::{Conductors, NoProgress, SolveOptions, capacitance};
use mesh::conductors::assign;
use mesh::generate::{Resolution, SphereBase, TwoSpheres};

const RADIUS: f64 = 1.0;
const DISTANCE: f64 = 3.0;

/// C_11 and C_12 over 4 pi eps, by bispherical coordinates.
fn exact() -> [f64; 2] {
    let beta = (DISTANCE / (2.0 * RADIUS)).acosh();
    let sum = |first: i32| (0..50).map(|n| (f64::from(2 * n + first) * beta).sinh().recip()).sum();
    let [own, other]: [f64; 2] = [sum(1), sum(2)];
    [RADIUS * beta.sinh() * own, -RADIUS * beta.sinh() * other]
}

fn main() -> Result<(), Box<dyn Error>> {
    for elements in [500, 2000, 8000] {
        let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(elements));
        let spheres = TwoSpheres { radius: RADIUS, distance: DISTANCE, base, resolution };
        let mesh = spheres.build()?;
        // The groups of the mesh are the conductors.
        let assigned = assign(&mesh, &[], &[]).map_err(|mut errors| errors.remove(0))?;
        let count = assigned.names.len();
        let conductors = Conductors { of_triangle: &assigned.of_triangle, count };
        let answer = capacitance(&mesh, conductors, &SolveOptions::default(), &NoProgress)?;
        let off = |place: usize| (answer.maxwell[0][place] / exact()[place] - 1.0).abs();
        println!(
            "{:5} triangles: C_11 {:.6}, C_12 {:.6}, relative errors {:.1e} and {:.1e}",
            mesh.triangles.len(),
            answer.maxwell[0][0],
            answer.maxwell[0][1],
            off(0),
            off(1)
        );
        // Facets within the spheres: the error is inverse to the number of triangles.
        assert!(off(0).max(off(1)) < 20.0 / mesh.triangles.len() as f64);
    }
    Ok(())
}
