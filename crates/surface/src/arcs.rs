//! The circles in which balls of a union intersect, as far as they are on its boundary.

use crate::balls::{Ball, Neighbours};
use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};
use rayon::prelude::*;
use std::f64::consts::{PI, TAU};

/// A ball covers what is deeper in it than this, relative to its radius: points that several balls
/// touch are on the boundary.
pub(crate) const TOUCHING: f64 = 1e-10;

/// An arc of the circle in which two spheres intersect, or all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arc {
    /// Centre of the circle.
    pub centre: Vector,
    /// Unit vector along its axis, from the first ball to the second.
    pub axis: Vector,
    /// Radius of the circle.
    pub radius: f64,
    /// Direction from the centre to the middle of the arc.
    pub middle: Vector,
    /// Cosine of half its angle; -2 of a full circle.
    pub cosine: f64,
    /// Its two ends.
    pub ends: [Vector; 2],
    /// The first arc of the same circle.
    pub first: u32,
}

/// The point of an arc next to some point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nearest {
    pub distance: f64,
    pub point: Vector,
    /// Which end of the arc it is, if it is one.
    pub end: Option<u8>,
}

impl Arc {
    /// The point of the arc that is nearest to `x`.
    pub fn nearest(&self, x: Vector) -> Nearest {
        let from = sub(x, self.centre);
        let height = dot(from, self.axis);
        let flat = sub(from, scale(height, self.axis));
        let out = norm(flat);
        if dot(flat, self.middle) >= self.cosine * out {
            let direction = if out > 0.0 { scale(1.0 / out, flat) } else { self.middle };
            return Nearest {
                distance: ((out - self.radius).powi(2) + height * height).sqrt(),
                point: add(self.centre, scale(self.radius, direction)),
                end: None,
            };
        }
        let [a, b] = self.ends.map(|end| norm(sub(x, end)));
        let (distance, end) = if a <= b { (a, 0) } else { (b, 1) };
        Nearest { distance, point: self.ends[usize::from(end)], end: Some(end) }
    }

    /// Half the sides of a box around the whole circle.
    pub fn half_box(&self) -> Vector {
        self.axis.map(|n| self.radius * (1.0 - n * n).max(0.0).sqrt())
    }
}

/// All arcs on the boundary of the union, in the order of their balls.
pub(crate) fn arcs(balls: &[Ball]) -> Vec<Arc> {
    let near = Neighbours::new(balls);
    let of = |i: usize| {
        let (mut found, mut around) = (Vec::new(), Vec::new());
        near.of(i, &mut around);
        for &j in &around {
            if j as usize > i {
                of_pair(balls, i as u32, j, &around, &mut found);
            }
        }
        found
    };
    let all: Vec<Vec<Arc>> = (0..balls.len()).into_par_iter().map(of).collect();
    let mut all = all.concat();
    for n in 0..all.len() {
        let is_same = n > 0 && {
            let (last, this) = (&all[n - 1], &all[n]);
            (last.centre, last.axis) == (this.centre, this.axis)
        };
        all[n].first = if is_same { all[n - 1].first } else { n as u32 };
    }
    all
}

/// The arcs of one pair, with the neighbours of its first ball.
fn of_pair(balls: &[Ball], i: u32, j: u32, around: &[u32], found: &mut Vec<Arc>) {
    let (a, b) = (balls[i as usize], balls[j as usize]);
    let apart = sub(b.centre, a.centre);
    let distance = norm(apart);
    let along = 0.5 * (distance + (a.radius - b.radius) * (a.radius + b.radius) / distance);
    let square = (a.radius - along) * (a.radius + along);
    let smallest = TOUCHING * a.radius.min(b.radius);
    if square.is_nan() || square <= smallest * smallest {
        return;
    }
    let radius = square.sqrt();
    let axis = scale(1.0 / distance, apart);
    let centre = add(a.centre, scale(along, axis));
    let [u, v] = frame(axis);
    let mut blocked: Vec<[f64; 2]> = Vec::new();
    for &k in around.iter().filter(|&&k| k != j) {
        let ball = balls[k as usize];
        let to = sub(ball.centre, centre);
        let covers = ball.radius * (1.0 - TOUCHING);
        let square = dot(to, to);
        if square >= (covers + radius) * (covers + radius) {
            continue;
        }
        let (x, y) = (dot(to, u), dot(to, v));
        let reach = x.hypot(y);
        let level = (square + (radius - covers) * (radius + covers)) / (2.0 * radius);
        if level >= reach {
            continue;
        }
        if level <= -reach {
            return;
        }
        let (middle, half) = (y.atan2(x), (level / reach).acos());
        let start = (middle - half).rem_euclid(TAU);
        blocked.push([start, start + 2.0 * half]);
    }
    let at = |angle: f64| add(scale(angle.cos(), u), scale(angle.sin(), v));
    let mut push = |start: f64, end: f64| {
        let full = end - start >= TAU;
        let half = 0.5 * (end - start);
        let end_at = |angle| add(centre, scale(radius, at(angle)));
        found.push(Arc {
            centre,
            axis,
            radius,
            middle: at(start + half),
            cosine: if full { -2.0 } else { half.min(PI).cos() },
            ends: [end_at(start), end_at(end)],
            first: 0,
        });
    };
    blocked.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
    let Some(first) = blocked.first().map(|interval| interval[0]) else {
        return push(0.0, TAU);
    };
    // Intervals may reach beyond a whole turn, over those at the start.
    let last = blocked.iter().fold(first, |last, interval| last.max(interval[1]));
    let mut reached = first.max(last - TAU);
    for &[start, end] in &blocked {
        if start > reached {
            push(reached, start);
        }
        reached = reached.max(end);
    }
    if first + TAU > reached {
        push(reached, first + TAU);
    }
}

/// Two unit vectors that are perpendicular to a unit vector and to each other.
pub(crate) fn frame(axis: Vector) -> [Vector; 2] {
    let mut least = 0;
    for k in 1..3 {
        if axis[k].abs() < axis[least].abs() {
            least = k;
        }
    }
    let mut unit = [0.0; 3];
    unit[least] = 1.0;
    let u = cross(axis, unit);
    let u = scale(1.0 / norm(u), u);
    [u, cross(axis, u)]
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
