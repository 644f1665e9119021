//! Points that are the same but for rounding.

use crate::vector::{Vector, max_norm, norm, sub};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

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

/// For each point the first point that it is no further from than `tolerance`, in each coordinate.
///
/// O(n). Meant for points that are either the same or many tolerances apart: chains of points within a tolerance of each
/// other may be cut anywhere.
pub(crate) fn first_at(points: &[Vector], tolerance: f64) -> Vec<u32> {
    if tolerance == 0.0 {
        // All points are at the origin.
        return vec![0; points.len()];
    }
    let [low, _] = bounds(points);
    // Cells are four tolerances wide and keep the first point in them: points in one cell are one point unless they are
    // closer than they should be. A point near a cell's wall looks beyond the wall too.
    let cell = |x: f64, i: usize| ((x - low[i]) / (4.0 * tolerance) + 0.5).floor() as i64;
    let mut first_in: HashMap<[i64; 3], u32> = HashMap::with_capacity(points.len());
    let mut welded: Vec<u32> = Vec::with_capacity(points.len());
    for (index, point) in points.iter().enumerate() {
        let least: [i64; 3] = std::array::from_fn(|i| cell(point[i] - tolerance, i));
        let most: [i64; 3] = std::array::from_fn(|i| cell(point[i] + tolerance, i));
        let own: [i64; 3] = std::array::from_fn(|i| cell(point[i], i));
        let mut twin = None;
        if least != most {
            'search: for x in least[0]..=most[0] {
                for y in least[1]..=most[1] {
                    for z in least[2]..=most[2] {
                        let near =
                            |&v: &u32| max_norm(sub(points[v as usize], *point)) <= tolerance;
                        twin = first_in.get(&[x, y, z]).copied().filter(near);
                        if twin.is_some() {
                            break 'search;
                        }
                    }
                }
            }
        }
        welded.push(twin.unwrap_or_else(|| match first_in.entry(own) {
            Entry::Occupied(entry) => {
                let first = *entry.get();
                let apart = max_norm(sub(points[first as usize], *point));
                if apart <= tolerance { first } else { index as u32 }
            }
            Entry::Vacant(entry) => *entry.insert(index as u32),
        }));
    }
    welded
}
