//! Geometry of curved triangles ([`crate::patch`]): points, normals, parts, other orders.
//!
//! What two triangles share has to stay the same for both, bit by bit. So whatever lies on a side
//! is computed from the nodes of that side alone, from the end with the lower coordinates to the
//! other: triangles that run through it in opposite ways find the same.

pub(crate) mod bezier;
pub(crate) mod crossing;
pub(crate) mod probe;
pub(crate) mod sheet;

use std::sync::OnceLock;

use crate::patch::{self, MAX_ORDER, node_count};
use crate::surface::{Mesh, Patches};
use crate::topology::{Side, Sides};
use crate::vector::{self, Vector, add, cross, dot, max_norm, norm, scale, sub};

/// Barycentric coordinates of a triangle.
pub type Barycentric = [f64; 3];

/// At the corners.
pub const CORNERS: [Barycentric; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Nodes that are off their flat triangle by less than this share of its size are on it.
const STRAIGHT: f64 = 1e-12;

/// Nodes on a side that are this near, relative to its length, are one.
const SHARED: f64 = 1e-6;

/// The nodes of a patch in order, as [`patch::node_places`] has them.
pub(crate) fn places(order: usize) -> &'static [[usize; 3]] {
    static PLACES: OnceLock<Vec<Vec<[usize; 3]>>> = OnceLock::new();
    &PLACES.get_or_init(|| (0..=MAX_ORDER).map(patch::node_places).collect())[order]
}

/// P_i(t) = t (t - 1) ... (t - i + 1) / i!.
fn factor(i: usize, t: f64) -> f64 {
    (0..i).fold(1.0, |value, s| value * (t - s as f64) / (s + 1) as f64)
}

/// The sum of the nodes with their polynomials; what all nodes share is kept exactly.
fn combined(nodes: &[Vector], weights: impl Iterator<Item = f64>) -> Vector {
    let first = nodes[0];
    nodes.iter().zip(weights).fold(first, |sum, (&node, weight)| {
        std::array::from_fn(|i| sum[i] + weight * (node[i] - first[i]))
    })
}

/// The indices of the nodes on side `side`, from its first corner to its second.
#[doc(hidden)]
pub fn side_nodes(order: usize, side: usize) -> impl Iterator<Item = usize> {
    let between = 3 + side * (order - 1);
    std::iter::once(side).chain(between..between + order - 1).chain([(side + 1) % 3])
}

/// The nodes of a side from its lower end, and whether that is its second corner.
pub(crate) fn from_lower(
    order: usize,
    nodes: &[Vector],
    side: usize,
) -> ([Vector; MAX_ORDER + 1], bool) {
    let mut along = [[0.0; 3]; MAX_ORDER + 1];
    for (to, node) in along.iter_mut().zip(side_nodes(order, side)) {
        *to = nodes[node];
    }
    let is_turned = along[order] < along[0];
    if is_turned {
        along[..=order].reverse();
    }
    (along, is_turned)
}

/// The side that a point lies on, which is not a corner.
fn side_of(at: Barycentric) -> Option<usize> {
    (0..3).find(|&side| at[(side + 2) % 3] == 0.0)
}

/// The point of a patch at barycentric coordinates; on a side it is that of all triangles there.
pub fn point(order: usize, nodes: &[Vector], at: Barycentric) -> Vector {
    if let Some(corner) = (0..3).find(|&corner| at == CORNERS[corner]) {
        return nodes[corner];
    }
    let p = order as f64;
    if let Some(side) = side_of(at) {
        let (along, is_turned) = from_lower(order, nodes, side);
        let (low, high) = (at[side], at[(side + 1) % 3]);
        let (low, high) = if is_turned { (high, low) } else { (low, high) };
        let weight = |i: usize| factor(order - i, p * low) * factor(i, p * high);
        return combined(&along[..=order], (0..=order).map(weight));
    }
    let weight = |place: &[usize; 3]| (0..3).map(|m| factor(place[m], p * at[m])).product();
    combined(nodes, places(order).iter().map(weight))
}

/// Derivatives of the point by the second and the third barycentric coordinate, where the first is
/// one minus these.
pub fn tangents(order: usize, nodes: &[Vector], at: Barycentric) -> [Vector; 2] {
    tangents_by(nodes, &patch::shapes(order, at))
}

/// [`tangents`] where the nodes' polynomials are these.
fn tangents_by(nodes: &[Vector], shapes: &[[f64; 3]]) -> [Vector; 2] {
    [1, 2].map(|k| {
        nodes
            .iter()
            .zip(shapes)
            .fold([0.0; 3], |sum, (&node, shape)| add(sum, scale(shape[k], sub(node, nodes[0]))))
    })
}

