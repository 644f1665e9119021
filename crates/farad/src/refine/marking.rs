//! Which sides of triangles to split so that errors get shorter, and how often.
//!
//! Sides whose expected gain is still too large after a split are split again before the next
//! solve, so that several layers at a time appear along edges; `foresight` says how much is too
//! large.

use std::collections::{HashMap, HashSet};

use bem::Density;
use mesh::creases::Creases;
use mesh::curved;
use mesh::split::{self, Split};
use mesh::{Mesh, vector};
use parallel::prelude::*;

use crate::problem::fault::Error;
use crate::problem::{Problem, edges};
use crate::refine::descent::Descent;
use crate::refine::foresight::{self, Foresight, GROWTH, Gain, Left};

/// Sides that end on an edge are split at this fraction from it: densities are singular there, and
/// elements should shrink by more than half.
const GRADING: f64 = 0.3;

/// Triangles by which a step adds more than was foreseen, since others are split along.
const ALONG: f64 = 1.5;

/// Triangles longer than this many times twice their height are cut across, too: integrals over
/// longer ones lose digits.
const LONGEST: f64 = 300.0;

/// Those longer by this factor are cut across alone.
const MUCH: f64 = 2.0;

/// As [`LONGEST`], for curved triangles, whose integrals have no closed forms, and for those that
/// lie in a plane, as at rims: they have no fields on each other.
const LONGEST_CURVED: f64 = 8.0;
const LONGEST_IN_PLANE: f64 = 16.0;

/// Nodes this near to the plane of the corners, relative to the longest side, lie in it.
const IN_PLANE: f64 = 1e-9;

/// Parts of curved triangles are stretched by no less, and sides of those longer than `LONG`
/// heights bent by no more than this share of their height, where the whole is not: integrals over
/// narrow ones that bend along each other take a hundred times as long.
pub const LEAST_STRETCH: f64 = 0.5;
/// See there.
pub const LONG: f64 = 4.0;
/// See there.
pub const MOST_BENT: f64 = 0.1;

/// A side of triangles, the lower vertex first.
pub(crate) type Side = (u32, u32);

pub(crate) fn side(a: u32, b: u32) -> Side {
    (a.min(b), a.max(b))
}

/// Gain of splitting each side of a mesh, and the surface of each triangle.
#[derive(Clone)]
pub(crate) struct Marks<'a> {
    pub(crate) gains: HashMap<Side, f64>,
    pub(crate) surfaces: Vec<Option<u32>>,
    pub(crate) density: Density,
    pub(crate) mesh: &'a Mesh,
}

