//! Potential and field of surface charges at points, in closed form: as exact next to the surface as far from it.

use mesh::Mesh;
use rayon::prelude::*;

use crate::triangle::{Triangle, Vec3};

/// Triangles that one task takes at a time.
const PIECE: usize = 1024;

/// Charges spread evenly over their triangles, for evaluation at any points.
#[derive(Clone, Debug)]
pub struct SurfaceCharge {
    /// Triangles and their densities.
    parts: Vec<(Triangle, f64)>,
}

impl SurfaceCharge {
    /// `charge` over 4 pi eps0 of each triangle, as in [`Response::charge`](crate::Response::charge).
    pub fn new(mesh: &Mesh, charge: &[f64]) -> Self {
        let part = |(t, q): (usize, &f64)| {
            let triangle = Triangle::new(mesh.corners(t));
            (triangle, q / triangle.area)
        };
        let charged = charge.iter().enumerate().filter(|(_, q)| **q != 0.0);
        Self { parts: charged.map(part).collect() }
    }

    /// Potential at `x`.
    pub fn potential(&self, x: [f64; 3]) -> f64 {
        let x = Vec3::from(x);
        let of = |parts: &[(Triangle, f64)]| -> f64 {
            parts.iter().map(|(triangle, density)| density * triangle.potential_at(&x)).sum()
        };
        // Pieces in order: the same sum on any number of threads.
        self.parts.par_chunks(PIECE).map(of).collect::<Vec<f64>>().into_iter().sum()
    }

    /// Electric field at `x`, minus the gradient of the potential. On a triangle its normal part is the mean of both sides.
    pub fn field(&self, x: [f64; 3]) -> [f64; 3] {
        let x = Vec3::from(x);
        let of = |parts: &[(Triangle, f64)]| -> Vec3 {
            parts.iter().map(|(triangle, density)| triangle.gradient_at(&x) * *density).sum()
        };
        let gradient: Vec3 =
            self.parts.par_chunks(PIECE).map(of).collect::<Vec<Vec3>>().into_iter().sum();
        (-gradient).into()
    }
}
