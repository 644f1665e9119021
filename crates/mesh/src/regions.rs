//! Regions of space bounded by closed surfaces: which region lies on either side of each triangle.
//!
//! Stored orientations are not trusted: surfaces are turned by what they enclose
//! ([`crate::orient`]), and what lies inside is decided by winding numbers ([`crate::locate`]).
//! Surfaces must not go through each other ([`crate::intersect`]).

use std::collections::HashMap;
use std::sync::Arc;

use parallel::prelude::*;
use thiserror::Error;

use crate::bvh::{Box3, Bvh};
use crate::curved;
use crate::locate::Locator;
use crate::measure;
use crate::orient::{self, Facing};
use crate::surface::{Mesh, Patches};
use crate::topology::{Sides, components_where};
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};
use crate::wording::counted;

/// Directions of lines from a triangle's centre, as shares of its sides, irregular so that they
/// meet no regular mesh's edges.
const TILTS: [[f64; 2]; 8] = [
    [0.137, 0.291],
    [-0.307, 0.113],
    [0.209, -0.371],
    [-0.173, -0.239],
    [0.419, 0.057],
    [-0.061, 0.433],
    [0.331, -0.127],
    [-0.447, -0.353],
];

/// Number of lines that decide, not counting those that pass close to the rims of triangles.
const VOTES: usize = 3;

/// A surface whose area vectors add up to more than this share of its area is open.
const OPEN: f64 = 1e-2;

/// Why a surface does not bound a region.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// Edges at which the surface ends.
    #[error(
        "it is not closed: {} an odd number of its triangles (the first is one of triangle {triangle})",
        counted(*edges, "edge has", "edges have")
    )]
    Open {
        /// How many edges.
        edges: usize,
        /// A triangle at one of them.
        triangle: u32,
    },
    /// A surface without an inside, like Klein's bottle, or one that meets itself along an edge.
    #[error(
        "its triangles cannot all face one side: it meets itself along an edge, or comes around to the other side of triangle {0}"
    )]
    Unorientable(u32),
    /// No triangles.
    #[error("it has no triangles")]
    Empty,
}

/// Where a triangle lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Not in the region, or upon its boundary.
    Outside,
    /// In the region.
    Inside,
    /// Part of the boundary.
    Boundary {
        /// Whether its normal points into the region.
        inward: bool,
    },
}

/// The space that a closed surface bounds; the surface may have several parts, some of them
/// cavities.
#[derive(Clone, Debug)]
pub struct Region {
    /// The boundary's triangles, and whether their normals point into the region.
    pub boundary: Vec<(u32, bool)>,
    /// Volume, in the cube of the mesh's unit.
    pub volume: f64,
    surface: Arc<Locator>,
    /// Longest side of its bounding box.
    size: f64,
}

impl Region {
    /// The region that `triangles` of a valid mesh ([`Mesh::validate`]) bound, in O(n log n).
    ///
    /// # Errors
    /// [`enum@Error`].
    pub fn new(mesh: &Mesh, triangles: &[u32]) -> Result<Self, Error> {
        if triangles.is_empty() {
            return Err(Error::Empty);
        }
        let mut own = part(mesh, triangles);
        let sides = Sides::of(&own);
        let odd = || sides.edges().filter(|edge| edge.len() % 2 == 1);
        if let Some(triangle) = odd().map(|edge| triangles[edge[0].triangle as usize]).min() {
            return Err(Error::Open { edges: odd().count(), triangle });
        }
        let (faced, topology) = orient::face_and_connect(&mut own, Facing::OutOfSolid);
        if let Some(component) = faced.unorientable.first() {
            let first = topology.component_of.iter().position(|c| c == component);
            return Err(Error::Unorientable(first.map_or(0, |first| triangles[first])));
        }
        Ok(Self::of(mesh, triangles, &own, topology.whole.signed_volume))
    }

