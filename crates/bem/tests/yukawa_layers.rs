//! Layer operators of the kernel exp(-kappa r) / r, of the modified Helmholtz equation.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are not seen as tests

use std::f64::consts::PI;

use bem::fmm::{Backend, Kernel};
use bem::internals::geometry::Panels;
use bem::internals::integrals::WeightedPoints;
use bem::internals::near::{Accuracy, FunctionPairs, PairIntegrals, RowKind};
use bem::internals::space::{Corners, TestTrial};
use bem::{
    FunctionSpace, GmresParams, LinearOperator, Operator, OperatorOptions, StopReason, Surface,
    Test,
};
use mesh::Mesh;
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

const RADIUS: f64 = 2.0;
const P0: FunctionSpace = FunctionSpace::Constant;
const P1: FunctionSpace = FunctionSpace::Linear;
const KINDS: [RowKind; 3] = [RowKind::Single, RowKind::Double, RowKind::Adjoint];
const PAIRINGS: [(Test, FunctionSpace); 6] = [
    (Test::Means(P0), P0),
    (Test::Means(P0), P1),
    (Test::Means(P1), P0),
    (Test::Means(P1), P1),
    (Test::Centroids, P0),
    (Test::Centroids, P1),
];

fn sphere(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Sphere { radius: RADIUS, base: SphereBase::Icosahedron, resolution }.build().unwrap()
}

fn cube(elements: usize) -> Mesh {
    Cube { edge: 2.0, grade: 10.0, resolution: Resolution::Elements(elements) }.build().unwrap()
}

fn screened(kappa: f64) -> OperatorOptions {
    OperatorOptions::default().kernel(Kernel::Yukawa { kappa })
}

fn operator(
    surface: &Surface,
    kind: RowKind,
    (test, trial): (Test, FunctionSpace),
    options: &OperatorOptions,
) -> Operator<'static> {
    match kind {
        RowKind::Single => surface.single_layer_between(test, trial, options),
        RowKind::Double => surface.double_layer_between(test, trial, options),
        _ => surface.adjoint_double_layer_between(test, trial, options),
    }
    .unwrap()
}

fn apply(mut operator: Operator<'_>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; operator.len()];
    operator.apply(x, &mut y, 1).unwrap();
    y
}

fn wave(n: usize, b: f64) -> Vec<f64> {
    (0..n).map(|i| (0.3 * i as f64 + b).sin()).collect()
}

/// i_l and k_l for l = 0, 1, 2 and the derivative of k_l, with k_0 = exp(-x) / x.
fn bessel(l: usize, x: f64) -> [f64; 3] {
    let (s, c, e) = (x.sinh(), x.cosh(), (-x).exp());
    match l {
        0 => [s / x, e / x, -e * (1.0 / x + 1.0 / (x * x))],
        1 => {
            let k = e * (1.0 / x + 1.0 / (x * x));
            [c / x - s / (x * x), k, -e * (1.0 / x + 2.0 / x.powi(2) + 2.0 / x.powi(3))]
        }
        _ => {
            let i = (1.0 / x + 3.0 / x.powi(3)) * s - 3.0 / (x * x) * c;
            let k = e * (1.0 / x + 3.0 / x.powi(2) + 3.0 / x.powi(3));
            let of_k = 1.0 / x.powi(2) + 6.0 / x.powi(3) + 9.0 / x.powi(4);
            [i, k, -k - e * of_k]
        }
    }
}

/// Eigenvalue of V, or of K and K', for harmonics of degree l on the sphere.
fn eigenvalue(kind: RowKind, l: usize, kappa: f64) -> f64 {
    if kappa == 0.0 {
        let of = 2.0 * l as f64 + 1.0;
        return if kind == RowKind::Single { RADIUS / of } else { -0.5 / of };
    }
    let [i, k, slope] = bessel(l, kappa * RADIUS);
    match kind {
        RowKind::Single => kappa * RADIUS.powi(2) * i * k,
        _ => 0.5 + (kappa * RADIUS).powi(2) * i * slope,
    }
}

