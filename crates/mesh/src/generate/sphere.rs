//! Spheres from subdivided octahedra and icosahedra.

use super::{Builder, Error, Resolution, check_count, check_grade, check_length};
use crate::surface::Mesh;
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};
use std::collections::HashMap;

/// The polyhedron whose faces are subdivided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SphereBase {
    /// 8 faces: 8 n^2 triangles, with the symmetry of the coordinate planes.
    #[default]
    Octahedron,
    /// 20 faces: 20 n^2 triangles, of more equal size.
    Icosahedron,
}

/// A sphere around the origin; physical group `sphere`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Radius.
    pub radius: f64,
    /// The polyhedron to start from.
    pub base: SphereBase,
    /// How fine.
    pub resolution: Resolution,
}

/// Two equal spheres with their centres on the x axis, symmetric about the origin; physical groups
/// `left` and `right`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoSpheres {
    /// Radius of each.
    pub radius: f64,
    /// Distance of the centres, more than two radii.
    pub distance: f64,
    /// The polyhedron to start from.
    pub base: SphereBase,
    /// How fine; a number of elements is that of both spheres together.
    pub resolution: Resolution,
}

/// Two spheres around the origin; physical groups `inner` and `outer`, both with normals away from
/// the centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConcentricSpheres {
    /// Radius of the inner one.
    pub inner_radius: f64,
    /// Radius of the outer one.
    pub outer_radius: f64,
    /// The polyhedron to start from.
    pub base: SphereBase,
    /// How fine; a number of elements is that of both together, shared equally.
    pub resolution: Resolution,
}

impl Sphere {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the radius", self.radius)?;
        let n = frequency(self.base, self.radius, self.resolution)?;
        let mut builder = Builder::new();
        builder.group("sphere");
        add_sphere(&mut builder, self.base, n, self.radius, [0.0; 3]);
        Ok(builder.mesh)
    }
}

impl TwoSpheres {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the radius", self.radius)?;
        check_length("the distance of the centres", self.distance)?;
        if self.distance <= 2.0 * self.radius {
            return Err(Error::Intersecting {
                what: "the distance of the centres",
                value: self.distance,
                limit: 2.0 * self.radius,
            });
        }
        let n = frequency(self.base, self.radius, self.resolution.share(2))?;
        let mut builder = Builder::new();
        for (name, side) in [("left", -0.5), ("right", 0.5)] {
            builder.group(name);
            let centre = [side * self.distance, 0.0, 0.0];
            add_sphere(&mut builder, self.base, n, self.radius, centre);
        }
        Ok(builder.mesh)
    }
}

impl TwoSpheres {
    /// The mesh with triangles `grade` times as large on the far sides as where the spheres are
    /// nearest.
    ///
    /// # Errors
    /// As [`TwoSpheres::build`]; [`Error::Grade`].
    pub fn build_graded(&self, grade: f64) -> Result<Mesh, Error> {
        check_grade(grade)?;
        let mut mesh = self.build()?;
        // A grade of 1 leaves vertices as they are but for rounding.
        if grade == 1.0 {
            return Ok(mesh);
        }
        for point in &mut mesh.vertices {
            let side = if point[0] < 0.0 { -0.5 } else { 0.5 };
            let centre = [side * self.distance, 0.0, 0.0];
            let toward = [-2.0 * side, 0.0, 0.0];
            let direction = scale(1.0 / self.radius, sub(*point, centre));
            *point = add(centre, scale(self.radius, drawn(direction, toward, grade)));
        }
        Ok(mesh)
    }

