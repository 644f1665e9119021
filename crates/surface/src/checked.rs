//! Changes of triangles that leave a surface free of crossings: those next to a change are looked
//! up in a grid and compared with the new ones before it is made.

use crate::field::Field;
use crate::guard::Guard;
use crate::shape::{Shape, Tag, Vertex};
use crate::triangle::{area_normal, quality};
use mesh::intersect::meet;
use mesh::vector::{Vector, add, dot, norm, scale, sub};

/// Cosine of the least angle between triangles on both sides of an edge (less than that and they
/// lie on each other), and how much it may shrink where it is less already.
const FOLDED: f64 = -0.985;

/// The low and the high end of a triangle's box.
fn bounds([a, b, c]: &[Vector; 3]) -> [Vector; 2] {
    [
        std::array::from_fn(|k| a[k].min(b[k]).min(c[k])),
        std::array::from_fn(|k| a[k].max(b[k]).max(c[k])),
    ]
}

fn boxes_meet([low, high]: &[Vector; 2], t: &[Vector; 3]) -> bool {
    (0..3).all(|k| {
        (t[0][k] >= low[k] || t[1][k] >= low[k] || t[2][k] >= low[k])
            && (t[0][k] <= high[k] || t[1][k] <= high[k] || t[2][k] <= high[k])
    })
}

/// Whether two triangles cross, or share a side and lie on each other.
fn collide(s: [Vector; 3], t: [Vector; 3]) -> bool {
    let shared = s.iter().filter(|corner| t.contains(corner)).count();
    if shared < 2 {
        return meet(s, t).is_some();
    }
    let (m, n) = (area_normal(s), area_normal(t));
    shared > 2 || dot(m, n) < FOLDED * norm(m) * norm(n)
}

