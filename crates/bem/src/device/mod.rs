//! Near field, preconditioner, products and Krylov vectors on a GPU, next to the fast sum that is
//! there.
//!
//! The kernels compute what this crate's modules compute on processor cores, in double precision;
//! geometry goes to the device once, and after that a solve moves numbers, not vectors.

mod backend;
mod coarse;
mod coarse_entries;
pub(crate) mod completion;
mod interfaces;
pub(crate) mod kernels;
mod near;
mod product;
mod rows;
mod space;
mod two_level;
mod warm_up;

use cuda::{Arguments, Buffer, Device, Error, Pointer};

use crate::geometry::panels::Panels;
use crate::near::Needs;
use crate::near::pairs::RowKind;
use crate::quadrature::rule::Rule;
use crate::quadrature::{self, MAX_LINE_POINTS, MAX_TRIANGLE_DEGREE};
pub use backend::OnDevice;
pub(crate) use interfaces::DevicePreconditioner;
use kernels::{Kernel, PairRules, TriangleRules, count};
pub use near::DeviceNear;
use near::Search;
pub use product::DeviceProduct;
use rows::Rows;
pub use two_level::DeviceTwoLevel;
pub(crate) use warm_up::WarmUp;

/// The GPU, once it is warm.
///
/// # Errors
/// Why there is none.
pub(crate) fn open(ordinal: usize) -> Result<Device, Error> {
    warm_up::wait();
    Device::open(ordinal)
}

/// Threads of a block in the kernels that work on panels.
const THREADS: u32 = 128;

/// Lanes that share a row of a sparse matrix.
const LANES: usize = 8;

/// Panels and quadrature rules on the device.
#[derive(Debug)]
pub struct DeviceGeometry {
    device: Device,
    panels: usize,
    /// Vertices, shape (panels, 3, 3).
    vertices: Buffer<f64>,
    areas: Buffer<f64>,
    /// Part of each panel, and the charge on it while its part has the potential 1.
    parts: Buffer<u32>,
    charges: Buffer<f64>,
    /// Place of each panel in the mesh.
    order: Buffer<u32>,
    /// Centroid of each panel, and how far it looks for others: so many diameters.
    centroids: Buffer<[f64; 4]>,
    diameters: f64,
    rows: Rows,
    search: Search,
    rules: Rules,
}

/// Quadrature rules as `kernels/bem/triangle.cuh` declares them.
#[derive(Debug)]
struct Rules {
    triangle: Buffer<[f64; 4]>,
    starts: Buffer<u32>,
    /// Nodes before each degree.
    first: Vec<u32>,
    line: Buffer<[f64; 2]>,
}

impl DeviceGeometry {
    /// Brings panels to the device, with rows of these kinds (none of them [`RowKind::Double`]);
    /// each looks for others within `diameters` of its own.
    ///
    /// # Errors
    /// The GPU's; [`Error::OutOfMemory`] at once if near field and preconditioner would not fit.
    pub fn new(
        device: &Device,
        panels: &Panels,
        kinds: &[RowKind],
        diameters: f64,
    ) -> Result<Self, Error> {
        let _span = tracing::debug_span!("panels to the GPU").entered();
        let n = panels.len();
        device.check_free(near::estimate(n))?;
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
    ///
    /// # Errors
    /// The GPU's.
    pub fn set_needs(&mut self, needs: Option<&Needs>, solid_angles: f64) -> Result<(), Error> {
        self.rows.set_needs(&self.device, needs, solid_angles, &self.areas)?;
        self.search = Search::new(&self.device, self.panels, &self.centroids, &self.rows)?;
        Ok(())
    }

    /// As [`near::smallest_relative_gap`](crate::near::smallest_relative_gap).
    ///
    /// # Errors
    /// The GPU's.
    pub fn smallest_relative_gap(&self, rule: &Rule) -> Result<f64, Error> {
        let blocks = self.panels.div_ceil(THREADS as usize);
        let parts = self.device.buffer::<f64>(blocks)?;
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
        Ok(parts.to_vec()?.into_iter().fold(1.0, f64::min))
    }

    /// A kernel of `kernels/bem/near.cu`.
    fn kernel<A: Arguments>(&self) -> Result<Kernel<A>, Error> {
        Kernel::new(&self.device, self.rows.macros(), THREADS)
    }
}

impl Rules {
    fn new(device: &Device) -> Result<Self, Error> {
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
    fn nodes(&self, rule: &Rule) -> Pointer<[f64; 4]> {
        self.triangle.pointer_to(self.first[rule.degree().min(MAX_TRIANGLE_DEGREE)] as usize)
    }

    fn of_pairs(&self) -> PairRules {
        let TriangleRules { triangle, rule_starts, most_degree } = self.of_triangles();
        let (line, most_points) = (self.line.pointer(), count(MAX_LINE_POINTS));
        PairRules { triangle, rule_starts, line, most_degree, most_points }
    }

    fn of_triangles(&self) -> TriangleRules {
        let (triangle, rule_starts) = (self.triangle.pointer(), self.starts.pointer());
        TriangleRules { triangle, rule_starts, most_degree: count(MAX_TRIANGLE_DEGREE) }
    }
}
