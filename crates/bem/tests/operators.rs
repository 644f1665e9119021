//! Layer operators as a library user meets them: identities of potential theory, and Dirichlet
//! problems solved both ways.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::f64::consts::PI;

use bem::{
    FunctionSpace, GmresParams, LinearOperator, Operator, OperatorOptions, StopReason, Surface,
    Test,
};
use mesh::Mesh;
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

fn sphere(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Sphere { radius: 2.0, base: SphereBase::Icosahedron, resolution }.build().unwrap()
}

fn cube(elements: usize) -> Mesh {
    Cube { edge: 2.0, grade: 1.0, resolution: Resolution::Elements(elements) }.build().unwrap()
}

fn apply(mut operator: Operator<'_>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; operator.len()];
    operator.apply(x, &mut y, 1).unwrap();
    y
}

#[test]
fn constants_have_the_double_layer_of_half_a_solid_angle() {
    for mesh in [sphere(320), cube(300)] {
        let surface = Surface::new(&mesh);
        let k = surface.double_layer(&OperatorOptions::default()).unwrap();
        for value in apply(k, &vec![1.0; surface.len()]) {
            // Exact for a closed polyhedron; the fast sums are good to 1e-6 of the root mean
            // square, and quadrature to 1e-5.
            assert!((value + 0.5).abs() < 2e-5, "{value}");
        }
    }
}

#[test]
fn the_adjoint_is_the_transpose() {
    let mesh = cube(300);
    let surface = Surface::new(&mesh);
    let options = OperatorOptions::default().tolerance(1e-8);
    let wave = |a: f64, b: f64| -> Vec<f64> {
        (0..surface.len()).map(|i| (a * i as f64 + b).sin()).collect()
    };
    let (u, v) = (wave(0.3, 1.0), wave(0.7, 0.2));
    let inner = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).zip(surface.areas()).map(|((x, y), a)| x * y * a).sum()
    };
    let k = apply(surface.double_layer(&options).unwrap(), &u);
    let adjoint = apply(surface.adjoint_double_layer(&options).unwrap(), &v);
    let (left, right) = (inner(&v, &k), inner(&adjoint, &u));
    let size = inner(&v, &v).sqrt() * inner(&u, &u).sqrt();
    assert!((left - right).abs() < 1e-7 * size, "{left} {right}");
}

#[test]
fn sums_products_and_blocks_are_those_of_matrices() {
    let diagonal = |d: &[f64]| Operator::diagonal(d.to_vec());
    let (a, b) = ([1.0, 2.0, 3.0], [4.0, -1.0, 0.5]);
    let x = [1.0, -2.0, 4.0];
    let combined = 2.0 * diagonal(&a) - diagonal(&b) * diagonal(&a) + Operator::identity(3);
    let expected: Vec<f64> = (0..3).map(|i| (2.0 * a[i] - b[i] * a[i] + 1.0) * x[i]).collect();
    assert_eq!(apply(combined, &x), expected);
    let blocks = Operator::blocks(vec![
        vec![Some(diagonal(&a)), Some(diagonal(&b))],
        vec![None, Some(-diagonal(&a))],
    ])
    .unwrap();
    let mut y = vec![0.0; 12];
    let two: Vec<f64> = (0..12).map(f64::from).collect();
    let mut blocks = blocks;
    blocks.apply(&two, &mut y, 2).unwrap();
    for c in 0..2 {
        for i in 0..3 {
            let (u, v) = (two[6 * c + i], two[6 * c + 3 + i]);
            assert_eq!(y[6 * c + i], a[i] * u + b[i] * v);
            assert_eq!(y[6 * c + 3 + i], -a[i] * v);
        }
    }
    let misfit = vec![
        vec![Some(diagonal(&a)), Some(Operator::identity(2))],
        vec![None, Some(Operator::identity(3))],
    ];
    assert!(Operator::blocks(misfit).is_err());
    assert!(Operator::blocks(vec![vec![None]]).is_err());
    assert!(Operator::identity(2).apply(&[1.0; 3], &mut [0.0; 2], 1).is_err());
}

