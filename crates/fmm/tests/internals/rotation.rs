use crate::harmonics::regular;
use fmm::internals::harmonics::{Gradient, cosine, sine};
use fmm::internals::rotation::{Azimuth, Polar, block};

#[test]
fn rotating_an_expansion_is_expanding_the_rotated_point() {
    const P: usize = 60;
    let gradient = Gradient::<f64>::new(P);
    let point = [0.48, -0.6, 0.64];
    let here = regular(P, point);
    for theta in [0.0, 0.3, 1.1, std::f64::consts::FRAC_PI_2, 2.5, std::f64::consts::PI] {
        let (sin, cos) = f64::sin_cos(theta);
        let polar = Polar::<f64>::new(P, cos, sin, &gradient);
        let [x, y, z] = point;
        let there = regular(P, [cos * x - sin * z, y, sin * x + cos * z]);
        for n in 0..P {
            let bound = if n < 50 { 1e-13 } else { 1e-12 };
            let (rows, sines) = (&polar.blocks[block(n)..], block(n) + (n + 1) * (n + 1));
            for m in 0..=n {
                let row = &rows[m * (n + 1)..(m + 1) * (n + 1)];
                let sum: f64 = (0..=n).map(|k| row[k] * here[cosine(n, k)]).sum();
                let error = (sum - there[cosine(n, m)]).abs();
                assert!(error < bound, "n {n} m {m} theta {theta}: {error:e}");
            }
            for m in 1..=n {
                let row = &polar.blocks[sines + (m - 1) * n..sines + m * n];
                let sum: f64 = (1..=n).map(|k| row[k - 1] * here[sine(n, k)]).sum();
                let error = (sum - there[sine(n, m)]).abs();
                assert!(error < bound, "n {n} m {m} theta {theta}: {error:e}");
            }
        }
    }
}

#[test]
fn azimuths_align_the_vector() {
    let azimuth = Azimuth::<f64>::new(4, 3.0, -4.0);
    assert!((azimuth.forward[1][0] - 0.6).abs() < 1e-15);
    assert!((azimuth.forward[1][1] + 0.8).abs() < 1e-15);
    assert!((azimuth.backward[1][1] + 0.8).abs() < 1e-15);
    assert_eq!(Azimuth::<f64>::new(2, 0.0, 0.0).forward[1], [1.0, 0.0]);
}
