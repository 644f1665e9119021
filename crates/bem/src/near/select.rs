//! Which pairs of panels a near field holds.

use rayon::prelude::*;

use crate::geometry::neighbours::{Neighbours, Walk};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::near::{Entry, PairIntegrals, over_images};
use crate::quadrature::sums::Rule;

/// Pairs whose entries the operator's points would get wrong.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// Pairs whose centroids are farther apart than this many diameters of either panel are not
    /// looked at.
    pub(crate) diameters: f64,
    /// The operator's rule, and a finer one that tells its errors.
    pub(crate) rules: [&'static Rule; 2],
    /// Largest error that may stay of an entry times its weight ([`PairIntegrals::weights`]): about
    /// the share of a potential of 1.
    pub(crate) error: f64,
}

impl Selection {
    /// How far each panel looks for others.
    pub(crate) fn reach(&self, panels: &Panels) -> Vec<f64> {
        let reach = |i: usize| self.diameters * panels.panel(i).diameter();
        (0..panels.total()).into_par_iter().map(reach).collect()
    }

    /// Which of `pairs` belong to the near field, themselves or an image of the second panel, and
    /// their exact entries: sums over all images. The answers are [`Choice::kept`].
    pub(crate) fn choose<I: PairIntegrals>(
        &self,
        panels: &Panels,
        integrals: &I,
        pairs: &[[usize; 2]],
        choice: &mut Choice<I::Entry>,
        scratch: &mut I::Scratch,
    ) {
        let [rule, _] = self.rules;
        let n = panels.len();
        let with_images = panels.total() > n;
        let images = |[i, j]: [usize; 2]| (j..panels.total()).step_by(n).map(move |j| [i, j]);
        let large = |[i, j]: [usize; 2], errors: [f64; 2]| {
            let weights = integrals.weights(panels, i, j % n);
            let small = errors.iter().zip(weights).all(|(error, w)| error * w <= self.error);
            !small // so that NaN is kept
        };
        choice.apart.clear();
        choice.is_apart.clear();
        for [i, j] in pairs.iter().flat_map(|&pair| images(pair)) {
            let distance = (panels.centroid(i) - panels.centroid(j)).norm();
            let touching = distance < panels.radius(i) + panels.radius(j);
            choice.is_apart.push(!touching);
            if !touching {
                choice.apart.push([i, j]);
            }
        }
        // One side at a time: errors of the two sides do not cancel here.
        choice.errors.clear();
        integrals.errors(self.rules, &choice.apart, &mut choice.errors);
        let (mut is_apart, mut errors) = (choice.is_apart.iter(), choice.errors.iter());
        choice.kept.clear();
        for &pair in pairs {
            let (mut kept, mut known) = (false, None);
            for [i, j] in images(pair) {
                let apart = is_apart.next().is_some_and(|&apart| apart);
                kept |= match errors.as_slice().first().filter(|_| apart) {
                    Some(&error) => {
                        errors.next();
                        large([i, j], error)
                    }
                    // Rules of any order may agree by chance: nothing but the integral itself
                    // tells.
                    None => {
                        let exact = integrals.exact(i, j, scratch);
                        let plain = integrals.by_points([rule, rule], i, j);
                        known = (!with_images).then_some(exact);
                        let error = |k: usize| exact[k].plus(-1.0, plain[k]).size();
                        large([i, j], [error(0), error(1)])
                    }
                };
            }
            let exact = || {
                let [i, j] = pair;
                known.unwrap_or_else(|| {
                    over_images(panels, i, j, |i, j| integrals.exact(i, j, scratch))
                })
            };
            choice.kept.push(kept.then(exact));
        }
    }

    /// [`Self::choose`] for one pair.
    #[cfg(test)]
    pub(crate) fn keeps<I: PairIntegrals>(
        &self,
        panels: &Panels,
        integrals: &I,
        i: usize,
        j: usize,
        scratch: &mut I::Scratch,
    ) -> Option<[I::Entry; 2]> {
        let mut choice = Choice::default();
        self.choose(panels, integrals, &[[i, j]], &mut choice, scratch);
        choice.kept[0]
    }
}

/// What [`Selection::choose`] finds, and room for it.
#[derive(Debug)]
pub(crate) struct Choice<E> {
    /// Of all pairs with all images: whether the panels are so far apart that rules tell their own
    /// errors.
    is_apart: Vec<bool>,
    /// Those that are.
    apart: Vec<[usize; 2]>,
    errors: Vec<[f64; 2]>,
    kept: Vec<Option<[E; 2]>>,
}

impl<E> Default for Choice<E> {
    fn default() -> Self {
        Self { is_apart: vec![], apart: vec![], errors: vec![], kept: vec![] }
    }
}

impl<E> Choice<E> {
    /// For each pair its exact entries, if it belongs to the near field.
    pub(crate) fn kept(&self) -> &[Option<[E; 2]>] {
        &self.kept
    }
}

/// Smallest distance of points of two panels, or a panel and an image, relative to the smaller
/// panel's width (its height above its longest edge), at most 1.
///
/// Where it is small, sheets face each other: their potentials nearly cancel, and entries must be
/// that much better.
pub(crate) fn smallest_relative_gap(panels: &Panels, rule: &Rule) -> f64 {
    let (n, total) = (panels.len(), panels.total());
    let widths: Vec<f64> = (0..total)
        .into_par_iter()
        .map(|i| 2.0 * panels.areas()[i % n] / panels.panel(i).diameter())
        .collect();
    let centroids = panels.centroids();
    let reach: Vec<f64> = widths.iter().map(|width| 2.0 * width).collect();
    let search = Neighbours::new(centroids, &reach);
    let row = |(walk, found): &mut (Walk<'_>, Vec<u32>), i: usize| {
        found.clear();
        walk.of(i, found);
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
    (0..n).into_par_iter().map_init(|| (search.walk(), Vec::new()), row).reduce(|| 1.0, f64::min)
}
