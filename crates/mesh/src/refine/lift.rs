//! Curved triangles from flat ones: sides become arcs, by normals at the vertices.
//!
//! A mesh with its vertices on a smooth surface says more of it than its facets: triangles around a
//! vertex tell the normal there. Each side becomes a cubic through its ends that is perpendicular
//! to the normals at both (as in Nagata, Comput. Aided Geom. Des. 22 (2005) 327), whose middle is
//! the node of a patch of order 2. Where the vertices are on a sphere or along a circle, normals,
//! tangents and middles are exact.
//!
//! Edges that are sharp stay so: triangles on their two sides have normals of their own, and a
//! sharp edge is curved only along itself, where it goes on smoothly at its end.

use std::collections::HashMap;

use parallel::prelude::*;

use crate::geometry::curved;
use crate::geometry::quality;
use crate::surface::{Mesh, Patches};
use crate::topology::creases::{self, Creases};
use crate::topology::disjoint::DisjointSets;
use crate::topology::{Side, Sides};
use crate::vector::{Vector, add, cross, dot, longest_side, norm, scale, sub};

/// Middles this near to that of the straight side, relative to its length, are rounding.
const STRAIGHT: f64 = 1e-9;

/// Least cosine of the angle between a side and the curve at its end: steeper normals are not those
/// of a surface that the triangles resolve.
const STEEPEST: f64 = 0.5;

/// Most that a side is bent, relative to the least height of a triangle at it: where triangles are
/// thinner, their halves would lie across the surface.
const MOST_BENT: f64 = 0.5;

/// Least stretch of a curved triangle, for the same reason.
const LEAST_STRETCH: f64 = 0.2;

/// Normals may be this far from length 1: files have them to three digits.
#[doc(hidden)]
pub const UNIT: f64 = 0.01;

/// By so much normals of three digits miss the sides at most.
#[doc(hidden)]
pub const DIGITS: f64 = 1e-3;

/// Least cosine of the angle between a vertex's normal and those of the triangles there, facing
/// the same way or the opposite: facets of a surface that they resolve are far closer.
const ASTRAY: f64 = 0.5;

/// The mesh with curved triangles of order 2. Edges at which triangles differ by more than
/// `angle_degrees` stay sharp, and so do rims; a mesh that is curved already stays as it is.
///
/// Triangles that would fold keep straight sides, and so do those that are thinner than their sides
/// bend.
#[must_use]
pub fn smooth(mesh: &Mesh, angle_degrees: f64) -> Mesh {
    if mesh.patches.is_some() {
        return mesh.clone();
    }
    Lift::new(mesh, angle_degrees).lifted()
}

/// As [`smooth`], by normals that are known, one for each vertex: from the program that made the
/// mesh, say. At vertices on sharp edges, where there is no one normal, they do not count.
///
/// Also the number of other vertices whose normal is not taken, but that of the triangles there: it
/// is not of length 1, or 60 degrees or more from the normal of a triangle there. None is taken
/// if they fit the sides less well than those of the triangles: they are of some other surface.
/// Which side of the surface normals point to makes no difference.
pub fn smooth_by(mesh: &Mesh, angle_degrees: f64, normals: &[Vector]) -> (Mesh, usize) {
    if mesh.patches.is_some() {
        return (mesh.clone(), 0);
    }
    let mut lift = Lift::new(mesh, angle_degrees);
    let unfit = lift.set_normals(normals);
    (lift.lifted(), unfit)
}

/// The curved triangles that fold, or that are too thin for their sides: parts of them might fold.
#[doc(hidden)]
pub fn too_bent(mesh: &Mesh) -> Vec<usize> {
    let Some(patches) = &mesh.patches else { return Vec::new() };
    let is_too_bent = |t: &usize| {
        let (order, nodes) = (patches.order, patches.of(*t));
        let corners = mesh.corners(*t);
        let height = quality::relative_height(corners) * longest_side(corners);
        let bend = (0..3).map(|side| curved::bend(order, nodes, side)).fold(0.0, f64::max);
        bend > MOST_BENT * height || curved::least_stretch(order, nodes) < LEAST_STRETCH
    };
    (0..mesh.triangles.len()).into_par_iter().filter(is_too_bent).collect()
}

