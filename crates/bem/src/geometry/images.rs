//! Images: the geometry on one side of some planes represents itself and all its mirror images, and
//! layers around it reflect it.
//!
//! An odd plane is a grounded one: an image in it has the opposite charge. An even plane is a plane
//! of symmetry: an image in it has the same charge. With m planes, image g < 2^m is mirrored in
//! those planes k whose bit 2^k is set in g; image 0 is the original. Each image in layers has all
//! of these, too: the one of index l, from 1 on, has those starting at l 2^m.
//!
//! A triangle in an interface of layers lies on its own image in it. It then has the charge of
//! both, and the image has none.
//!
//! Surfaces in several layers see each other by other images than themselves ([`Between`]): the
//! weight of an image depends on the regions of charge and potential.

use std::sync::Arc;

use mesh::Mesh;
use mesh::mirror::{self, Plane};

use crate::geometry::between::Between;
use crate::geometry::stack::LayerImage;

/// Corners this near to an interface, relative to the largest coordinate, lie in it.
const IN_PLANE: f64 = 1e-12;

/// A plane in which everything is mirrored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mirror {
    /// Where it is.
    pub plane: Plane,
    /// Whether images have the opposite charge, so that the potential in the plane is 0.
    pub odd: bool,
}

/// All images in planes that are perpendicular to each other, and in layers.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Images {
    mirrors: Vec<Mirror>,
    layers: Vec<LayerImage>,
    /// If surfaces are in several layers: the images between regions, and the index of each
    /// triangle's region.
    between: Option<Arc<(Between, Vec<u32>)>>,
    /// For each triangle the image in layers that it lies on, from 1 on, or 0; empty where none
    /// does.
    lies_on: Vec<u32>,
}

impl Images {
    /// Images in these planes, no two of which are parallel.
    pub fn new(mirrors: &[Mirror]) -> Self {
        Self { mirrors: mirrors.to_vec(), ..Self::default() }
    }

    /// Adds images in layers, for the surfaces of this mesh and for all their mirror images.
    pub fn with_layers(self, layers: Vec<LayerImage>, mesh: &Mesh) -> Self {
        let nodes = |t: usize| match &mesh.patches {
            Some(patches) => patches.of(t).to_vec(),
            None => mesh.corners(t).to_vec(),
        };
        let stays = |layer: &LayerImage, x: &[f64; 3]| {
            let [from, to] = [x, &layer.of(*x)].map(|x| x[layer.axis]);
            let largest = x.iter().map(|x| x.abs()).fold(layer.shift.abs(), f64::max);
            (from - to).abs() <= IN_PLANE * largest
        };
        let lies_on = |t: usize| {
            let nodes = nodes(t);
            let on =
                |layer: &&LayerImage| layer.is_mirrored && nodes.iter().all(|x| stays(layer, x));
            // An image that is only shifted leaves nothing in place.
            let first = layers.iter().zip(1..).find(|(layer, _)| on(layer));
            first.map_or(0, |(_, index)| index)
        };
        let lies_on: Vec<u32> = (0..mesh.triangles.len()).map(lies_on).collect();
        let any = lies_on.iter().any(|&l| l > 0);
        Self { layers, lies_on: if any { lies_on } else { Vec::new() }, ..self }
    }

    /// As [`with_layers`](Self::with_layers), for surfaces that are in several regions:
    /// `region` gives each triangle's, as an index of [`Between::new`]'s; empty if all are in the
    /// first.
    pub fn with_regions(self, between: Between, region: Vec<u32>, mesh: &Mesh) -> Self {
        let with_layers = self.with_layers(between.images().to_vec(), mesh);
        Self { between: Some(Arc::new((between, region))), ..with_layers }
    }

    /// Number of regions of layers that contain surfaces; the regions after them are for potentials
    /// only.
    #[must_use]
    pub fn regions(&self) -> usize {
        let last = self.between.as_ref().and_then(|between| between.1.iter().max());
        last.map_or(1, |last| *last as usize + 1)
    }

