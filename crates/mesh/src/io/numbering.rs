//! Nodes of curved triangles numbered, each once, as files of meshes have them.

use std::collections::HashMap;

use crate::patch::node_count;
use crate::surface::Mesh;
use crate::vector::Vector;

/// The nodes of curved triangles that are no corners: those on sides are there once for all
/// triangles at the side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbering {
    /// Where they are.
    pub nodes: Vec<Vector>,
    /// For each triangle the numbers of its nodes behind the corners; those of `nodes` follow the
    /// numbers of the mesh's vertices.
    numbers: Vec<u32>,
    /// How many these are.
    more: usize,
}

impl Numbering {
    /// Of a valid mesh ([`Mesh::validate`]); empty if its triangles are flat.
    pub fn of(mesh: &Mesh) -> Self {
        let Some(patches) = &mesh.patches else { return Self::default() };
        let order = patches.order;
        let on_sides = 3 * (order - 1);
        let mut numbering = Self { more: node_count(order) - 3, ..Self::default() };
        // Two arcs may have the same ends, so that places count too.
        let mut known: HashMap<([u32; 2], [u64; 3]), u32> = HashMap::new();
        for (t, corners) in mesh.triangles.iter().enumerate() {
            for (k, &node) in patches.of(t)[3..].iter().enumerate() {
                let next = (mesh.vertices.len() + numbering.nodes.len()) as u32;
                let number = if k < on_sides {
                    let side = k / (order - 1);
                    let (p, q) = (corners[side], corners[(side + 1) % 3]);
                    // Zeros have two signs.
                    let place = node.map(|x| (x + 0.0).to_bits());
                    *known.entry(([p.min(q), p.max(q)], place)).or_insert(next)
                } else {
                    next
                };
                numbering.numbers.push(number);
                if number == next {
                    numbering.nodes.push(node);
                }
            }
        }
        numbering
    }

    /// The numbers of a triangle's nodes behind the corners.
    pub fn of_triangle(&self, triangle: usize) -> &[u32] {
        &self.numbers[self.more * triangle..self.more * (triangle + 1)]
    }
}
