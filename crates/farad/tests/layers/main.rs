//! Problems in layers without end, against what they are the same as.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod one;
mod several;

use farad::bem::{Beyond, Density, Method, Stack, StackLayer};
use farad::mesh::Mesh;
use farad::{Description, NoProgress, Options, Problem, Solution};

/// The solver's tolerance.
const TOLERANCE: f64 = 1e-6;

const AIR: Beyond = Beyond::Dielectric(1.0);

fn stack(below: Beyond, layers: &[(f64, f64)], above: Beyond) -> Stack {
    let layer = |&(thickness, permittivity): &(f64, f64)| StackLayer { thickness, permittivity };
    let layers = layers.iter().map(layer).collect();
    Stack::default().below(below).layers(layers).above(above).tolerance(0.1 * TOLERANCE)
}

fn in_stack(stack: Stack) -> Description {
    Description::default().stack(Some(stack))
}

fn options(method: Method, density: Density) -> Options {
    Options::default().method(method).density(density).tolerance(TOLERANCE)
}

fn solved(description: Description, mesh: Mesh, options: &Options) -> Solution {
    let problem = Problem::new(description, mesh).unwrap();
    let solution = problem.solve(options, &NoProgress).unwrap();
    assert!(solution.converged());
    assert!(!solution.failed_checks(), "{:?}", solution.warnings);
    solution
}

fn maxwell(solution: &Solution) -> Vec<f64> {
    solution.matrices().maxwell_farad.concat()
}

fn same(found: &[f64], exact: &[f64], within: f64) {
    let largest = exact.iter().map(|x| x.abs()).fold(0.0, f64::max);
    assert_eq!(found.len(), exact.len());
    for (a, b) in found.iter().zip(exact) {
        assert!((a - b).abs() < within * largest, "{found:?} is not {exact:?}");
    }
}