    /// With facets of the spheres' volume: [`with_volumes`].
    ///
    /// # Errors
    /// As [`TwoSpheres::build_graded`]; [`Error::Intersecting`] if vertices outside of the spheres
    /// close the gap between them.
    pub fn build_with_volumes(&self, grade: f64) -> Result<Mesh, Error> {
        let spheres = [-0.5, 0.5].map(|side| ([side * self.distance, 0.0, 0.0], self.radius));
        let mesh = with_volumes(self.build_graded(grade)?, &spheres);
        let half = mesh.vertices.len() / 2;
        let reach = |vertices: &[Vector], sign: f64| {
            vertices.iter().map(|x| sign * x[0]).fold(f64::NEG_INFINITY, f64::max)
        };
        let (left, right) =
            (reach(&mesh.vertices[..half], 1.0), reach(&mesh.vertices[half..], -1.0));
        if left + right < 0.0 {
            return Ok(mesh);
        }
        Err(Error::Intersecting {
            what: "the distance of the centres",
            value: self.distance,
            limit: self.distance + left + right,
        })
    }
}

/// A direction drawn toward `pole`, so that meshes become finer there and coarser on the other side
/// by the ratio `grade`: the stereographic projection from the other side is scaled, which changes
/// no angles.
fn drawn(direction: Vector, pole: Vector, grade: f64) -> Vector {
    let factor = grade.sqrt().recip();
    let cosine = dot(direction, pole).clamp(-1.0, 1.0);
    let (near, far) = (1.0 + cosine, factor * factor * (1.0 - cosine));
    let across = sub(direction, scale(cosine, pole));
    let moved =
        add(scale((near - far) / (near + far), pole), scale(2.0 * factor / (near + far), across));
    // But for rounding it is of length 1.
    scale(1.0 / norm(moved), moved)
}

/// The mesh of closed surfaces that are spheres but for their facets, each a group, raised to the
/// volume of a sphere of the radius given: its facets then lie as much outside of that sphere as
/// inside, wherever they are small or large.
///
/// `spheres` are centres and radii, in the order of the groups; every vertex belongs to one group
/// and lies on its sphere.
///
/// A facet with corners on a sphere of radius R has its points, on the average, L / (24 R) below, L
/// being the sum of its squared edges. Each vertex is raised by the mean of this over the facets
/// around it, weighted with their areas, times a number for the whole sphere that is nearly 1: gaps
/// next to fine facets keep their width.
pub fn with_volumes(mut mesh: Mesh, spheres: &[(Vector, f64)]) -> Mesh {
    let mut owner = vec![usize::MAX; mesh.vertices.len()];
    let (mut rises, mut areas) = (vec![0.0; owner.len()], vec![0.0; owner.len()]);
    for t in 0..mesh.triangles.len() {
        let Some(&group) = mesh.groups_of(t).first() else { continue };
        let Some((_, radius)) = spheres.get(group as usize) else { continue };
        let [a, b, c] = mesh.corners(t);
        let edges = [sub(b, a), sub(c, b), sub(a, c)];
        let area = 0.5 * norm(cross(edges[0], edges[1]));
        let squares: f64 = edges.iter().map(|&e| dot(e, e)).sum();
        for v in mesh.triangles[t].map(|v| v as usize) {
            owner[v] = group as usize;
            rises[v] += area * squares / (24.0 * radius * radius);
            areas[v] += area;
        }
    }
    rises.iter_mut().zip(&areas).for_each(|(rise, area)| *rise /= area);
    // Vertices at x (1 + s rise) give a volume that is a cubic in s.
    let mut cubics = vec![[0.0; 4]; spheres.len()];
    for t in 0..mesh.triangles.len() {
        let Some(&group) = mesh.groups_of(t).first() else { continue };
        let Some((centre, _)) = spheres.get(group as usize) else { continue };
        let [a, b, c] = mesh.corners(t).map(|x| sub(x, *centre));
        let [u, v, w] = mesh.triangles[t].map(|v| rises[v as usize]);
        let volume = dot(a, cross(b, c)) / 6.0;
        let terms = [1.0, u + v + w, u * v + v * w + w * u, u * v * w];
        for (sum, term) in cubics[group as usize].iter_mut().zip(terms) {
            *sum += volume * term;
        }
    }
    let steps: Vec<f64> = spheres.iter().zip(&cubics).map(|(s, &c)| whole_step(s.1, c)).collect();
    for ((point, rise), &group) in mesh.vertices.iter_mut().zip(&rises).zip(&owner) {
        if let Some((centre, _)) = spheres.get(group) {
            *point = add(*centre, scale(1.0 + steps[group] * rise, sub(*point, *centre)));
        }
    }
    mesh
}

