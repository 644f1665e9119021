mod chart;
mod colour;
mod decimate;
mod html;
mod matrix;
mod numbers;
mod picture;
mod png;
mod scene;
mod surface;

use std::fs::File;

use report::internals::decimate::decimated;
use report::internals::page::{LICENCE, MOST_BYTES, Surface, VIEWER, date, make};
use report::vtk;

#[test]
fn days_have_dates() {
    assert_eq!(date(0), "1 January 1970");
    assert_eq!(date(11_016), "29 February 2000");
    assert_eq!(date(20_784), "27 November 2026");
    assert_eq!(date(47_541), "1 March 2100");
}

/// Whatever is on the page comes with it.
#[test]
fn the_viewer_loads_nothing() {
    assert!(VIEWER.len() < 700_000);
    assert!(!VIEWER.contains("</script"));
    for word in ["importScripts", "XMLHttpRequest(", "https://"] {
        assert!(!VIEWER.contains(word), "{word}");
    }
    // A name of an XML namespace is no address.
    assert_eq!(
        VIEWER.matches("http://").count(),
        VIEWER.matches("http://www.w3.org/1999/xhtml").count()
    );
    assert!(LICENCE.contains("MIT") && LICENCE.contains("three.js authors"));
}

/// A million triangles and ten excitations, as files have them: the page is small, says what it
/// shows, and each body keeps its charge.
#[test]
fn large_surfaces_fit() {
    let sphere = mesh::generate::Sphere {
        radius: 1.0,
        base: mesh::generate::SphereBase::Icosahedron,
        resolution: mesh::generate::Resolution::Elements(1_000_000),
    };
    let mesh = sphere.build().unwrap();
    let count = mesh.triangles.len();
    let area: Vec<f64> = mesh::quality::areas(&mesh);
    let centroids = mesh::quality::centroids(&mesh);
    let of_body = |c: &[f64; 3]| i32::from(c[2] > 0.3);
    let body: Vec<i32> = centroids.iter().map(of_body).collect();
    let conductors = ["below", "above"].map(str::to_owned).to_vec();
    let mut data =
        vec![vtk::array("body id", body.clone()), vtk::array("area [m^2]", area.clone())];
    let charge = |c: &[f64; 3]| 1e-6 * (1.0 + (9.0 * c[0]).sin() * (7.0 * c[1]).cos());
    let charges: Vec<f64> = centroids.iter().map(charge).collect();
    for name in &conductors {
        let title = format!("charge density, {name} at 1 V [C/m^2]");
        data.push(vtk::array(title, charges.clone()));
    }
    let folder = std::env::temp_dir().join(format!("farad-large-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let grid = vtk::SurfaceGrid::of(&mesh, 0..count, data);
    let mut out = std::io::BufWriter::new(File::create(folder.join("surface.vtu")).unwrap());
    vtk::write(&mut out, grid, true).unwrap();
    drop(out);
    let index = serde_json::json!({
        "schema": "farad-results/1", "status": "complete", "title": "large",
        "mesh": {"triangles": count, "unit": "m"},
        "capacitance": {"conductors": conductors, "columns": conductors},
    });
    let page = make(&folder, &index.to_string()).unwrap();
    let surface = Surface::open(&folder).unwrap().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(page.len() < MOST_BYTES, "{} bytes", page.len());
    assert!(page.contains("triangles in place of "));

    // Values times the areas that they stand for.
    let id = |t: usize| surface.body[surface.cell[t] as usize];
    let small = decimated(&surface.vertices, &surface.triangles, id, 50_000);
    assert!(small.triangles.len() <= 50_000 && small.triangles.len() > 15_000);
    let mut kept = [0.0; 2];
    for (t, target) in small.target.iter().enumerate() {
        kept[small.body[*target as usize] as usize] += area[t] * charges[t];
    }
    for (k, kept) in kept.iter().enumerate() {
        let own = (0..count).filter(|&t| body[t] == k as i32);
        let all: f64 = own.map(|t| area[t] * charges[t]).sum();
        // The sum of a million terms in another order.
        assert!((kept - all).abs() < 1e-9 * all, "{kept} {all}");
    }
}
