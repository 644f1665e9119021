//! The capacitance matrix of two metal spheres in oil, in picofarad with error bars.
//!
//!     cargo run --release -p farad --example error_bars

#![allow(clippy::print_stdout)] // a program

use std::error::Error;

use farad::mesh::generate::{Resolution, SphereBase, TwoSpheres};
use farad::{Description, LengthUnit, NoProgress, Options, Problem, units};

fn main() -> Result<(), Box<dyn Error>> {
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(4000));
    let mesh = TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }.build()?;
    let description =
        Description::default().unit(LengthUnit::Millimetre).relative_permittivity(2.2);
    let solution = Problem::new(description, mesh)?.solve(&Options::default(), &NoProgress)?;
    let matrix = solution.matrices().maxwell_farad;
    let bars = solution.matrix_bars().ok_or("bars were not wanted")?.maxwell_farad;

    // By bispherical coordinates; C_11 and C_12.
    let beta = 1.5f64.acosh();
    let sum = |first: i32| (0..50).map(|n| (f64::from(2 * n + first) * beta).sinh().recip()).sum();
    let [own, other]: [f64; 2] = [sum(1), sum(2)];
    for (j, exact) in [own, -other].into_iter().enumerate() {
        let exact = 2.2 * units::farads(beta.sinh() * exact, LengthUnit::Millimetre);
        let [value, bar, exact] = [matrix[0][j], bars[0][j], exact].map(|farad| 1e12 * farad);
        println!("C_1{} = {value:.5} +- {bar:.1e} pF, of round spheres {exact:.5} pF", j + 1);
        // Bars are of the surface as meshed; its facets, within the spheres, make another 0.5 %.
        assert!((value / exact - 1.0).abs() < 6e-3);
        assert!(bar < 1e-2 * value.abs());
    }
    Ok(())
}
