//! The near field: pairs of points of boxes that touch, and those too close for single precision.

pub(crate) mod close;
mod leaf;
pub(crate) mod p2p;

pub(crate) use leaf::{CLOSE_DOUBLE, CLOSE_SINGLE};
