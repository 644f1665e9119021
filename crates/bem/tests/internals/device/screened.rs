//! Near fields between the points of panels among ions, on a GPU and on processors.

use bem::internals::poisson_boltzmann::near_field_product;
use bem::{
    Cells, Density, FixedCharge, Medium, NoProgress, SolveOptions, StopReason, poisson_boltzmann,
};
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::patch::{node_count, node_places};
use mesh::{Mesh, Patches};

use super::{gpu, relative, wave};

/// Two spheres, one in the other and a tenth of its radius apart, and one next to them, all a
/// little irregular, of triangles of this order.
fn three_surfaces(order: usize) -> (Mesh, Vec<[u32; 2]>) {
    let resolution = Resolution::Elements(320);
    let (mut surfaces, mut sides) = (Vec::new(), Vec::new());
    for (k, (radius, shift, of)) in
        [(1.0, 0.0, [1, 0]), (1.1, 0.0, [2, 1]), (0.7, 1.9, [3, 2])].into_iter().enumerate()
    {
        let mut mesh =
            Sphere { radius, base: SphereBase::Icosahedron, resolution }.build().unwrap();
        for (x, off) in mesh.vertices.iter_mut().flatten().zip(wave(3 * 162)) {
            *x += 0.01 * off;
        }
        mesh.vertices.iter_mut().for_each(|x| x[0] += shift);
        sides.extend(vec![of; mesh.triangles.len()]);
        surfaces.push((k.to_string(), mesh));
    }
    let mut mesh = mesh::join::joined(surfaces);
    if order > 1 {
        let mut nodes = Vec::with_capacity(node_count(order) * mesh.triangles.len());
        for t in 0..mesh.triangles.len() {
            let corners = mesh.corners(t);
            for at in node_places(order) {
                let flat: [f64; 3] = std::array::from_fn(|c| {
                    (0..3).map(|k| corners[k][c] * at[k] as f64 / order as f64).sum()
                });
                let bulge = 2e-3 * (at[0] * at[1] + at[1] * at[2] + at[2] * at[0]) as f64;
                nodes.push(flat.map(|x| x * (1.0 + bulge)));
            }
        }
        mesh.patches = Some(Patches { order, nodes });
    }
    (mesh, sides)
}

const MEDIA: [Medium; 4] = [
    Medium { permittivity: 4.0, kappa: 0.0 },
    Medium { permittivity: 80.0, kappa: 0.0 },
    Medium { permittivity: 78.0, kappa: 2.5 },
    Medium { permittivity: 2.0, kappa: 0.3 },
];

#[test]
fn near_fields_among_ions_match_the_processors() {
    let test = "near_fields_among_ions_match_the_processors";
    let Some(_) = gpu(test) else { return };
    for (order, density) in [
        (1, Density::Constant),
        (1, Density::Linear),
        (2, Density::Linear),
        (3, Density::Linear),
        (4, Density::Linear),
    ] {
        let (mesh, sides) = three_surfaces(order);
        let cells = Cells { media: &MEDIA, sides: &sides };
        for tolerance in [1e-4, 1e-6] {
            let options = SolveOptions::default().density(density).tolerance(tolerance);
            let value = |k: usize| 1.0 + (0.37 * k as f64).sin();
            let product = |backend| {
                let options = options.clone().backend(backend);
                near_field_product(&mesh, cells, &options, value).unwrap()
            };
            let [found, expected] = [fmm::Backend::Cuda, fmm::Backend::Cpu].map(product);
            let error = relative(&found, &expected);
            // Both round entries to single precision.
            assert!(error < 3e-7, "order {order}, {density:?}, {tolerance}: {error:.1e}");
            let size = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            let most = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(most < 1e-6 * size, "order {order}, {density:?}, {tolerance}: {most:.1e}");
        }
    }
}

#[test]
fn solutions_among_ions_match_the_processors() {
    let test = "solutions_among_ions_match_the_processors";
    let Some(_) = gpu(test) else { return };
    let (mesh, sides) = three_surfaces(1);
    let cells = Cells { media: &MEDIA, sides: &sides };
    let charges = [FixedCharge { position: [0.3, 0.1, -0.2], charge: 1.0, region: 0 }];
    let solved = |backend| {
        let options = SolveOptions::default().tolerance(1e-6).backend(backend);
        let screened = poisson_boltzmann(&mesh, cells, &charges, &options, &NoProgress).unwrap();
        assert_eq!(screened.info.reason, StopReason::Converged);
        let triangles = mesh.triangles.len();
        [screened.surface_potentials(triangles), screened.surface_fluxes(triangles)]
    };
    let [found, expected] = [fmm::Backend::Cuda, fmm::Backend::Cpu].map(solved);
    for (found, expected) in found.iter().zip(&expected) {
        let error = relative(found, expected);
        // Each solve has a residual of 1e-6 at most; errors are about ten times as large.
        assert!(error < 2e-5, "{error:.1e}");
    }
}
