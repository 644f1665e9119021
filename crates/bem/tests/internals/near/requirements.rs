//! What charges in space ask of the near field.

use std::f64::consts::PI;

use bem::internals::geometry::{Panels, Vec3};
use bem::internals::near::{Induced, Requirements, Sources};
use mesh::generate::{Cube, Resolution};

/// A charge at height h over a face induces the density of a plane: q / (2 pi h^2) under it, on
/// an area of 2 pi h^2.
#[test]
fn a_charge_asks_for_what_it_induces_on_a_plane() {
    let cube = Cube { edge: 2.0, grade: 1.0, resolution: Resolution::Elements(108) };
    let panels = Panels::of_mesh(&cube.build().unwrap());
    let n = panels.len();
    let (parts, shares) = (vec![0; n], panels.areas().iter().map(|a| a / 24.0));
    let shares: Vec<f64> = shares.collect();
    let under = (0..n).find(|&i| panels.centroid(i).z > 0.999).unwrap();
    let at = |height: f64| {
        let charge = (panels.centroid(under) + Vec3::new(0.0, 0.0, height), 1.0);
        let sources = Sources { charges: vec![charge], field: Vec3::zeros(), size: 4.0 };
        Requirements::new(&panels, &[sources], &parts, &shares)
    };
    let (near, far) = (at(1e-3), at(1e-2));
    let Induced { density, around } = near.columns[under];
    // 4 pi q / (2 pi h^2) of a size of 4, good to the rounding of the height.
    assert!((density / (0.5 * 1e6) - 1.0).abs() < 1e-9, "{density}");
    assert!((density * around * 4.0 / (4.0 * PI) - 1.0).abs() < 1e-9, "all of the charge");
    // On a panel that is larger than that it is all there is.
    let expected = density * around;
    assert!((near.weight(&panels, 0, under) / expected - 1.0).abs() < 1e-9);
    assert!(near.serve(&panels, &far) && !far.serve(&panels, &near));
    assert!(far.clone().with(&near).serve(&panels, &near));
    assert!(far.serve(&panels, &Requirements::new(&panels, &[], &parts, &shares)));
}
