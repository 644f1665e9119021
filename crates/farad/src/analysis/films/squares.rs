//! Integrals of the squares of densities of which each triangle's charge is known, and how they
//! grow toward edges (docs/math.md, "Films").
//!
//! A density is r^(exponent - 1), r the distance from the edge, times what lies across from it
//! makes of that (`across`), times a constant on each triangle, by the triangle's charge; and its
//! square is integrated with the power.

use std::collections::HashMap;

use mesh::Mesh;
use mesh::curved::Barycentric;
use mesh::vector::{Vector, add, cross, norm, scale, sub};
use parallel::prelude::*;

use super::across::{Across, More};
use super::rims::{self, Ends, Rims};

/// Gauss points across a triangle at an edge, and farther away.
const ACROSS: usize = 8;
const AWAY: usize = 4;

/// Less of a triangle is rounding.
const ROUNDED: f64 = 1e-9;

/// Where distances of the middles of a triangle and its sides are off by this share from what they
/// are on a linear function, it is cut into pieces.
const BENT: f64 = 0.05;

/// An edge toward which densities grow as r^(exponent - 1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) ends: [Vector; 2],
    pub(super) exponent: f64,
    /// Metal across from it, in the plane of metal without thickness.
    pub(super) across: Across,
}

impl Edge {
    pub(super) fn distance(&self, x: Vector) -> f64 {
        norm(sub(x, rims::nearest(self.ends, x)))
    }
}

/// Factor of the density at a place of a triangle next to an edge, due to metal across from it. It
/// goes on beyond the middle between both, so distances are those from the edge's line.
fn as_across(edge: Option<&Edge>, x: Vector) -> f64 {
    edge.map_or(1.0, |edge| {
        let [a, b] = edge.ends;
        edge.across.factor(norm(cross(sub(x, a), sub(b, a))) / norm(sub(b, a)))
    })
}

impl Ends for Edge {
    fn ends(&self) -> [Vector; 2] {
        self.ends
    }
}

/// A part of a triangle over which the distance from the nearest edge is linear.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its corners.
    pub corners: [Vector; 3],
    /// Distances of the corners from the edge.
    pub distances: [f64; 3],
}

/// The integral over a triangle, for any charge on it.
#[derive(Debug)]
pub(super) struct Square {
    /// The triangle's place in the list.
    place: usize,
    /// The integrals of the square of the density that a constant of 1 makes, of that density, and
    /// of 1.
    square: f64,
    first: f64,
    area: f64,
    /// The constant that a charge of 1 makes.
    of_charge: f64,
    /// The mean of the power of the distance over that at [`POINTS`].
    over_points: f64,
}

impl Square {
    /// Mean over the triangle divided by the mean of a density at [`POINTS`].
    pub(super) fn over_points(&self) -> f64 {
        self.over_points
    }

    /// The integral, of `charges` of the list of triangles and a density next to them that is even
    /// on each.
    pub(super) fn of(&self, charges: &[f64], even: &[f64]) -> f64 {
        let (own, even) = (charges[self.place] * self.of_charge, even[self.place]);
        own * own * self.square + 2.0 * even * own * self.first + even * even * self.area
    }
}

/// A part of a triangle next to an edge where densities are c/sqrt(r), for any charge on it.
#[derive(Debug)]
pub(super) struct AtEdge {
    /// The triangle's place in the list.
    place: usize,
    /// The integral of c^2 along the edge that a charge of 1 makes.
    of_charge: f64,
    /// The excess of the square on the metal, for each c^2.
    pub(super) more: More,
}

impl AtEdge {
    /// The integral of c^2 along the edge, of `charges` of the list of triangles.
    pub(super) fn of(&self, charges: &[f64]) -> f64 {
        charges[self.place].powi(2) * self.of_charge
    }
}