    /// The region that `triangles` of a valid mesh bound if they leave no gap, though they may have
    /// no edges in common: as panels of other programs. A triangle's inner side is that from which
    /// lines meet an odd number of the others. `None` if these do not tell it, or if the surface is
    /// open.
    pub fn of_pieces(mesh: &Mesh, triangles: &[u32]) -> Option<Self> {
        let locator = Locator::of_part(mesh, triangles.to_vec());
        let mut own = part(mesh, triangles);
        let (mut sum, mut total) = ([0.0; 3], 0.0);
        let mut turned = vec![false; triangles.len()];
        for (k, &t) in triangles.iter().enumerate() {
            let [a, b, c] = own.corners(k);
            let mut area = scale(0.5, cross(sub(b, a), sub(c, a)));
            let (centre, [ab, ac]) = centre(&own, k);
            let normal = cross(ab, ac);
            // Longer than the triangle is wide, so that lines leave it steeply.
            let normal = scale(norm(ab).max(norm(ac)) / norm(normal), normal);
            let is_odd = |side: f64| {
                let toward =
                    |[s, t]: &[f64; 2]| add(scale(side, normal), add(scale(*s, ab), scale(*t, ac)));
                let counts =
                    TILTS.iter().filter_map(|tilt| locator.crossings(centre, toward(tilt), t));
                let (odd, even): (Vec<usize>, Vec<usize>) =
                    counts.take(VOTES).partition(|count| count % 2 == 1);
                (odd.len() != even.len()).then_some(odd.len() > even.len())
            };
            match (is_odd(1.0)?, is_odd(-1.0)?) {
                (false, true) => {}
                (true, false) => {
                    turned[k] = true;
                    area = scale(-1.0, area);
                }
                _ => return None,
            }
            (sum, total) = (add(sum, area), total + norm(area));
        }
        orient::turn(&mut own, &turned);
        let volume = enclosed_volume(&own);
        (norm(sum) <= OPEN * total && volume > 0.0).then(|| Self::of(mesh, triangles, &own, volume))
    }

    /// The triangles of `own`, which are `triangles` of the mesh turned outward.
    pub(crate) fn of(mesh: &Mesh, triangles: &[u32], own: &Mesh, volume: f64) -> Self {
        let turned = |(k, &t): (usize, &u32)| (t, mesh.corners(t as usize) != own.corners(k));
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for corner in (0..triangles.len()).flat_map(|t| own.corners(t)) {
            low = std::array::from_fn(|k| low[k].min(corner[k]));
            high = std::array::from_fn(|k| high[k].max(corner[k]));
        }
        Self {
            boundary: triangles.iter().enumerate().map(turned).collect(),
            volume,
            surface: Arc::new(Locator::new(own)),
            size: (0..3).map(|k| high[k] - low[k]).fold(f64::MIN_POSITIVE, f64::max),
        }
    }

    /// The region that a closed surface bounds whose triangles are known to face one side, `true`
    /// for normals that point inward: also where it touches itself along an edge, so that it would
    /// not tell by itself how it faces. Turned where normals point into it.
    pub fn faced(mesh: &Mesh, boundary: &[(u32, bool)]) -> Self {
        let triangles: Vec<u32> = boundary.iter().map(|&(t, _)| t).collect();
        let mut own = part(mesh, &triangles);
        let inward: Vec<bool> = boundary.iter().map(|&(_, inward)| inward).collect();
        orient::turn(&mut own, &inward);
        let volume = enclosed_volume(&own);
        if volume < 0.0 {
            orient::turn(&mut own, &vec![true; triangles.len()]);
        }
        Self::of(mesh, &triangles, &own, volume.abs())
    }

    /// Whether a point is in the region.
    pub fn contains(&self, x: [f64; 3]) -> bool {
        self.surface.contains(x)
    }

    /// Distance of a point from the boundary.
    pub fn distance(&self, x: [f64; 3]) -> f64 {
        self.surface.nearest(x).map_or(f64::INFINITY, |nearest| nearest.distance)
    }
}

/// Share of a region's size by which rounding may put triangles out of it.
const MARGIN: f64 = 1e-9;

/// The triangles of a mesh, to be told where they lie: many regions are looked up one after
/// another, each in the time that its own surroundings take.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    mesh: &'a Mesh,
    boxes: Vec<Box3>,
    tree: Bvh,
}

