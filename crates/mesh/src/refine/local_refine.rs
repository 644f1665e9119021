//! Local refinement: triangles next to some points are split into four until they are small enough,
//! those around them so that the mesh stays conforming.
//!
//! Red-green refinement (Bank, Sherman, Weiser, in: Scientific Computing, IMACS 1983): a triangle
//! of which two sides are halved, or one side twice, is split into four like it; the rest with
//! one halved side is cut in two. The result is the smallest such mesh: it does not depend on the
//! order of triangles, and turns and moves with the surface. Triangles that are cut in two are not
//! split again, so angles are bounded from below however deep the splitting goes.

use std::collections::HashMap;

use parallel::prelude::*;

use crate::geometry::curved::{self, Barycentric, CORNERS, QUARTERS};
use crate::geometry::flat::triangle::distance_squared;
use crate::refine::Error;
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, longest_side};

/// Lengths, or angles, that differ by no more than rounding count as equal.
#[doc(hidden)]
pub const EQUAL: f64 = 1.0 + 1e-9;

/// How small triangles have to be next to points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// A point calls for smaller triangles if the longest side of some triangle is more than this
    /// times its distance from the point.
    pub coarse: f64,
    /// Then all triangles are split whose longest side is more than this times their distance from
    /// that point.
    pub ratio: f64,
    /// The least distance that counts, in the mesh's unit: closer points count as this far away.
    pub floor: f64,
    /// Triangles that the mesh may have.
    pub most: usize,
}

/// The mesh with small triangles next to those `points` that call for them; unchanged where none
/// does. Groups are inherited, and the surface stays as it is.
///
/// # Errors
/// [`Error::TooMany`].
pub fn around_points(mesh: &Mesh, points: &[[f64; 3]], sizes: Sizes) -> Result<Mesh, Error> {
    let Sizes { coarse, ratio, floor, most } = sizes;
    let near = Points::new(mesh, points, coarse.min(ratio));
    let all = |t: usize| near.reaching(mesh.corners(t), coarse, floor);
    let mut calls = vec![false; points.len()];
    let calling: Vec<u32> = (0..mesh.triangles.len()).into_par_iter().flat_map_iter(all).collect();
    calling.into_iter().for_each(|k| calls[k as usize] = true);
    if !calls.contains(&true) {
        return Ok(mesh.clone());
    }
    let mut split = Splitting::new(mesh);
    let too_long = |corners: [Vector; 3]| {
        near.reaching(corners, ratio, floor).into_iter().any(|k| calls[k as usize])
    };
    let mut waiting: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
    while let Some(t) = waiting.pop() {
        if split.is_split[t as usize] || !too_long(split.mesh.corners(t as usize)) {
            continue;
        }
        let before = split.mesh.triangles.len();
        split.split(t);
        let after = split.mesh.triangles.len();
        if after > most {
            return Err(Error::TooMany(after as u64));
        }
        waiting.extend(before as u32..after as u32);
    }
    Ok(split.closed())
}

/// A mesh while triangles are split; split triangles remain, with a mark.
struct Splitting {
    mesh: Mesh,
    is_split: Vec<bool>,
    /// Triangles not split at each side, the smaller index first.
    at: HashMap<[u32; 2], Vec<u32>>,
    /// The vertex in the middle of a side.
    middles: HashMap<[u32; 2], u32>,
    /// The side that such a vertex is the middle of.
    parents: HashMap<u32, [u32; 2]>,
}

