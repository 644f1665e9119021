//! Curved triangles of the shapes that have them: nodes on the true surface.
//!
//! Nodes of flat triangles are moved to the surface by a smooth map, so that the patches deviate
//! from it by a power of the triangles' size that is one more than their order. The map of a node
//! on a side depends on that side alone.

use super::{
    ConcentricSpheres, Cylinder, Disk, Ellipsoid, Error, Molecule, Resolution, Sphere, Torus,
    TwoSpheres,
};
use crate::curved::{folds, places};
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

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::generate::SphereBase;
    use crate::quality::areas;
    use crate::stitch::stitch;
    use crate::topology::Topology;

    /// Errors of area and volume, relative; of the area alone if there is no volume.
    fn errors(mesh: &Mesh, area: f64, volume: f64) -> [f64; 2] {
        mesh.validate().unwrap();
        assert!(folds(mesh).is_empty());
        // All are connected as they are.
        assert_eq!(stitch(&mut mesh.clone()), 0);
        let topology = Topology::of(mesh);
        let found = areas(mesh).iter().sum::<f64>() / area - 1.0;
        if volume == 0.0 {
            return [found.abs(); 2];
        }
        assert!(topology.whole.closed);
        [found.abs(), (topology.whole.signed_volume / volume - 1.0).abs()]
    }

    /// Both converge with the order given when triangles become half as large.
    fn assert_order(
        build: impl Fn(Resolution, usize) -> Mesh,
        counts: [usize; 2],
        area: f64,
        volume: f64,
    ) {
        for (order, expected) in [(1, 2.0), (2, 3.0), (3, 4.0), (4, 5.0)] {
            let [coarse, fine] = counts.map(|count| {
                let mesh = build(Resolution::Elements(count), order);
                (errors(&mesh, area, volume), mesh.triangles.len() as f64)
            });
            let halvings = (fine.1 / coarse.1).log2() / 2.0;
            for k in 0..2 {
                let rate = (coarse.0[k] / fine.0[k]).log2() / halvings;
                assert!(rate > expected - 0.35, "order {order}: {rate}, {coarse:?} {fine:?}");
            }
        }
    }

    #[test]
    fn areas_and_volumes_converge_with_the_order() {
        let base = SphereBase::Icosahedron;
        let ball = |r: f64| [4.0 * PI * r * r, 4.0 / 3.0 * PI * r.powi(3)];
        let sphere = |resolution, order| {
            Sphere { radius: 2.0, base, resolution }.build_curved(order).unwrap()
        };
        assert_order(sphere, [320, 1280], ball(2.0)[0], ball(2.0)[1]);
        let two = |resolution, order| {
            TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }
                .build_curved(3.0, order)
                .unwrap()
        };
        assert_order(two, [640, 2560], 2.0 * ball(1.0)[0], 2.0 * ball(1.0)[1]);
        let concentric = |resolution, order| {
            ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution }
                .build_curved(order)
                .unwrap()
        };
        let [inner, outer] = [ball(1.0), ball(2.0)];
        assert_order(concentric, [640, 2560], inner[0] + outer[0], inner[1] + outer[1]);
        let torus = |resolution, order| {
            Torus { ring_radius: 2.0, tube_radius: 0.5, resolution }.build_curved(order).unwrap()
        };
        assert_order(torus, [800, 3200], 4.0 * PI * PI, 2.0 * PI * PI * 0.5);
        let disk = |resolution, order| {
            Disk { radius: 1.5, grade: 1.0, resolution }.build_curved(order).unwrap()
        };
        assert_order(disk, [150, 600], PI * 2.25, 0.0);
        let cylinder = |resolution, order| {
            Cylinder { radius: 1.0, length: 3.0, resolution }.build_curved(order).unwrap()
        };
        assert_order(cylinder, [400, 1600], 8.0 * PI, 3.0 * PI);
        // Prolate, with an area in closed form.
        let (a, c) = (1.0f64, 2.0f64);
        let e = (1.0 - (a / c).powi(2)).sqrt();
        let area = 2.0 * PI * a * a * (1.0 + c / (a * e) * e.asin());
        let ellipsoid = |resolution, order| {
            Ellipsoid { semi_axes: [a, a, c], base, resolution }.build_curved(order).unwrap()
        };
        assert_order(ellipsoid, [320, 1280], area, 4.0 / 3.0 * PI * a * a * c);
    }

    #[test]
    fn graded_disks_and_molecules_do_not_fold() {
        for order in 1..=MAX_ORDER {
            let resolution = Resolution::Elements(2000);
            let disk = Disk { radius: 1.0, grade: 1000.0, resolution }.build_curved(order).unwrap();
            let [error, _] = errors(&disk, PI, 0.0);
            assert!(error < if order == 1 { 0.01 } else { 1e-5 }, "{error}");
            let molecule = Molecule { atoms: 20, resolution }.build_curved(order).unwrap();
            molecule.validate().unwrap();
            assert!(folds(&molecule).is_empty());
        }
        let sphere = Sphere {
            radius: 1.0,
            base: SphereBase::Octahedron,
            resolution: Resolution::Elements(8),
        };
        assert!(matches!(sphere.build_curved(5), Err(Error::Order(5))));
        assert_eq!(sphere.build_curved(1), sphere.build());
    }
    /// Whatever is made does not fold, and if it would, the number named does not.
    #[test]
    fn few_elements_fold_nothing_or_are_refused_with_a_number_that_does_not() {
        type Build = Box<dyn Fn(Resolution, usize) -> Result<Mesh, Error>>;
        let mut shapes: Vec<Build> = Vec::new();
        for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
            shapes.push(Box::new(move |resolution, order| {
                Sphere { radius: 1.0, base, resolution }.build_curved(order)
            }));
            shapes.push(Box::new(move |resolution, order| {
                ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution }
                    .build_curved(order)
            }));
            for grade in [1.0, 10.0, 100.0] {
                shapes.push(Box::new(move |resolution, order| {
                    TwoSpheres { radius: 1.0, distance: 2.1, base, resolution }
                        .build_curved(grade, order)
                }));
            }
            for semi_axes in [[1.0, 1.0, 2.0], [1.0, 1.0, 10.0], [10.0, 10.0, 1.0]] {
                shapes.push(Box::new(move |resolution, order| {
                    Ellipsoid { semi_axes, base, resolution }.build_curved(order)
                }));
            }
        }
        for tube_radius in [0.02, 0.25, 0.8, 0.98] {
            shapes.push(Box::new(move |resolution, order| {
                Torus { ring_radius: 1.0, tube_radius, resolution }.build_curved(order)
            }));
        }
        for grade in [1.0, 30.0, 1e4] {
            shapes.push(Box::new(move |resolution, order| {
                Disk { radius: 1.0, grade, resolution }.build_curved(order)
            }));
        }
        for length in [0.1, 2.0, 20.0] {
            shapes.push(Box::new(move |resolution, order| {
                Cylinder { radius: 1.0, length, resolution }.build_curved(order)
            }));
        }
        for atoms in [2, 30] {
            shapes.push(Box::new(move |resolution, order| {
                Molecule { atoms, resolution }.build_curved(order)
            }));
        }
        let mut refused = 0;
        // Any two of shape, order and number of elements meet.
        let counts = [1, 8, 32, 50, 100, 200];
        for (shape, build) in shapes.iter().enumerate() {
            for (order, count) in
                (2..=MAX_ORDER).flat_map(|order| (0..counts.len()).map(move |i| (order, i)))
            {
                if !(shape + order + count).is_multiple_of(3) {
                    continue;
                }
                let elements = counts[count];
                match build(Resolution::Elements(elements), order) {
                    Ok(mesh) => assert_eq!(folds(&mesh), [], "{shape} {order} {elements}"),
                    Err(Error::Folds { least: Some(least), triangles, .. }) => {
                        refused += 1;
                        let mesh = build(Resolution::Elements(least), order).unwrap();
                        assert!(folds(&mesh).is_empty() && mesh.triangles.len() > triangles);
                    }
                    Err(error) => panic!("{shape} {order} {elements}: {error}"),
                }
            }
        }
        assert!(refused > 20, "{refused}");
        let sphere = Sphere {
            radius: 1.0,
            base: SphereBase::Octahedron,
            resolution: Resolution::Elements(8),
        };
        let message = sphere.build_curved(3).unwrap_err().to_string();
        assert_eq!(
            message,
            "8 triangles are too few for order 3: some would fold over; ask for 32 elements, or try a lower order"
        );
    }
}
