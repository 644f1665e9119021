//! Meshes of simple shapes: each a struct of dimensions whose `build` gives the mesh.
//!
//! Vertices lie on the true surface, so a curved body is approximated from inside, by flat
//! triangles or, where there is a `build_curved`, by ones with all their nodes on the surface.
//! Normals point out of closed bodies. Each triangle is in exactly one named physical group. Grids
//! graded toward edges have triangles stretched along them, as tensor grids do.

mod cuboid;
mod curved;
mod cylinder;
mod flat;
pub(crate) mod grading;
pub(crate) mod molecule;
mod sphere;
mod torus;

pub use cuboid::{Bus, Cube};
pub use cylinder::Cylinder;
pub use flat::{Disk, Plate};
pub use molecule::{Atom, Molecule};
pub use sphere::{ConcentricSpheres, Ellipsoid, Sphere, SphereBase, TwoSpheres, with_volumes};
pub use torus::Torus;

use crate::patch::MAX_ORDER;
use crate::surface::{MAX_COORDINATE, Mesh, PhysicalGroup};
use crate::vector::Vector;
use thiserror::Error;

/// Generators refuse to make more triangles than this.
pub const MAX_ELEMENTS: usize = 100_000_000;

/// A shape whose least number of triangles is above this is refused if fewer were requested.
pub const MAX_UNASKED: usize = 1_000_000;

/// Largest ratio of element sizes that a generator accepts.
pub const MAX_GRADE: f64 = 1e8;

/// How fine a mesh is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolution {
    /// On a sphere no edge is longer than this; elsewhere no edge along the shape's grid lines is,
    /// and diagonals are up to the square root of two longer.
    Size(f64),
    /// So many triangles at most: the largest achievable number that does not exceed it, or the
    /// smallest there is.
    Elements(usize),
    /// The achievable number of triangles next to this one, more or less.
    Closest(usize),
}

/// Why a shape cannot be made.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Error {
    /// A length is not usable.
    #[error("{what} is {value:?}; it must be a length from {SHORTEST:e} to {LONGEST:e}")]
    Length {
        /// Which one.
        what: &'static str,
        /// What was given.
        value: f64,
    },
    /// The ratio of the largest to the smallest element is not usable.
    #[error(
        "the grade is {0}; it is the ratio of the largest to the smallest element size, from 1 to {MAX_GRADE:e}"
    )]
    Grade(f64),
    /// There are no curved triangles of this order.
    #[error("the order is {0}; triangles are of order 1, which are flat, to {MAX_ORDER}")]
    Order(usize),
    /// No triangles, or no bars, were requested.
    #[error("the number of {0} must be at least 1")]
    None(&'static str),
    /// More triangles than [`MAX_ELEMENTS`].
    #[error(
        "this resolution needs more than {MAX_ELEMENTS} triangles; choose a larger size or fewer elements"
    )]
    TooMany,
    /// The shape's least number of triangles is far above the requested one.
    #[error(
        "{asked} triangles are requested, but the fewest that this shape can have are {least}; request that number, change the \
        lengths or give an element size"
    )]
    Least {
        /// The requested number.
        asked: usize,
        /// The least number there is.
        least: u64,
    },
    /// The surface of a molecule is too steep seen from its centre, or not there.
    #[error(
        "the surface of this molecule is not seen from its centre as a whole; choose another number of atoms"
    )]
    Folded,
    /// Curved triangles would fold ([`fold`](crate::geometry::curved::fold)): there are too few of
    /// them.
    #[error(
        "{triangles} triangles are too few for order {order}: some would fold over; {}, or try a lower order",
        match least { Some(least) => format!("ask for {least} elements"), None => "ask for more".to_owned() }
    )]
    Folds {
        /// The order of the triangles.
        order: usize,
        /// How many triangles this resolution gives.
        triangles: usize,
        /// A number of elements with which none folds, about the least; `None` if none was found.
        least: Option<usize>,
    },
    /// Surfaces would touch or intersect.
    #[error("{what} is {value}, but must be greater than {limit}, or surfaces touch")]
    Intersecting {
        /// Which length.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What it must exceed.
        limit: f64,
    },
}

/// Lengths whose squares and cubes are numbers, as those of all coordinates are.
const SHORTEST: f64 = 1.0 / MAX_COORDINATE;
const LONGEST: f64 = MAX_COORDINATE / 1e3;

fn check_length(what: &'static str, value: f64) -> Result<(), Error> {
    if (SHORTEST..=LONGEST).contains(&value) { Ok(()) } else { Err(Error::Length { what, value }) }
}

