//! Creases and tips: where a surface has no tangent plane, vertices and edges are put.
//!
//! Between two vertices with normals that differ by more than the surface turns, the crease is
//! found by halving, and then exactly as the place where the two features meet. Edges are split
//! there; in a triangle with two of them the new vertices have an edge in between, which follows
//! the crease.

use crate::field::{Feature, Field, Foot};
use crate::shape::{Shape, Tag, Vertex};
use crate::triangle::area_normal;
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use parallel::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// Cosine of the least angle at a crease (12 degrees): weaker ones are passed over, which
/// changes areas by less than facets do.
const WEAKEST: f64 = 0.978;

/// Halvings between two vertices.
const HALVINGS: usize = 12;

/// Vertices this near to a crease, in lattice constants, move into it, if that leaves triangles
/// with angles of this sine; and the factor for corners.
const SNAP: f64 = 0.4;
const SNAPPED: f64 = 0.1;
const CORNER: f64 = 1.3;

/// Creases are at most this far from the middle of the rest of an edge: in its lengths, and in
/// lattice constants.
const INSIDE: f64 = 0.3;
const BEYOND: f64 = 2.5;

/// Corners are at most this far from their triangle, in lengths of its longest side.
const NEAR: f64 = 0.7;

impl<F: Field> Shape<'_, F> {
    /// Splits edges at creases, and marks those along them.
    pub fn cut_creases(&mut self) {
        self.snap_tips();
        let reach = SNAP * self.sizes.iter().copied().fold(0.0, f64::max);
        self.snap_to_creases(reach);
        let edges = self.mesh.edges().into_par_iter();
        let cuts: Vec<(u32, Vertex, [Feature; 2])> =
            edges.filter_map(|h| self.crease_between(h)).collect();
        // Triangles with three cut edges, before any of them is split.
        let mut of_triangle: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (n, (h, ..)) in cuts.iter().enumerate() {
            for side in [*h, self.mesh.twin(*h)] {
                of_triangle.entry(side / 3).or_default().push(n);
            }
        }
        let triples = of_triangle.into_iter().filter(|(_, cut)| cut.len() == 3);
        let triples: Vec<(Vec<usize>, Option<Vector>)> =
            triples.map(|(triangle, cut)| (cut, self.corner_in(triangle))).collect();
        let vertices: Vec<Option<u32>> =
            cuts.iter().map(|(h, vertex, _)| self.checked_split(*h, *vertex)).collect();
        for (cut, corner) in triples {
            let [a, b, c] = [cut[0], cut[1], cut[2]].map(|n| vertices[n]);
            if let (Some(a), Some(b), Some(c)) = (a, b, c) {
                self.join_three([a, b, c], corner);
            }
        }
        self.mark_creases();
    }

    /// Moves vertices that are close to a crease into it, or into a corner.
    fn snap_to_creases(&mut self, reach: f64) {
        let edges = self.mesh.edges().into_par_iter();
        let cuts: Vec<_> = edges.filter_map(|h| self.crease_between(h)).collect();
        let mut of_vertex: BTreeMap<u32, Vec<[Feature; 2]>> = BTreeMap::new();
        for (h, _, pair) in cuts {
            for v in [self.mesh.from(h), self.mesh.to(h)] {
                of_vertex.entry(v).or_default().push(pair);
            }
        }
        let mut moves: Vec<(f64, u32, Vector, Tag)> = Vec::new();
        // In order, so that of equally good moves the same one is made each time.
        for (v, pairs) in of_vertex {
            let at = self.places[v as usize];
            let mut features: Vec<Feature> = Vec::new();
            for feature in pairs.iter().flatten() {
                if !features.contains(feature) {
                    features.push(*feature);
                }
            }
            let mut offer = |features: &[Feature], reach: f64, tag: Tag| {
                if let Some(place) = self.field.meet(features, at) {
                    let distance = norm(sub(place, at));
                    if distance < reach {
                        moves.push((distance, v, place, tag));
                        return true;
                    }
                }
                false
            };
            let count = features.len().min(5);
            let mut found = false;
            for i in 0..count {
                for j in 0..i {
                    for k in 0..j {
                        let three = [features[i], features[j], features[k]];
                        found |= offer(&three, CORNER * reach, Tag::Corner);
                    }
                }
            }
            if !found {
                for pair in &pairs {
                    offer(pair, reach, Tag::Crease(*pair));
                }
            }
        }
        // Corners first, then the nearest.
        moves.sort_by(|a, b| {
            let rank = |m: &(f64, u32, Vector, Tag)| m.3 != Tag::Corner;
            rank(a).cmp(&rank(b)).then(a.0.total_cmp(&b.0)).then(a.1.cmp(&b.1))
        });
        for (_, v, place, tag) in moves {
            let crowded = self.mesh.around(v).any(|h| {
                let w = self.mesh.to(h);
                !self.is_smooth(w) && norm(sub(self.places[w as usize], place)) < 0.7 * reach
            });
            let fits = || self.moved_quality(v, place, |_| false).is_some_and(|q| q > SNAPPED);
            if self.is_smooth(v) && !crowded && fits() {
                let normal = self.normals[v as usize];
                self.checked_move(v, Vertex { at: place, normal, tag });
            }
        }
    }

    /// Marks the edges along creases: both ends are on one, and the triangles on either side belong
    /// to different features. Then vertices on no such edge are smooth after all, and those at ends
    /// and branches are corners.
    fn mark_creases(&mut self) {
        let is_crease = |h: &u32| {
            let (h, twin) = (*h, self.mesh.twin(*h));
            let ends = [self.mesh.from(h), self.mesh.to(h)];
            if ends.iter().any(|&v| self.is_smooth(v)) {
                return false;
            }
            let side = |h: u32| {
                let apex = self.mesh.opposite(h);
                if self.is_smooth(apex) {
                    return self.normals[apex as usize];
                }
                let normal = area_normal(self.corners(h / 3));
                scale(1.0 / norm(normal).max(f64::MIN_POSITIVE), normal)
            };
            let sides = [side(h), side(twin)];
            let [a, b] = ends.map(|v| self.places[v as usize]);
            let middle = scale(0.5, add(a, b));
            let normals = ends.iter().find_map(|&v| match self.tags[v as usize] {
                Tag::Crease([f, g]) => {
                    Some([self.field.normal(f, middle)?, self.field.normal(g, middle)?])
                }
                _ => None,
            });
            match normals {
                Some([f, g]) => {
                    let first = sides.map(|n| dot(n, f) > dot(n, g));
                    first[0] != first[1]
                }
                None => dot(sides[0], sides[1]) < WEAKEST,
            }
        };
        let creased: Vec<u32> = self.mesh.edges().into_par_iter().filter(is_crease).collect();
        creased.into_iter().for_each(|h| self.mesh.set_creased(h, true));
        for v in 0..self.mesh.vertices() {
            if !self.mesh.is_used(v) {
                continue;
            }
            if let Tag::Crease(pair) = self.tags[v as usize] {
                match self.mesh.creases_at(v) {
                    2 => {}
                    0 => self.tags[v as usize] = Tag::Smooth(pair[0]),
                    _ => self.tags[v as usize] = Tag::Corner,
                }
            }
        }
    }

    /// Where a crease goes through an edge: the edge, a vertex there, and the crease's features.
    fn crease_between(&self, h: u32) -> Option<(u32, Vertex, [Feature; 2])> {
        let ends = [self.mesh.from(h), self.mesh.to(h)];
        let foot = |v: u32| match self.tags[v as usize] {
            Tag::Smooth(feature) => {
                let (point, normal) = (self.places[v as usize], self.normals[v as usize]);
                Some(Foot { point, normal, feature })
            }
            _ => None,
        };
        let (mut a, mut b) = (foot(ends[0])?, foot(ends[1])?);
        let length = norm(sub(b.point, a.point));
        let turns = |a: &Foot, b: &Foot| dot(a.normal, b.normal) < WEAKEST;
        for _ in 0..HALVINGS {
            if !turns(&a, &b) || a.feature == b.feature {
                return None;
            }
            let middle = scale(0.5, add(a.point, b.point));
            let foot = self.field.foot(middle)?;
            if norm(sub(foot.point, middle)) > length {
                return None;
            }
            if dot(a.normal, foot.normal) < dot(foot.normal, b.normal) {
                b = foot;
            } else {
                a = foot;
            }
            if norm(sub(b.point, a.point)) < 1e-4 * length {
                break;
            }
        }
        if !turns(&a, &b) || a.feature == b.feature {
            return None;
        }
        let pair = [a.feature, b.feature];
        let middle = scale(0.5, add(a.point, b.point));
        let place = self.field.meet(&pair, middle)?;
        // At the sharp rim of a thin sheet, or of a gap, it may be far from an edge across it.
        let reach = (INSIDE * length).max(BEYOND * self.wanted(h));
        let vertex = Vertex { at: place, normal: a.normal, tag: Tag::Crease(pair) };
        (norm(sub(place, middle)) < reach).then_some((h, vertex, pair))
    }

    /// Where the features of three corners meet, if that is in their triangle.
    fn corner_in(&self, triangle: u32) -> Option<Vector> {
        let corners = self.mesh.triangles[triangle as usize];
        let feature = |v: u32| match self.tags[v as usize] {
            Tag::Smooth(feature) => Some(feature),
            _ => None,
        };
        let features = [feature(corners[0])?, feature(corners[1])?, feature(corners[2])?];
        let places = self.corners(triangle);
        let middle = scale(1.0 / 3.0, add(add(places[0], places[1]), places[2]));
        let longest = (0..3).map(|k| norm(sub(places[k], places[(k + 1) % 3]))).fold(0.0, f64::max);
        let place = self.field.meet(&features, middle)?;
        (norm(sub(place, middle)) < NEAR * longest).then_some(place)
    }

    /// Connects three new vertices on the sides of a triangle, over a corner if there is one.
    fn join_three(&mut self, vertices: [u32; 3], corner: Option<Vector>) {
        // Two of the three sides between them exist; the third is made by a flip.
        let [a, b, c] = vertices;
        let missing = [[a, b, c], [b, c, a], [c, a, b]]
            .into_iter()
            .find(|[p, q, _]| self.mesh.between(*p, *q).is_none());
        let Some([p, q, centre]) = missing else {
            return;
        };
        // The edge from the centre into the corner of the triangle between p and q.
        let edge = self.mesh.around(centre).find(|&h| {
            let [.., c, d] = self.mesh.diamond(h);
            [c, d] == [p, q] || [c, d] == [q, p]
        });
        let Some(edge) = edge.filter(|&h| self.mesh.can_flip(h)) else {
            return;
        };
        if !self.checked_flip(edge) {
            return;
        }
        let (Some(place), Some(side)) = (corner, self.mesh.between(p, centre)) else {
            return;
        };
        let normal = self.normals[p as usize];
        self.checked_split(side, Vertex { at: place, normal, tag: Tag::Corner });
    }

    /// Moves the nearest vertex into each tip.
    fn snap_tips(&mut self) {
        let tips = self.field.tips();
        if tips.is_empty() {
            return;
        }
        let reach = self.sizes.iter().copied().fold(0.0, f64::max);
        let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
        let cell = |x: Vector| x.map(|x| (x / reach).floor() as i64);
        for v in (0..self.mesh.vertices()).filter(|&v| self.mesh.is_used(v)) {
            cells.entry(cell(self.places[v as usize])).or_default().push(v);
        }
        for tip in tips {
            let [x, y, z] = cell(tip);
            let near = (0..27)
                .filter_map(|n| cells.get(&[x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1]));
            let distance = |v: u32| norm(sub(self.places[v as usize], tip));
            let nearest = near
                .flatten()
                .copied()
                .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
            let Some(v) = nearest.filter(|&v| distance(v) < reach && self.is_smooth(v)) else {
                continue;
            };
            // Triangles at the tip must stay as they are turned.
            let faces = |h: u32| {
                let [b, c] = [self.mesh.to(h), self.mesh.opposite(h)];
                self.faces([b, b, c], [tip, self.places[b as usize], self.places[c as usize]])
            };
            if self.mesh.around(v).all(faces) {
                let normal = self.normals[v as usize];
                self.checked_move(v, Vertex { at: tip, normal, tag: Tag::Corner });
            }
        }
    }
}
