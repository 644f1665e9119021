//! How far a solution is from the exact one on the same surfaces, by local problems (docs/math.md,
//! "Error estimates").
//!
//! Each panel has four children, one at each corner and one in the middle. On conductors the
//! missing potential is what densities that are constant, or linear, on children could still
//! correct; with all other panels fixed, that is a problem of three unknowns, or nine, and the
//! energy that it adds is the panel's share of the error: two-level estimates of Galerkin's method
//! (Mund, Stephan & Weisse, Computing 60 (1998) 243). On interfaces the remaining jump of the flux
//! is weighted by the change over the panel of the other excitation's potential, which is the
//! solution of the adjoint problem.

mod close_panels;
mod constant;
mod linear;
mod local;
mod missing;
mod products;
mod tested;
mod values;
mod wide;

use parallel::prelude::*;

use super::system::System;
use super::{Charges, Electrostatics, Excitation, Response};
use crate::Error;
use crate::space::Density;
#[doc(hidden)]
pub use close_panels::{near_radii, rule};
use constant::Constants;
#[doc(hidden)]
pub use constant::between;
use linear::Linears;
use local::Shares;
pub use missing::ChildCharges;
use products::Sums;
#[doc(hidden)]
pub use values::tolerance_of_sum;

/// Estimated errors of a solution. Energies are products of a charge over 4 pi eps0 and a
/// potential; entry (i, j) of a matrix is that of excitations i and j.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorEstimate {
    /// Missing energy on conductors: for excitations at 1 V the error of the entry of the
    /// capacitance matrix.
    pub of_conductors: Vec<Vec<f64>>,
    /// Upper bound: all panels' shares counted positive.
    pub of_conductors_at_most: Vec<Vec<f64>>,
    /// The same on interfaces.
    pub of_interfaces: Vec<Vec<f64>>,
    /// Upper bound: all panels' shares counted positive.
    pub of_interfaces_at_most: Vec<Vec<f64>>,
    /// For each excitation and triangle, the part of the error of its own energy that is due to the
    /// change of the density along each side (from corner k to k + 1), shape (excitations,
    /// triangles, 3); empty unless wanted.
    pub sides: Vec<Vec<[f64; 3]>>,
}

/// Panels whose products are added together.
const BLOCK: usize = 64;

/// Number of parts of all panels, each with its own sums, and number of entries that these may have
/// together.
const PARTS: usize = 64;
const ENTRIES: usize = 1 << 24;

/// Number of parts of all panels for this number of excitations: independent of the number of
/// threads, so that sums are identical; at most one per thread is in progress.
pub(super) fn parts(excitations: usize) -> usize {
    (ENTRIES / excitations.pow(2).max(1)).clamp(1, PARTS)
}

impl System {
    /// Adds up the results of all ranks. Collective.
    fn of_all_ranks_in(&self, estimate: &mut ErrorEstimate) -> Result<(), Error> {
        if self.ranks.size() == 1 {
            return Ok(());
        }
        let ErrorEstimate {
            of_conductors,
            of_conductors_at_most,
            of_interfaces,
            of_interfaces_at_most,
            sides,
        } = estimate;
        let matrices = [of_conductors, of_conductors_at_most, of_interfaces, of_interfaces_at_most];
        for row in matrices.into_iter().flatten() {
            self.of_all_ranks(row)?;
        }
        for sides in sides {
            self.of_all_ranks(sides.as_flattened_mut())?;
        }
        Ok(())
    }

