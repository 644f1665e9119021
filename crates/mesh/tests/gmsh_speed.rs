//! How fast large files are read. Timings mean nothing on a busy machine: run with
//! `cargo test --release -p farad-mesh --test gmsh_speed -- --ignored --nocapture`.

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

/// Tags without any order, as some programs leave them.
#[test]
#[ignore = "timing, for a quiet machine"]
fn shuffled_tags_take_no_more_than_twice_that() {
    use std::fmt::Write;
    let sphere = Sphere {
        radius: 1.0,
        base: SphereBase::Icosahedron,
        resolution: Resolution::Elements(1_000_000),
    };
    let mesh = sphere.build().unwrap();
    let (vertices, triangles) = (mesh.vertices.len() as u64, mesh.triangles.len() as u64);
    // A prime that divides neither count makes a permutation.
    let shuffled = |k: u64, count: u64| k * 611_953 % count + 1;
    let mut text = format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{vertices}\n");
    for (k, [x, y, z]) in (0..).zip(&mesh.vertices) {
        writeln!(text, "{} {x} {y} {z}", shuffled(k, vertices)).unwrap();
    }
    write!(text, "$EndNodes\n$Elements\n{triangles}\n").unwrap();
    for (k, corners) in (0..).zip(&mesh.triangles) {
        let [a, b, c] = corners.map(|v| shuffled(u64::from(v), vertices));
        writeln!(text, "{} 2 2 1 1 {a} {b} {c}", shuffled(k, triangles)).unwrap();
    }
    text.push_str("$EndElements\n");
    let start = Instant::now();
    let (read, _) = gmsh::parse(text.as_bytes()).unwrap();
    let time = start.elapsed();
    println!("shuffled, version 2.2, ASCII: {time:?}");
    assert!(read.triangles == mesh.triangles);
    assert!(time.as_secs_f64() < 2.0);
}
