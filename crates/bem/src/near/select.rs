//! Which pairs of panels a near field holds.

use parallel::prelude::*;

use crate::geometry::neighbours::{Neighbours, Walk};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::near::{Entry, PairIntegrals, over_images};
use crate::quadrature::rule::Rule;

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
            let distance = (panels.centroid(i) - panels.centroid(j)).norm();
            let how = if distance < panels.radius(i) + panels.radius(j) {
                How::Integral
            } else if large([i, j], integrals.largest_errors(self.rules, i, j)) {
                choice.apart.push([i, j]);
                How::Rules
            } else {
                How::Bound
            };
            choice.how.push(how);
        }
        // One side at a time: errors of the two sides do not cancel here.
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
                    // Rules of any order may agree by chance: nothing but the integral itself
                    // tells.
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

/// What tells whether the points are good enough for a pair.
#[derive(Clone, Copy, Debug)]
enum How {
    /// It is so far away, or so small, that rules cannot disagree.
    Bound,
    /// The panels are so far apart that rules tell their own errors.
    Rules,
    Integral,
}

/// What [`Selection::choose`] finds, and room for it.
#[derive(Debug)]
pub(crate) struct Choice<E> {
    /// Of all pairs with all images.
    how: Vec<How>,
    /// Those where rules tell.
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
    pub(crate) fn kept(&self) -> &[Option<[E; 2]>] {
        &self.kept
    }
}