/// The normal at barycentric coordinates, as long as twice the area that a unit of the triangle of
/// these coordinates is stretched to.
pub fn area_normal(order: usize, nodes: &[Vector], at: Barycentric) -> Vector {
    let [u, v] = tangents(order, nodes, at);
    cross(u, v)
}

/// The nodes, of order `to`, of the part of a patch with these corners: exact if `to` is not less
/// than its order.
///
/// Parts of one patch, or of patches that share a side, share the nodes on the sides they share.
pub fn part(order: usize, nodes: &[Vector], corners: [Barycentric; 3], to: usize) -> Vec<Vector> {
    let mut part = Vec::with_capacity(node_count(to));
    part.extend(corners.map(|corner| point(order, nodes, corner)));
    for side in 0..3 {
        let (p, q) = (corners[side], corners[(side + 1) % 3]);
        // A whole side has its own nodes, not those that rounding makes of them.
        if let Some(whole) = (order == to).then(|| whole_side(order, p, q)).flatten() {
            part.extend(whole.map(|node| nodes[node]));
            continue;
        }
        let is_turned = is_turned(order, nodes, p, q);
        let (low, high) = if is_turned { (q, p) } else { (p, q) };
        let between = |s: usize| {
            let (from_low, s) = (to - s, s as f64);
            let at = |m: usize| (from_low as f64 * low[m] + s * high[m]) / to as f64;
            point(order, nodes, std::array::from_fn(at))
        };
        let first = part.len();
        part.extend((1..to).map(between));
        if is_turned {
            part[first..].reverse();
        }
    }
    for place in &places(to)[3 * to..] {
        let at =
            |m: usize| (0..3).map(|k| place[k] as f64 * corners[k][m]).sum::<f64>() / to as f64;
        part.push(point(order, nodes, std::array::from_fn(at)));
    }
    part
}

/// The nodes of a triangle that is the part with these corners of a patch of the same order, with
/// its own corners at `vertices`.
pub(crate) fn triangle_of(
    order: usize,
    nodes: &[Vector],
    corners: [Barycentric; 3],
    vertices: [Vector; 3],
) -> Vec<Vector> {
    let is_whole = corners == CORNERS;
    let mut own = if is_whole { nodes.to_vec() } else { part(order, nodes, corners, order) };
    own[..3].copy_from_slice(&vertices);
    own
}

/// The nodes between p and q where they are corners.
fn whole_side(order: usize, p: Barycentric, q: Barycentric) -> Option<impl Iterator<Item = usize>> {
    let corner = |at: Barycentric| CORNERS.iter().position(|&corner| corner == at);
    let (from, to) = (corner(p)?, corner(q)?);
    let (side, is_turned) = if (from + 1) % 3 == to { (from, false) } else { (to, true) };
    let first = 3 + side * (order - 1);
    let node = move |s: usize| first + if is_turned { order - 1 - s } else { s - 1 };
    (from != to).then(|| (1..order).map(node))
}

/// Whether what runs from p to q is computed from q on.
fn is_turned(order: usize, nodes: &[Vector], p: Barycentric, q: Barycentric) -> bool {
    for side in 0..3 {
        let across = (side + 2) % 3;
        if p[across] == 0.0 && q[across] == 0.0 {
            let (_, is_turned) = from_lower(order, nodes, side);
            return (p[side] < q[side]) != is_turned;
        }
    }
    p < q
}

/// The nodes of a flat triangle.
pub fn straight(order: usize, corners: [Vector; 3]) -> Vec<Vector> {
    part(1, &corners, CORNERS, order)
}

/// The nodes of the triangle turned over: with its second and third corner exchanged.
pub fn reverse(order: usize, nodes: &mut [Vector]) {
    let old = nodes.to_vec();
    let places = places(order);
    for (node, &[i, j, k]) in nodes.iter_mut().zip(places) {
        if let Some(from) = places.iter().position(|&place| place == [i, k, j]) {
            *node = old[from];
        }
    }
}

/// Whether the nodes are those of the flat triangle with the same corners, but for rounding.
pub fn is_straight(order: usize, nodes: &[Vector]) -> bool {
    let corners = [nodes[0], nodes[1], nodes[2]];
    let size = vector::longest_side(corners);
    let rounding = f64::EPSILON * nodes.iter().map(|&node| max_norm(node)).fold(0.0, f64::max);
    let flat = straight(order, corners);
    let off = |(x, y): (&Vector, &Vector)| max_norm(sub(*x, *y));
    nodes.iter().zip(&flat).map(off).all(|off| off <= (STRAIGHT * size).max(4.0 * rounding))
}

/// Barycentric coordinates of a grid of `steps` intervals along each side.
#[doc(hidden)]
pub fn grid(steps: usize) -> impl Iterator<Item = Barycentric> {
    let row = move |i: usize| (0..=steps - i).map(move |j| [steps - i - j, i, j]);
    (0..=steps).flat_map(row).map(move |place| place.map(|i| i as f64 / steps as f64))
}

