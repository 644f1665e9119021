//! A surface whose edges are collapsed and swapped.

use crate::geometry::quality::relative_height;
use crate::surface::Mesh;
use crate::vector::{Vector, area_normal, dot, sub};

/// A mesh with the triangles around each vertex.
pub(crate) struct Web<'a> {
    pub mesh: &'a mut Mesh,
    pub alive: Vec<bool>,
    around: Vec<Vec<u32>>,
}

impl<'a> Web<'a> {
    pub fn new(mesh: &'a mut Mesh) -> Self {
        let mut around = vec![Vec::new(); mesh.vertices.len()];
        for (t, triangle) in mesh.triangles.iter().enumerate() {
            triangle.iter().for_each(|&v| around[v as usize].push(t as u32));
        }
        Self { alive: vec![true; mesh.triangles.len()], around, mesh }
    }

    /// The triangles at both vertices.
    pub fn at_edge(&self, a: u32, b: u32) -> Vec<u32> {
        let all = self.around[a as usize].iter().copied();
        all.filter(|&t| self.mesh.triangles[t as usize].contains(&b)).collect()
    }

    fn neighbours(&self, v: u32) -> Vec<u32> {
        let all = self.around[v as usize].iter();
        let mut found: Vec<u32> =
            all.flat_map(|&t| self.mesh.triangles[t as usize]).filter(|&w| w != v).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    pub fn height(&self, t: u32) -> f64 {
        relative_height(self.mesh.corners(t as usize))
    }

    /// The third corners of the triangles at an edge.
    fn opposite(&self, at_edge: &[u32], a: u32, b: u32) -> Vec<u32> {
        let third =
            |&t: &u32| self.mesh.triangles[t as usize].into_iter().find(|&v| v != a && v != b);
        let mut found: Vec<u32> = at_edge.iter().filter_map(third).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Draws vertex `a` to vertex `b`, if the surface stays one: no triangle then is flatter than
    /// `least` and than those next to the edge were, and none turns over that was not as flat.
    pub fn collapse(&mut self, a: u32, b: u32, least: f64) -> bool {
        let gone = self.at_edge(a, b);
        let [third, fourth] = self.opposite(&gone, a, b)[..] else { return false };
        let (of_a, of_b) = (self.neighbours(a), self.neighbours(b));
        let shared = of_a.iter().filter(|v| of_b.binary_search(v).is_ok()).count();
        let valence = |v: u32| self.around[v as usize].len();
        if gone.len() != 2 || shared != 2 || valence(third) < 4 || valence(fourth) < 4 {
            return false;
        }
        let worst = gone.iter().map(|&t| self.height(t)).fold(f64::INFINITY, f64::min);
        let target = self.mesh.vertices[b as usize];
        let moved: Vec<u32> =
            self.around[a as usize].iter().copied().filter(|t| !gone.contains(t)).collect();
        for &t in &moved {
            let old = self.mesh.corners(t as usize);
            let mut new = old;
            for (corner, &v) in new.iter_mut().zip(&self.mesh.triangles[t as usize]) {
                if v == a {
                    *corner = target;
                }
            }
            let height = relative_height(new);
            let turns = relative_height(old) >= least && turned(old, new);
            if turns || (height < least && height <= worst) {
                return false;
            }
        }
        for &t in &gone {
            self.alive[t as usize] = false;
            for v in self.mesh.triangles[t as usize] {
                self.around[v as usize].retain(|&other| other != t);
            }
        }
        for &t in &moved {
            let corners = self.mesh.triangles[t as usize].iter_mut();
            corners.filter(|v| **v == a).for_each(|v| *v = b);
        }
        self.around[a as usize].clear();
        self.around[b as usize].extend(moved);
        true
    }

    /// The volume between the surface and what drawing vertex `a` to vertex `b` makes of it.
    pub fn cost_of_collapse(&self, a: u32, b: u32) -> f64 {
        let [from, to] = [a, b].map(|v| self.mesh.vertices[v as usize]);
        let swept = |&t: &u32| dot(area_normal(self.mesh.corners(t as usize)), sub(to, from));
        // Parts on both sides count, not their difference.
        self.around[a as usize].iter().map(|t| swept(t).abs()).sum()
    }

    /// The volume between the surface and what swapping an edge makes of it.
    pub fn cost_of_swap(&self, a: u32, b: u32) -> f64 {
        let at_edge = self.at_edge(a, b);
        let [c, d] = self.opposite(&at_edge, a, b)[..] else { return f64::INFINITY };
        let [a, b, c, d] = [a, b, c, d].map(|v| self.mesh.vertices[v as usize]);
        dot(area_normal([a, b, c]), sub(d, a)).abs()
    }

    /// Puts the other diagonal in place of an edge, if both triangles are then less flat than the
    /// flatter one was, and face the side that the other faced.
    pub fn swap(&mut self, a: u32, b: u32) -> bool {
        let [s, t] = self.at_edge(a, b)[..] else { return false };
        let runs = |t: u32| {
            let [p, q, r] = self.mesh.triangles[t as usize];
            [(p, q, r), (q, r, p), (r, p, q)].into_iter().find(|&(p, q, _)| (p, q) == (a, b))
        };
        let (first, second) = if runs(s).is_some() { (s, t) } else { (t, s) };
        let Some((_, _, c)) = runs(first) else { return false };
        let Some(&d) = self.opposite(&[second], a, b).first() else { return false };
        if runs(second).is_some() || c == d || !self.at_edge(c, d).is_empty() {
            return false;
        }
        let worst = self.height(first).min(self.height(second));
        let better = if self.height(first) > self.height(second) { first } else { second };
        let new = [[a, d, c], [d, b, c]];
        let facing = self.mesh.corners(better as usize);
        for corners in new {
            let corners = corners.map(|v| self.mesh.vertices[v as usize]);
            if relative_height(corners) <= worst || turned(facing, corners) {
                return false;
            }
        }
        for (t, corners) in [first, second].into_iter().zip(new) {
            self.mesh.triangles[t as usize] = corners;
        }
        self.around[a as usize].retain(|&t| t != second);
        self.around[b as usize].retain(|&t| t != first);
        self.around[c as usize].push(second);
        self.around[d as usize].push(first);
        true
    }
}

/// Whether two triangles face different sides.
fn turned(old: [Vector; 3], new: [Vector; 3]) -> bool {
    dot(area_normal(old), area_normal(new)) < 0.0
}