    /// The region of a triangle.
    #[must_use]
    pub fn region(&self, triangle: usize) -> usize {
        let known = self.between.as_ref().and_then(|between| between.1.get(triangle));
        known.map_or(0, |region| *region as usize)
    }

    /// Without those in layers.
    pub fn mirrored(&self) -> Self {
        Self::new(&self.mirrors)
    }

    /// The images of a mesh in which each triangle was replaced by this many, in order.
    pub fn of_parts(&self, parts: usize) -> Self {
        let each = |of: &[u32]| of.iter().flat_map(|&l| std::iter::repeat_n(l, parts)).collect();
        let between = self
            .between
            .as_deref()
            .map(|(between, region)| Arc::new((between.clone(), each(region))));
        Self { lies_on: each(&self.lies_on), between, ..self.clone() }
    }

    /// Whether a triangle lies in an interface of layers, on its own image.
    #[must_use]
    pub fn lies_on_image(&self, triangle: usize) -> bool {
        self.lies_on.get(triangle).is_some_and(|&on| on > 0)
    }

    /// Whether there are layers.
    #[must_use]
    pub fn has_layers(&self) -> bool {
        !self.layers.is_empty()
    }

    /// The planes.
    #[must_use]
    pub fn mirrors(&self) -> &[Mirror] {
        &self.mirrors
    }

    /// Number of images; the first is the original.
    #[must_use]
    pub fn count(&self) -> usize {
        (1 + self.layers.len()) << self.mirrors.len()
    }

    /// Keeps only some of the images in layers, by their index, from 1 on.
    pub(crate) fn only(&self, layers: &[usize]) -> Self {
        let mut kept: Vec<usize> = layers.iter().copied().filter(|&layer| layer > 0).collect();
        kept.sort_unstable();
        kept.dedup();
        let lies_on = |&on: &u32| match kept.binary_search(&(on as usize)) {
            Ok(index) if on > 0 => index as u32 + 1,
            _ => 0,
        };
        let between = self.between.as_deref();
        let between =
            between.map(|(between, region)| Arc::new((between.only(&kept), region.clone())));
        Self {
            mirrors: self.mirrors.clone(),
            layers: kept.iter().map(|&layer| self.layers[layer - 1]).collect(),
            between,
            lies_on: self.lies_on.iter().map(lies_on).collect(),
        }
    }

    /// The index, from 1 on, of the image in layers to which image `g` belongs; 0 if it belongs to
    /// none.
    pub(crate) fn layer_of(&self, g: usize) -> usize {
        g >> self.mirrors.len()
    }

    /// The image in layers to which image `g` belongs.
    fn layer(&self, g: usize) -> Option<&LayerImage> {
        self.layers.get((g >> self.mirrors.len()).checked_sub(1)?)
    }

    /// The planes in which image `g` is mirrored.
    fn of(&self, g: usize) -> impl Iterator<Item = &Mirror> {
        self.mirrors.iter().enumerate().filter(move |(k, _)| g >> k & 1 == 1).map(|(_, m)| m)
    }

    fn sign(&self, g: usize) -> f64 {
        self.of(g).map(|mirror| if mirror.odd { -1.0 } else { 1.0 }).product()
    }

    /// Factor of charges in image `g` (1 or -1 for mirror images), if surfaces are in one layer.
    #[must_use]
    pub fn factor(&self, g: usize) -> f64 {
        self.factor_between(g, 0, 0)
    }

    /// As [`factor`](Self::factor), for charges in region `from` and potentials in region `to`.
    #[must_use]
    pub fn factor_between(&self, g: usize, to: usize, from: usize) -> f64 {
        let layer = g >> self.mirrors.len();
        let weight = match (&self.between, layer.checked_sub(1)) {
            (Some(between), _) => between.0.weight(layer, to, from),
            (None, None) => 1.0,
            (None, Some(layer)) => self.layers.get(layer).map_or(0.0, |layer| layer.weight),
        };
        self.sign(g) * weight
    }