/// Where the cubic is the volume of the sphere: by Newton's method, from 1.
fn whole_step(radius: f64, [c0, c1, c2, c3]: [f64; 4]) -> f64 {
    let wanted = (4.0 / 3.0 * std::f64::consts::PI * radius.powi(3)).copysign(c0);
    let mut s: f64 = 1.0;
    // Terms are of one sign, so that it converges from anywhere above zero; from 1, in a few steps.
    for _ in 0..20 {
        let slope = c1 + s * (2.0 * c2 + 3.0 * s * c3);
        s -= (c0 + s * (c1 + s * (c2 + s * c3)) - wanted) / slope;
    }
    s
}

impl ConcentricSpheres {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the inner radius", self.inner_radius)?;
        check_length("the outer radius", self.outer_radius)?;
        if self.outer_radius <= self.inner_radius {
            return Err(Error::Intersecting {
                what: "the outer radius",
                value: self.outer_radius,
                limit: self.inner_radius,
            });
        }
        let mut builder = Builder::new();
        for (name, radius) in [("inner", self.inner_radius), ("outer", self.outer_radius)] {
            let n = frequency(self.base, radius, self.resolution.share(2))?;
            builder.group(name);
            add_sphere(&mut builder, self.base, n, radius, [0.0; 3]);
        }
        Ok(builder.mesh)
    }
}

/// An ellipsoid around the origin; physical group `ellipsoid`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipsoid {
    /// Along x, y and z.
    pub semi_axes: [f64; 3],
    /// The polyhedron to start from.
    pub base: SphereBase,
    /// How fine; an element size is that on the sphere that is stretched, whose radius is the
    /// longest semi-axis.
    pub resolution: Resolution,
}

impl Ellipsoid {
    /// Makes the mesh: that of a sphere, stretched.
    ///
    /// # Errors
    /// [`Error::Length`], and those of the resolution.
    pub fn build(&self) -> Result<Mesh, Error> {
        for length in self.semi_axes {
            check_length("the semi-axis", length)?;
        }
        let radius = self.semi_axes.into_iter().fold(0.0, f64::max);
        let mut mesh = Sphere { radius, base: self.base, resolution: self.resolution }.build()?;
        for vertex in &mut mesh.vertices {
            *vertex = std::array::from_fn(|i| vertex[i] / radius * self.semi_axes[i]);
        }
        mesh.groups.iter_mut().for_each(|group| group.name = Some("ellipsoid".to_owned()));
        Ok(mesh)
    }
}

impl SphereBase {
    /// Corners on the unit sphere.
    fn corners(self) -> Vec<Vector> {
        match self {
            Self::Octahedron => {
                (0..3).flat_map(|axis| [1.0, -1.0].map(|sign| unit_vector(axis, sign))).collect()
            }
            Self::Icosahedron => {
                let golden = f64::midpoint(1.0, 5f64.sqrt());
                let length = golden.hypot(1.0);
                let mut corners = Vec::with_capacity(12);
                for axis in 0..3 {
                    for (one, other) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                        let mut corner = [0.0; 3];
                        corner[axis] = one / length;
                        corner[(axis + 1) % 3] = other * golden / length;
                        corners.push(corner);
                    }
                }
                corners
            }
        }
    }

    fn face_count(self) -> usize {
        match self {
            Self::Octahedron => 8,
            Self::Icosahedron => 20,
        }
    }

    /// The angle that an edge subtends at the centre, in radians.
    fn edge_angle(self) -> f64 {
        match self {
            Self::Octahedron => std::f64::consts::FRAC_PI_2,
            Self::Icosahedron => 2f64.atan(),
        }
    }

    /// The longest edge of a subdivision relative to one along the base's edges, at most: the
    /// greatest stretch of the map in `add_sphere`, found numerically.
    fn stretch(self) -> f64 {
        match self {
            Self::Octahedron => 1.468,
            Self::Icosahedron => 1.178,
        }
    }

    /// Triples of corners that are an edge apart from each other, counter-clockwise seen from
    /// outside.
    fn faces(self, corners: &[Vector]) -> Vec<[usize; 3]> {
        let adjacent = |i: usize, j: usize| {
            (dot(corners[i], corners[j]) - self.edge_angle().cos()).abs() < 1e-9
        };
        let mut faces = Vec::with_capacity(self.face_count());
        for i in 0..corners.len() {
            for j in i + 1..corners.len() {
                for k in j + 1..corners.len() {
                    if adjacent(i, j) && adjacent(j, k) && adjacent(i, k) {
                        let normal =
                            cross(sub(corners[j], corners[i]), sub(corners[k], corners[i]));
                        let outward = dot(normal, corners[i]) > 0.0;
                        faces.push(if outward { [i, j, k] } else { [i, k, j] });
                    }
                }
            }
        }
        faces
    }
}

