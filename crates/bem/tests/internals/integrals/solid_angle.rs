//! Solid angles that triangles see of each other.

use std::f64::consts::PI;

use bem::Triangle;
use bem::internals::geometry::Vec3;
use bem::internals::integrals::{
    OuterQuadrature, Touching, WeightedPoints, far_rule, in_plane_of, solid_angle_over,
};

fn triangle(value: &serde_json::Value) -> Triangle {
    Triangle::new(serde_json::from_value(value.clone()).unwrap())
}

#[test]
fn double_layer_matches_the_reference() {
    let json: serde_json::Value =
        serde_json::from_str(include_str!("../../data/triangle_pairs.json")).unwrap();
    for case in json["cases"].as_array().unwrap() {
        let (s, t) = (triangle(&case["test"]), triangle(&case["trial"]));
        let exact = case["double_layer"].as_f64().unwrap();
        let digits = 10f64.powi(-case["digits"].as_i64().unwrap() as i32);
        for accuracy in [1e-4, 1e-6, 1e-8] {
            let value = solid_angle_over(&s, &t, accuracy, &mut WeightedPoints::default());
            let allowed = accuracy * 2.0 * PI * s.area().min(t.area());
            // A part's error is bounded by the last difference, and parts of one level add up.
            assert!((value - exact).abs() < 4.0 * allowed + digits, "{case} {accuracy}: {value}");
        }
    }
}

/// Sheets that overlap at any distance, slivers among them: the solid angle falls from 2 pi to
/// 0 within that distance of an edge's shadow, by cuts of triangles that have an edge along the
/// shadow and the other sides far from any.
#[test]
fn overlapping_sheets_are_exact_at_every_distance() {
    let mut nodes = WeightedPoints::default();
    // The strip 0 < x < 1 of S = [-1, 1] x [0, w] lies above T = [0, 2] x [-10, 10], far from
    // the other sides of T: the angle that two half planes leave is that of the plane, pi + 2
    // atan(x / h), of which the mean over -a < x < a is pi.
    for width in [1.0, 1e-2, 1e-4] {
        for gap in [1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10] {
            let corners = |x: f64, y: f64, z: f64| Vec3::new(x, y, z);
            let (a, b, c, d) = (
                corners(-1.0, 0.0, gap),
                corners(1.0, 0.0, gap),
                corners(1.0, width, gap),
                corners(-1.0, width, gap),
            );
            // A square of half the sheet each, and its mirror image, which make pi together.
            let far = 100.0;
            let t = [corners(0.0, -far, 0.0), corners(far, 0.0, 0.0), corners(0.0, far, 0.0)];
            let mirrored = t.map(|v| corners(-v.x, v.y, v.z));
            let (right, left) =
                (Triangle::of(t), Triangle::of([mirrored[0], mirrored[2], mirrored[1]]));
            let (first, second) = (Triangle::of([a, b, c]), Triangle::of([a, c, d]));
            for accuracy in [1e-4, 1e-6] {
                let mut of =
                    |s: &Triangle, t: &Triangle| solid_angle_over(s, t, accuracy, &mut nodes);
                // By symmetry each half of the square sees as much of the left as the other
                // half sees of the right.
                let found = of(&first, &right) + of(&second, &right);
                let both = found + of(&first, &left) + of(&second, &left);
                // All of the plane but what lies beyond `far`: 2 pi h / (inner radius).
                let whole = 2.0 * PI * 2.0 * width;
                let allowed = accuracy * whole + 2.0 * whole * gap / far * 2.0;
                assert!(
                    (both - whole).abs() < 2.0 * allowed,
                    "{width} {gap} {accuracy}: {}",
                    both / whole - 1.0
                );
                assert!(
                    (2.0 * found - whole).abs() < 4.0 * allowed,
                    "{width} {gap} {accuracy}: {}",
                    2.0 * found / whole - 1.0
                );
            }
        }
    }
}

