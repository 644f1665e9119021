//! The direct sum, which everything else is measured against, against sums known in closed form and
//! another order of summation.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::f64::consts::TAU;

use fmm::{Densities, Potentials, direct};
use samples::{ChargeKind, Distribution, Random};

/// Potential and gradient at one target.
fn at(
    sources: &[[f64; 3]],
    charges: Option<&[f64]>,
    dipoles: Option<&[f64]>,
    x: [f64; 3],
) -> [f64; 4] {
    let (mut potential, mut gradient) = ([f64::NAN], [f64::NAN; 3]);
    let mut potentials =
        Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
    direct::sum(
        fmm::Kernel::Laplace,
        sources,
        &[x],
        Densities { charges, dipoles },
        &mut potentials,
    )
    .unwrap();
    [potential[0], gradient[0], gradient[1], gradient[2]]
}

/// Asserts that values agree to `bound` times the largest.
fn assert_close<const N: usize>(found: [f64; N], exact: [f64; N], bound: f64) {
    let size = exact.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    for (found, exact) in found.iter().zip(exact) {
        let error = (found - exact).abs() / size;
        assert!(error <= bound, "{found} for {exact}: {error:.1e}");
    }
}

#[test]
fn single_sources_at_whole_distances() {
    let here = [1.0, -2.0, 0.5];
    let from = |d: [f64; 3]| [here[0] + d[0], here[1] + d[1], here[2] + d[2]];
    // Distances 3, 7, 9: all terms are ratios of whole numbers. A few roundings of half an epsilon
    // each.
    for d in [[1.0f64, 2.0, 2.0], [-2.0, 3.0, 6.0], [4.0, -4.0, 7.0]] {
        let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        assert_eq!(r, r.round());
        let charge = at(&[here], Some(&[5.0]), None, from(d));
        let exact =
            [5.0 / r, -5.0 * d[0] / r.powi(3), -5.0 * d[1] / r.powi(3), -5.0 * d[2] / r.powi(3)];
        assert_close(charge, exact, 4.0 * f64::EPSILON);
        // A dipole along x: phi = d_x x / r^3, its derivatives (r^2 - 3 x^2, -3 x y, -3 x z)
        // d_x / r^5.
        let dipole = at(&[here], None, Some(&[2.0, 0.0, 0.0]), from(d));
        let r5 = r.powi(5);
        let exact = [
            2.0 * d[0] / r.powi(3),
            2.0 * (r * r - 3.0 * d[0] * d[0]) / r5,
            -6.0 * d[0] * d[1] / r5,
            -6.0 * d[0] * d[2] / r5,
        ];
        assert_close(dipole, exact, 6.0 * f64::EPSILON);
        let both = at(&[here], Some(&[5.0]), Some(&[2.0, 0.0, 0.0]), from(d));
        assert_close(both, std::array::from_fn(|i| charge[i] + dipole[i]), 4.0 * f64::EPSILON);
    }
    // At the very place of a source nothing comes from it.
    assert_eq!(at(&[here], Some(&[5.0]), Some(&[1.0, 2.0, 3.0]), here), [0.0; 4]);
}

#[test]
fn a_ring_has_the_potential_of_its_charge_on_the_axis() {
    const N: usize = 1000;
    let (radius, z) = (0.6, 0.8);
    let ring: Vec<[f64; 3]> = (0..N)
        .map(|i| {
            let (sin, cos) = (TAU * i as f64 / N as f64).sin_cos();
            [radius * cos, radius * sin, 0.0]
        })
        .collect();
    let n = N as f64;
    // All sources are at distance 1. The same term N times rounds in the same direction as long as
    // the partial sum keeps its exponent: a quarter of an epsilon for each at worst, a twentieth on
    // average here.
    let bound = 0.15 * n * f64::EPSILON;
    assert_close(at(&ring, Some(&[1.0; N]), None, [0.0, 0.0, z]), [n, 0.0, 0.0, -n * z], bound);
    // Dipoles along the axis: N z; derivative N (1 - 3 z^2).
    let dipoles: Vec<f64> = (0..N).flat_map(|_| [0.0, 0.0, 1.0]).collect();
    let exact = [n * z, 0.0, 0.0, n * (1.0 - 3.0 * z * z)];
    assert_close(at(&ring, None, Some(&dipoles), [0.0, 0.0, z]), exact, bound);
}

