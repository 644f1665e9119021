//! Parts that go through each other made one: solids united, cavities opened.

use super::cuts::{self, Pieces};
use super::report::{List, What};
use super::triangles::{parts, retain};
use crate::bodies::orient::turn;
use crate::geometry::weld::bounds;
use crate::queries::intersect::{Meeting, intersections};
use crate::queries::locate::Locator;
use crate::surface::Mesh;
use crate::topology::{Part, Sides};
use crate::vector::{Vector, add, norm, scale, sub};
use std::collections::{HashMap, HashSet};

/// Pairs of parts, at most.
const MOST: usize = 1000;

/// Where vertices lie on what they meet exactly, those of one part are moved by this times its
/// size, and in further attempts by ten times more.
const NUDGE: f64 = 1e-9;
const ATTEMPTS: i32 = 5;

/// Triangles of a patch that are tried, to find one well away from the other surface.
const TRIED: usize = 64;

/// Makes one part of each two that go through each other; whether there were any.
pub(super) fn crossing_parts(mesh: &mut Mesh, list: &mut List) -> bool {
    let mut failed: HashSet<[[u64; 3]; 2]> = HashSet::new();
    let mut changed = false;
    for _ in 0..MOST {
        let (topology, depths) = parts(mesh);
        let part_of = &topology.component_of;
        let sound =
            |part: &Part| part.closed && part.flipped_edges == 0 && part.non_manifold_edges == 0;
        // A part is known by the place of its first vertex, since numbers change.
        let mut first: Vec<Option<Vector>> = vec![None; topology.components.len()];
        for (t, &part) in part_of.iter().enumerate() {
            first[part as usize].get_or_insert(mesh.corners(t)[0]);
        }
        let name = |part: u32| first[part as usize].unwrap_or_default().map(f64::to_bits);
        let next = intersections(mesh).into_iter().find_map(|meeting| {
            let [s, t] = meeting.triangles;
            let [a, b] = [part_of[s as usize], part_of[t as usize]];
            let both = [a, b].iter().all(|&part| sound(&topology.components[part as usize]));
            let fresh = a != b && both && !failed.contains(&[name(a), name(b)]);
            fresh.then(|| ([a, b], mesh.corners(s as usize)[0]))
        });
        let Some(([a, b], place)) = next else { break };
        let size = |part: u32| topology.components[part as usize].signed_volume.abs();
        let (large, small) = if size(a) >= size(b) { (a, b) } else { (b, a) };
        let is_in_solid = !depths[large as usize].is_multiple_of(2);
        let which = |part: u32| part_of.iter().map(|&p| p == part).collect::<Vec<bool>>();
        // The larger one faces as it must; the smaller one as it did, seen from that.
        let faces_out = topology.components[large as usize].signed_volume > 0.0;
        let outward = [large, small].map(|part| {
            (topology.components[part as usize].signed_volume > 0.0) != (faces_out == is_in_solid)
        });
        if faces_out == is_in_solid {
            let both: Vec<bool> = part_of.iter().map(|&p| p == large || p == small).collect();
            turn(mesh, &both);
        }
        let pair = Pair { outward, is_in_solid };
        match pair.merged(mesh, &which(large), &which(small)) {
            Some(merged) => {
                *mesh = merged;
                changed = true;
                let opened = outward[0] != outward[1];
                list.add(if opened { What::Opened } else { What::United }, 1, place);
            }
            None => {
                failed.insert([name(a), name(b)]);
            }
        }
    }
    changed
}

/// Two closed parts, the larger one first.
struct Pair {
    /// Whether each faces out of what it encloses.
    outward: [bool; 2],
    /// Whether both lie in a solid.
    is_in_solid: bool,
}