/// The sides of a triangle, each with its lower vertex first.
fn sides_of(mesh: &Mesh, triangle: usize) -> [[u32; 2]; 3] {
    let [a, b, c] = mesh.triangles[triangle];
    [[a, b], [b, c], [c, a]].map(|[p, q]| [p.min(q), p.max(q)])
}

fn patches(mesh: &Mesh, middles: &HashMap<(u32, u32), Vector>) -> Patches {
    let mut patches = Patches::straight(mesh, 2);
    for t in 0..mesh.triangles.len() {
        for (node, [p, q]) in patches.of_mut(t)[3..].iter_mut().zip(sides_of(mesh, t)) {
            if let Some(middle) = middles.get(&(p, q)) {
                *node = *middle;
            }
        }
    }
    patches
}

/// What sides are curved by.
struct Lift<'a> {
    mesh: &'a Mesh,
    creases: Creases,
    /// For each corner of each triangle the normal there; zero where there is none.
    at_corners: Vec<[Vector; 3]>,
    /// For each vertex at which a sharp edge goes on smoothly the tangent of length 1; zero at
    /// others.
    along: Vec<Vector>,
}

impl<'a> Lift<'a> {
    fn new(mesh: &'a Mesh, angle_degrees: f64) -> Self {
        let creases = creases::find(mesh, |_| Some(0), angle_degrees);
        let cosine = (angle_degrees + creases::EQUAL).to_radians().cos();
        let at_corners = fan_normals(mesh, &creases);
        let along = tangents(mesh, &creases, cosine);
        Self { mesh, creases, at_corners, along }
    }

    /// Takes the normals given at vertices that are on no sharp edge. The number of those that do
    /// not fit, and so are not taken.
    fn set_normals(&mut self, normals: &[Vector]) -> usize {
        let is_unit = |v: usize| normals.get(v).is_some_and(|&n| (norm(n) - 1.0).abs() <= UNIT);
        let is_inner = |v: usize| !self.creases.is_on(v as u32);
        let vertices = 0..self.mesh.vertices.len();
        let mut fits: Vec<bool> = vertices.clone().map(is_unit).collect();
        for (corners, facet) in self.mesh.triangles.iter().zip(quality::normals(self.mesh)) {
            for v in corners.map(|v| v as usize) {
                let is_astray = |n: Vector| dot(n, facet).abs() < ASTRAY * norm(n);
                fits[v] = fits[v] && (facet == [0.0; 3] || !is_astray(normals[v]));
            }
        }
        let mut given = self.at_corners.clone();
        for (corners, at) in self.mesh.triangles.iter().zip(&mut given) {
            for (v, normal) in corners.map(|v| v as usize).into_iter().zip(at) {
                if fits[v] && is_inner(v) {
                    let own = normals[v];
                    *normal = scale(dot(own, *normal).signum() / norm(own), own);
                }
            }
        }
        let unfit = vertices.clone().filter(|&v| is_inner(v) && !fits[v]).count();
        if self.misfit(&given) > self.misfit(&self.at_corners).max(DIGITS) {
            return vertices.filter(|&v| is_inner(v)).count();
        }
        self.at_corners = given;
        unfit
    }

    /// How badly normals at corners fit the sides: on arcs of circles those at both ends have
    /// opposite cosines with the side. The root mean square of what these miss.
    fn misfit(&self, at_corners: &[[Vector; 3]]) -> f64 {
        let sides = Sides::of(self.mesh);
        let inner = sides
            .edges()
            .filter(|edge| ![edge[0].low, edge[0].high].iter().any(|&v| self.creases.is_on(v)));
        let miss = |edge: &[Side]| {
            let Side { low, high, triangle, .. } = edge[0];
            let corners = self.mesh.triangles[triangle as usize];
            let ends = corners.iter().zip(&at_corners[triangle as usize]);
            let at_ends = ends.filter(|(v, _)| [low, high].contains(*v));
            let sum = at_ends.fold([0.0; 3], |sum, (_, &normal)| add(sum, normal));
            let [a, b] = [low, high].map(|v| self.mesh.vertices[v as usize]);
            let (side, length) = (sub(b, a), norm(sub(b, a)));
            if length > 0.0 { (dot(sum, side) / length).powi(2) } else { 0.0 }
        };
        let (sum, count) =
            inner.map(miss).fold((0.0, 0usize), |(sum, count), miss| (sum + miss, count + 1));
        (sum / count.max(1) as f64).sqrt()
    }