#[test]
fn rock_salt_has_madelungs_constant() {
    // Evjen's cubes: charges on faces, edges and corners count by half, a quarter, an eighth, so
    // that cubes are neutral and have no moments below the fourth: the error falls with the fourth
    // power of the size.
    const MADELUNG: f64 = -1.747_564_594_633_182_2;
    let sum = |size: i32| {
        let (mut points, mut charges) = (Vec::new(), Vec::new());
        for x in -size..=size {
            for y in -size..=size {
                for z in -size..=size {
                    let faces = [x, y, z].iter().filter(|c| c.abs() == size).count();
                    let sign = if (x + y + z) % 2 == 0 { 1.0 } else { -1.0 };
                    points.push([x, y, z].map(f64::from));
                    charges.push(sign * 0.5f64.powi(faces as i32));
                }
            }
        }
        // The ion at the origin is a source as well: at its own place it contributes nothing.
        at(&points, Some(&charges), None, [0.0; 3])
    };
    let [small, large] = [8, 16].map(sum);
    let order = ((small[0] - MADELUNG) / (large[0] - MADELUNG)).log2();
    assert!((order - 4.0).abs() < 1e-3, "{order}");
    // Extrapolated, the sixth power is left: by -9e-11.
    let extrapolated = (16.0 * large[0] - small[0]) / 15.0;
    assert!((extrapolated - MADELUNG).abs() < 2e-10, "{:e}", extrapolated - MADELUNG);
    // By symmetry there is no field, but for rounding of terms up to 1.
    assert!(large[1..].iter().all(|g| g.abs() < 1e-12), "{large:?}");
}

/// Neumaier's compensated sum, and the sum of magnitudes.
fn compensated(terms: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut sum, mut lost, mut size) = (0.0f64, 0.0, 0.0);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
        size += term.abs();
    }
    [sum + lost, size]
}

#[test]
fn another_order_of_summation_gives_the_same() {
    const N: usize = 4000;
    let mut random = Random::new(51);
    let mut points = Distribution::Plummer.points(N, &mut random);
    // Some coincide.
    for i in 0..50 {
        points[N - 1 - i] = points[i];
    }
    let dipoles: Vec<f64> = (0..3 * N).map(|_| random.uniform() - 0.5).collect();
    for kind in [ChargeKind::Mixed, ChargeKind::Positive] {
        let charges = kind.charges(&points, &mut random);
        let mut potential = vec![f64::NAN; N];
        let mut gradient = vec![f64::NAN; 3 * N];
        let mut potentials =
            Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
        let densities = Densities { charges: Some(&charges), dipoles: Some(&dipoles) };
        direct::sum(fmm::Kernel::Laplace, &points, &points, densities, &mut potentials).unwrap();
        for (i, x) in points.iter().enumerate().step_by(37) {
            // The terms once more, from tensors, last source first.
            let terms = |component: usize| {
                let points = &points;
                let (charges, dipoles) = (&charges, &dipoles);
                (0..N).rev().filter(move |&j| points[j] != *x).flat_map(move |j| {
                    let r: [f64; 3] = std::array::from_fn(|a| x[a] - points[j][a]);
                    let square = r.iter().map(|c| c * c).sum::<f64>();
                    let cube = square * square.sqrt();
                    let d = &dipoles[3 * j..3 * j + 3];
                    let mut terms = [0.0; 4];
                    for a in 0..3 {
                        terms[1 + a] = if component == 0 {
                            d[a] * r[a] / cube
                        } else {
                            let same = if a == component - 1 { square } else { 0.0 };
                            d[a] * (same - 3.0 * r[a] * r[component - 1]) / (cube * square)
                        };
                    }
                    terms[0] = if component == 0 {
                        charges[j] / square.sqrt()
                    } else {
                        -charges[j] * r[component - 1] / cube
                    };
                    terms
                })
            };
            for component in 0..4 {
                let [exact, size] = compensated(terms(component));
                let found =
                    if component == 0 { potential[i] } else { gradient[3 * i + component - 1] };
                // N roundings of partial sums, which walk at random: sqrt(N) halves of an epsilon;
                // and a few of each term.
                let bound = 0.5 * f64::EPSILON * ((N as f64).sqrt() + 10.0) * size;
                let error = (found - exact).abs();
                assert!(error <= bound, "target {i}, {component}: {error:e}, at most {bound:e}");
            }
        }
    }
}
