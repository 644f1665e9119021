//! Points that are the same but for rounding.

use crate::vector::{Vector, max_norm, norm, sub};
use std::hash::{BuildHasher, RandomState};

/// Roundings of a coordinate that computations with it may have gone through.
pub(crate) const ROUNDINGS: f64 = 8.0;

/// Lowest and highest coordinates; zeros without points.
pub(crate) fn bounds(points: &[Vector]) -> [Vector; 2] {
    let Some(&first) = points.first() else { return [[0.0; 3]; 2] };
    points.iter().fold([first; 2], |[low, high], point| {
        let least = std::array::from_fn(|i| low[i].min(point[i]));
        let most = std::array::from_fn(|i| high[i].max(point[i]));
        [least, most]
    })
}

/// A length below which points count as one: `relative` times the diagonal of their bounding box, but no less than what
/// coordinates far from the origin are rounded by.
pub(crate) fn tolerance(points: &[Vector], relative: f64) -> f64 {
    let [low, high] = bounds(points);
    let rounding = ROUNDINGS * f64::EPSILON * max_norm(low).max(max_norm(high));
    (relative * norm(sub(high, low))).max(rounding)
}

/// Stands for the end of a cell's list.
const END: u32 = u32::MAX;

/// For each point the first point kept within `tolerance` of it in every coordinate, which is itself where there is none yet.
///
/// Points that are the same go to the same one whatever lies between them. O(n): kept points are more than a tolerance apart, so
/// that a cell of the grid holds few, and with cells eight tolerances wide most points look into one cell or two.
pub(crate) fn first_at(points: &[Vector], tolerance: f64) -> Vec<u32> {
    if tolerance == 0.0 {
        // All points are at the origin.
        return vec![0; points.len()];
    }
    let [low, _] = bounds(points);
    let width = 8.0 * tolerance;
    let cell = |x: f64, i: usize| ((x - low[i]) / width + 0.5).floor() as i64;
    // Kept points by the hash of their cell, as lists: the last one of each here, those before it in `before`. Cells of one hash
    // share a list, since distances tell their points apart.
    let hasher = RandomState::new();
    let mut last_in: Vec<u32> = vec![END; (2 * points.len()).next_power_of_two()];
    let list_of = |cell: [i64; 3], lists: usize| hasher.hash_one(cell) as usize & (lists - 1);
    let mut before: Vec<u32> = vec![END; points.len()];
    let mut welded: Vec<u32> = Vec::with_capacity(points.len());
    for (index, point) in points.iter().enumerate() {
        let least: [i64; 3] = std::array::from_fn(|i| cell(point[i] - tolerance, i));
        let most: [i64; 3] = std::array::from_fn(|i| cell(point[i] + tolerance, i));
        let mut first = END;
        for x in least[0]..=most[0] {
            for y in least[1]..=most[1] {
                for z in least[2]..=most[2] {
                    let mut kept = last_in[list_of([x, y, z], last_in.len())];
                    while kept != END {
                        if max_norm(sub(points[kept as usize], *point)) <= tolerance {
                            first = first.min(kept);
                        }
                        kept = before[kept as usize];
                    }
                }
            }
        }
        if first == END {
            first = index as u32;
            let own = list_of(std::array::from_fn(|i| cell(point[i], i)), last_in.len());
            before[index] = std::mem::replace(&mut last_in[own], first);
        }
        welded.push(first);
    }
    welded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, point by point.
    fn slowly(points: &[Vector], tolerance: f64) -> Vec<u32> {
        let mut kept: Vec<u32> = Vec::new();
        let near = |a: u32, b: usize| max_norm(sub(points[a as usize], points[b])) <= tolerance;
        (0..points.len())
            .map(|index| {
                kept.iter().copied().find(|&k| near(k, index)).unwrap_or_else(|| {
                    kept.push(index as u32);
                    index as u32
                })
            })
            .collect()
    }

    proptest! {
        /// Points a few tolerances apart share cells, which must not hide one from the other.
        #[test]
        fn points_are_joined_within_the_tolerance_and_only_then(
            grid in prop::collection::vec(prop::array::uniform3(-6i32..6), 1..60),
            step in 0.2f64..1.2,
            shift in -1e3f64..1e3,
        ) {
            let points: Vec<Vector> =
                grid.iter().map(|p| p.map(|i| step * f64::from(i) + shift)).collect();
            let found = first_at(&points, 1.0);
            prop_assert_eq!(&found, &slowly(&points, 1.0));
            for (i, p) in points.iter().enumerate() {
                for (j, q) in points.iter().enumerate() {
                    prop_assert!(p != q || found[i] == found[j]);
                }
            }
        }
    }
}
