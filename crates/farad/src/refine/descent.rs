//! Densities carried from a mesh to the finer one that was made of it.

use mesh::curved::{Barycentric, CORNERS};
use mesh::split::Split;

use crate::result::charges::Known;

/// Where the triangles of a mesh are in the coarser one that they are parts of.
#[derive(Clone, Debug)]
pub struct Descent {
    /// For each triangle the one it is a part of.
    ancestor: Vec<u32>,
    /// Where its corners are in that.
    within: Vec<[Barycentric; 3]>,
}

impl Descent {
    /// The descent of a mesh of this many triangles from itself.
    pub fn none(triangles: usize) -> Self {
        Self { ancestor: (0..triangles as u32).collect(), within: vec![CORNERS; triangles] }
    }

    /// After a further split.
    pub fn then(&self, split: &Split) -> Self {
        let of_part = |(&parent, corners): (&u32, &[Barycentric; 3])| {
            let of_parent = self.within[parent as usize];
            let at = |w: Barycentric| {
                [0, 1, 2].map(|i| (0..3).map(|corner| w[corner] * of_parent[corner][i]).sum())
            };
            (self.ancestor[parent as usize], corners.map(at))
        };
        let (ancestor, within) = split.parent.iter().zip(&split.within).map(of_part).unzip();
        Self { ancestor, within }
    }

    /// Triangles of the finer mesh.
    pub fn triangles(&self) -> usize {
        self.ancestor.len()
    }

    /// These charges of the coarser mesh on the finer one, with the same density everywhere.
    pub fn carry(&self, known: &Known) -> Known {
        let parts = || self.ancestor.iter().map(|&t| t as usize).zip(&self.within);
        if known.at_corners.is_empty() {
            let total = parts().map(|(t, corners)| share(corners) * known.total[t]);
            return Known { total: total.collect(), at_corners: Vec::new() };
        }
        let at_corners: Vec<[f64; 3]> = parts()
            .map(|(t, corners)| {
                let [a, b, c] = known.at_corners[t];
                corners.map(|[of_a, of_b, of_c]| share(corners) * (of_a * a + of_b * b + of_c * c))
            })
            .collect();
        let total = at_corners.iter().map(|[a, b, c]| (a + b + c) / 3.0).collect();
        Known { total, at_corners }
    }
}

/// The share of a triangle's area (of its parameters, where it is curved) inside these corners.
fn share([a, b, c]: &[Barycentric; 3]) -> f64 {
    let minor = |i: usize, j: usize| b[i] * c[j] - b[j] * c[i];
    (a[0] * minor(1, 2) + a[1] * minor(2, 0) + a[2] * minor(0, 1)).abs()
}