    /// The mesh with its sides curved, but for those of triangles that would fold.
    fn lifted(&self) -> Mesh {
        let sides = Sides::of(self.mesh);
        let edges: Vec<&[Side]> = sides.edges().collect();
        let key = |edge: &[Side]| (edge[0].low, edge[0].high);
        let middle = |edge: &&[Side]| (key(edge), self.middle(edge));
        let mut middles: HashMap<(u32, u32), Vector> = edges.par_iter().map(middle).collect();
        loop {
            let patches = Some(patches(self.mesh, &middles));
            let lifted = Mesh { patches, ..self.mesh.clone() };
            let bent = too_bent(&lifted);
            if bent.is_empty() {
                return lifted;
            }
            for [p, q] in bent.into_iter().flat_map(|t| sides_of(self.mesh, t)) {
                middles.insert((p, q), self.straight(p, q));
            }
        }
    }

    fn straight(&self, p: u32, q: u32) -> Vector {
        let ends = [p, q].map(|v| self.mesh.vertices[v as usize]);
        curved::point(1, &[ends[0], ends[1], ends[1]], [0.5, 0.5, 0.0])
    }

    /// The middle of an edge.
    fn middle(&self, edge: &[Side]) -> Vector {
        let Side { low, high, triangle, .. } = edge[0];
        let straight = self.straight(low, high);
        let [a, b] = [low, high].map(|v| self.mesh.vertices[v as usize]);
        let side = sub(b, a);
        let length = norm(side);
        if length == 0.0 {
            return straight;
        }
        let way = scale(1.0 / length, side);
        let rise = if self.creases.is_sharp(low, high) {
            let tangent = |v: u32| {
                let along = self.along[v as usize];
                let along = if dot(along, way) < 0.0 { scale(-1.0, along) } else { along };
                (dot(along, way) >= STEEPEST).then_some(along)
            };
            // As long as makes the cubic's middle that of the arc where both ends are of a circle.
            let sized = |t: Vector| scale(2.0 * length / (1.0 + dot(t, way)), t);
            let mirrored = |t: Vector| sub(scale(2.0 * dot(t, way), way), t);
            let ends = both(tangent(low), tangent(high), mirrored);
            ends.map(|[s, t]| scale(0.125, sub(sized(s), sized(t))))
        } else {
            let normal = |v: u32| {
                let corners = self.mesh.triangles[triangle as usize];
                let normal =
                    self.at_corners[triangle as usize][corners.iter().position(|&c| c == v)?];
                let sine = dot(normal, way);
                (normal != [0.0; 3] && sine * sine <= 1.0 - STEEPEST * STEEPEST).then_some(normal)
            };
            let mirrored = |n: Vector| sub(n, scale(2.0 * dot(n, way), way));
            let ends = both(normal(low), normal(high), mirrored);
            ends.map(|[m, n]| {
                // A cubic with the side's projections as tangents, drawn out to where its middle is
                // that of the arc for normals of a sphere or of a cylinder.
                let cosine = (0.5 * norm(add(m, n))).max(STEEPEST);
                let rise = sub(scale(dot(side, n), n), scale(dot(side, m), m));
                scale(0.25 / (cosine * (1.0 + cosine)), rise)
            })
        };
        match rise {
            Some(rise) if norm(rise) > STRAIGHT * length => add(straight, rise),
            _ => straight,
        }
    }
}

/// Normals at both ends of a side. Where only one end has one, the side is an arc of the
/// circle that this one gives.
fn both(
    low: Option<Vector>,
    high: Option<Vector>,
    mirrored: impl Fn(Vector) -> Vector,
) -> Option<[Vector; 2]> {
    match (low, high) {
        (Some(low), Some(high)) => Some([low, high]),
        (Some(low), None) => Some([low, mirrored(low)]),
        (None, Some(high)) => Some([mirrored(high), high]),
        (None, None) => None,
    }
}

