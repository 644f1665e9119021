//! Closed forms of one triangle against reference values.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::Triangle;

fn triangle(value: &serde_json::Value) -> Triangle {
    Triangle::new(serde_json::from_value(value.clone()).unwrap())
}

fn cases(file: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR")));
    let json: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    json["cases"].as_array().unwrap().clone()
}

#[test]
fn potential_and_solid_angle_match_the_reference() {
    for case in cases("triangle_potentials.json") {
        let t = triangle(&case["vertices"]);
        let x = serde_json::from_value(case["point"].clone()).unwrap();
        let (phi, omega) =
            (case["single_layer"].as_f64().unwrap(), case["solid_angle"].as_f64().unwrap());
        println!(
            "{} {x:?} {:.1e} {:.1e}",
            case["triangle"],
            t.potential(x) / phi - 1.0,
            t.solid_angle(x) - omega
        );
        // Rounding of sums of a few terms of the triangle's size; needles cancel by their aspect
        // ratio.
        assert!((t.potential(x) / phi - 1.0).abs() < 1e-12, "{case}: {}", t.potential(x));
        assert!((t.solid_angle(x) - omega).abs() < 1e-12, "{case}: {}", t.solid_angle(x));
    }
}

/// Potential and solid angle are harmonic and the normal derivative jumps: here, that of a far
/// point is that of a charge.
#[test]
fn far_potential_is_that_of_the_area() {
    let t = Triangle::new([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    let x = [1000.0 / 3.0_f64.sqrt() + 1.0 / 3.0; 3];
    let r = ((x[0] - 1.0 / 3.0).powi(2) * 2.0 + x[2] * x[2]).sqrt();
    // The next term is a quadrupole, (size / r)^2; cancellation of terms of size r against A / r
    // costs r^2 roundings.
    assert!((t.potential(x) * r / t.area() - 1.0).abs() < 1e-6);
}

#[test]
fn self_integral_of_needles() {
    // 4/3 A^2 sum_i ln(P / (P - 2 l_i)) / l_i for the right triangle with legs 1 and 1e-6,
    // differences computed by hand.
    let t = Triangle::new([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1e-6, 0.0]]);
    let (a, w) = (0.5e-6, 1e-6f64);
    let c = (1.0 + w * w).sqrt();
    // P - 2c = 1 + w - c = w - w^2 / (1 + c);  P - 2 = w + w^2 / (1 + c);  P - 2w = 1 + c - w.
    let p = 1.0 + w + c;
    let e = w * w / (1.0 + c);
    let sum = (p / (w - e)).ln() / c + (p / (w + e)).ln() + (p / (1.0 + c - w)).ln() / w;
    let exact = 4.0 / 3.0 * a * a * sum;
    assert!((t.self_integral() / exact - 1.0).abs() < 1e-9, "{}", t.self_integral() / exact - 1.0);
}

/// QuadraturePoints off the plane at all distances, next to the triangle and above it.
const POINTS: [[f64; 3]; 6] = [
    [0.3, 0.2, 0.5],
    [0.3, 0.3, -0.1],
    [1.4, -0.2, 0.3],
    [-0.5, 0.7, 0.0],
    [0.1, 0.05, 2.0],
    [10.0, 3.0, -4.0],
];

fn skew() -> [[f64; 3]; 3] {
    [[0.0, 0.0, 0.0], [1.0, 0.1, 0.2], [0.2, 0.9, -0.1]]
}

#[test]
fn gradient_is_the_slope_of_the_potential() {
    let t = Triangle::new(skew());
    for x in POINTS {
        let gradient = t.potential_gradient(x);
        for axis in 0..3 {
            let h = 1e-4;
            let at = |steps: f64| {
                let mut y = x;
                y[axis] += steps * h;
                t.potential(y)
            };
            // Fourth order: h^4 times a fifth derivative (at most about 1e5 at a distance of 0.1),
            // and rounding over h.
            let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
            assert!(
                (gradient[axis] - slope).abs() < 1e-10,
                "{x:?} {axis}: {} {slope}",
                gradient[axis]
            );
        }
    }
}

/// Means over the 4^levels congruent parts of a triangle, by the midpoint rule with the errors of
/// h^2 and h^4 taken out.
fn integral(v: [[f64; 3]; 3], f: &dyn Fn([f64; 3]) -> f64) -> f64 {
    fn sum(v: [[f64; 3]; 3], levels: usize, f: &dyn Fn([f64; 3]) -> f64) -> f64 {
        let mean = |points: &[[f64; 3]]| -> [f64; 3] {
            std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / points.len() as f64)
        };
        if levels == 0 {
            return f(mean(&v));
        }
        let [a, b, c] = v;
        let (p, q, r) = (mean(&[a, b]), mean(&[b, c]), mean(&[c, a]));
        let parts = [[a, p, r], [p, b, q], [r, q, c], [p, q, r]];
        parts.into_iter().map(|part| sum(part, levels - 1, f)).sum::<f64>() / 4.0
    }
    let means: Vec<f64> = (4..=7).map(|levels| sum(v, levels, f)).collect();
    let second: Vec<f64> = means.windows(2).map(|m| (4.0 * m[1] - m[0]) / 3.0).collect();
    let fourth: Vec<f64> = second.windows(2).map(|m| (16.0 * m[1] - m[0]) / 15.0).collect();
    (64.0 * fourth[1] - fourth[0]) / 63.0 * Triangle::new(v).area()
}

#[test]
fn linear_densities_match_quadrature() {
    let v = skew();
    let t = Triangle::new(v);
    let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let normal = cross(sub(v[1], v[0]), sub(v[2], v[0])).map(|c| c / (2.0 * t.area()));
    for x in POINTS {
        // Where the integrand is smooth on the scale of the finest parts, 1/128.
        let potentials = t.linear_potentials(x);
        for k in 0..3 {
            let (p, q) = (v[(k + 1) % 3], v[(k + 2) % 3]);
            let weight = |y| dot(cross(sub(q, p), sub(y, p)), normal) / (2.0 * t.area());
            let single = |y| weight(y) / dot(sub(x, y), sub(x, y)).sqrt();
            let double = |y| {
                let r = sub(x, y);
                weight(y) * dot(normal, r) / dot(r, r).powf(1.5)
            };
            let slope = |axis: usize| {
                move |y| {
                    let r = sub(x, y);
                    -weight(y) * r[axis] / dot(r, r).powf(1.5)
                }
            };
            let mut compared = vec![
                (potentials.single_layer[k], integral(v, &single)),
                (potentials.double_layer[k], integral(v, &double)),
            ];
            for axis in 0..3 {
                compared.push((potentials.gradient[k][axis], integral(v, &slope(axis))));
            }
            for (value, expected) in compared {
                // Three levels of extrapolation leave (h/distance)^8: (1/128/0.1)^8 at the nearest
                // point.
                assert!((value - expected).abs() < 1e-8, "{x:?} {k}: {value} {expected}");
            }
        }
        // Together they are the uniform density.
        let sum: f64 = potentials.single_layer.iter().sum();
        assert!((sum / t.potential(x) - 1.0).abs() < 1e-12);
        let sum: f64 = potentials.double_layer.iter().sum();
        assert!((sum - t.solid_angle(x)).abs() < 1e-12);
        for axis in 0..3 {
            let sum: f64 = potentials.gradient.iter().map(|g| g[axis]).sum();
            assert!((sum - t.potential_gradient(x)[axis]).abs() < 1e-12);
        }
    }
}
