//! Triangles with their neighbours, and local changes that keep a closed surface closed and
//! manifold.
//!
//! Half-edge `3 t + k` runs from corner k of triangle t to the next one. `twin` is the half-edge
//! that runs the other way.

use parallel::prelude::*;

/// A vertex or half-edge that is none.
pub(crate) const NONE: u32 = u32::MAX;

/// A closed surface that can be changed.
#[derive(Clone, Default)]
pub struct Connectivity {
    /// Corners; those of removed triangles are `NONE`.
    pub triangles: Vec<[u32; 3]>,
    twins: Vec<u32>,
    /// A half-edge that begins at each vertex, `NONE` of removed vertices.
    outgoing: Vec<u32>,
    /// Whether a half-edge lies on a crease.
    creased: Vec<bool>,
    /// Number of removed triangles.
    removed: usize,
}

/// The next half-edge of a triangle.
pub(crate) fn next(h: u32) -> u32 {
    if h % 3 == 2 { h - 2 } else { h + 1 }
}

/// The previous half-edge of a triangle.
pub(crate) fn previous(h: u32) -> u32 {
    if h.is_multiple_of(3) { h + 2 } else { h - 1 }
}

impl Connectivity {
    /// Finds the neighbours; `None` if a side does not have exactly two triangles, one each way.
    pub fn new(vertices: usize, triangles: Vec<[u32; 3]>) -> Option<Self> {
        let mut sides: Vec<(u64, u32)> = triangles
            .par_iter()
            .enumerate()
            .flat_map_iter(|(t, corners)| {
                (0..3).map(move |k| {
                    let (a, b) = (corners[k], corners[(k + 1) % 3]);
                    ((u64::from(a.min(b)) << 32) | u64::from(a.max(b)), (3 * t + k) as u32)
                })
            })
            .collect();
        sides.par_sort_unstable();
        let mut twins = vec![NONE; 3 * triangles.len()];
        let mut outgoing = vec![NONE; vertices];
        if sides.len() % 2 == 1 {
            return None;
        }
        let from = |h: u32| triangles[h as usize / 3][h as usize % 3];
        for pair in sides.chunks_exact(2) {
            let [(key, h), (other, twin)] = [pair[0], pair[1]];
            if key != other || from(h) == from(twin) {
                return None;
            }
            (twins[h as usize], twins[twin as usize]) = (twin, h);
        }
        if sides.windows(3).any(|three| three[0].0 == three[2].0) {
            return None;
        }
        for (t, corners) in triangles.iter().enumerate() {
            for k in 0..3 {
                outgoing[corners[k] as usize] = (3 * t + k) as u32;
            }
        }
        let creased = vec![false; twins.len()];
        let found = Self { triangles, twins, outgoing, creased, removed: 0 };
        // One fan of triangles around each vertex.
        let fans: usize = (0..vertices as u32)
            .into_par_iter()
            .filter(|&v| found.is_used(v))
            .map(|v| found.around(v).count())
            .sum();
        (fans == 3 * found.triangles.len()).then_some(found)
    }

    /// The half-edge on the other side.
    pub fn twin(&self, h: u32) -> u32 {
        self.twins[h as usize]
    }

    /// The vertex that a half-edge begins at.
    pub fn from(&self, h: u32) -> u32 {
        self.triangles[h as usize / 3][h as usize % 3]
    }

    /// The vertex that a half-edge ends at.
    pub fn to(&self, h: u32) -> u32 {
        self.from(next(h))
    }

    /// The corner of a half-edge's triangle that is not on it.
    pub fn opposite(&self, h: u32) -> u32 {
        self.from(previous(h))
    }

    /// The ends of a half-edge and the corners opposite of it, in its triangle and in its twin's.
    pub fn diamond(&self, h: u32) -> [u32; 4] {
        [self.from(h), self.to(h), self.opposite(h), self.opposite(self.twin(h))]
    }

    /// Whether a vertex is still there.
    pub fn is_used(&self, v: u32) -> bool {
        self.outgoing[v as usize] != NONE
    }

    /// Whether a half-edge's triangle is still there.
    pub fn is_alive(&self, h: u32) -> bool {
        self.triangles[h as usize / 3][0] != NONE
    }

    /// The triangles that are still there.
    pub fn alive(&self) -> Vec<u32> {
        let all = (0..self.triangles.len() as u32).into_par_iter();
        all.filter(|&t| self.is_alive(3 * t)).collect()
    }

    /// One half-edge of each edge.
    pub fn edges(&self) -> Vec<u32> {
        let all = (0..self.half_edges()).into_par_iter();
        all.filter(|&h| self.is_alive(h) && h < self.twin(h)).collect()
    }

