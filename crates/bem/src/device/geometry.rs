//! Panels and quadrature rules on the device.

use cuda::{Arguments, Buffer, Device, Error, Pointer};

use super::kernels::{self, Kernel, PairRules, THREADS, TriangleRules, count};
use super::rows::{self, Rows};
use super::search::{Search, Searched};
use crate::geometry::panels::Panels;
use crate::near::RowKind;
use crate::near::{REGULAR_ROW, Requirements};
use crate::precondition::local_panels::NEIGHBOURS;
use crate::quadrature::rule::Rule;
use crate::quadrature::{self, MAX_LINE_POINTS, MAX_TRIANGLE_DEGREE};

/// Rows whose candidates are selected together: intermediate arrays take a few hundred MiB.
pub(super) const ROWS: usize = 1 << 18;

/// Bytes of device memory for near field and preconditioner of `n` panels, about.
fn estimate(n: usize) -> u64 {
    /// DeviceGeometry, tree, pointers.
    const PANEL: usize = 72 + 8 + 8 + 4 + 4 + 32 + 14 + 40;
    let row = REGULAR_ROW * (8 + 16) + NEIGHBOURS * 8;
    let between = ROWS.min(n) * 64 * (8 + 4 + 16);
    (n * (PANEL + row) + between) as u64 + (64 << 20)
}

/// Panels and quadrature rules on the device.
#[derive(Debug)]
pub struct DeviceGeometry {
    pub(super) device: Device,
    pub(super) panels: usize,
    /// Vertices, shape (panels, 3, 3).
    pub(super) vertices: Buffer<f64>,
    pub(super) areas: Buffer<f64>,
    /// Part of each panel, and the charge on it while its part has the potential 1.
    pub(super) parts: Buffer<u32>,
    pub(super) charges: Buffer<f64>,
    /// Place of each panel in the mesh.
    pub(super) order: Buffer<u32>,
    /// Centroid of each panel, and its search radius as a multiple of its diameter.
    pub(super) centroids: Buffer<[f64; 4]>,
    pub(super) diameters: f64,
    pub(super) rows: Rows,
    pub(super) search: Search,
    pub(super) rules: Rules,
}

/// Quadrature rules as `kernels/bem/triangle.cuh` declares them.
#[derive(Debug)]
pub(super) struct Rules {
    triangle: Buffer<[f64; 4]>,
    starts: Buffer<u32>,
    /// Nodes before each degree.
    first: Vec<u32>,
    line: Buffer<[f64; 2]>,
}

impl DeviceGeometry {
    /// Brings panels to the device, with rows of these kinds (none of them [`RowKind::Double`]);
    /// each looks for others within `diameters` of its own.
    pub fn new(
        device: &Device,
        panels: &Panels,
        kinds: &[RowKind],
        diameters: f64,
    ) -> Result<Self, Error> {
        let _span = tracing::debug_span!("panels to the GPU").entered();
        let n = panels.len();
        device.check_free(estimate(n))?;
        let vertices = device.upload(panels.coordinates())?;
        let centroids = device.buffer(n)?;
        let of_panels = kernels::near::Panels {
            vertices: vertices.pointer(),
            n: count(n),
            diameters,
            centroids: centroids.pointer(),
        };
        Kernel::new(device, &rows::general(false), THREADS)?.over(n, 1, of_panels)?;
        let areas = device.upload(panels.areas())?;
        let rows = Rows::new(device, panels, kinds, &areas)?;
        Ok(Self {
            search: Search::new(device, n, &centroids, &rows)?,
            rows,
            diameters,
            device: device.clone(),
            panels: n,
            vertices,
            areas,
            parts: device.upload(panels.parts().0)?,
            charges: device.upload(panels.parts().1)?,
            order: device.upload(panels.triangles())?,
            centroids,
            rules: Rules::new(device)?,
        })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Has what charges in space ask for looked at, and solid angles integrated to this accuracy.
    pub fn set_requirements(
        &mut self,
        requirements: Option<&Requirements>,
        solid_angles: f64,
    ) -> Result<(), Error> {
        self.rows.set_requirements(&self.device, requirements, solid_angles, &self.areas)?;
        self.search = Search::new(&self.device, self.panels, &self.centroids, &self.rows)?;
        Ok(())
    }

    /// As [`near::smallest_relative_gap`](crate::near::smallest_relative_gap) and
    /// [`near::smallest_relative_height`](crate::near::smallest_relative_height).
    pub fn smallest_relative_gap_and_height(&self, rule: &Rule) -> Result<[f64; 2], Error> {
        let blocks = self.panels.div_ceil(THREADS as usize);
        let parts = self.device.buffer::<[f64; 2]>(blocks)?;
        let closest = kernels::near::Closest {
            vertices: self.vertices.pointer(),
            areas: self.areas.pointer(),
            centroids: self.centroids.pointer(),
            diameters: self.diameters,
            tree: self.search.tree(),
            n: count(self.panels),
            rule: self.rules.nodes(rule),
            nodes_of_rule: count(rule.len()),
            parts: parts.pointer(),
            rows: self.rows.pointer(),
        };
        self.kernel()?.over(self.panels, 1, closest)?;
        let smaller = |[gap, height]: [f64; 2], [g, h]: [f64; 2]| [gap.min(g), height.min(h)];
        Ok(parts.to_vec()?.into_iter().fold([1.0; 2], smaller))
    }

    /// What its tree is of.
    pub(super) fn searched(&self) -> Searched<'_> {
        let Self { device, centroids, order, rows, .. } = self;
        Searched { device, centroids, order, rows }
    }

    /// A kernel of `kernels/bem/near.cu`.
    pub(super) fn kernel<A: Arguments>(&self) -> Result<Kernel<A>, Error> {
        Kernel::new(&self.device, self.rows.macros(), THREADS)
    }
}

impl Rules {
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        let mut first = vec![0];
        let mut triangle = Vec::new();
        for degree in 0..=MAX_TRIANGLE_DEGREE {
            triangle.extend(quadrature::triangle(degree).iter().map(|node| {
                let [a, b, c] = node.barycentric;
                [a, b, c, node.weight]
            }));
            first.push(triangle.len() as u32);
        }
        let nodes = |n: usize| quadrature::line(n).iter().map(|node| [node.at, node.weight]);
        let line: Vec<[f64; 2]> = (1..=MAX_LINE_POINTS).flat_map(nodes).collect();
        Ok(Self {
            triangle: device.upload(&triangle)?,
            starts: device.upload(&first)?,
            first,
            line: device.upload(&line)?,
        })
    }

    /// Nodes of one rule.
    pub(super) fn nodes(&self, rule: &Rule) -> Pointer<[f64; 4]> {
        self.triangle.pointer_to(self.first[rule.degree().min(MAX_TRIANGLE_DEGREE)] as usize)
    }

    pub(super) fn of_pairs(&self) -> PairRules {
        let TriangleRules { triangle, rule_starts, most_degree } = self.of_triangles();
        let (line, most_points) = (self.line.pointer(), count(MAX_LINE_POINTS));
        PairRules { triangle, rule_starts, line, most_degree, most_points }
    }

    pub(super) fn of_triangles(&self) -> TriangleRules {
        let (triangle, rule_starts) = (self.triangle.pointer(), self.starts.pointer());
        TriangleRules { triangle, rule_starts, most_degree: count(MAX_TRIANGLE_DEGREE) }
    }
}
