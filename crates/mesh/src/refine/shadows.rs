//! Lines on triangles that the edges of near surfaces lie above.
//!
//! Between two faces of which one ends above the other charges are those of plates, and beyond the
//! edge they are few: they change across that line within about the distance of the faces. Cut
//! along it, large triangles can be narrow there across it, and long along it.

use std::collections::HashSet;

use parallel::prelude::*;

use crate::geometry::bvh::{Box3, Bvh};
use crate::geometry::flat::triangle::meeting;
use crate::queries::proximity::Part;
use crate::refine::split::{Cut, Place};
use crate::surface::Mesh;
use crate::topology::creases::Creases;
use crate::vector::{Vector, add, area_normal, cross, dot, longest_side, norm, scale, sub};

/// Edges whose distance from a triangle's plane changes by more than this factor along it are not
/// parallel to it.
const PARALLEL: f64 = 1.5;

/// A corner this much closer to a line than the edge is above it counts as on the line.
const ON_LINE: f64 = 0.3;

/// Edges above less than this share of the line through the triangle are not worth cutting it.
const LONG: f64 = 0.2;

/// Planes closer than this share of a triangle's longest side to an edge hold it.
const IN_PLANE: f64 = 1e-6;

/// Triangles met closer than this share of a way to its ends are where it begins or ends.
const AT_END: f64 = 1e-6;

/// An edge of a surface.
struct Edge {
    ends: [Vector; 2],
    surface: u32,
}

/// The sharp edges of surfaces that nothing is seen through.
pub struct Edges {
    edges: Vec<Edge>,
    of_edges: Bvh,
    /// Corners of the surfaces' triangles.
    triangles: Vec<[Vector; 3]>,
    of_triangles: Bvh,
}

/// An edge above a triangle.
struct Above {
    height: f64,
    /// How far the triangle's corners are from the line below the edge, with their sides of it.
    from_line: [f64; 3],
}

impl Edges {
    /// The edges among `creases` that belong to triangles with a surface.
    pub fn new(mesh: &Mesh, surface: &[Option<u32>], creases: &Creases) -> Self {
        let (mut edges, mut triangles) = (Vec::new(), Vec::new());
        let mut known = HashSet::new();
        for (t, (corners, surface)) in mesh.triangles.iter().zip(surface).enumerate() {
            let Some(surface) = *surface else { continue };
            triangles.push(mesh.corners(t));
            for (p, q) in [0, 1, 2].map(|k| (corners[k], corners[(k + 1) % 3])) {
                if creases.is_sharp(p, q) && known.insert((p.min(q), p.max(q))) {
                    let ends = [p, q].map(|v| mesh.vertices[v as usize]);
                    edges.push(Edge { ends, surface });
                }
            }
        }
        let of_edges: Vec<Box3> = edges.iter().map(|edge| Box3::around(&edge.ends)).collect();
        let of_triangles: Vec<Box3> = triangles.iter().map(|x| Box3::around(x)).collect();
        let [of_edges, of_triangles] = [of_edges, of_triangles].map(|boxes| Bvh::new(&boxes));
        Self { edges, of_edges, triangles, of_triangles }
    }

    /// Cuts of sides of some flat triangles along the line below the nearest edge of another
    /// surface that is parallel to the triangle, above a good part of it and for more than `ratio`
    /// times its height, with corners on both sides of its line that are as far away. Triangles
    /// behind others do not see an edge.
    pub fn cuts(&self, of: Part<'_>, triangles: &[u32], ratio: f64) -> Vec<Cut> {
        let of_triangle = |&t: &u32| {
            let above = self.above(of.mesh.corners(t as usize), of.surface[t as usize]?, ratio)?;
            Some(cuts_along(of.mesh.triangles[t as usize], &above))
        };
        triangles.par_iter().filter_map(of_triangle).flatten_iter().collect()
    }

