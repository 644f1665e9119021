use mesh::vector::{Vector, norm, sub};
use std::f64::consts::TAU;
use surface::internals::arcs::{Arc, arcs, are_covered, frame};
use surface::internals::balls::Ball;

fn ball(x: f64, y: f64, radius: f64) -> Ball {
    Ball { centre: [x, y, 0.0], radius }
}

#[test]
fn two_balls_have_a_circle() {
    let found = arcs(&[ball(0.0, 0.0, 1.0), ball(1.0, 0.0, 1.0)]);
    assert_eq!(found.len(), 1);
    assert!((found[0].radius - 0.75f64.sqrt()).abs() < 1e-15 && found[0].cosine == -2.0);
    let nearest = found[0].nearest([0.5, 2.0, 0.0]);
    assert!((nearest.distance - (2.0 - 0.75f64.sqrt())).abs() < 1e-15 && nearest.end.is_none());
}

#[test]
fn boxes_hold_circles_and_touch_them() {
    for centre in [[1.0, 0.0, 0.0], [0.0, 1.1, 0.0], [0.9, -0.3, 0.4], [0.1, 0.7, 0.9]] {
        let [a, b] = [[0.0; 3], centre].map(|centre| Ball { centre, radius: 1.0 });
        let arc = arcs(&[a, b])[0];
        let (half, [u, v]) = (arc.half_box(), frame(arc.axis));
        for axis in 0..3 {
            let farthest = arc.radius * u[axis].hypot(v[axis]);
            assert!((half[axis] - farthest).abs() < 1e-12, "{centre:?}: {half:?}");
        }
    }
}

#[test]
fn circles_are_covered_if_no_gap_is_left() {
    // Parts of the unit circle, from one angle to another, as cuts.
    let is_covered = |parts: &[[f64; 2]]| {
        let cut = |[start, end]: &[f64; 2]| {
            let (sine, cosine) = (0.5 * (start + end)).sin_cos();
            [cosine, sine, 1.0, (0.5 * (end - start)).cos()]
        };
        are_covered(&parts.iter().map(cut).collect::<Vec<_>>(), 1.0)
    };
    assert!(!is_covered(&[]));
    for turn in (0..12).map(|k| 0.5 * f64::from(k)) {
        for (last, expected) in [(TAU + 0.1, true), (TAU - 0.1, false), (TAU, false)] {
            let ends = [[0.0, 2.5], [2.0, 4.5], [4.0, last]];
            let parts = ends.map(|part| part.map(|angle| angle + turn));
            assert_eq!(is_covered(&parts), expected, "{turn} {last}");
            let turned = parts.map(|[start, end]| [-end, -start]);
            assert_eq!(is_covered(&turned), expected, "{turn} {last}");
        }
    }
}

#[test]
fn balls_that_hardly_meet_have_a_circle_and_others_none() {
    // They overlap by 1e-12: the circle's radius is the root of that.
    let found = arcs(&[ball(0.0, 0.0, 1.0), ball(2.0 - 1e-12, 0.0, 1.0)]);
    assert!(found.len() == 1 && (found[0].radius / 1e-6 - 1.0).abs() < 1e-3, "{found:?}");
    assert!(arcs(&[ball(0.0, 0.0, 1.0), ball(2.0 + 1e-12, 0.0, 1.0)]).is_empty());
}

#[test]
fn three_balls_have_three_arcs_with_common_ends() {
    let height = 0.75f64.sqrt();
    let found = arcs(&[ball(0.0, 0.0, 1.0), ball(1.0, 0.0, 1.0), ball(0.5, height, 1.0)]);
    assert_eq!(found.len(), 3);
    // The probe at equal distances from all three centres.
    let top = [0.5, height / 3.0, (1.0 - 1.0 / 3.0f64).sqrt()];
    for arc in &found {
        let off = |end: &Vector| norm(sub([end[0], end[1], end[2].abs()], top));
        assert!(arc.ends.iter().all(|end| off(end) < 1e-9));
        let below = arc.nearest([0.5, height / 3.0, 0.4]);
        assert!(below.end.is_some() && (below.distance - (top[2] - 0.4)).abs() < 1e-9);
    }
}

#[test]
fn points_that_many_balls_touch_are_on_the_boundary() {
    // Six balls around a point that is on all of their spheres.
    let ring: Vec<Ball> = (0..6)
        .map(|k| {
            let angle = k as f64 * TAU / 6.0;
            ball(angle.cos(), angle.sin(), 1.0)
        })
        .collect();
    let found = arcs(&ring);
    let at_centre = |arc: &&Arc| arc.nearest([0.0; 3]).distance < 1e-4;
    assert!(found.iter().filter(at_centre).count() >= 3, "{found:?}");
}