impl<'a> Places<'a> {
    /// Of a valid mesh ([`Mesh::validate`]), in O(n log n).
    pub fn new(mesh: &'a Mesh) -> Self {
        let around = |t: usize| Box3::around(&mesh.corners(t));
        let boxes: Vec<Box3> = (0..mesh.triangles.len()).into_par_iter().map(around).collect();
        let tree = Bvh::new(&boxes);
        Self { mesh, boxes, tree }
    }

    /// The triangles that are not outside of a region, in increasing order; triangles joined by
    /// edges, other than edges of the boundary, lie on one side.
    pub fn of(&self, region: &Region) -> Vec<(u32, Position)> {
        let Some(bounds) = region.surface.bounds() else { return Vec::new() };
        // All others are outside.
        let mut near = self.tree.held_by(&bounds.grown(MARGIN * region.size), &self.boxes);
        near.extend(region.boundary.iter().map(|(t, _)| t));
        near.sort_unstable();
        near.dedup();
        let mut positions = vec![Position::Outside; near.len()];
        for &(triangle, inward) in &region.boundary {
            if let Ok(place) = near.binary_search(&triangle) {
                positions[place] = Position::Boundary { inward };
            }
        }
        if near.len() > region.boundary.len() {
            self.settle(region, &near, &mut positions);
        }
        let all = near.into_iter().zip(positions);
        all.filter(|(_, position)| *position != Position::Outside).collect()
    }

    /// Puts the triangles `near` a region inside that are, but for those of its boundary.
    fn settle(&self, region: &Region, near: &[u32], positions: &mut [Position]) {
        let (group_of, count) = components_where(&part(self.mesh, near), |edge| {
            edge.iter().all(|side| positions[side.triangle as usize] == Position::Outside)
        });
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (place, &group) in group_of.iter().enumerate() {
            if positions[place] == Position::Outside {
                groups[group as usize].push(place as u32);
            }
        }
        for group in groups.iter().filter(|group| !group.is_empty()) {
            let triangles: Vec<u32> = group.iter().map(|&place| near[place as usize]).collect();
            if orient::is_within(self.mesh, &triangles, &region.surface, region.size) {
                group.iter().for_each(|&place| positions[place as usize] = Position::Inside);
            }
        }
    }
}

/// The connected parts of a surface, in the order of their first triangles, each with the region
/// that it encloses if taken alone (cavities count as bodies); `None` if it is open or cannot face
/// one side.
///
/// `triangles` are those of the surface, in increasing order. Regions that are `known` are taken
/// where a part is all of their boundary.
pub fn parts(mesh: &Mesh, triangles: &[u32], known: &[Region]) -> Vec<(Vec<u32>, Option<Region>)> {
    if triangles.is_empty() {
        return Vec::new();
    }
    let mut all = part(mesh, triangles);
    let (faced, topology) = orient::face_and_connect(&mut all, Facing::Outward);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); topology.components.len()];
    for (index, &component) in topology.component_of.iter().enumerate() {
        members[component as usize].push(index as u32);
    }
    let first = |region: &Region| region.boundary.first().map(|&(t, _)| t);
    let mut by_first: HashMap<Option<u32>, Vec<&Region>> = HashMap::new();
    known.iter().for_each(|region| by_first.entry(first(region)).or_default().push(region));
    let each = |(component, members): (usize, Vec<u32>)| {
        let index = component as u32;
        let of_mesh: Vec<u32> = members.iter().map(|&m| triangles[m as usize]).collect();
        let bounds = !faced.open.contains(&index) && !faced.unorientable.contains(&index);
        let is_same = |region: &&&Region| {
            region.boundary.len() == of_mesh.len()
                && region.boundary.iter().zip(&of_mesh).all(|((a, _), b)| a == b)
        };
        let region = bounds.then(|| {
            let alike = by_first.get(&of_mesh.first().copied()).into_iter().flatten();
            if let Some(&known) = alike.into_iter().find(is_same) {
                return known.clone();
            }
            let volume = topology.components[component].signed_volume;
            Region::of(mesh, &of_mesh, &part(&all, &members), volume)
        });
        (of_mesh, region)
    };
    members.into_iter().enumerate().map(each).collect()
}