    /// As [`factor_between`](Self::factor_between), for a triangle, which may lie on its own image.
    #[must_use]
    pub fn factor_of(&self, g: usize, triangle: usize, to: usize) -> f64 {
        let factor = |g: usize| self.factor_between(g, to, self.region(triangle));
        let planes = self.mirrors.len();
        match self.lies_on.get(triangle) {
            None | Some(0) => factor(g),
            Some(&on) => match g >> planes {
                0 => factor(g) + factor((on as usize) << planes | g),
                layer if layer == on as usize => 0.0,
                _ => factor(g),
            },
        }
    }

    /// The reverse of image `g`: x is as far from that image of y as image `g` of x is from y.
    pub(crate) fn back(&self, g: usize) -> usize {
        let planes = self.mirrors.len();
        let Some(layer) = self.layer(g) else { return g };
        let back = layer.back();
        let is_it =
            |other: &LayerImage| other.is_mirrored == back.is_mirrored && other.shift == back.shift;
        let mirrors = g & ((1 << planes) - 1);
        let found = self.layers.iter().position(is_it);
        found.map_or(g, |index| (index + 1) << planes | mirrors)
    }

    /// Whether image `g` represents charge on grounded planes or in layers, not another copy of the
    /// original.
    #[must_use]
    pub fn is_of_ground(&self, g: usize) -> bool {
        self.of(g).any(|mirror| mirror.odd) || self.layer(g).is_some()
    }

    /// Number of physical copies; images in grounded planes are not counted.
    #[must_use]
    pub fn copies(&self) -> usize {
        (0..self.count()).filter(|&g| !self.is_of_ground(g)).count()
    }

    /// The position of a point in image `g`.
    #[must_use]
    pub fn reflect(&self, g: usize, x: [f64; 3]) -> [f64; 3] {
        let mirrored = self.of(g).fold(x, |x, mirror| mirror.plane.reflect(x));
        self.layer(g).map_or(mirrored, |layer| layer.of(mirrored))
    }

    /// Whether coordinates along each axis are mirrored in image `g`.
    pub(crate) fn flips(&self, g: usize) -> [bool; 3] {
        let mut flips = [false; 3];
        let layer = self.layer(g).filter(|layer| layer.is_mirrored);
        let axes = self.of(g).map(|mirror| mirror.plane.axis).chain(layer.map(|l| l.axis));
        axes.for_each(|axis| flips[axis] ^= true);
        flips
    }

    /// Number of mirror images that coincide with the point, because it lies in planes.
    #[must_use]
    pub fn coincident(&self, x: [f64; 3]) -> usize {
        (0..1 << self.mirrors.len()).filter(|&g| self.reflect(g, x) == x).count()
    }

    /// The mesh with its images, image by image.
    #[must_use]
    pub fn mesh(&self, mesh: &Mesh) -> Mesh {
        let planes: Vec<Plane> = self.mirrors.iter().map(|mirror| mirror.plane).collect();
        let mirrored = mirror::unfolded(mesh, &planes);
        let mut whole = mirrored.clone();
        for layer in &self.layers {
            mirror::append(&mut whole, &mirrored, |x| layer.of(x), layer.is_mirrored);
        }
        whole
    }

    /// Charges of triangles and of their images, image by image, as seen by potentials in region
    /// `to`.
    #[must_use]
    pub fn charges(&self, charges: &[f64], to: usize) -> Vec<f64> {
        let image =
            |g: usize| charges.iter().enumerate().map(move |(t, q)| self.factor_of(g, t, to) * q);
        (0..self.count()).flat_map(image).collect()
    }

    /// As [`charges`](Self::charges), for values at corners, which have another order in images.
    #[must_use]
    pub fn at_corners(&self, values: &[[f64; 3]], to: usize) -> Vec<[f64; 3]> {
        let image = |g: usize| {
            let is_mirrored = self.flips(g).iter().filter(|flip| **flip).count() % 2 == 1;
            values.iter().enumerate().map(move |(t, values)| {
                let [a, b, c] = values.map(|value| self.factor_of(g, t, to) * value);
                if is_mirrored { [a, c, b] } else { [a, b, c] }
            })
        };
        (0..self.count()).flat_map(image).collect()
    }
}
