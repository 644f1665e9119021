//! The meshes that come with Farad are what their README says.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::Mesh;
use mesh::check::Report;
use mesh::generate::{Cube, Resolution};
use std::path::Path;

fn read(name: &str) -> Mesh {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../meshes").join(name);
    let (mesh, _) = mesh::files::read(&path).unwrap();
    assert!(Report::of(&mesh).unwrap().defects.is_empty());
    mesh
}

#[test]
fn the_cube_is_the_generated_one() {
    let cube = Cube { edge: 1.0, grade: 800.0, resolution: Resolution::Elements(7000) };
    let (made, read) = (cube.build().unwrap(), read("cube.msh"));
    assert_eq!(read.triangles, made.triangles);
    // Powers may differ in the last digit between systems.
    for (a, b) in read.vertices.iter().flatten().zip(made.vertices.iter().flatten()) {
        assert!((a - b).abs() < 1e-15);
    }
}

#[test]
fn groups_of_the_others() {
    for (name, groups, closed) in [
        ("two_spheres.msh", &["left", "right"][..], true),
        ("plates.msh", &["lower", "upper"], false),
        ("bus_2x2.msh", &["bar_x1", "bar_x2", "bar_y1", "bar_y2"], true),
    ] {
        let report = Report::of(&read(name)).unwrap();
        let labels: Vec<&str> = report.groups.iter().map(|group| group.label.as_str()).collect();
        assert_eq!(labels, groups);
        assert_eq!(report.components.len(), groups.len());
        assert!(report.groups.iter().all(|group| group.part.closed == closed));
        assert_eq!((report.coincident_vertices, report.ungrouped), (0, 0));
    }
}
