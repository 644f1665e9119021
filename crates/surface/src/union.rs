//! Area and volume of a union of balls, without a mesh: on each sphere the arcs of circles of
//! latitude that no other ball covers, exactly, and a sum over latitudes (B. Lee and F. M.
//! Richards, J. Mol. Biol. 55 (1971) 379).

use std::f64::consts::TAU;

use mesh::vector::sub;
use parallel::prelude::*;

use crate::balls::{Ball, Neighbours};

/// Latitudes of each sphere: of one sphere areas are off by less than 1e-3, of many by less.
const LATITUDES: usize = 160;

/// A union of balls as it is, hollows of any size included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[must_use]
pub struct Union {
    /// In square angstrom.
    pub area: f64,
    /// In cubic angstrom, hollows not counted.
    pub volume: f64,
}

/// The union of these balls.
pub(crate) fn union(balls: &[Ball]) -> Union {
    let near = Neighbours::new(balls);
    let origin = balls.first().map(|ball| ball.centre).unwrap_or_default();
    let of = |i: usize| {
        let mut around = Vec::new();
        near.of(i, &mut around);
        of_ball(balls, i, &around, origin)
    };
    let all: Vec<Union> = (0..balls.len()).into_par_iter().map(of).collect();
    all.iter().fold(Union::default(), |sum, own| Union {
        area: sum.area + own.area,
        volume: sum.volume + own.volume,
    })
}

/// What is bare of one sphere: its area, and its part of the volume by the divergence of x / 3.
fn of_ball(balls: &[Ball], i: usize, around: &[u32], origin: [f64; 3]) -> Union {
    let Ball { centre, radius } = balls[i];
    let from_origin = sub(centre, origin);
    let height = 2.0 * radius / LATITUDES as f64;
    let mut covered: Vec<[f64; 2]> = Vec::new();
    let mut own = Union::default();
    for k in 0..LATITUDES {
        let z = radius * ((2 * k + 1) as f64 / LATITUDES as f64 - 1.0);
        let circle = ((radius - z) * (radius + z)).sqrt();
        covered.clear();
        let latitude = Latitude { centre, height: z, radius: circle };
        if !cover(balls, latitude, around, &mut covered) {
            continue;
        }
        for [start, end] in bare(&mut covered) {
            let angle = end - start;
            let across = from_origin[0] * (end.sin() - start.sin())
                - from_origin[1] * (end.cos() - start.cos());
            let outward = (circle * across + z * from_origin[2] * angle) / radius;
            own.area += radius * height * angle;
            own.volume += radius * height * (outward + radius * angle) / 3.0;
        }
    }
    own
}

/// A circle of latitude on a sphere: the sphere's centre, and the circle's height above it and
/// radius.
#[derive(Clone, Copy, Debug)]
struct Latitude {
    centre: [f64; 3],
    height: f64,
    radius: f64,
}

/// The angles of a circle of latitude that other balls cover, from 0 to 2 pi; `false` where one
/// covers all of it.
fn cover(
    balls: &[Ball],
    Latitude { centre, height: z, radius: circle }: Latitude,
    around: &[u32],
    covered: &mut Vec<[f64; 2]>,
) -> bool {
    for &j in around {
        let other = balls[j as usize];
        let [x, y, below] = sub(other.centre, centre);
        let disc = (other.radius - (z - below)) * (other.radius + (z - below));
        if disc <= 0.0 {
            continue;
        }
        let (disc, apart) = (disc.sqrt(), x.hypot(y));
        if apart + circle <= disc {
            return false;
        }
        if apart >= circle + disc || apart + disc <= circle {
            continue;
        }
        let cosine = (circle * circle + (apart - disc) * (apart + disc)) / (2.0 * circle * apart);
        let (middle, half) = (y.atan2(x), cosine.clamp(-1.0, 1.0).acos());
        let start = (middle - half).rem_euclid(TAU);
        let end = start + 2.0 * half;
        covered.push([start, end.min(TAU)]);
        if end > TAU {
            covered.push([0.0, end - TAU]);
        }
    }
    true
}

/// The rest of a whole turn.
fn bare(covered: &mut [[f64; 2]]) -> Vec<[f64; 2]> {
    covered.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
    let (mut left, mut reached) = (Vec::new(), 0.0);
    for &[start, end] in covered.iter().chain(&[[TAU; 2]]) {
        if start > reached {
            left.push([reached, start]);
        }
        reached = end.max(reached);
    }
    left
}
