//! Mirror images: what lies on one side of some planes stands for itself and all its images.
//!
//! An odd plane is a grounded one, an image in it has the opposite charge; in an even plane, a
//! plane of symmetry, it has the same. Image g is mirrored in those planes k whose bit 2^k is set
//! in g; image 0 is what is there.

use mesh::Mesh;
use mesh::mirror::{self, Plane};

/// A plane in which everything is mirrored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mirror {
    /// Where it is.
    pub plane: Plane,
    /// Whether images have the opposite charge, so that the potential in the plane is 0.
    pub odd: bool,
}

/// All images in planes that are perpendicular to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    mirrors: Vec<Mirror>,
}

impl Images {
    /// Images in these planes, no two of which are parallel.
    pub fn new(mirrors: &[Mirror]) -> Self {
        Self { mirrors: mirrors.to_vec() }
    }

    /// The planes.
    pub fn mirrors(&self) -> &[Mirror] {
        &self.mirrors
    }

    /// How many images there are, the first being what is there.
    pub fn count(&self) -> usize {
        1 << self.mirrors.len()
    }

    /// The planes that image `g` is mirrored in.
    fn of(&self, g: usize) -> impl Iterator<Item = &Mirror> {
        self.mirrors.iter().enumerate().filter(move |(k, _)| g >> k & 1 == 1).map(|(_, m)| m)
    }

    /// 1 or -1: what charges are multiplied by in image `g`.
    pub fn sign(&self, g: usize) -> f64 {
        self.of(g).map(|mirror| if mirror.odd { -1.0 } else { 1.0 }).product()
    }

    /// Whether image `g` stands for charge on grounded planes, not for more of what is there.
    pub fn is_of_ground(&self, g: usize) -> bool {
        self.of(g).any(|mirror| mirror.odd)
    }

    /// Number of physical copies; images in grounded planes are not counted.
    pub fn copies(&self) -> usize {
        (0..self.count()).filter(|&g| !self.is_of_ground(g)).count()
    }

    /// A point's place in image `g`.
    pub fn reflect(&self, g: usize, x: [f64; 3]) -> [f64; 3] {
        self.of(g).fold(x, |x, mirror| mirror.plane.reflect(x))
    }

    /// How many images of a point coincide with it: it lies in planes.
    pub fn coincident(&self, x: [f64; 3]) -> usize {
        (0..self.count()).filter(|&g| self.reflect(g, x) == x).count()
    }

    /// The mesh with its images, image by image.
    pub fn mesh(&self, mesh: &Mesh) -> Mesh {
        let planes: Vec<Plane> = self.mirrors.iter().map(|mirror| mirror.plane).collect();
        mirror::unfolded(mesh, &planes)
    }

    /// Charges of triangles with those of their images, image by image.
    pub fn charges(&self, charges: &[f64]) -> Vec<f64> {
        (0..self.count()).flat_map(|g| charges.iter().map(move |q| self.sign(g) * q)).collect()
    }

    /// The same of values at the corners of triangles, which images have in another order.
    pub fn at_corners(&self, values: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let image = |g: usize| {
            let (sign, is_mirrored) = (self.sign(g), self.of(g).count() % 2 == 1);
            values.iter().map(move |values| {
                let [a, b, c] = values.map(|value| sign * value);
                if is_mirrored { [a, c, b] } else { [a, b, c] }
            })
        };
        (0..self.count()).flat_map(image).collect()
    }
}
