//! Infinite layers of dielectric between half-spaces or grounded planes: their effect on the
//! potential of a charge in one of them, as images.
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
//! The error of a potential is the integral over k of the fit's times J0(k r), r being the distance
//! along the layers.

use super::exponentials::{Fit, TooCoarse};
use crate::constants::TOLERANCE;

/// Region above or below all layers.
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

options::options! {
    /// A stack of layers, infinite along them.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Stack {
        /// 0, 1, 2 for layers perpendicular to x, y, z.
        axis: usize = 2,
        /// Height of the lowest interface.
        at: f64 = 0.0,
        /// Below all layers.
        below: Beyond = Beyond::Dielectric(1.0),
        /// Starting with the lowest.
        layers: Vec<Layer> = Vec::new(),
        /// Above all layers.
        above: Beyond = Beyond::Dielectric(1.0),
        /// Largest error of the images' potentials, relative to the potential of the charges
        /// themselves at the same distance, up to the structure's size.
        tolerance: f64 = 0.1 * TOLERANCE,
    }
}

/// An image: height z becomes z + `shift`, or -z + `shift` where it is mirrored, and charges are
/// multiplied by `weight`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerImage {
    /// The axis of heights.
    pub axis: usize,
    /// Whether it is mirrored.
    pub is_mirrored: bool,
    /// In the mesh's unit.
    pub shift: f64,
    /// Factor of charges.
    pub weight: f64,
}

impl LayerImage {
    /// The reverse image: x is as far from `back().of(y)` as `of(x)` is from y.
    #[must_use]
    pub fn back(&self) -> Self {
        Self { shift: if self.is_mirrored { self.shift } else { -self.shift }, ..*self }
    }

    /// The image of a point.
    #[must_use]
    pub fn of(&self, x: [f64; 3]) -> [f64; 3] {
        let sign = if self.is_mirrored { -1.0 } else { 1.0 };
        std::array::from_fn(|k| if k == self.axis { sign * x[k] + self.shift } else { x[k] })
    }
}

impl Stack {
    /// Heights of the interfaces, starting with the lowest: one more than layers.
    #[must_use]
    pub fn interfaces(&self) -> Vec<f64> {
        let tops = self.layers.iter().scan(self.at, |height, layer| {
            *height += layer.thickness;
            Some(*height)
        });
        std::iter::once(self.at).chain(tops).collect()
    }

    /// Height of the highest interface.
    #[must_use]
    pub fn top(&self) -> f64 {
        self.at + self.layers.iter().map(|layer| layer.thickness).sum::<f64>()
    }

    /// Relative permittivity of a region: 0 is below all layers, then the layers, then above all;
    /// `None` for grounds and for regions that do not exist.
    #[must_use]
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

    /// Lowest and highest height of a region.
    #[must_use]
    pub fn bounds(&self, region: usize) -> [f64; 2] {
        let interfaces = self.interfaces();
        let below = region.checked_sub(1).and_then(|k| interfaces.get(k).copied());
        let above = interfaces.get(region).copied();
        [below.unwrap_or(f64::NEG_INFINITY), above.unwrap_or(f64::INFINITY)]
    }

    /// The lowest region, other than a ground, that contains all heights from `low` to `high`;
    /// interfaces belong to the regions on both sides, to within `tolerance`.
    #[must_use]
    pub fn region(&self, low: f64, high: f64, tolerance: f64) -> Option<usize> {
        self.regions(low, high, tolerance).first().copied()
    }

    /// All such regions.
    #[must_use]
    pub fn regions(&self, low: f64, high: f64, tolerance: f64) -> Vec<usize> {
        let has_all = |region: &usize| {
            let [bottom, top] = self.bounds(*region);
            let is_inside = low >= bottom - tolerance && high <= top + tolerance;
            is_inside && self.permittivity(*region).is_some()
        };
        (0..self.layers.len() + 2).filter(has_all).collect()
    }

