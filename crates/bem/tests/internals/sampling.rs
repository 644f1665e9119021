//! Direct sums over quadrature points.

use bem::internals::geometry::Panels;
use bem::internals::quadrature::Rule;
use bem::internals::sampling::QuadraturePoints;
use mesh::generate::{Resolution, Sphere, SphereBase};

#[test]
fn direct_sums_are_those_of_the_fmm_crate() {
    let resolution = Resolution::Elements(720);
    let mesh = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    let panels = Panels::of_mesh(&mesh.build().unwrap());
    let points = QuadraturePoints::new(&panels, Rule::of_degree(4));
    let charges: Vec<f64> = (0..points.len()).map(|i| (0.3 * i as f64).sin()).collect();
    // Points of the sum are among the targets.
    let mut targets: Vec<[f64; 3]> = (0..40).map(|k| points.at(97 * k)).collect();
    targets.push([0.1, 0.2, -0.3]);
    let (mut potential, mut gradient) = (vec![0.0; targets.len()], vec![0.0; 3 * targets.len()]);
    fmm::direct::sum(
        fmm::Kernel::Laplace,
        &points.all(),
        &targets,
        fmm::Densities { charges: Some(&charges), dipoles: None },
        &mut fmm::Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) },
    )
    .unwrap();
    let found = [
        (points.direct_sums(&charges, &targets), &potential),
        (points.direct_gradients(&charges, &targets), &gradient),
    ];
    for (found, exact) in found {
        let size = exact.iter().map(|v| v.abs()).fold(0.0, f64::max);
        assert!(size > 0.0);
        for (found, exact) in found.iter().zip(exact) {
            // Inverse roots to 1e-13.
            assert!((found - exact).abs() < 1e-11 * size, "{found} {exact}");
        }
    }
}