    /// The nearest edge above a triangle.
    fn above(&self, corners: [Vector; 3], own: u32, ratio: f64) -> Option<Above> {
        let reach = longest_side(corners) / ratio;
        let around = Box3::around(&corners).grown(reach);
        let mut found = Vec::new();
        let enters = |_: &mut _, index: usize| self.of_edges.nodes[index].bounds.overlaps(&around);
        self.of_edges.visit(&mut found, enters, |found: &mut Vec<u32>, members| {
            found.extend(members.iter().filter(|&&e| self.edges[e as usize].surface != own));
        });
        found.sort_unstable();
        let above =
            found.iter().filter_map(|&e| self.edge_above(corners, &self.edges[e as usize], ratio));
        above.reduce(|best, next| if next.height < best.height { next } else { best })
    }

    fn edge_above(&self, corners: [Vector; 3], edge: &Edge, ratio: f64) -> Option<Above> {
        let area = area_normal(corners);
        let normal = scale(1.0 / norm(area), area);
        let heights = edge.ends.map(|x| dot(sub(x, corners[0]), normal));
        let [low, high] =
            [heights[0].abs().min(heights[1].abs()), heights[0].abs().max(heights[1].abs())];
        let is_parallel = heights[0] * heights[1] > 0.0 && high <= PARALLEL * low;
        if !is_parallel || low <= IN_PLANE * longest_side(corners) {
            return None;
        }
        let below: [Vector; 2] =
            std::array::from_fn(|k| sub(edge.ends[k], scale(heights[k], normal)));
        let along = sub(below[1], below[0]);
        let length = norm(along);
        let least = ratio * high;
        if length <= least {
            return None;
        }
        let along = scale(1.0 / length, along);
        let across = cross(normal, along);
        let from_line = corners.map(|x| {
            let off = dot(sub(x, below[0]), across);
            if off.abs() <= ON_LINE * low { 0.0 } else { off }
        });
        let is_cut = from_line.iter().any(|&x| x > least) && from_line.iter().any(|&x| x < -least);
        if !is_cut {
            return None;
        }
        // The part of the line inside the triangle.
        let mut inside = [f64::INFINITY, f64::NEG_INFINITY];
        for k in 0..3 {
            let (a, b) = (from_line[k], from_line[(k + 1) % 3]);
            if a * b <= 0.0 && a != b {
                let x = add(corners[k], scale(a / (a - b), sub(corners[(k + 1) % 3], corners[k])));
                let at = dot(sub(x, below[0]), along);
                inside = [inside[0].min(at), inside[1].max(at)];
            }
        }
        let [start, end] = [inside[0].max(0.0), inside[1].min(length)];
        if end - start <= least.max(LONG * (inside[1] - inside[0])) {
            return None;
        }
        let middle = f64::midpoint(start, end);
        let point = add(below[0], scale(middle, along));
        let up = scale(heights[0] + (heights[1] - heights[0]) * middle / length, normal);
        (!self.is_blocked(point, up)).then_some(Above { height: low, from_line })
    }

    /// Whether a triangle is met strictly between a point and the end of a vector from there.
    fn is_blocked(&self, from: Vector, to: Vector) -> bool {
        let mut blocked = false;
        let enters = |blocked: &mut bool, index: usize| {
            !*blocked && self.of_triangles.nodes[index].bounds.is_met_by(from, to, 1.0)
        };
        self.of_triangles.visit(&mut blocked, enters, |blocked, members| {
            *blocked |= members.iter().any(|&member| {
                meeting(from, to, self.triangles[member as usize])
                    .is_some_and(|(along, _)| along > AT_END && along < 1.0 - AT_END)
            });
        });
        blocked
    }
}

/// The cuts of a triangle's sides where the line below an edge meets them, from their nearer ends:
/// the same for both triangles at a side.
fn cuts_along(corners: [u32; 3], above: &Above) -> Vec<Cut> {
    let cut = |k: usize| {
        let (p, q) = (k, (k + 1) % 3);
        let (p, q) = if corners[p] < corners[q] { (p, q) } else { (q, p) };
        let (a, b) = (above.from_line[p], above.from_line[q]);
        let place = if a.abs() <= b.abs() {
            Place::FromLower(a / (a - b))
        } else {
            Place::FromUpper(b / (b - a))
        };
        (a * b < 0.0).then_some(((corners[p], corners[q]), place))
    };
    (0..3).filter_map(cut).collect()
}
