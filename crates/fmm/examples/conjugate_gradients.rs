//! Fast sums under an iterative solver of one's own: 19,683 small metal balls that fill a cube,
//! wired together.
//!
//!     cargo run --release --example conjugate_gradients
//!
//! Outside of itself a charged ball of radius a acts like a point, so ball i is at the potential
//! q_i / a + sum_j q_j / |x_i - x_j| over the others. All are to be at 1, which is A q = 1; A is
//! symmetric and, balls not overlapping, positive definite. The sum of all q is the capacitance:
//! the metal cube that they fill has 0.6607.

#![allow(clippy::print_stdout)] // a program

use fmm::{Densities, Error, Options, Plan, Potentials, direct};

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn main() -> Result<(), Error> {
    let side = 27;
    let (n, spacing) = (side * side * side, 1.0 / side as f64);
    let radius = 0.3 * spacing;
    let balls: Vec<[f64; 3]> = (0..n)
        .map(|i| [i, i / side, i / side / side].map(|k| (k % side) as f64 * spacing))
        .collect();

    // The geometry is processed once ...
    let mut plan = Plan::new(&balls, None, &Options::default().tolerance(1e-8))?;
    // ... and each product with A is one call.
    let mut potentials_of = |q: &[f64]| -> Result<Vec<f64>, Error> {
        let mut sums = vec![0.0; n];
        plan.apply(
            Densities { charges: Some(q), ..Densities::default() },
            Potentials { potential: Some(&mut sums), ..Potentials::default() },
        )?;
        Ok(sums.iter().zip(q).map(|(sum, q)| sum + q / radius).collect())
    };

    // Conjugate gradients, from zero.
    let (mut q, mut residual) = (vec![0.0; n], vec![1.0; n]);
    let mut direction = residual.clone();
    let mut size = dot(&residual, &residual);
    let mut steps = 0;
    while size > 1e-12 * n as f64 && steps < 200 {
        let image = potentials_of(&direction)?;
        let step = size / dot(&direction, &image);
        q.iter_mut().zip(&direction).for_each(|(q, d)| *q += step * d);
        residual.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
        let before = std::mem::replace(&mut size, dot(&residual, &residual));
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + size / before * *d);
        steps += 1;
    }
    println!("{steps} steps; capacitance {:.6}", q.iter().sum::<f64>());

    // The potential of every hundredth ball, summed directly.
    let some: Vec<usize> = (0..n).step_by(100).collect();
    let places: Vec<[f64; 3]> = some.iter().map(|&i| balls[i]).collect();
    let mut sums = vec![0.0; some.len()];
    direct::sum(
        fmm::Kernel::Laplace,
        &balls,
        &places,
        Densities { charges: Some(&q), ..Densities::default() },
        &mut Potentials { potential: Some(&mut sums), ..Potentials::default() },
    )?;
    let off = sums.iter().zip(&some).map(|(sum, &i)| (sum + q[i] / radius - 1.0).abs());
    let worst = off.fold(0.0, f64::max);
    println!("potential by direct sums: within {worst:.1e} of 1");
    assert!(worst < 1e-4, "conjugate gradients were to leave 1e-6 in the mean");
    Ok(())
}
