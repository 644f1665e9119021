//! Images of panels, and factors of their charges between regions of layers.

use std::sync::{Arc, OnceLock};

use parallel::prelude::*;

use crate::geometry::far::{FarImages, Weights};
use crate::geometry::image::Image;
use crate::geometry::images::Images;
use crate::geometry::panels::Panels;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::{self, Vec3};

impl Panels {
    /// The same panels with these images, which must not overlap them, except for images on which
    /// panels lie in layers. With a tolerance, distant images are summed separately, to this
    /// absolute error of the potential of a unit charge (`far`); they are then not images of the
    /// panels.
    pub fn with_images(mut self, images: &Images, apart: Option<f64>) -> Self {
        let regions = images.regions();
        let weights = |g: usize| {
            let pairs = (0..regions).flat_map(|to| (0..regions).map(move |from| (to, from)));
            pairs.map(move |(to, from)| images.factor_between(g, to, from))
        };
        // The others are for potentials where there are no surfaces.
        let mut seen: Vec<usize> =
            (0..images.count()).filter(|&g| g == 0 || weights(g).any(|w| w != 0.0)).collect();
        let image = |&g: &usize| Image::of(images, g, &self.centre, self.scale);
        if let Some(tolerance) = apart {
            let all: Vec<Image> = seen.iter().map(image).collect();
            let weight =
                |k: usize, to: usize, from: usize| images.factor_between(seen[k], to, from);
            let weights = Weights { regions: [regions; 2], weight: &weight };
            // An image and its reverse are close together.
            let group = |k: usize| seen[k].min(images.back(seen[k]));
            let found = FarImages::apart(self.bounds(), &all, weights, &group, tolerance);
            if let Some((near, far)) = found {
                seen = near.into_iter().map(|k| seen[k]).collect();
                self.far = Some(Arc::new(far));
            }
        }
        tracing::debug!(images = images.count(), near = seen.len(), regions, "images");
        self.images = seen.iter().map(image).collect();
        self.shapes = OnceLock::new();
        let n = self.len();
        let triangle = &self.triangle;
        self.factors = Vec::with_capacity(regions * seen.len() * n);
        for (to, &g) in (0..regions).flat_map(|to| seen.iter().map(move |g| (to, g))) {
            let factor = |&t: &u32| images.factor_of(g, t as usize, to);
            self.factors.par_extend(triangle.par_iter().map(factor));
        }
        if regions > 1 {
            self.region = triangle.iter().map(|&t| images.region(t as usize) as u32).collect();
            self.weights = seen.iter().flat_map(|&g| weights(g)).collect();
        }
        let back = |&g: &usize| seen.binary_search(&images.back(g)).unwrap_or(0);
        self.back = seen.iter().map(back).collect();
        for image in &self.images[1..] {
            let of_image: Vec<_> = self.vertices[..n].iter().map(|v| image.of_panel(v)).collect();
            if self.patches.is_empty() {
                self.centroids.extend(of_image.iter().map(triangle::centroid));
            } else {
                let of = |i: usize| image.place(&self.centroids[i]);
                let centroids: Vec<Vec3> = (0..n).map(of).collect();
                self.centroids.extend(centroids);
                let of = |i: usize| image.of_patch(&self.patches[i]);
                let patches: Vec<Patch> = (0..n).map(of).collect();
                self.patches.extend(patches);
            }
            self.vertices.extend(of_image);
        }
        self
    }

    /// The lowest and the highest corner of a box around all panels.
    fn bounds(&self) -> [Vec3; 2] {
        let nothing = [Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY)];
        // Curved panels are within their radii.
        let is_curved = self.are_curved();
        let around = |[low, high]: [Vec3; 2], i: usize| {
            let out = Vec3::repeat(if is_curved { self.radii[i] } else { 0.0 });
            let corners = self.vertices[i].iter().copied();
            let middle = is_curved.then_some(self.centroids[i]);
            corners.chain(middle).fold([low, high], |[low, high], x| {
                let out = if middle == Some(x) { out } else { Vec3::zeros() };
                [low.inf(&(x - out)), high.sup(&(x + out))]
            })
        };
        (0..self.len()).fold(nothing, around)
    }

    /// The sum over distant images, if they are summed separately.
    pub(crate) fn far(&self) -> Option<&FarImages> {
        self.far.as_deref()
    }

    /// Number of regions of layers that contain panels.
    pub(crate) fn regions(&self) -> usize {
        if self.weights.is_empty() { 1 } else { (self.weights.len() / self.images.len()).isqrt() }
    }

    /// The region of a panel.
    pub(crate) fn region(&self, i: usize) -> usize {
        self.region.get(i).map_or(0, |region| *region as usize)
    }

    /// Factor of charges of a panel or an image `j` for potentials on panel `i`; 0 for an image on
    /// which its panel lies.
    pub(crate) fn factor(&self, i: usize, j: usize) -> f64 {
        self.factor_in(self.region(i), j)
    }

    /// As [`factor`](Self::factor), for potentials in a region.
    pub(crate) fn factor_in(&self, region: usize, j: usize) -> f64 {
        self.factors.get(region * self.total() + j).copied().unwrap_or(1.0)
    }

    /// As [`factor`](Self::factor), for the reverse: panel `i` and its image as seen from the panel
    /// whose image `j` is seen from `i`.
    pub(crate) fn factor_back(&self, i: usize, j: usize) -> f64 {
        let n = self.len();
        self.factor(j % n, self.back[j / n] * n + i)
    }

    /// Whether the entries of panel `i` and another panel's image `j` are nonzero: one of them has
    /// charge for the other.
    pub(crate) fn act(&self, i: usize, j: usize) -> bool {
        self.factor(i, j) != 0.0 || self.factor_back(i, j) != 0.0
    }

    /// Weight of image `g` of charges in region `from` for potentials in region `to`.
    fn weight(&self, g: usize, to: usize, from: usize) -> f64 {
        let regions = self.regions();
        let of_pair = self.weights.get((g * regions + to) * regions + from);
        of_pair.copied().unwrap_or(self.images[g].factor)
    }

    /// Whether an image's vertices have the opposite orientation to its panel's.
    pub(crate) fn is_mirrored(&self, i: usize) -> bool {
        self.images[i / self.len()].is_mirrored()
    }

    pub(crate) fn images(&self) -> &[Image] {
        &self.images
    }

    /// The sum over a point `y` and its images, with their signs, of `f` of the squared distance to
    /// `x`, for points in the regions of panels `i` and `j`.
    pub(crate) fn over_distances(
        &self,
        x: &Vec3,
        i: usize,
        y: &Vec3,
        j: usize,
        f: impl Fn(f64) -> f64,
    ) -> f64 {
        let (to, from) = (self.region(i), self.region(j));
        let one = |(g, image): (usize, &Image)| match self.weight(g, to, from) {
            0.0 => 0.0,
            weight => weight * f((x - image.place(y)).norm_squared()),
        };
        self.images.iter().enumerate().map(one).sum()
    }

    /// Distance of a point from the nearest of another point and its images.
    pub(crate) fn nearest_distance(&self, x: &Vec3, y: &Vec3) -> f64 {
        let distance = |image: &Image| (x - image.place(y)).norm();
        self.images.iter().map(distance).fold(f64::INFINITY, f64::min)
    }
}