#[test]
fn eigenvalues_tend_to_those_without_screening() {
    for l in 0..3 {
        for kind in KINDS {
            let [screened, without] = [1e-3, 0.0].map(|kappa| eigenvalue(kind, l, kappa));
            assert!((screened / without - 1.0).abs() < 3e-3, "{kind:?} {l}");
        }
    }
}

/// Spherical harmonics are eigenfunctions, in all spaces with the error of flat panels: of the
/// second order, but for K', whose rows see the angles between them: 1 at centroids and 1.5 in the
/// mean, because only along lines of the mesh do these angles not cancel. So it is without
/// screening.
#[test]
fn harmonics_have_the_eigenvalues_of_the_sphere() {
    let harmonics: [fn([f64; 3]) -> f64; 3] = [
        |_| 1.0,
        |[x, y, z]| z / (x * x + y * y + z * z).sqrt(),
        |[x, y, z]| x * y / (x * x + y * y + z * z),
    ];
    let surfaces = [320, 1280].map(|elements| Surface::new(&sphere(elements)));
    for kappa in [0.0, 1.5] {
        for (kind, pairing) in KINDS.into_iter().flat_map(|kind| PAIRINGS.map(|p| (kind, p))) {
            let (test, trial) = pairing;
            let space = if let Test::Means(space) = test { space } else { P0 };
            // K and K' act next to 1/2.
            let least = if kind == RowKind::Single { 0.0 } else { 0.5 };
            // A little below what finer meshes would have.
            let known = match (kind, test) {
                (RowKind::Adjoint, Test::Centroids) => 0.8,
                (RowKind::Adjoint, _) => 1.3,
                _ => 1.7,
            };
            let errors = surfaces.each_ref().map(|surface| {
                let mut layer = operator(surface, kind, pairing, &screened(kappa));
                [0, 1, 2].map(|l| {
                    let (harmonic, value) = (harmonics[l], eigenvalue(kind, l, kappa));
                    let mut found = vec![0.0; layer.len()];
                    layer.apply(&surface.values(trial, harmonic), &mut found, 1).unwrap();
                    let expected = surface.means_with(test, |x, _| harmonic(x));
                    let pairs = found.iter().zip(&expected);
                    let difference: Vec<f64> = pairs.map(|(a, b)| a - value * b).collect();
                    let norm = |x: &[f64]| surface.norm(space, x).unwrap();
                    norm(&difference) / (norm(&expected) * value.abs().max(least))
                })
            });
            for l in 0..3 {
                let [coarse, fine] = errors.map(|errors| errors[l]);
                let order = (coarse / fine).log2();
                println!("{kappa} {kind:?} {pairing:?} {l}: {fine:.1e}, order {order:.2}");
                // Or errors of different signs cancel: those of this mesh are up to 1e-2.
                assert!(order > known || fine < 1e-3, "{kappa} {kind:?} {pairing:?} {l}");
                assert!(fine < 0.05, "{kappa} {kind:?} {pairing:?} {l}: {fine}");
            }
        }
    }
}

/// The operator as a full matrix of integrals of pairs, times `x`.
fn dense(
    mesh: &Mesh,
    kind: RowKind,
    (test, trial): (Test, FunctionSpace),
    kappa: f64,
    x: &[f64],
) -> Vec<f64> {
    let panels = Panels::of_mesh(mesh);
    let n = panels.len();
    let corner = |i: usize| mesh.triangles[panels.triangles()[i] as usize];
    let of_panels: Vec<[u32; 3]> = (0..n).map(corner).collect();
    let corners = Corners { of_panels: &of_panels, vertices: mesh.vertices.len() };
    let functions = TestTrial::new(test, trial, &panels, corners);
    let accuracy = Accuracy::new(1e-7, 1);
    let kappa = kappa * panels.scale();
    let kinds = &vec![kind; n];
    let pairs =
        FunctionPairs { panels: &panels, kinds, functions: &functions, accuracy: &accuracy, kappa };
    let index = |space: FunctionSpace, i: usize, k: usize| match space {
        P0 => panels.triangles()[i] as usize,
        P1 => of_panels[i][k] as usize,
    };
    let rows = if let Test::Means(space) = test { space } else { P0 };
    let count = if rows == P0 { n } else { mesh.vertices.len() };
    let (mut y, mut weights) = (vec![0.0; count], vec![0.0; count]);
    let mut points = WeightedPoints::default();
    for i in 0..n {
        (0..3).for_each(|k| weights[index(rows, i, k)] += panels.areas()[i] / 3.0);
        for j in i..n {
            let [forth, back] = pairs.exact(i, j, &mut points);
            let mut add = |i: usize, j: usize, block: [[f64; 3]; 3]| {
                for k in 0..3 {
                    let value: f64 = (0..3).map(|l| block[k][l] * x[index(trial, j, l)]).sum();
                    y[index(rows, i, k)] += value;
                }
            };
            add(i, j, forth);
            if i != j {
                add(j, i, back);
            }
        }
    }
    let factor = if kind == RowKind::Single { panels.scale() } else { 1.0 } / (4.0 * PI);
    y.iter().zip(weights).map(|(y, w)| factor * y / w).collect()
}

