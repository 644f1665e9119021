//! Sides of triangles that are long where another surface is near.
//!
//! What lies at a distance d from a surface makes a field there that changes within about d, but
//! only where it changes itself: under the middle of a wide plate it does not. The vector from a
//! point to the nearest point of what is near tells both: its length is d, and it stays the same
//! along what is parallel.

use rayon::prelude::*;

use crate::bvh::{Box3, Bvh, MIXED};
use crate::curved::{self, Barycentric, CORNERS};
use crate::disjoint::DisjointSets;
use crate::locate::{distance_squared, to_triangle};
use crate::surface::Mesh;
use crate::topology::Sides;
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};

/// A triangle is looked at in pieces that are no larger than this share of their distance from what
/// is near, or from which it looks alike but for this share.
const LOOKED_AT: f64 = 0.5;

/// Pieces that are looked at, at most.
const MOST_PIECES: usize = 1 << 14;

/// Triangles closer than this share of the longest side touch.
const TOUCHING: f64 = 1e-9;

/// Corners closer than this share of a triangle's longest side to a plane are in it.
const FLAT: f64 = 1e-6;

/// The nearest place of another surface.
#[derive(Clone, Copy)]
struct Near {
    /// From the point to that place.
    vector: Vector,
    distance: f64,
    triangle: u32,
}

/// The surfaces of a mesh, to see from triangles how far others are.
pub struct Surfaces<'a> {
    mesh: &'a Mesh,
    surface: &'a [Option<u32>],
    /// The triangles that have a surface.
    members: Vec<u32>,
    tree: Bvh,
    /// The surface of all triangles under each node, if it is one.
    common: Vec<u32>,
    /// The plane piece that each triangle is in, by one of its triangles.
    piece: Vec<u32>,
}

/// A part of these surfaces, with smaller triangles.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// Of these triangles.
    pub mesh: &'a Mesh,
    /// The number of each triangle's surface, the same as there.
    pub surface: &'a [Option<u32>],
}

impl<'a> Surfaces<'a> {
    /// `surface` numbers the surface of each triangle; those without a number count for nothing.
    /// `None` where there are not two surfaces.
    pub fn new(mesh: &'a Mesh, surface: &'a [Option<u32>]) -> Option<Self> {
        let members: Vec<u32> =
            (0..surface.len() as u32).filter(|&t| surface[t as usize].is_some()).collect();
        let first = surface[*members.first()? as usize];
        if members.iter().all(|&t| surface[t as usize] == first) {
            return None;
        }
        let around = |&t: &u32| Box3::around(&mesh.corners(t as usize));
        let boxes: Vec<Box3> = members.par_iter().map(around).collect();
        let tree = Bvh::new(&boxes);
        let label = |member: u32| surface[members[member as usize] as usize].unwrap_or(MIXED);
        let common = tree.common(label);
        let piece = plane_pieces(mesh, surface);
        Some(Self { mesh, surface, members, tree, common, piece })
    }

    /// The sides (pairs of vertices, the lower first, sorted) of some triangles along which the
    /// vector to the nearest other surface changes by more than `ratio` times its least length on
    /// the triangle, and the longest side of triangles with such a place inside them alone.
    ///
    /// A plane side that the triangle touches is not near it. Curved triangles count as near as
    /// their corners. O(log n) for a triangle.
    pub fn long_sides(&self, of: Part<'_>, triangles: &[u32], ratio: f64) -> Vec<(u32, u32)> {
        let of_triangle = |&t: &u32| {
            let (mesh, t) = (of.mesh, t as usize);
            let touched = self.touched(mesh.corners(t));
            View { surfaces: self, mesh, t, own: of.surface[t], touched }.long_sides(ratio)
        };
        let mut sides: Vec<(u32, u32)> = triangles.par_iter().flat_map_iter(of_triangle).collect();
        sides.par_sort_unstable();
        sides.dedup();
        sides
    }
}

impl Surfaces<'_> {
    /// Whether two points see the same, but for `share` of the distance.
    fn is_alike(&self, near: &Near, other: &Near, share: f64) -> bool {
        let of = |near: &Near| self.surface[near.triangle as usize];
        let change = if of(near) == of(other) {
            norm(sub(near.vector, other.vector))
        } else {
            // Half way between two surfaces the nearest one is now this, now that.
            (near.distance - other.distance).abs()
        };
        change <= share * near.distance
    }

    /// Whether the middle and the corners of a piece are as far from what is near, and see the same
    /// plane, a triangle next to it, or now one of two sides, now the other: so does all of the
    /// piece then.
    fn is_one_view(&self, near: &Near, corners: &[Near; 3]) -> bool {
        let (triangles, piece) = (&self.mesh.triangles, &self.piece);
        let own = triangles[near.triangle as usize];
        let is_next = |t: u32| {
            piece[t as usize] == piece[near.triangle as usize]
                || triangles[t as usize].iter().any(|v| own.contains(v))
        };
        corners.iter().all(|corner| {
            let change = (corner.distance - near.distance).abs();
            let is_far = change > LOOKED_AT * near.distance;
            let turn = norm(sub(near.vector, corner.vector));
            !is_far && (is_next(corner.triangle) || turn > LOOKED_AT * near.distance)
        })
    }
}

