//! Components that are spheres but for their facets.
//!
//! Their vertices lie on the sphere, or above it by as much as gives the facets the sphere's volume
//! ([`crate::generate::with_volumes`]). Polyhedra may have their corners on a sphere too: three
//! triangles in one plane, or too few corners, make a component none.

use crate::generate::with_volumes;
use crate::surface::{Mesh, PhysicalGroup};
use crate::topology::{Sides, Topology};
use crate::vector::{Vector, add, area_normal, cross, dot, norm, scale, sub};
use crate::wording::counted;
use std::collections::HashMap;
use std::fmt;

/// Vertices lie on a sphere if none is further from it than this times its radius.
const ON_SPHERE: f64 = 1e-6;

/// A component resembles a sphere if no vertex is further from it than this times its radius.
const RESEMBLES: f64 = 0.1;

/// With fewer vertices a sphere cannot be distinguished from a polyhedron: an icosahedron has 12.
const FEWEST: usize = 13;

/// Up to this number of vertices no two triangles may be in one plane: from here on, spheres of
/// planar quadrangles occur.
const FEWEST_WITH_QUADRANGLES: usize = 32;

/// Triangles at an edge are in one plane if the sine of the angle between their normals is below
/// this.
const FLAT: f64 = 1e-6;

/// Steps toward the centre of a sphere with raised vertices, at most.
const STEPS: usize = 20;

/// A sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Its centre.
    pub centre: [f64; 3],
    /// Its radius.
    pub radius: f64,
}

/// The sphere that a component is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// The sphere.
    pub ball: Ball,
    /// Whether vertices are raised above it so that the facets have its volume; otherwise they lie
    /// on it.
    pub raised: bool,
}

/// A component that resembles a sphere but is not taken for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoSphere {
    /// Its first triangle.
    pub triangle: u32,
    /// Its number of triangles.
    pub triangles: usize,
    /// Distance of its vertices from the best sphere, relative to the radius.
    pub off: f64,
}

impl fmt::Display for NoSphere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the body of triangle {} ({}) is refined flat: ",
            self.triangle,
            counted(self.triangles, "triangle", "triangles")
        )?;
        if self.off > ON_SPHERE {
            write!(f, "its vertices are up to {:.1e} of the radius off a sphere", self.off)
        } else {
            write!(
                f,
                "its corners lie on a sphere, but it may be a polyhedron; begin with a finer mesh if it is a sphere"
            )
        }
    }
}

/// What [`find`] has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// For each triangle its component.
    pub component_of: Vec<u32>,
    /// For each component the sphere that it is.
    pub spheres: Vec<Option<Sphere>>,
    /// Components that only resemble spheres.
    pub flat: Vec<NoSphere>,
}

/// Looks for spheres among the components of a valid mesh ([`Mesh::validate`]).
pub fn find(mesh: &Mesh) -> Found {
    let topology = Topology::of(mesh);
    let members = topology.members();
    let component_of = topology.component_of;
    let flat_sides = flat_sides(mesh);
    let mut found = Found { component_of, spheres: Vec::new(), flat: Vec::new() };
    for (triangles, part) in members.iter().zip(&topology.components) {
        let mut vertices: Vec<u32> =
            triangles.iter().flat_map(|&t| mesh.triangles[t as usize]).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let points: Vec<Vector> = vertices.iter().map(|&v| mesh.vertices[v as usize]).collect();
        let fitted = fit(&points).filter(|(_, off)| *off <= RESEMBLES);
        let most_flat = triangles.iter().map(|&t| flat_sides[t as usize]).max().unwrap_or(0);
        let allowed = u8::from(points.len() >= FEWEST_WITH_QUADRANGLES);
        let curved = points.len() >= FEWEST && most_flat <= allowed;
        let sphere = fitted.filter(|_| curved).and_then(|(ball, off)| {
            if off <= ON_SPHERE {
                return Some(Sphere { ball, raised: false });
            }
            let closed = part.closed && part.flipped_edges == 0;
            let ball =
                if closed { fit_raised(mesh, triangles, ball, part.signed_volume) } else { None };
            Some(Sphere { ball: ball?, raised: true })
        });
        // Of bodies with flat faces it is plain what they are.
        let unclear = part.closed && most_flat <= u8::from(points.len() > FEWEST);
        if let (None, Some((_, off)), true) = (&sphere, fitted, unclear) {
            let (triangle, count) = (triangles[0], triangles.len());
            found.flat.push(NoSphere { triangle, triangles: count, off });
        }
        found.spheres.push(sphere);
    }
    found
}

/// For each triangle how many of its sides go on flat to a neighbour.
fn flat_sides(mesh: &Mesh) -> Vec<u8> {
    let mut flat = vec![0; mesh.triangles.len()];
    let normal = |t: u32| area_normal(mesh.corners(t as usize));
    for edge in Sides::of(mesh).edges().filter(|edge| edge.len() == 2) {
        let [s, t] = [edge[0].triangle, edge[1].triangle];
        let (m, n) = (normal(s), normal(t));
        if norm(cross(m, n)) <= FLAT * norm(m) * norm(n) {
            flat[s as usize] += 1;
            flat[t as usize] += 1;
        }
    }
    flat
}

