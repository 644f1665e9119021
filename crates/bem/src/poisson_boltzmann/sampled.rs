//! The residual at some panels, independent of the solve: whole rows, summed directly over the
//! points of all panels, without fast sums and without the near field of the solve.
//!
//! The equations are those of Nystroem's method, in which panels out of reach are sums over their
//! points, with Gauss's law where there is one of these: how far sums are from integrals is an
//! error of the mesh, which error bars are about, and none of the solve.

use std::ops::Range;

use parallel::prelude::*;

use super::close::{Scratch, Source};
use super::kernel::{Term, between_points};
use super::nodes::{Degree, MOST, Target};
use super::pairs::{PairScratch, PointPairs, PointValues};
use super::system::{self, AtPoint};
use super::{FixedCharge, Screened, gauss, reach};
use crate::geometry::triangle::Vec3;
use crate::near::{Coefficient, PairIntegrals};
use crate::sampling::drawn::Surface;
use crate::{Error, collective, ordered};

/// Errors of integrals relative to those of the solve.
const FINER: f64 = 0.1;

/// Panels whose contributions to all rows are added together.
const TOGETHER: usize = 128;

impl Screened {
    /// Root mean square of the residual over all surfaces in the state solved for with these
    /// charges, estimated from panels distributed over area, potential and flux of each connected
    /// surface; relative as [`GmresInfo::relative_residual`](crate::GmresInfo::relative_residual).
    /// Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub fn sampled_residual(&self, charges: &[FixedCharge]) -> Result<f64, Error> {
        let (panels, nodes) = (&self.panels, &self.nodes);
        let amounts = [&self.potentials, &self.fluxes].map(|of| -> Vec<f64> {
            let amount = |i| nodes.of_panel(i).map(|node| nodes.weights[node] * of[node]).sum();
            (0..panels.len()).map(amount).collect()
        });
        let (part, _) = panels.parts();
        let parts = part.iter().map(|&part| part as usize + 1).max().unwrap_or(0);
        let surface = Surface { areas: panels.areas(), part, parts };
        let density = surface.by_area_and_charge(&amounts.each_ref().map(Vec::as_slice));
        let drawn = surface.drawn(&density, surface.rows(panels.len()));
        let chosen: Vec<usize> = drawn.iter().map(|&(i, _)| i).collect();
        let layers = self.layers_at(&chosen)?;
        let reach = reach(panels);
        let defects = gauss::defects_at(panels, nodes, &self.regions, &reach, &chosen);
        let right = |&i: &usize| self.right_hand_side_at(i, charges, reach[i]);
        let right: Vec<[f64; 2]> = chosen.par_iter().flat_map_iter(right).collect();
        let places =
            drawn.iter().flat_map(|&(i, times)| nodes.of_panel(i).map(move |k| (k, times)));
        let (mut squares, mut area) = ([0.0; 2], 0.0);
        for (at, (node, times)) in places.enumerate() {
            let point = AtPoint {
                values: [self.potentials[node], self.fluxes[node]],
                layers: layers[at],
                defect: defects.get(at).copied().unwrap_or(0.0),
            };
            let left = system::left_hand_sides(&self.regions, node / nodes.degree.points(), point);
            let weight = times * nodes.weights[node];
            area += weight;
            (0..2).for_each(|k| squares[k] += weight * (right[at][k] - left[k]).powi(2));
        }
        let whole: f64 = nodes.weights.iter().sum();
        let each = squares.iter().zip(self.right_sizes);
        let sum: f64 = each.map(|(square, size)| square / size).sum();
        Ok(if area > 0.0 { (0.5 * sum * whole / area).sqrt() } else { 0.0 })
    }

    /// Sums of layers in both rows of each point of some panels. Collective.
    fn layers_at(&self, chosen: &[usize]) -> Result<Vec<[f64; 2]>, Error> {
        let group = if self.is_dense() { comm::alone() } else { self.options.group() };
        let (rank, ranks, n) = (group.rank(), group.size(), self.panels.len());
        let own = n * rank / ranks..n * (rank + 1) / ranks;
        let mut sums = match self.nodes.degree {
            Degree::Constant => self.layers_of::<1>(own, chosen),
            Degree::Linear => self.layers_of::<3>(own, chosen),
            Degree::Quadratic => self.layers_of::<MOST>(own, chosen),
        };
        collective::sum(&*group, &mut sums)?;
        Ok(sums.chunks_exact(2).map(|row| [row[0], row[1]]).collect())
    }

    /// Sums over a range of panels, shape (chosen panels, points, 2).
    fn layers_of<const Q: usize>(&self, own: Range<usize>, chosen: &[usize]) -> Vec<f64> {
        let (panels, nodes, regions) = (&self.panels, &self.nodes, &self.regions);
        let (stencil, reach, centroids) =
            (nodes.degree.stencil(), reach(panels), panels.centroids());
        let sources: Vec<Source<'_>> =
            nodes.patches.par_iter().map(|patch| Source::new(patch, stencil)).collect();
        let accuracy = FINER * self.accuracy;
        let pairs = PointPairs::<Q> { nodes, regions, sources: &sources, reach: &reach, accuracy };
        let add = |own: Range<usize>, sums: &mut [f64]| {
            let mut scratch = PairScratch::default();
            for j in own {
                let first = nodes.of_panel(j).start;
                let value = |k| [self.potentials[first + k], self.fluxes[first + k]];
                let values = PointValues(std::array::from_fn(value));
                for (sums, &i) in sums.chunks_exact_mut(2 * Q).zip(chosen) {
                    let within = reach[i].max(reach[j]);
                    let is_close = (centroids[i] - centroids[j]).norm_squared() < within * within;
                    let block = match is_close && regions.have_common(i, j) {
                        true => pairs.exact(i, j, &mut scratch)[0],
                        false => pairs.sums(i, j),
                    };
                    let mut rows = PointValues::<Q>::default();
                    block.add_product(values, &mut rows);
                    let rows = rows.0.as_flattened();
                    sums.iter_mut().zip(rows).for_each(|(sum, row)| *sum += row);
                }
            }
        };
        ordered::sums(own, TOGETHER, 2 * Q * chosen.len(), add)
    }

    /// The right-hand sides of charges at each point of a panel.
    fn right_hand_side_at(
        &self,
        panel: usize,
        charges: &[FixedCharge],
        reach: f64,
    ) -> Vec<[f64; 2]> {
        let (nodes, own) = (&self.nodes, self.nodes.of_panel(panel));
        let source = Source::new(&nodes.patches[panel], nodes.degree.stencil());
        let is_flat = nodes.patches[panel].is_straight();
        let mut scratch = Scratch::default();
        let mut right = vec![[0.0; 2]; own.len()];
        for region in self.regions.sides[panel] {
            let medium = self.regions.media[region as usize];
            let kappa = medium.kappa;
            let terms = [Term { kappa, single: medium.permittivity, ..Term::dipoles(1.0) }];
            let (places, charges) = self.charges_in(region as usize, charges);
            for (place, charge) in places.into_iter().zip(charges) {
                let place = Vec3::from(place);
                let target = Target { place, normal: Vec3::z(), own: None };
                let mut fluxes = [0.0; MOST];
                let is_close = (self.panels.centroid(panel) - place).norm_squared() < reach * reach;
                if is_close && is_flat {
                    let accuracy = FINER * self.accuracy;
                    let entries = source.entries(&target, &terms, accuracy, &mut scratch);
                    fluxes = entries.map(|entry| entry.double);
                } else {
                    for point in self.means_over(panel) {
                        let double = between_points(&terms, &target, point.source()).double;
                        let shares = fluxes.iter_mut().zip(point.shares);
                        shares.for_each(|(flux, share)| *flux += share * double);
                    }
                }
                for ((row, node), flux) in right.iter_mut().zip(own.clone()).zip(fluxes) {
                    let single = between_points(&terms, &target, nodes.source(node)).single;
                    let weight = nodes.weights[node];
                    row[0] += charge * single / weight;
                    row[1] += charge * flux / weight;
                }
            }
        }
        right
    }
}
