//! Triangles of one size and close to equilateral, by splitting, collapsing and flipping sides and moving vertices: M. Botsch
//! and L. Kobbelt, A remeshing approach to multiresolution modeling, 2004.
//!
//! The surface stays closed and manifold: a side is collapsed only where its ends have but two neighbours in common.

use super::Surface;
use super::field::Field;
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};

/// Sides longer than this times the one asked for are split, and shorter than that are collapsed.
const LONG: f64 = 4.0 / 3.0;
const SHORT: f64 = 4.0 / 5.0;

/// A new triangle's normal must be this close to the surface's, as a cosine.
const STEADY: f64 = 0.5;

/// Vertices go so far toward the middle of their neighbours in a round.
const RELAXATION: f64 = 0.6;

pub(super) struct Remesher {
    side: f64,
    vertices: Vec<Vector>,
    /// A face that is gone has no corners.
    faces: Vec<Option<[u32; 3]>>,
    /// The faces at each vertex.
    around: Vec<Vec<u32>>,
}

impl Remesher {
    pub fn new(surface: Surface, side: f64) -> Self {
        let mut around = vec![Vec::with_capacity(6); surface.vertices.len()];
        for (face, corners) in (0..).zip(&surface.triangles) {
            for &v in corners {
                around[v as usize].push(face);
            }
        }
        let faces = surface.triangles.into_iter().map(Some).collect();
        Self { side, vertices: surface.vertices, faces, around }
    }

    /// One round over all sides and vertices.
    pub fn round(&mut self, field: &Field) {
        self.split_long(field);
        self.collapse_short(field);
        self.flip(field);
        self.relax(field);
    }

    /// The surface without gaps in its numbers.
    pub fn finish(self) -> Surface {
        let mut renumbered = vec![u32::MAX; self.vertices.len()];
        let mut surface = Surface::default();
        for corners in self.faces.into_iter().flatten() {
            surface.triangles.push(corners.map(|v| {
                let number = &mut renumbered[v as usize];
                if *number == u32::MAX {
                    *number = surface.vertices.len() as u32;
                    surface.vertices.push(self.vertices[v as usize]);
                }
                *number
            }));
        }
        surface
    }

    fn length(&self, p: u32, q: u32) -> f64 {
        norm(sub(self.vertices[p as usize], self.vertices[q as usize]))
    }