/// For each triangle one of those that are connected with it in its plane, of its surface.
fn plane_pieces(mesh: &Mesh, surface: &[Option<u32>]) -> Vec<u32> {
    let normal = |t: usize| {
        let [a, b, c] = mesh.corners(t);
        let normal = cross(sub(b, a), sub(c, a));
        scale(1.0 / norm(normal).max(f64::MIN_POSITIVE), normal)
    };
    let mut sets = DisjointSets::new(surface.len());
    for edge in Sides::of(mesh).edges() {
        if let [s, t] = edge {
            let [s, t] = [s.triangle, t.triangle];
            let turned = norm(cross(normal(s as usize), normal(t as usize)));
            if surface[s as usize] == surface[t as usize] && turned < FLAT {
                sets.join(s, t);
            }
        }
    }
    (0..surface.len() as u32).map(|t| sets.root(t)).collect()
}

/// The plane of a triangle that another one touches.
struct Plane {
    surface: Option<u32>,
    at: Vector,
    /// Of length 1.
    normal: Vector,
}

impl Surfaces<'_> {
    /// The planes of the triangles that one with these corners touches.
    fn touched(&self, corners: [Vector; 3]) -> Vec<Plane> {
        let near = TOUCHING * longest(corners);
        let own = Box3::around(&corners);
        let (low, high) = (own.low.map(|x| x - near), own.high.map(|x| x + near));
        let own = Box3 { low, high };
        let mut found = Vec::new();
        let mut stack = vec![0];
        while let Some(index) = stack.pop() {
            let node = &self.tree.nodes[index];
            if !node.bounds.overlaps(&own) {
                continue;
            }
            if node.count == 0 {
                stack.extend([node.children as usize, node.children as usize + 1]);
                continue;
            }
            for &member in self.tree.members(node) {
                let s = self.members[member as usize] as usize;
                let others @ [a, b, c] = self.mesh.corners(s);
                let is_on = |points: [Vector; 3], triangle| {
                    points.iter().any(|&x| distance_squared(x, triangle) <= near * near)
                };
                if is_on(corners, others) || is_on(others, corners) {
                    let normal = cross(sub(b, a), sub(c, a));
                    let normal = scale(1.0 / norm(normal).max(f64::MIN_POSITIVE), normal);
                    found.push(Plane { surface: self.surface[s], at: a, normal });
                }
            }
        }
        found
    }
}

/// What one triangle sees of other surfaces.
struct View<'a> {
    surfaces: &'a Surfaces<'a>,
    mesh: &'a Mesh,
    t: usize,
    own: Option<u32>,
    touched: Vec<Plane>,
}