    /// The images of charges in a region for potentials in it, of a structure of this size.
    ///
    /// # Errors
    /// [`TooCoarse`] if no sum of images meets the tolerance.
    pub fn images(&self, region: usize, size: f64) -> Result<Vec<LayerImage>, TooCoarse> {
        let Some(own) = self.permittivity(region) else { return Ok(Vec::new()) };
        let [low, high] = self.bounds(region);
        let thickness = high - low;
        let (below, above) = (self.seen(region, false), self.seen(region, true));
        // Reflections below, above, and both, without the distance in between.
        let reflected = |k: f64| -> [f64; 3] {
            let [down, up] = [&below, &above].map(|seen| seen.reflect(own, k));
            let between = down * up * (-2.0 * k * thickness).exp();
            // Between two grounds only terms that grow without bound remain at k = 0.
            let all = 1.0 / (1.0 - between).max(f64::MIN_POSITIVE);
            [down * all, up * all, down * up * all]
        };
        let adjacent = [Some(thickness), below.first(), above.first()];
        let fit = self.fit(size, adjacent.into_iter().flatten());
        let mut images = Fitted::new(self.axis);
        let (down, up) = (low.is_finite(), high.is_finite());
        if !self.is_closed() {
            if down {
                images.mirrored(2.0 * low, -1.0, 1.0, &fit.terms(&|k| reflected(k)[0])?);
            }
            if up {
                images.mirrored(2.0 * high, 1.0, 1.0, &fit.terms(&|k| reflected(k)[1])?);
            }
            if down && up {
                images.both_ways(2.0 * thickness, &fit.terms(&|k| reflected(k)[2])?);
            }
            return Ok(images.all);
        }
        // Between grounds d, u and b grow as 1/k, d + b and u + b do not, and of b, in all four
        // images, potentials see 2 k H times it.
        let growing = Fit { growing: Some(2.0 * thickness), ..fit };
        let grown = growing.terms(&|k| reflected(k)[2])?;
        images.mirrored(2.0 * low, -1.0, 1.0, &fit.terms(&|k| reflected(k)[0] + reflected(k)[2])?);
        images.mirrored(2.0 * high, 1.0, 1.0, &fit.terms(&|k| reflected(k)[1] + reflected(k)[2])?);
        images.mirrored(2.0 * low, -1.0, -1.0, &grown);
        images.mirrored(2.0 * high, 1.0, -1.0, &grown);
        images.both_ways(2.0 * thickness, &grown);
        Ok(images.all)
    }

    /// The images of charges in a region for potentials in one above it, in units of what charges
    /// make in a medium like theirs: where charges are, in the interface below them, above the
    /// potentials, and in both.
    ///
    /// What leaves the charges' region upward, exp(-k (high - z')) + D exp(-k (H + z' - low)), is
    /// that over 1 - D U exp(-2 k H); each interface takes 1 + U times it up, U what is reflected
    /// there, of which 1 / (1 + U' exp(-2 k t)) is not what comes back from the next, t above it.
    ///
    /// # Errors
    /// [`TooCoarse`] if no sum of images meets the tolerance.
    pub fn images_above(
        &self,
        [from, to]: [usize; 2],
        size: f64,
    ) -> Result<Vec<LayerImage>, TooCoarse> {
        let regions: Option<Vec<f64>> = (from..=to).map(|k| self.permittivity(k)).collect();
        let Some(permittivities) = regions else { return Ok(Vec::new()) };
        let thickness = |k: usize| {
            let [low, high] = self.bounds(k);
            high - low
        };
        let below = self.seen(from, false);
        let above: Vec<Seen> = (from..=to).map(|k| self.seen(k, true)).collect();
        let round = |k: f64, region: usize| (-2.0 * k * thickness(region)).exp();
        // The upward part, and the factors by which charges below and potentials see more of it.
        let of = |k: f64| -> [f64; 4] {
            let down = below.reflect(permittivities[0], k);
            let up: Vec<f64> = above
                .iter()
                .zip(&permittivities)
                .map(|(seen, own)| seen.reflect(*own, k))
                .collect();
            let mut through = 1.0 / (1.0 - down * up[0] * round(k, from)).max(f64::MIN_POSITIVE);
            for (region, pair) in (from + 1..).zip(up.windows(2)) {
                let next = 1.0 + pair[1] * round(k, region);
                through *= (1.0 + pair[0]) / next.max(f64::MIN_POSITIVE);
            }
            let last = up.last().copied().unwrap_or(0.0);
            [through, through * down, through * last, through * down * last]
        };
        let nearest = (from..=to).map(&thickness).chain(below.first());
        let fit = self.fit(size, nearest.chain(above.last().and_then(Seen::first)));
        let (low, high) = (self.bounds(from)[0], self.bounds(to)[1]);
        let apart = 2.0 * (high - low);
        let mut images = Fitted::new(self.axis);
        if !self.is_closed() {
            images.shifted(0.0, -1.0, 1.0, &fit.terms(&|k| of(k)[0])?);
            if low.is_finite() {
                images.mirrored(2.0 * low, -1.0, 1.0, &fit.terms(&|k| of(k)[1])?);
            }
            if high.is_finite() {
                images.mirrored(2.0 * high, 1.0, 1.0, &fit.terms(&|k| of(k)[2])?);
            }
            if apart.is_finite() {
                images.shifted(apart, 1.0, 1.0, &fit.terms(&|k| of(k)[3])?);
            }
            return Ok(images.all);
        }
        // Between grounds, all four grow as 1/k; sums with the first that cancel do not.
        let grown = Fit { growing: Some(apart), ..fit }.terms(&|k| of(k)[0])?;
        let sum = |k: f64, function: usize| of(k)[0] + of(k)[function];
        images.shifted(0.0, -1.0, 1.0, &grown);
        images.mirrored(2.0 * low, -1.0, -1.0, &grown);
        images.mirrored(2.0 * high, 1.0, -1.0, &grown);
        images.shifted(apart, 1.0, 1.0, &grown);
        images.mirrored(2.0 * low, -1.0, 1.0, &fit.terms(&|k| sum(k, 1))?);
        images.mirrored(2.0 * high, 1.0, 1.0, &fit.terms(&|k| sum(k, 2))?);
        images.shifted(apart, 1.0, 1.0, &fit.terms(&|k| of(k)[3] - of(k)[0])?);
        Ok(images.all)
    }

