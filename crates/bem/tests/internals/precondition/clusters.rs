//! Clouds that stand for clusters.

use bem::internals::geometry::Vec3;
use bem::internals::precondition::clusters::{POINTS, of_clouds};
use nalgebra::{DMatrix, SymmetricEigen};

#[test]
fn clouds_are_points_far_away_and_positive_definite_together() {
    // By the series of erf; the approximation is good to 1.5e-7.
    for (x, exact) in [(0.1, 0.112_462_916), (0.5, 0.520_499_878), (1.5, 0.966_105_146)] {
        let r: f64 = 0.3;
        let variance = 0.5 * (r / x) * (r / x);
        assert!((of_clouds(r * r, variance) * r - exact).abs() < 2e-7, "{x}");
    }
    // Where the quotient is replaced, from where on an error of 1e-8 counts over x, and where
    // clouds become points.
    for (x, step) in [(1e-3, 2e-5), (POINTS / std::f64::consts::SQRT_2, 1e-4)] {
        let variance = |x: f64| 0.5 / (x * x);
        let (before, after) =
            (of_clouds(1.0, variance(x * 0.999_999)), of_clouds(1.0, variance(x * 1.000_001)));
        assert!((before / after - 1.0).abs() < step + 3e-6, "{x}: {before} {after}");
    }
    assert_eq!(of_clouds(0.0, 0.0), 0.0);
    // Pairs of clouds that all but coincide, of spreads 1 to 100.
    let place = |i: usize| {
        let k = (i / 2) as f64;
        Vec3::new((7.0 * k).sin(), (5.0 * k).cos(), 1e-14 * (i % 2) as f64)
    };
    let variance = |i: usize| 1e-4 * 1.5f64.powi((i % 12) as i32);
    let gram = DMatrix::from_fn(40, 40, |i, j| {
        of_clouds((place(i) - place(j)).norm_squared(), variance(i) + variance(j))
    });
    let least = SymmetricEigen::new(gram).eigenvalues.min();
    // Errors of the approximation against entries up to 80.
    assert!(least > -1e-4, "{least}");
}