/// The best sphere through points, and their distance from it relative to its radius: |x|^2 = 2 c .
/// x + d, by least squares about their mean.
fn fit(points: &[Vector]) -> Option<(Ball, f64)> {
    let sum = points.iter().fold([0.0; 3], |sum, point| add(sum, *point));
    let mean = scale(1.0 / points.len() as f64, sum);
    let size = points.iter().map(|point| norm(sub(*point, mean))).fold(0.0, f64::max);
    if size == 0.0 {
        return None;
    }
    // About their mean, and of unit size, points sum to zero and d separates from c: A c = b.
    let (mut a, mut b) = ([[0.0; 3]; 3], [0.0; 3]);
    for point in points {
        let x = scale(1.0 / size, sub(*point, mean));
        let squared = dot(x, x);
        for i in 0..3 {
            b[i] += 0.5 * squared * x[i];
            for j in 0..3 {
                a[i][j] += x[i] * x[j];
            }
        }
    }
    let centre = add(mean, scale(size, solve(a, b)?));
    let distances = || points.iter().map(|point| norm(sub(*point, centre)));
    let radius = distances().sum::<f64>() / points.len() as f64;
    let off = distances().map(|distance| (distance - radius).abs()).fold(0.0, f64::max);
    Some((Ball { centre, radius }, off / radius))
}

/// The sphere whose vertices, raised to its volume, are those of the component; `ball` is one next
/// to them. Gauss-Newton steps for the centre; the radius is that of the volume.
fn fit_raised(mesh: &Mesh, triangles: &[u32], ball: Ball, volume: f64) -> Option<Ball> {
    let radius = (0.75 * volume.abs() / std::f64::consts::PI).cbrt();
    let mut ball = Ball { centre: ball.centre, radius };
    let mut onto = mesh_of(mesh, triangles);
    let own = onto.1.vertices.clone();
    for _ in 0..STEPS {
        for (point, x) in onto.1.vertices.iter_mut().zip(&own) {
            let out = sub(*x, ball.centre);
            *point = add(ball.centre, scale(radius / norm(out), out));
        }
        let raised = with_volumes(onto.1.clone(), &[(ball.centre, radius)]);
        let (mut a, mut b, mut off) = ([[0.0; 3]; 3], [0.0; 3], 0.0f64);
        for (x, y) in own.iter().zip(&raised.vertices) {
            let out = sub(*x, ball.centre);
            let direction = scale(1.0 / norm(out), out);
            let rest = dot(sub(*x, *y), direction);
            off = off.max(rest.abs());
            for i in 0..3 {
                b[i] += rest * direction[i];
                for j in 0..3 {
                    a[i][j] += direction[i] * direction[j];
                }
            }
        }
        if off <= ON_SPHERE * radius {
            return Some(ball);
        }
        ball.centre = add(ball.centre, solve(a, b)?);
    }
    None
}

/// The vertices of a component of `triangles` that lies on a sphere, raised so that its facets have
/// the sphere's volume.
pub(crate) fn raised(mesh: &Mesh, triangles: &[u32], ball: Ball) -> Vec<(u32, Vector)> {
    let (vertices, own) = mesh_of(mesh, triangles);
    let raised = with_volumes(own, &[(ball.centre, ball.radius)]);
    vertices.into_iter().zip(raised.vertices).collect()
}

/// Some triangles as a mesh of their own, all in one group, and which vertices it has.
fn mesh_of(mesh: &Mesh, triangles: &[u32]) -> (Vec<u32>, Mesh) {
    let mut number: HashMap<u32, u32> = HashMap::new();
    let mut vertices = Vec::new();
    let mut corners = Vec::with_capacity(triangles.len());
    for &t in triangles {
        corners.push(mesh.triangles[t as usize].map(|v| {
            *number.entry(v).or_insert_with(|| {
                vertices.push(v);
                vertices.len() as u32 - 1
            })
        }));
    }
    let own = Mesh {
        vertices: vertices.iter().map(|&v| mesh.vertices[v as usize]).collect(),
        membership: vec![0; corners.len()],
        triangles: corners,
        groups: vec![PhysicalGroup { tag: 1, name: None }],
        memberships: vec![vec![0]],
        patches: None,
    };
    (vertices, own)
}

/// Solves a symmetric 3 by 3 system by Cramer's rule; `None` if it is singular, as for points in a
/// plane.
fn solve(a: [[f64; 3]; 3], b: Vector) -> Option<Vector> {
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = determinant(a);
    let trace = a[0][0] + a[1][1] + a[2][2];
    if whole.abs() <= 1e-9 * trace.powi(3) {
        return None;
    }
    Some(std::array::from_fn(|i| {
        let mut replaced = a;
        for (row, value) in replaced.iter_mut().zip(b) {
            row[i] = value;
        }
        determinant(replaced) / whole
    }))
}