/// The exterior Dirichlet problem for the potential of a point charge inside, by Green's
/// representation, V psi = (K - 1/2) g, and by a density, V s = g with psi = (K' - 1/2) s. The
/// normal derivative psi is known.
#[test]
fn direct_and_indirect_formulations_agree_with_the_exact_derivative() {
    let at = [0.3, -0.4, 0.5];
    let r = |x: [f64; 3]| [x[0] - at[0], x[1] - at[1], x[2] - at[2]];
    let norm = |r: [f64; 3]| (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
    let mut errors = Vec::new();
    for elements in [320, 1280] {
        let mesh = sphere(elements);
        let surface = Surface::new(&mesh);
        let n = surface.len();
        let options = OperatorOptions::default();
        let params = GmresParams::default().tolerance(1e-6);
        let g = surface.means(|x| 1.0 / (4.0 * PI * norm(r(x))));
        let exact = surface.means_with_normal(|x, n| {
            let r = r(x);
            -(r[0] * n[0] + r[1] * n[1] + r[2] * n[2]) / (4.0 * PI * norm(r).powi(3))
        });
        let half = || 0.5 * Operator::identity(n);
        let mut v = surface.single_layer(&options).unwrap();
        let double = surface.double_layer(&options).unwrap() - half();
        let (direct, info) = v.solve(&apply(double, &g), &params).unwrap();
        assert_eq!(info.reason, StopReason::Converged);
        let (density, info) = v.solve(&g, &params).unwrap();
        assert_eq!(info.reason, StopReason::Converged);
        let adjoint = surface.adjoint_double_layer(&options).unwrap() - half();
        let indirect = apply(adjoint, &density);
        let size = |f: &dyn Fn(usize) -> f64| -> f64 {
            let squares = surface.areas().iter().enumerate().map(|(i, a)| a * f(i).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let scale = size(&|i| exact[i]);
        let both = [
            size(&|i| direct[i] - exact[i]) / scale,
            size(&|i| indirect[i] - exact[i]) / scale,
            size(&|i| direct[i] - indirect[i]) / scale,
        ];
        println!(
            "{elements}: direct {:.2e}, indirect {:.2e}, apart {:.2e}",
            both[0], both[1], both[2]
        );
        errors.push(both);
    }
    for k in 0..3 {
        // Piecewise constants: first order in h at least, which halves from one mesh to the next; a
        // tenth at 1,280 triangles.
        assert!(errors[1][k] < 0.6 * errors[0][k], "{errors:?}");
        assert!(errors[1][k] < 0.1, "{errors:?}");
    }
}

const SPACES: [FunctionSpace; 2] = [FunctionSpace::Constant, FunctionSpace::Linear];

#[test]
fn constants_have_the_same_double_layer_in_all_spaces() {
    for mesh in [sphere(320), cube(300)] {
        let surface = Surface::new(&mesh);
        let options = OperatorOptions::default();
        for trial in SPACES {
            let one = vec![1.0; surface.dimension(trial)];
            for test in [
                Test::Means(FunctionSpace::Constant),
                Test::Means(FunctionSpace::Linear),
                Test::Centroids,
            ] {
                let k = surface.double_layer_between(test, trial, &options).unwrap();
                for value in apply(k, &one) {
                    // Exact for a closed polyhedron; fast sums are good to 1e-6 of the root mean
                    // square, quadrature to 1e-5.
                    assert!((value + 0.5).abs() < 3e-5, "{test:?} {trial:?}: {value}");
                }
                for value in apply(surface.mass(test, trial), &one) {
                    assert!((value - 1.0).abs() < 1e-12, "{test:?} {trial:?}: {value}");
                }
            }
        }
    }
}

/// The single layer is symmetric, the adjoint is the transposed double layer, in all pairs of
/// spaces; and constants are the same function in both.
#[test]
fn layers_between_spaces_are_transposed_and_nested() {
    let mesh = cube(300);
    let surface = Surface::new(&mesh);
    let options = OperatorOptions::default().tolerance(1e-7);
    let wave = |space: FunctionSpace, b: f64| -> Vec<f64> {
        (0..surface.dimension(space)).map(|i| (0.3 * i as f64 + b).sin()).collect()
    };
    for (a, b) in [
        (FunctionSpace::Constant, FunctionSpace::Linear),
        (FunctionSpace::Linear, FunctionSpace::Linear),
    ] {
        let (u, v) = (wave(a, 0.2), wave(b, 1.0));
        let inner = |space: FunctionSpace, x: &[f64], y: &[f64]| -> f64 {
            x.iter().zip(y).zip(surface.weights(space)).map(|((x, y), w)| x * y * w).sum()
        };
        let size = surface.norm(a, &u).unwrap() * surface.norm(b, &v).unwrap();
        let forth = apply(surface.double_layer_between(a, b, &options).unwrap(), &v);
        let back = apply(surface.adjoint_double_layer_between(b, a, &options).unwrap(), &u);
        let (left, right) = (inner(a, &u, &forth), inner(b, &v, &back));
        // Solid angles are good to 1e-6.
        assert!((left - right).abs() < 3e-6 * size, "{a:?} {b:?}: {left} {right}");
        let forth = apply(surface.single_layer_between(a, b, &options).unwrap(), &v);
        let back = apply(surface.single_layer_between(b, a, &options).unwrap(), &u);
        let (left, right) = (inner(a, &u, &forth), inner(b, &v, &back));
        assert!((left - right).abs() < 3e-7 * size, "{a:?} {b:?}: {left} {right}");
    }
    // The constant 1 in either space has one potential, and its mean over a vertex's triangles is
    // theirs, weighted.
    let one = |space| vec![1.0; surface.dimension(space)];
    let v = |test, trial| {
        apply(surface.single_layer_between(test, trial, &options).unwrap(), &one(trial))
    };
    let (p0, p1) = (
        v(FunctionSpace::Constant, FunctionSpace::Constant),
        v(FunctionSpace::Constant, FunctionSpace::Linear),
    );
    assert!(p0.iter().zip(&p1).all(|(a, b)| (a / b - 1.0).abs() < 1e-5));
    let total = |space: FunctionSpace, x: &[f64]| -> f64 {
        x.iter().zip(surface.weights(space)).map(|(x, w)| x * w).sum()
    };
    let whole = total(FunctionSpace::Constant, &p0);
    let others = [
        v(FunctionSpace::Linear, FunctionSpace::Constant),
        v(FunctionSpace::Linear, FunctionSpace::Linear),
    ];
    assert!(others.iter().all(|x| (total(FunctionSpace::Linear, x) / whole - 1.0).abs() < 1e-6));
    assert!(
        (surface.norm(FunctionSpace::Linear, &one(FunctionSpace::Linear)).unwrap().powi(2) / 24.0
            - 1.0)
            .abs()
            < 1e-12
    );
    assert!(surface.norm(FunctionSpace::Linear, &[1.0]).is_err());
}

/// Direct and indirect formulations of the exterior Dirichlet problem in linear functions, and by
/// collocation, as the test above has them in constants. On flat facets both are of second order.
#[test]
fn formulations_agree_in_linear_functions_and_by_collocation() {
    let at = [0.3, -0.4, 0.5];
    let r = |x: [f64; 3]| [x[0] - at[0], x[1] - at[1], x[2] - at[2]];
    let norm = |r: [f64; 3]| (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
    let potential = |x: [f64; 3]| 1.0 / (4.0 * PI * norm(r(x)));
    // On the sphere of radius 2 the normal is x / 2.
    let slope = |x: [f64; 3]| {
        let r = r(x);
        let scale = norm(x);
        -(r[0] * x[0] + r[1] * x[1] + r[2] * x[2]) / (4.0 * PI * scale * norm(r).powi(3))
    };
    let p1 = FunctionSpace::Linear;
    let options = OperatorOptions::default();
    let params = GmresParams::default().tolerance(1e-6);
    let difference =
        |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let mut errors = Vec::new();
    for elements in [320, 1280] {
        let surface = Surface::new(&sphere(elements));
        let g = surface.values(p1, potential);
        let exact = surface.values(p1, slope);
        let scale = surface.norm(p1, &exact).unwrap();
        let mut v = surface.single_layer_between(p1, p1, &options).unwrap();
        let half = || 0.5 * surface.mass(p1, p1);
        let right = apply(surface.double_layer_between(p1, p1, &options).unwrap() - half(), &g);
        let (direct, info) = v.solve(&right, &params).unwrap();
        assert_eq!(info.reason, StopReason::Converged);
        let (density, info) = v.solve(&apply(surface.mass(p1, p1), &g), &params).unwrap();
        assert_eq!(info.reason, StopReason::Converged);
        let adjoint = surface.adjoint_double_layer_between(p1, p1, &options).unwrap() - half();
        let (indirect, info) =
            surface.mass(p1, p1).solve(&apply(adjoint, &density), &params).unwrap();
        assert_eq!(info.reason, StopReason::Converged);
        // Collocation: V s = g at centroids.
        let p0 = FunctionSpace::Constant;
        let mut v = surface.single_layer_between(Test::Centroids, p0, &options).unwrap();
        let (density, info) = v.solve(&surface.values(p0, potential), &params).unwrap();
        assert_eq!(info.reason, StopReason::Converged);
        let adjoint = surface.adjoint_double_layer_between(Test::Centroids, p0, &options).unwrap();
        let collocated = apply(adjoint - 0.5 * Operator::identity(surface.len()), &density);
        let at_centroids = surface.values(p0, slope);
        let of = |space, error: Vec<f64>| surface.norm(space, &error).unwrap() / scale;
        errors.push([
            of(p1, difference(&direct, &exact)),
            of(p1, difference(&indirect, &exact)),
            of(p1, difference(&direct, &indirect)),
            of(p0, difference(&collocated, &at_centroids)),
        ]);
    }
    println!("{errors:?}");
    for (k, least) in [3.0, 3.0, 3.0, 1.7].into_iter().enumerate() {
        assert!(errors[1][k] < errors[0][k] / least, "{k}: {errors:?}");
        assert!(errors[1][k] < 0.05, "{k}: {errors:?}");
    }
}
