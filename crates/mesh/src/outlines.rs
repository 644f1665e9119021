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

use crate::prisms::Point;

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

/// The region and what lies beside it, up to a distance from its sides.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn area(region: &Region) -> f64 {
        let twice = |ring: &Vec<Point>| -> f64 {
            let next = ring.iter().cycle().skip(1);
            ring.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum()
        };
        region.iter().flatten().map(|ring| 0.5 * twice(ring)).sum()
    }

    fn square(low: f64, high: f64) -> Polygon {
        vec![vec![[low, low], [high, low], [high, high], [low, high]]]
    }

    #[test]
    fn thousands_of_polygons_on_top_of_each_other_are_united_in_a_moment() {
        // Each crosses two thousand others; found by fuzzing, where it was memory that ran out.
        let wedge = |k: i32| {
            let x = f64::from(k);
            vec![vec![[x, 0.0], [1000.0 + x, 0.0], [1000.0 + x, 900.0]]]
        };
        let many = 5_000;
        let region = union(&(0..=many).map(wedge).collect::<Vec<_>>());
        // What one has beyond the one before it is a strip 1 wide, 899.1 to 900 high.
        let expected = 450e3 + 899.55 * f64::from(many);
        let found = area(&region);
        // Corners are rounded to whole numbers: teeth of the upper side.
        assert!((found - expected).abs() < 0.5 * f64::from(many), "{found} {expected}");
        assert_eq!(region.len(), 1);
    }

    #[test]
    fn polygons_touch_at_sides_corners_and_inside() {
        let large = square(0.0, 100.0);
        let ring = [large.clone(), square(20.0, 80.0)].concat();
        for (other, expected) in [
            (square(100.0, 120.0), true),
            (square(101.0, 120.0), false),
            (square(40.0, 60.0), false),
            (square(40.0, 80.0), true),
            (square(10.0, 15.0), true),
            (square(-10.0, 200.0), true),
        ] {
            assert_eq!(touch(&ring, &other), expected, "{other:?}");
            assert_eq!(touch(&other, &ring), expected, "{other:?}");
        }
        assert!(touch(&large, &square(40.0, 60.0)));
        // A slanted side that misses the corner of the square by very little.
        let over = |y: f64| vec![vec![[101.0, y], [300.0, y], [0.0, 1e9 + y], [0.0, 1e9]]];
        assert!(!touch(&large, &over(0.0)));
        let wedge = |x: f64| vec![vec![[100.0, 100.0 + x], [300.0, -100.0 + x], [300.0, 400.0]]];
        assert!(touch(&large, &wedge(0.0)) && !touch(&large, &wedge(1e-9)));
        for (at, expected) in [([0.0, 50.0], true), ([50.0, 50.0], false), ([10.0, 20.0], true)] {
            assert_eq!(covers(&ring, at), expected);
        }
    }

    #[test]
    fn what_is_wound_around_twice_is_filled() {
        let ring = [[0.0, 0.0], [90.0, 0.0], [90.0, 90.0], [0.0, 90.0], [0.0, 10.0], [80.0, 10.0]];
        let more = [[80.0, 80.0], [10.0, 80.0], [10.0, 0.0]];
        let found = filled(&[&ring[..], &more[..]].concat());
        // The corner at the origin stays outside; the middle is no hole.
        assert_eq!(area(&found), 8000.0);
    }

    #[test]
    fn areas_of_squares_are_exact() {
        let [large, small] = [square(0.0, 1000.0), square(400.0, 600.0)];
        let both = union(&[large.clone(), square(900.0, 1100.0)]);
        assert_eq!(area(&both), 1e6 + 3e4);
        // The hole runs the same way as the outline.
        let ring = union(&[[large.clone(), small.clone()].concat()]);
        assert_eq!(area(&ring), 1e6 - 4e4);
        assert_eq!(area(&difference(&vec![large.clone()], &vec![small.clone()])), 1e6 - 4e4);
        assert_eq!(area(&intersection(&both, &vec![square(950.0, 2000.0)])), 150.0 * 150.0);
        assert_eq!(area(&grown(&ring, 50.0)), 1100.0 * 1100.0 - 100.0 * 100.0);
    }
}