impl<F: Field> Shape<'_, F> {
    /// From now on changes that make triangles cross are refused.
    pub fn watch(&mut self, side: f64) {
        let count = self.mesh.triangles.len();
        let mut guard = Guard::new(side, count);
        for t in 0..count as u32 {
            if self.mesh.is_alive(3 * t) {
                guard.add(t, self.corners(t));
            }
        }
        self.guard = Some(guard);
    }

    /// From now on changes that leave triangles with smallest angles of a sine below `floor` are
    /// refused, too.
    pub fn keep_angles(&mut self, floor: f64) {
        if let Some(guard) = &mut self.guard {
            guard.floor = floor;
        }
    }

    /// Puts vertices on the surface that are not, as far as that may be, if changes are checked.
    pub fn settle(&mut self) {
        if self.guard.is_none() {
            return;
        }
        for v in 0..self.mesh.vertices() {
            let at = self.places[v as usize];
            if !self.mesh.is_used(v) || self.field.is_on(at) {
                continue;
            }
            if let Some(foot) = self.field.foot(at) {
                for share in [1.0, 0.5, 0.25] {
                    let place = add(at, scale(share, sub(foot.point, at)));
                    if self.checked_move(
                        v,
                        Vertex { at: place, normal: foot.normal, tag: Tag::Smooth(foot.feature) },
                    ) {
                        break;
                    }
                }
            }
        }
    }

    /// Whether some triangles may be replaced by others.
    fn may_replace(&self, old: &[u32], new: &[[Vector; 3]]) -> bool {
        let Some(guard) = &self.guard else {
            return true;
        };
        if guard.floor > 0.0 && new.iter().any(|t| quality(*t) < guard.floor) {
            return false;
        }
        for (k, s) in new.iter().enumerate() {
            let around = bounds(s);
            if new[..k].iter().any(|t| boxes_meet(&around, t) && collide(*s, *t)) {
                return false;
            }
            // Triangles are in the lists of several cells, and compared once.
            let mut near: Vec<u32> = Vec::with_capacity(32);
            guard.reached(*s, |list| {
                for &t in guard.listed(list) {
                    if boxes_meet(&around, &self.corners(t))
                        && !near.contains(&t)
                        && !old.contains(&t)
                    {
                        near.push(t);
                    }
                }
            });
            if near.into_iter().any(|t| collide(*s, self.corners(t))) {
                return false;
            }
        }
        true
    }

    /// Takes triangles out of the grid before a change, or puts those that are left back after it.
    fn note(&mut self, triangles: &[u32], add: bool) {
        if let Some(mut guard) = self.guard.take() {
            for &t in triangles.iter().filter(|&&t| self.mesh.is_alive(3 * t)) {
                if add {
                    guard.add(t, self.corners(t));
                } else {
                    guard.remove(t, self.corners(t));
                }
            }
            self.guard = Some(guard);
        }
    }

    fn ring(&self, v: u32) -> Vec<u32> {
        self.mesh.around(v).map(|h| h / 3).collect()
    }

    /// The triangles around a vertex if it were at `at`, without some.
    fn ring_at(&self, v: u32, at: Vector, without: [u32; 2]) -> Vec<[Vector; 3]> {
        let ring = self.mesh.around(v).map(|h| h / 3).filter(|t| !without.contains(t));
        let places = |t: u32| {
            self.mesh.triangles[t as usize]
                .map(|w| if w == v { at } else { self.places[w as usize] })
        };
        ring.map(places).collect()
    }

    /// Moves a vertex, if no triangles cross then.
    pub fn checked_move(&mut self, v: u32, new: Vertex) -> bool {
        if self.guard.is_none() {
            self.put(v, new);
            return true;
        }
        let ring = self.ring(v);
        let none = [u32::MAX; 2];
        if !self.may_replace(&ring, &self.ring_at(v, new.at, none)) {
            return false;
        }
        self.note(&ring, false);
        self.put(v, new);
        self.note(&ring, true);
        true
    }

    /// Turns an edge that can be turned, if no triangles cross then.
    pub fn checked_flip(&mut self, h: u32) -> bool {
        if self.guard.is_none() {
            self.mesh.flip(h);
            return true;
        }
        let twin = self.mesh.twin(h);
        let old = [h / 3, twin / 3];
        let ends = [self.mesh.from(h), self.mesh.to(h)];
        let apexes = [self.mesh.opposite(h), self.mesh.opposite(twin)];
        let [a, b, c, d] =
            [ends[0], ends[1], apexes[0], apexes[1]].map(|v| self.places[v as usize]);
        if !self.may_replace(&old, &[[c, a, d], [d, b, c]]) {
            return false;
        }
        self.note(&old, false);
        self.mesh.flip(h);
        self.note(&old, true);
        true
    }

    /// Moves the start of a half-edge into its end, if no triangles cross then.
    pub fn checked_collapse(&mut self, h: u32) -> bool {
        if self.guard.is_none() {
            self.mesh.collapse(h);
            return true;
        }
        let twin = self.mesh.twin(h);
        let v = self.mesh.from(h);
        let ring = self.ring(v);
        let at = self.places[self.mesh.to(h) as usize];
        if !self.may_replace(&ring, &self.ring_at(v, at, [h / 3, twin / 3])) {
            return false;
        }
        self.note(&ring, false);
        self.mesh.collapse(h);
        self.note(&ring, true);
        true
    }

    /// Puts a new vertex into an edge, if no triangles cross then.
    pub fn checked_split(&mut self, h: u32, new: Vertex) -> Option<u32> {
        if self.guard.is_none() {
            return Some(self.split(h, new));
        }
        let twin = self.mesh.twin(h);
        let old = [h / 3, twin / 3];
        let [a, b, c, d] =
            [self.mesh.from(h), self.mesh.to(h), self.mesh.opposite(h), self.mesh.opposite(twin)]
                .map(|v| self.places[v as usize]);
        let v = new.at;
        if !self.may_replace(&old, &[[a, v, c], [v, b, c], [v, a, d], [b, v, d]]) {
            return None;
        }
        self.note(&old, false);
        let v = self.split(h, new);
        let count = self.mesh.triangles.len() as u32;
        self.note(&[old[0], old[1], count - 2, count - 1], true);
        Some(v)
    }

    /// Moves the corner opposite of an edge into it, if no triangles cross then.
    pub fn checked_press(&mut self, h: u32, new: Vertex) -> bool {
        let apex = self.mesh.opposite(h);
        let twin = self.mesh.twin(h);
        let (ring, none) = (self.ring(apex), u32::MAX);
        let [start, end] = [self.mesh.from(h), self.mesh.to(h)];
        let beyond = self.mesh.opposite(twin);
        let joins = apex != beyond
            && self.mesh.between(apex, beyond).is_none()
            && self.mesh.valence(start) > 3
            && self.mesh.valence(end) > 3;
        if !joins {
            return false;
        }
        if self.guard.is_some() {
            let [a, b, d] = [start, end, beyond].map(|v| self.places[v as usize]);
            let mut after = self.ring_at(apex, new.at, [h / 3, none]);
            after.extend([[new.at, a, d], [b, new.at, d]]);
            let mut old = ring.clone();
            old.push(twin / 3);
            if !self.may_replace(&old, &after) {
                return false;
            }
        }
        let mut old = ring;
        old.push(twin / 3);
        self.note(&old, false);
        let v = self.split(h, new);
        let into = self.mesh.between(apex, v);
        if let Some(g) = into {
            self.mesh.collapse(g);
        }
        let count = self.mesh.triangles.len() as u32;
        old.extend([count - 2, count - 1]);
        self.note(&old, true);
        into.is_some()
    }
}