fn unit_vector(axis: usize, sign: f64) -> Vector {
    let mut v = [0.0; 3];
    v[axis] = sign;
    v
}

/// Into how many parts each edge of the base is divided.
fn frequency(base: SphereBase, radius: f64, resolution: Resolution) -> Result<usize, Error> {
    resolution.check()?;
    let count = |n: usize| base.face_count() as f64 * (n as f64).powi(2);
    match resolution {
        Resolution::Size(size) => {
            let arc = base.edge_angle() * radius;
            let n = (base.stretch() * arc / size).ceil().max(1.0);
            check_count(base.face_count() as f64 * n * n, resolution)?;
            Ok(n as usize)
        }
        Resolution::Elements(elements) | Resolution::Closest(elements) => {
            Ok(resolution.number(elements, count))
        }
    }
}

/// Adds a sphere whose base's edges are each divided into `n` equal arcs.
///
/// The point with barycentric coordinates a, b, c of a face with corners A, B, C goes to the
/// direction of A sin(a w) + B sin(b w) + C sin(c w), w being the angle of an edge: on the face's
/// edges that is the interpolation at constant speed, and inside it keeps areas more equal than
/// projecting the flat face does.
fn add_sphere(builder: &mut Builder, base: SphereBase, n: usize, radius: f64, centre: Vector) {
    let corners = base.corners();
    let weights: Vec<f64> =
        (0..=n).map(|k| (base.edge_angle() * k as f64 / n as f64).sin()).collect();
    // Vertices on edges belong to two faces and corners to more: they are known by their corners
    // and weights.
    let mut shared: HashMap<[(usize, usize); 3], u32> = HashMap::new();
    for face in base.faces(&corners) {
        let mut vertex = |builder: &mut Builder, counts: [usize; 3]| {
            let mut make = || {
                let mut point = [0.0; 3];
                for (corner, count) in face.into_iter().zip(counts) {
                    point = add(point, scale(weights[count], corners[corner]));
                }
                builder.vertex(add(centre, scale(radius / norm(point), point)))
            };
            if counts.iter().all(|&count| count > 0) {
                return make();
            }
            let mut key = [0, 1, 2].map(|i| (counts[i], face[i]));
            for entry in &mut key {
                if entry.0 == 0 {
                    entry.1 = 0;
                }
            }
            key.sort_unstable();
            *shared.entry(key).or_insert_with(make)
        };
        // Row r holds the r + 1 points that are r steps away from the first corner.
        let mut previous = vec![vertex(builder, [n, 0, 0])];
        for row in 1..=n {
            let current: Vec<u32> =
                (0..=row).map(|k| vertex(builder, [n - row, row - k, k])).collect();
            for k in 0..row {
                builder.triangle([previous[k], current[k], current[k + 1]]);
                if k + 1 < row {
                    builder.triangle([previous[k], current[k + 1], previous[k + 1]]);
                }
            }
            previous = current;
        }
    }
}