impl Pair {
    /// The mesh with one part instead of two; `None` if they could not be cut.
    fn merged(&self, mesh: &Mesh, large: &[bool], small: &[bool]) -> Option<Mesh> {
        (0..ATTEMPTS).find_map(|attempt| {
            let mut both = chosen(mesh, |t| large[t] || small[t]);
            let is_small: Vec<bool> = (0..mesh.triangles.len())
                .filter(|&t| large[t] || small[t])
                .map(|t| small[t])
                .collect();
            if attempt > 0 {
                nudge(&mut both, &is_small, NUDGE * 10f64.powi(attempt - 1));
            }
            let pairs: Vec<[u32; 2]> = intersections(&both)
                .into_iter()
                .filter(|pair| {
                    is_small[pair.triangles[0] as usize] != is_small[pair.triangles[1] as usize]
                })
                .map(|pair| (pair.meeting == Meeting::Crossing).then_some(pair.triangles))
                .collect::<Option<_>>()?;
            let pieces = cuts::cut(&both, &pairs)?;
            let surface = self.surface(&both, &is_small, pieces)?;
            let mut rest = chosen(mesh, |t| !large[t] && !small[t]);
            let first = rest.vertices.len() as u32;
            rest.vertices.extend(surface.vertices);
            rest.triangles.extend(surface.triangles.iter().map(|t| t.map(|v| v + first)));
            rest.membership.extend(surface.membership);
            rest.drop_unused();
            Some(rest)
        })
    }

    /// The patches with the solid behind them and none before them; `None` if they are not closed.
    fn surface(&self, both: &Mesh, is_small: &[bool], pieces: Pieces) -> Option<Mesh> {
        let of = |which: bool| {
            let all = (0..is_small.len() as u32).filter(|&t| is_small[t as usize] == which);
            Locator::of_part(both, all.collect())
        };
        let [large, small] = [of(false), of(true)];
        let Pieces { mesh, parent, patch } = pieces;
        let mut members: HashMap<u32, Vec<usize>> = HashMap::new();
        for (t, &patch) in patch.iter().enumerate() {
            members.entry(patch).or_default().push(t);
        }
        let mut keep = vec![false; mesh.triangles.len()];
        for triangles in members.into_values() {
            let of_small = is_small[parent[triangles[0]] as usize];
            let other = if of_small { &large } else { &small };
            let place = well_away(&mesh, &triangles, other)?;
            // How often surfaces go round the space before the patch: once more than 0 in a solid.
            let own = if self.outward[usize::from(of_small)] { 0 } else { -1 };
            let around = other.winding_number(place).round() as i64;
            let is_kept = own + around + i64::from(self.is_in_solid) == 0;
            triangles.iter().for_each(|&t| keep[t] = is_kept);
        }
        let mut surface = mesh;
        retain(&mut surface, &keep);
        let closed = Sides::of(&surface).edges().all(|edge| edge.len().is_multiple_of(2));
        (closed && !surface.triangles.is_empty()).then_some(surface)
    }
}

/// Of the middles of a patch's triangles one that is far from a surface.
fn well_away(mesh: &Mesh, triangles: &[usize], surface: &Locator) -> Option<Vector> {
    let step = triangles.len().div_ceil(TRIED);
    let middles = triangles.iter().step_by(step).map(|&t| {
        let [a, b, c] = mesh.corners(t);
        scale(1.0 / 3.0, add(add(a, b), c))
    });
    let distance = |place: &Vector| surface.nearest(*place).map_or(0.0, |nearest| nearest.distance);
    middles
        .map(|place| (distance(&place), place))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, place)| place)
}

/// Some triangles, with all vertices.
fn chosen(mesh: &Mesh, which: impl Fn(usize) -> bool) -> Mesh {
    let mut part = mesh.clone();
    let keep: Vec<bool> = (0..mesh.triangles.len()).map(which).collect();
    retain(&mut part, &keep);
    part
}

/// Moves the vertices of one part a little, each its own way and the same at every run.
fn nudge(mesh: &mut Mesh, which: &[bool], relative: f64) {
    let mut moves = vec![false; mesh.vertices.len()];
    for (triangle, _) in mesh.triangles.iter().zip(which).filter(|(_, which)| **which) {
        triangle.iter().for_each(|&v| moves[v as usize] = true);
    }
    let [low, high] = bounds(&mesh.vertices);
    let step = relative * norm(sub(high, low));
    for (v, vertex) in mesh.vertices.iter_mut().enumerate().filter(|(v, _)| moves[*v]) {
        // Fractions of multiples of irrational numbers.
        let along = |k: f64| 2.0 * ((v as f64 + 1.0) * k).fract() - 1.0;
        let way = [along(0.618_033_988_75), along(0.414_213_562_37), along(0.732_050_807_57)];
        *vertex = add(*vertex, scale(step, way));
    }
}
