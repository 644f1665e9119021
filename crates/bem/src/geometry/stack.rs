//! Layers of dielectric that go on without end, between half-spaces or grounded planes: what they
//! do to the potential of a charge in one of them, as images.
//!
//! Over wave numbers k along the layers, the potential at height z of a unit charge at z', both in
//! a region between interfaces at `low` and `high`, H apart, is 2 pi / k times
//!
//!   exp(-k |z - z'|) + d(k) exp(-k (z + z' - 2 low)) + u(k) exp(-k (2 high - z - z'))
//!     + b(k) exp(-2 k H) (exp(-k (z - z')) + exp(k (z - z'))),
//!
//! d = D/(1 - D U exp(-2 k H)), u and b the same with U and D U above; D and U are what the rest
//! of the stack reflects below and above, by r = (eps - eps')/(eps + eps') at each interface and
//! R = (r + R' exp(-2 k t))/(1 + r R' exp(-2 k t)) through a layer of thickness t, -1 at a ground
//! (W. C. Chew, Waves and Fields in Inhomogeneous Media, IEEE Press 1995, section 2.1, in the
//! static limit). A sum of terms w exp(-k s) in d, u or b is one of image charges w at a distance s
//! farther away: its largest coefficient belongs to s = 0, and the others are fitted by least
//! squares at real distances s, in which these functions are as smooth as sums of exponentials are.
//! The error of a potential is at most the integral over k of the fit's.

use nalgebra::{DMatrix, DVector};
use thiserror::Error;

/// Wave numbers at which a fit is made, evenly in their logarithm.
const NUMBERS: usize = 600;

/// Beyond this exponent nothing is left of a term.
const LAST: f64 = 40.0;

/// Numbers of images that are tried for one function, from few on.
const TRIED: [usize; 11] = [2, 3, 4, 6, 8, 11, 14, 18, 24, 32, 44];
/// The same between grounds, where they go on farther.
const TRIED_BETWEEN: [usize; 5] = [32, 48, 64, 96, 140];

/// Largest distances that are tried, in sizes of structure and stack.
const FARTHEST: [f64; 7] = [1.5, 3.0, 6.0, 12.0, 30.0, 100.0, 300.0];

/// What weights of images count beside errors, relative to the tolerance: without it they are large
/// and cancel.
const SMALL: f64 = 1e-2;

/// The last attempt punishes sizes by this share of that: thin layers next to thick ones need
/// images whose weights differ by more.
const SMALLER: f64 = 0.1;
/// Where they are large anyway.
const SMALL_BETWEEN: f64 = 1e-12;

/// The lowest wave number times the size, relative to the tolerance: nothing below changes a
/// potential by more.
const LOWEST: f64 = 0.3;

/// What is above or below all layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beyond {
    /// Metal at 0 V.
    Ground,
    /// A medium of this relative permittivity.
    Dielectric(f64),
}

/// A layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// In the mesh's unit.
    pub thickness: f64,
    /// Relative.
    pub permittivity: f64,
}

/// Layers on each other, without end along them.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// 0, 1, 2 for layers perpendicular to x, y, z.
    pub axis: usize,
    /// Height of the lowest interface.
    pub at: f64,
    /// Below all layers.
    pub below: Beyond,
    /// From the lowest on.
    pub layers: Vec<Layer>,
    /// Above all layers.
    pub above: Beyond,
    /// Largest error of the images' potentials, relative to those of the same charges at a distance
    /// of the structure's size.
    pub tolerance: f64,
}

/// An image: height z becomes z + `shift`, or -z + `shift` where it is mirrored, and charges are
/// multiplied by `weight`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerImage {
    /// Along which heights are.
    pub axis: usize,
    /// Whether it is mirrored.
    pub is_mirrored: bool,
    /// In the mesh's unit.
    pub shift: f64,
    /// What charges are multiplied by.
    pub weight: f64,
}

impl LayerImage {
    /// The image of a point.
    pub fn of(&self, x: [f64; 3]) -> [f64; 3] {
        let sign = if self.is_mirrored { -1.0 } else { 1.0 };
        std::array::from_fn(|k| if k == self.axis { sign * x[k] + self.shift } else { x[k] })
    }
}

/// No sum of so many images is as good as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{images} images leave an error of {left:.1e}")]
pub struct TooCoarse {
    /// Images of one function.
    pub images: usize,
    /// Relative error that they leave.
    pub left: f64,
}