/// The regions that boundaries enclose.
///
/// # Errors
/// The first boundary that encloses none, by its index, with the reason.
pub fn enclosed(mesh: &Mesh, boundaries: &[Vec<u32>]) -> Result<Vec<Region>, (usize, Error)> {
    let region = |(index, boundary): (usize, &Vec<u32>)| {
        Region::new(mesh, boundary).map_err(|problem| (index, problem))
    };
    boundaries.iter().enumerate().map(region).collect()
}

/// The region on either side of each triangle: first that to which its normal points, then the
/// other. Of several regions around a place the smallest counts, so that nested ones need no order;
/// `None` = in no region.
pub fn on_both_sides(mesh: &Mesh, regions: &[Region]) -> Vec<[Option<u32>; 2]> {
    let mut sides = vec![[None; 2]; mesh.triangles.len()];
    let mut order: Vec<usize> = (0..regions.len()).collect();
    // From the largest on, smaller ones take over.
    order.sort_by(|&a, &b| regions[b].volume.total_cmp(&regions[a].volume));
    let places = Places::new(mesh);
    for index in order {
        let here = Some(index as u32);
        for (triangle, position) in places.of(&regions[index]) {
            let sides = &mut sides[triangle as usize];
            match position {
                Position::Inside => *sides = [here; 2],
                Position::Boundary { inward: true } => sides[0] = here,
                Position::Boundary { inward: false } => sides[1] = here,
                Position::Outside => {}
            }
        }
    }
    sides
}

/// The smallest region around a point; `None` = it is in none.
pub fn around(regions: &[Region], x: [f64; 3]) -> Option<u32> {
    let within = regions.iter().enumerate().filter(|(_, region)| region.contains(x));
    let smallest = within.min_by(|(_, a), (_, b)| a.volume.total_cmp(&b.volume));
    smallest.map(|(index, _)| index as u32)
}

/// The centre of a triangle, and the tangents by its second and third barycentric coordinate there.
fn centre(mesh: &Mesh, triangle: usize) -> (Vector, [Vector; 2]) {
    match &mesh.patches {
        Some(patches) => {
            let (order, nodes, at) = (patches.order, patches.of(triangle), [1.0 / 3.0; 3]);
            (curved::point(order, nodes, at), curved::tangents(order, nodes, at))
        }
        None => {
            let [a, b, c] = mesh.corners(triangle);
            let (ab, ac) = (sub(b, a), sub(c, a));
            (add(a, scale(1.0 / 3.0, add(ab, ac))), [ab, ac])
        }
    }
}

/// The volume behind the triangles of a closed surface, negative if they face inward.
pub(crate) fn enclosed_volume(surface: &Mesh) -> f64 {
    let origin = surface.corners(0)[0];
    let of = |k: usize| match &surface.patches {
        Some(patches) => measure::cone(patches, k, origin),
        None => {
            let [a, b, c] = surface.corners(k).map(|v| sub(v, origin));
            dot(a, cross(b, c)) / 6.0
        }
    };
    (0..surface.triangles.len()).map(of).sum()
}

/// A part with fewer triangles than this share of the mesh's vertices has vertices of its own.
const SHARE: usize = 8;