/// Fast sums with corrections of close pairs against full matrices, for panels from much smaller to
/// much larger than the screening length.
#[test]
fn fast_operators_are_those_of_full_matrices() {
    for (name, mesh, kappa) in
        [("sphere", sphere(80), 1.0), ("cube", cube(48), 0.01), ("coarse sphere", sphere(20), 10.0)]
    {
        let surface = Surface::new(&mesh);
        for pairing in PAIRINGS {
            for kind in KINDS {
                let x = wave(surface.dimension(pairing.1), 0.2);
                let fast = apply(operator(&surface, kind, pairing, &screened(kappa)), &x);
                let full = dense(&mesh, kind, pairing, kappa, &x);
                let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
                let difference: Vec<f64> = fast.iter().zip(&full).map(|(a, b)| a - b).collect();
                // K and K' act next to 1/2.
                let least = if kind == RowKind::Single { 0.0 } else { 0.5 * norm(&x) };
                let error = norm(&difference) / norm(&full).max(least);
                println!("{name} {kappa} {kind:?} {pairing:?}: {error:.1e}");
                // The fast sum's 1e-6, and as much of close and of distant pairs each.
                assert!(error < 3e-6, "{name} {kappa} {kind:?} {pairing:?}: {error:.1e}");
            }
        }
    }
}

/// V is symmetric and K' the transpose of K.
#[test]
fn layers_are_transposed() {
    let surface = Surface::new(&cube(48));
    for kappa in [0.3, 8.0] {
        let options = screened(kappa).tolerance(1e-7);
        for (a, b) in [(P0, P0), (P0, P1), (P1, P1)] {
            let (u, v) = (wave(surface.dimension(a), 0.2), wave(surface.dimension(b), 1.0));
            let inner = |space: FunctionSpace, x: &[f64], y: &[f64]| -> f64 {
                x.iter().zip(y).zip(surface.weights(space)).map(|((x, y), w)| x * y * w).sum()
            };
            let size = surface.norm(a, &u).unwrap() * surface.norm(b, &v).unwrap();
            for (kind, back) in
                [(RowKind::Single, RowKind::Single), (RowKind::Double, RowKind::Adjoint)]
            {
                let left =
                    inner(a, &u, &apply(operator(&surface, kind, (a.into(), b), &options), &v));
                let right =
                    inner(b, &v, &apply(operator(&surface, back, (b.into(), a), &options), &u));
                println!("{kappa} {a:?} {b:?} {kind:?}: {:.1e}", (left - right).abs() / size);
                // Solid angles are good to 1e-6.
                let allowed = if kind == RowKind::Single { 3e-7 } else { 3e-6 };
                assert!((left - right).abs() < allowed * size, "{kappa} {a:?} {b:?} {kind:?}");
            }
        }
    }
}

