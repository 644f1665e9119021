use fgt::internals::axis_kernel::{AxisKernel, PADDING};
use fgt::internals::window::{FIT, MAX_VECTORS, Shape, Window};
use simd::{One, Simd};

/// The error that may come from one axis: three axes, and a charge of its own is the worst case,
/// make half of the tolerance. Next to the last digits of doubles rounding leaves no room for more.
fn one_axis_error(tolerance: f64) -> f64 {
    (tolerance / 6.0).max(2.5e-13)
}

/// Weights, and their slopes, of the nodes of a point.
fn nodes(window: &Window, u: f64) -> (i64, Vec<[f64; 2]>) {
    let (first, t) = window.first(u);
    let lanes = |rows: [One<f64>; MAX_VECTORS]| -> Vec<f64> {
        rows[..window.width()].iter().map(|v| v.lanes()[0]).collect()
    };
    let (values, slopes) = if window.padded() == 8 {
        (window.weights::<One<f64>, 8>(t), window.slopes::<One<f64>, 8>(t))
    } else {
        (window.weights::<One<f64>, 16>(t), window.slopes::<One<f64>, 16>(t))
    };
    let both = lanes(values).into_iter().zip(lanes(slopes)).map(|(v, s)| [v, s]).collect();
    (first as i64 - (window.width() / 2) as i64, both)
}

/// Largest errors of the Gaussian and of its slope, over sqrt(2 / bandwidth), along one axis.
fn largest_errors(shape: Shape, tolerance: f64) -> [f64; 2] {
    let window = Window::new(shape, tolerance);
    let bandwidth = shape.spacing.powi(-2);
    let decay = (1.0 / (0.05 * tolerance)).ln();
    let reach = (decay * bandwidth).sqrt().ceil() as usize + 1;
    let kernel = AxisKernel::new(bandwidth, &window, reach);
    let mut worst = [0.0f64; 2];
    for y in (0..8).map(|i| f64::from(i) / 8.0) {
        let (from, sources) = nodes(&window, y);
        for r in (0..).map(|i| 0.37 * f64::from(i)).take_while(|r| *r < 1.3 * reach as f64) {
            let x = y + r;
            let whole = x.floor();
            let (to, targets) = nodes(&window, x - whole);
            let mut sums = [0.0; 2];
            for (i, target) in targets.iter().enumerate() {
                for (j, source) in sources.iter().enumerate() {
                    let n = (to + whole as i64 + i as i64) - (from + j as i64);
                    if n.unsigned_abs() as usize <= reach {
                        let k = kernel.padded[((PADDING + reach) as i64 + n) as usize];
                        (0..2).for_each(|s| sums[s] += target[s] * k * source[0]);
                    }
                }
            }
            let exact = (-r * r / bandwidth).exp();
            let slope = -2.0 * r / bandwidth * exact;
            worst[0] = worst[0].max((sums[0] - exact).abs());
            worst[1] = worst[1].max((sums[1] - slope).abs() / (2.0 / bandwidth).sqrt());
        }
    }
    worst
}

#[test]
fn every_shape_has_the_error_of_its_tolerance() {
    for decade in 2..=12 {
        let tolerance = 10f64.powi(-decade);
        for gradient in [false, true] {
            let shape = Shape::of(tolerance, gradient);
            let window = Window::new(shape, tolerance);
            let rows = window.coefficients().map(|all| all.len() / window.padded());
            assert!(rows[0] == window.terms() && rows.iter().all(|rows| *rows <= FIT));
            let [value, slope] = largest_errors(shape, tolerance);
            let most = one_axis_error(tolerance);
            assert!(value <= most, "{tolerance:e} {gradient}: {value:.2e}");
            assert!(!gradient || slope <= most, "{tolerance:e}: slope {slope:.2e}");
        }
    }
}

#[test]
fn wider_gaussians_have_smaller_errors() {
    // Gaussians of a group are up to four times as wide as the grid is made for.
    let shape = Shape::of(1e-6, true);
    let fine = Shape { spacing: 0.5 * shape.spacing, ..shape };
    assert!(largest_errors(fine, 1e-6)[0] <= largest_errors(shape, 1e-6)[0]);
}

#[test]
fn the_transform_is_that_of_the_window() {
    let shape = Shape::of(1e-9, false);
    let window = Window::new(shape, 1e-9);
    // The trapezoidal rule over the window: it errs by what the edges have, 1 / I0(beta).
    for theta in [0.0, 0.5, 2.0, 3.1] {
        let n = 20_000;
        let half = 0.5 * window.width() as f64;
        let sum: f64 = (-n..=n)
            .map(|i| f64::from(i) / f64::from(n) * half)
            .map(|z| shape.value(z) * (theta * z).cos())
            .sum();
        let exact = sum * half / f64::from(n);
        assert!((window.transform(theta) - exact).abs() < 1e-9, "{theta}");
    }
}