/// Sides of triangles, and the edges toward which densities on them grow.
pub(super) struct Surface<'a> {
    mesh: &'a Mesh,
    triangles: &'a [(u32, bool)],
    /// Areas over those of the flat triangles, on which integrals are computed.
    stretch: Vec<f64>,
    /// The edges around each part of the surface, and the part of each triangle.
    rims: Vec<Rims<Edge>>,
    part: Vec<u32>,
    /// What each of them is integrated with.
    cells: Vec<Cell>,
}

/// A triangle's part in integrals.
struct Cell {
    pieces: Vec<Piece>,
    /// The edge that is nearest to its middle.
    edge: Option<Edge>,
    /// The integral of the power of the distance, as what lies across changes it.
    power: f64,
}

impl<'a> Surface<'a> {
    /// The integrals over triangles, each with whether the side that its normal points to is meant,
    /// and with those of its sides, from each corner to the next, that are edges. `areas` are those
    /// of all triangles of the mesh, curved ones as they are.
    pub(super) fn new(
        mesh: &'a Mesh,
        areas: &[f64],
        triangles: &'a [(u32, bool)],
        edges: &'a [[Option<Edge>; 3]],
    ) -> Self {
        let corners = |k: usize| mesh.triangles[triangles[k].0 as usize];
        // With the corners in the order that they have as seen from the side that is meant.
        let side = |k: usize, s: usize| {
            let [a, b, c] = corners(k);
            let (p, q) = [(a, b), (b, c), (c, a)][s];
            if triangles[k].1 { (p, q) } else { (q, p) }
        };
        let mut at_side: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for k in 0..triangles.len() {
            for s in (0..3).filter(|&s| edges[k][s].is_none()) {
                at_side.entry(side(k, s)).or_default().push(k as u32);
            }
        }
        let across = |k: usize| -> Vec<u32> {
            let sides = (0..3).filter(|&s| edges[k][s].is_none());
            let back = sides.map(|s| side(k, s)).map(|(p, q)| (q, p));
            let there = back.filter_map(|side| at_side.get(&side)).flatten().copied();
            // The other side of the triangle itself is around the edge.
            there.filter(|&other| triangles[other as usize].0 != triangles[k].0).collect()
        };
        let mut part: Vec<u32> = vec![u32::MAX; triangles.len()];
        let mut reached = Vec::new();
        let mut rims = Vec::new();
        for first in 0..triangles.len() {
            if part[first] != u32::MAX {
                continue;
            }
            let number = rims.len() as u32;
            part[first] = number;
            reached.push(first);
            let mut around_it = Vec::new();
            while let Some(k) = reached.pop() {
                around_it.extend(edges[k].iter().flatten().copied());
                for next in across(k).into_iter().map(|k| k as usize) {
                    if part[next] == u32::MAX {
                        part[next] = number;
                        reached.push(next);
                    }
                }
            }
            rims.push(Rims::new(around_it));
        }
        let stretch = |&(t, _): &(u32, bool)| areas[t as usize] / area(mesh.corners(t as usize));
        let stretch = triangles.iter().map(stretch).collect();
        let cells = Vec::new();
        let mut surface = Self { mesh, triangles, stretch, rims, part, cells };
        surface.cells = (0..triangles.len()).into_par_iter().map(|k| surface.cell(k)).collect();
        surface
    }

    /// The integrals over some of the triangles, where they are farther than `from` from edges.
    pub(super) fn beyond(&self, from: f64, which: &[usize]) -> Vec<Square> {
        which.par_iter().map(|&k| self.square(k, from)).collect()
    }

    /// What is within a cutoff from edges. All triangles there show c, the narrow ones at the very
    /// edge with the largest errors: each counts by its area.
    pub(super) fn within(&self, cutoff: f64) -> Vec<AtEdge> {
        let of = |k: usize| {
            let Cell { pieces, edge, power, .. } = &self.cells[k];
            let across = edge.as_ref()?.across;
            // To the middle of the metal at most.
            let reach = cutoff.min(0.5 / across.metal);
            let beyond = pieces.iter().flat_map(|piece| nodes(piece, 1.0, reach));
            let beyond: f64 = beyond.map(|(weight, _)| weight).sum();
            let all: f64 = pieces.iter().map(|piece| area(piece.corners)).sum();
            let of_charge = (all - beyond) / reach / (power * power * self.stretch[k]);
            let is_within = all - beyond > ROUNDED * all;
            is_within.then(|| AtEdge { place: k, of_charge, more: across.more(cutoff) })
        };
        (0..self.cells.len()).into_par_iter().filter_map(of).collect()
    }

