//! Which pairs of panels a near field holds.

use rayon::prelude::*;

use crate::near::PairIntegrals;
use crate::panels::{Neighbours, Panels};
use crate::product::Rule;
use crate::triangle::Vec3;

/// Pairs whose entries the operator's points would get wrong.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// Pairs whose centroids are farther apart than this many diameters of either panel are not looked at.
    pub(crate) diameters: f64,
    /// The operator's rule, and a finer one that tells its errors.
    pub(crate) rules: [&'static Rule; 2],
    /// Largest error that may stay: of sqrt(A_i A_j) A_ij, which is an entry of the operator between functions of unit norm.
    pub(crate) error: f64,
}

impl Selection {
    /// How far each panel looks for others.
    pub(crate) fn reach(&self, panels: &Panels) -> Vec<f64> {
        let reach = |i: usize| self.diameters * panels.panel(i).diameter();
        (0..panels.total()).into_par_iter().map(reach).collect()
    }

    /// Exact entries of a pair, if it or an image of it belongs to the near field: sums over all images.
    pub(crate) fn keeps_any<I: PairIntegrals>(
        &self,
        panels: &Panels,
        integrals: &I,
        i: usize,
        j: usize,
        scratch: &mut I::Scratch,
    ) -> Option<[f64; 2]> {
        let images = panels.total() / panels.len();
        if images == 1 {
            return self.keeps(panels, integrals, i, j, scratch);
        }
        let any = (0..images)
            .any(|g| self.keeps(panels, integrals, i, g * panels.len() + j, scratch).is_some());
        any.then(|| panels.over_images(i, j, |i, j| integrals.exact(i, j, scratch)))
    }

    /// Exact entries of a pair within reach, if it belongs to the near field. `j` may be an image.
    pub(crate) fn keeps<I: PairIntegrals>(
        &self,
        panels: &Panels,
        integrals: &I,
        i: usize,
        j: usize,
        scratch: &mut I::Scratch,
    ) -> Option<[f64; 2]> {
        let [rule, finer] = self.rules;
        let size = (panels.areas()[i] * panels.areas()[j % panels.len()]).sqrt();
        let large = |error: f64| {
            let small = error * size <= self.error;
            !small // so that NaN is kept
        };
        let plain = integrals.by_points([rule, rule], i, j);
        let apart = (panels.centroid(i) - panels.centroid(j)).norm();
        if apart < panels.radius(i) + panels.radius(j) {
            // Rules of any order may agree by chance: nothing but the integral itself tells.
            let exact = integrals.exact(i, j, scratch);
            return (0..2).any(|k| large((exact[k] - plain[k]).abs())).then_some(exact);
        }
        // One side at a time: errors of the two sides do not cancel here.
        let (left, right) =
            (integrals.by_points([finer, rule], i, j), integrals.by_points([rule, finer], i, j));
        let error = |k: usize| (left[k] - plain[k]).abs() + (right[k] - plain[k]).abs();
        (0..2).any(|k| large(error(k))).then(|| integrals.exact(i, j, scratch))
    }
}

/// Smallest distance of points of two panels, or a panel and an image, relative to the smaller panel's width (its height above its longest edge), at
/// most 1.
///
/// Where it is small, sheets face each other: their potentials nearly cancel, and entries must be that much better.
pub(crate) fn closest(panels: &Panels, rule: &Rule) -> f64 {
    let (n, total) = (panels.len(), panels.total());
    let widths: Vec<f64> = (0..total)
        .into_par_iter()
        .map(|i| 2.0 * panels.areas()[i % n] / panels.panel(i).diameter())
        .collect();
    let centroids: Vec<_> = (0..total).into_par_iter().map(|i| panels.centroid(i)).collect();
    let reach: Vec<f64> = widths.iter().map(|width| 2.0 * width).collect();
    let search = Neighbours::new(&centroids, &reach);
    let row = |found: &mut Vec<u32>, i: usize| {
        found.clear();
        search.of(i, found);
        let relative = |&j: &u32| {
            let j = j as usize;
            let size = widths[i].min(widths[j]);
            if j <= i || (centroids[i] - centroids[j]).norm() > 2.0 * size {
                return 1.0;
            }
            let to =
                |x: Vec3| rule.on(panels.vertices(j)).map(move |(y, _)| (x - y).norm_squared());
            let points = rule.on(panels.vertices(i));
            let nearest = points.flat_map(|(x, _)| to(x)).fold(f64::INFINITY, f64::min);
            nearest.sqrt() / size
        };
        found.iter().map(relative).fold(1.0, f64::min)
    };
    (0..n).into_par_iter().map_init(Vec::new, row).reduce(|| 1.0, f64::min)
}