impl Marks<'_> {
    /// The mesh on which errors should be `share` of what they are, or closer to that, and where
    /// its triangles are in this one.
    pub(crate) fn next_mesh(&self, share: f64) -> Result<(Mesh, Descent), mesh::refine::Error> {
        let threshold = self.foresight().threshold(share);
        let most = (ALONG * GROWTH * self.mesh.triangles.len() as f64) as usize;
        let mut mesh = self.mesh.clone();
        let mut descent = Descent::none(mesh.triangles.len());
        let (mut gains, mut surfaces) = (self.gains.clone(), self.surfaces.clone());
        for layer in 0..foresight::layers(self.density) {
            let mut marked: Vec<Side> =
                gains.iter().filter(|g| *g.1 > threshold).map(|g| *g.0).collect();
            if marked.is_empty() {
                break;
            }
            with_needles(&mesh, &mut marked);
            let creases = edges::of(&mesh, &surfaces);
            let unfolded = split_unfolded(&mesh, &creases, &mut marked)?;
            if layer > 0 && unfolded.split.mesh.triangles.len() > most {
                break;
            }
            // New vertices are in the order of their sides.
            marked.sort_unstable();
            gains = self.gains_after(&gains, &mesh, &creases, &marked, &unfolded);
            let split = unfolded.split;
            surfaces = split.parent.iter().map(|&t| surfaces[t as usize]).collect();
            descent = descent.then(&split);
            mesh = split.mesh;
        }
        Ok((mesh, descent))
    }

    fn foresight(&self) -> Foresight {
        let creases = edges::of(self.mesh, &self.surfaces);
        let gain = |(&(p, q), &of): (&Side, &f64)| {
            let ends_at_edge = creases.is_on(p) != creases.is_on(q);
            Gain { of, ends_at_edge }
        };
        let gains = self.gains.iter().map(gain).collect();
        Foresight::new(gains, self.mesh.triangles.len(), self.density)
    }

    /// Expected gains of sides of the new mesh, if those of the `old` one had these gains.
    fn gains_after(
        &self,
        gains: &HashMap<Side, f64>,
        old: &Mesh,
        creases: &Creases,
        marked: &[Side],
        Unfolded { split, halved }: &Unfolded,
    ) -> HashMap<Side, f64> {
        let left = Left::of(self.density);
        let mut after: HashMap<Side, f64> = gains.clone();
        for (&(p, q), v) in marked.iter().zip(old.vertices.len() as u32..) {
            let Some(gain) = after.remove(&(p, q)) else { continue };
            let [of_p, of_q] = match (creases.is_on(p), creases.is_on(q)) {
                _ if halved.contains(&(p, q)) => [left.half; 2],
                (true, false) => [left.next_to_edge, left.beyond],
                (false, true) => [left.beyond, left.next_to_edge],
                _ => [left.half; 2],
            };
            after.insert(side(p, v), of_p * gain);
            after.insert(side(q, v), of_q * gain);
        }
        // Diagonals through a layer gain what the sides next to them do.
        let is_old = |v: u32| (v as usize) < old.vertices.len();
        let is_on = |v: u32| is_old(v) && creases.is_on(v);
        let mut diagonals = Vec::new();
        for corners in &split.mesh.triangles {
            let sides = [0, 1, 2].map(|k| (corners[k], corners[(k + 1) % 3]));
            let known = |&(a, b): &(u32, u32)| after.get(&side(a, b)).copied();
            for (a, b) in sides {
                if !after.contains_key(&side(a, b)) && is_on(a) != is_on(b) {
                    let others = sides.iter().filter(|(a, b)| is_on(*a) != is_on(*b));
                    let gain = others.filter_map(known).fold(0.0, f64::max);
                    diagonals.push((side(a, b), gain));
                }
            }
        }
        for (diagonal, gain) in diagonals {
            let known = after.entry(diagonal).or_default();
            *known = known.max(gain);
        }
        after
    }
}

impl Problem {
    /// The mesh it is solved on with about four triangles for each, graded toward edges: sides that
    /// end on one (more than 20 degrees, a rim, a line where several surfaces meet) are cut closer
    /// to it, all others in the middle. Repeated, triangles at edges get smaller by the same factor
    /// each time, as singular densities need it. Curved triangles are split on the curve.
    ///
    /// # Errors
    /// [`Error::Accuracy`] where triangles are too many to number.
    pub fn refined_toward_edges(&self) -> Result<Mesh, Error> {
        let creases = edges::of(&self.mesh, &edges::surfaces(self));
        let sides = |&[a, b, c]: &[u32; 3]| [side(a, b), side(b, c), side(c, a)];
        let mut marked: Vec<Side> = self.mesh.triangles.iter().flat_map(sides).collect();
        marked.sort_unstable();
        marked.dedup();
        let split = split_unfolded(&self.mesh, &creases, &mut marked);
        Ok(split.map_err(|error| Error::Accuracy(error.to_string()))?.split.mesh)
    }
}

/// A mesh with marked sides split, and which of these in the middle, although they lead away from
/// an edge.
struct Unfolded {
    split: Split,
    halved: HashSet<Side>,
}

/// The mesh with marked sides split, and the longest sides of needles of which another is marked.
pub(crate) fn split_sides(
    mesh: &Mesh,
    creases: &Creases,
    marked: &mut Vec<Side>,
) -> Result<Split, mesh::refine::Error> {
    with_needles(mesh, marked);
    Ok(split_unfolded(mesh, creases, marked)?.split)
}

