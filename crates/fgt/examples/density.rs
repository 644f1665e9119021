//! A density estimated from a sample of it: 200,000 points of the normal distribution in the plane,
//! each smeared to a Gaussian, on a grid.
//!
//!     cargo run --release -p farad-fgt --example density

#![allow(clippy::print_stdout)] // a program

use std::f64::consts::{PI, TAU};

use fgt::{Bandwidths, Error, Grid, Options, Plan, Sums, Targets, direct};
use samples::Random;

fn main() -> Result<(), Error> {
    let n = 200_000;
    let mut random = Random::new(1);
    // Box and Muller.
    let sample: Vec<[f64; 2]> = (0..n)
        .map(|_| {
            let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
            let (sin, cos) = (TAU * random.uniform()).sin_cos();
            [radius * cos, radius * sin]
        })
        .collect();

    // Gaussians of standard deviation 0.2: delta is twice its square.
    let variance = 0.2f64.powi(2);
    let bandwidths = Bandwidths::Same(2.0 * variance);
    let weights = vec![1.0 / (n as f64 * 2.0 * PI * variance); n];
    let grid = Grid { origin: [-3.0; 2], spacing: [0.05; 2], shape: [121; 2] };
    let plan = Plan::new(&sample, bandwidths, Targets::Grid(&grid), &Options::default())?;
    let mut density = vec![0.0; grid.len()];
    let seconds = plan.apply(&weights, Sums { values: Some(&mut density), gradients: None })?;
    println!("{n} points on {} places in {:.3} s", grid.len(), seconds.total);

    // A normal distribution smeared by another is one with the sum of both variances.
    let of_both = 1.0 + variance;
    let exact = |[x, y]: [f64; 2]| (-(x * x + y * y) / (2.0 * of_both)).exp() / (TAU * of_both);
    let places = grid.points();
    let off = places.iter().zip(&density).map(|(&x, value)| (value - exact(x)).abs());
    let worst = off.fold(0.0, f64::max);
    println!("the largest difference from the smeared distribution is {worst:.4}");
    assert!(worst < 0.01, "chance makes differences of 0.003");

    // A row of the grid, summed directly.
    let row = 60 * 121..61 * 121;
    let mut sums = vec![0.0; 121];
    let into = &mut Sums { values: Some(&mut sums), gradients: None };
    direct::sum(&sample, bandwidths, &places[row.clone()], &weights, into)?;
    let off = sums.iter().zip(&density[row]).map(|(direct, value)| (value - direct).abs());
    let worst = off.fold(0.0, f64::max);
    println!("the largest difference from direct sums is {worst:.1e}");
    let largest = density.iter().copied().fold(0.0, f64::max);
    assert!(worst < 1e-6 * largest, "the tolerance is 1e-6 of the largest sum");
    Ok(())
}