/// Folds of all angles about a common edge or vertex, against cuts alone to ten times the
/// accuracy.
#[test]
fn neighbours_are_as_exact_as_cuts() {
    let mut seed = 5u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut nodes = WeightedPoints::default();
    for round in 0..60 {
        // S lies in the plane z = 0, at y > 0.
        let s = [[0.0; 3], [1.0, 0.0, 0.0], [random(), 0.4 + random(), 0.0]];
        let (angle, height) = (0.3 + 5.6 * random(), 0.4 + random());
        let tip = [random(), height * angle.cos(), height * angle.sin()];
        let mut above = || [2.0 * random() - 1.0, 2.0 * random() - 1.0, 0.1 + random()];
        let t =
            if round % 2 == 0 { [s[1], s[0], tip] } else { [above(), s[round / 2 % 3], above()] };
        let (s, t) = (Triangle::new(s), Triangle::new(t));
        if t.area() < 0.05 {
            continue;
        }
        let smaller = 2.0 * PI * s.area().min(t.area());
        let sum = |nodes: &mut WeightedPoints| [nodes.sum_solid_angle(&t)];
        let (allowed, touching) = (1e-8 * smaller, Touching::Smooth);
        let mut cuts = OuterQuadrature { sum, allowed, touching, nodes: &mut nodes };
        let [exact] = cuts.adaptive(&s.vertices, s.area());
        for accuracy in [1e-5, 1e-6, 1e-7] {
            let error = (solid_angle_over(&s, &t, accuracy, &mut nodes) - exact).abs() / smaller;
            // Each of two halves may err by this much.
            assert!(error < 2.0 * accuracy + 4e-8, "{round} {accuracy}: {error:.1e}");
        }
    }
}

/// Rules for pairs at all distances, slivers among them, against rules for an error 1e4 times
/// smaller.
#[test]
fn rules_far_away_are_as_good_as_asked_and_no_better_than_needed() {
    let mut seed = 5u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut nodes = WeightedPoints::default();
    let mut worst = [0.0f64; 3];
    for round in 0..20_000 {
        let thin = if round % 4 == 0 { 0.1 } else { 1.0 };
        let mut triangle = |depth: f64| {
            let size = 8f64.powf(random());
            let mut corner = || Vec3::new(random(), thin * random(), depth * random()) * size;
            [corner(), corner(), corner()]
        };
        let (s, t) = (Triangle::of(triangle(0.3)), triangle(1.0));
        let apart = s.radius * 4f64.powf(random() + 0.5);
        let direction = Vec3::new(random(), random(), random()).normalize();
        let t = Triangle::of(t.map(|v| v + direction * apart));
        let is_needle = |of: &Triangle| of.area() < 1e-3 * of.radius.powi(2);
        if is_needle(&s) || is_needle(&t) || in_plane_of(&s, &t) {
            continue;
        }
        for (worst, accuracy) in worst.iter_mut().zip([1e-6, 1e-7, 1e-9]) {
            let allowed = accuracy * 2.0 * PI * s.area().min(t.area());
            let rules = [1.0, 1e-4].map(|share| far_rule(&s, &t, share * allowed, 0));
            let sum = |nodes: &mut WeightedPoints| [nodes.sum_solid_angle(&t)];
            let (touching, nodes) = (Touching::Smooth, &mut nodes);
            let mut outer = OuterQuadrature { sum, allowed, touching, nodes };
            if let [Some(rule), Some(finer)] = rules {
                let [[found], [exact]] =
                    [rule, finer].map(|rule| outer.by_rule(&s.vertices, s.area(), rule));
                *worst = worst.max((found - exact).abs() / allowed);
            }
        }
    }
    // 0.06, 0.05 and 0.015 when this was written.
    assert!(worst.iter().all(|worst| (0.01..0.5).contains(worst)), "{worst:?}");
}

/// Next to triangles 10 to 1,000 times as large, where a rule over the smaller one takes the flux
/// of the larger one's field: as exact as asked against integrals over small parts of the larger.
#[test]
fn small_triangles_next_to_large_ones_are_as_exact_as_asked() {
    let mut nodes = WeightedPoints::default();
    let mut seed = 9u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        2.0 * ((seed >> 11) as f64 / (1u64 << 53) as f64) - 1.0
    };
    for size in [0.1, 0.01, 1e-3] {
        for _ in 0..40 {
            let large = Triangle::of([0; 3].map(|_| Vec3::new(random(), random(), 0.0)));
            // Next to it, at 2 to 10 sizes from its plane or edge.
            let place = Vec3::new(random(), random(), size * (6.0 + 4.0 * random()));
            let small = [0; 3].map(|_| place + Vec3::new(random(), random(), random()) * size);
            let small = Triangle::of(small);
            if large.area() < 0.02 || small.area() < 0.1 * size * size {
                continue;
            }
            let unit = 2.0 * PI * small.area();
            let sum = |nodes: &mut WeightedPoints| [nodes.sum_solid_angle(&small)];
            let (allowed, touching) = (1e-9 * unit, Touching::Smooth);
            let mut outer = OuterQuadrature { sum, allowed, touching, nodes: &mut nodes };
            let [exact] = outer.adaptive(&large.vertices, large.area());
            for accuracy in [1e-4, 1e-6] {
                let value = solid_angle_over(&large, &small, accuracy, &mut nodes);
                let error = (value - exact).abs() / unit;
                assert!(error < accuracy + 1e-8, "{size} {accuracy}: {error:.1e}");
            }
        }
    }
}