impl Stack {
    /// Heights of the interfaces, from the lowest on: one more than there are layers.
    pub fn interfaces(&self) -> Vec<f64> {
        let tops = self.layers.iter().scan(self.at, |height, layer| {
            *height += layer.thickness;
            Some(*height)
        });
        std::iter::once(self.at).chain(tops).collect()
    }

    /// Height of the highest interface.
    pub fn top(&self) -> f64 {
        self.at + self.layers.iter().map(|layer| layer.thickness).sum::<f64>()
    }

    /// Relative permittivity of a region: 0 is below all layers, then they follow, and what is
    /// above all; `None` in a ground and for regions that are not there.
    pub fn permittivity(&self, region: usize) -> Option<f64> {
        let of = |beyond| match beyond {
            Beyond::Ground => None,
            Beyond::Dielectric(permittivity) => Some(permittivity),
        };
        match region.checked_sub(1) {
            None => of(self.below),
            Some(layer) if layer == self.layers.len() => of(self.above),
            Some(layer) => self.layers.get(layer).map(|layer| layer.permittivity),
        }
    }

    /// Where a region is.
    pub fn bounds(&self, region: usize) -> [f64; 2] {
        let interfaces = self.interfaces();
        let below = region.checked_sub(1).and_then(|k| interfaces.get(k).copied());
        let above = interfaces.get(region).copied();
        [below.unwrap_or(f64::NEG_INFINITY), above.unwrap_or(f64::INFINITY)]
    }

    /// The lowest region, no ground, in which all heights from `low` to `high` are; interfaces
    /// belong to the regions on both sides, to within `tolerance`.
    pub fn region(&self, low: f64, high: f64, tolerance: f64) -> Option<usize> {
        (0..self.layers.len() + 2).find(|&region| {
            let [bottom, top] = self.bounds(region);
            let is_inside = low >= bottom - tolerance && high <= top + tolerance;
            is_inside && self.permittivity(region).is_some()
        })
    }

    /// The images of charges in a region for potentials in it, of a structure of this size. Images
    /// without a shift, in the interfaces of the region, come first.
    ///
    /// # Errors
    /// [`TooCoarse`].
    pub fn images(&self, region: usize, size: f64) -> Result<Vec<LayerImage>, TooCoarse> {
        let Some(own) = self.permittivity(region) else { return Ok(Vec::new()) };
        let [low, high] = self.bounds(region);
        let thickness = high - low;
        let (below, above) = (self.seen(region, false), self.seen(region, true));
        // What is reflected below, above, and both times, without what is in between.
        let reflected = |k: f64| -> [f64; 3] {
            let [down, up] = [&below, &above].map(|seen| seen.reflect(own, k));
            let between = down * up * (-2.0 * k * thickness).exp();
            // Between two grounds nothing is left at k = 0 but for what grows without bound.
            let all = 1.0 / (1.0 - between).max(f64::MIN_POSITIVE);
            [down * all, up * all, down * up * all]
        };
        let adjacent = [Some(thickness), below.first(), above.first()];
        let finite = |t: &f64| t.is_finite();
        let nearest = 2.0 * adjacent.into_iter().flatten().filter(finite).fold(size, f64::min);
        let stack: f64 = self.layers.iter().map(|layer| layer.thickness).sum();
        // Between grounds the three functions grow together at small k, and cancel.
        let is_closed = below.is_grounded && above.is_grounded;
        let fit = Fit { nearest, size, whole: size + stack, tolerance: self.tolerance, is_closed };
        let mut first = Vec::new();
        let mut others = Vec::new();
        let mut of_first: Vec<(f64, f64)> = Vec::new();
        for (function, mirror) in [Some(low), Some(high), None].into_iter().enumerate() {
            let has_it = match mirror {
                Some(at) => at.is_finite(),
                None => thickness.is_finite(),
            };
            if !has_it {
                continue;
            }
            // Between two grounds the three functions are one but for their signs.
            let same = |sign: f64| {
                let is_same = |k: f64| {
                    let [own, other] = [function, 0].map(|f| reflected(k)[f]);
                    own == sign * other
                };
                fit.numbers().iter().all(|&k| is_same(k))
            };
            let known = [1.0, -1.0].into_iter().find(|&sign| function > 0 && same(sign));
            let terms = match known {
                Some(sign) if !of_first.is_empty() => {
                    of_first.iter().map(|&(distance, weight)| (distance, sign * weight)).collect()
                }
                _ => fit.terms(&|k| reflected(k)[function])?,
            };
            if function == 0 {
                of_first.clone_from(&terms);
            }
            for (distance, weight) in terms {
                let shifts: &[(bool, f64)] = match function {
                    0 => &[(true, 2.0 * low - distance)],
                    1 => &[(true, 2.0 * high + distance)],
                    _ => {
                        let shift = 2.0 * thickness + distance;
                        &[(false, shift), (false, -shift)]
                    }
                };
                let is_in_plane = distance == 0.0 && mirror.is_some();
                let to = if is_in_plane { &mut first } else { &mut others };
                to.extend(shifts.iter().map(|&(is_mirrored, shift)| LayerImage {
                    axis: self.axis,
                    is_mirrored,
                    shift,
                    weight,
                }));
            }
        }
        first.extend(others);
        Ok(first)
    }

