//! Open flat surfaces in the plane z = 0, with normals along +z: the rectangular plate and the
//! disk.

use super::grading::{self, Toward};
use super::{Builder, Error, Resolution, check_count, check_grade, check_length, cut_outward};
use crate::surface::Mesh;
use std::f64::consts::PI;

/// A rectangle around the origin; physical group `plate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plate {
    /// Length along x.
    pub width: f64,
    /// Length along y.
    pub height: f64,
    /// Largest over smallest element size along an edge: elements shrink toward the edges; 1 for a
    /// uniform mesh.
    pub grade: f64,
    /// How fine.
    pub resolution: Resolution,
}

/// A disk around the origin; physical group `disk`; 6 n^2 triangles when uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// Radius.
    pub radius: f64,
    /// Largest over smallest element size along a radius: elements shrink toward the rim; 1 for a
    /// uniform mesh.
    pub grade: f64,
    /// How fine.
    pub resolution: Resolution,
}

impl Plate {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the width", self.width)?;
        check_length("the height", self.height)?;
        check_grade(self.grade)?;
        self.resolution.check()?;
        let (nx, ny) = match self.resolution {
            Resolution::Size(size) => {
                let cells =
                    |length| grading::cells_for_size(length, size, self.grade, Toward::BothEnds);
                (cells(self.width)?, cells(self.height)?)
            }
            Resolution::Elements(elements) | Resolution::Closest(elements) => {
                // The shorter side gets n cells, the longer one as many of the same size as its
                // length holds.
                let aspect = (self.width / self.height).max(self.height / self.width);
                let longer = |n: usize| (n as f64 * aspect).round();
                let n = self.resolution.number(elements, |n| 2.0 * n as f64 * longer(n));
                let longer = longer(n).min((elements as f64 / 2.0).max(1.0)) as usize;
                if self.width >= self.height { (longer, n) } else { (n, longer) }
            }
        };
        check_count(2.0 * nx as f64 * ny as f64, self.resolution)?;
        let x = grading::nodes(nx, self.grade, Toward::BothEnds);
        let y = grading::nodes(ny, self.grade, Toward::BothEnds);
        let mut builder = Builder::new();
        builder.group("plate");
        for &y in &y {
            for &x in &x {
                builder.vertex([self.width * (x - 0.5), self.height * (y - 0.5), 0.0]);
            }
        }
        let at = |i: usize, j: usize| (j * (nx + 1) + i) as u32;
        for j in 0..ny {
            for i in 0..nx {
                let corners = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                builder.quadrangle(corners, cut_outward(i, j, nx, ny));
            }
        }
        Ok(builder.mesh)
    }
}

impl Disk {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the radius", self.radius)?;
        check_grade(self.grade)?;
        self.resolution.check()?;
        let count = |n: usize| {
            let m = self.core(n) as f64;
            6.0 * m * m + 12.0 * m * (n as f64 - m)
        };
        let n = match self.resolution {
            Resolution::Size(size) => {
                // A uniform disk of n rings has rim edges of 2 pi / 6 radial cells.
                let radial = grading::cells_for_size(self.radius, size, self.grade, Toward::End)?;
                let rim = (PI / 3.0 * self.radius / size).ceil() as usize;
                if self.grade == 1.0 { radial.max(rim) } else { radial }
            }
            Resolution::Elements(elements) | Resolution::Closest(elements) => {
                self.resolution.number(elements, count)
            }
        };
        check_count(count(n), self.resolution)?;
        let mut builder = Builder::new();
        builder.group("disk");
        let radii = grading::nodes(n, self.grade, Toward::End);
        let radii: Vec<f64> = radii.iter().map(|radius| self.radius * radius).collect();
        rings(&mut builder, &radii, self.core(n), 0.0, false);
        Ok(builder.mesh)
    }

    /// The number of rings that each have six vertices more than the ring inside them.
    ///
    /// The rings outside are scaled copies of the last of these, however thin they are: a ring with
    /// vertices at other angles would cut through its neighbour once it is thinner than the gap
    /// between chord and arc.
    fn core(&self, n: usize) -> usize {
        let largest = grading::largest_cell(n, self.grade, Toward::End);
        ((PI / 3.0 / largest).ceil() as usize).clamp(1, n)
    }
}

/// Adds a disk of rings around the z axis at a height, with the radii given (the first is 0), and
/// facing down on request. Each of the first `core` rings has six vertices more than the one inside
/// it. The vertices of its rim.
pub(super) fn rings(
    builder: &mut Builder,
    radii: &[f64],
    core: usize,
    height: f64,
    down: bool,
) -> Vec<u32> {
    let triangle = |builder: &mut Builder, [a, b, c]: [u32; 3]| {
        builder.triangle(if down { [a, c, b] } else { [a, b, c] });
    };
    let mut inner = vec![builder.vertex([0.0, 0.0, height])];
    for (ring, radius) in radii.iter().enumerate().skip(1) {
        let sector = ring.min(core);
        let outer: Vec<u32> = (0..6 * sector)
            .map(|k| {
                let angle = PI / 3.0 * k as f64 / sector as f64;
                builder.vertex([radius * angle.cos(), radius * angle.sin(), height])
            })
            .collect();
        let out = |k: usize| outer[k % outer.len()];
        let inn = |k: usize| inner[k % inner.len()];
        if ring <= core {
            for s in 0..6 {
                for k in 0..sector {
                    let (o, i) = (s * sector + k, s * (sector - 1) + k);
                    triangle(builder, [inn(i), out(o), out(o + 1)]);
                    if k + 1 < sector {
                        triangle(builder, [inn(i), out(o + 1), inn(i + 1)]);
                    }
                }
            }
        } else {
            for k in 0..outer.len() {
                let [a, b, c, d] = [inn(k), out(k), out(k + 1), inn(k + 1)];
                let halves =
                    if k % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
                halves.into_iter().for_each(|half| triangle(builder, half));
            }
        }
        inner = outer;
    }
    inner
}
