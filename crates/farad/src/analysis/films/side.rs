//! One side of a triangle that a film is on, and where the displacement there comes from.

use mesh::vector::{Vector, cross, norm, scale, sub};

/// Where the normal displacement of a side comes from, per charge of a triangle over 4 pi eps0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flux {
    /// From free charge and all charge, by these factors.
    Charges([f64; 2]),
    /// From the mean of the fields on both sides along the normal that points to this one, whose
    /// permittivity is this, and all charge.
    Mean(f64),
    /// Free charge without what the other side, of this permittivity, has by [`Flux::Mean`].
    Beyond(f64),
    /// From all charge of an interface without metal, by this factor.
    Jump(f64),
    /// From the mean of the fields on both sides of one, by this factor.
    Through(f64),
}

/// One side of a triangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) triangle: u32,
    /// Whether it is the one that the normal points to.
    pub(super) is_front: bool,
    pub(super) flux: Flux,
}

pub(super) fn normal([a, b, c]: [Vector; 3]) -> Vector {
    let area = cross(sub(b, a), sub(c, a));
    scale(1.0 / norm(area), area)
}