fn check_grade(grade: f64) -> Result<(), Error> {
    if (1.0..=MAX_GRADE).contains(&grade) { Ok(()) } else { Err(Error::Grade(grade)) }
}

impl Resolution {
    fn check(self) -> Result<(), Error> {
        match self {
            Self::Size(size) => check_length("the element size", size),
            Self::Elements(0) | Self::Closest(0) => Err(Error::None("elements")),
            Self::Elements(n) | Self::Closest(n) if n > MAX_ELEMENTS => Err(Error::TooMany),
            Self::Elements(_) | Self::Closest(_) => Ok(()),
        }
    }

    /// The `n >= 1` for which the growing `count(n)` is as near to `elements`, those asked for, as
    /// it may be.
    fn number(self, elements: usize, count: impl Fn(usize) -> f64) -> usize {
        let n = largest_within(1, elements, &count);
        let (less, more) = (elements as f64 - count(n), count(n + 1) - elements as f64);
        let is_nearer = more < less && count(n + 1) <= MAX_ELEMENTS as f64;
        n + usize::from(is_nearer && matches!(self, Self::Closest(_)))
    }

    /// The resolution of each of `parts` equal parts.
    fn share(self, parts: usize) -> Self {
        match self {
            Self::Size(size) => Self::Size(size),
            Self::Elements(n) => Self::Elements((n / parts).max(1)),
            Self::Closest(n) => Self::Closest((n / parts).max(1)),
        }
    }
}

/// The largest `n >= least` with `count(n) <= limit`, or `least`; `count` grows with n.
fn largest_within(least: usize, limit: usize, count: impl Fn(usize) -> f64) -> usize {
    let fits = |n: usize| count(n) <= limit as f64;
    let mut high = least.max(1) * 2;
    while fits(high) {
        high *= 2;
    }
    let mut low = least;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Rejects a mesh of more than [`MAX_ELEMENTS`] triangles before anything is allocated, and one of
/// more than [`MAX_UNASKED`] where fewer were requested.
fn check_count(elements: f64, resolution: Resolution) -> Result<(), Error> {
    match resolution {
        Resolution::Elements(asked) if elements > MAX_UNASKED as f64 && elements > asked as f64 => {
            Err(Error::Least { asked, least: elements as u64 })
        }
        // Twice as many are not the closest where there are fewer.
        Resolution::Closest(asked)
            if elements > MAX_UNASKED as f64 && elements > 2.0 * asked as f64 =>
        {
            Err(Error::Least { asked, least: elements as u64 })
        }
        _ if elements <= MAX_ELEMENTS as f64 => Ok(()),
        _ => Err(Error::TooMany),
    }
}

/// A mesh under construction, of which each triangle is in the group that was opened last.
struct Builder {
    mesh: Mesh,
}

impl Builder {
    fn new() -> Self {
        Self { mesh: Mesh { memberships: vec![Vec::new()], ..Mesh::default() } }
    }

    /// Opens the group that the following triangles belong to.
    fn group(&mut self, name: impl Into<String>) {
        let index = self.mesh.groups.len() as u32;
        self.mesh.groups.push(PhysicalGroup { tag: i64::from(index) + 1, name: Some(name.into()) });
        self.mesh.memberships.push(vec![index]);
    }

    fn vertex(&mut self, point: Vector) -> u32 {
        self.mesh.vertices.push(point);
        (self.mesh.vertices.len() - 1) as u32
    }

    fn triangle(&mut self, corners: [u32; 3]) {
        self.mesh.triangles.push(corners);
        self.mesh.membership.push(self.mesh.groups.len() as u32);
    }

    /// Two triangles for the quadrangle a, b, c, d, cut from a to c or from b to d.
    fn quadrangle(&mut self, [a, b, c, d]: [u32; 4], cut_at_first: bool) {
        if cut_at_first {
            self.triangle([a, b, c]);
            self.triangle([a, c, d]);
        } else {
            self.triangle([a, b, d]);
            self.triangle([b, c, d]);
        }
    }
}

/// Whether cell (i, j) of an nu x nv grid is cut from its lower left to its upper right corner.
///
/// Cuts run outward from the grid's centre, so that a grid with even counts has the symmetry of its
/// rectangle and a corner cell gives both its edges a triangle of their own.
fn cut_outward(i: usize, j: usize, nu: usize, nv: usize) -> bool {
    (2 * i + 1 > nu) == (2 * j + 1 > nv)
}
