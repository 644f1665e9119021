//! Changes of triangles that leave a surface free of crossings: those next to a change are looked
//! up in a grid and compared with the new ones before it is made.

use crate::connectivity::NONE;
use crate::field::Field;
use crate::guard::Guard;
use crate::shape::{Shape, Vertex};
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
        let mut guard = Guard::new(side, self.mesh.triangles.len());
        for t in self.mesh.alive() {
            guard.add(t, self.corners(t));
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
                    if self.checked_move(v, Vertex { at: place, ..Vertex::from(foot) }) {
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
            for &t in guard.reached(*s).flat_map(|list| guard.listed(list)) {
                if boxes_meet(&around, &self.corners(t)) && !near.contains(&t) && !old.contains(&t)
                {
                    near.push(t);
                }
            }
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

    /// Makes a change, unless changes are checked and triangles would cross. `replaced` gives the
    /// triangles that it takes away and the corners of those that it makes.
    fn change<R>(
        &mut self,
        replaced: impl FnOnce(&Self) -> (Vec<u32>, Vec<[Vector; 3]>),
        make: impl FnOnce(&mut Self) -> R,
    ) -> Option<R> {
        if self.guard.is_none() {
            return Some(make(self));
        }
        let (mut old, new) = replaced(self);
        if !self.may_replace(&old, &new) {
            return None;
        }
        self.note(&old, false);
        let before = self.mesh.triangles.len() as u32;
        let made = make(self);
        old.extend(before..self.mesh.triangles.len() as u32);
        self.note(&old, true);
        Some(made)
    }

    /// Moves a vertex, if no triangles cross then.
    pub fn checked_move(&mut self, v: u32, new: Vertex) -> bool {
        let replaced = |shape: &Self| (shape.ring(v), shape.ring_at(v, new.at, [NONE; 2]));
        self.change(replaced, |shape| shape.put(v, new)).is_some()
    }

    /// Turns an edge that can be turned, if no triangles cross then.
    pub fn checked_flip(&mut self, h: u32) -> bool {
        let replaced = |shape: &Self| {
            let [a, b, c, d] = shape.diamond(h);
            (vec![h / 3, shape.mesh.twin(h) / 3], vec![[c, a, d], [d, b, c]])
        };
        self.change(replaced, |shape| shape.mesh.flip(h)).is_some()
    }

    /// Moves the start of a half-edge into its end, if no triangles cross then.
    pub fn checked_collapse(&mut self, h: u32) -> bool {
        let replaced = |shape: &Self| {
            let v = shape.mesh.from(h);
            let at = shape.places[shape.mesh.to(h) as usize];
            (shape.ring(v), shape.ring_at(v, at, [h / 3, shape.mesh.twin(h) / 3]))
        };
        self.change(replaced, |shape| shape.mesh.collapse(h)).is_some()
    }

    /// Puts a new vertex into an edge, if no triangles cross then.
    pub fn checked_split(&mut self, h: u32, new: Vertex) -> Option<u32> {
        let replaced = |shape: &Self| {
            let ([a, b, c, d], v) = (shape.diamond(h), new.at);
            let new = vec![[a, v, c], [v, b, c], [v, a, d], [b, v, d]];
            (vec![h / 3, shape.mesh.twin(h) / 3], new)
        };
        self.change(replaced, |shape| shape.split(h, new))
    }

    /// Moves the corner opposite of an edge into it, if no triangles cross then.
    pub fn checked_press(&mut self, h: u32, new: Vertex) -> bool {
        let [start, end, apex, beyond] = self.mesh.diamond(h);
        let joins = apex != beyond
            && self.mesh.between(apex, beyond).is_none()
            && self.mesh.valence(start) > 3
            && self.mesh.valence(end) > 3;
        if !joins {
            return false;
        }
        let replaced = |shape: &Self| {
            let [a, b, _, d] = shape.diamond(h);
            let mut old = shape.ring(apex);
            old.push(shape.mesh.twin(h) / 3);
            let mut after = shape.ring_at(apex, new.at, [h / 3, NONE]);
            after.extend([[new.at, a, d], [b, new.at, d]]);
            (old, after)
        };
        let into = self.change(replaced, |shape| {
            let v = shape.split(h, new);
            let into = shape.mesh.between(apex, v)?;
            shape.mesh.collapse(into);
            Some(into)
        });
        into.flatten().is_some()
    }
}