/// Smallest distance of points of two panels, or a panel and an image, relative to the smaller
/// panel's width (its height above its longest edge), at most 1.
///
/// Where it is small, sheets face each other: their potentials nearly cancel, and entries must be
/// that much better.
pub(crate) fn smallest_relative_gap(panels: &Panels, rule: &'static Rule) -> f64 {
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

/// Smallest height of points of one panel above another one, or an image, that they are in front
/// of, relative to the smaller width of both, at most 1.
///
/// Where panels of two sheets are of other sizes or long and thin, their points do not come as
/// close to each other as the sheets do: [`smallest_relative_gap`] does not see that.
pub(crate) fn smallest_relative_height(panels: &Panels, rule: &'static Rule) -> f64 {
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

/// The smallest of what `relative` makes of the widths (heights above the longest edge) of pairs of
/// panels within reach of each other, at most 1; `reach` is that of a panel's diameter and width.
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

/// Rounding of heights, relative to a triangle.
const ON_PLANE: f64 = 1e-9;

/// The distance of a point from a triangle's plane, if it is in front of or behind the triangle,
/// and not on it.
fn height_above([a, b, c]: &[Vec3; 3], x: Vec3) -> Option<f64> {
    let normal = (b - a).cross(&(c - a));
    // Not above a side, where another face may stand on it.
    let least = ON_PLANE * normal.norm_squared();
    let is_inside = |p: &Vec3, q: &Vec3| (q - p).cross(&(x - p)).dot(&normal) > least;
    if !(is_inside(a, b) && is_inside(b, c) && is_inside(c, a)) {
        return None;
    }
    let height = ((x - a).dot(&normal) / normal.norm()).abs();
    (height > ON_PLANE * (b - a).norm().max((c - a).norm())).then_some(height)
}

#[cfg(test)]
mod tests {
    use mesh::Mesh;
    use mesh::generate::{Cube, Molecule, Plate, Resolution, Sphere, SphereBase};

    use super::*;
    use crate::near::accuracy::Accuracy;
    use crate::near::pairs::{LayerPairs, RowKind, Scratch};

    /// The same entries without [`PairIntegrals::largest_errors`].
    struct Unbounded<'a>(LayerPairs<'a>);

    impl PairIntegrals for Unbounded<'_> {
        type Entry = f64;
        type Scratch = Scratch;

        fn is_symmetric(&self) -> bool {
            self.0.is_symmetric()
        }

        fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
            self.0.exact(i, j, scratch)
        }

        fn by_points(&self, rules: [&'static Rule; 2], i: usize, j: usize) -> [f64; 2] {
            self.0.by_points(rules, i, j)
        }

        fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
            self.0.weights(panels, i, j)
        }

        fn errors(
            &self,
            rules: [&'static Rule; 2],
            pairs: &[[usize; 2]],
            errors: &mut Vec<[f64; 2]>,
        ) {
            self.0.errors(rules, pairs, errors);
        }
    }

    /// A face that stands on another one's edge is not in front of it; a sheet is, whatever its
    /// triangles.
    #[test]
    fn heights_are_those_of_other_sheets() {
        let resolution = Resolution::Elements(600);
        let rule = Accuracy::new(1e-6, 0).rule;
        let height = |mesh: &Mesh| smallest_relative_height(&Panels::new(mesh, |_| true), rule);
        let mut cube = Cube { edge: 1.0, grade: 50.0, resolution }.build().unwrap();
        // Turned, so that places over edges are rounded.
        let (sin, cos) = 0.4f64.sin_cos();
        for [x, y, z] in &mut cube.vertices {
            (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
            (*y, *z) = (cos * *y - sin * *z, sin * *y + cos * *z);
        }
        assert_eq!(height(&cube), 1.0);
        let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
        assert_eq!(height(&sphere.build().unwrap()), 1.0);
        // Squares of 1/6 cut in halves, as wide as half their diagonal, and long rectangles.
        let plate = |elements: usize| {
            let resolution = Resolution::Elements(elements);
            Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap()
        };
        let (wide, mut long) = (plate(72), plate(200));
        let (gap, width) = (1e-4, 0.5 * 2f64.sqrt() / 6.0);
        long.vertices.iter_mut().for_each(|v| *v = [0.4 * v[0], 30.0 * v[1], gap]);
        let thin = 0.04 * 3.0 / (0.04f64.powi(2) + 9.0).sqrt();
        let mesh = mesh::join::joined(vec![("wide".into(), wide), ("long".into(), long)]);
        let expected = gap / thin.min(width);
        assert!((height(&mesh) / expected - 1.0).abs() < 1e-6, "{} {expected}", height(&mesh));
    }

    /// Bounds leave out pairs that their errors leave out, and no others.
    #[test]
    fn bounds_of_errors_change_no_choice() {
        let resolution = Resolution::Elements(400);
        let sphere = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution };
        let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
        let plate = Plate { width: 1.0, height: 1.0, grade: 100.0, resolution }.build().unwrap();
        let mut above = plate.clone();
        above.vertices.iter_mut().for_each(|v| *v = [0.1 * v[0], 0.1 * v[1] + 0.3, 0.05]);
        let plates = mesh::join::joined(vec![("a".into(), plate), ("b".into(), above)]);
        let molecule = Molecule { atoms: 4, resolution }.build().unwrap();
        let meshes: [(&str, Mesh); 5] = [
            ("sphere", sphere.build().unwrap()),
            ("cube", cube(1.0)),
            ("graded cube", cube(1000.0)),
            ("plates", plates),
            ("molecule", molecule),
        ];
        for (name, mesh) in meshes {
            let panels = Panels::new(&mesh, |_| true);
            for tolerance in [1e-5, 1e-6, 1e-7] {
                let Accuracy { selection, pairs: quadrature, .. } = Accuracy::new(tolerance, 0);
                for kind in [RowKind::Single, RowKind::Adjoint] {
                    let kinds: Vec<RowKind> = (0..panels.len())
                        .map(|i| if i % 3 == 0 { RowKind::Single } else { kind })
                        .collect();
                    let pairs = || LayerPairs::new(&panels, &kinds, quadrature);
                    let (bounded, plain) = (pairs(), Unbounded(pairs()));
                    let reach = selection.reach(&panels);
                    let search = Neighbours::new(panels.centroids(), &reach);
                    let (mut walk, mut found) = (search.walk(), Vec::new());
                    let (mut scratch, mut choices) = (Scratch::default(), Default::default());
                    let mut others = Choice::default();
                    let (mut candidates, mut without) = (0, 0);
                    for i in 0..panels.len() {
                        found.clear();
                        walk.of(i, &mut found);
                        let ordered = |&j: &u32| <[usize; 2]>::from(panels.ordered(i, j as usize));
                        let own: Vec<[usize; 2]> =
                            found.iter().filter(|&&j| j as usize > i).map(ordered).collect();
                        let choice: &mut Choice<f64> = &mut choices;
                        selection.choose(&panels, &bounded, &own, choice, &mut scratch);
                        selection.choose(&panels, &plain, &own, &mut others, &mut scratch);
                        assert!(choice.kept() == others.kept(), "{name} {tolerance} {kind:?} {i}");
                        candidates += own.len();
                        without +=
                            choice.how.iter().filter(|how| matches!(how, How::Bound)).count();
                    }
                    println!("{name} {tolerance} {kind:?}: {without} of {candidates} by bounds");
                }
            }
        }
    }
}