/// The exterior Dirichlet problem for the potential of a screened charge inside: V psi = (K - 1/2)
/// g and V s = g, psi = (K' - 1/2) s, against the exact normal derivative psi.
#[test]
fn exterior_problems_are_solved_at_the_known_order() {
    let kappa = 0.8;
    let at = [0.3, -0.4, 0.5];
    let r = |x: [f64; 3]| [x[0] - at[0], x[1] - at[1], x[2] - at[2]];
    let norm = |r: [f64; 3]| (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
    let potential = |x: [f64; 3]| {
        let r = norm(r(x));
        (-kappa * r).exp() / (4.0 * PI * r)
    };
    // The normal is x / 2.
    let slope = |x: [f64; 3]| {
        let (d, size) = (r(x), norm(x));
        let along = (d[0] * x[0] + d[1] * x[1] + d[2] * x[2]) / size;
        let r = norm(d);
        -along * (1.0 + kappa * r) * (-kappa * r).exp() / (4.0 * PI * r.powi(3))
    };
    for (space, meshes, least) in [(P0, [320, 1280], 0.9), (P1, [1280, 5120], 1.7)] {
        let errors = meshes.map(|elements| {
            let surface = Surface::new(&sphere(elements));
            let options = screened(kappa);
            let params = GmresParams::default().tolerance(1e-7);
            let of = |kind| operator(&surface, kind, (space.into(), space), &options);
            let half = || 0.5 * surface.mass(space, space);
            let mut v = of(RowKind::Single);
            let g = surface.values(space, potential);
            let right = apply(of(RowKind::Double) - half(), &g);
            let (direct, info) = v.solve(&right, &params).unwrap();
            assert_eq!(info.reason, StopReason::Converged);
            let (density, info) =
                v.solve(&surface.means_with(space, |x, _| potential(x)), &params).unwrap();
            assert_eq!(info.reason, StopReason::Converged);
            let rows = apply(of(RowKind::Adjoint) - half(), &density);
            let (indirect, info) = surface.mass(space, space).solve(&rows, &params).unwrap();
            assert_eq!(info.reason, StopReason::Converged);
            let exact = surface.values(space, slope);
            let size = surface.norm(space, &exact).unwrap();
            [direct, indirect].map(|found| {
                let difference: Vec<f64> = found.iter().zip(&exact).map(|(a, b)| a - b).collect();
                surface.norm(space, &difference).unwrap() / size
            })
        });
        for k in 0..2 {
            let order = (errors[0][k] / errors[1][k]).log2();
            println!("{space:?}: {:.2e} {:.2e}, order {order:.2}", errors[0][k], errors[1][k]);
            // Constants are of the first order, linear functions of the second.
            assert!(order > least, "{space:?}: {errors:?}");
        }
    }
}

#[test]
fn without_screening_it_is_the_kernel_of_laplace() {
    let surface = Surface::new(&cube(108));
    for kind in KINDS {
        for pairing in PAIRINGS {
            let x = wave(surface.dimension(pairing.1), 0.4);
            let laplace = apply(operator(&surface, kind, pairing, &OperatorOptions::default()), &x);
            assert_eq!(apply(operator(&surface, kind, pairing, &screened(0.0)), &x), laplace);
        }
    }
}

/// Pairs are integrated on the processor, whatever does the sums.
#[test]
fn layers_are_the_same_on_a_gpu() {
    let open = || cuda::Device::open(0);
    if cuda::testing::device_for("layers_are_the_same_on_a_gpu", open).unwrap().is_none() {
        return;
    }
    let surface = Surface::new(&sphere(1280));
    for (kind, pairing) in KINDS.into_iter().flat_map(|kind| PAIRINGS.map(|p| (kind, p))) {
        let x = wave(surface.dimension(pairing.1), 0.4);
        let [cpu, gpu] = [Backend::Cpu, Backend::Cuda].map(|backend| {
            apply(operator(&surface, kind, pairing, &screened(1.0).backend(backend)), &x)
        });
        let size = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let difference: Vec<f64> = cpu.iter().zip(&gpu).map(|(a, b)| a - b).collect();
        // Two fast sums of this tolerance.
        let error = size(&difference) / size(&cpu);
        assert!(error < 3e-6, "{kind:?} {pairing:?}: {error:.1e}");
    }
}

#[test]
fn a_kappa_out_of_range_is_refused() {
    let surface = Surface::new(&sphere(20));
    for (kappa, word) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let error = surface.single_layer(&screened(kappa)).err().unwrap();
        assert!(matches!(error, bem::Error::Fmm(_)));
        let expected =
            format!("kernel = Yukawa with kappa = {word} is out of range: 0 or more, finite");
        assert_eq!(error.to_string(), expected);
    }
}
