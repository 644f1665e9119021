//! Triangles that cross each other, or cover each other in a plane.

use crate::geometry::bvh::{Box3, Bvh, MIXED};
use crate::geometry::curved::bezier::Nets;
use crate::geometry::curved::crossing::{self, Part};
use crate::geometry::curved::is_straight;
pub use crate::geometry::flat::meeting::{Meeting, meet};
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, add, dot, max_norm, norm, scale, sub};
use parallel::prelude::*;

/// Triangles around a vertex that are compared with each other by their boxes; the boxes of all of
/// them meet, so that of more the directions are compared.
const FAN: u32 = 32;

/// More than directions are off by rounding.
const ROUNDING: f64 = 1e-14;

/// Pairs of parts of curved triangles compared at most, for all pairs of triangles together; and
/// those for one pair, at least and at most.
const PARTS: usize = 20_000_000;
const PARTS_OF_PAIR: [usize; 2] = [256, 4096];

/// Two triangles that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Intersection {
    /// The triangles, the lower index first.
    pub triangles: [u32; 2],
    /// How they meet.
    pub meeting: Meeting,
}

/// Finds the pairs of triangles of a valid mesh ([`Mesh::validate`]) that cross or overlap, in the
/// order of their indices.
///
/// Signs are exact (J. Shewchuk's adaptive predicates), so that neighbours and bodies that merely
/// touch are never reported, and sheets that overlap are reported where their coordinates put them
/// in one plane exactly. Two triangles with the same corners are not looked for here:
/// [`crate::bodies::check::Defects`] has them. O(n log n) for surfaces, with fans of any number of
/// triangles around a vertex.
///
/// Of curved triangles the true shapes count. They cross where they do so by more than about a
/// millionth of what they are off from flat ones.
#[must_use]
pub fn intersections(mesh: &Mesh) -> Vec<Intersection> {
    let mut found = match &mesh.patches {
        None => {
            let corners = |t: u32| Box3::around(&mesh.corners(t as usize));
            let flat = |s: u32, t: u32, found: &mut Vec<Intersection>| {
                let meeting = meet(mesh.corners(s as usize), mesh.corners(t as usize));
                found.extend(meeting.map(|meeting| Intersection::new(s, t, meeting)));
            };
            candidates(mesh, corners, |t, hub| directions(mesh, t, hub), flat)
        }
        Some(patches) => of_curved(mesh, patches),
    };
    found.sort_unstable();
    found
}

impl Intersection {
    fn new(s: u32, t: u32, meeting: Meeting) -> Self {
        Self { triangles: [s.min(t), s.max(t)], meeting }
    }
}

/// Intersections of curved triangles, in no order.
fn of_curved(mesh: &Mesh, patches: &Patches) -> Vec<Intersection> {
    let all: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
    let nets = Nets::of(patches, &all);
    let flat: Vec<bool> =
        all.par_iter().map(|&t| is_straight(patches.order, patches.of(t as usize))).collect();
    let part = |t: u32| Part::of(nets.get(t as usize));
    // Some are known at once. What is not is shared out afterwards: how closely each can be looked
    // at depends on how many they are.
    let at_once = |s: u32, t: u32, found: &mut Vec<(u32, u32, Option<Meeting>)>| {
        let meeting = if flat[s as usize] && flat[t as usize] {
            Some(meet(mesh.corners(s as usize), mesh.corners(t as usize)))
        } else {
            crossing::at_once(&part(s), &part(t))
        };
        match meeting {
            Some(None) => {}
            Some(meeting) => found.push((s, t, meeting)),
            None => found.push((s, t, None)),
        }
    };
    let bounds = |t: u32| Box3::around(nets.hull(t as usize));
    let directions = |t: u32, hub: u32| {
        let at = mesh.vertices[hub as usize];
        directions_of(nets.hull(t as usize), at)
    };
    let pairs = candidates(mesh, bounds, directions, at_once);
    let open = pairs.iter().filter(|pair| pair.2.is_none()).count();
    let most = (PARTS / open.max(1)).clamp(PARTS_OF_PAIR[0], PARTS_OF_PAIR[1]);
    let decided = |(s, t, known): (u32, u32, Option<Meeting>)| {
        let meeting = known.or_else(|| crossing::meeting(part(s), part(t), most))?;
        Some(Intersection::new(s, t, meeting))
    };
    pairs.into_par_iter().filter_map(decided).collect()
}

