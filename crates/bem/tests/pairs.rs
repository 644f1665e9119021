//! Pair integrals against reference values, and against themselves: the whole is the sum of its
//! parts.

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

/// Numbers in [-0.5, 0.5].
fn numbers(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

type Point = [f64; 3];

fn minus(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: Point, b: Point) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// The rotation by a quaternion of any length.
fn rotation(q: [f64; 4]) -> impl Fn(Point) -> Point {
    let norm = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let [w, x, y, z] = q.map(|v| v / norm);
    let rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    move |v| rows.map(|row| dot(row, v))
}

/// Distance of a point from the segment from a to b.
fn to_segment(x: Point, a: Point, b: Point) -> f64 {
    let (e, u) = (minus(b, a), minus(x, a));
    let along = (dot(u, e) / dot(e, e)).clamp(0.0, 1.0);
    let off: Point = std::array::from_fn(|k| u[k] - along * e[k]);
    dot(off, off).sqrt()
}

/// The closed potential of `t` over `s` by Gauss's rule in both directions of parts that are a
/// quarter as large as their distance from the edges of `t`, where the potential is not smooth:
/// nothing of what the library does with pairs.
fn by_parts(s: [Point; 3], t: [Point; 3]) -> f64 {
    // Eight points of Gauss on [-1, 1].
    const NODES: [(f64, f64); 4] = [
        (0.183_434_642_495_649_8, 0.362_683_783_378_362),
        (0.525_532_409_916_329, 0.313_706_645_877_887_27),
        (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
        (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
    ];
    let source = Triangle::new(t);
    let line: Vec<(f64, f64)> = NODES
        .iter()
        .flat_map(|&(x, w)| [(0.5 - 0.5 * x, 0.5 * w), (0.5 + 0.5 * x, 0.5 * w)])
        .collect();
    let (mut sum, mut open) = (0.0, vec![(s, 0)]);
    while let Some((part, depth)) = open.pop() {
        let [a, b, c] = part;
        let centre: Point = std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0);
        let radius = part
            .iter()
            .map(|&v| dot(minus(v, centre), minus(v, centre)).sqrt())
            .fold(0.0, f64::max);
        let distance =
            (0..3).map(|i| to_segment(centre, t[i], t[(i + 1) % 3])).fold(f64::INFINITY, f64::min);
        if radius * 4.0 > distance && depth < 20 {
            // The longest edge in half: slivers become compact.
            let lengths = [(0, 1), (1, 2), (2, 0)].map(|(i, j): (usize, usize)| {
                dot(minus(part[j], part[i]), minus(part[j], part[i]))
            });
            let i = (0..3).fold(0, |k, i| if lengths[i] > lengths[k] { i } else { k });
            let [p, q, r] = [part[i], part[(i + 1) % 3], part[(i + 2) % 3]];
            let middle: Point = std::array::from_fn(|k| 0.5 * (p[k] + q[k]));
            open.extend([([p, middle, r], depth + 1), ([middle, q, r], depth + 1)]);
            continue;
        }
        let area = Triangle::new(part).area();
        for &(u, wu) in &line {
            for &(v, wv) in &line {
                let x = std::array::from_fn(|k| a[k] + u * ((b[k] - a[k]) + v * (c[k] - b[k])));
                sum += 2.0 * area * u * wu * wv * source.potential(x);
            }
        }
    }
    sum
}

/// Sheets at every angle from none through those of rounding to a visible one, turned, moved and
/// scaled.
#[test]
fn integrals_are_continuous_in_the_angle_between_the_planes() {
    let mut random = numbers(7);
    let s = [[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.3, 0.9, 0.0]];
    let mut worst = 0.0f64;
    for gap in [0.04, 0.3, 0.9] {
        for shift in [[0.0, 0.0], [0.31, -0.17], [1.3, 0.2]] {
            let exponents = (3..=17).map(|e| 10f64.powi(-e)).chain([0.0, 0.02, 0.2]);
            for angle in exponents {
                let t = s.map(|v| {
                    let [x, y] = [0.9 * v[0] - 0.2 * v[1], 0.3 * v[0] + 0.8 * v[1]];
                    [x + shift[0], y + shift[1], gap + angle * (x + 0.4 * y)]
                });
                let exact = by_parts(s, t);
                for round in 0..4 {
                    let turn = rotation([random(), random(), random(), random()]);
                    let scale = if round == 0 { 1.0 } else { 10f64.powf(12.0 * random()) };
                    let away = [random(), random(), random()];
                    let placed = |v: Point| {
                        let v = turn(v);
                        std::array::from_fn(|k| scale * (v[k] + away[k]))
                    };
                    let (s, t) = (Triangle::new(s.map(placed)), Triangle::new(t.map(placed)));
                    for accuracy in [1e-6, 1e-10] {
                        let rule = PairQuadrature::new(accuracy, 0);
                        for value in [rule.single_layer(&s, &t), rule.single_layer(&t, &s)] {
                            let error = (value / scale.powi(3) / exact - 1.0).abs();
                            worst = worst.max(error / accuracy);
                            assert!(
                                error < accuracy,
                                "gap {gap} shift {shift:?} angle {angle:e} at {accuracy}: {error:.1e}"
                            );
                        }
                    }
                }
            }
        }
    }
    // The bound is used.
    assert!(worst > 0.03, "{worst}");
}

/// Slivers next to, across, above and behind each other, without touching.
#[test]
fn slivers_are_as_exact_as_other_triangles() {
    let mut random = numbers(11);
    let mut worst = 0.0f64;
    for aspect in [1e2, 1e3, 1e4] {
        for round in 0..8 {
            // Half of them by needles' ends, half by their sides, of unlike lengths.
            let width = 1.0 / aspect;
            let s = [[0.0; 3], [1.0, 0.0, 0.0], [0.5 + random(), width, 0.0]];
            let length = 10f64.powf(random());
            let angle = if round % 3 == 0 { 0.0 } else { 3.0 * random() };
            let across = [-angle.sin(), angle.cos(), random()];
            let gap = width * 10f64.powf(1.0 + 2.0 * random());
            let start = [0.5 + 1.2 * random(), -gap, if round % 2 == 0 { 0.0 } else { gap }];
            let along =
                [angle.cos(), angle.sin() - 1.0_f64.min(angle.abs()), 0.3 * random() * angle];
            let at = |u: f64, v: f64| -> Point {
                std::array::from_fn(|k| {
                    start[k] + length * u * along[k] + length * width * v * across[k]
                })
            };
            let t = [at(0.0, 0.0), at(1.0, 0.0), at(0.5 + random(), -1.0)];
            let exact = by_parts(s, t);
            for accuracy in [1e-5, 1e-7] {
                let rule = PairQuadrature::new(accuracy, 0);
                let value = rule.single_layer(&Triangle::new(s), &Triangle::new(t));
                let error = (value / exact - 1.0).abs();
                worst = worst.max(error / accuracy);
                assert!(
                    error < accuracy,
                    "aspect {aspect} round {round} at {accuracy}: {error:.1e}"
                );
            }
        }
    }
    assert!(worst > 0.01, "{worst}");
}
