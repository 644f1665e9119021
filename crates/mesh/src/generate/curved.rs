//! Curved triangles of the shapes that have them: nodes on the true surface.
//!
//! Nodes of flat triangles are moved to the surface by a smooth map, so that the patches deviate
//! from it by a power of the triangles' size that is one more than their order. The map of a node
//! on a side depends on that side alone.

use super::{
    ConcentricSpheres, Cylinder, Disk, Ellipsoid, Error, Molecule, Resolution, Sphere, Torus,
    TwoSpheres,
};
use crate::geometry::curved::{folds, places};
use crate::patch::MAX_ORDER;
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, add, norm, scale, sub};

/// Numbers of elements up to this are tried for a mesh without folds.
const MOST_TRIED: usize = 20_000;

/// A node of a flat triangle.
struct Node {
    triangle: usize,
    /// Its barycentric coordinates.
    at: [f64; 3],
    point: Vector,
}

/// Makes the triangles curved, with nodes where `place` moves those that are no corners.
fn curved(
    mut mesh: Mesh,
    order: usize,
    place: impl Fn(&Mesh, Node) -> Result<Vector, Error>,
) -> Result<Mesh, Error> {
    if !(1..=MAX_ORDER).contains(&order) {
        return Err(Error::Order(order));
    }
    if order == 1 {
        return Ok(mesh);
    }
    let mut patches = Patches::straight(&mesh, order);
    for triangle in 0..mesh.triangles.len() {
        let nodes = patches.of_mut(triangle).iter_mut().zip(places(order)).skip(3);
        for (point, steps) in nodes {
            let at = steps.map(|i| i as f64 / order as f64);
            *point = place(&mesh, Node { triangle, at, point: *point })?;
        }
    }
    mesh.patches = Some(patches);
    Ok(mesh)
}

/// The mesh that `build` makes, if none of its triangles folds: coarse ones may, however smooth the
/// map, where a node comes next to a corner.
fn unfolded(
    order: usize,
    resolution: Resolution,
    build: impl Fn(Resolution) -> Result<Mesh, Error>,
) -> Result<Mesh, Error> {
    let mesh = build(resolution)?;
    if folds(&mesh).is_empty() {
        return Ok(mesh);
    }
    let triangles = mesh.triangles.len();
    let mut elements = triangles;
    // Only coarse meshes fold, so that this takes little time; steps of 0.2 % end it anyhow.
    let mut more = std::iter::from_fn(|| {
        elements += 1 + elements / 500;
        (elements <= MOST_TRIED).then_some(elements)
    });
    let mut tried = triangles;
    let least = more.find(|&elements| {
        let Ok(mesh) = build(Resolution::Elements(elements)) else { return false };
        let is_new = std::mem::replace(&mut tried, mesh.triangles.len()) != mesh.triangles.len();
        is_new && folds(&mesh).is_empty()
    });
    Err(Error::Folds { order, triangles, least })
}

/// The point of a sphere in the direction of another.
fn onto_sphere(centre: Vector, radius: f64, point: Vector) -> Vector {
    let out = sub(point, centre);
    add(centre, scale(radius / norm(out), out))
}

/// The point at the distance from the z axis that lies between those of the corners: what is
/// between rings of vertices around the axis is on rings, too.
fn between_rings(mesh: &Mesh, node: &Node) -> Vector {
    let [x, y, z] = node.point;
    let radius = |[x, y, _]: Vector| x.hypot(y);
    let corners = mesh.corners(node.triangle);
    let wanted: f64 = (0..3).map(|k| node.at[k] * radius(corners[k])).sum();
    let found = radius(node.point);
    if found == 0.0 { node.point } else { [x * wanted / found, y * wanted / found, z] }
}

impl Sphere {
    /// The mesh with curved triangles of an order, 1 for flat ones.
    ///
    /// # Errors
    /// As [`Sphere::build`]; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, order: usize) -> Result<Mesh, Error> {
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build()?, order, |_, node| {
                Ok(onto_sphere([0.0; 3], self.radius, node.point))
            })
        })
    }
}

impl TwoSpheres {
    /// The mesh with curved triangles of an order, 1 for flat ones, graded as by
    /// [`TwoSpheres::build_graded`].
    ///
    /// # Errors
    /// As there; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, grade: f64, order: usize) -> Result<Mesh, Error> {
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build_graded(grade)?, order, |_, node| {
                let side = if node.point[0] < 0.0 { -0.5 } else { 0.5 };
                Ok(onto_sphere([side * self.distance, 0.0, 0.0], self.radius, node.point))
            })
        })
    }
}

impl ConcentricSpheres {
    /// The mesh with curved triangles of an order, 1 for flat ones.
    ///
    /// # Errors
    /// As [`ConcentricSpheres::build`]; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, order: usize) -> Result<Mesh, Error> {
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build()?, order, |mesh, node| {
                let is_inner = mesh.groups_of(node.triangle) == [0];
                let radius = if is_inner { self.inner_radius } else { self.outer_radius };
                Ok(onto_sphere([0.0; 3], radius, node.point))
            })
        })
    }
}

impl Ellipsoid {
    /// The mesh with curved triangles of an order, 1 for flat ones.
    ///
    /// # Errors
    /// As [`Ellipsoid::build`]; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, order: usize) -> Result<Mesh, Error> {
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build()?, order, |_, node| {
                let on_unit: Vector = std::array::from_fn(|i| node.point[i] / self.semi_axes[i]);
                let length = norm(on_unit);
                Ok(node.point.map(|x| x / length))
            })
        })
    }
}

impl Torus {
    /// The mesh with curved triangles of an order, 1 for flat ones.
    ///
    /// # Errors
    /// As [`Torus::build`]; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, order: usize) -> Result<Mesh, Error> {
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build()?, order, |_, node| {
                let [x, y, _] = node.point;
                let to_ring = self.ring_radius / x.hypot(y);
                Ok(onto_sphere([x * to_ring, y * to_ring, 0.0], self.tube_radius, node.point))
            })
        })
    }
}

impl Disk {
    /// The mesh with curved triangles of an order, 1 for flat ones: its rings are circles.
    ///
    /// # Errors
    /// As [`Disk::build`]; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, order: usize) -> Result<Mesh, Error> {
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build()?, order, |mesh, node| Ok(between_rings(mesh, &node)))
        })
    }
}

impl Cylinder {
    /// The mesh with curved triangles of an order, 1 for flat ones.
    ///
    /// # Errors
    /// As [`Cylinder::build`]; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, order: usize) -> Result<Mesh, Error> {
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build()?, order, |mesh, node| Ok(between_rings(mesh, &node)))
        })
    }
}

impl Molecule {
    /// The mesh with curved triangles of an order, 1 for flat ones.
    ///
    /// # Errors
    /// As [`Molecule::build`]; [`Error::Order`] and [`Error::Folds`].
    pub fn build_curved(&self, order: usize) -> Result<Mesh, Error> {
        let surface = self.surface()?;
        unfolded(order, self.resolution, |resolution| {
            let shape = Self { resolution, ..*self };
            curved(shape.build()?, order, |_, node| surface.toward(node.point))
        })
    }
}
