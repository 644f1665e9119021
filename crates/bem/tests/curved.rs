//! Curved panels: orders of convergence, and every feature of flat ones.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    Conductors, Density, Excitation, Images, Media, Method, NoProgress, PointCharge, SolveOptions,
};
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::patch::{node_count, node_places};
use mesh::{Mesh, Patches};

/// Curved triangles of an order whose nodes `place` puts on the surface.
fn curved(mesh: &Mesh, order: usize, place: impl Fn([f64; 3]) -> [f64; 3]) -> Mesh {
    let mut mesh = mesh.clone();
    mesh.vertices.iter_mut().for_each(|x| *x = place(*x));
    let mut nodes = Vec::with_capacity(node_count(order) * mesh.triangles.len());
    for t in 0..mesh.triangles.len() {
        let corners = mesh.corners(t);
        for at in node_places(order) {
            nodes.push(match at.iter().position(|&k| k == order) {
                Some(k) => corners[k],
                None => place(std::array::from_fn(|c| {
                    (0..3).map(|k| corners[k][c] * at[k] as f64 / order as f64).sum()
                })),
            });
        }
    }
    mesh.patches = Some(Patches { order, nodes });
    mesh.validate().unwrap();
    mesh
}

fn sphere(elements: usize, order: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    let flat = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    let onto = |x: [f64; 3]| {
        let r = (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]).sqrt();
        x.map(|x| x / r)
    };
    curved(&flat.build().unwrap(), order, onto)
}

fn options(density: Density, method: Method, tolerance: f64) -> SolveOptions {
    SolveOptions::default().density(density).method(method).tolerance(tolerance)
}

fn capacity(mesh: &Mesh, options: &SolveOptions) -> f64 {
    let of_triangle = vec![Some(0); mesh.triangles.len()];
    let conductors = Conductors { of_triangle: &of_triangle, count: 1 };
    let capacitance = bem::capacitance(mesh, conductors, options, &NoProgress).unwrap();
    capacitance.maxwell[0][0]
}

#[test]
fn a_sphere_converges_with_the_order_of_its_panels() {
    for (order, density, least) in [
        (2, Density::Constant, 2.5),
        (2, Density::Linear, 3.0),
        (3, Density::Linear, 3.0),
        (4, Density::Linear, 4.0),
    ] {
        let error = |elements: usize| {
            let mesh = sphere(elements, order);
            let found = capacity(&mesh, &options(density, Method::Fmm, 1e-8));
            (found - 1.0).abs()
        };
        let (coarse, fine) = (error(80), error(320));
        let observed = (coarse / fine).log2();
        println!("order {order} {density:?}: {coarse:.2e} {fine:.2e}, order {observed:.2}");
        assert!(observed > least || fine < 3e-8, "{order} {density:?}: {coarse:.1e} {fine:.1e}");
    }
}

#[test]
fn fast_solves_are_dense_ones() {
    let mesh = sphere(320, 2);
    for density in [Density::Constant, Density::Linear] {
        let [fast, dense] = [Method::Fmm, Method::Dense]
            .map(|method| capacity(&mesh, &options(density, method, 1e-7)));
        println!("{density:?}: {fast} {dense}");
        assert!((fast / dense - 1.0).abs() < 3e-7, "{density:?}: {fast} {dense}");
    }
}

/// A charge in a dielectric sphere, off its centre, by Kirkwood's series.
#[test]
fn a_charge_in_a_dielectric_sphere_has_kirkwoods_energy() {
    let (inside, outside, at) = (4.0, 80.0, 0.5f64);
    let series: f64 = (0..200)
        .map(|n| {
            let n = f64::from(n);
            let factor = (inside - outside) * (n + 1.0) / (inside * n + outside * (n + 1.0));
            factor * at.powi(2 * n as i32)
        })
        .sum();
    let exact = series / inside;
    let mut errors = Vec::new();
    for elements in [80, 320] {
        let mesh = sphere(elements, 2);
        let n = mesh.triangles.len();
        let (conductor, permittivity) = (vec![None; n], vec![[outside, inside]; n]);
        let media = Media {
            conductor: &conductor,
            conductors: 0,
            permittivity: &permittivity,
            images: &Images::default(),
            bodies: &[],
        };
        let charge = PointCharge { position: [0.3, 0.0, 0.4], charge: 1.0, permittivity: inside };
        let excitation = Excitation::default().charges(vec![charge]);
        for method in [Method::Dense, Method::Fmm] {
            let options = options(Density::Linear, method, 1e-7);
            let excitations = std::slice::from_ref(&excitation);
            let found =
                bem::electrostatics(&mesh, media, excitations, &options, &NoProgress).unwrap();
            let surface = bem::SurfaceCharge::new(&mesh, &found.responses[0]);
            let potential = surface.potential(charge.position);
            errors.push((potential / exact - 1.0).abs());
            println!("{elements} {method:?}: {potential} {exact} {:.1e}", potential / exact - 1.0);
        }
    }
    assert!(errors[2] < errors[0] / 6.0 && errors[2] < 1e-4, "{errors:?}");
    assert!((errors[3] - errors[2]).abs() < 1e-6, "{errors:?}");
}
