//! Prisms, and why they may have no surface.

use thiserror::Error;

/// A point of the plane.
pub type Point = [f64; 2];

/// What is outside of all prisms.
pub const OUTSIDE: u32 = 0;

/// A polygon between two heights.
#[derive(Clone, Debug, PartialEq)]
pub struct Prism {
    /// Its outline and its holes: points inside of an odd number of them are inside.
    pub rings: Vec<Vec<Point>>,
    /// The lower and the upper height.
    pub heights: [f64; 2],
    /// What it is made of.
    pub label: u32,
}

impl Prism {
    /// Whether it is over or under a point of the plane.
    pub(super) fn contains(&self, [x, y]: Point) -> bool {
        let edges = self.rings.iter().flat_map(|ring| edges(ring));
        let is_crossed = |&[[x0, y0], [x1, y1]]: &[Point; 2]| {
            (y0 > y) != (y1 > y) && x < x0 + (y - y0) / (y1 - y0) * (x1 - x0)
        };
        edges.filter(is_crossed).count() % 2 == 1
    }
}

/// The sides of a polygon.
pub(super) fn edges(ring: &[Point]) -> impl Iterator<Item = [Point; 2]> {
    (0..ring.len()).map(|k| [ring[k], ring[(k + 1) % ring.len()]])
}

/// Why prisms have no surface.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Fault {
    /// Two bodies share space or a part of their surfaces.
    #[error("prisms {} and {} of different bodies meet at {at:?}", prisms[0], prisms[1])]
    Meeting {
        /// One of each body.
        prisms: [usize; 2],
        /// Where.
        at: [f64; 3],
    },
    /// A coordinate that is no number, or one too large or too small for triangulations.
    #[error("prism {prism} has a coordinate of {value:e}, which is {why}")]
    Coordinate {
        /// Whose it is.
        prism: usize,
        /// What it is.
        value: f64,
        /// The fault, in words.
        why: &'static str,
    },
    /// Outlines that cross at angles so small, or so often, that rounded crossings make new ones.
    #[error("outlines cross too often, or at too small an angle, around {at:?}")]
    Crossings {
        /// One of the crossings.
        at: Point,
    },
}
