//! Which pairs of panels a near field holds.

use rayon::prelude::*;

use crate::near::PairIntegrals;
use crate::panels::{Neighbours, Panels};
use crate::product::Rule;
use crate::triangle::Vec3;

/// Pairs whose entries the operator's points would get wrong.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Pairs whose centroids are farther apart than this many diameters of either panel are not looked at.
    pub(crate) diameters: f64,
}

impl Selection {
    /// How far each panel looks for others.
    pub(crate) fn reach(&self, panels: &Panels) -> Vec<f64> {
        let reach = |i: usize| self.diameters * panels.panel(i).diameter();
        (0..panels.len()).into_par_iter().map(reach).collect()
    }

    /// Whether a pair within reach belongs to the near field.
    pub(crate) fn keeps<I: PairIntegrals>(&self, _: &Panels, _: &I, _: usize, _: usize) -> bool {
        true
    }
}

/// Smallest distance of points of two panels, relative to the smaller panel's size (root of its area), at most 1.
///
/// Where it is small, sheets face each other: their potentials nearly cancel, and entries must be that much better.
pub(crate) fn closest(panels: &Panels, rule: &Rule) -> f64 {
    let n = panels.len();
    let size = |i: usize| panels.areas()[i].sqrt();
    let centroids: Vec<_> = (0..n).map(|i| panels.centroid(i)).collect();
    let reach: Vec<f64> = (0..n).map(|i| 2.0 * size(i)).collect();
    let search = Neighbours::new(&centroids, &reach);
    let row = |found: &mut Vec<u32>, i: usize| {
        found.clear();
        search.of(i, found);
        let relative = |&j: &u32| {
            let j = j as usize;
            let size = size(i).min(size(j));
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
