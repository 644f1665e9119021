//! Closed forms of one triangle against reference values.

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