/// Some triangles of a mesh as a mesh without groups. Vertices keep their order.
pub(crate) fn part(mesh: &Mesh, triangles: &[u32]) -> Mesh {
    let own = triangles.iter().map(|&t| mesh.triangles[t as usize]);
    let (vertices, own): (_, Vec<[u32; 3]>) = if SHARE * triangles.len() < mesh.vertices.len() {
        let mut used: Vec<u32> = own.clone().flatten().collect();
        used.sort_unstable();
        used.dedup();
        let renumbered = |v: u32| used.partition_point(|&known| known < v) as u32;
        let own = own.map(|corners| corners.map(renumbered)).collect();
        (used.iter().map(|&v| mesh.vertices[v as usize]).collect(), own)
    } else {
        (mesh.vertices.clone(), own.collect())
    };
    Mesh {
        vertices,
        triangles: own,
        membership: vec![0; triangles.len()],
        memberships: vec![vec![]],
        patches: mesh.patches.as_ref().map(|patches| {
            let nodes = triangles.iter().flat_map(|&t| patches.of(t as usize)).copied();
            Patches { order: patches.order, nodes: nodes.collect() }
        }),
        ..Mesh::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::bounded;
    use crate::generate::{ConcentricSpheres, Cube, Resolution, Sphere, SphereBase, TwoSpheres};
    use crate::join::joined;
    use crate::patch::MAX_ORDER;

    fn all(mesh: &Mesh) -> Vec<u32> {
        (0..mesh.triangles.len() as u32).collect()
    }

    fn concentric() -> Mesh {
        let resolution = Resolution::Elements(144);
        let base = SphereBase::Octahedron;
        ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution }
            .build()
            .unwrap()
    }

    fn group(mesh: &Mesh, index: u32) -> Vec<u32> {
        all(mesh).into_iter().filter(|&t| mesh.groups_of(t as usize) == [index]).collect()
    }

    #[test]
    fn orientation_follows_from_what_is_enclosed() {
        let mut mesh = concentric();
        // Turn every other triangle: the stored orientation is ignored.
        mesh.triangles.iter_mut().step_by(2).for_each(|t| t.swap(1, 2));
        let shell = Region::new(&mesh, &all(&mesh)).unwrap();
        for x in [[0.1, 0.2, 0.0], [1.5, 0.1, 0.2], [3.0, 0.0, 0.1]] {
            assert_eq!(shell.contains(x), x[0] == 1.5, "{x:?}");
        }
        let inner = Region::new(&mesh, &group(&mesh, 0)).unwrap();
        let outer = Region::new(&mesh, &group(&mesh, 1)).unwrap();
        assert!((shell.volume - (outer.volume - inner.volume)).abs() < 1e-12);
        for &(triangle, inward) in &inner.boundary {
            assert_eq!(inward, triangle % 2 == 0);
        }
    }

    #[test]
    fn nested_regions_need_no_order() {
        let mesh = concentric();
        let (inner, outer) = (group(&mesh, 0), group(&mesh, 1));
        // Normals point away from the centre; the core is region `core`, what lies around it region
        // `coat`.
        for (boundaries, core, coat) in
            [([inner.clone(), outer.clone()], 0, 1), ([outer.clone(), inner.clone()], 1, 0)]
        {
            let regions = enclosed(&mesh, &boundaries).unwrap();
            let sides = on_both_sides(&mesh, &regions);
            assert!(inner.iter().all(|&t| sides[t as usize] == [Some(coat), Some(core)]));
            assert!(outer.iter().all(|&t| sides[t as usize] == [None, Some(coat)]));
            assert_eq!(around(&regions, [0.1, 0.0, 0.2]), Some(core));
            assert_eq!(around(&regions, [0.1, 1.5, 0.2]), Some(coat));
            assert_eq!(around(&regions, [0.1, 2.5, 0.2]), None);
        }
        // A region next to another, and a surface that bounds none.
        let regions = enclosed(&mesh, std::slice::from_ref(&outer)).unwrap();
        let sides = on_both_sides(&mesh, &regions);
        assert!(inner.iter().all(|&t| sides[t as usize] == [Some(0), Some(0)]));
    }

    /// Two boxes side by side that share a wall, as a mesher has them.
    #[test]
    fn bodies_that_share_a_wall_have_it_between_them() {
        let resolution = Resolution::Elements(48);
        let mut mesh = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
        // The wall is where x is largest; the other box is its mirror image there.
        let wall = mesh.vertices.iter().map(|v| v[0]).fold(f64::MIN, f64::max);
        let count = mesh.vertices.len() as u32;
        let mirror: Vec<u32> = (0..count)
            .map(|v| {
                let [x, y, z] = mesh.vertices[v as usize];
                if x == wall {
                    return v;
                }
                mesh.vertices.push([2.0 * wall - x, y, z]);
                mesh.vertices.len() as u32 - 1
            })
            .collect();
        let first = all(&mesh);
        let mut second = Vec::new();
        for &t in &first {
            let corners = mesh.triangles[t as usize].map(|v| mirror[v as usize]);
            if corners == mesh.triangles[t as usize] {
                second.push(t);
                continue;
            }
            second.push(mesh.triangles.len() as u32);
            mesh.triangles.push(corners);
            mesh.membership.push(0);
        }
        let shared: Vec<u32> = first.iter().copied().filter(|t| second.contains(t)).collect();
        assert_eq!(shared.len(), first.len() / 6);
        let regions = enclosed(&mesh, &[first.clone(), second.clone()]).unwrap();
        assert!((regions[0].volume - regions[1].volume).abs() < 1e-12);
        let sides = on_both_sides(&mesh, &regions);
        for t in all(&mesh) {
            let expected = match (first.contains(&t), second.contains(&t)) {
                (true, true) => [Some(1), Some(0)],
                (true, false) => [None, Some(0)],
                // Mirrored: normals point inward.
                _ => [Some(1), None],
            };
            assert_eq!(sides[t as usize], expected);
        }
        // Together they meet along edges, and enclose nothing as one part.
        let found = parts(&mesh, &all(&mesh), &[]);
        assert!(found.len() == 1 && found[0].1.is_none());
    }

    /// A box of which each face is meshed by itself, three of them finer, all turned at random.
    #[test]
    fn pieces_without_common_edges_bound_a_region() {
        let faces = |elements: usize| {
            let resolution = Resolution::Elements(elements);
            Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap()
        };
        let (coarse, fine) = (faces(48), faces(108));
        let mut mesh = Mesh::default();
        for (source, upper) in [(&coarse, false), (&fine, true)] {
            for t in 0..source.triangles.len() {
                let corners = source.corners(t);
                let lies = |k: usize| corners.iter().all(|v| v[k] > 0.999);
                if (0..3).any(lies) == upper {
                    let first = mesh.vertices.len() as u32;
                    mesh.vertices.extend(corners);
                    let turned = [[first, first + 1, first + 2], [first, first + 2, first + 1]];
                    mesh.triangles.push(turned[t % 2]);
                }
            }
        }
        mesh.membership = vec![0; mesh.triangles.len()];
        mesh.memberships = vec![vec![]];
        assert!(parts(&mesh, &all(&mesh), &[]).iter().all(|(_, region)| region.is_none()));
        let region = Region::of_pieces(&mesh, &all(&mesh)).unwrap();
        assert!((region.volume - 8.0).abs() < 1e-12, "{}", region.volume);
        let outward = |&(t, inward): &(u32, bool)| {
            let [a, b, c] = mesh.corners(t as usize);
            (dot(a, cross(sub(b, a), sub(c, a))) > 0.0) != inward
        };
        assert!(region.boundary.iter().all(outward));
        assert!(region.contains([0.9, 0.8, -0.7]) && !region.contains([1.1, 0.0, 0.0]));
        // Without its lid it is no body.
        let open: Vec<u32> = all(&mesh)
            .into_iter()
            .filter(|&t| mesh.corners(t as usize).iter().any(|v| v[2] < 0.999))
            .collect();
        assert!(open.len() < mesh.triangles.len());
        assert!(Region::of_pieces(&mesh, &open).is_none());
        // Nor without a fiftieth of its surface, wherever that is.
        for gone in (0..24).map(|t| 3 * t % 24) {
            let open: Vec<u32> = all(&mesh).into_iter().filter(|&t| t != gone).collect();
            assert!(Region::of_pieces(&mesh, &open).is_none(), "{gone}");
        }
    }

    /// Whatever the unit of length.
    #[test]
    fn bodies_that_face_as_told_are_turned_only_where_they_enclose_less_than_nothing() {
        let resolution = Resolution::Elements(12);
        for edge in [1e-3, 1.0, 1e3] {
            let mesh = Cube { edge, grade: 1.0, resolution }.build().unwrap();
            for inward in [false, true] {
                let told: Vec<(u32, bool)> = all(&mesh).into_iter().map(|t| (t, inward)).collect();
                let region = Region::faced(&mesh, &told);
                assert!((region.volume / edge.powi(3) - 1.0).abs() < 1e-12);
                assert!(region.boundary.iter().all(|(_, inward)| !inward), "{edge} {inward}");
            }
        }
    }

    /// A coat thinner than what its triangles and those of the core are off from flat ones, each of
    /// another mesh: flat triangles go through each other.
    #[test]
    fn thin_coats_of_curved_triangles_are_around_their_cores() {
        for order in 2..=MAX_ORDER {
            let sphere = |radius: f64, base, elements| {
                let resolution = Resolution::Elements(elements);
                Sphere { radius, base, resolution }.build_curved(order).unwrap()
            };
            let core = sphere(1.0, SphereBase::Icosahedron, 80);
            let coat = sphere(1.02, SphereBase::Octahedron, 32);
            let count = core.triangles.len() as u32;
            let mut mesh = joined(vec![("core".into(), core), ("coat".into(), coat)]);
            let every_third: Vec<bool> = (0..mesh.triangles.len()).map(|t| t % 3 == 0).collect();
            orient::turn(&mut mesh, &every_third);
            let boundaries: [Vec<u32>; 2] =
                [(0..count).collect(), (count..mesh.triangles.len() as u32).collect()];
            let regions = enclosed(&mesh, &boundaries).unwrap();
            let ball = |r: f64| 4.0 / 3.0 * std::f64::consts::PI * r * r * r;
            assert!((regions[0].volume / ball(1.0) - 1.0).abs() < 0.01);
            assert!((regions[1].volume / ball(1.02) - 1.0).abs() < 0.02);
            let sides = on_both_sides(&mesh, &regions);
            for t in all(&mesh) {
                let (within, around) = if t < count { (0, Some(1)) } else { (1, None) };
                let mut expected = [around, Some(within)];
                if t % 3 == 0 {
                    expected.reverse();
                }
                assert_eq!(sides[t as usize], expected, "{order}: {t}");
            }
            // Below and above the flat triangles of the core.
            let facet = mesh.corners(7);
            let middle = facet.iter().fold([0.0; 3], |sum, x| add(sum, *x));
            let toward = scale(1.0 / norm(middle), middle);
            for (radius, expected) in [(0.9, Some(0)), (0.985, Some(0)), (1.1, None)] {
                assert_eq!(around(&regions, scale(radius, toward)), expected, "{order}: {radius}");
            }
            assert!((regions[0].distance(scale(0.5, toward)) - 0.5).abs() < 0.01);
            // Faced as told, as pieces, and as cells, it is the same space.
            let turned: Vec<(u32, bool)> = boundaries[0].iter().map(|&t| (t, t % 3 == 0)).collect();
            let cells = bounded(&mesh, |t| (t as u32) < count);
            assert_eq!(cells.len(), 1);
            let pieces = Region::of_pieces(&mesh, &boundaries[0]).unwrap();
            for region in [Region::faced(&mesh, &turned), pieces, cells[0].clone()] {
                assert!((region.volume - regions[0].volume).abs() < 1e-12);
                assert!(region.contains(scale(0.985, toward)));
                let mut boundary = region.boundary.clone();
                boundary.sort_unstable();
                assert_eq!(boundary, regions[0].boundary);
            }
        }
    }

    #[test]
    fn what_bounds_nothing_is_told() {
        let mesh = concentric();
        let inner = group(&mesh, 0);
        let found = Region::new(&mesh, &inner[1..]).unwrap_err();
        assert!(matches!(found, Error::Open { edges: 3, .. }), "{found}");
        assert_eq!(Region::new(&mesh, &[]).unwrap_err(), Error::Empty);
        let others: Vec<u32> = all(&mesh).into_iter().filter(|&t| t != inner[0]).collect();
        let found = parts(&mesh, &others, &[]);
        assert_eq!(
            found.iter().map(|(_, region)| region.is_some()).collect::<Vec<_>>(),
            [false, true]
        );
    }

    #[test]
    fn parts_are_bodies_of_their_own() {
        let (resolution, base) = (Resolution::Elements(144), SphereBase::Octahedron);
        let apart = TwoSpheres { radius: 1.0, distance: 2.5, base, resolution }.build().unwrap();
        for mesh in [apart, concentric()] {
            let found = parts(&mesh, &all(&mesh), &[]);
            assert_eq!(found.len(), 2);
            for (index, (triangles, region)) in found.into_iter().enumerate() {
                assert_eq!(triangles, group(&mesh, index as u32));
                let region = region.unwrap();
                assert!(region.volume > 0.0);
                assert!(region.boundary.iter().all(|(_, inward)| !inward));
            }
        }
    }
}
