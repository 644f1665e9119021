//! The outlines of paths.

use std::f64::consts::PI;

use mesh::outlines::{Polygon, Region, union};
use mesh::prisms::Point;

use super::stream::{Ends, Path};

/// Sides of a whole circle.
const CIRCLE: usize = 32;

/// How far a join reaches over into the pieces next to it, so that rounding leaves no gap.
const OVER: f64 = 0.01;

/// What a path covers once its points are mapped to the places where they are; lengths of it are
/// this many times as long there. Empty if it has no width, or no length and straight ends.
///
/// Corners have the tips that their outer sides meet in; if they are sharper than right angles,
/// these are cut off at half the width from the corner.
pub fn outline(path: &Path, place: impl Fn(Point) -> Point, scale: f64) -> Region {
    let half = 0.5 * path.width * if path.is_absolute { 1.0 } else { scale };
    let mut points: Vec<Point> = path.points.iter().map(|at| place(*at)).collect();
    points.dedup();
    let (&[.., last], &[first, ..]) = (points.as_slice(), points.as_slice()) else {
        return Region::new();
    };
    if half == 0.0 {
        return Region::new();
    }
    let mut pieces: Vec<Polygon> = Vec::new();
    let extensions = match path.ends {
        Ends::Square(by) => by.map(|by| by * if path.is_absolute { 1.0 } else { scale }),
        Ends::Round => {
            pieces.extend([first, last].map(|centre| circle(centre, half)));
            [0.0; 2]
        }
    };
    if let [only] = points.as_slice() {
        // It has no direction: along the x axis.
        let [before, after] = extensions;
        points = vec![[only[0] - before, only[1]], [only[0] + after, only[1]]];
        if before + after <= 0.0 {
            return union(&pieces);
        }
    } else {
        let count = points.len();
        let ways = [direction(points[1], first), direction(points[count - 2], last)];
        for (at, by, way) in [(0, extensions[0], ways[0]), (count - 1, extensions[1], ways[1])] {
            points[at] = along(points[at], way, by);
        }
    }
    // Ends that go back may meet.
    points.dedup();
    for pair in points.windows(2) {
        let way = direction(pair[0], pair[1]);
        let side = [-way[1], way[0]];
        let corner = |at: Point, by: f64| along(at, side, by);
        let [a, b] = [pair[0], pair[1]];
        pieces.push(vec![vec![
            corner(a, -half),
            corner(b, -half),
            corner(b, half),
            corner(a, half),
        ]]);
    }
    pieces.extend(points.windows(3).filter_map(|three| join([three[0], three[1], three[2]], half)));
    union(&pieces)
}

/// The piece between two segments on the outer side of their corner.
fn join([before, at, after]: [Point; 3], half: f64) -> Option<Polygon> {
    let [u, v] = [direction(before, at), direction(at, after)];
    let turn = u[0] * v[1] - u[1] * v[0];
    let cosine = u[0] * v[0] + u[1] * v[1];
    if turn == 0.0 && cosine > 0.0 {
        return None;
    }
    // The outer side is to the right of a turn to the left.
    let out = if turn > 0.0 { -half } else { half };
    let [p, q] = [u, v].map(|way| along(at, [-way[1], way[0]], out));
    let reach = half * if cosine > 0.0 { turn.abs() / (1.0 + cosine) } else { 1.0 };
    let (tip, other) = (along(p, u, reach), along(q, v, -reach));
    let middle = [0.5 * (tip[0] + other[0]), 0.5 * (tip[1] + other[1])];
    let inner = [0, 1].map(|k| at[k] - OVER * (middle[k] - at[k]));
    Some(vec![vec![inner, p, tip, other, q]])
}

fn circle(centre: Point, radius: f64) -> Polygon {
    let corner = |k: usize| {
        let angle = 2.0 * PI * k as f64 / CIRCLE as f64;
        along(centre, [angle.cos(), angle.sin()], radius)
    };
    vec![(0..CIRCLE).map(corner).collect()]
}

fn along(at: Point, way: Point, by: f64) -> Point {
    [at[0] + by * way[0], at[1] + by * way[1]]
}

fn direction(from: Point, to: Point) -> Point {
    let way = [to[0] - from[0], to[1] - from[1]];
    let length = way[0].hypot(way[1]);
    way.map(|x| x / length)
}
