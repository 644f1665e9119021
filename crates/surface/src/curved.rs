//! Curved triangles of order 2, whose middles of sides are on the surface.

use mesh::curved::{folds, straight};
use mesh::intersect::intersections;
use mesh::vector::{Vector, add, scale};
use mesh::{Mesh, Patches};
use parallel::prelude::*;

use crate::connectivity::next;
use crate::field::Field;
use crate::remesh::distinct;
use crate::shape::Shape;

/// Rounds in which sides are made straight where triangles fold or cross.
const ROUNDS: usize = 4;

/// Nodes of a triangle of order 2.
const NODES: usize = 6;

impl<F: Field> Shape<'_, F> {
    /// The nodes of some triangles; where no middle is found the side is straight.
    pub fn patches(&self, triangles: &[u32]) -> Patches {
        let middle = |h: u32| -> Vector {
            // One of the two half-edges decides, so that both triangles have the same node.
            let h = h.min(self.mesh.twin(h));
            self.middle(h).map_or_else(
                || {
                    let [a, b] = [self.mesh.from(h), self.mesh.from(next(h))];
                    scale(0.5, add(self.places[a as usize], self.places[b as usize]))
                },
                |found| found.at,
            )
        };
        let nodes = |&t: &u32| {
            let [a, b, c] = self.corners(t);
            [a, b, c, middle(3 * t), middle(3 * t + 1), middle(3 * t + 2)]
        };
        let nodes: Vec<[Vector; NODES]> = triangles.par_iter().map(nodes).collect();
        Patches { order: 2, nodes: nodes.concat() }
    }
}

/// Makes sides straight where curved triangles fold or cross each other.
pub(crate) fn straighten(mesh: &mut Mesh) {
    for _ in 0..ROUNDS {
        let mut bad: Vec<u32> = folds(mesh).iter().map(|fold| fold.triangle).collect();
        bad.extend(intersections(mesh).iter().flat_map(|pair| pair.triangles));
        if bad.is_empty() {
            return;
        }
        let sides: std::collections::HashSet<[u32; 2]> = distinct(bad)
            .into_iter()
            .flat_map(|t| {
                let [a, b, c] = mesh.triangles[t as usize];
                [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)])
            })
            .collect();
        let all: Vec<[Vector; 3]> = (0..mesh.triangles.len()).map(|t| mesh.corners(t)).collect();
        let Some(patches) = &mut mesh.patches else {
            return;
        };
        for (t, corners) in mesh.triangles.iter().enumerate() {
            let flat = straight(2, all[t]);
            for k in 0..3 {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                if sides.contains(&[a.min(b), a.max(b)]) {
                    patches.of_mut(t)[3 + k] = flat[3 + k];
                }
            }
        }
    }
}
