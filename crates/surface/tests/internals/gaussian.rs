use mesh::vector::{add, dot, norm, scale, sub};
use simd::Level;
use surface::internals::balls::Ball;
use surface::internals::field::{Feature, Field};
use surface::internals::gaussian::Gaussian;

#[test]
fn one_atom_has_its_own_sphere() {
    let field = Gaussian::new(vec![Ball { centre: [0.3, 0.2, 0.1], radius: 1.7 }], 2.3);
    let foot = field.foot([1.5, 1.0, 0.5]).unwrap();
    assert!((norm(sub(foot.point, [0.3, 0.2, 0.1])) - 1.7).abs() < 1e-9);
    assert!((field.curvature(Feature::Smooth, foot.point) - 1.0 / 1.7).abs() < 1e-9);
    let step = add(foot.point, scale(-1e-4, foot.normal));
    assert!((field.value(step) - 1e-4).abs() < 1e-7);
}

#[test]
fn every_level_sums_the_terms() {
    let at = |k: usize| {
        let t = k as f64;
        [9.0 * (1.7 * t).sin(), 7.0 * (2.3 * t).cos(), 5.0 * (0.9 * t).sin()]
    };
    let balls: Vec<Ball> =
        (0..150).map(|k| Ball { centre: at(k), radius: 1.0 + 0.01 * k as f64 }).collect();
    let field = Gaussian::new(balls.clone(), 2.3);
    for k in 0..200 {
        let x = scale(1.4, at(1000 + k));
        let (mut total, mut gradient, mut second) = (0.0, [0.0; 3], [0.0; 6]);
        for Ball { centre, radius } in &balls {
            let (from, rate) = (sub(x, *centre), 2.3 / (radius * radius));
            let term = (2.3 - rate * dot(from, from)).exp();
            total += term;
            gradient = add(gradient, scale(-2.0 * rate * term, from));
            let pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
            for (sum, (i, j)) in second.iter_mut().zip(pairs) {
                *sum += 4.0 * rate * rate * term * from[i] * from[j];
                *sum -= if i == j { 2.0 * rate * term } else { 0.0 };
            }
        }
        for level in Level::available() {
            let found = field.terms(level, x);
            assert!((found.0 - total).abs() <= 1e-12 * total + 1e-11, "{level:?}");
            let close = |a: &[f64], b: &[f64]| {
                a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs() + 3e-11)
            };
            assert!(close(&found.1, &gradient) && close(&found.2, &second), "{level:?}");
        }
    }
}

#[test]
fn values_at_points_together_are_those_at_each() {
    let at = |k: usize| {
        let t = k as f64;
        [9.0 * (1.7 * t).sin(), 7.0 * (2.3 * t).cos(), 5.0 * (0.9 * t).sin()]
    };
    let balls: Vec<Ball> =
        (0..150).map(|k| Ball { centre: at(k), radius: 1.0 + 0.01 * k as f64 }).collect();
    let field = Gaussian::new(balls, 2.3);
    let (mut together, mut compared) = (Vec::new(), 0);
    for k in 0..300 {
        let x = scale(1.3, at(1000 + k));
        let points = [[0.0; 3], [0.3, 0.0, 0.1], [0.0, 0.4, -0.2]].map(|by| add(x, by));
        field.values(&points, &mut together);
        for (x, found) in points.iter().zip(&together) {
            let expected = field.value(*x);
            if expected.abs() < 0.3 * field.mean {
                compared += 1;
                // The sum is about 1 there, and the omitted terms less than 1e-6 for each
                // of some dozens of balls.
                assert!((found - expected).abs() < 3e-5, "{x:?} {found} {expected}");
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn blocks_with_surface_are_not_passed_over() {
    let balls = [[0.0, 0.0, 0.0], [1.4, 0.3, 0.0], [0.2, 2.9, 0.5]];
    let balls = balls.map(|centre| Ball { centre, radius: 1.5 }).to_vec();
    let field = Gaussian::new(balls, 2.3);
    for k in 0..2000 {
        let t = k as f64;
        let x = [4.0 * (1.3 * t).sin(), 4.0 * (2.1 * t).cos(), 4.0 * (0.7 * t).sin()];
        let near = [0.9, 0.4, -0.3].map(|s| s * (3.0 * t).sin());
        let other = add(x, near);
        if let Some(inside) = field.side(x, norm(near)) {
            assert_eq!([field.value(x) > 0.0, field.value(other) > 0.0], [inside; 2]);
        }
    }
}