    /// Difference of the answers to these excitations from the limit of ever finer meshes of the
    /// same surfaces. `weights` has one factor for each triangle, by which the contribution of the
    /// next finer densities there is multiplied. Computes the gain per side if wanted.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Fmm`].
    pub fn error_estimate(
        &self,
        excitations: &[Excitation],
        answer: &Electrostatics,
        weights: &[f64],
        with_sides: bool,
    ) -> Result<ErrorEstimate, Error> {
        let _span = tracing::debug_span!("error estimate").entered();
        let (responses, tolerance) = (&answer.responses[..], answer.tolerance);
        let (expected, found) = (self.triangles, weights.len());
        if expected != found {
            return Err(Error::Length { what: "weights", expected, found });
        }
        let (n, count) = (self.panels.len(), excitations.len().min(responses.len()));
        let zeros = || vec![vec![0.0; count]; count];
        let mut estimate = ErrorEstimate {
            of_conductors: zeros(),
            of_conductors_at_most: zeros(),
            of_interfaces: zeros(),
            of_interfaces_at_most: zeros(),
            sides: Vec::new(),
        };
        if with_sides {
            estimate.sides = vec![vec![[0.0; 3]; self.triangles]; count];
        }
        if n == 0 || count == 0 {
            return Ok(estimate);
        }
        let (excitations, responses) = (&excitations[..count], &responses[..count]);
        let of_modes =
            |response: &Response| Charges::from(response).of_modes(&self.panels, self.density);
        let x: Vec<Vec<f64>> = responses.iter().map(of_modes).collect();
        let at = values::at(self, excitations, &x, self.places(), tolerance)?;
        let _span = tracing::debug_span!("local problems").entered();
        let of_panel = |i: usize| match (self.rows.conductor[i], self.density) {
            (Some(conductor), density) => {
                let held = |response: &Response| response.potentials[conductor as usize];
                let held: Vec<f64> = responses.iter().map(held).collect();
                match density {
                    Density::Constant => {
                        local::of_conductor::<Constants, _, _>(self, i, &held, &at, with_sides)
                    }
                    Density::Linear => {
                        local::of_conductor::<Linears, _, _>(self, i, &held, &at, with_sides)
                    }
                }
            }
            (None, Density::Constant) => {
                local::of_interface::<Constants, _, _>(self, i, &x, &at, with_sides)
            }
            (None, Density::Linear) => {
                local::of_interface::<Linears, _, _>(self, i, &x, &at, with_sides)
            }
        };
        let whole = self.panels.scale() * self.images.copies() as f64;
        let weight = |i: usize| whole * weights[self.panels.triangles()[i] as usize];
        let kinds = [true, false].map(|metal| {
            let is_kind = |i: &usize| self.rows.conductor[*i].is_some() == metal;
            self.own(n).filter(is_kind).collect::<Vec<usize>>()
        });
        let found = [&mut estimate.of_conductors, &mut estimate.of_interfaces];
        let at_most = [&mut estimate.of_conductors_at_most, &mut estimate.of_interfaces_at_most];
        for ((panels, signed), at_most) in kinds.iter().zip(found).zip(at_most) {
            if panels.is_empty() {
                continue;
            }
            let part = |panels: &[usize]| {
                let (mut sums, mut sides) = (Sums::new(count), Vec::new());
                for block in panels.chunks(BLOCK) {
                    let shares: Vec<Shares> = block.iter().map(|&i| of_panel(i)).collect();
                    let mut products = Vec::with_capacity(block.len());
                    for (&i, shares) in block.iter().zip(shares) {
                        products.push((shares.products, weight(i)));
                        sides.extend(shares.sides.map(|sides| (i, sides)));
                    }
                    sums.add(&products);
                }
                (sums, sides)
            };
            let of_part = panels.len().div_ceil(parts(count));
            let mut total = Sums::new(count);
            for some in panels.chunks(of_part * rayon::current_num_threads()) {
                let all: Vec<_> = some.par_chunks(of_part).map(part).collect();
                for (sums, of_panels) in all {
                    total.join(&sums);
                    for (i, of_panel) in of_panels {
                        let triangle = self.panels.triangles()[i] as usize;
                        for (sides, gains) in estimate.sides.iter_mut().zip(of_panel) {
                            sides[triangle] = gains.map(|gain| weight(i) * gain);
                        }
                    }
                }
            }
            [*signed, *at_most] = total.rows();
        }
        self.of_all_ranks_in(&mut estimate)?;
        Ok(estimate)
    }
}