    fn corners(&self, k: usize) -> [Vector; 3] {
        self.mesh.corners(self.triangles[k].0 as usize)
    }

    /// The nearest edge that can be reached from a triangle without crossing another one, and its
    /// distance from a place there.
    fn nearest(&self, k: usize, x: Vector) -> Option<(&Edge, f64)> {
        self.rims[self.part[k] as usize].nearest_to(x)
    }

    fn cell(&self, k: usize) -> Cell {
        let pieces = self.parts(k);
        let centre = centroid(self.corners(k));
        let edge = self.nearest(k, centre).map(|(edge, _)| *edge);
        let exponent = edge.map_or(1.0, |edge| edge.exponent);
        let nodes = pieces.iter().flat_map(|piece| nodes(piece, exponent, 0.0));
        let power = nodes.map(|(weight, x)| weight * as_across(edge.as_ref(), x)).sum();
        Cell { pieces, edge, power }
    }

    /// The parts of a triangle.
    fn parts(&self, k: usize) -> Vec<Piece> {
        let corners = self.corners(k);
        if self.nearest(k, corners[0]).is_none() {
            return vec![Piece { corners, distances: [1.0; 3] }];
        }
        let distance = |x: Vector| self.nearest(k, x).map_or(1.0, |(_, distance)| distance);
        let piece = |corners: [Vector; 3]| Piece { corners, distances: corners.map(distance) };
        let whole = piece(corners);
        let middle = centroid(corners);
        let [a, b, c] = corners;
        let halves = [(a, b), (b, c), (c, a)].map(|(p, q)| scale(0.5, add(p, q)));
        let [da, db, dc] = whole.distances;
        let linear = [0.5 * (da + db), 0.5 * (db + dc), 0.5 * (dc + da), (da + db + dc) / 3.0];
        let size = norm(sub(b, a)).max(norm(sub(c, b))).max(norm(sub(a, c)));
        let points = [halves[0], halves[1], halves[2], middle];
        let is_bent = points.iter().zip(linear).any(|(x, expected)| {
            let found = distance(*x);
            (found - expected).abs() > BENT * found.max(BENT * size)
        });
        if !is_bent {
            return vec![whole];
        }
        let [ab, bc, ca] = halves;
        let outer = [(a, ab), (ab, b), (b, bc), (bc, c), (c, ca), (ca, a)];
        outer.map(|(p, q)| piece([p, q, middle])).to_vec()
    }

    fn square(&self, k: usize, from: f64) -> Square {
        let Cell { pieces, edge, power, .. } = &self.cells[k];
        let (edge, power) = (edge.as_ref(), *power);
        let exponent = edge.map_or(1.0, |edge| edge.exponent);
        let corners = self.corners(k);
        let beyond = |power: f64| pieces.iter().flat_map(move |piece| nodes(piece, power, from));
        let of = |power: f64, factor: fn(f64) -> f64| -> f64 {
            beyond(power).map(|(weight, x)| weight * factor(as_across(edge, x))).sum()
        };
        let distance = |x: Vector| self.nearest(k, x).map(|(_, distance)| distance);
        let powers = points(corners).map(|x| distance(x).map(|r| r.powf(exponent - 1.0)));
        let area: f64 = pieces.iter().map(|piece| area(piece.corners)).sum();
        let over_points = match powers {
            [Some(a), Some(b), Some(c)] => power / area / ((a + b + c) / 3.0),
            _ => 1.0,
        };
        let stretch = self.stretch[k];
        Square {
            place: k,
            // Densities of curved triangles are smaller than their charges make on flat ones.
            square: stretch * of(2.0 * exponent - 1.0, |across| across * across),
            first: stretch * of(exponent, |across| across),
            area: stretch * of(1.0, |_| 1.0),
            of_charge: 1.0 / power / stretch,
            over_points,
        }
    }
}

