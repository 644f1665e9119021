//! Sizes and shapes of triangles.

use std::collections::HashMap;

use crate::geometry::curved;
use crate::geometry::weld;
use crate::measure;
use crate::patch::MAX_ORDER;
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, add, area_normal, cross, dot, max_norm, norm, scale, sub};
use parallel::prelude::*;

/// The least, the middle and the greatest of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
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
    /// Longest side over the inscribed circle's diameter, scaled to 1 for the equilateral triangle;
    /// infinite for zero area.
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

/// Triangles that meet at an edge are parts of one curved surface where the cosine of the angle
/// between their normals is at least this (40 degrees).
const SMOOTH: f64 = 0.766;

/// How far the curved surface that a mesh stands for is from the middle of each of these
/// `triangles`, in the mesh's unit, about: a third of the height over each side times the angle to
/// the triangle beyond it. That is exact for triangles of equal sides on a sphere, and 8/3 of it
/// for strips on a cylinder. Sides at which a surface ends, or has an edge, count as flat.
///
/// Curved triangles that go through points of one smooth surface meet at an angle that tells how
/// far they are from it between these: a share of the side's length times the angle, which on a
/// sphere hardly depends on the triangles' size and shape.
pub fn sagittas(mesh: &Mesh, triangles: &[u32]) -> Vec<f64> {
    let side = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
    let sides = |t: u32| {
        let [a, b, c] = mesh.triangles[t as usize];
        [[a, b], [b, c], [c, a]].map(side)
    };
    let mut at: HashMap<[u32; 2], Vec<usize>> = HashMap::new();
    for (index, &t) in triangles.iter().enumerate() {
        sides(t).into_iter().for_each(|side| at.entry(side).or_default().push(index));
    }
    let doubled = |t: u32| area_normal(mesh.corners(t as usize));
    let sagitta = |index: usize, side: [u32; 2], other: u32| {
        if let Some(patches) = &mesh.patches {
            let kink = kink(mesh, patches, [triangles[index], other], side);
            let length =
                norm(sub(mesh.vertices[side[1] as usize], mesh.vertices[side[0] as usize]));
            let is_smooth = triangles[index] != other && kink.cos() >= SMOOTH;
            return is_smooth.then(|| (index, OF_KINKS[patches.order] * length * kink));
        }
        let (own, beyond) = (doubled(triangles[index]), doubled(other));
        let cosine = (dot(own, beyond) / (norm(own) * norm(beyond))).abs();
        let [p, q] = side.map(|v| mesh.vertices[v as usize]);
        let height = norm(own) / norm(sub(q, p));
        let is_smooth = triangles[index] != other && cosine >= SMOOTH;
        is_smooth.then(|| (index, height * cosine.min(1.0).acos() / 3.0))
    };
    let found = |t: usize| -> Vec<(usize, f64)> {
        let t = t as u32;
        let shared = sides(t).into_iter().filter_map(|side| Some((side, at.get(&side)?)));
        shared
            .flat_map(|(side, all)| all.iter().filter_map(move |&i| sagitta(i, side, t)))
            .collect()
    };
    let all: Vec<(usize, f64)> =
        (0..mesh.triangles.len()).into_par_iter().flat_map_iter(found).collect();
    let mut largest = vec![0.0; triangles.len()];
    all.into_iter().for_each(|(index, size)| largest[index] = f64::max(largest[index], size));
    largest
}

/// Largest deviation from a sphere over the length of sides and the angle there, by order
/// (measured: 0.048 to 0.068, 0.049 to 0.058 and 0.021 to 0.024).
const OF_KINKS: [f64; MAX_ORDER + 1] = [0.0, 0.0, 0.06, 0.055, 0.023];

/// The largest angle between the normals of two curved triangles along their common side, which
/// either may run through in any sense.
fn kink(mesh: &Mesh, patches: &Patches, pair: [u32; 2], side: [u32; 2]) -> f64 {
    let normal = |t: u32, x: f64| {
        let corners = mesh.triangles[t as usize];
        let share = |v: u32| if v == side[0] { 1.0 - x } else { x };
        let at = corners.map(|v| if side.contains(&v) { share(v) } else { 0.0 });
        curved::area_normal(patches.order, patches.of(t as usize), at)
    };
    let angle = |x: f64| {
        let [m, n] = pair.map(|t| normal(t, x));
        let sine = norm(cross(m, n));
        sine.atan2(dot(m, n).abs())
    };
    [0.25, 0.5, 0.75].into_iter().map(angle).fold(0.0, f64::max)
}

/// Lowest and highest coordinates; zeros for a mesh without vertices.
pub fn bounding_box(mesh: &Mesh) -> [[f64; 3]; 2] {
    weld::bounds(mesh.patches.as_ref().map_or(&mesh.vertices, |patches| &patches.nodes))
}

/// Each triangle's area, in the square of the mesh's unit; that of its patch if it is curved.
pub fn areas(mesh: &Mesh) -> Vec<f64> {
    let area = |t: usize| match &mesh.patches {
        Some(patches) => measure::area(patches, t),
        None => 0.5 * norm(area_normal(mesh.corners(t))),
    };
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
            let normal = area_normal(mesh.corners(t));
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
pub fn relative_height([a, b, c]: [Vector; 3]) -> f64 {
    let edges = [sub(b, a), sub(c, b), sub(a, c)];
    let size = edges.map(max_norm).into_iter().fold(0.0, f64::max);
    if size == 0.0 {
        return 0.0;
    }
    let unit = edges.map(|edge| scale(1.0 / size, edge));
    let longest_squared = unit.iter().map(|&edge| dot(edge, edge)).fold(0.0, f64::max);
    norm(cross(unit[0], unit[1])) / longest_squared
}
