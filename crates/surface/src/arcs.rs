//! The circles in which balls of a union intersect, as far as they are on its boundary.

use crate::balls::{Ball, Neighbours};
use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};
use parallel::prelude::*;
use std::f64::consts::{PI, TAU};

/// A ball covers what is deeper in it than this, relative to its radius: points that several balls
/// touch are on the boundary.
pub(crate) const TOUCHING: f64 = 1e-10;

/// An arc of the circle in which two spheres intersect, or all of it.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
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
pub struct Nearest {
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
pub fn arcs(balls: &[Ball]) -> Vec<Arc> {
    let near = Neighbours::new(balls);
    let of = |i: usize| {
        let (mut found, mut around) = (Vec::new(), Vec::new());
        near.of(i, &mut around);
        // What covers one circle is likely to cover the next one, too, and is asked first.
        let mut asked = around.clone();
        for &j in around.iter().filter(|&&j| j as usize > i) {
            if let Some(at) = of_pair(balls, i as u32, j, &asked, &mut found) {
                asked.swap(0, at);
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

/// The arcs of one pair, with the neighbours of its first ball; gives the place of the neighbour
/// that covers the whole circle, if one does.
fn of_pair(balls: &[Ball], i: u32, j: u32, around: &[u32], found: &mut Vec<Arc>) -> Option<usize> {
    let (a, b) = (balls[i as usize], balls[j as usize]);
    let apart = sub(b.centre, a.centre);
    let distance = norm(apart);
    let along = 0.5 * (distance + (a.radius - b.radius) * (a.radius + b.radius) / distance);
    let square = (a.radius - along) * (a.radius + along);
    let smallest = TOUCHING * a.radius.min(b.radius);
    if square.is_nan() || square <= smallest * smallest {
        return None;
    }
    let radius = square.sqrt();
    let axis = scale(1.0 / distance, apart);
    let centre = add(a.centre, scale(along, axis));
    let [u, v] = frame(axis);
    // Directions in the circle's plane, and the part of them that is covered, by half its chord.
    let mut cuts: Vec<[f64; 4]> = Vec::new();
    for (at, &k) in around.iter().enumerate().filter(|(_, k)| **k != j) {
        let ball = balls[k as usize];
        let to = sub(ball.centre, centre);
        let covers = ball.radius * (1.0 - TOUCHING);
        let square = dot(to, to);
        if square >= (covers + radius) * (covers + radius) {
            continue;
        }
        let (x, y) = (dot(to, u), dot(to, v));
        let reach = x * x + y * y;
        let level = (square + (radius - covers) * (radius + covers)) / (2.0 * radius);
        if level * level < reach {
            cuts.push([x, y, reach, level]);
        } else if level < 0.0 {
            return Some(at);
        }
    }
    if are_covered(&cuts, radius) {
        return None;
    }
    let interval = |[x, y, reach, level]: [f64; 4]| {
        let (middle, half) = (y.atan2(x), (level / reach.sqrt()).acos());
        let start = (middle - half).rem_euclid(TAU);
        [start, start + 2.0 * half]
    };
    let mut blocked: Vec<[f64; 2]> = cuts.into_iter().map(interval).collect();
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
        push(0.0, TAU);
        return None;
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
    None
}

/// Whether cuts cover a whole circle together: the end of each, counter-clockwise, is well within
/// another one.
pub fn are_covered(cuts: &[[f64; 4]], radius: f64) -> bool {
    let margin = TOUCHING * radius * radius;
    let covered = |[p, q]: [f64; 2]| {
        cuts.iter().any(|[x, y, _, level]| radius * (p * x + q * y - level) > margin)
    };
    !cuts.is_empty()
        && cuts.iter().all(|&[x, y, reach, level]| {
            let cosine = level / reach;
            let sine = ((reach - level * level).max(0.0)).sqrt() / reach;
            covered([cosine * x - sine * y, cosine * y + sine * x])
        })
}

/// Two unit vectors that are perpendicular to a unit vector and to each other.
pub fn frame(axis: Vector) -> [Vector; 2] {
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