/// For each corner the normal of the triangles around its vertex that no sharp edge separates from
/// its own, each weighted by the cross product of its two sides there over their squares (N. Max,
/// J. Graphics Tools 4 (1999) 1): exact on spheres.
fn fan_normals(mesh: &Mesh, creases: &Creases) -> Vec<[Vector; 3]> {
    let count = mesh.triangles.len();
    let mut fans = DisjointSets::new(3 * count);
    let sides = Sides::of(mesh);
    let is_smooth = |side: &Side| !creases.is_sharp(side.low, side.high);
    let signs = signs(&sides.neighbours(count, is_smooth));
    for edge in sides.edges() {
        let [one, other] = edge else { continue };
        if !is_smooth(one) {
            continue;
        }
        for v in [one.low, one.high] {
            let corner = |t: u32| {
                let k = mesh.triangles[t as usize].iter().position(|&corner| corner == v);
                3 * t + k.unwrap_or_default() as u32
            };
            fans.join(corner(one.triangle), corner(other.triangle));
        }
    }
    let mut sums = vec![[0.0; 3]; 3 * count];
    for (t, sign) in signs.iter().enumerate() {
        let corners = mesh.corners(t);
        for k in 0..3 {
            let [e, f] = [1, 2].map(|m| sub(corners[(k + m) % 3], corners[k]));
            let weight = dot(e, e) * dot(f, f);
            if weight > 0.0 {
                let sum = &mut sums[fans.root((3 * t + k) as u32) as usize];
                *sum = add(*sum, scale(sign / weight, cross(e, f)));
            }
        }
    }
    let mut unit = |corner: usize| {
        let sum = sums[fans.root(corner as u32) as usize];
        let length = norm(sum);
        if length > 0.0 { scale(1.0 / length, sum) } else { [0.0; 3] }
    };
    (0..count).map(|t| [0, 1, 2].map(|k| unit(3 * t + k))).collect()
}

/// For each triangle 1 or -1, so that neighbours face one side.
fn signs(neighbours: &[Vec<(u32, bool)>]) -> Vec<f64> {
    let mut signs = vec![0.0; neighbours.len()];
    for first in 0..neighbours.len() {
        if signs[first] != 0.0 {
            continue;
        }
        signs[first] = 1.0;
        let mut waiting = vec![first];
        while let Some(t) = waiting.pop() {
            for &(other, is_turned) in &neighbours[t] {
                let other = other as usize;
                if signs[other] == 0.0 {
                    signs[other] = if is_turned { -signs[t] } else { signs[t] };
                    waiting.push(other);
                }
            }
        }
    }
    signs
}

/// The tangents at vertices where two sharp edges meet at less than the angle whose cosine is
/// given: of the circle through the three ends. Zero at others.
fn tangents(mesh: &Mesh, creases: &Creases, cosine: f64) -> Vec<Vector> {
    let mut ends: Vec<Vec<u32>> = vec![Vec::new(); mesh.vertices.len()];
    for &(p, q) in creases.edges() {
        ends[p as usize].push(q);
        ends[q as usize].push(p);
    }
    let at = |v: u32| mesh.vertices[v as usize];
    let tangent = |(v, ends): (usize, &Vec<u32>)| {
        let &[before, after] = ends.as_slice() else { return [0.0; 3] };
        let (came, goes) = (sub(at(v as u32), at(before)), sub(at(after), at(v as u32)));
        let squares = [dot(came, came), dot(goes, goes)];
        if dot(came, goes) < cosine * (squares[0] * squares[1]).sqrt() || squares.contains(&0.0) {
            return [0.0; 3];
        }
        let sum = add(scale(1.0 / squares[0], came), scale(1.0 / squares[1], goes));
        let length = norm(sum);
        if length > 0.0 { scale(1.0 / length, sum) } else { [0.0; 3] }
    };
    ends.iter().enumerate().map(tangent).collect()
}
