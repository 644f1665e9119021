//! The cylinder with caps.

use super::flat::rings;
use super::{Builder, Error, Resolution, check_count, check_length};
use crate::surface::Mesh;
use std::f64::consts::{PI, TAU};

/// A cylinder with flat caps around the z axis, its middle at the origin; physical group
/// `cylinder`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cylinder {
    /// Radius.
    pub radius: f64,
    /// Length along z.
    pub length: f64,
    /// How fine.
    pub resolution: Resolution,
}

impl Cylinder {
    /// Makes the mesh: caps are disks of rings, and the wall has a vertex for each of their rims.
    ///
    /// # Errors
    /// [`Error::Length`], and those of the resolution.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the radius", self.radius)?;
        check_length("the length", self.length)?;
        self.resolution.check()?;
        // Cells of the wall are about as high as they are wide.
        let layers = |n: usize| {
            let width = TAU * self.radius / (6 * n) as f64;
            (self.length / width).round().max(1.0)
        };
        let count = |n: usize| 12.0 * (n as f64).powi(2) + 12.0 * n as f64 * layers(n);
        let (n, layers) = match self.resolution {
            Resolution::Size(size) => {
                let n = (PI / 3.0 * self.radius / size).ceil().max(1.0);
                (n as usize, (self.length / size).ceil().max(1.0))
            }
            Resolution::Elements(elements) | Resolution::Closest(elements) => {
                let n = self.resolution.number(elements, count);
                (n, layers(n))
            }
        };
        check_count(12.0 * (n as f64).powi(2) + 12.0 * n as f64 * layers, self.resolution)?;
        let mut builder = Builder::new();
        builder.group("cylinder");
        let radii: Vec<f64> = (0..=n).map(|k| self.radius * k as f64 / n as f64).collect();
        let height = 0.5 * self.length;
        let mut below = rings(&mut builder, &radii, n, -height, true);
        for layer in 1..=layers as usize {
            let above = if layer == layers as usize {
                rings(&mut builder, &radii, n, height, false)
            } else {
                let z = self.length * (layer as f64 / layers - 0.5);
                let ring: Vec<[f64; 3]> =
                    below.iter().map(|&v| builder.mesh.vertices[v as usize]).collect();
                ring.into_iter().map(|[x, y, _]| builder.vertex([x, y, z])).collect()
            };
            for k in 0..below.len() {
                let next = (k + 1) % below.len();
                let corners = [below[k], below[next], above[next], above[k]];
                builder.quadrangle(corners, (k + layer) % 2 == 0);
            }
            below = above;
        }
        Ok(builder.mesh)
    }
}
