//! The ring torus.

use super::{Builder, Error, Resolution, check_count, check_length};
use crate::surface::Mesh;
use std::f64::consts::TAU;

/// A torus around the z axis; physical group `torus`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Torus {
    /// Distance from the axis to the centre of the tube.
    pub ring_radius: f64,
    /// Radius of the tube, less than that of the ring.
    pub tube_radius: f64,
    /// How fine.
    pub resolution: Resolution,
}

impl Torus {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the ring radius", self.ring_radius)?;
        check_length("the tube radius", self.tube_radius)?;
        self.resolution.check()?;
        let (ring, tube) = (self.ring_radius, self.tube_radius);
        if ring <= tube {
            let what = "the ring radius";
            return Err(Error::Intersecting { what, value: ring, limit: tube });
        }
        let (along, around) = match self.resolution {
            Resolution::Size(size) => {
                let up = |length: f64| 2.0 * (length / size / 2.0 * (1.0 - 1e-9)).ceil().max(2.0);
                (up(TAU * (ring + tube)), up(TAU * tube))
            }
            Resolution::Elements(elements) | Resolution::Closest(elements) => {
                let down = |count: f64| 2.0 * (count / 2.0).floor().max(2.0);
                let cells = elements as f64 / 2.0;
                let around = down((cells * tube / ring).sqrt());
                let along = match self.resolution {
                    Resolution::Closest(_) => down(cells / around + 1.0),
                    _ => down(cells / around),
                };
                (along, around)
            }
        };
        check_count(2.0 * along * around, self.resolution)?;
        let mut builder = Builder::new();
        builder.group("torus");
        for i in 0..along as usize {
            let (sin_u, cos_u) = (TAU * i as f64 / along).sin_cos();
            for j in 0..around as usize {
                let (sin_v, cos_v) = (TAU * j as f64 / around).sin_cos();
                let distance = ring + tube * cos_v;
                builder.vertex([distance * cos_u, distance * sin_u, tube * sin_v]);
            }
        }
        let (along, around) = (along as usize, around as usize);
        let at = |i: usize, j: usize| ((i % along) * around + j % around) as u32;
        for i in 0..along {
            for j in 0..around {
                // Cuts alternate like the squares of a chessboard; both counts are even, so that
                // the pattern closes.
                let corners = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                builder.quadrangle(corners, (i + j) % 2 == 0);
            }
        }
        Ok(builder.mesh)
    }
}
