//! Uniform refinement: every triangle becomes four, by the midpoints of its sides.

use crate::surface::Mesh;
use crate::topology::components;
use crate::vector::{Vector, add, dot, norm, scale, sub};
use std::collections::HashMap;
use thiserror::Error;

/// Vertices lie on a sphere if none is further from it than this times its radius.
const ON_SPHERE: f64 = 1e-6;

/// Fewest vertices that tell a sphere from a polyhedron: the corners of a cube lie on one too.
const FEWEST: usize = 32;

/// Why a mesh could not be refined.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// More triangles than 32-bit indices can number.
    #[error("refined, the mesh would have {0} triangles, more than 32-bit indices can number")]
    TooMany(u64),
}

/// A sphere that all vertices of a component lie on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Its centre.
    pub centre: [f64; 3],
    /// Its radius.
    pub radius: f64,
}

/// The number of triangles after so many refinements.
///
/// # Errors
/// [`Error::TooMany`].
pub fn count_after(mesh: &Mesh, times: u32) -> Result<usize, Error> {
    let count = 4u64.saturating_pow(times).saturating_mul(mesh.triangles.len() as u64);
    // A surface has about half as many vertices as triangles, and never more than three times as many.
    if count >= u64::from(u32::MAX) / 3 { Err(Error::TooMany(count)) } else { Ok(count as usize) }
}

/// Splits each triangle of a valid mesh ([`Mesh::validate`]) into four like it; groups are inherited.
///
/// Children of triangle t are 4 t to 4 t + 3, the last one in the middle. The surface stays as it is: new vertices lie on flat
/// sides. For a curved body pass each new vertex through `place`, with the triangle it was made for.
///
/// # Errors
/// [`Error::TooMany`].
pub fn uniform(mesh: &Mesh, place: impl Fn(u32, [f64; 3]) -> [f64; 3]) -> Result<Mesh, Error> {
    let count = count_after(mesh, 1)?;
    let mut refined = Mesh {
        vertices: mesh.vertices.clone(),
        triangles: Vec::with_capacity(count),
        groups: mesh.groups.clone(),
        membership: Vec::with_capacity(count),
        memberships: mesh.memberships.clone(),
    };
    let mut midpoints: HashMap<(u32, u32), u32> = HashMap::with_capacity(2 * mesh.triangles.len());
    for (triangle, (&[a, b, c], &set)) in (0..).zip(mesh.triangles.iter().zip(&mesh.membership)) {
        let mut middle = |p: u32, q: u32| {
            *midpoints.entry((p.min(q), p.max(q))).or_insert_with(|| {
                let (p, q) = (mesh.vertices[p as usize], mesh.vertices[q as usize]);
                let point = std::array::from_fn(|i| f64::midpoint(p[i], q[i]));
                refined.vertices.push(place(triangle, point));
                (refined.vertices.len() - 1) as u32
            })
        };
        let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
        refined.triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        refined.membership.extend([set; 4]);
    }
    Ok(refined)
}

/// As [`uniform`], with new vertices of components that are spheres ([`balls`]) put onto the sphere.
///
/// # Errors
/// [`Error::TooMany`].
pub fn on_spheres(mesh: &Mesh) -> Result<Mesh, Error> {
    let (component_of, count) = components(mesh);
    let balls = balls(mesh, &component_of, count);
    uniform(mesh, |triangle, point| match balls[component_of[triangle as usize] as usize] {
        None => point,
        Some(Ball { centre, radius }) => {
            let out = sub(point, centre);
            add(centre, scale(radius / norm(out), out))
        }
    })
}

/// For each component the sphere that all its vertices lie on, if they do and are enough to tell it from a polyhedron.
pub fn balls(mesh: &Mesh, component_of: &[u32], count: usize) -> Vec<Option<Ball>> {
    let mut vertices: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (corners, &component) in mesh.triangles.iter().zip(component_of) {
        vertices[component as usize].extend(corners);
    }
    vertices
        .into_iter()
        .map(|mut members| {
            members.sort_unstable();
            members.dedup();
            let points: Vec<Vector> = members.iter().map(|&v| mesh.vertices[v as usize]).collect();
            fit(&points)
        })
        .collect()
}