impl View<'_> {
    /// The nearest place to a point of the triangle of another surface, without plane sides that it
    /// touches, if there is one within a distance.
    fn nearest(&self, point: Vector, within: f64) -> Option<Near> {
        let Surfaces { mesh, surface, members, tree, common, .. } = self.surfaces;
        let mut best: Option<Near> = None;
        let mut least = within;
        let mut stack = vec![(tree.nodes[0].bounds.distance_squared(point), 0)];
        while let Some((bound, index)) = stack.pop() {
            if bound >= least * least || self.own == Some(common[index]) && common[index] != MIXED {
                continue;
            }
            let node = &tree.nodes[index];
            if node.count > 0 {
                for &member in tree.members(node) {
                    let s = members[member as usize] as usize;
                    if surface[s] == self.own {
                        continue;
                    }
                    let vector = to_triangle(point, mesh.corners(s));
                    let distance = norm(vector);
                    if distance < least && !self.touches(s) {
                        best = Some(Near { vector, distance, triangle: s as u32 });
                        least = distance;
                    }
                }
                continue;
            }
            let first = node.children as usize;
            let mut children = [first, first + 1]
                .map(|child| (tree.nodes[child].bounds.distance_squared(point), child));
            // The nearer child is looked at first, and so pushed last.
            if children[0].0 < children[1].0 {
                children.swap(0, 1);
            }
            stack.extend(children);
        }
        best
    }

    /// Whether a triangle is in a plane side that this one touches.
    fn touches(&self, s: usize) -> bool {
        let corners = self.surfaces.mesh.corners(s);
        let flat = FLAT * longest(corners);
        self.touched.iter().any(|plane| {
            let off = |x: &Vector| dot(sub(*x, plane.at), plane.normal).abs();
            plane.surface == self.surfaces.surface[s] && corners.iter().all(|x| off(x) <= flat)
        })
    }

    fn point(&self, at: Barycentric) -> Vector {
        match &self.mesh.patches {
            Some(patches) => curved::point(patches.order, patches.of(self.t), at),
            None => {
                let corners = self.mesh.corners(self.t);
                (0..3).fold([0.0; 3], |sum, k| add(sum, scale(at[k], corners[k])))
            }
        }
    }

    /// The nearest place to one of the triangle, however far.
    fn seen_from(&self, at: Barycentric) -> Option<Near> {
        self.nearest(self.point(at), f64::INFINITY)
    }

    fn long_sides(&self, ratio: f64) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        let Some(distance) = self.distance_where_it_changes(ratio) else { return found };
        let corners = self.mesh.triangles[self.t];
        let sides = [0, 1, 2].map(|k| (corners[k], corners[(k + 1) % 3]));
        let at_corners = CORNERS.map(|at| self.seen_from(at));
        for (k, &(a, b)) in sides.iter().enumerate() {
            if let (Some(p), Some(q)) = (at_corners[k], at_corners[(k + 1) % 3])
                && norm(sub(p.vector, q.vector)) > ratio * distance
            {
                found.push((a.min(b), a.max(b)));
            }
        }
        if found.is_empty() {
            let places = self.mesh.corners(self.t);
            let length = |k: usize| norm(sub(places[(k + 1) % 3], places[k]));
            let side = (1..3).fold(0, |most, k| if length(k) > length(most) { k } else { most });
            let (a, b) = sides[side];
            found.push((a.min(b), a.max(b)));
        }
        found
    }

    /// The distance of a place of the triangle from what is near, if that changes by more than
    /// `ratio` times the distance within the triangle.
    fn distance_where_it_changes(&self, ratio: f64) -> Option<f64> {
        self.own?;
        let size = longest(self.mesh.corners(self.t));
        let (middle, reach) = self.middle(&CORNERS);
        self.nearest(middle, size / ratio + reach)?;
        let [a, b, c] = CORNERS.map(|at| self.seen_from(at));
        let corners = [a?, b?, c?];
        let mut open = vec![Piece { corners: CORNERS, near: corners }];
        let mut pieces = 0;
        while let Some(piece) = open.pop() {
            pieces += 1;
            let (middle, reach) = self.middle(&piece.corners);
            // What is farther away is not near to any of this piece.
            let Some(near) = self.nearest(middle, size / ratio + reach) else { continue };
            let is_small = reach <= LOOKED_AT * near.distance || pieces > MOST_PIECES;
            if !is_small && !self.surfaces.is_one_view(&near, &piece.near) {
                open.extend(self.halves(&piece));
                continue;
            }
            let changes = |corner: &Near| !self.surfaces.is_alike(&near, corner, ratio);
            if size > ratio * near.distance && corners.iter().any(changes) {
                // What is nearer elsewhere is seen by the parts that this triangle gets.
                return Some(near.distance);
            }
        }
        None
    }

    /// The centroid of a piece, and how far its corners are from it.
    fn middle(&self, piece: &[Barycentric; 3]) -> (Vector, f64) {
        let middle = std::array::from_fn(|k| piece.iter().map(|at| at[k]).sum::<f64>() / 3.0);
        let place = self.point(middle);
        let reach = piece.iter().map(|&at| norm(sub(self.point(at), place)));
        (place, reach.fold(0.0, f64::max))
    }

    /// A piece in two: across the side along which most changes, or the longest one where all of
    /// it looks alike.
    fn halves(&self, Piece { corners, near }: &Piece) -> [Piece; 2] {
        let side = |k: usize| (k, (k + 1) % 3);
        let length = |k: usize| {
            let (a, b) = side(k);
            norm(sub(self.point(corners[a]), self.point(corners[b])))
        };
        // Where the nearest side is another one at once, the vector jumps.
        let change = |k: usize| {
            let (a, b) = side(k);
            norm(sub(near[a].vector, near[b].vector)).min(length(k))
        };
        let most =
            |of: &dyn Fn(usize) -> f64| (1..3).fold(0, |m, k| if of(k) > of(m) { k } else { m });
        let mut cut = most(&change);
        if change(cut) <= LOOKED_AT * near[cut].distance {
            cut = most(&length);
        }
        let (a, b) = side(cut);
        let at = std::array::from_fn(|k| f64::midpoint(corners[a][k], corners[b][k]));
        let seen = self.seen_from(at).unwrap_or(near[a]);
        let with = |corner: usize| {
            let (mut corners, mut near) = (*corners, *near);
            (corners[corner], near[corner]) = (at, seen);
            Piece { corners, near }
        };
        [with(a), with(b)]
    }
}

