use mesh::vector::{Vector, add, dot, norm, scale, sub};
use surface::internals::balls::Ball;
use surface::internals::field::{Feature, Field};
use surface::internals::offset::Offset;

fn ball(centre: Vector, radius: f64) -> Ball {
    Ball { centre, radius }
}

/// The distance to A by brute force: points on all spheres that no ball covers.
fn distance_by_points(balls: &[Ball], x: Vector) -> f64 {
    let count = 20_000;
    let mut best = f64::MAX;
    for (i, ball) in balls.iter().enumerate() {
        for n in 0..count {
            let z = 1.0 - (2 * n + 1) as f64 / count as f64;
            let angle = n as f64 * 2.399_963_229_728_653;
            let out = (1.0 - z * z).sqrt();
            let direction = [out * angle.cos(), out * angle.sin(), z];
            let point = add(ball.centre, scale(ball.radius, direction));
            let covered = balls
                .iter()
                .enumerate()
                .any(|(j, other)| j != i && norm(sub(point, other.centre)) < other.radius - 1e-9);
            if !covered {
                best = best.min(norm(sub(point, x)));
            }
        }
    }
    best
}

#[test]
fn values_are_distances_from_where_probes_can_be() {
    let balls = vec![
        ball([0.0, 0.0, 0.0], 3.0),
        ball([1.5, 0.3, 0.1], 2.8),
        ball([0.4, 2.6, 0.3], 3.1),
        ball([4.2, 2.0, -0.8], 2.6),
    ];
    let field = Offset::new(balls.clone(), 1.4);
    let mut compared = 0;
    for k in 0..60 {
        let t = k as f64;
        let x = [3.0 * (1.3 * t).sin() + 1.0, 3.0 * (2.1 * t).cos() + 1.0, 2.0 * (0.7 * t).sin()];
        let value = field.value(x);
        if value.abs() < 0.99 * field.band && value > -1.3 {
            compared += 1;
            let expected = distance_by_points(&balls, x) - 1.4;
            // The points are 0.04 to 0.08 apart, so the distance is at most about 0.03 longer.
            assert!((value..value + 0.03).contains(&(expected + 1e-9)), "{x:?} {value} {expected}");
        }
    }
    assert!(compared > 15, "{compared}");
}

/// The probe on one side of three atoms, and that on the other side, overlap: the surface has a
/// hole with a sharp rim.
#[test]
fn features_meet_at_the_distance_of_the_surface_from_both() {
    let (level, side) = (1.7, 4.5f64);
    let height = 0.75f64.sqrt() * side;
    let centres = [[0.0; 3], [side, 0.0, 0.0], [0.5 * side, height, 0.0]];
    let field = Offset::new(centres.map(|centre| ball(centre, 3.0)).to_vec(), level);
    let middle = [0.5 * side, height / 3.0, 0.0];
    let pair = [Feature::Point(0, 0), Feature::Point(0, 1)];
    for k in 0..6 {
        let (sine, cosine) = f64::from(k).sin_cos();
        let place = field.meet(&pair, add(middle, [0.6 * cosine, 0.6 * sine, 0.1])).unwrap();
        for end in field.arcs[0].ends {
            assert!((norm(sub(place, end)) - level).abs() < 1e-8, "{place:?}");
        }
        assert!(place[2].abs() < 1e-8);
    }
}

#[test]
fn circles_of_unequal_spheres_bend_by_their_radius() {
    // Radii and distance are sides of a right-angled triangle, whose height is the radius.
    let field = Offset::new(vec![ball([0.0; 3], 4.0), ball([5.0, 0.0, 0.0], 3.0)], 1.4);
    for pair in [[0, 1], [1, 0]] {
        let found = field.bending(pair.map(Feature::Sphere));
        assert!((found - 1.0 / 2.4).abs() < 1e-12, "{found}");
    }
}

#[test]
fn feet_are_on_the_surface_with_their_normals() {
    let balls =
        vec![ball([0.0, 0.0, 0.0], 3.0), ball([2.5, 0.3, 0.1], 2.8), ball([0.4, 2.6, 0.3], 3.1)];
    for level in [0.0, 1.4] {
        let field = Offset::new(balls.clone(), level);
        for k in 0..500 {
            let t = k as f64;
            let x =
                [2.0 * (1.3 * t).sin() + 1.0, 2.0 * (2.1 * t).cos() + 1.0, 3.0 * (0.7 * t).sin()];
            if field.value(x).abs() < 0.3 {
                let foot = field.foot(x).unwrap();
                assert!(field.is_on(foot.point));
                // That is within a billionth of the mean radius.
                let off = scale(2.5e-9 * field.mean, foot.normal);
                assert!(!field.is_on(add(foot.point, off)));
                // Steps along the normal change the value by as much.
                for step in [1e-4, -1e-4] {
                    let moved = add(foot.point, scale(step, foot.normal));
                    let found = field.value(moved) + step;
                    assert!(found.abs() < 1e-7, "{level} {found:e} {foot:?}");
                }
                assert!((dot(foot.normal, foot.normal) - 1.0).abs() < 1e-12);
            }
        }
    }
}