/// What `compare` adds for all pairs of triangles that may meet, by boxes around them or, of a fan,
/// by boxes around the directions in which they are seen from its vertex.
fn candidates<T: Send>(
    mesh: &Mesh,
    bounds: impl Fn(u32) -> Box3 + Sync + Send,
    directions: impl Fn(u32, u32) -> Box3,
    compare: impl Fn(u32, u32, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let boxes: Vec<Box3> = (0..mesh.triangles.len() as u32).into_par_iter().map(bounds).collect();
    let tree = Bvh::new(&boxes);
    let hubs = hubs(mesh);
    let common = tree.common(|t| hubs[t as usize]);
    let in_one_fan = |s: u32, t: u32| s == t && s != MIXED;
    let mut found = tree.overlapping_leaves_but(
        |a, b| in_one_fan(common[a], common[b]),
        |a, b, found| {
            tree.pairs(a, b, |s, t| {
                let one_fan = in_one_fan(hubs[s as usize], hubs[t as usize]);
                if !one_fan && boxes[s as usize].overlaps(&boxes[t as usize]) {
                    compare(s, t, found);
                }
            });
        },
    );
    for fan in fans(&hubs) {
        let directions: Vec<Box3> = fan.iter().map(|&t| directions(t, hubs[t as usize])).collect();
        let tree = Bvh::new(&directions);
        found.extend(tree.overlapping_leaves(|a, b, found| {
            tree.pairs(a, b, |s, t| {
                let (s, t) = (s as usize, t as usize);
                if directions[s].overlaps(&directions[t]) {
                    compare(fan[s], fan[t], found);
                }
            });
        }));
    }
    found
}

/// For each triangle the vertex around which it is one of a fan, `MIXED` where there is none: of
/// its vertices with many triangles that with the most.
#[doc(hidden)]
pub fn hubs(mesh: &Mesh) -> Vec<u32> {
    let mut uses = vec![0u32; mesh.vertices.len()];
    mesh.triangles.as_flattened().iter().for_each(|&v| uses[v as usize] += 1);
    let busiest = |triangle: &[u32; 3]| {
        let hub = triangle.iter().copied().max_by_key(|&v| uses[v as usize]);
        hub.filter(|&v| uses[v as usize] > FAN).unwrap_or(MIXED)
    };
    mesh.triangles.iter().map(busiest).collect()
}

/// The triangles of each fan.
fn fans(hubs: &[u32]) -> Vec<Vec<u32>> {
    let mut members: Vec<(u32, u32)> =
        hubs.iter().zip(0..).filter(|(hub, _)| **hub != MIXED).map(|(hub, t)| (*hub, t)).collect();
    members.sort_unstable();
    let fans = members.chunk_by(|a, b| a.0 == b.0);
    fans.map(|fan| fan.iter().map(|member| member.1).collect()).collect()
}

/// A box around the directions in which a triangle is seen from one of its corners. The boxes of
/// all triangles around a vertex meet there, but what two of them share beyond it lies in
/// directions that they share.
fn directions(mesh: &Mesh, triangle: u32, hub: u32) -> Box3 {
    let corners = mesh.triangles[triangle as usize].map(|v| mesh.vertices[v as usize]);
    let at = mesh.vertices[hub as usize];
    let mut ends = [[0.0; 3]; 2];
    let others = corners.iter().map(|corner| sub(*corner, at)).filter(|along| *along != [0.0; 3]);
    let mut count = 0;
    for (end, along) in ends.iter_mut().zip(others) {
        // Large or small lengths must not leave the range of numbers when they are squared.
        let along = scale(1.0 / max_norm(along), along);
        *end = scale(1.0 / norm(along), along);
        count += 1;
    }
    if count < 2 {
        // A triangle without area is seen as a line or a point; others may share any of that.
        return Box3 { low: [-1.0; 3], high: [1.0; 3] };
    }
    // Between them directions are on an arc, which leaves its chord by as much as the middle is
    // nearer than 1.
    let [a, b] = ends;
    let margin = 1.0 - 0.5 * norm(add(a, b)) + ROUNDING;
    Box3::around(&ends).grown(margin)
}

/// Box of the directions in which the hull of some points is seen.
fn directions_of(points: &[Vector], at: Vector) -> Box3 {
    let arms = points.iter().map(|x| sub(*x, at)).filter(|arm| *arm != [0.0; 3]);
    let ends: Vec<Vector> = arms
        .map(|arm| {
            let arm = scale(1.0 / max_norm(arm), arm);
            scale(1.0 / norm(arm), arm)
        })
        .collect();
    let sum = ends.iter().fold([0.0; 3], |sum, end| add(sum, *end));
    let middle = scale(1.0 / norm(sum), sum);
    // Their hull is not nearer to the origin than the plane of the least of these.
    let least = ends.iter().map(|end| dot(*end, middle)).fold(1.0, f64::min);
    if ends.len() < 2 || least.is_nan() || least <= 0.0 {
        return Box3 { low: [-1.0; 3], high: [1.0; 3] };
    }
    let margin = 1.0 - least + ROUNDING;
    Box3::around(&ends).grown(margin)
}
