use fmm::internals::radial::Radial;
use fmm::internals::screened::{HALF_DIAGONAL, corner, regular};
use simd::{One, Simd};

#[test]
fn series_and_recurrence_are_bessel_functions() {
    for kappa in [1e-6, 0.1, 1.0, 8.0, 50.0, 690.0] {
        for p in [1, 2, 7, 30] {
            let radial = Radial::<f64>::new(p, kappa);
            for u in [0.0, 0.3, HALF_DIAGONAL] {
                let mut values = vec![[One::splat(0.0)]; p];
                radial.at([One::splat(u * u)], &mut values);
                let exact = regular(p, kappa * u, (-HALF_DIAGONAL * kappa).exp());
                for ((value, exact), corner) in values.iter().zip(exact).zip(corner(p, kappa)) {
                    let exact = exact / corner;
                    let error = (value[0].lanes()[0] - exact).abs();
                    // Each of about kappa / 2 factors of a term is rounded.
                    let rounding = 2e-14 + 2e-16 * kappa;
                    assert!(error < rounding * exact, "{kappa} {p} {u}: {error:e}");
                }
                let mut singles = vec![[One::splat(0.0f32)]; p];
                Radial::new(p, kappa).at([One::splat((u * u) as f32)], &mut singles);
                for (single, value) in singles.iter().zip(&values) {
                    let [single, value] = [f64::from(single[0].lanes()[0]), value[0].lanes()[0]];
                    // Less than 1e-38 is 0.
                    let error = (single - value).abs();
                    assert!(error < 1e-5 * value + 1e-37, "{kappa} {p} {u}: {error:e}");
                }
            }
        }
    }
}