    /// Settings of fits for the reflections of layers with these thicknesses.
    fn fit(&self, size: f64, thicknesses: impl Iterator<Item = f64>) -> Fit {
        let nearest = 2.0 * thicknesses.filter(|t| t.is_finite()).fold(size, f64::min);
        let stack: f64 = self.layers.iter().map(|layer| layer.thickness).sum();
        let (tolerance, whole) = (self.tolerance, size + stack);
        let known = (0..self.layers.len() + 2).filter_map(|region| self.permittivity(region));
        let (least, most) =
            known.fold((f64::INFINITY, 0.0f64), |(a, b), eps| (a.min(eps), b.max(eps)));
        let guided = if most > least { stack * most / least } else { 0.0 };
        Fit { nearest, size, whole, guided, tolerance, growing: None }
    }

    /// Whether it is between grounds.
    fn is_closed(&self) -> bool {
        [self.below, self.above] == [Beyond::Ground; 2]
    }

    /// The layers above or below a region, starting with the nearest.
    #[doc(hidden)]
    #[must_use]
    pub fn seen(&self, region: usize, up: bool) -> Seen {
        let last = self.layers.len() + 1;
        let regions: Vec<usize> =
            if up { (region + 1..=last).collect() } else { (0..region).rev().collect() };
        let beyond = if up { self.above } else { self.below };
        let layers = regions.iter().filter_map(|&k| self.layers.get(k.checked_sub(1)?).copied());
        Seen { layers: layers.collect(), beyond: (!regions.is_empty()).then_some(beyond) }
    }
}

/// Images from the terms of fits, distances and weights; images at the same place are merged.
struct Fitted {
    axis: usize,
    all: Vec<LayerImage>,
}

impl Fitted {
    fn new(axis: usize) -> Self {
        Self { axis, all: Vec::new() }
    }

    fn push(&mut self, is_mirrored: bool, shift: f64, weight: f64) {
        let same =
            |image: &&mut LayerImage| image.is_mirrored == is_mirrored && image.shift == shift;
        match self.all.iter_mut().find(same) {
            Some(known) => known.weight += weight,
            None => self.all.push(LayerImage { axis: self.axis, is_mirrored, shift, weight }),
        }
    }

    /// Mirrored, twice an interface's height at `shift` and farther away in the direction of
    /// `sign`, with `factor` times the weights.
    fn mirrored(&mut self, shift: f64, sign: f64, factor: f64, terms: &[(f64, f64)]) {
        terms.iter().for_each(|(s, weight)| self.push(true, shift + sign * s, factor * weight));
    }

    /// The same shifted.
    fn shifted(&mut self, shift: f64, sign: f64, factor: f64, terms: &[(f64, f64)]) {
        terms.iter().for_each(|(s, weight)| self.push(false, shift + sign * s, factor * weight));
    }

    /// Shifted up and down by that and more.
    fn both_ways(&mut self, shift: f64, terms: &[(f64, f64)]) {
        self.shifted(shift, 1.0, 1.0, terms);
        self.shifted(-shift, -1.0, 1.0, terms);
    }
}

/// The reflecting layers on one side of a region, starting with the nearest.
pub struct Seen {
    layers: Vec<Layer>,
    /// `None` if the region is infinite on this side.
    beyond: Option<Beyond>,
}

impl Seen {
    /// The nearest layer's thickness.
    fn first(&self) -> Option<f64> {
        self.layers.first().map(|layer| layer.thickness)
    }

    /// The part reflected into a medium of permittivity `own` at wave number k.
    pub fn reflect(&self, own: f64, k: f64) -> f64 {
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