fn area([a, b, c]: [Vector; 3]) -> f64 {
    0.5 * norm(cross(sub(b, a), sub(c, a)))
}

pub(super) fn centroid([a, b, c]: [Vector; 3]) -> Vector {
    scale(1.0 / 3.0, add(add(a, b), c))
}

/// Points, in barycentric coordinates, whose mean is that of a quadratic function on the triangle.
pub(super) const POINTS: [Barycentric; 3] = [
    [2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0],
    [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
    [1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0],
];

fn points(corners: [Vector; 3]) -> [Vector; 3] {
    let middle = centroid(corners);
    corners.map(|corner| scale(0.5, add(middle, corner)))
}

/// Points and weights for integrals with r^(power - 1), r beyond `from`.
pub fn nodes(piece: &Piece, power: f64, from: f64) -> Vec<(f64, Vector)> {
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| piece.distances[a].total_cmp(&piece.distances[b]));
    let [x0, x1, x2] = order.map(|k| piece.corners[k]);
    let [r0, r1, r2] = order.map(|k| piece.distances[k]);
    let area = area([x0, x1, x2]);
    let between = |a: Vector, b: Vector, share: f64| add(scale(1.0 - share, a), scale(share, b));
    let mut found = Vec::new();
    if r2 - r0 <= 1e-9 * r2 {
        if r2 >= from {
            let weight = area * r2.powf(power - 1.0) / 3.0;
            let halves = [(x0, x1), (x1, x2), (x2, x0)];
            found.extend(halves.map(|(a, b)| (weight, between(a, b, 0.5))));
        }
        return found;
    }
    for (low, high, is_lower) in [(r0, r1, true), (r1, r2, false)] {
        let low_end = low.max(from);
        if high - low_end <= 1e-12 * high {
            continue;
        }
        let points = if low_end < high - low_end { ACROSS } else { AWAY };
        // With y = r^power / power the power is gone; one above 1 is none that matters.
        let (power, left) = if power > 1.0 { (1.0, power - 1.0) } else { (power, 0.0) };
        let logarithmic = power.abs() < 1e-6;
        let start = if logarithmic { 0.0 } else { low_end.powf(power) };
        let length =
            if logarithmic { (high / low_end).ln() } else { (high.powf(power) - start) / power };
        for (y, weight) in gauss(points) {
            let r = match logarithmic {
                true => low_end * (y * length).exp(),
                false => (start + power * y * length).max(0.0).powf(1.0 / power),
            };
            let share = if is_lower { (r - r0) / (r1 - r0) } else { (r2 - r) / (r2 - r1) };
            let long = between(x0, x2, (r - r0) / (r2 - r0));
            let short = if is_lower { between(x0, x1, share) } else { between(x2, x1, share) };
            // The strip between r and r + dr.
            let strip = 2.0 * area / (r2 - r0) * share * weight * length * r.powf(left);
            for along in [0.5 - 0.5 / 3f64.sqrt(), 0.5 + 0.5 / 3f64.sqrt()] {
                found.push((0.5 * strip, between(long, short, along)));
            }
        }
    }
    found
}

/// Gauss points and weights from 0 to 1.
fn gauss(points: usize) -> impl Iterator<Item = (f64, f64)> {
    const FOUR: [(f64, f64); 2] = [
        (0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
        (0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
    ];
    const EIGHT: [(f64, f64); 4] = [
        (0.183_434_642_495_649_8, 0.362_683_783_378_362),
        (0.525_532_409_916_329, 0.313_706_645_877_887_3),
        (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
        (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
    ];
    let half = if points == ACROSS { &EIGHT[..] } else { &FOUR[..] };
    half.iter().flat_map(|&(x, w)| [(0.5 - 0.5 * x, 0.5 * w), (0.5 + 0.5 * x, 0.5 * w)])
}