    /// Every side once, from its lower vertex, as they are now.
    fn sides(&self) -> Vec<(u32, u32)> {
        let faces = self.faces.iter().flatten();
        faces.flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).filter(|(p, q)| p < q).collect()
    }

    fn neighbours(&self, vertex: u32) -> Vec<u32> {
        let corners = self.around[vertex as usize].iter().filter_map(|&f| self.faces[f as usize]);
        let mut found: Vec<u32> = corners.flatten().filter(|&v| v != vertex).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The two faces at a side, with their third corners; `None` if the side is gone.
    fn beside(&self, p: u32, q: u32) -> Option<[(u32, u32); 2]> {
        let mut found = self.around[p as usize].iter().filter_map(|&face| {
            let corners = self.faces[face as usize]?;
            let third = corners.iter().find(|&&v| v != p && v != q)?;
            corners.contains(&q).then_some((face, *third))
        });
        Some([found.next()?, found.next()?])
    }

    /// Whether a face with one corner put elsewhere still faces out.
    fn faces_out(&self, corners: [u32; 3], moved: u32, place: Vector, out: Vector) -> bool {
        let [a, b, c] = corners.map(|v| if v == moved { place } else { self.vertices[v as usize] });
        let normal = cross(sub(b, a), sub(c, a));
        dot(normal, out) > STEADY * norm(normal) * norm(out)
    }

    fn middle(&self, p: u32, q: u32, field: &Field) -> Vector {
        let sum = add(self.vertices[p as usize], self.vertices[q as usize]);
        field.project(scale(0.5, sum), 0.5 * self.side)
    }

    fn split_long(&mut self, field: &Field) {
        for (p, q) in self.sides() {
            if self.length(p, q) <= LONG * self.side {
                continue;
            }
            let Some(beside) = self.beside(p, q) else { continue };
            let new = self.vertices.len() as u32;
            self.vertices.push(self.middle(p, q, field));
            self.around.push(Vec::with_capacity(6));
            for (face, third) in beside {
                let Some(corners) = self.faces[face as usize] else { continue };
                let added = self.faces.len() as u32;
                let replaced = |from: u32| corners.map(|v| if v == from { new } else { v });
                self.faces[face as usize] = Some(replaced(q));
                self.faces.push(Some(replaced(p)));
                self.around[q as usize].retain(|&f| f != face);
                self.around[q as usize].push(added);
                self.around[third as usize].push(added);
                self.around[new as usize].extend([face, added]);
            }
        }
    }

    fn collapse_short(&mut self, field: &Field) {
        for (p, q) in self.sides() {
            if self.around[p as usize].is_empty() || self.around[q as usize].is_empty() {
                continue;
            }
            if self.length(p, q) < SHORT * self.side {
                self.collapse(p, q, field);
            }
        }
    }

    /// Makes two neighbours one, if the surface stays manifold and no triangle turns over or grows too long.
    fn collapse(&mut self, p: u32, q: u32, field: &Field) {
        let Some(beside) = self.beside(p, q) else { return };
        let (near_p, near_q) = (self.neighbours(p), self.neighbours(q));
        let common = near_p.iter().filter(|v| near_q.binary_search(v).is_ok()).count();
        if common != 2 || beside.iter().any(|(_, third)| self.around[*third as usize].len() <= 3) {
            return;
        }
        let place = self.middle(p, q, field);
        let too_long = |v: &u32| norm(sub(self.vertices[*v as usize], place)) > LONG * self.side;
        let mut others = near_p.iter().chain(&near_q).filter(|v| **v != p && **v != q);
        if others.any(too_long) {
            return;
        }
        let gone = beside.map(|(face, _)| face);
        let out = field.outward(place);
        for end in [p, q] {
            let kept = self.around[end as usize].iter().filter(|face| !gone.contains(face));
            let mut corners = kept.filter_map(|&face| self.faces[face as usize]);
            if !corners.all(|corners| self.faces_out(corners, end, place, out)) {
                return;
            }
        }
        for (face, third) in beside {
            self.faces[face as usize] = None;
            for v in [p, q, third] {
                self.around[v as usize].retain(|&f| f != face);
            }
        }
        for face in std::mem::take(&mut self.around[q as usize]) {
            if let Some(corners) = &mut self.faces[face as usize] {
                *corners = corners.map(|v| if v == q { p } else { v });
            }
            self.around[p as usize].push(face);
        }
        self.vertices[p as usize] = place;
    }

    /// Turns sides to bring the numbers of neighbours nearer to six.
    fn flip(&mut self, field: &Field) {
        for (p, q) in self.sides() {
            let Some([(first, a), (second, b)]) = self.beside(p, q) else { continue };
            let valence = |v: u32| self.around[v as usize].len() as i64;
            let off = |v: u32, change: i64| (valence(v) + change - 6).pow(2);
            let before = off(p, 0) + off(q, 0) + off(a, 0) + off(b, 0);
            let after = off(p, -1) + off(q, -1) + off(a, 1) + off(b, 1);
            if after >= before || valence(p) <= 3 || valence(q) <= 3 {
                continue;
            }
            if self.neighbours(a).binary_search(&b).is_ok() {
                continue;
            }
            let (Some(old), Some(other)) =
                (self.faces[first as usize], self.faces[second as usize])
            else {
                continue;
            };
            // Each new face keeps one end of the side and has the other end replaced by the opposite corner.
            let new_first = old.map(|v| if v == q { b } else { v });
            let new_second = other.map(|v| if v == p { a } else { v });
            let sum = add(self.vertices[p as usize], self.vertices[q as usize]);
            let out = field.outward(scale(0.5, sum));
            let here = self.vertices[a as usize];
            let fine = [new_first, new_second].iter().all(|c| self.faces_out(*c, a, here, out));
            if !fine || self.length(a, b) > 1.5 * LONG * self.side {
                continue;
            }
            self.faces[first as usize] = Some(new_first);
            self.faces[second as usize] = Some(new_second);
            self.around[q as usize].retain(|&f| f != first);
            self.around[p as usize].retain(|&f| f != second);
            self.around[b as usize].push(first);
            self.around[a as usize].push(second);
        }
    }

    /// Moves vertices along the surface toward the middle of their neighbours.
    fn relax(&mut self, field: &Field) {
        let moved: Vec<Vector> = (0..self.vertices.len() as u32)
            .map(|vertex| {
                let here = self.vertices[vertex as usize];
                let neighbours = self.neighbours(vertex);
                if neighbours.is_empty() {
                    return here;
                }
                let sum =
                    neighbours.iter().fold([0.0; 3], |sum, &v| add(sum, self.vertices[v as usize]));
                let toward = sub(scale(1.0 / neighbours.len() as f64, sum), here);
                let (_, gradient) = field.value(here);
                let squared = dot(gradient, gradient);
                let out = if squared > 0.0 { dot(toward, gradient) / squared } else { 0.0 };
                let along = sub(toward, scale(out, gradient));
                field.project(add(here, scale(RELAXATION, along)), 0.5 * self.side)
            })
            .collect();
        // A move that turns a triangle over is not made.
        for (vertex, place) in (0..).zip(moved) {
            let faces = self.around[vertex as usize].iter();
            let mut corners = faces.filter_map(|&face| self.faces[face as usize]);
            let out = field.outward(place);
            if corners.all(|corners| self.faces_out(corners, vertex, place, out)) {
                self.vertices[vertex as usize] = place;
            }
        }
    }
}