    /// Whether a half-edge is on a crease.
    pub fn is_creased(&self, h: u32) -> bool {
        self.creased[h as usize]
    }

    /// Puts both half-edges of an edge on a crease, or off.
    pub fn set_creased(&mut self, h: u32, creased: bool) {
        self.creased[h as usize] = creased;
        let twin = self.twin(h);
        self.creased[twin as usize] = creased;
    }

    /// Number of half-edges, with those that are gone.
    pub fn half_edges(&self) -> u32 {
        self.twins.len() as u32
    }

    /// Number of vertices, with those that are gone.
    pub fn vertices(&self) -> u32 {
        self.outgoing.len() as u32
    }

    /// The half-edges that begin at a vertex, clockwise seen from outside.
    pub fn around(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.outgoing[v as usize];
        let mut at = first;
        // A vertex of more than this many is broken.
        let mut left = if first == NONE { 0 } else { self.twins.len() };
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let h = at;
            at = next(self.twin(h));
            left = if at == first { 0 } else { left - 1 };
            Some(h)
        })
    }

    /// Number of edges at a vertex.
    pub fn valence(&self, v: u32) -> usize {
        self.around(v).count()
    }

    /// The half-edge from one vertex to another.
    pub fn between(&self, a: u32, b: u32) -> Option<u32> {
        self.around(a).find(|&h| self.to(h) == b)
    }

    /// Number of creased edges at a vertex.
    pub fn creases_at(&self, v: u32) -> usize {
        self.around(v).filter(|&h| self.is_creased(h)).count()
    }

    fn pair(&mut self, h: u32, twin: u32) {
        (self.twins[h as usize], self.twins[twin as usize]) = (twin, h);
        self.set_creased(h, self.is_creased(h) || self.is_creased(twin));
    }

    /// Whether an edge can be turned into the one between its opposite corners.
    pub fn can_flip(&self, h: u32) -> bool {
        let [a, b, c, d] = self.diamond(h);
        !self.is_creased(h)
            && c != d
            && self.valence(a) > 3
            && self.valence(b) > 3
            && self.between(c, d).is_none()
    }

    /// Turns an edge. Triangles (a, b, c) and (b, a, d) become (c, a, d) and (d, b, c); the edge
    /// keeps its number and runs from d to c.
    pub fn flip(&mut self, h: u32) {
        let twin = self.twin(h);
        let [a, b, c, d] = self.diamond(h);
        let outer = [next(h), previous(h), next(twin), previous(twin)]
            .map(|side| (self.twin(side), self.is_creased(side)));
        self.set_corners(h, [d, c, a]);
        self.set_corners(twin, [c, d, b]);
        self.set_creased(h, false);
        // From b to c, c to a, a to d, and d to b.
        let sides = [previous(twin), next(h), previous(h), next(twin)];
        for ((side, (outer, creased)), from) in sides.into_iter().zip(outer).zip([b, c, a, d]) {
            (self.twins[side as usize], self.twins[outer as usize]) = (outer, side);
            self.set_creased(side, creased);
            self.outgoing[from as usize] = side;
        }
    }

    /// Sets the corners of a triangle, from the start of one of its half-edges on.
    fn set_corners(&mut self, h: u32, corners: [u32; 3]) {
        for (side, corner) in [h, next(h), previous(h)].into_iter().zip(corners) {
            self.triangles[side as usize / 3][side as usize % 3] = corner;
        }
    }

    /// Puts a vertex into an edge; both halves of a creased edge are creased. Gives the vertex.
    pub fn split(&mut self, h: u32) -> u32 {
        let twin = self.twin(h);
        let [_, b, c, d] = self.diamond(h);
        let creased = self.is_creased(h);
        let v = self.outgoing.len() as u32;
        let (t, s) = (self.triangles.len() as u32, self.triangles.len() as u32 + 1);
        // (a, b, c) becomes (a, v, c) and (v, b, c); (b, a, d) becomes (v, a, d) and (b, v, d).
        let (bc, db) = (next(h), previous(twin));
        let [bc_twin, db_twin] = [bc, db].map(|side| self.twin(side));
        self.triangles.extend([[v, b, c], [b, v, d]]);
        self.twins.extend([NONE; 6]);
        self.creased.extend([false; 6]);
        self.triangles[bc as usize / 3][bc as usize % 3] = v;
        self.triangles[twin as usize / 3][twin as usize % 3] = v;
        self.creased[bc as usize] = false;
        self.creased[db as usize] = false;
        let (vb, new_bc, cv) = (3 * t, 3 * t + 1, 3 * t + 2);
        let (bv, vd, new_db) = (3 * s, 3 * s + 1, 3 * s + 2);
        // Outer sides stay on their creases.
        let pairs = [[vb, bv], [new_bc, bc_twin], [cv, bc], [new_db, db_twin], [vd, db]];
        pairs.into_iter().for_each(|[side, twin]| self.pair(side, twin));
        self.set_creased(vb, creased);
        // `h` runs from a to v now, its twin from v to a.
        self.outgoing.push(vb);
        self.outgoing[b as usize] = bv;
        self.outgoing[c as usize] = cv;
        self.outgoing[d as usize] = new_db;
        v
    }

    /// Whether the start of a half-edge can be moved into its end: the two have no neighbours in
    /// common but the corners opposite of the edge, which keep three triangles.
    pub fn can_collapse(&self, h: u32) -> bool {
        let [v, w, c, d] = self.diamond(h);
        if c == d || self.valence(c) <= 3 || self.valence(d) <= 3 {
            return false;
        }
        let is_neighbour = |x: u32| self.around(w).any(|g| self.to(g) == x);
        self.around(v).filter(|&g| is_neighbour(self.to(g))).count() == 2
    }

    /// Moves the start of a half-edge into its end, and removes the two triangles in between.
    pub fn collapse(&mut self, h: u32) {
        let twin = self.twin(h);
        let [v, w, c, d] = self.diamond(h);
        let ring: Vec<u32> = self.around(v).collect();
        let [wc, cv] = [next(h), previous(h)].map(|side| self.twin(side));
        let [vd, dw] = [next(twin), previous(twin)].map(|side| self.twin(side));
        for g in ring {
            self.triangles[g as usize / 3][g as usize % 3] = w;
        }
        // Creases of the removed triangles pass on to the sides that are left.
        for side in [next(h), previous(h), next(twin), previous(twin)] {
            if self.is_creased(side) {
                let outer = self.twin(side);
                self.creased[outer as usize] = true;
            }
        }
        self.pair(wc, cv);
        self.pair(vd, dw);
        self.triangles[h as usize / 3] = [NONE; 3];
        self.triangles[twin as usize / 3] = [NONE; 3];
        self.removed += 2;
        self.outgoing[v as usize] = NONE;
        // wc is the outer half-edge from c to w, cv that from v (now w) to c; vd from d, dw from w.
        self.outgoing[w as usize] = cv;
        self.outgoing[c as usize] = wc;
        self.outgoing[d as usize] = vd;
    }

    /// Whether a good part of the triangles has been removed.
    pub fn is_sparse(&self) -> bool {
        5 * self.removed > self.triangles.len()
    }

    /// Leaves removed triangles and vertices out for good, and gives the old numbers of the
    /// vertices, which are in the order of the triangles now.
    pub fn renumber(&mut self) -> Vec<u32> {
        let alive = self.alive();
        let mut new = vec![NONE; self.triangles.len()];
        alive.iter().zip(0..).for_each(|(&t, n)| new[t as usize] = n);
        let mut number = vec![NONE; self.outgoing.len()];
        let mut kept = Vec::new();
        for &v in alive.iter().flat_map(|&t| &self.triangles[t as usize]) {
            if number[v as usize] == NONE {
                number[v as usize] = kept.len() as u32;
                kept.push(v);
            }
        }
        let half_edge = |h: u32| 3 * new[h as usize / 3] + h % 3;
        let sides = |t: u32| [3 * t, 3 * t + 1, 3 * t + 2];
        let twins: Vec<[u32; 3]> =
            alive.par_iter().map(|&t| sides(t).map(|h| half_edge(self.twin(h)))).collect();
        let creased: Vec<[bool; 3]> =
            alive.par_iter().map(|&t| sides(t).map(|h| self.is_creased(h))).collect();
        self.outgoing = kept.par_iter().map(|&v| half_edge(self.outgoing[v as usize])).collect();
        self.triangles = alive
            .par_iter()
            .map(|&t| self.triangles[t as usize].map(|v| number[v as usize]))
            .collect();
        (self.twins, self.creased) = (twins.into_flattened(), creased.into_flattened());
        self.removed = 0;
        kept
    }

    /// Leaves removed triangles and vertices out, and gives the old numbers of the vertices.
    pub fn compact(&self) -> (Vec<[u32; 3]>, Vec<u32>) {
        let kept: Vec<u32> = (0..self.vertices()).filter(|&v| self.is_used(v)).collect();
        let mut number = vec![NONE; self.outgoing.len()];
        for (new, &old) in kept.iter().enumerate() {
            number[old as usize] = new as u32;
        }
        let alive = self.triangles.iter().filter(|t| t[0] != NONE);
        (alive.map(|t| t.map(|v| number[v as usize])).collect(), kept)
    }
}
