//! Images: what lies on one side of some planes stands for itself and all its mirror images, and
//! layers around it reflect it.
//!
//! An odd plane is a grounded one, an image in it has the opposite charge; in an even plane, a
//! plane of symmetry, it has the same. Of m planes, image g < 2^m is mirrored in those planes k
//! whose bit 2^k is set in g; image 0 is what is there. Each image in layers has all of these, too:
//! that of index l, from 1 on, has those from l 2^m on.
//!
//! A triangle in an interface of layers lies on its own image in it. It then has the charge of
//! both, and the image has none.

use mesh::Mesh;
use mesh::mirror::{self, Plane};

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
pub struct Images {
    mirrors: Vec<Mirror>,
    layers: Vec<LayerImage>,
    /// For each triangle the image in layers that it lies on, from 1 on, or 0; empty where none
    /// does.
    lies_on: Vec<u32>,
}

impl Images {
    /// Images in these planes, no two of which are parallel.
    pub fn new(mirrors: &[Mirror]) -> Self {
        Self { mirrors: mirrors.to_vec(), ..Self::default() }
    }

    /// The same with images in layers of all of them, for surfaces of this mesh.
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
            // Only shifted, nothing stays where it is.
            let first = layers.iter().zip(1..).find(|(layer, _)| on(layer));
            first.map_or(0, |(_, index)| index)
        };
        let lies_on: Vec<u32> = (0..mesh.triangles.len()).map(lies_on).collect();
        let any = lies_on.iter().any(|&l| l > 0);
        Self { layers, lies_on: if any { lies_on } else { Vec::new() }, ..self }
    }

    /// Without those in layers.
    pub fn mirrored(&self) -> Self {
        Self::new(&self.mirrors)
    }

    /// The same for a mesh in which each triangle has become this many, one after the other.
    pub fn of_parts(&self, parts: usize) -> Self {
        let lies_on = self.lies_on.iter().flat_map(|&l| std::iter::repeat_n(l, parts)).collect();
        Self { lies_on, ..self.clone() }
    }

    /// Whether a triangle lies in an interface of layers, on its own image.
    pub fn lies_on_image(&self, triangle: usize) -> bool {
        self.lies_on.get(triangle).is_some_and(|&on| on > 0)
    }

    /// Whether there are layers.
    pub fn has_layers(&self) -> bool {
        !self.layers.is_empty()
    }

    /// The planes.
    pub fn mirrors(&self) -> &[Mirror] {
        &self.mirrors
    }

    /// How many images there are, the first being what is there.
    pub fn count(&self) -> usize {
        (1 + self.layers.len()) << self.mirrors.len()
    }

    /// The image in layers that image `g` is one of.
    fn layer(&self, g: usize) -> Option<&LayerImage> {
        self.layers.get((g >> self.mirrors.len()).checked_sub(1)?)
    }

    /// The planes that image `g` is mirrored in.
    fn of(&self, g: usize) -> impl Iterator<Item = &Mirror> {
        self.mirrors.iter().enumerate().filter(move |(k, _)| g >> k & 1 == 1).map(|(_, m)| m)
    }

    /// 1 or -1 in mirror images: what charges are multiplied by in image `g`.
    pub fn factor(&self, g: usize) -> f64 {
        let sign: f64 = self.of(g).map(|mirror| if mirror.odd { -1.0 } else { 1.0 }).product();
        self.layer(g).map_or(sign, |layer| sign * layer.weight)
    }

    /// The same for charges of a triangle, which may lie on its own image.
    pub fn factor_of(&self, g: usize, triangle: usize) -> f64 {
        let factor = self.factor(g);
        match self.lies_on.get(triangle) {
            None | Some(0) => factor,
            Some(&on) => match g >> self.mirrors.len() {
                0 => {
                    let weight = self.layers.get(on as usize - 1).map_or(0.0, |layer| layer.weight);
                    factor * (1.0 + weight)
                }
                layer if layer == on as usize => 0.0,
                _ => factor,
            },
        }
    }

    /// Whether image `g` stands for charge on grounded planes or in layers, not for more of what is
    /// there.
    pub fn is_of_ground(&self, g: usize) -> bool {
        self.of(g).any(|mirror| mirror.odd) || self.layer(g).is_some()
    }

    /// Number of physical copies; images in grounded planes are not counted.
    pub fn copies(&self) -> usize {
        (0..self.count()).filter(|&g| !self.is_of_ground(g)).count()
    }

    /// A point's place in image `g`.
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

    /// How many mirror images of a point coincide with it: it lies in planes.
    pub fn coincident(&self, x: [f64; 3]) -> usize {
        (0..1 << self.mirrors.len()).filter(|&g| self.reflect(g, x) == x).count()
    }

    /// The mesh with its images, image by image.
    pub fn mesh(&self, mesh: &Mesh) -> Mesh {
        let planes: Vec<Plane> = self.mirrors.iter().map(|mirror| mirror.plane).collect();
        let mirrored = mirror::unfolded(mesh, &planes);
        let mut whole = mirrored.clone();
        for layer in &self.layers {
            mirror::append(&mut whole, &mirrored, |x| layer.of(x), layer.is_mirrored);
        }
        whole
    }

    /// Charges of triangles with those of their images, image by image.
    pub fn charges(&self, charges: &[f64]) -> Vec<f64> {
        let image =
            |g: usize| charges.iter().enumerate().map(move |(t, q)| self.factor_of(g, t) * q);
        (0..self.count()).flat_map(image).collect()
    }

    /// The same of values at the corners of triangles, which images have in another order.
    pub fn at_corners(&self, values: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let image = |g: usize| {
            let is_mirrored = self.flips(g).iter().filter(|flip| **flip).count() % 2 == 1;
            values.iter().enumerate().map(move |(t, values)| {
                let [a, b, c] = values.map(|value| self.factor_of(g, t) * value);
                if is_mirrored { [a, c, b] } else { [a, b, c] }
            })
        };
        (0..self.count()).flat_map(image).collect()
    }
}
