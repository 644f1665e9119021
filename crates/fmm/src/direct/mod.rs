//! All pairs in double precision: the oracle that every other path is measured against.

pub(crate) mod all_pairs;

use std::ops::Range;

use parallel::prelude::*;

use crate::Error;
use crate::expansions::screened::Screening;
use crate::model::densities::count_densities;
use crate::model::{Densities, Kernel, Potentials};

/// Sums `densities` over all `sources` at `targets` in double precision, O(n m).
///
/// Shapes as in [`Densities`] and [`Potentials`]; a source at a target's very place contributes
/// nothing.
///
/// # Errors
/// [`Error::Length`] when an array does not fit, [`Error::Option`] for a kappa below 0 or not
/// finite.
pub fn sum(
    kernel: Kernel,
    sources: &[[f64; 3]],
    targets: &[[f64; 3]],
    densities: Densities<'_>,
    potentials: &mut Potentials<'_>,
) -> Result<(), Error> {
    kernel.check()?;
    let k = count_densities(sources.len(), targets.len(), &densities, potentials)?;
    let (n, m) = (sources.len(), targets.len());
    for density in 0..k {
        let charges = densities.charges.map(|q| &q[density * n..(density + 1) * n]);
        let dipoles = densities.dipoles.map(|d| &d[density * 3 * n..(density + 1) * 3 * n]);
        let screening = Screening::unscaled(kernel);
        let evaluate = |x: &[f64; 3]| at(screening, x, sources, charges, dipoles);
        // Targets of a task: few where each takes long.
        let least = ((1 << 18) / n.max(1)).clamp(1, 16);
        let values: Vec<[f64; 4]> = targets.par_iter().with_min_len(least).map(evaluate).collect();
        if let Some(potential) = potentials.potential.as_deref_mut() {
            for (out, value) in potential[density * m..(density + 1) * m].iter_mut().zip(&values) {
                *out = value[0];
            }
        }
        if let Some(gradient) = potentials.gradient.as_deref_mut() {
            let rows = gradient[density * 3 * m..(density + 1) * 3 * m].chunks_exact_mut(3);
            for (out, value) in rows.zip(&values) {
                out.copy_from_slice(&value[1..]);
            }
        }
    }
    Ok(())
}

/// Potential and gradient at one target.
pub fn at(
    screening: Screening,
    x: &[f64; 3],
    sources: &[[f64; 3]],
    charges: Option<&[f64]>,
    dipoles: Option<&[f64]>,
) -> [f64; 4] {
    let mut sum = [0.0; 4];
    for (j, y) in sources.iter().enumerate() {
        let r = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
        let r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
        if !SQUARES.contains(&r2) {
            let (charge, dipole) = (charges.map(|q| q[j]), dipoles.map(|d| &d[3 * j..3 * j + 3]));
            add_in_own_unit(screening, r, charge, dipole, &mut sum);
            continue;
        }
        let [inverse, inverse3, inverse5] = screening.slopes(r2.sqrt());
        if let Some(q) = charges {
            sum[0] += q[j] * inverse;
            for axis in 0..3 {
                sum[1 + axis] -= q[j] * inverse3 * r[axis];
            }
        }
        if let Some(d) = dipoles {
            let d = &d[3 * j..3 * j + 3];
            let along = d[0] * r[0] + d[1] * r[1] + d[2] * r[2];
            sum[0] += along * inverse3;
            for axis in 0..3 {
                sum[1 + axis] += d[axis] * inverse3 - along * r[axis] * inverse5;
            }
        }
    }
    sum
}

/// Squared distances whose inverse powers are numbers.
const SQUARES: Range<f64> = 1e-100..1e100;

/// Adds a source at an offset of any size, with distances in units of its largest component.
#[cold]
fn add_in_own_unit(
    Screening { root }: Screening,
    r: [f64; 3],
    charge: Option<f64>,
    dipole: Option<&[f64]>,
    sum: &mut [f64; 4],
) {
    let unit = r.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if unit == 0.0 {
        return;
    }
    let r = r.map(|x| x / unit);
    let distance = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
    let [inverse, inverse3, inverse5] = Screening { root: root * unit }.slopes(distance);
    if let Some(q) = charge {
        sum[0] += q * inverse / unit;
        for axis in 0..3 {
            sum[1 + axis] -= q * inverse3 * r[axis] / unit / unit;
        }
    }
    if let Some(d) = dipole {
        let along = d[0] * r[0] + d[1] * r[1] + d[2] * r[2];
        sum[0] += along * inverse3 / unit / unit;
        for axis in 0..3 {
            let slope = d[axis] * inverse3 - along * r[axis] * inverse5;
            sum[1 + axis] += slope / unit / unit / unit;
        }
    }
}
