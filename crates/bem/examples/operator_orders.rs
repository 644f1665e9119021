//! Prints the tables of docs/validation.md on operators between spaces.
//!
//!     cargo run --release --example operator_orders

#![allow(clippy::print_stdout)] // a program

use std::f64::consts::PI;

use bem::{
    Error, FunctionSpace, GmresParams, LinearOperator, Operator, OperatorOptions, Surface, Test,
};
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

const CHARGE: [f64; 3] = [0.15, -0.2, 0.25];
const OUTSIDE: [f64; 3] = [0.9, 1.1, -0.7];

fn potential_of([a, b, c]: [f64; 3], [x, y, z]: [f64; 3]) -> f64 {
    1.0 / (4.0 * PI * ((x - a).powi(2) + (y - b).powi(2) + (z - c).powi(2)).sqrt())
}

fn potential(x: [f64; 3]) -> f64 {
    potential_of(CHARGE, x)
}

/// The normal derivative on the unit sphere.
fn slope(x: [f64; 3]) -> f64 {
    let r: [f64; 3] = std::array::from_fn(|k| x[k] - CHARGE[k]);
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    -dot(r, x) / (4.0 * PI * dot(x, x).sqrt() * dot(r, r).powf(1.5))
}

fn apply(mut operator: Operator<'_>, x: &[f64]) -> Result<Vec<f64>, Error> {
    let mut y = vec![0.0; operator.len()];
    operator.apply(x, &mut y, 1)?;
    Ok(y)
}

/// Errors of the normal derivative by the direct and the indirect formulation, and of the potential
/// at a point outside of the latter's density.
fn errors(surface: &Surface, test: Test, trial: FunctionSpace) -> Result<[f64; 3], Error> {
    let options = OperatorOptions::default().tolerance(1e-7);
    let params = GmresParams::default().tolerance(1e-7);
    let exact = surface.values(trial, slope);
    let size = surface.norm(trial, &exact)?;
    let error = |x: &[f64]| -> Result<f64, Error> {
        let difference: Vec<f64> = x.iter().zip(&exact).map(|(x, exact)| x - exact).collect();
        Ok(surface.norm(trial, &difference)? / size)
    };
    let mut v = surface.single_layer_between(test, trial, &options)?;
    // Given values are linear in all.
    let data = surface.values(FunctionSpace::Linear, potential);
    let k = surface.double_layer_between(test, FunctionSpace::Linear, &options)?;
    let right = apply(k - 0.5 * surface.mass(test, FunctionSpace::Linear), &data)?;
    let (direct, _) = v.solve(&right, &params)?;
    let (density, _) = v.solve(&surface.means_with(test, |x, _| potential(x)), &params)?;
    let adjoint = surface.adjoint_double_layer_between(test, trial, &options)?;
    let derivative = apply(adjoint - 0.5 * surface.mass(test, trial), &density)?;
    let (indirect, _) = surface.mass(test, trial).solve(&derivative, &params)?;
    // Means of 1/(4 pi |x - y|) against the density: weights times coefficients.
    let green = match trial {
        FunctionSpace::Constant => surface.means(|y| potential_of(OUTSIDE, y)),
        FunctionSpace::Linear => surface.means_with(trial, |y, _| potential_of(OUTSIDE, y)),
    };
    let terms = density.iter().zip(surface.weights(trial)).zip(green);
    let outside: f64 = terms.map(|((density, weight), green)| density * weight * green).sum();
    Ok([error(&direct)?, error(&indirect)?, (outside / potential(OUTSIDE) - 1.0).abs()])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let p0 = FunctionSpace::Constant;
    let cases = [
        ("P0, Galerkin", Test::Means(p0), p0),
        ("P0, collocation", Test::Centroids, p0),
        ("P1, Galerkin", Test::Means(FunctionSpace::Linear), FunctionSpace::Linear),
    ];
    println!("| functions | triangles | direct | order | indirect | order | outside | order |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, test, trial) in cases {
        let mut before: Option<[f64; 3]> = None;
        for elements in [320, 1280, 5120] {
            let resolution = Resolution::Elements(elements);
            let base = SphereBase::Icosahedron;
            let surface = Surface::new(&Sphere { radius: 1.0, base, resolution }.build()?);
            let now = errors(&surface, test, trial)?;
            let cells: Vec<String> = (0..3)
                .map(|k| {
                    let order = before.map(|before| format!("{:.2}", (before[k] / now[k]).log2()));
                    format!("{:.2e} | {}", now[k], order.unwrap_or_default())
                })
                .collect();
            println!("| {name} | {} | {} |", surface.len(), cells.join(" | "));
            before = Some(now);
        }
    }
    println!("\n| test x trial | layer | triangles | error | order |\n|---|---|---|---|---|");
    cube()
}

/// V and K of a smooth density on a cube, whose flat faces are exact, tested with a smooth
/// function, against the finest mesh.
fn cube() -> Result<(), Box<dyn std::error::Error>> {
    let density = |[x, y, z]: [f64; 3]| (1.3 * x + 0.4).sin() * (0.9 * y - z).cos();
    let weight = |[x, y, z]: [f64; 3]| (0.7 * x - 1.1 * y).cos() * (0.8 * z).exp();
    let options = OperatorOptions::default().tolerance(1e-8);
    for (name, test, trial) in [
        ("P0 x P0", FunctionSpace::Constant, FunctionSpace::Constant),
        ("P0 x P1", FunctionSpace::Constant, FunctionSpace::Linear),
        ("P1 x P0", FunctionSpace::Linear, FunctionSpace::Constant),
        ("P1 x P1", FunctionSpace::Linear, FunctionSpace::Linear),
    ] {
        for layer in ["V", "K", "K'"] {
            let mut values = Vec::new();
            for elements in [192, 768, 3072, 12288] {
                let resolution = Resolution::Elements(elements);
                let surface = Surface::new(&Cube { edge: 2.0, grade: 1.0, resolution }.build()?);
                let operator = match layer {
                    "V" => surface.single_layer_between(test, trial, &options)?,
                    "K" => surface.double_layer_between(test, trial, &options)?,
                    _ => surface.adjoint_double_layer_between(test, trial, &options)?,
                };
                let found = apply(operator, &surface.values(trial, density))?;
                let against = surface.values(test, weight);
                let terms = found.iter().zip(against).zip(surface.weights(test));
                let value: f64 = terms.map(|((v, u), w)| v * u * w).sum();
                values.push((surface.len(), value));
            }
            // Errors against the value extrapolated from the last two, at the second order.
            let limit = (4.0 * values[3].1 - values[2].1) / 3.0;
            for pair in values[..3].windows(2) {
                let [before, now] = [pair[0].1, pair[1].1].map(|value| (value / limit - 1.0).abs());
                println!(
                    "| {name} | {layer} | {} | {now:.2e} | {:.2} |",
                    pair[1].0,
                    (before / now).log2()
                );
            }
        }
    }
    Ok(())
}
