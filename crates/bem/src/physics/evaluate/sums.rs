//! Sums over point sources at targets, fast or by all pairs.

use std::ops::Range;

use super::SurfaceCharge;
use crate::Error;
use crate::geometry::triangle::Vec3;
use crate::integrals::potentials::WeightedPoints;
use crate::ordered;

/// Points per task of direct sums, so that coordinates and strengths stay in cache.
const SOURCES: usize = 2048;

/// The tolerance of fast sums where an accuracy of 1e-3 is enough.
const ROUGH_TOLERANCE: f64 = 1e-5;

impl SurfaceCharge {
    /// Potentials and gradients (none unless asked for) of charges at `places` by a fast sum.
    #[doc(hidden)]
    pub fn fast_sums(
        &self,
        places: &[[f64; 3]],
        strengths: &[f64],
        points: &[[f64; 3]],
        with_gradient: bool,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let tolerance = if self.is_rough() { ROUGH_TOLERANCE } else { self.tolerance };
        // The correction subtracts what points near a target add.
        let options = fmm::Options::default()
            .tolerance(tolerance)
            .precision((!self.is_rough()).then_some(fmm::Precision::Double))
            .gradient(with_gradient);
        let mut plan = fmm::Plan::new(places, Some(points), &options)?;
        let mut potential = vec![0.0; points.len()];
        let mut gradient = vec![0.0; if with_gradient { 3 * points.len() } else { 0 }];
        plan.apply(
            fmm::Densities { charges: Some(strengths), dipoles: None },
            fmm::Potentials {
                potential: Some(&mut potential),
                gradient: with_gradient.then_some(&mut gradient[..]),
            },
        )?;
        Ok((potential, gradient))
    }
}

/// The same by direct summation; a charge that coincides with a point adds nothing.
pub fn direct_sums(
    places: &[[f64; 3]],
    strengths: &[f64],
    points: &[[f64; 3]],
    with_gradient: bool,
) -> (Vec<f64>, Vec<f64>) {
    let components = if with_gradient { 4 } else { 1 };
    let add = |own: Range<usize>, sums: &mut [f64]| {
        let (potential, gradient) = sums.split_at_mut(points.len());
        let mut sources = WeightedPoints::default();
        let charges = places[own.clone()].iter().zip(&strengths[own]);
        charges.for_each(|(x, q)| sources.push(&Vec3::from(*x), *q));
        sources.add_inverse_distances(points, potential);
        if with_gradient {
            sources.add_gradients(points, gradient);
        }
    };
    let mut potential = ordered::sums(0..places.len(), SOURCES, components * points.len(), add);
    let gradient = potential.split_off(points.len());
    (potential, gradient)
}
