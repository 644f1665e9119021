//! Where the edges of triangles go through other triangles.
//!
//! Whether they do is decided by exact signs. A place where they do is known by the edge and the
//! triangle, whatever its coordinates, so that all triangles there share it; places along an edge
//! and within a triangle are kept on a grid on which sums are exact.

use crate::surface::Mesh;
use crate::vector::{Vector, add, scale, sub};
use robust::{Coord3D, orient3d};
use std::collections::HashMap;

/// Parameters are multiples of one over this.
const GRID: f64 = (1u64 << 40) as f64;

/// All places, and the edges and triangles they lie on.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub points: Vec<Vector>,
    known: HashMap<([u32; 2], u32), u32>,
    /// By edges, lower vertex first: how far from it along the edge, and which place.
    pub on_edge: HashMap<[u32; 2], Vec<(f64, u32)>>,
    /// By triangles: barycentric coordinates of the second and third corner.
    pub within: HashMap<u32, Vec<([f64; 2], u32)>>,
    /// By triangles: the places that the lines where others go through connect.
    pub lines: HashMap<u32, Vec<[u32; 2]>>,
}

impl Hits {
    /// The places where pairs of triangles go through each other; `None` where a vertex or an edge
    /// lies on what it meets exactly.
    pub fn of(mesh: &Mesh, pairs: &[[u32; 2]]) -> Option<Self> {
        let mut hits = Self::default();
        for &[s, t] in pairs {
            let mut ends = Vec::with_capacity(2);
            for (edges, face) in [(s, t), (t, s)] {
                let [a, b, c] = mesh.triangles[edges as usize];
                for (p, q) in [(a, b), (b, c), (c, a)] {
                    ends.extend(hits.meet(mesh, [p.min(q), p.max(q)], face)?);
                }
            }
            let [from, to] = ends[..] else { return None };
            for triangle in [s, t] {
                hits.lines.entry(triangle).or_default().push([from, to]);
            }
        }
        Some(hits)
    }

    /// Where an edge goes through a triangle: nowhere is `Some(None)`.
    fn meet(&mut self, mesh: &Mesh, edge: [u32; 2], face: u32) -> Option<Option<u32>> {
        if let Some(&known) = self.known.get(&(edge, face)) {
            return Some(Some(known));
        }
        let [p, q] = edge.map(|v| mesh.vertices[v as usize]);
        let [a, b, c] = mesh.corners(face as usize);
        let (above, below) = (volume([a, b, c], p), volume([a, b, c], q));
        if above == 0.0 || below == 0.0 {
            return None;
        }
        if (above > 0.0) == (below > 0.0) {
            return Some(None);
        }
        let around = [volume([p, q, b], c), volume([p, q, c], a), volume([p, q, a], b)];
        let (some_right, some_left) =
            (around.iter().any(|x| *x > 0.0), around.iter().any(|x| *x < 0.0));
        if some_right && some_left {
            return Some(None);
        }
        if around.contains(&0.0) {
            return None;
        }
        let id = self.points.len() as u32;
        let along = rounded(above / (above - below)).clamp(1.0 / GRID, 1.0 - 1.0 / GRID);
        self.points.push(add(p, scale(along, sub(q, p))));
        let sum: f64 = around.iter().sum();
        let most = 1.0 - 2.0 / GRID;
        let second = rounded(around[1] / sum).clamp(1.0 / GRID, most);
        let third = rounded(around[2] / sum).clamp(1.0 / GRID, most.max(1.0 / GRID));
        let third = third.min(1.0 - 1.0 / GRID - second);
        self.on_edge.entry(edge).or_default().push((along, id));
        self.within.entry(face).or_default().push(([second, third], id));
        self.known.insert((edge, face), id);
        Some(Some(id))
    }
}

fn rounded(x: f64) -> f64 {
    (x * GRID).round() / GRID
}

/// Six times the volume of a tetrahedron, with the exact sign.
fn volume([a, b, c]: [Vector; 3], d: Vector) -> f64 {
    let [a, b, c, d] = [a, b, c, d].map(|[x, y, z]| Coord3D { x, y, z });
    orient3d(a, b, c, d)
}
