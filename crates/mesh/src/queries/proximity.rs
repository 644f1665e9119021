//! Sides of triangles that are long where another surface is near.
//!
//! What lies at a distance d from a surface makes a field there that changes within about d, but
//! only where it changes itself: under the middle of a wide plate it does not. The vector from a
//! point to the nearest point of what is near tells both: its length is d, and it stays the same
//! along what is parallel.

use parallel::prelude::*;

use crate::geometry::bvh::{Box3, Bvh, MIXED};
use crate::geometry::curved::{self, Barycentric, CORNERS, QUARTERS};
use crate::geometry::flat::triangle::{distance_squared, to_triangle};
use crate::surface::Mesh;
use crate::vector::{Vector, add, area_normal, dot, longest_side, norm, scale, sub};

/// Triangles closer than this share of the longest side touch.
const TOUCHING: f64 = 1e-9;

/// Corners closer than this share of a triangle's longest side to a plane are in it.
const FLAT: f64 = 1e-6;

/// Sample points of a triangle besides its nearest point: the corners first.
const PLACES: [Barycentric; 7] = {
    let ([a, b, c], [ab, bc, ca]) = (CORNERS, QUARTERS[3]);
    [a, b, c, ab, bc, ca, [1.0 / 3.0; 3]]
};

/// The nearest place of another surface.
#[derive(Clone, Copy)]
struct Near {
    /// To that place.
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
        Some(Self { mesh, surface, members, tree, common })
    }

    /// The ones among some triangles that are more than `ratio` times as long as their distance
    /// from another surface: [`Self::long_sides`] are theirs.
    pub fn near(&self, of: Part<'_>, triangles: &[u32], ratio: f64) -> Vec<u32> {
        let is_near = |&&t: &&u32| {
            let (mesh, t) = (of.mesh, t as usize);
            let Some(own) = of.surface[t] else { return false };
            let corners = mesh.corners(t);
            let view = View { surfaces: self, mesh, t, own, touched: self.touched(corners, own) };
            view.nearest_of_all(longest_side(corners) / ratio).is_some()
        };
        triangles.par_iter().filter(is_near).copied().collect()
    }

    /// The sides (pairs of vertices, the lower first, sorted) of some triangles along which the
    /// vector to the nearest other surface changes by more than `ratio` times its least length on
    /// the triangle, and the longest side of triangles with such a place inside them alone.
    ///
    /// A plane side that the triangle touches is not near it. Curved triangles of other surfaces
    /// count as near as their corners. O(log n) for a triangle.
    pub fn long_sides(&self, of: Part<'_>, triangles: &[u32], ratio: f64) -> Vec<(u32, u32)> {
        let of_triangle = |&t: &u32| {
            let (mesh, t) = (of.mesh, t as usize);
            let own = of.surface[t]?;
            let touched = self.touched(mesh.corners(t), own);
            Some(View { surfaces: self, mesh, t, own, touched }.long_sides(ratio))
        };
        let mut sides: Vec<(u32, u32)> =
            triangles.par_iter().filter_map(of_triangle).flatten_iter().collect();
        sides.par_sort_unstable();
        sides.dedup();
        sides
    }
}

/// The plane of a triangle that another one touches.
struct Plane {
    surface: Option<u32>,
    at: Vector,
    /// Of length 1.
    normal: Vector,
}

impl Surfaces<'_> {
    /// How much what one place sees differs from what another one does.
    fn change(&self, near: &Near, other: &Near) -> f64 {
        let of = |near: &Near| self.surface[near.triangle as usize];
        if of(near) == of(other) {
            norm(sub(near.vector, other.vector))
        } else {
            // Half way between two surfaces the nearest one is now this, now that.
            (near.distance - other.distance).abs()
        }
    }

    /// Planes of triangles of other surfaces that the triangle with these corners touches.
    fn touched(&self, corners: [Vector; 3], own: u32) -> Vec<Plane> {
        let near = TOUCHING * longest_side(corners);
        let around = Box3::around(&corners).grown(near);
        let mut found = Vec::new();
        let enters = |_: &mut _, index: usize| {
            self.common[index] != own && self.tree.nodes[index].bounds.overlaps(&around)
        };
        self.tree.visit(&mut found, enters, |found, members| {
            for &member in members {
                let s = self.members[member as usize] as usize;
                let others = self.mesh.corners(s);
                if self.surface[s] == Some(own) || !Box3::around(&others).overlaps(&around) {
                    continue;
                }
                let is_on = |points: [Vector; 3], triangle| {
                    points.iter().any(|&x| distance_squared(x, triangle) <= near * near)
                };
                if is_on(corners, others) || is_on(others, corners) {
                    let normal = area_normal(others);
                    let normal = scale(1.0 / norm(normal).max(f64::MIN_POSITIVE), normal);
                    found.push(Plane { surface: self.surface[s], at: others[0], normal });
                }
            }
        });
        found
    }
}

/// What one triangle sees of other surfaces.
struct View<'a> {
    surfaces: &'a Surfaces<'a>,
    mesh: &'a Mesh,
    t: usize,
    own: u32,
    touched: Vec<Plane>,
}

