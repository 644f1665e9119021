use fmm::internals::truncation::treecode::errors;

#[test]
fn errors_fall_like_the_ratio_of_distances_and_derivatives_agree_with_differences() {
    const P: usize = 40;
    let (x, y) = ([1.1, -0.9, 0.7], [0.3, 0.1, -0.35]);
    for kappa in [0.0, 0.3, 4.0] {
        for axes in [[0, 0], [0, 1], [2, 1]] {
            let found = errors(kappa, &x, &y, axes, P);
            // 0.47 / 1.58 is 0.3; rounding is about 1e-16.
            assert!(found[P].iter().all(|e| e.abs() < 1e-13), "{kappa} {:?}", found[P]);
            let h = 1e-4;
            let at = |of_x: f64, of_y: f64, p: usize| {
                let (mut x, mut y) = (x, y);
                x[axes[0]] += of_x;
                y[axes[1]] += of_y;
                errors(kappa, &x, &y, axes, P)[p][0]
            };
            for p in 0..8 {
                let of_x = (at(h, 0.0, p) - at(-h, 0.0, p)) / (2.0 * h);
                let of_y = (at(0.0, h, p) - at(0.0, -h, p)) / (2.0 * h);
                let both = at(h, h, p) - at(h, -h, p) - at(-h, h, p) + at(-h, -h, p);
                for (i, expected) in [of_x, of_y, both / (4.0 * h * h)].into_iter().enumerate() {
                    // Differences leave h^2 / 6 of a third derivative, and rounding over h^2.
                    let error = (found[p][i + 1] - expected).abs();
                    assert!(error < 1e-6, "{kappa} {axes:?} {p} {i}: {error:e}");
                }
            }
        }
    }
}
