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
        // Rounding of sums of a few terms of the triangle's size; needles cancel by their aspect ratio.
        assert!((t.potential(x) / phi - 1.0).abs() < 1e-12, "{case}: {}", t.potential(x));
        assert!((t.solid_angle(x) - omega).abs() < 1e-12, "{case}: {}", t.solid_angle(x));
    }
}

/// Potential and solid angle are harmonic and the normal derivative jumps: here, that of a far point is that of a charge.
#[test]
fn far_potential_is_that_of_the_area() {
    let t = Triangle::new([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    let x = [1000.0 / 3.0_f64.sqrt() + 1.0 / 3.0; 3];
    let r = ((x[0] - 1.0 / 3.0).powi(2) * 2.0 + x[2] * x[2]).sqrt();
    // The next term is a quadrupole, (size / r)^2; cancellation of terms of size r against A / r costs r^2 roundings.
    assert!((t.potential(x) * r / t.area() - 1.0).abs() < 1e-6);
}

#[test]
fn self_integral_of_needles() {
    // 4/3 A^2 sum_i ln(P / (P - 2 l_i)) / l_i for the right triangle with legs 1 and 1e-6, differences worked by hand.
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
