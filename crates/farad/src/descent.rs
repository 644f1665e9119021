//! Densities carried from a mesh to the finer one that was made of it.

use bem::Charges;
use mesh::curved::{Barycentric, CORNERS};
use mesh::split::Split;

/// Where the triangles of a mesh are in the coarser one that they are parts of.
#[derive(Clone, Debug)]
pub struct Descent {
    /// For each triangle the one it is a part of.
    ancestor: Vec<u32>,
    /// Where its corners are in that.
    within: Vec<[Barycentric; 3]>,
}

/// Charges of triangles over 4 pi eps0, as in [`Charges`].
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Of each triangle.
    pub total: Vec<f64>,
    /// Of its corners, whose mean is the total; empty where densities are constant.
    pub at_corners: Vec<[f64; 3]>,
}

impl Known {
    /// All of its numbers: for each triangle one, or four.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        self.total.iter().chain(self.at_corners.as_flattened()).copied()
    }

    /// Of these numbers, on so many triangles.
    pub fn of_numbers(numbers: &[f64], triangles: usize) -> Self {
        let (total, at_corners) = numbers.split_at(triangles.min(numbers.len()));
        Self { total: total.to_vec(), at_corners: at_corners.as_chunks::<3>().0.to_vec() }
    }
}

impl<'a> From<&'a Known> for Charges<'a> {
    fn from(of: &'a Known) -> Self {
        Self { total: &of.total, at_corners: &of.at_corners }
    }
}

impl From<&bem::Response> for Known {
    fn from(of: &bem::Response) -> Self {
        Self { total: of.charge.clone(), at_corners: of.at_corners.clone() }
    }
}

impl Descent {
    /// Of a mesh of so many triangles from itself.
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