/// A point at which patches are examined for folds, with [`patch::shapes`] there.
struct Place {
    at: Barycentric,
    shapes: Vec<[f64; 3]>,
}

impl Place {
    /// A grid that is twice as fine as the normal's polynomial, corners and sides included.
    fn all(order: usize) -> &'static [Self] {
        static PLACES: OnceLock<Vec<Vec<Place>>> = OnceLock::new();
        let of = |order: usize| {
            let places =
                grid(4 * (order - 1)).map(|at| Self { at, shapes: patch::shapes(order, at) });
            places.collect()
        };
        // None of order 0.
        &PLACES.get_or_init(|| (1..=MAX_ORDER).map(of).collect())[order - 1]
    }

    fn area_normal(&self, nodes: &[Vector]) -> Vector {
        let [u, v] = tangents_by(nodes, &self.shapes);
        cross(u, v)
    }
}

/// Where a patch folds: its normal vanishes, or is at more than a right angle with that of the flat
/// triangle.
///
/// Looked for at a grid of points.
pub fn fold(order: usize, nodes: &[Vector]) -> Option<Vector> {
    /// A normal this short, relative to that of the flat triangle, counts as none.
    const VANISHES: f64 = 1e-6;
    let chord = vector::area_normal([nodes[0], nodes[1], nodes[2]]);
    let size = max_norm(chord);
    // A flat triangle without area is a fault of its own.
    if size == 0.0 || order < 2 {
        return None;
    }
    // Squares of areas overflow where coordinates are large.
    let unit = chord.map(|x| x / size);
    let least = VANISHES * dot(chord, unit);
    let folds = |place: &&Place| dot(place.area_normal(nodes), unit) <= least;
    Place::all(order).iter().find(folds).map(|place| point(order, nodes, place.at))
}

/// The least share of the flat triangle's area that a patch is stretched to along the flat normal,
/// at the points of [`fold`]; 1 of flat triangles, nothing or less where it folds.
pub fn least_stretch(order: usize, nodes: &[Vector]) -> f64 {
    let chord = vector::area_normal([nodes[0], nodes[1], nodes[2]]);
    let size = max_norm(chord);
    if size == 0.0 || order < 2 {
        return 1.0;
    }
    let unit = chord.map(|x| x / size);
    let whole = dot(chord, unit);
    let share = |place: &Place| dot(place.area_normal(nodes), unit) / whole;
    Place::all(order).iter().map(share).fold(f64::INFINITY, f64::min)
}

/// How far the nodes of a side are from the straight line between its ends, each from its place
/// there.
pub fn bend(order: usize, nodes: &[Vector], side: usize) -> f64 {
    let (a, b) = (nodes[side], nodes[(side + 1) % 3]);
    let along = |(k, node): (usize, usize)| {
        let straight = add(a, scale(k as f64 / order as f64, sub(b, a)));
        norm(sub(nodes[node], straight))
    };
    side_nodes(order, side).enumerate().map(along).fold(0.0, f64::max)
}

/// The four parts of a triangle that is cut at the middles of its sides, as [`crate::refine`] has
/// them.
#[doc(hidden)]
pub const QUARTERS: [[Barycentric; 3]; 4] = {
    let [a, b, c] = CORNERS;
    let (ab, bc, ca) = ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]);
    [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
};

/// A triangle that folds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fold {
    /// Its index.
    pub triangle: u32,
    /// Where.
    pub place: Vector,
}

/// The curved triangles of a valid mesh ([`Mesh::validate`]) that fold ([`fold`]).
#[must_use]
pub fn folds(mesh: &Mesh) -> Vec<Fold> {
    use parallel::prelude::*;
    let Some(patches) = &mesh.patches else { return Vec::new() };
    let found = |t: usize| {
        fold(patches.order, patches.of(t)).map(|place| Fold { triangle: t as u32, place })
    };
    (0..mesh.triangles.len()).into_par_iter().filter_map(found).collect()
}

/// Gives triangles that share a side the same nodes there where they are so but for rounding, and
/// corners where the vertices are. How many sides are torn: their triangles have different ones.
pub(crate) fn share_sides(mesh: &Mesh, patches: &mut Patches) -> usize {
    patches.put_corners(mesh);
    let order = patches.order;
    let mut torn = 0;
    for edge in Sides::of(mesh).edges().filter(|edge| edge.len() > 1) {
        let ends = [edge[0].low, edge[0].high].map(|v| mesh.vertices[v as usize]);
        let reach = SHARED * norm(sub(ends[1], ends[0]));
        let mut is_torn = false;
        let own = nodes_along(mesh, order, &edge[0]);
        for other in &edge[1..] {
            for (&from, to) in own.iter().zip(nodes_along(mesh, order, other)) {
                // Two arcs may have the same ends.
                if max_norm(sub(patches.nodes[from], patches.nodes[to])) <= reach {
                    patches.nodes[to] = patches.nodes[from];
                } else {
                    is_torn = true;
                }
            }
        }
        torn += usize::from(is_torn);
    }
    torn
}