    /// What is above or below a region, from the nearest on.
    fn seen(&self, region: usize, up: bool) -> Seen {
        let last = self.layers.len() + 1;
        let regions: Vec<usize> =
            if up { (region + 1..=last).collect() } else { (0..region).rev().collect() };
        let beyond = if up { self.above } else { self.below };
        let layers = regions.iter().filter_map(|&k| self.layers.get(k.checked_sub(1)?).copied());
        Seen {
            layers: layers.collect(),
            beyond: (!regions.is_empty()).then_some(beyond),
            is_grounded: !regions.is_empty() && beyond == Beyond::Ground,
        }
    }
}

/// What reflects on one side of a region, from the nearest layer on.
struct Seen {
    layers: Vec<Layer>,
    /// `None` where the region has no end on this side.
    beyond: Option<Beyond>,
    is_grounded: bool,
}

impl Seen {
    /// The nearest layer's thickness.
    fn first(&self) -> Option<f64> {
        self.layers.first().map(|layer| layer.thickness)
    }

    /// What comes back to a medium of permittivity `own` at wave number k.
    fn reflect(&self, own: f64, k: f64) -> f64 {
        let nearer = std::iter::once(own).chain(self.layers.iter().map(|layer| layer.permittivity));
        let nearer: Vec<f64> = nearer.collect();
        let at = |a: f64, b: f64| (a - b) / (a + b);
        let mut reflected = match (self.beyond, nearer.last()) {
            (Some(Beyond::Dielectric(beyond)), Some(last)) => at(*last, beyond),
            (Some(Beyond::Ground), _) => -1.0,
            _ => 0.0,
        };
        for (layer, nearer) in self.layers.iter().zip(&nearer).rev() {
            let r = at(*nearer, layer.permittivity);
            let farther = reflected * (-2.0 * k * layer.thickness).exp();
            reflected = (r + farther) / (1.0 + r * farther);
        }
        reflected
    }
}

/// How a function of wave numbers is made a sum of exponentials.
struct Fit {
    /// The smallest distance of an image.
    nearest: f64,
    size: f64,
    /// Size of structure and stack together.
    whole: f64,
    tolerance: f64,
    is_closed: bool,
}

impl Fit {
    /// The wave numbers at which functions are looked at.
    fn numbers(&self) -> Vec<f64> {
        let (lowest, highest) = (LOWEST * self.tolerance / self.size, LAST / self.nearest);
        let step = (highest / lowest).ln() / (NUMBERS - 1) as f64;
        (0..NUMBERS).map(|i| lowest * (step * i as f64).exp()).collect()
    }

    /// Distances and weights of the terms, the one without distance first.
    fn terms(&self, f: &dyn Fn(f64) -> f64) -> Result<Vec<(f64, f64)>, TooCoarse> {
        let numbers = self.numbers();
        let step = (numbers[1] / numbers[0]).ln();
        let near = f(LAST * numbers[NUMBERS - 1]);
        let left: Vec<f64> = numbers.iter().map(|&k| f(k) - near).collect();
        let mut terms = Vec::new();
        if near != 0.0 {
            terms.push((0.0, near));
        }
        // Errors count by k d ln k; between grounds less, where the functions cancel.
        let counts: Vec<f64> = numbers
            .iter()
            .map(|&k| if self.is_closed { (k * self.nearest).min(1.0) } else { 1.0 } * k * step)
            .collect();
        let error = |left: &DVector<f64>| -> f64 {
            self.size
                * left.iter().zip(&counts).map(|(left, count)| left.abs() * count).sum::<f64>()
        };
        let left = DVector::from_vec(left);
        let mut best = error(&left);
        if best <= self.tolerance {
            return Ok(terms);
        }
        let root = DVector::from_iterator(NUMBERS, counts.iter().map(|count| count.sqrt()));
        let target = left.component_mul(&root);
        let mut tried = 0;
        let all: &[usize] = if self.is_closed { &TRIED_BETWEEN } else { &TRIED };
        let last = all.last().map(|images| (*images, SMALLER));
        for (images, share) in all.iter().map(|images| (*images, 1.0)).chain(last) {
            tried = images;
            let mut found: Option<(f64, Vec<(f64, f64)>)> = None;
            for farthest in self.farthest() {
                let ratio = (farthest / self.nearest).max(1.0 + 1e-9).ln() / (images - 1) as f64;
                let distance = |j: usize| self.nearest * (ratio * j as f64).exp();
                let matrix = DMatrix::from_fn(NUMBERS, images, |i, j| {
                    root[i] * (-numbers[i] * distance(j)).exp()
                });
                let small =
                    if self.is_closed { SMALL_BETWEEN } else { share * SMALL * self.tolerance };
                let Some(weights) = least_squares(&matrix, &target, small) else { continue };
                let rest = (&target - matrix * &weights).component_div(&root);
                let error = error(&rest);
                best = best.min(error);
                let size = weights.abs().sum();
                if error <= self.tolerance && found.as_ref().is_none_or(|known| size < known.0) {
                    let weights = weights.iter().enumerate();
                    found = Some((size, weights.map(|(j, w)| (distance(j), *w)).collect()));
                }
            }
            if let Some((_, more)) = found {
                terms.extend(more);
                return Ok(terms);
            }
        }
        Err(TooCoarse { images: tried, left: best })
    }

