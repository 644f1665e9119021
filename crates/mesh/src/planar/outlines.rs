//! Regions of the plane: unions, differences and wider outlines, and which of them touch.
//!
//! Coordinates are whole numbers, as in layouts; corners of what is made are rounded to such.

use i_overlay::core::fill_rule::FillRule;
use i_overlay::core::overlay_rule::OverlayRule;
use i_overlay::float::simplify::SimplifyShape as _;
use i_overlay::float::single::SingleFloatOverlay as _;
use i_overlay::mesh::float::outline::offset::OutlineOffset as _;
use i_overlay::mesh::float::style::{LineJoin, OutlineStyle};

use robust::{Coord, orient2d};

use crate::planar::prisms::Point;

/// An outline anticlockwise, then its holes clockwise.
pub type Polygon = Vec<Vec<Point>>;

/// Polygons that do not overlap.
pub type Region = Vec<Polygon>;

/// Corners sharper than this, in radians, are cut off where an outline becomes wider: right angles
/// stay.
const SHARPEST: f64 = 1.5;

/// Polygons that are united at once. Where all of them overlap, their sides cross as often as the
/// square of their number.
const AT_ONCE: usize = 128;

/// What is inside of any of the polygons, each with its holes whichever way they run.
pub fn union(polygons: &[Polygon]) -> Region {
    rounded(united(polygons))
}

fn united(polygons: &[Polygon]) -> Region {
    let all: Region = if polygons.len() > AT_ONCE {
        let (some, others) = polygons.split_at(polygons.len() / 2);
        [some, others].into_iter().flat_map(united).collect()
    } else {
        polygons.iter().flat_map(|polygon| polygon.simplify_shape(FillRule::EvenOdd)).collect()
    };
    all.simplify_shape(FillRule::NonZero)
}

/// What an outline goes around, in whichever direction and however often.
pub fn filled(ring: &[Point]) -> Region {
    rounded(vec![vec![ring.to_vec()]].simplify_shape(FillRule::NonZero))
}

/// What is in the first region and not in the second.
pub fn difference(region: &Region, without: &Region) -> Region {
    rounded(region.overlay(without, OverlayRule::Difference, FillRule::NonZero))
}

/// What is in both regions.
pub fn intersection(region: &Region, with: &Region) -> Region {
    rounded(region.overlay(with, OverlayRule::Intersect, FillRule::NonZero))
}

/// The region and its surroundings up to a distance from its sides.
pub fn grown(region: &Region, by: f64) -> Region {
    let style = OutlineStyle::new(by).line_join(LineJoin::Miter(SHARPEST));
    rounded(region.outline(&style))
}

/// Whether polygons have any point in common, corners and sides included; exact.
pub fn touch(a: &Polygon, b: &Polygon) -> bool {
    let [of_a, of_b] = [a, b].map(|polygon| bounds(polygon.iter().flatten()));
    if !meet(of_a, of_b) {
        return false;
    }
    let near = |polygon: &Polygon, other: [Point; 2]| -> Vec<[Point; 2]> {
        sides(polygon).filter(|side| meet(bounds(side.iter()), other)).collect()
    };
    let (sides_a, sides_b) = (near(a, of_b), near(b, of_a));
    let do_cross = sides_a.iter().any(|side| sides_b.iter().any(|other| cross(*side, *other)));
    let is_in = |inner: &Polygon, outer: &Polygon| {
        inner.first().and_then(|ring| ring.first()).is_some_and(|at| covers(outer, *at))
    };
    do_cross || is_in(a, b) || is_in(b, a)
}

/// Whether a point lies inside of a polygon or on a side of it; exact.
pub fn covers(polygon: &Polygon, at: Point) -> bool {
    let mut is_inside = false;
    for [from, to] in sides(polygon) {
        let turn = turn(from, to, at);
        if turn == 0.0 && meet(bounds([from, to].iter()), [at, at]) {
            return true;
        }
        if (from[1] > at[1]) != (to[1] > at[1]) && (turn > 0.0) == (to[1] > from[1]) {
            is_inside = !is_inside;
        }
    }
    is_inside
}

/// The corners of the rectangle around points.
pub fn bounds<'a>(points: impl Iterator<Item = &'a Point>) -> [Point; 2] {
    let none = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
    points.fold(none, |[low, high], at| {
        [[0, 1].map(|k| low[k].min(at[k])), [0, 1].map(|k| high[k].max(at[k]))]
    })
}

/// Whether rectangles have any point in common.
fn meet(a: [Point; 2], b: [Point; 2]) -> bool {
    (0..2).all(|k| a[0][k] <= b[1][k] && b[0][k] <= a[1][k])
}

fn sides(polygon: &Polygon) -> impl Iterator<Item = [Point; 2]> {
    polygon.iter().flat_map(|ring| {
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(from, to)| [*from, *to])
    })
}

/// Whether segments have any point in common.
fn cross(a: [Point; 2], b: [Point; 2]) -> bool {
    let is_split = |[p, q]: [Point; 2], [r, s]: [Point; 2]| {
        let [one, other] = [turn(p, q, r), turn(p, q, s)];
        !(one > 0.0 && other > 0.0 || one < 0.0 && other < 0.0)
    };
    meet(bounds(a.iter()), bounds(b.iter())) && is_split(a, b) && is_split(b, a)
}

/// Its sign says on which side of a line a point is.
fn turn(from: Point, to: Point, at: Point) -> f64 {
    let [from, to, at] = [from, to, at].map(|[x, y]| Coord { x, y });
    orient2d(from, to, at)
}

fn rounded(mut region: Region) -> Region {
    region.iter_mut().flatten().flatten().for_each(|at| *at = at.map(f64::round));
    region
}
