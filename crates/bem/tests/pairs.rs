//! Pair integrals against reference values, and against themselves: the whole is the sum of its parts.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{PairQuadrature, Triangle};

fn cases() -> Vec<serde_json::Value> {
    let text = include_str!("data/triangle_pairs.json");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    json["cases"].as_array().unwrap().clone()
}

fn vertices(value: &serde_json::Value) -> [[f64; 3]; 3] {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn single_layer_matches_the_reference() {
    for case in cases() {
        let (s, t) = (vertices(&case["test"]), vertices(&case["trial"]));
        let exact = case["single_layer"].as_f64().unwrap();
        let digits = case["digits"].as_i64().unwrap();
        for accuracy in [1e-6, 1e-8, 1e-9, 1e-10, 1e-12] {
            let rule = PairQuadrature::new(accuracy, 0);
            let value = rule.single_layer(&Triangle::new(s), &Triangle::new(t));
            let allowed = accuracy + 10f64.powi(-digits as i32);
            assert!((value / exact - 1.0).abs() < allowed, "{case} at {accuracy}: {value}");
        }
    }
}

/// A triangle cut in five.
fn parts(t: [[f64; 3]; 3]) -> Vec<[[f64; 3]; 3]> {
    let along =
        |a: [f64; 3], b: [f64; 3], s: f64| std::array::from_fn(|k| a[k] + s * (b[k] - a[k]));
    let [a, b, c] = t;
    let cut = along(b, c, 0.3);
    let [p, q, r] = [along(a, b, 0.5), along(b, cut, 0.5), along(cut, a, 0.5)];
    vec![[a, p, r], [p, b, q], [r, q, cut], [p, q, r], [a, cut, c]]
}

#[test]
fn the_whole_is_the_sum_of_its_parts() {
    let s = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]];
    let sliver = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 1e-3, 0.0]];
    let moved = |t: [[f64; 3]; 3], by: [f64; 3], tilt: f64| {
        t.map(|v| [v[0] + by[0], v[1] + by[1], v[2] + by[2] + tilt * (v[0] + 0.3 * v[1])])
    };
    let mut pairs = vec![
        ("T junction", s, [[0.3, 0.0, 0.0], [0.9, 0.0, 0.0], [0.5, -0.7, 0.2]]),
        ("hanging vertex", s, [[0.37, 0.0, 0.0], [0.5, -0.6, 0.4], [0.1, -0.5, 0.3]]),
        ("on the face", s, [[0.3, 0.3, 0.0], [0.5, 0.2, 0.0], [0.4, 0.3, 0.6]]),
        ("overlap in one plane", s, [[0.3, 0.1, 0.0], [1.1, 0.3, 0.0], [0.2, 0.5, 0.0]]),
        ("slivers side by side", sliver, moved(sliver, [0.0, -1e-3, 0.0], 0.0)),
        ("slivers shifted", sliver, moved(sliver, [0.13, -2e-3, 0.0], 0.0)),
        ("sliver and triangle", sliver, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.7]]),
        ("sliver folded", sliver, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 1e-3]]),
    ];
    for gap in [1e-1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-11] {
        for tilt in [0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1] {
            pairs.push(("sheets", s, moved(s, [0.0, 0.0, gap], tilt)));
            pairs.push(("shifted sheets", s, moved(s, [0.23, 0.11, gap], tilt)));
        }
    }
    for (name, s, t) in pairs {
        for accuracy in [1e-6, 1e-9] {
            let rule = PairQuadrature::new(accuracy, 0);
            let of = |s, t| rule.single_layer(&Triangle::new(s), &Triangle::new(t));
            let whole = of(s, t);
            let by_parts: f64 = parts(s).into_iter().map(|p| of(p, t)).sum();
            let by_other: f64 = parts(t).into_iter().map(|p| of(s, p)).sum();
            // Ten integrals; and tilts below 1e-7 may be read as parallel, at a cost of some 1e-9.
            let allowed = accuracy + 1e-8;
            for (what, value) in [("S", by_parts), ("T", by_other), ("swap", of(t, s))] {
                let error = (value / whole - 1.0).abs();
                assert!(error < allowed, "{name} {t:?} at {accuracy}: {what} {error:.1e}");
            }
        }
    }
}
