//! Triangles of the wanted size and of good shape: edges are split, collapsed and turned, and
//! vertices moved over the surface.

use crate::connectivity::{NONE, next, previous};
use crate::field::Field;
use crate::independent::{Claims, Gain};
use crate::shape::{Shape, Tag, Vertex};
use crate::triangle::{area_normal, quality, turns};
use mesh::Mesh;
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use parallel::prelude::*;

/// Edges longer than this times the wanted length are split, shorter ones collapsed.
const LONG: f64 = 1.4;
const SHORT: f64 = 0.75;

/// Edges shorter than this are tiny, relative to the lattice constant.
const TINY: f64 = 0.35;

/// Triangles of less quality (sine of 3 degrees), and those that face the wrong way, are checked
/// one by one in a first mesh.
const WRONG: f64 = 0.05;

/// Longest edges relative to the least radius of curvature.
const CURVED: f64 = 0.85;

/// Where the sides asked for are longer than this, relative to the details of the surface, edges
/// may be longer, too, as much as these are, up to twice.
const COARSE: f64 = 0.7;

/// Least wanted length relative to the greatest.
const SMALLEST: f64 = 0.12;

/// How much wanted lengths may differ relative to the distance.
const GRADING: f64 = 0.4;

/// Edges along which a small length has an effect.
const GRADINGS: usize = 8;

/// Sine of the angle that collapses may leave (17 degrees), if the old ones are better.
const LEFT: f64 = 0.3;

/// Rounds of split edges, each next to those of the last one.
const SPLITS: usize = 6;

/// Rounds of turned edges, each next to those of the last one.
const TURNS: usize = 12;

/// Vertices that are pulled by less than this, relative to the wanted length, stay where they are.
const STILL: f64 = 0.01;

/// Quality that triangles may get worse to where vertices are moved.
const ENOUGH: f64 = 0.5;

/// Rounds of all changes.
const ROUNDS: usize = 6;

/// A weight, and the middle of a triangle times that.
type Pull = (f64, Vector);

