//! How fast large files are read. Timings mean nothing on a busy machine: run with
//! `cargo test --release -p mesh --test gmsh_speed -- --ignored --nocapture`.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::gmsh::{self, Encoding};
use std::time::Instant;

#[test]
#[ignore = "timing, for a quiet machine"]
fn a_million_triangles_in_a_second() {
    let sphere = Sphere {
        radius: 1.0,
        base: SphereBase::Icosahedron,
        resolution: Resolution::Elements(1_000_000),
    };
    let start = Instant::now();
    let mesh = sphere.build().unwrap();
    println!("{} triangles generated in {:?}", mesh.triangles.len(), start.elapsed());
    for encoding in [Encoding::Ascii, Encoding::LittleEndian, Encoding::BigEndian] {
        let mut file = Vec::new();
        gmsh::write(&mesh, encoding, &mut file).unwrap();
        let start = Instant::now();
        let (read, _) = gmsh::parse(&file).unwrap();
        let time = start.elapsed();
        println!("{encoding}: {} bytes read in {time:?}", file.len());
        assert!(read == mesh);
        assert!(time.as_secs_f64() < 1.0);
    }
    let start = Instant::now();
    let report = mesh::check::Report::of(&mesh).unwrap();
    println!("checked in {:?}", start.elapsed());
    assert!(report.defects.is_empty());
}
