//! Charges of triangles, and how they are distributed over each.

use super::{Response, State};
use crate::geometry::panels::Panels;
use crate::quadrature::modes::{self, MODES};
use crate::space::Density;

/// Charges of triangles over 4 pi eps0, distributed evenly or linearly over each.
#[derive(Clone, Copy, Debug)]
pub struct Charges<'a> {
    /// One per triangle.
    pub total: &'a [f64],
    /// Charge that each triangle would carry if its density were everywhere that at one of its
    /// corners, shape (triangles, 3); empty if charges are distributed evenly.
    pub at_corners: &'a [[f64; 3]],
}

impl<'a> From<&'a [f64]> for Charges<'a> {
    fn from(total: &'a [f64]) -> Self {
        Self { total, at_corners: &[] }
    }
}

impl<'a> From<&'a Vec<f64>> for Charges<'a> {
    fn from(total: &'a Vec<f64>) -> Self {
        total.as_slice().into()
    }
}

impl<'a> From<&'a Response> for Charges<'a> {
    fn from(response: &'a Response) -> Self {
        Self { total: &response.charge, at_corners: &response.at_corners }
    }
}

impl<'a> From<&'a State> for Charges<'a> {
    fn from(state: &'a State) -> Self {
        Self { total: &state.charge, at_corners: &state.at_corners }
    }
}

impl Charges<'_> {
    /// Charge that a triangle would carry if its density were everywhere that at each of its
    /// corners.
    #[must_use]
    pub fn corners(&self, triangle: usize) -> [f64; 3] {
        let evenly = || [self.total[triangle]; 3];
        self.at_corners.get(triangle).copied().unwrap_or_else(evenly)
    }

    /// Coefficients of the modes of densities on panels, in scaled coordinates, shape (modes,
    /// panels).
    pub(super) fn of_modes(&self, panels: &Panels, density: Density) -> Vec<f64> {
        let (n, scale) = (panels.len(), panels.scale());
        let mut x = vec![0.0; density.modes() * n];
        for (i, &t) in panels.triangles().iter().enumerate() {
            x[i] = self.total[t as usize] / scale;
            if density == Density::Linear {
                let of = modes::of_corners(self.corners(t as usize));
                (1..MODES).for_each(|m| x[m * n + i] = of[m] / scale);
            }
        }
        x
    }
}

/// [`Charges::at_corners`] from coefficients of modes; empty for constant densities.
pub(super) fn at_corners(
    panels: &Panels,
    density: Density,
    x: &[f64],
    triangles: usize,
) -> Vec<[f64; 3]> {
    if density == Density::Constant {
        return Vec::new();
    }
    let (n, scale) = (panels.len(), panels.scale());
    let mut all = vec![[0.0; 3]; triangles];
    for (i, &t) in panels.triangles().iter().enumerate() {
        let values = modes::at_corners([0, 1, 2].map(|m| x[m * n + i]));
        all[t as usize] = values.map(|value| value * scale);
    }
    all
}
