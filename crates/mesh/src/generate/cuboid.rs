//! Boxes with graded faces: the cube and the bus of crossing bars.

use super::grading::{self, Toward};
use super::{
    Builder, Error, MAX_ELEMENTS, Resolution, check_count, check_grade, check_length, cut_outward,
    largest_within,
};
use crate::surface::Mesh;
use crate::vector::Vector;
use std::collections::HashMap;

/// A cube around the origin with its edges along the axes; physical group `cube`; 12 n^2 triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cube {
    /// Length of an edge.
    pub edge: f64,
    /// Largest over smallest element size along an edge: elements shrink toward the edges; 1 for a
    /// uniform mesh.
    pub grade: f64,
    /// How fine.
    pub resolution: Resolution,
}

/// A bus of n x n crossing bars in two layers, as in the literature on capacitance extraction.
///
/// Bars of square cross-section lie side by side along x in the lower layer (physical groups
/// `bar_x1`, `bar_x2`, ...) and along y in the upper layer (`bar_y1`, ...), and reach one spacing
/// beyond the outermost bar that they cross.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bus {
    /// Number of bars in each layer.
    pub bars: usize,
    /// Width and height of a bar.
    pub width: f64,
    /// Clear distance between neighbours of a layer.
    pub spacing: f64,
    /// Clear distance between the layers.
    pub gap: f64,
    /// Largest over smallest element size along an edge.
    pub grade: f64,
    /// How fine; a number of elements is that of all bars together.
    pub resolution: Resolution,
}

impl Cube {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the edge", self.edge)?;
        check_grade(self.grade)?;
        self.resolution.check()?;
        let count = |n: usize| 12.0 * (n as f64).powi(2);
        let n = match self.resolution {
            Resolution::Size(size) => {
                grading::cells_for_size(self.edge, size, self.grade, Toward::BothEnds)?
            }
            Resolution::Elements(elements) | Resolution::Closest(elements) => {
                self.resolution.number(elements, count)
            }
        };
        check_count(count(n), self.resolution)?;
        let mut builder = Builder::new();
        builder.group("cube");
        let axis = centred(&grading::nodes(n, self.grade, Toward::BothEnds), self.edge);
        add_box(&mut builder, [&axis, &axis, &axis], [0.0; 3]);
        Ok(builder.mesh)
    }
}

impl Bus {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        check_length("the width", self.width)?;
        check_length("the spacing", self.spacing)?;
        check_length("the gap", self.gap)?;
        check_grade(self.grade)?;
        self.resolution.check()?;
        if self.bars == 0 {
            return Err(Error::None("bars"));
        }
        if self.bars > MAX_ELEMENTS {
            return Err(Error::TooMany);
        }
        let bars = self.bars as f64;
        let pitch = self.width + self.spacing;
        let length = bars * pitch + self.spacing;
        let cells_along =
            |size: f64| grading::cells_for_size(length, size, self.grade, Toward::BothEnds);
        let count = |across: usize, along: usize| {
            let (across, along) = (across as f64, along as f64);
            2.0 * bars * (4.0 * across * across + 8.0 * across * along)
        };
        let width_cell =
            |across| self.width * grading::largest_cell(across, self.grade, Toward::BothEnds);
        let (across, along) = match self.resolution {
            Resolution::Size(size) => {
                let across =
                    grading::cells_for_size(self.width, size, self.grade, Toward::BothEnds)?;
                (across, cells_along(size)?)
            }
            Resolution::Elements(elements) | Resolution::Closest(elements) => {
                // Cells are as long as they are wide at their largest. That of two cells, which
                // cannot be graded, is smaller than that of three: the count does not just grow.
                let fits = |across: usize| {
                    let along = cells_along(width_cell(across));
                    along.is_ok_and(|along| count(across, along) <= elements as f64)
                };
                let most = largest_within(1, elements, |across| count(across, 1));
                let mut across = (1..=most).rev().find(|&across| fits(across)).unwrap_or(1);
                if matches!(self.resolution, Resolution::Closest(_)) {
                    let off = |across: usize| {
                        let along = cells_along(width_cell(across)).unwrap_or(MAX_ELEMENTS);
                        (count(across, along) - elements as f64).abs()
                    };
                    let nearest = (1..=most + 1).min_by(|&a, &b| off(a).total_cmp(&off(b)));
                    across = nearest.unwrap_or(across);
                }
                (across, cells_along(width_cell(across))?)
            }
        };
        check_count(count(across, along), self.resolution)?;
        let thin = centred(&grading::nodes(across, self.grade, Toward::BothEnds), self.width);
        let long = centred(&grading::nodes(along, self.grade, Toward::BothEnds), length);
        let height = 0.5 * (self.width + self.gap);
        let mut builder = Builder::new();
        for layer in ["x", "y"] {
            for bar in 0..self.bars {
                builder.group(format!("bar_{layer}{}", bar + 1));
                let offset = pitch * (bar as f64 - 0.5 * (bars - 1.0));
                if layer == "x" {
                    add_box(&mut builder, [&long, &thin, &thin], [0.0, offset, -height]);
                } else {
                    add_box(&mut builder, [&thin, &long, &thin], [offset, 0.0, height]);
                }
            }
        }
        Ok(builder.mesh)
    }
}

/// Nodes of [0, 1] moved to an interval of the given length around 0.
fn centred(nodes: &[f64], length: f64) -> Vec<f64> {
    nodes.iter().map(|x| length * (x - 0.5)).collect()
}

/// Adds the surface of a box around `centre` whose grid lines are `axes`, relative to the centre.
fn add_box(builder: &mut Builder, axes: [&[f64]; 3], centre: Vector) {
    let mut known: HashMap<[usize; 3], u32> = HashMap::new();
    for normal in 0..3 {
        let (u, v) = ((normal + 1) % 3, (normal + 2) % 3);
        let (nu, nv) = (axes[u].len() - 1, axes[v].len() - 1);
        for (level, outward) in [(0, false), (axes[normal].len() - 1, true)] {
            for j in 0..nv {
                for i in 0..nu {
                    let mut corner = |di: usize, dj: usize| {
                        let mut place = [level; 3];
                        (place[u], place[v]) = (i + di, j + dj);
                        *known.entry(place).or_insert_with(|| {
                            builder.vertex([0, 1, 2].map(|a| centre[a] + axes[a][place[a]]))
                        })
                    };
                    let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                    let cut = cut_outward(i, j, nu, nv);
                    // Both orders start at a, so that the cut means the same diagonal.
                    builder.quadrangle(if outward { [a, b, c, d] } else { [a, d, c, b] }, cut);
                }
            }
        }
    }
}