impl View<'_> {
    /// What is nearest to a part of the triangle, if another surface, without plane sides that it
    /// touches, is within a distance. `to` is the shortest vector from that part to a triangle.
    fn nearest(
        &self,
        part: &Box3,
        within: f64,
        to: impl Fn([Vector; 3]) -> Vector,
    ) -> Option<Near> {
        let Surfaces { mesh, surface, members, tree, common } = self.surfaces;
        let mut best: Option<Near> = None;
        let least = |best: &Option<Near>| best.map_or(within, |best| best.distance);
        let is_far = |best: &Option<Near>, gap: f64| gap >= least(best) * least(best);
        let enters =
            |best: &_, gap: f64, index: usize| !is_far(best, gap) && common[index] != self.own;
        tree.visit_nearest(
            &mut best,
            |bounds| bounds.gap_squared(part),
            enters,
            |best, member| {
                let s = members[member as usize] as usize;
                let corners = mesh.corners(s);
                if surface[s] == Some(self.own)
                    || is_far(best, Box3::around(&corners).gap_squared(part))
                {
                    return;
                }
                let vector = to(corners);
                let distance = norm(vector);
                if distance < least(best) && !self.touches(s) {
                    *best = Some(Near { vector, distance, triangle: s as u32 });
                }
            },
        );
        best
    }

    /// Whether a triangle is in a plane side that this one touches.
    fn touches(&self, s: usize) -> bool {
        let corners = self.surfaces.mesh.corners(s);
        let flat = FLAT * longest_side(corners);
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

    /// What is nearest to a place of the triangle, however far.
    fn seen_from(&self, at: Barycentric) -> Option<Near> {
        let point = self.point(at);
        let here = Box3 { low: point, high: point };
        self.nearest(&here, f64::INFINITY, |corners| to_triangle(point, corners))
    }

    /// What is nearest to any place of the triangle, if it is within a distance.
    fn nearest_of_all(&self, within: f64) -> Option<Near> {
        let near = |corners: [Vector; 3], within: f64| {
            let from = |others| between_triangles(corners, others);
            self.nearest(&Box3::around(&corners), within, from)
        };
        let Some(patches) = &self.mesh.patches else {
            return near(self.mesh.corners(self.t), within);
        };
        // Sixteen parts of a curved one count as flat.
        let within_part = |[a, b, c]: [Barycentric; 3], at: Barycentric| {
            std::array::from_fn(|k| at[0] * a[k] + at[1] * b[k] + at[2] * c[k])
        };
        let quarters = |part| QUARTERS.map(|corners| corners.map(|at| within_part(part, at)));
        let parts = quarters(CORNERS).into_iter().flat_map(quarters);
        parts.fold(None, |best: Option<Near>, part| {
            let corners = part.map(|at| curved::point(patches.order, patches.of(self.t), at));
            near(corners, best.map_or(within, |best| best.distance)).or(best)
        })
    }

    fn long_sides(&self, ratio: f64) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        let places = self.mesh.corners(self.t);
        // The vectors to what is no nearer change by less than the triangle's size.
        let Some(least) = self.nearest_of_all(longest_side(places) / ratio) else { return found };
        let seen = PLACES.map(|at| self.seen_from(at).unwrap_or(least));
        let most = ratio * least.distance;
        if !seen.iter().any(|near| self.surfaces.change(near, &least) > most) {
            return found;
        }
        let corners = self.mesh.triangles[self.t];
        let sides = [0, 1, 2].map(|k| (corners[k], corners[(k + 1) % 3]));
        for (k, &(a, b)) in sides.iter().enumerate() {
            if norm(sub(seen[k].vector, seen[(k + 1) % 3].vector)) > most {
                found.push((a.min(b), a.max(b)));
            }
        }
        if found.is_empty() {
            let length = |k: usize| norm(sub(places[(k + 1) % 3], places[k]));
            let side = (1..3).fold(0, |most, k| if length(k) > length(most) { k } else { most });
            let (a, b) = sides[side];
            found.push((a.min(b), a.max(b)));
        }
        found
    }
}

/// The shortest vector from a triangle to another one that it does not cross: it begins or ends at
/// a corner, or goes from side to side.
#[doc(hidden)]
pub fn between_triangles(from: [Vector; 3], to: [Vector; 3]) -> Vector {
    let side = |of: [Vector; 3], k: usize| [of[k], of[(k + 1) % 3]];
    let to_corners = from.map(|x| to_triangle(x, to));
    let from_corners = to.map(|x| scale(-1.0, to_triangle(x, from)));
    let sides = (0..9).map(|k| between_segments(side(from, k / 3), side(to, k % 3)));
    let all = to_corners.into_iter().chain(from_corners).chain(sides);
    all.reduce(|x, y| if dot(y, y) < dot(x, x) { y } else { x }).unwrap_or_default()
}

/// The shortest vector from a segment to another one that is not parallel to it, or one that is no
/// shorter than from or to an end.
fn between_segments([a, b]: [Vector; 2], [c, d]: [Vector; 2]) -> Vector {
    let (u, v, off) = (sub(b, a), sub(d, c), sub(c, a));
    let (uu, uv, vv) = (dot(u, u), dot(u, v), dot(v, v));
    let determinant = uu * vv - uv * uv;
    let along = |numerator: f64, denominator: f64| {
        if denominator > 0.0 { (numerator / denominator).clamp(0.0, 1.0) } else { 0.0 }
    };
    let first = along(dot(off, u) * vv - dot(off, v) * uv, determinant);
    let second = along(first * uv - dot(off, v), vv);
    // Where the second was clamped, the first is the nearest to its end.
    let first = along(second * uv + dot(off, u), uu);
    sub(add(off, scale(second, v)), scale(first, u))
}
