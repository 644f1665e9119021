//! Sizes and shapes of triangles.

use crate::surface::Mesh;
use crate::vector::{Vector, add, cross, dot, max_norm, norm, scale, sub};
use crate::weld;
use rayon::prelude::*;

/// The least, the middle and the greatest of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The least.
    pub min: f64,
    /// As many values lie below as above.
    pub median: f64,
    /// The greatest.
    pub max: f64,
}

impl Statistics {
    /// Summarises values; all zero when there are none.
    fn of(mut values: Vec<f64>) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let middle = (values.len() - 1) / 2;
        let (below, &mut median, above) =
            values.select_nth_unstable_by(middle, |a, b| a.total_cmp(b));
        let min = below.iter().copied().fold(median, f64::min);
        let max = above.iter().copied().fold(median, f64::max);
        Self { min, median, max }
    }
}

/// Size and shape of a mesh, lengths in its unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quality {
    /// Sum of the triangles' areas.
    pub area: f64,
    /// Lowest and highest coordinates.
    pub bounding_box: [[f64; 3]; 2],
    /// Lengths of the triangles' sides.
    pub edge_length: Statistics,
    /// Areas of the triangles.
    pub triangle_area: Statistics,
    /// Each triangle's smallest angle, in degrees: 60 at best.
    pub min_angle: Statistics,
    /// Longest side over the inscribed circle's diameter, scaled to 1 for the equilateral triangle; infinite for zero area.
    pub aspect_ratio: Statistics,
}

impl Quality {
    /// Measures a valid mesh ([`Mesh::validate`]).
    pub fn of(mesh: &Mesh) -> Self {
        let count = mesh.triangles.len();
        let mut lengths = Vec::with_capacity(3 * count);
        let mut min_angles = Vec::with_capacity(count);
        let mut aspect_ratios = Vec::with_capacity(count);
        let areas = areas(mesh);
        for triangle in 0..count {
            let shape = Shape::of(mesh.corners(triangle));
            lengths.extend(shape.sides);
            min_angles.push(shape.min_angle);
            aspect_ratios.push(shape.aspect_ratio);
        }
        Self {
            area: areas.iter().sum(),
            bounding_box: bounding_box(mesh),
            edge_length: Statistics::of(lengths),
            triangle_area: Statistics::of(areas),
            min_angle: Statistics::of(min_angles),
            aspect_ratio: Statistics::of(aspect_ratios),
        }
    }
}

/// Lowest and highest coordinates; zeros for a mesh without vertices.
pub fn bounding_box(mesh: &Mesh) -> [[f64; 3]; 2] {
    weld::bounds(&mesh.vertices)
}

/// Each triangle's area, in the square of the mesh's unit.
pub fn areas(mesh: &Mesh) -> Vec<f64> {
    let area = |t: usize| 0.5 * norm(area_vector(mesh.corners(t)));
    (0..mesh.triangles.len()).into_par_iter().map(area).collect()
}

/// Each triangle's centroid.
pub fn centroids(mesh: &Mesh) -> Vec<[f64; 3]> {
    (0..mesh.triangles.len())
        .map(|t| {
            let [a, b, c] = mesh.corners(t);
            scale(1.0 / 3.0, add(add(a, b), c))
        })
        .collect()
}

/// Each triangle's unit normal; zero for a triangle without area.
pub fn normals(mesh: &Mesh) -> Vec<[f64; 3]> {
    (0..mesh.triangles.len())
        .map(|t| {
            let normal = area_vector(mesh.corners(t));
            // Scaled first: the square of a tiny area would underflow.
            let size = max_norm(normal);
            if size == 0.0 {
                return [0.0; 3];
            }
            let normal = scale(1.0 / size, normal);
            scale(1.0 / norm(normal), normal)
        })
        .collect()
}

/// Along the normal, twice the area long.
fn area_vector([a, b, c]: [Vector; 3]) -> Vector {
    cross(sub(b, a), sub(c, a))
}

struct Shape {
    sides: [f64; 3],
    min_angle: f64,
    aspect_ratio: f64,
}

impl Shape {
    fn of([a, b, c]: [Vector; 3]) -> Self {
        let edges = [sub(b, a), sub(c, b), sub(a, c)];
        let size = edges.map(max_norm).into_iter().fold(0.0, f64::max);
        if size == 0.0 {
            return Self { sides: [0.0; 3], min_angle: 0.0, aspect_ratio: f64::INFINITY };
        }
        // Unit size, so that neither large nor small units leave the range of squares.
        let unit = edges.map(|edge| scale(1.0 / size, edge));
        let twice_area = norm(cross(unit[0], unit[1]));
        let lengths = unit.map(norm);
        let longest = lengths.into_iter().fold(0.0, f64::max);
        let perimeter: f64 = lengths.iter().sum();
        let angle = |i: usize| twice_area.atan2(-dot(unit[i], unit[(i + 1) % 3]));
        Self {
            sides: lengths.map(|length| length * size),
            min_angle: angle(0).min(angle(1)).min(angle(2)).to_degrees(),
            aspect_ratio: longest * perimeter / (2.0 * 3f64.sqrt() * twice_area),
        }
    }
}

/// A triangle's height over its longest side, relative to that side; 0 for a point.
pub(crate) fn relative_height([a, b, c]: [Vector; 3]) -> f64 {
    let edges = [sub(b, a), sub(c, b), sub(a, c)];
    let size = edges.map(max_norm).into_iter().fold(0.0, f64::max);
    if size == 0.0 {
        return 0.0;
    }
    let unit = edges.map(|edge| scale(1.0 / size, edge));
    let longest_squared = unit.iter().map(|&edge| dot(edge, edge)).fold(0.0, f64::max);
    norm(cross(unit[0], unit[1])) / longest_squared
}
