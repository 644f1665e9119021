//! The zero of a field by marching tetrahedra over a body-centred cubic lattice, whose tetrahedra are all alike.
//!
//! What comes out is closed and manifold whatever the field, with triangles of all shapes.

use super::Surface;
use super::field::{FAR, Field};
use crate::generate::Error;
use crate::vector::{Vector, add, dot, scale, sub};
use std::collections::HashMap;

/// Corners of a tetrahedron in even permutations: one corner against three, for each corner.
const ONE: [[usize; 4]; 4] = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]];

/// Two corners against two, in even permutations.
const TWO: [[usize; 4]; 6] =
    [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 2, 0], [2, 3, 0, 1]];

/// The values of the field on a lattice: corners of cubes, then their centres.
struct Lattice {
    origin: Vector,
    spacing: f64,
    /// Cubes along each axis; as many corners are kept, the last row of each axis being outside of everything.
    counts: [usize; 3],
    values: Vec<f64>,
}

/// The surface, found with cubes of the given size.
pub(super) fn surface(field: &Field, spacing: f64, most_nodes: f64) -> Result<Surface, Error> {
    let lattice = Lattice::new(field, spacing, most_nodes)?;
    let mut marcher =
        Marcher { lattice: &lattice, surface: Surface::default(), cuts: HashMap::new() };
    let [nx, ny, nz] = lattice.counts;
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                for axis in 0..3 {
                    let mut next = [i, j, k];
                    next[axis] += 1;
                    if next[axis] < lattice.counts[axis] {
                        marcher.between([i, j, k], next, axis);
                    }
                }
            }
        }
    }
    Ok(marcher.surface)
}

impl Lattice {
    fn new(field: &Field, spacing: f64, most_nodes: f64) -> Result<Self, Error> {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for ball in field.balls() {
            let reach = field.range(ball);
            for i in 0..3 {
                low[i] = low[i].min(ball.centre[i] - reach);
                high[i] = high[i].max(ball.centre[i] + reach);
            }
        }
        let origin = low.map(|x| x - 2.0 * spacing);
        let sizes: [f64; 3] = std::array::from_fn(|i| ((high[i] - low[i]) / spacing).ceil() + 5.0);
        let nodes = 2.0 * sizes.iter().product::<f64>();
        if nodes.is_nan() || nodes > most_nodes {
            return Err(Error::Lattice);
        }
        let counts = sizes.map(|size| size as usize);
        let cubes = counts.iter().product::<usize>();
        let mut lattice = Self { origin, spacing, counts, values: vec![0.0; 2 * cubes] };
        for ball in field.balls() {
            lattice.add(field, ball);
        }
        for value in &mut lattice.values {
            *value = if *value > 0.0 { value.ln().max(FAR) } else { FAR };
        }
        Ok(lattice)
    }

    /// Adds a ball's Gaussian at the nodes where it is felt.
    fn add(&mut self, field: &Field, ball: &super::Ball) {
        let reach = field.range(ball);
        let bound = |x: f64, i: usize, shift: f64| {
            let at = (x - self.origin[i]) / self.spacing - shift;
            (at.max(0.0) as usize).min(self.counts[i] - 1)
        };
        let cubes = self.values.len() / 2;
        for (lattice, shift) in [(0, 0.0), (cubes, 0.5)] {
            let first: [usize; 3] =
                std::array::from_fn(|i| bound(ball.centre[i] - reach, i, shift));
            let last: [usize; 3] = std::array::from_fn(|i| bound(ball.centre[i] + reach, i, shift));
            for k in first[2]..=last[2] {
                for j in first[1]..=last[1] {
                    for i in first[0]..=last[0] {
                        let node = lattice + self.cube([i, j, k]);
                        let off = sub(self.place(node), ball.centre);
                        let squared = dot(off, off);
                        if squared < reach * reach {
                            self.values[node] += field.gaussian(ball, squared);
                        }
                    }
                }
            }
        }
    }

    fn cube(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.counts[0] * (j + self.counts[1] * k)
    }

    /// Where a node is.
    fn place(&self, node: usize) -> Vector {
        let cubes = self.values.len() / 2;
        let (cube, shift) = if node < cubes { (node, 0.0) } else { (node - cubes, 0.5) };
        let [nx, ny, _] = self.counts;
        let index = [cube % nx, cube / nx % ny, cube / nx / ny];
        std::array::from_fn(|i| self.origin[i] + self.spacing * (index[i] as f64 + shift))
    }
}

struct Marcher<'a> {
    lattice: &'a Lattice,
    surface: Surface,
    /// Vertices by the lattice's edges that they cut.
    cuts: HashMap<(usize, usize), u32>,
}

impl Marcher<'_> {
    /// The four tetrahedra between the centres of two neighbouring cubes and the sides of the square they share.
    fn between(&mut self, cube: [usize; 3], next: [usize; 3], axis: usize) {
        let cubes = self.lattice.values.len() / 2;
        let centres = [cube, next].map(|cube| cubes + self.lattice.cube(cube));
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        // The square's corners, counter-clockwise seen from the next cube; those beyond the last row are outside.
        let square = [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(du, dv)| {
            let mut corner = next;
            corner[u] += du;
            corner[v] += dv;
            (corner[u] < self.lattice.counts[u] && corner[v] < self.lattice.counts[v])
                .then(|| self.lattice.cube(corner))
        });
        for side in 0..4 {
            if let (Some(p), Some(q)) = (square[side], square[(side + 1) % 4]) {
                self.tetrahedron([centres[0], centres[1], p, q]);
            }
        }
    }

    /// The part of the surface in a tetrahedron of positive orientation.
    fn tetrahedron(&mut self, nodes: [usize; 4]) {
        let inside = nodes.map(|node| self.lattice.values[node] >= 0.0);
        let count = inside.iter().filter(|inside| **inside).count();
        let single = |wanted: bool| inside.iter().position(|inside| *inside == wanted);
        match count {
            1 | 3 => {
                let Some(corner) = single(count == 1) else { return };
                let [a, b, c, d] = ONE[corner].map(|i| nodes[i]);
                let corners = [(a, b), (a, c), (a, d)].map(|(p, q)| self.cut(p, q));
                let [p, q, r] = corners;
                self.surface.triangles.push(if count == 1 { [p, q, r] } else { [p, r, q] });
            }
            2 => {
                let Some(order) = TWO.iter().find(|order| inside[order[0]] && inside[order[1]])
                else {
                    return;
                };
                let [a, b, c, d] = order.map(|i| nodes[i]);
                let [p, q, r, s] = [(a, c), (a, d), (b, d), (b, c)].map(|(p, q)| self.cut(p, q));
                self.surface.triangles.extend([[p, q, r], [p, r, s]]);
            }
            _ => {}
        }
    }

    /// The vertex where the surface cuts an edge of the lattice.
    fn cut(&mut self, p: usize, q: usize) -> u32 {
        let (p, q) = (p.min(q), p.max(q));
        *self.cuts.entry((p, q)).or_insert_with(|| {
            let (f, g) = (self.lattice.values[p], self.lattice.values[q]);
            // Not at the nodes themselves, where vertices of several edges would fall together.
            let along = (f / (f - g)).clamp(0.02, 0.98);
            let (a, b) = (self.lattice.place(p), self.lattice.place(q));
            self.surface.vertices.push(add(a, scale(along, sub(b, a))));
            (self.surface.vertices.len() - 1) as u32
        })
    }
}