impl<F: Field> Shape<'_, F> {
    /// Makes the wanted lengths: `side`, less where the surface is strongly curved, and on bodies
    /// that would have fewer triangles than `least`.
    pub fn set_sizes(&mut self, side: f64, least: usize) {
        let longest = CURVED * (side / (COARSE * self.field.detail())).clamp(1.0, 2.0);
        let size = |v: usize| {
            let curvature = match self.tags[v] {
                Tag::Smooth(feature) => self.field.curvature(feature, self.places[v]),
                Tag::Crease(pair) => {
                    let of = |feature| self.field.curvature(feature, self.places[v]);
                    of(pair[0]).max(of(pair[1])).max(self.field.bending(pair))
                }
                Tag::Corner => 0.0,
            };
            side.min(longest / curvature).max(SMALLEST * side)
        };
        self.sizes = (0..self.places.len()).into_par_iter().map(size).collect();
        self.shorten_on_bodies(least);
        self.grade();
    }

    /// Makes wanted lengths no longer than those with which each body has this number of
    /// equilateral triangles. Cavities, which hold no charges, may have fewer.
    fn shorten_on_bodies(&mut self, least: usize) {
        let alive = self.mesh.alive();
        let triangles = alive.iter().map(|&t| self.mesh.triangles[t as usize]).collect();
        let mesh = Mesh { vertices: self.places.clone(), triangles, ..Mesh::default() };
        let (component_of, count) = mesh::topology::components(&mesh);
        let (mut areas, mut volumes) = (vec![0.0; count], vec![0.0; count]);
        let origin = mesh.vertices.first().copied().unwrap_or_default();
        for (t, &c) in component_of.iter().enumerate() {
            let corners = mesh.corners(t).map(|x| sub(x, origin));
            let normal = area_normal(corners);
            areas[c as usize] += 0.5 * norm(normal);
            volumes[c as usize] += dot(corners[0], normal);
        }
        let longest = |c: usize| (4.0 * areas[c] / (3f64.sqrt() * least as f64)).sqrt();
        for (corners, &c) in mesh.triangles.iter().zip(&component_of) {
            let c = c as usize;
            if volumes[c] > 0.0 {
                corners.iter().for_each(|&v| {
                    let size = &mut self.sizes[v as usize];
                    *size = size.min(longest(c));
                });
            }
        }
    }

    /// Makes wanted lengths smaller where they differ too much from those nearby.
    pub fn grade(&mut self) {
        for _ in 0..GRADINGS {
            let graded = |v: u32| {
                let near = self
                    .mesh
                    .around(v)
                    .map(|h| self.sizes[self.mesh.to(h) as usize] + GRADING * self.length(h));
                near.fold(self.sizes[v as usize], f64::min)
            };
            let sizes: Vec<f64> = (0..self.mesh.vertices()).into_par_iter().map(graded).collect();
            if sizes == self.sizes {
                break;
            }
            self.sizes = sizes;
        }
    }

    /// Removes what a first mesh has of tiny edges, and finds the places that it is too coarse for:
    /// triangles that do not face as the surface does at their corners close a thin neck or gap.
    /// Their vertices stay where they are.
    pub fn tidy(&mut self) {
        self.compact();
        self.collapse_tiny();
        self.improve(WRONG);
        for t in self.mesh.alive() {
            let corners = self.mesh.triangles[t as usize];
            if !self.faces(corners, self.corners(t)) {
                for v in corners {
                    if self.is_smooth(v) {
                        self.tags[v as usize] = Tag::Corner;
                    }
                }
            }
        }
    }

    /// Removes edges that are much shorter than the lattice constant.
    pub fn collapse_tiny(&mut self) {
        for _ in 0..2 {
            self.collapse_short(TINY);
            self.flip_all();
        }
    }

    /// All rounds.
    pub fn remesh(&mut self) {
        for short in [0.5, 0.65] {
            self.collapse_short(short);
        }
        self.rounds(ROUNDS);
    }

    /// Some rounds.
    pub fn rounds(&mut self, rounds: usize) {
        for round in 0..rounds {
            self.compact();
            self.split_long();
            self.collapse_short(SHORT);
            self.flip_all();
            self.smooth(if round + 1 < rounds { 1 } else { 3 });
        }
        self.flip_all();
    }

    /// Edges for which `is_wanted` says so, of their lengths and wanted lengths.
    fn edges(&self, is_wanted: impl Fn(f64, f64) -> bool + Sync) -> Vec<u32> {
        let of_triangle = |t: u32| {
            let corners = self.mesh.triangles[t as usize];
            let is_one = |k: usize| {
                let (a, b) = (corners[k] as usize, corners[(k + 1) % 3] as usize);
                let length = norm(sub(self.places[b], self.places[a]));
                is_wanted(length, 0.5 * (self.sizes[a] + self.sizes[b]))
            };
            let is_alive = self.mesh.is_alive(3 * t);
            let side = |k: u32| {
                let h = 3 * t + k;
                (is_alive && h < self.mesh.twin(h) && is_one(k as usize)).then_some(h)
            };
            [side(0), side(1), side(2)].into_iter().flatten()
        };
        let all = (0..self.mesh.triangles.len() as u32).into_par_iter();
        all.flat_map_iter(of_triangle).collect()
    }

    /// Splits long edges, longest first: those of both triangles alone, or shapes go bad.
    fn split_long(&mut self) {
        let mut edges = self.edges(|length, wanted| length > LONG * wanted);
        for _ in 0..SPLITS {
            let is_longest = |&h: &u32| {
                let longest = |h: u32| self.length(next(h)).max(self.length(previous(h)));
                self.length(h) > 0.9 * longest(h).max(longest(self.mesh.twin(h)))
            };
            let gains: Vec<Gain> = edges
                .par_iter()
                .filter(|&&h| self.length(h) > LONG * self.wanted(h))
                .filter(|h| is_longest(h))
                .map(|&h| (self.length(h) as f32, h))
                .collect();
            let claims = Claims::new(self.mesh.triangles.len());
            let (chosen, mut next_to) = claims.choose(gains, |h| [h / 3, self.mesh.twin(h) / 3]);
            let splits: Vec<(u32, Vertex)> = chosen
                .into_par_iter()
                .filter_map(|h| Some((h, self.middle(h)?)))
                .filter(|(h, middle)| self.split_fits(*h, middle.at))
                .collect();
            for (h, middle) in splits {
                let twin = self.mesh.twin(h);
                if self.checked_split(h, middle).is_some() {
                    let last = self.mesh.triangles.len() as u32;
                    next_to.extend(self.sides([h / 3, twin / 3, last - 2, last - 1]));
                }
            }
            edges = distinct(next_to);
            if edges.is_empty() {
                break;
            }
        }
    }

    /// The sides of triangles as edges, by the first of their half-edges.
    fn sides<const N: usize>(&self, triangles: [u32; N]) -> impl Iterator<Item = u32> {
        let sides = triangles.into_iter().flat_map(|t| 3 * t..3 * t + 3);
        sides.map(|side| side.min(self.mesh.twin(side)))
    }

    /// Collapses edges shorter than a share of the wanted length.
    pub fn collapse_short(&mut self, share: f64) {
        for h in self.edges(|length, wanted| length < share * wanted) {
            if self.mesh.is_alive(h) && self.length(h) < share * self.wanted(h) {
                let (twin, longest) = (self.mesh.twin(h), LONG * self.wanted(h));
                if !self.try_collapse(h, longest) {
                    self.try_collapse(twin, longest);
                }
            }
        }
    }

    fn try_collapse(&mut self, h: u32, longest: f64) -> bool {
        if !self.keeps_creases(h) {
            return false;
        }
        let Some(left) = self.collapsed_quality(h, longest) else {
            return false;
        };
        // Among tiny triangles a bad one more does no harm: it goes with the next edge.
        let is_tiny = self.length(h) < TINY * self.wanted(h);
        if !is_tiny && left < LEFT && left < self.ring_quality(self.mesh.from(h)) {
            return false;
        }
        self.checked_collapse(h)
    }

    /// The qualities of all triangles.
    fn qualities(&self) -> Vec<f64> {
        (0..self.mesh.triangles.len() as u32)
            .into_par_iter()
            .map(|t| if self.mesh.is_alive(3 * t) { self.quality(t) } else { 0.0 })
            .collect()
    }

    /// Turns edges while that makes triangles better: all that gain and do not share a triangle
    /// with a better one, then those next to them.
    pub fn flip_all(&mut self) {
        let mut qualities = self.qualities();
        let claims = Claims::new(qualities.len());
        let mut edges = self.mesh.edges();
        for _ in 0..TURNS {
            // Others may have turned: what began an edge may end it.
            let is_first = |h: &&u32| **h < self.mesh.twin(**h);
            let gain = |&h: &u32| Some((self.gain(h, &qualities)? as f32, h));
            let gains: Vec<Gain> = edges.par_iter().filter(is_first).filter_map(gain).collect();
            let (chosen, mut next_to) = claims.choose(gains, |h| [h / 3, self.mesh.twin(h) / 3]);
            for h in chosen {
                // Others may have left too few triangles at its ends.
                if self.mesh.can_flip(h) && self.checked_flip(h) {
                    let two = [h / 3, self.mesh.twin(h) / 3];
                    two.iter().for_each(|&t| qualities[t as usize] = self.quality(t));
                    next_to.extend(self.sides(two));
                }
            }
            edges = distinct(next_to);
            if edges.is_empty() {
                break;
            }
        }
    }

    /// Moves vertices to the middle of their neighbours, as far as triangles do not get worse.
    pub fn smooth(&mut self, times: usize) {
        for _ in 0..times {
            let (pulls, qualities): (Vec<Pull>, Vec<f64>) = (0..self.mesh.triangles.len() as u32)
                .into_par_iter()
                .map(|t| if self.mesh.is_alive(3 * t) { self.pull(t) } else { Default::default() })
                .unzip();
            let moved = |v: u32| {
                let to = self.middle_of_ring(v, &pulls)?;
                let way = sub(to, self.places[v as usize]);
                let least = STILL * self.sizes[v as usize];
                (dot(way, way) > least * least).then(|| self.pulled(v, to)).flatten()
            };
            let moves: Vec<Option<Vertex>> = (0..self.mesh.vertices())
                .into_par_iter()
                .map(|v| if self.mesh.is_used(v) { moved(v) } else { None })
                .collect();
            if self.guard.is_none() {
                self.move_all(moves, &qualities);
                continue;
            }
            for (v, new) in (0..).zip(moves) {
                if let Some(new) = new {
                    self.try_move(v, new);
                }
            }
        }
    }

    /// Moves vertices at once, and then back those around which triangles got worse than before,
    /// until none has.
    fn move_all(&mut self, mut moves: Vec<Option<Vertex>>, before: &[f64]) {
        let all = self.places.par_iter_mut().zip(&mut self.normals).zip(&mut self.tags);
        all.zip(&mut moves).for_each(|(((place, normal), tag), new)| {
            if let Some(new) = new {
                // What was there is kept instead.
                std::mem::swap(place, &mut new.at);
                std::mem::swap(normal, &mut new.normal);
                std::mem::swap(tag, &mut new.tag);
            }
        });
        let after = |shape: &Self, t: u32, moves: &[Option<Vertex>]| {
            let old = |v: u32| moves[v as usize].map_or(shape.places[v as usize], |old| old.at);
            let corners = shape.mesh.triangles[t as usize];
            // Where no normals of the surface say how a triangle faces its own must not turn.
            let turns = !corners.iter().any(|&v| shape.is_smooth(v))
                && turns(corners.map(old), shape.corners(t));
            if turns { 0.0 } else { shape.quality(t) }
        };
        let moved = |t: u32| {
            let corners = self.mesh.triangles[t as usize];
            if corners[0] == NONE || corners.iter().all(|&v| moves[v as usize].is_none()) {
                return before[t as usize];
            }
            after(self, t, &moves)
        };
        let mut now: Vec<f64> =
            (0..self.mesh.triangles.len() as u32).into_par_iter().map(moved).collect();
        let worst = |shape: &Self, v: u32, qualities: &[f64]| {
            shape.mesh.around(v).map(|h| qualities[h as usize / 3]).fold(1.0, f64::min)
        };
        let mut looked_at: Vec<u32> = self
            .mesh
            .triangles
            .par_iter()
            .zip(&now)
            .filter(|(corners, now)| corners[0] != NONE && **now < ENOUGH)
            .flat_map_iter(|(corners, _)| corners.iter().copied())
            .collect();
        while !looked_at.is_empty() {
            looked_at = distinct(looked_at);
            let got_worse = |&v: &u32| {
                moves[v as usize].is_some() && {
                    let left = worst(self, v, &now);
                    left <= 0.0 || left < ENOUGH && left < worst(self, v, before)
                }
            };
            let back: Vec<u32> = looked_at.par_iter().copied().filter(got_worse).collect();
            looked_at.clear();
            for &v in &back {
                if let Some(old) = moves[v as usize].take() {
                    self.put(v, old);
                    looked_at.extend(self.mesh.around(v).map(|h| self.mesh.to(h)));
                }
            }
            for h in back.iter().flat_map(|&v| self.mesh.around(v)) {
                now[h as usize / 3] = after(self, h / 3, &moves);
            }
        }
    }

    /// Moves a vertex unless its worst triangle gets worse and worse than [`ENOUGH`].
    fn try_move(&mut self, v: u32, new: Vertex) -> bool {
        let old = self.vertex(v);
        let now = self.ring_quality(v);
        let Some(moved) = self.moved_quality(v, new.at, |_| false) else {
            return false;
        };
        if moved < now && moved < ENOUGH {
            return false;
        }
        if !self.checked_move(v, new) {
            return false;
        }
        let faces = |h: u32| self.faces(self.mesh.triangles[h as usize / 3], self.corners(h / 3));
        if !self.mesh.around(v).all(faces) {
            return !self.checked_move(v, old);
        }
        true
    }

    /// How a triangle pulls its corners, the more the larger it is than wanted, and its quality.
    fn pull(&self, t: u32) -> (Pull, f64) {
        let corners = self.mesh.triangles[t as usize];
        let [a, b, c] = self.corners(t);
        let size: f64 = corners.iter().map(|&v| self.sizes[v as usize]).sum();
        let normal = area_normal([a, b, c]);
        let weight = norm(normal) / (size * size);
        let pull = (weight, scale(weight / 3.0, add(add(a, b), c)));
        (pull, self.quality_with(corners, [a, b, c], normal))
    }

    /// Where a vertex is pulled to: the middle of the triangles around it, or of its neighbours
    /// along a crease.
    fn middle_of_ring(&self, v: u32, pulls: &[Pull]) -> Option<Vector> {
        let at = self.places[v as usize];
        match self.tags[v as usize] {
            Tag::Corner => None,
            Tag::Crease(_) => {
                let along: Vec<Vector> = self
                    .mesh
                    .around(v)
                    .filter(|&h| self.mesh.is_creased(h))
                    .map(|h| self.places[self.mesh.to(h) as usize])
                    .collect();
                (along.len() == 2).then(|| scale(0.5, add(along[0], along[1])))
            }
            Tag::Smooth(_) => {
                let (mut sum, mut weights) = ([0.0; 3], 0.0);
                for h in self.mesh.around(v) {
                    let (weight, middle) = pulls[h as usize / 3];
                    sum = add(sum, middle);
                    weights += weight;
                }
                let pull = sub(scale(1.0 / weights, sum), at);
                let normal = self.normals[v as usize];
                let tangential = sub(pull, scale(dot(pull, normal), normal));
                Some(add(at, tangential))
            }
        }
    }

    /// The worst quality of all triangles.
    pub fn worst(&self) -> f64 {
        let alive = self.mesh.alive().into_par_iter();
        alive.map(|t| quality(self.corners(t))).reduce(|| 1.0, f64::min)
    }
}

/// Numbers in order, each of them once.
pub(crate) fn distinct(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.par_sort_unstable();
    numbers.dedup();
    numbers
}
