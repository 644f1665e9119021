//! Which pairs of panels a near field holds.

use parallel::prelude::*;

use super::entry::{Entry, PairIntegrals, over_images};
use crate::constants::COARSE_REACH;
use crate::geometry::neighbours::{Neighbours, Walk};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::quadrature::rule::Rule;

/// Selects the pairs whose entries the quadrature points would get wrong.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Pairs whose centroids are farther apart than this many diameters of either panel are not
    /// examined.
    pub diameters: f64,
    /// The operator's rule, and a finer one to estimate its errors.
    pub rules: [&'static Rule; 2],
    /// Largest error allowed in an entry times its weight ([`PairIntegrals::weights`]): roughly
    /// relative to a potential of 1.
    pub error: f64,
}

impl Selection {
    /// The selection for linear functions: their pairs are close up to a larger distance.
    pub fn for_functions(&self) -> Self {
        Self { diameters: self.diameters.max(COARSE_REACH), ..self.clone() }
    }

    /// How far each panel looks for others.
    pub fn reach(&self, panels: &Panels) -> Vec<f64> {
        let reach = |i: usize| self.diameters * panels.panel(i).diameter();
        (0..panels.total()).into_par_iter().map(reach).collect()
    }

    /// Decides which of `pairs` belong to the near field, counting all images of the second panel,
    /// and computes their exact entries: sums over all images. The results are in [`Choice::kept`].
    pub fn choose<I: PairIntegrals>(
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
        let images = |[i, j]: [usize; 2]| {
            let all = (j..panels.total()).step_by(n);
            all.filter(move |&j| panels.act(i, j)).map(move |j| [i, j])
        };
        let large = |[i, j]: [usize; 2], errors: [f64; 2]| {
            let weights = integrals.weights(panels, i, j % n);
            let small = errors.iter().zip(weights).all(|(error, w)| error * w <= self.error);
            !small // so that NaN is kept
        };
        choice.apart.clear();
        choice.how.clear();
        for [i, j] in pairs.iter().flat_map(|&pair| images(pair)) {
            let may_be_large = |from_points: bool| {
                large([i, j], integrals.largest_errors(self.rules, [i, j], from_points))
            };
            let distance = (panels.centroid(i) - panels.centroid(j)).norm();
            let how = if distance < panels.radius(i) + panels.radius(j) {
                How::Integral
            } else if may_be_large(false) && may_be_large(true) {
                choice.apart.push([i, j]);
                How::Rules
            } else {
                How::Bound
            };
            choice.how.push(how);
        }
        // One panel at a time: errors of the two must not cancel here.
        choice.errors.clear();
        integrals.errors(self.rules, &choice.apart, &mut choice.errors);
        let (mut how, mut errors) = (choice.how.iter(), choice.errors.iter());
        choice.kept.clear();
        for &pair in pairs {
            let (mut kept, mut known) = (false, None);
            for [i, j] in images(pair) {
                kept |= match how.next() {
                    Some(How::Bound) => false,
                    Some(How::Rules) => errors.next().is_none_or(|&error| large([i, j], error)),
                    // Rules of any order may agree by chance: only the integral itself decides.
                    Some(How::Integral) | None => {
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
}

/// How to decide whether the points are good enough for a pair.
#[derive(Clone, Copy, Debug)]
enum How {
    /// By a bound: the pair is so far apart, or so small, that rules cannot disagree.
    Bound,
    /// By comparing rules: the panels are far enough apart that rules reveal their own errors.
    Rules,
    Integral,
}

/// Results of [`Selection::choose`], and its scratch space.
#[derive(Debug)]
pub struct Choice<E> {
    /// One per pair, including all images.
    how: Vec<How>,
    /// Pairs to be decided by comparing rules.
    apart: Vec<[usize; 2]>,
    errors: Vec<[f64; 2]>,
    kept: Vec<Option<[E; 2]>>,
}

impl<E> Default for Choice<E> {
    fn default() -> Self {
        Self { how: vec![], apart: vec![], errors: vec![], kept: vec![] }
    }
}

impl<E> Choice<E> {
    /// For each pair its exact entries, if it belongs to the near field.
    pub fn kept(&self) -> &[Option<[E; 2]>] {
        &self.kept
    }

    /// Number of pairs, including all images, that bounds alone exclude.
    pub fn by_bounds(&self) -> usize {
        self.how.iter().filter(|how| matches!(how, How::Bound)).count()
    }
}

/// Smallest distance of points of two panels, or a panel and an image, relative to the smaller
/// panel's width (its height above its longest edge), at most 1.
///
/// Where it is small, sheets face each other: their potentials nearly cancel, so entries must be
/// more accurate by that factor.
pub fn smallest_relative_gap(panels: &Panels, rule: &'static Rule) -> f64 {
    let centroids = panels.centroids();
    smallest(
        panels,
        |_, width| 2.0 * width,
        |widths, i, j| {
            let size = widths[i].min(widths[j]);
            if (centroids[i] - centroids[j]).norm() > 2.0 * size {
                return 1.0;
            }
            let to = |x: Vec3| panels.points(rule, j).map(move |(y, _)| (x - y).norm_squared());
            let points = panels.points(rule, i);
            let nearest = points.flat_map(|(x, _)| to(x)).fold(f64::INFINITY, f64::min);
            nearest.sqrt() / size
        },
    )
}

/// Smallest height of a point of one panel above another panel, or an image, that it faces,
/// relative to the smaller of their widths, at most 1.
///
/// Where panels of two sheets differ in size or are long and thin, their points are farther from
/// each other than the sheets are: [`smallest_relative_gap`] does not detect that.
pub fn smallest_relative_height(panels: &Panels, rule: &'static Rule) -> f64 {
    smallest(
        panels,
        |diameter, _| diameter,
        |widths, i, j| {
            let (small, large) = if widths[i] < widths[j] { (i, j) } else { (j, i) };
            let corners = panels.corners(large);
            let height = |(x, _)| height_above(&corners, x).unwrap_or(f64::INFINITY);
            panels
                .points(rule, small)
                .map(|point| height(point) / widths[small])
                .fold(1.0, f64::min)
        },
    )
}

/// The smallest result of `relative` for the widths (heights above the longest edge) of pairs of
/// panels within reach of each other, at most 1; `reach` gives a panel's reach from its diameter
/// and width.
fn smallest(
    panels: &Panels,
    reach: impl Fn(f64, f64) -> f64 + Sync,
    relative: impl Fn(&[f64], usize, usize) -> f64 + Sync,
) -> f64 {
    let (n, total) = (panels.len(), panels.total());
    let sizes = |i: usize| {
        let diameter = panels.panel(i).diameter();
        let width = 2.0 * panels.areas()[i % n] / diameter;
        (width, reach(diameter, width))
    };
    let (widths, reach): (Vec<f64>, Vec<f64>) = (0..total).into_par_iter().map(sizes).unzip();
    let search = Neighbours::new(panels.centroids(), &reach);
    let row = |(walk, found): &mut (Walk<'_>, Vec<u32>), i: usize| {
        found.clear();
        walk.of(i, found);
        let later = found.iter().map(|&j| j as usize).filter(|&j| j > i && panels.act(i, j));
        later.map(|j| relative(&widths, i, j)).fold(1.0, f64::min)
    };
    (0..n).into_par_iter().map_init(|| (search.walk(), Vec::new()), row).reduce(|| 1.0, f64::min)
}

/// Rounding errors of heights, relative to the triangle's size.
const ON_PLANE: f64 = 1e-9;

/// Distance of a point from a triangle's plane, if the point is in front of or behind the triangle
/// and not on it.
fn height_above([a, b, c]: &[Vec3; 3], x: Vec3) -> Option<f64> {
    let normal = (b - a).cross(&(c - a));
    // Not above an edge, where another face may stand on it.
    let least = ON_PLANE * normal.norm_squared();
    let is_inside = |p: &Vec3, q: &Vec3| (q - p).cross(&(x - p)).dot(&normal) > least;
    if !(is_inside(a, b) && is_inside(b, c) && is_inside(c, a)) {
        return None;
    }
    let height = ((x - a).dot(&normal) / normal.norm()).abs();
    (height > ON_PLANE * (b - a).norm().max((c - a).norm())).then_some(height)
}
