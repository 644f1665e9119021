//! A cube that is written as a Gmsh file and read again, and a tetrahedron in the format OFF.
//!
//!     cargo run --release -p farad-mesh --example files

#![allow(clippy::print_stdout)] // a program

use std::error::Error;

use mesh::check::Report;
use mesh::files::{self, Format};
use mesh::generate::{Cube, Resolution};
use mesh::gmsh::{self, Encoding};

const TETRAHEDRON: &str = "OFF
4 4 6
0 0 0
1 0 0
0 1 0
0 0 1
3 0 2 1
3 0 1 3
3 0 3 2
3 1 2 3
";

fn main() -> Result<(), Box<dyn Error>> {
    // Elements that shrink toward the edges, by a factor of 10.
    let cube = Cube { edge: 2.0, grade: 10.0, resolution: Resolution::Elements(1200) }.build()?;
    let mut file = Vec::new();
    gmsh::write(&cube, Encoding::Ascii, &mut file)?;
    let (read, report) = gmsh::parse(&file)?;
    println!("MSH {}: {} bytes, {} triangles", report.version, file.len(), read.triangles.len());
    assert_eq!(read.triangles, cube.triangles);
    describe("cube", &read, 24.0)?;

    let (tetrahedron, reading) =
        files::parse(Format::Off, TETRAHEDRON.as_bytes()).ok_or("a format of one file")??;
    println!("{}: {} triangles", reading.format, tetrahedron.triangles.len());
    describe("tetrahedron", &tetrahedron, 1.5 + 0.75f64.sqrt())
}

/// Prints a mesh's properties; `area` is the expected area.
fn describe(name: &str, mesh: &mesh::Mesh, area: f64) -> Result<(), Box<dyn Error>> {
    let report = Report::of(mesh)?;
    println!(
        "{name}: {} body, area {:.6}, smallest angle {:.1} degrees, {} warnings",
        report.components.len(),
        report.quality.area,
        report.quality.min_angle.min,
        report.warnings().len()
    );
    assert!((report.quality.area / area - 1.0).abs() < 1e-12);
    assert_eq!(report.components.len(), 1);
    Ok(())
}
