//! Curved triangles and a point or a line: solid angle, distance, where they meet.
//!
//! What is far away, compared with how far a part is off from its flat triangle, counts as flat;
//! the rest is cut into quarters, each of which is off by a fourth.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::geometry::curved::bezier::Bezier;
use crate::geometry::flat::triangle::{self, distance_squared};
use crate::vector::{Vector, longest_side, norm};

/// A part counts as flat from a distance of this multiple of its sagitta.
const FAR: f64 = 4.0;

/// Quarterings, at most: more than digits tell apart.
const DEPTH: u32 = 24;

/// A part is flat for a line that is off by less than this share of the size of its triangle: less
/// than the rims at which lines are not believed.
const FLAT: f64 = 1e-8;

/// Distances are exact to this share of themselves, or of the size of the surface...
const EXACT: f64 = 1e-6;
const ROUNDING: f64 = 1e-14;

/// ... or, where more parts than `MANY` are almost as close, to this share.
const CLOSE: f64 = 1e-3;
const MANY: usize = 200;

/// Parts examined, at most.
const MOST: usize = 100_000;

/// Whether a triangle counts as flat from a point.
pub(crate) fn is_far(point: Vector, corners: [Vector; 3], bulge: f64) -> bool {
    distance_squared(point, corners) > (FAR * bulge) * (FAR * bulge)
}

/// The solid angle under which a point sees a curved triangle, but for narrow strips between its
/// sides and those of flat parts, which triangles that share a side see from both sides.
pub(crate) fn solid_angle(point: Vector, patch: Bezier) -> f64 {
    let mut sum = 0.0;
    let mut open = vec![(patch, 0)];
    while let Some((patch, depth)) = open.pop() {
        let corners = patch.corners();
        if depth == DEPTH || is_far(point, corners, patch.bulge()) {
            sum += triangle::solid_angle(point, corners);
        } else {
            open.extend(patch.quarters().map(|part| (part, depth + 1)));
        }
    }
    sum
}

/// Whether a point is within a distance of a curved triangle.
pub(crate) fn is_on(point: Vector, patch: &Bezier, near: f64) -> bool {
    let mut open = vec![(*patch, 0)];
    while let Some((patch, depth)) = open.pop() {
        let distance = distance_squared(point, patch.corners()).sqrt();
        let bulge = patch.bulge();
        if distance + bulge <= near {
            return true;
        }
        if distance - bulge <= near && depth < DEPTH {
            open.extend(patch.quarters().map(|part| (part, depth + 1)));
        }
    }
    false
}

/// Visits flat parts of a curved triangle, corners in its order, that a line from a point may meet.
pub(crate) fn meetings(
    from: Vector,
    direction: Vector,
    patch: Bezier,
    mut visit: impl FnMut([Vector; 3]),
) {
    let flat = FLAT * longest_side(patch.corners());
    let mut open = vec![(patch, 0)];
    while let Some((patch, depth)) = open.pop() {
        let bounds = patch.bounds();
        // Flat ones are no thicker than rounding.
        let margin = flat
            + ROUNDING * bounds.low.iter().chain(&bounds.high).fold(0.0f64, |m, x| m.max(x.abs()));
        if !bounds.grown(margin).is_met_by(from, direction, f64::INFINITY) {
            continue;
        }
        if depth == DEPTH || patch.bulge() <= flat {
            visit(patch.corners());
        } else {
            open.extend(patch.quarters().map(|part| (part, depth + 1)));
        }
    }
}

/// A part whose distance is to be found.
struct Part {
    triangle: u32,
    /// No point of it is closer.
    least: f64,
    patch: Bezier,
    depth: u32,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    /// The closest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.least.total_cmp(&self.least)
    }
}

/// The search for the nearest of many curved triangles.
pub(crate) struct Search {
    point: Vector,
    /// Size of the surface.
    size: f64,
    open: BinaryHeap<Part>,
    /// A distance at which there is a point, and its triangle.
    found: f64,
    triangle: Option<u32>,
}

impl Search {
    /// From a point to a surface of some size.
    pub fn new(point: Vector, size: f64) -> Self {
        Self { point, size, open: BinaryHeap::new(), found: f64::INFINITY, triangle: None }
    }

    /// What is not closer than this needs not be added.
    pub fn most(&self) -> f64 {
        self.found
    }

    /// Adds a triangle that is off by `bulge` from a flat one at some distance.
    pub fn add(&mut self, triangle: u32, distance: f64, bulge: f64, patch: impl Fn() -> Bezier) {
        let least = (distance - bulge).max(0.0);
        if least >= self.found {
            return;
        }
        if bulge == 0.0 {
            (self.found, self.triangle) = (distance, Some(triangle));
            return;
        }
        let patch = patch();
        self.reach(triangle, &patch, distance + bulge);
        self.open.push(Part { triangle, least, patch, depth: 0 });
    }

    /// Takes in that a part has a point within a distance.
    fn reach(&mut self, triangle: u32, patch: &Bezier, within: f64) {
        let corner = patch.corners().map(|x| norm(crate::vector::sub(x, self.point)));
        let within = corner.into_iter().fold(within, f64::min);
        if within < self.found {
            (self.found, self.triangle) = (within, Some(triangle));
        }
    }

    /// The nearest triangle and its distance.
    pub fn finish(mut self) -> Option<(u32, f64)> {
        let mut seen = 0;
        while let Some(part) = self.open.pop() {
            seen += 1;
            let share = if seen > MANY { CLOSE } else { EXACT };
            let exact = (share * self.found).max(ROUNDING * self.size);
            if part.least >= self.found - exact || part.depth == DEPTH || seen > MOST {
                break;
            }
            for patch in part.patch.quarters() {
                let distance = distance_squared(self.point, patch.corners()).sqrt();
                let bulge = patch.bulge();
                let least = (distance - bulge).max(part.least);
                if least < self.found {
                    self.reach(part.triangle, &patch, distance + bulge);
                    let depth = part.depth + 1;
                    self.open.push(Part { triangle: part.triangle, least, patch, depth });
                }
            }
        }
        Some((self.triangle?, self.found))
    }
}