/// The mesh with marked sides split. Layers along a curved side that are no wider than it is bent
/// would fold: there it is split along, too. Where that is not enough, the triangle is quartered,
/// which halves its bend relative to its width.
fn split_unfolded(
    mesh: &Mesh,
    creases: &Creases,
    marked: &mut Vec<Side>,
) -> Result<Unfolded, mesh::refine::Error> {
    let mut halved: HashSet<Side> = HashSet::new();
    let mut whole: HashSet<Side> = HashSet::new();
    let all_evenness = |mesh: &Mesh| -> Vec<f64> {
        let Some(patches) = &mesh.patches else { return Vec::new() };
        let of = |t: usize| evenness(patches.order, patches.of(t));
        (0..mesh.triangles.len()).into_par_iter().map(of).collect()
    };
    let was = all_evenness(mesh);
    loop {
        let grading = |side: Side| if halved.contains(&side) { 0.5 } else { GRADING };
        let split = split::edges(mesh, creases, marked, grading)?;
        let Some(old) = &mesh.patches else { return Ok(Unfolded { split, halved }) };
        let mut narrow: Vec<u32> = Vec::new();
        for (of_child, &parent) in all_evenness(&split.mesh).into_iter().zip(&split.parent) {
            // A triangle that is uneven already is not made worse.
            let least = LEAST_STRETCH.min(0.9 * was[parent as usize]);
            if narrow.last() != Some(&parent) && of_child < least {
                narrow.push(parent);
            }
        }
        let was_marked: HashSet<Side> = marked.iter().copied().collect();
        let (mut known, was_halved) = (was_marked.clone(), halved.clone());
        let before = (known.len(), halved.len(), whole.len());
        for &t in &narrow {
            let corners = mesh.triangles[t as usize];
            let sides = [0, 1, 2].map(|k| side(corners[k], corners[(k + 1) % 3]));
            let bends = [0, 1, 2].map(|k| curved::bend(old.order, old.of(t as usize), k));
            let most = (0..3).fold(0, |most, k| if bends[k] > bends[most] { k } else { most });
            if !was_marked.contains(&sides[most]) && !whole.contains(&sides[most]) {
                known.insert(sides[most]);
            } else if !sides.iter().all(|side| was_halved.contains(side)) {
                known.extend(sides);
                halved.extend(sides);
            } else {
                // Triangles that cannot be split well stay whole.
                whole.extend(sides);
            }
        }
        known.retain(|side| !whole.contains(side));
        if narrow.is_empty() || before == (known.len(), halved.len(), whole.len()) {
            return Ok(Unfolded { split, halved });
        }
        *marked = known.into_iter().collect();
        marked.sort_unstable();
    }
}

/// The least stretch of a curved triangle; less where it is long and its sides are bent.
pub fn evenness(order: usize, nodes: &[vector::Vector]) -> f64 {
    let stretch = curved::least_stretch(order, nodes);
    let sides = [0, 1, 2].map(|k| vector::sub(nodes[(k + 1) % 3], nodes[k]));
    let longest = sides.iter().map(|&side| vector::norm(side)).fold(0.0, f64::max);
    let height = vector::norm(vector::cross(sides[0], sides[1])) / longest;
    if longest <= LONG * height {
        return stretch;
    }
    let bend = (0..3).map(|side| curved::bend(order, nodes, side)).fold(0.0, f64::max);
    stretch.min(1.0 - (1.0 - LEAST_STRETCH) * bend / (MOST_BENT * height))
}

/// Marks the longest side of needles of which another side is; of those much longer still no other,
/// since each step would make them longer than one cut across makes them shorter.
pub fn with_needles(mesh: &Mesh, marked: &mut Vec<(u32, u32)>) {
    let known: HashSet<Side> = marked.iter().copied().collect();
    let (mut across, mut spared): (HashSet<Side>, HashSet<Side>) = Default::default();
    for (t, corners) in mesh.triangles.iter().enumerate() {
        let sides = [0, 1, 2].map(|k| side(corners[k], corners[(k + 1) % 3]));
        if !sides.iter().any(|side| known.contains(side)) {
            continue;
        }
        let places = mesh.corners(t);
        let lengths = [0, 1, 2].map(|k| vector::norm(vector::sub(places[(k + 1) % 3], places[k])));
        let longest = if lengths[0] >= lengths[1].max(lengths[2]) {
            0
        } else if lengths[1] >= lengths[2] {
            1
        } else {
            2
        };
        let [a, b, c] = places;
        let normal = vector::cross(vector::sub(b, a), vector::sub(c, a));
        let twice_area = vector::norm(normal);
        let is_in_plane = |x: &vector::Vector| {
            let above = vector::dot(normal, vector::sub(*x, a)).abs();
            above <= IN_PLANE * twice_area * lengths[longest]
        };
        let most = match &mesh.patches {
            None => LONGEST,
            Some(patches) if patches.of(t).iter().all(is_in_plane) => LONGEST_IN_PLANE,
            Some(_) => LONGEST_CURVED,
        };
        let squared = lengths[longest] * lengths[longest];
        if squared > 2.0 * most * twice_area {
            across.insert(sides[longest]);
        }
        if squared > 2.0 * MUCH * most * twice_area {
            spared.extend(sides);
        }
    }
    marked.retain(|side| !spared.contains(side));
    marked.extend(across);
    marked.sort_unstable();
    marked.dedup();
}
