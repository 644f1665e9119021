//! The quadrature points that represent the panels in the fast sum.

use std::ops::Range;

use parallel::prelude::*;

use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::integrals::potentials::WeightedPoints;
use crate::ordered;
use crate::quadrature::rule::Rule;

/// Panels summed over at a time, so that coordinates and charges stay in cache.
const CHUNK: usize = 256;

/// One rule on every panel: point p of panel i is point i len + p of the sum, and carries the share
/// w_p of the panel's charge.
#[derive(Clone, Copy, Debug)]
pub struct QuadraturePoints<'a> {
    panels: &'a Panels,
    rule: &'static Rule,
}

impl<'a> QuadraturePoints<'a> {
    /// Points of this rule on all panels.
    pub fn new(panels: &'a Panels, rule: &'static Rule) -> Self {
        Self { panels, rule }
    }

    pub(crate) fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// Number of points on all panels.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.panels.len() * self.rule.len()
    }

    /// Number of points including those of images.
    pub(crate) fn total(&self) -> usize {
        self.panels.total() * self.rule.len()
    }

    fn of(&self, panel: usize) -> impl Iterator<Item = (Vec3, f64)> {
        self.panels.points(self.rule, panel)
    }

    /// Point `index` of the sum.
    pub fn at(&self, index: usize) -> [f64; 3] {
        let (panel, node) = (index / self.rule.len(), index % self.rule.len());
        self.of(panel).nth(node).map_or([f64::NAN; 3], |(x, _)| x.into())
    }

    /// All points.
    pub fn all(&self) -> Vec<[f64; 3]> {
        self.of_panels(0..self.panels.len())
    }

    /// All points, followed by those of the panels' images.
    pub fn of_all_images(&self) -> Vec<[f64; 3]> {
        self.of_panels(0..self.panels.total())
    }

    /// Points of some panels and images.
    pub(crate) fn of_panels(&self, panels: Range<usize>) -> Vec<[f64; 3]> {
        let nodes = self.rule.len();
        let mut all = vec![[0.0; 3]; panels.len() * nodes];
        all.par_chunks_mut(CHUNK * nodes).enumerate().for_each(|(chunk, points)| {
            for (k, points) in points.chunks_mut(nodes).enumerate() {
                let on = self.of(panels.start + chunk * CHUNK + k);
                points.iter_mut().zip(on).for_each(|(point, (x, _))| *point = x.into());
            }
        });
        all
    }

    /// sum_q charges_q / |x - x_q| at each of `targets`, over all points including those of images,
    /// by direct summation; a point that coincides with a target contributes nothing.
    pub fn direct_sums(&self, charges: &[f64], targets: &[[f64; 3]]) -> Vec<f64> {
        self.direct(charges, targets.len(), |sources, sums| {
            sources.add_inverse_distances(targets, sums);
        })
    }

    /// The gradients of the same sums, shape (targets, 3).
    pub fn direct_gradients(&self, charges: &[f64], targets: &[[f64; 3]]) -> Vec<f64> {
        self.direct(charges, 3 * targets.len(), |sources, sums| {
            sources.add_gradients(targets, sums)
        })
    }

    /// `count` sums over all points; `add` adds the contribution of some of them.
    fn direct(
        &self,
        charges: &[f64],
        count: usize,
        add: impl Fn(&mut WeightedPoints, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let nodes = self.rule.len();
        let add_panels = |panels: Range<usize>, sums: &mut [f64]| {
            let charges = &charges[panels.start * nodes..panels.end * nodes];
            let mut sources = WeightedPoints::default();
            let points = panels.flat_map(|i| self.of(i));
            points.zip(charges).for_each(|((x, _), q)| sources.push(&x, *q));
            add(&mut sources, sums);
        };
        ordered::sums(0..self.panels.total(), CHUNK, count, add_panels)
    }
}
