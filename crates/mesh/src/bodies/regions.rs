//! Regions of space bounded by closed surfaces: which region lies on either side of each triangle.
//!
//! Stored orientations are not trusted: surfaces are turned by what they enclose
//! ([`crate::bodies::orient`]), and what lies inside is decided by winding numbers
//! ([`crate::queries::locate`]). Surfaces must not go through each other
//! ([`crate::queries::intersect`]).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parallel::prelude::*;
use thiserror::Error;

use crate::bodies::orient::{self, Facing};
use crate::geometry::bvh::{Box3, Bvh};
use crate::geometry::curved;
use crate::measure;
use crate::queries::locate::Locator;
use crate::surface::{Mesh, Patches};
use crate::topology::{Sides, components_where};
use crate::vector::{Vector, add, area_normal, cross, dot, norm, scale, sub};
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
            let mut area = scale(0.5, area_normal(own.corners(k)));
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
        let boxes = (0..triangles.len()).map(|t| Box3::around(&own.corners(t)));
        let bounds = boxes.fold(Box3::EMPTY, |all, one| all.joined(&one));
        Self {
            boundary: triangles.iter().enumerate().map(turned).collect(),
            volume,
            surface: Arc::new(Locator::new(own)),
            size: bounds.size().max(f64::MIN_POSITIVE),
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

/// Locates the triangles of a mesh: many regions are looked up one after
/// another, each in the time that its own surroundings take.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    mesh: &'a Mesh,
    /// Boxes around the triangles and their tree, made for the first region.
    boxes: OnceLock<(Vec<Box3>, Bvh)>,
}

impl<'a> Places<'a> {
    /// Of a valid mesh ([`Mesh::validate`]). The first look-up takes O(n log n).
    pub fn new(mesh: &'a Mesh) -> Self {
        Self { mesh, boxes: OnceLock::new() }
    }

    /// The triangles that are not outside of a region, in increasing order; triangles joined by
    /// edges, other than edges of the boundary, lie on one side.
    pub fn of(&self, region: &Region) -> Vec<(u32, Position)> {
        let Some(bounds) = region.surface.bounds() else { return Vec::new() };
        // All others are outside.
        let (boxes, tree) = self.boxes.get_or_init(|| {
            let around = |t: usize| Box3::around(&self.mesh.corners(t));
            let all = 0..self.mesh.triangles.len();
            let boxes: Vec<Box3> = all.into_par_iter().map(around).collect();
            let tree = Bvh::new(&boxes);
            (boxes, tree)
        });
        let mut near = tree.held_by(&bounds.grown(MARGIN * region.size), boxes);
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
    let members = topology.members();
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