fn sides([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [(a, b), (b, c), (c, a)].map(|(a, b)| [a.min(b), a.max(b)])
}

impl Splitting {
    fn new(mesh: &Mesh) -> Self {
        let mut at: HashMap<[u32; 2], Vec<u32>> = HashMap::with_capacity(2 * mesh.triangles.len());
        for (t, &corners) in (0..).zip(&mesh.triangles) {
            sides(corners).into_iter().for_each(|side| at.entry(side).or_default().push(t));
        }
        Self {
            mesh: mesh.clone(),
            is_split: vec![false; mesh.triangles.len()],
            at,
            middles: HashMap::new(),
            parents: HashMap::new(),
        }
    }

    /// The vertex in the middle of a side, which is a triangle's at these coordinates.
    fn middle(&mut self, [a, b]: [u32; 2], t: u32, at: Barycentric) -> u32 {
        *self.middles.entry([a, b]).or_insert_with(|| {
            let (p, q) = (self.mesh.vertices[a as usize], self.mesh.vertices[b as usize]);
            let middle = self.mesh.vertices.len() as u32;
            self.mesh.vertices.push(match &self.mesh.patches {
                Some(patches) => curved::point(patches.order, patches.of(t as usize), at),
                None => std::array::from_fn(|k| f64::midpoint(p[k], q[k])),
            });
            self.parents.insert(middle, [a, b]);
            middle
        })
    }

    /// Splits a triangle into four, and others until none has two halved sides, or one that is
    /// halved twice.
    fn split(&mut self, first: u32) {
        let mut waiting = vec![first];
        while let Some(t) = waiting.pop() {
            if std::mem::replace(&mut self.is_split[t as usize], true) {
                continue;
            }
            let corners @ [a, b, c] = self.mesh.triangles[t as usize];
            let own = sides(corners);
            for side in own {
                if let Some(at) = self.at.get_mut(&side) {
                    at.retain(|&other| other != t);
                }
            }
            let [ab, bc, ca] =
                std::array::from_fn(|side| self.middle(own[side], t, QUARTERS[3][side]));
            let set = self.mesh.membership[t as usize];
            let children = [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]];
            for (child, part) in children.into_iter().zip(QUARTERS) {
                self.mesh.with_patches(|mesh, patches| {
                    let parent = patches.of(t as usize).to_vec();
                    patches.push_part(&parent, part, child.map(|v| mesh.vertices[v as usize]));
                });
                let index = self.mesh.triangles.len() as u32;
                self.mesh.triangles.push(child);
                self.mesh.membership.push(set);
                self.is_split.push(false);
                for side in sides(child) {
                    self.at.entry(side).or_default().push(index);
                }
                // A neighbour may have been split further.
                if self.has_to_be_split(index) {
                    waiting.push(index);
                }
            }
            for side in own {
                let neighbours = self.at.get(&side).into_iter().flatten().copied();
                let neighbours: Vec<u32> =
                    neighbours.filter(|&other| self.has_to_be_split(other)).collect();
                waiting.extend(neighbours);
                // A triangle that has this side as half of one of its own would have its side
                // halved twice: it is the triangle at the longer side.
                waiting.extend(self.over(side));
            }
        }
    }

    /// Triangles not split of which `side` is half a side: one end of it is then the middle of
    /// theirs.
    fn over(&self, side: [u32; 2]) -> Vec<u32> {
        let whole = side.iter().filter_map(|middle| self.parents.get(middle));
        let whole = whole.filter(|whole| side.iter().any(|end| whole.contains(end)));
        whole.filter_map(|whole| self.at.get(whole)).flatten().copied().collect()
    }

    fn has_to_be_split(&self, t: u32) -> bool {
        let halved: Vec<([u32; 2], u32)> = sides(self.mesh.triangles[t as usize])
            .into_iter()
            .filter_map(|side| self.middles.get(&side).map(|&middle| (side, middle)))
            .collect();
        let again = |&([a, b], m): &([u32; 2], u32)| {
            [a, b].iter().any(|&end| self.middles.contains_key(&[end.min(m), end.max(m)]))
        };
        halved.len() > 1 || halved.iter().any(again)
    }

    /// The mesh without the triangles that were split, and those with one halved side cut in two.
    fn closed(self) -> Mesh {
        let Self { mesh, is_split, middles, .. } = self;
        let mut patches = mesh.patches.as_ref().map(|patches| Patches::new(patches.order));
        let (mut triangles, mut membership) = (Vec::new(), Vec::new());
        for (t, corners) in mesh.triangles.iter().enumerate().filter(|(t, _)| !is_split[*t]) {
            let halved =
                sides(*corners).into_iter().find_map(|side| Some((side, *middles.get(&side)?)));
            let parts = match halved {
                None => vec![*corners],
                // Each half has the middle in place of one end.
                Some((side, middle)) => {
                    side.map(|end| corners.map(|v| if v == end { middle } else { v })).to_vec()
                }
            };
            for part in parts {
                triangles.push(part);
                membership.push(mesh.membership[t]);
                let (Some(from), Some(to)) = (&mesh.patches, &mut patches) else { continue };
                let of_end = |v: &u32| corners.iter().position(|corner| corner == v);
                let at = |v: u32| {
                    let share = |k: usize| match (of_end(&v), halved) {
                        (Some(own), _) => CORNERS[own][k],
                        (None, Some((side, _))) if side.contains(&corners[k]) => 0.5,
                        _ => 0.0,
                    };
                    std::array::from_fn(share)
                };
                let places = part.map(|v| mesh.vertices[v as usize]);
                to.push_part(from.of(t), part.map(at), places);
            }
        }
        Mesh { triangles, membership, patches, ..mesh }
    }
}

/// Points by the cells of a grid that they are in or next to.
struct Points<'a> {
    points: &'a [[f64; 3]],
    cell: f64,
    cells: HashMap<[i64; 3], Vec<u32>>,
}

impl<'a> Points<'a> {
    /// For triangles of `mesh` and their parts, and points next to which these are long by `ratio`
    /// or more.
    fn new(mesh: &Mesh, points: &'a [[f64; 3]], ratio: f64) -> Self {
        let triangles = (0..mesh.triangles.len()).into_par_iter();
        let longest = triangles.map(|t| longest_side(mesh.corners(t))).reduce(|| 0.0, f64::max);
        // A triangle reaches as far as its longest side, and points matter as far as that over the
        // ratio.
        let cell = longest * (1.0 + 1.0 / ratio);
        let cell = if cell > 0.0 { cell } else { 1.0 };
        let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
        for (k, point) in (0..).zip(points) {
            let [x, y, z] = point.map(|x| (x / cell).floor() as i64);
            let around = (-1..=1).flat_map(|i| (-1..=1).map(move |j| (i, j)));
            let around = around.flat_map(|(i, j)| (-1..=1).map(move |k| [x + i, y + j, z + k]));
            around.for_each(|cell| cells.entry(cell).or_default().push(k));
        }
        Self { points, cell, cells }
    }

    /// Points next to which the longest side of a triangle is more than `ratio` times its distance
    /// from them.
    fn reaching(&self, corners: [Vector; 3], ratio: f64, floor: f64) -> Vec<u32> {
        let longest = longest_side(corners);
        let cell = corners[0].map(|x| (x / self.cell).floor() as i64);
        let is_reached = |&&k: &&u32| {
            let distance = distance_squared(self.points[k as usize], corners).sqrt();
            longest > ratio * distance.max(floor) * EQUAL
        };
        self.cells.get(&cell).into_iter().flatten().filter(is_reached).copied().collect()
    }
}
