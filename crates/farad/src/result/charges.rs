//! Charges that a solve has found, from which the next one may start.

use bem::Charges;
use serde::{Deserialize, Serialize};

/// Charges of triangles over 4 pi eps0, as in [`Charges`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Charge of each triangle.
    pub total: Vec<f64>,
    /// Values at its corners, whose mean is the total; empty where densities are constant.
    pub at_corners: Vec<[f64; 3]>,
}

impl<'a> From<&'a Known> for Charges<'a> {
    fn from(of: &'a Known) -> Self {
        Self { total: &of.total, at_corners: &of.at_corners }
    }
}

impl From<&bem::Response> for Known {
    fn from(of: &bem::Response) -> Self {
        Self { total: of.charge.clone(), at_corners: of.at_corners.clone() }
    }
}
