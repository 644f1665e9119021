//! The recursions of harmonics, and what other tests take of them.

use approx::assert_relative_eq;
use fmm::internals::harmonics::{Gradient, Harmonics, Visit};
use simd::{One, Simd};

const P: usize = 30;

/// Regular harmonics of `n < p` at one point.
pub(crate) fn regular(p: usize, point: [f64; 3]) -> Vec<f64> {
    struct Keep(Vec<f64>);
    impl Visit<One<f64>, 1> for Keep {
        fn visit(&mut self, _: usize, place: usize, [harmonic]: [One<f64>; 1]) {
            self.0[place] = harmonic.sum();
        }
    }
    let mut kept = Keep(vec![0.0; p * p]);
    Harmonics::<f64>::new(p).walk(p, &point.map(|x| [One::splat(x)]), &mut kept);
    kept.0
}

/// Singular harmonics `C / r^(2n+1)`, `S / r^(2n+1)`: the regular ones of the inverted point, over
/// r.
pub(crate) fn singular(p: usize, point: [f64; 3]) -> Vec<f64> {
    let r2: f64 = point.iter().map(|c| c * c).sum();
    regular(p, point.map(|c| c / r2)).into_iter().map(|value| value / r2.sqrt()).collect()
}

#[test]
fn the_addition_theorem_gives_the_inverse_distance() {
    let (y, x) = ([0.1, -0.2, 0.15], [-0.5, 0.6, 0.4]);
    let sum: f64 = regular(P, y).iter().zip(singular(P, x)).map(|(a, b)| a * b).sum();
    let d: f64 = (0..3).map(|i| (x[i] - y[i]).powi(2)).sum();
    // The tail is below (|y|/|x|)^30 = 4e-16.
    assert_relative_eq!(sum, 1.0 / d.sqrt(), max_relative = 1e-14);
}

#[test]
fn a_degree_sums_to_the_power_of_the_radius() {
    let point = [0.3, 0.7, -0.2];
    let r2: f64 = point.iter().map(|c| c * c).sum();
    let values = regular(P, point);
    for n in 0..P {
        let sum: f64 = values[n * n..(n + 1) * (n + 1)].iter().map(|v| v * v).sum();
        assert_relative_eq!(sum, r2.powi(n as i32), max_relative = 1e-12);
    }
}

#[test]
fn derivatives_agree_with_differences() {
    let point = [0.31, -0.52, 0.43];
    let gradient = Gradient::<f64>::new(P);
    let here = regular(P, point);
    let h = 1e-6;
    for axis in 0..3 {
        let shifted = |sign: f64| {
            let mut moved = point;
            moved[axis] += sign * h;
            regular(P, moved)
        };
        let (plus, minus) = (shifted(1.0), shifted(-1.0));
        let mut exact = vec![0.0; P * P];
        for &(row, column, factor) in (0..P).flat_map(|n| gradient.degree(axis, n)) {
            exact[row as usize] += factor * here[column as usize];
        }
        for i in 0..P * P {
            let difference = (plus[i] - minus[i]) / (2.0 * h);
            assert!((exact[i] - difference).abs() < 1e-7, "axis {axis}, place {i}");
        }
    }
}
