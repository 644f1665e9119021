//! Images in layers for surfaces in several of them: each layer sees every other one, and itself,
//! through separate images.

use crate::geometry::exponentials::TooCoarse;
use crate::geometry::stack::{LayerImage, Stack};

/// Images in layers of charges in some regions, for potentials in each of these regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    regions: usize,
    /// Weights of charges, shape (images, regions of potentials, regions of charges); image 0 is
    /// the original.
    weights: Vec<f64>,
    /// Positions of all other images.
    images: Vec<LayerImage>,
}

impl Between {
    /// For these regions of a stack, with surfaces of this size; potentials are relative to those
    /// in a medium like the first region.
    ///
    /// # Errors
    /// [`TooCoarse`] if no sum of images meets the tolerance.
    pub fn new(stack: &Stack, regions: &[usize], size: f64) -> Result<Self, TooCoarse> {
        let count = regions.len();
        let mut found = Self { regions: count, weights: vec![0.0; count * count], images: vec![] };
        let relative = |region: &usize| stack.permittivity(*region).unwrap_or(f64::NAN);
        let reference = regions.first().map_or(1.0, relative);
        for (s, from) in regions.iter().enumerate() {
            let unit = reference / relative(from);
            found.weights[s * count + s] = unit;
            for image in stack.images(*from, size)? {
                found.add(&image, [s, s], unit);
            }
            let above = regions.iter().enumerate().filter(|(_, to)| *to > from);
            for (t, to) in above {
                // By reciprocity, a charge here has the same effect there.
                for image in stack.images_above([*from, *to], size)? {
                    found.add(&image, [t, s], unit);
                    found.add(&image.back(), [s, t], unit);
                }
            }
        }
        Ok(found)
    }

    /// Adds an image of charges in the second region for potentials in the first.
    fn add(&mut self, image: &LayerImage, [to, from]: [usize; 2], factor: f64) {
        let is_same = |other: &LayerImage| {
            other.is_mirrored == image.is_mirrored && other.shift == image.shift
        };
        let is_itself = !image.is_mirrored && image.shift == 0.0;
        let index = match self.images.iter().position(is_same) {
            _ if is_itself => 0,
            Some(known) => known + 1,
            None => {
                self.images.push(LayerImage { weight: 0.0, ..*image });
                let more = self.regions * self.regions;
                self.weights.resize(self.weights.len() + more, 0.0);
                self.images.len()
            }
        };
        self.weights[(index * self.regions + to) * self.regions + from] += factor * image.weight;
    }

    /// Weight of charges in region `from` in an image, 0 for the original, for potentials in region
    /// `to`.
    pub(super) fn weight(&self, image: usize, to: usize, from: usize) -> f64 {
        self.weights.get((image * self.regions + to) * self.regions + from).copied().unwrap_or(0.0)
    }
    /// Positions of all images except the original.
    pub(super) fn images(&self) -> &[LayerImage] {
        &self.images
    }

    /// Keeps these images only, by their index, from 1 on.
    pub(super) fn only(&self, kept: &[usize]) -> Self {
        let pairs = self.regions * self.regions;
        let weights = |&image: &usize| &self.weights[image * pairs..(image + 1) * pairs];
        Self {
            regions: self.regions,
            weights: [0].iter().chain(kept).flat_map(weights).copied().collect(),
            images: kept.iter().map(|&image| self.images[image - 1]).collect(),
        }
    }
}