    /// Largest distances to try.
    fn farthest(&self) -> Vec<f64> {
        // Between grounds images go on until they are of no account.
        let scale = if self.is_closed { self.size / self.tolerance } else { self.whole };
        let factors: &[f64] = if self.is_closed { &[3.0, 10.0, 30.0] } else { &FARTHEST };
        factors.iter().map(|factor| factor * scale).collect()
    }
}

/// Weights w of the least |A w - b|^2 + |small D w|^2, where D has the sizes of A's columns: terms
/// of far images count at small k alone, and each is taken by its own size.
fn least_squares(matrix: &DMatrix<f64>, target: &DVector<f64>, small: f64) -> Option<DVector<f64>> {
    let (rows, columns) = matrix.shape();
    let sizes: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    let extended = DMatrix::from_fn(rows + columns, columns, |i, j| match i.checked_sub(rows) {
        None => matrix[(i, j)] / sizes[j],
        Some(k) => small * f64::from(u8::from(k == j)),
    });
    let mut right = target.clone().resize_vertically(rows + columns, 0.0);
    let decomposed = extended.qr();
    decomposed.q_tr_mul(&mut right);
    let mut weights =
        decomposed.r().solve_upper_triangular(&right.rows(0, columns).into_owned())?;
    weights.iter_mut().zip(&sizes).for_each(|(weight, size)| *weight /= size);
    Some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sum w / |x - image| of a unit charge at height `from`, seen at `to` and `across` from it.
    fn potential(images: &[LayerImage], from: f64, to: f64, across: f64) -> f64 {
        let of = |image: &LayerImage| {
            let z = image.of([0.0, 0.0, from])[2];
            image.weight / (across * across + (to - z).powi(2)).sqrt()
        };
        1.0 / (across * across + (to - from).powi(2)).sqrt() + images.iter().map(of).sum::<f64>()
    }

    fn stack(below: Beyond, layers: &[(f64, f64)], above: Beyond, tolerance: f64) -> Stack {
        let layer = |&(thickness, permittivity): &(f64, f64)| Layer { thickness, permittivity };
        let layers = layers.iter().map(layer).collect();
        Stack { axis: 2, at: 0.0, below, layers, above, tolerance }
    }

    const AIR: Beyond = Beyond::Dielectric(1.0);

    #[test]
    fn a_half_space_and_a_ground_have_one_image() {
        for (below, weight) in [(Beyond::Dielectric(11.7), -10.7 / 12.7), (Beyond::Ground, -1.0)] {
            let stack = Stack { at: 0.5, ..stack(below, &[], AIR, 1e-9) };
            assert_eq!(stack.region(0.5, 2.0, 0.0), Some(1));
            let found = stack.images(1, 3.0).unwrap();
            let expected = LayerImage { axis: 2, is_mirrored: true, shift: 1.0, weight };
            assert_eq!(found, [expected]);
        }
        let stack = stack(Beyond::Dielectric(4.0), &[], AIR, 1e-9);
        assert_eq!(stack.region(-1.0, 0.0, 0.0), Some(0));
        assert_eq!(stack.region(-1.0, 0.1, 0.0), None);
        assert_eq!(stack.images(0, 3.0).unwrap()[0].weight, 3.0 / 5.0);
    }

    /// A charge above a slab on a ground, by the series of its images (exact): r, then
    /// -(1 - r^2) (-r)^(n-1) at 2 n h.
    #[test]
    fn a_grounded_slab_is_that_of_the_series() {
        for (thickness, eps) in [(1.0, 4.0), (0.05, 11.7), (20.0, 2.2)] {
            let r = (1.0 - eps) / (1.0 + eps);
            for tolerance in [1e-4, 1e-6, 1e-8] {
                let stack = stack(Beyond::Ground, &[(thickness, eps)], AIR, tolerance);
                let size = 5.0;
                let images = stack.images(2, size).unwrap();
                assert!(images.len() < 46, "{}", images.len());
                for (from, to, across) in [
                    (thickness, thickness, 0.01),
                    (thickness + 0.3, thickness, 1.0),
                    (thickness, thickness + 2.0, 5.0),
                ] {
                    let (from_low, to_low) = (from - thickness, to - thickness);
                    let at = |z: f64| 1.0 / (across * across + z * z).sqrt();
                    let mut exact = at(to - from) + r * at(to_low + from_low);
                    // Reflection from the slab, R = (r - x)/(1 - r x), x = exp(-2 k h).
                    let mut factor = -(1.0 - r * r);
                    for n in 1..200_000 {
                        exact += factor * at(to_low + from_low + 2.0 * thickness * f64::from(n));
                        factor *= r;
                        if factor.abs() < 1e-14 {
                            break;
                        }
                    }
                    let found = potential(&images, from, to, across);
                    let error = (found - exact).abs() * size;
                    assert!(error < tolerance, "{thickness} {eps} {tolerance}: {error:e}");
                }
            }
        }
    }

    /// Potentials between grounds, by their series of images.
    #[test]
    fn between_grounds_images_are_those_of_the_series() {
        let stack = stack(Beyond::Ground, &[(1.0, 3.0)], Beyond::Ground, 1e-4);
        assert_eq!(stack.region(0.2, 0.9, 0.0), Some(1));
        let images = stack.images(1, 4.0).unwrap();
        for (from, to, across) in [(0.5, 0.5, 0.3), (0.2, 0.9, 1.0), (0.6, 0.4, 2.0)] {
            let at = |z: f64| 1.0 / (across * across + z * z).sqrt();
            let mut exact = at(to - from) - at(to + from);
            for n in 1..200_000 {
                let z = 2.0 * f64::from(n);
                exact +=
                    at(to - from + z) + at(to - from - z) - at(to + from + z) - at(to + from - z);
            }
            let found = potential(&images, from, to, across);
            assert!((found - exact).abs() * 4.0 < 3e-4, "{found} {exact}");
        }
    }

    /// An interface between equal media, layers of the same medium, and a layer that is cut in two
    /// change nothing.
    #[test]
    fn what_is_one_medium_is_seen_as_one() {
        let same = stack(Beyond::Dielectric(2.0), &[(1.0, 2.0)], Beyond::Dielectric(2.0), 1e-9);
        for region in 0..3 {
            assert_eq!(same.images(region, 1.0).unwrap(), []);
        }
        let whole = stack(Beyond::Dielectric(11.7), &[(0.7, 3.9)], AIR, 1e-7);
        let cut = stack(Beyond::Dielectric(11.7), &[(0.3, 3.9), (0.4, 3.9)], AIR, 1e-7);
        let [whole, cut] = [whole.images(2, 2.0).unwrap(), cut.images(3, 2.0).unwrap()];
        for (from, to, across) in [(0.7, 0.7, 0.1), (0.8, 1.5, 2.0)] {
            let (a, b) = (potential(&whole, from, to, across), potential(&cut, from, to, across));
            assert!((a - b).abs() < 1e-7, "{a} {b}");
        }
    }

    /// Inside a layer: what two charges do to each other does not depend on which is which, and
    /// potentials go over continuously into those next to a thin layer's other side.
    #[test]
    fn inside_a_layer_images_are_symmetric() {
        let stack =
            stack(Beyond::Dielectric(11.7), &[(0.5, 7.0), (1.0, 2.7), (0.3, 4.0)], AIR, 1e-6);
        let images = stack.images(2, 2.0).unwrap();
        let (a, b) = (potential(&images, 0.6, 1.2, 0.4), potential(&images, 1.2, 0.6, 0.4));
        assert!((a - b).abs() < 1e-12, "{a} {b}");
        assert!(images[0].is_mirrored && (images[0].shift - 1.0).abs() < 1e-12);
        assert!(images[1].is_mirrored && (images[1].shift - 3.0).abs() < 1e-12);
    }
}
