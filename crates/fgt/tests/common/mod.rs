//! Direct sums to compare with, and the scales that errors are relative to.

use fgt::{Bandwidths, Plan, Sums, direct};

/// Values and gradients of one density by the direct sum, and the scales of both.
pub struct Exact {
    pub values: Vec<f64>,
    pub gradients: Vec<f64>,
    /// The largest sum of absolute contributions at any target.
    pub scale: f64,
    pub gradient_scale: f64,
}

pub fn bandwidth(bandwidths: Bandwidths<'_>, source: usize) -> f64 {
    match bandwidths {
        Bandwidths::Same(one) => one,
        Bandwidths::Each(each) => each[source],
    }
}

pub fn exact<const D: usize>(
    sources: &[[f64; D]],
    bandwidths: Bandwidths<'_>,
    targets: &[[f64; D]],
    charges: &[f64],
) -> Exact {
    let m = targets.len();
    let (mut values, mut gradients) = (vec![f64::NAN; m], vec![f64::NAN; m * D]);
    let sums = &mut Sums { values: Some(&mut values), gradients: Some(&mut gradients) };
    direct::sum(sources, bandwidths, targets, charges, sums).unwrap();
    let largest = |weight: &dyn Fn(usize) -> f64| {
        let weights: Vec<f64> =
            charges.iter().enumerate().map(|(j, q)| q.abs() * weight(j)).collect();
        let mut sums = vec![0.0; m];
        let out = &mut Sums { values: Some(&mut sums), gradients: None };
        direct::sum(sources, bandwidths, targets, &weights, out).unwrap();
        sums.iter().fold(0.0f64, |a, &b| a.max(b))
    };
    let scale = largest(&|_| 1.0);
    let gradient_scale = largest(&|j| (2.0 / bandwidth(bandwidths, j)).sqrt());
    Exact { values, gradients, scale, gradient_scale }
}

/// Errors of values and gradients of a plan, relative to their scales.
pub fn errors<const D: usize>(
    plan: &Plan<D>,
    charges: &[f64],
    exact: &Exact,
    gradient: bool,
) -> [f64; 2] {
    let (mut values, mut gradients) =
        (vec![f64::NAN; exact.values.len()], vec![f64::NAN; exact.gradients.len()]);
    let gradients_out = gradient.then_some(&mut gradients[..]);
    plan.apply(charges, Sums { values: Some(&mut values), gradients: gradients_out }).unwrap();
    let error = largest_difference(&values, &exact.values) / exact.scale;
    if !gradient {
        return [error, 0.0];
    }
    [error, largest_difference(&gradients, &exact.gradients) / exact.gradient_scale]
}

/// Infinite if anything is not a number.
pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference =
        |(a, b): (&f64, &f64)| if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() };
    a.iter().zip(b).map(difference).fold(0.0, f64::max)
}
