//! Regions of the plane: unions, differences and wider outlines.
//!
//! Coordinates are whole numbers, as in layouts; corners of what is made are rounded to such.

use i_overlay::core::fill_rule::FillRule;
use i_overlay::core::overlay_rule::OverlayRule;
use i_overlay::float::simplify::SimplifyShape as _;
use i_overlay::float::single::SingleFloatOverlay as _;
use i_overlay::mesh::float::outline::offset::OutlineOffset as _;
use i_overlay::mesh::float::style::{LineJoin, OutlineStyle};

use crate::prisms::Point;

/// An outline anticlockwise, then its holes clockwise.
pub type Polygon = Vec<Vec<Point>>;

/// Polygons that do not overlap.
pub type Region = Vec<Polygon>;

/// Corners sharper than this, in radians, are cut off where an outline becomes wider: right angles
/// stay.
const SHARPEST: f64 = 1.5;

/// What is inside of any of the polygons, each with its holes whichever way they run.
pub fn union(polygons: &[Polygon]) -> Region {
    let each = polygons.iter().flat_map(|polygon| polygon.simplify_shape(FillRule::EvenOdd));
    rounded(each.collect::<Region>().simplify_shape(FillRule::NonZero))
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