/// The sphere through all points: |x|^2 = 2 c . x + d, by least squares about their mean.
fn fit(points: &[Vector]) -> Option<Ball> {
    if points.len() < FEWEST {
        return None;
    }
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
    let centre = solve(a, b)?;
    let centre = add(mean, scale(size, centre));
    let distances = || points.iter().map(|point| norm(sub(*point, centre)));
    let radius = distances().sum::<f64>() / points.len() as f64;
    let off = distances().map(|distance| (distance - radius).abs()).fold(0.0, f64::max);
    (off <= ON_SPHERE * radius).then_some(Ball { centre, radius })
}

/// Solves a symmetric 3 by 3 system by Cramer's rule; `None` if it is singular, as for points in a plane.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Report;
    use crate::generate::{Cube, Plate, Resolution, Sphere, SphereBase, Torus, TwoSpheres};
    use crate::quality::areas;

    const RESOLUTION: Resolution = Resolution::Elements(500);

    #[test]
    fn a_flat_surface_keeps_area_volume_groups_and_shape() {
        let cube = Cube { edge: 2.0, grade: 7.0, resolution: RESOLUTION }.build().unwrap();
        let fine = uniform(&cube, |_, point| point).unwrap();
        let (before, after) = (Report::of(&cube).unwrap(), Report::of(&fine).unwrap());
        assert_eq!(after.triangles, 4 * before.triangles);
        // Euler: V - E + F = 2, with 3 F = 2 E.
        assert_eq!(after.vertices, after.triangles / 2 + 2);
        assert!(after.whole.closed && after.defects.is_empty());
        assert!((after.whole.signed_volume - 8.0).abs() < 1e-12);
        assert_eq!(after.groups[0].label, "cube");
        assert!((after.quality.min_angle.min - before.quality.min_angle.min).abs() < 1e-9);
        let (coarse, fine) = (areas(&cube), areas(&fine));
        for (t, area) in coarse.iter().enumerate() {
            for child in 0..4 {
                assert!((fine[4 * t + child] - area / 4.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn spheres_stay_spheres_and_others_as_they_are() {
        let base = SphereBase::Icosahedron;
        let two = TwoSpheres { radius: 1.5, distance: 4.0, base, resolution: RESOLUTION }
            .build()
            .unwrap();
        let fine = on_spheres(&two).unwrap();
        for [x, y, z] in &fine.vertices {
            let off = [(x.abs() - 2.0), *y, *z];
            assert!((norm(off) - 1.5).abs() < 1e-12);
        }
        for mesh in [
            Torus { ring_radius: 1.0, tube_radius: 0.3, resolution: RESOLUTION }.build().unwrap(),
            Cube { edge: 1.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap(),
            Plate { width: 1.0, height: 2.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap(),
            // The corners of a cube lie on a sphere, and are too few to mean one.
            Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(12) }.build().unwrap(),
        ] {
            let (component_of, count) = components(&mesh);
            assert_eq!(balls(&mesh, &component_of, count), [None]);
            assert_eq!(on_spheres(&mesh).unwrap(), uniform(&mesh, |_, point| point).unwrap());
        }
    }

    #[test]
    fn far_spheres_are_found_to_rounding() {
        let sphere = Sphere { radius: 1e-3, base: SphereBase::Octahedron, resolution: RESOLUTION };
        let mut mesh = sphere.build().unwrap();
        for vertex in &mut mesh.vertices {
            *vertex = add(*vertex, [5.0, -7.0, 9.0]);
        }
        let (component_of, count) = components(&mesh);
        let ball = balls(&mesh, &component_of, count)[0].unwrap();
        assert!((ball.radius / 1e-3 - 1.0).abs() < 1e-9);
        assert!(norm(sub(ball.centre, [5.0, -7.0, 9.0])) < 1e-12);
    }
}