/// Where the nodes of all triangles have those of a side, from its lower vertex to its higher one.
pub(crate) fn nodes_along(mesh: &Mesh, order: usize, side: &Side) -> Vec<usize> {
    let start = if side.forward { side.low } else { side.high };
    let corners = mesh.triangles[side.triangle as usize];
    let first = node_count(order) * side.triangle as usize;
    let Some(k) = (0..3).find(|&k| corners[k] == start) else { return Vec::new() };
    let mut along: Vec<usize> = side_nodes(order, k).map(|node| first + node).collect();
    if !side.forward {
        along.reverse();
    }
    along
}

impl Patches {
    /// No patches, of an order.
    pub fn new(order: usize) -> Self {
        Self { order, nodes: Vec::new() }
    }

    /// The flat triangles of a mesh as patches of an order.
    pub fn straight(mesh: &Mesh, order: usize) -> Self {
        let nodes = (0..mesh.triangles.len()).flat_map(|t| straight(order, mesh.corners(t)));
        Self { order, nodes: nodes.collect() }
    }

    /// This surface with a higher order.
    #[must_use]
    pub fn elevated(&self, order: usize) -> Self {
        let triangles = self.nodes.chunks_exact(node_count(self.order));
        let nodes = triangles.flat_map(|nodes| part(self.order, nodes, CORNERS, order));
        Self { order, nodes: nodes.collect() }
    }

    /// The nodes of a triangle, to be changed.
    pub fn of_mut(&mut self, triangle: usize) -> &mut [Vector] {
        let count = node_count(self.order);
        &mut self.nodes[count * triangle..count * (triangle + 1)]
    }

    /// Adds a triangle, the part with these corners of a patch of the same order. Its own corners
    /// are at `vertices`.
    pub fn push_part(
        &mut self,
        nodes: &[Vector],
        corners: [Barycentric; 3],
        vertices: [Vector; 3],
    ) {
        self.nodes.extend(triangle_of(self.order, nodes, corners, vertices));
    }

    /// Puts corners where the mesh has its vertices.
    #[doc(hidden)]
    pub fn put_corners(&mut self, mesh: &Mesh) {
        for t in 0..mesh.triangles.len() {
            let corners = mesh.corners(t);
            self.of_mut(t)[..3].copy_from_slice(&corners);
        }
    }
}

impl Mesh {
    /// The point of a triangle at barycentric coordinates.
    pub fn point(&self, triangle: usize, at: Barycentric) -> Vector {
        match &self.patches {
            Some(patches) => point(patches.order, patches.of(triangle), at),
            None => point(1, &self.corners(triangle), at),
        }
    }

    /// At an edge of a triangle, with its vertices in order: a direction along the edge, and one
    /// into the triangle; of a curved one those at the edge's middle.
    pub fn directions_at(&self, triangle: usize, [low, high]: [u32; 2]) -> [Vector; 2] {
        let corners = self.triangles[triangle];
        let place = |v: u32| corners.iter().position(|&corner| corner == v);
        let apex = (0..3).find(|&k| corners[k] != low && corners[k] != high);
        match (&self.patches, place(low), place(high)) {
            (Some(patches), Some(p), Some(q)) => {
                let middle = scale(0.5, add(CORNERS[p], CORNERS[q]));
                let [u, v] = tangents(patches.order, patches.of(triangle), middle);
                let along = |to: usize| {
                    let way = sub(CORNERS[to], CORNERS[p]);
                    add(scale(way[1], u), scale(way[2], v))
                };
                [along(q), apex.map_or([0.0; 3], along)]
            }
            _ => {
                let from = self.vertices[low as usize];
                let to = |v: u32| sub(self.vertices[v as usize], from);
                [to(high), apex.map_or([0.0; 3], |k| to(corners[k]))]
            }
        }
    }

    /// Changes `patches` together with what it has to be compared with.
    #[doc(hidden)]
    pub fn with_patches(&mut self, change: impl FnOnce(&Self, &mut Patches)) {
        if let Some(mut patches) = self.patches.take() {
            change(self, &mut patches);
            self.patches = Some(patches);
        }
    }

    /// The order of its triangles: 1 if they are flat.
    pub fn order(&self) -> usize {
        self.patches.as_ref().map_or(1, |patches| patches.order)
    }
}