/// A piece of a triangle, and what is nearest to its corners.
struct Piece {
    corners: [Barycentric; 3],
    near: [Near; 3],
}

fn longest(corners: [Vector; 3]) -> f64 {
    (0..3).map(|k| norm(sub(corners[(k + 1) % 3], corners[k]))).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::creases::Creases;
    use crate::split;

    /// Rectangles of two triangles each: corner, and the two sides.
    fn rectangles(of: &[[Vector; 3]]) -> (Mesh, Vec<Option<u32>>) {
        let mut mesh = Mesh::default();
        let mut surface = Vec::new();
        for (number, &[at, u, v]) in (0..).zip(of) {
            let first = mesh.vertices.len() as u32;
            mesh.vertices.extend([at, add(at, u), add(add(at, u), v), add(at, v)]);
            mesh.triangles.extend([[0, 1, 2], [0, 2, 3]].map(|t| t.map(|k| first + k)));
            surface.extend([Some(number); 2]);
        }
        mesh.membership = vec![0; mesh.triangles.len()];
        (mesh, surface)
    }

    fn long_sides(mesh: &Mesh, surface: &[Option<u32>], ratio: f64) -> Vec<(u32, u32)> {
        let Some(surfaces) = Surfaces::new(mesh, surface) else { return Vec::new() };
        let all: Vec<u32> = (0..surface.len() as u32).collect();
        surfaces.long_sides(Part { mesh, surface }, &all, ratio)
    }

    /// The mesh after as many rounds as there are long sides.
    fn refined(of: &[[Vector; 3]], ratio: f64) -> (Mesh, Vec<Option<u32>>) {
        let (mut mesh, mut surface) = rectangles(of);
        for _ in 0..40 {
            let long = long_sides(&mesh, &surface, ratio);
            if long.is_empty() {
                return (mesh, surface);
            }
            let split = split::edges(&mesh, &Creases::default(), &long, |_| 0.5).unwrap();
            surface = split.parent.iter().map(|&t| surface[t as usize]).collect();
            mesh = split.mesh;
        }
        panic!("no end");
    }

    #[test]
    fn parallel_plates_are_as_fine_as_they_are() {
        for gap in [1e-3, 0.1, 1.0] {
            let plate = |z: f64| [[0.0, 0.0, z], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
            let (mesh, surface) = rectangles(&[plate(0.0), plate(gap)]);
            assert_eq!(long_sides(&mesh, &surface, 1.0), []);
            // One surface, or none, is near nothing.
            assert_eq!(long_sides(&mesh, &[Some(3); 4], 1.0), []);
            assert_eq!(long_sides(&mesh, &[None; 4], 1.0), []);
        }
    }

    /// A strip over the middle of a plane, not over any of its vertices: triangles are small under
    /// the strip's sides, and grow away from them and along the strip.
    #[test]
    fn a_plane_is_fine_under_the_sides_of_a_strip() {
        let plane = [[-50.0, -50.0, 0.0], [100.0, 0.0, 0.0], [0.0, 100.0, 0.0]];
        let mut counts = Vec::new();
        for height in [3.0, 0.3, 0.03] {
            let strip = [[-30.3, 7.1, height], [60.0, 0.0, 0.0], [0.0, 0.9, 0.0]];
            let (mesh, surface) = refined(&[plane, strip], 2.0);
            // Of triangles between the strip's ends: how near its sides they are, and how wide.
            let of_triangle = |t: usize| {
                let corners = mesh.corners(t);
                let is_between = corners.iter().all(|x| (-30.3..29.7).contains(&x[0]));
                let off = |x: &Vector| (x[1] - 7.1).abs().min((x[1] - 8.0).abs()).hypot(height);
                let near = corners.iter().map(off).fold(f64::MAX, f64::min);
                let across = corners.map(|x| x[1]);
                let [low, high] = [f64::min, f64::max].map(|of| across.into_iter().reduce(of));
                (surface[t] == Some(0) && is_between).then(|| (near, high.unwrap() - low.unwrap()))
            };
            let found = (0..mesh.triangles.len()).filter_map(of_triangle);
            let widest = found.filter(|(near, _)| *near < 1.5 * height);
            let widest = widest.fold(0.0f64, |most, (_, wide)| most.max(wide));
            // Each corner sees the strip no more than twice that distance away.
            let most = 2.0 * 2.0 * 1.5 * height + 0.9;
            assert!((0.01 * height..most).contains(&widest), "{height}: {widest}");
            counts.push(mesh.triangles.len());
        }
        // By less than the inverse of the height.
        assert!(counts[2] < 40 * counts[0], "{counts:?}");
    }
}
