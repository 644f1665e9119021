//! Near field, preconditioner, products and Krylov vectors on a GPU, beside the fast sum that is there.
//!
//! The kernels compute what this crate's modules compute on processor cores, in double precision; geometry goes to the
//! device once, and after that a solve moves numbers, not vectors.

mod backend;
mod completion;
mod interfaces;
mod kernels;
mod near;
mod product;
mod rows;
mod space;
#[cfg(test)]
mod tests;
mod two_level;
mod warm_up;

use gpu::{Arg, Buffer, Device, Error};

use crate::geometry::panels::Panels;
use crate::near::Needs;
use crate::near::pairs::RowKind;
use crate::quadrature::sums::Rule;
use crate::quadrature::{self, MAX_LINE_POINTS, MAX_TRIANGLE_DEGREE};
pub(crate) use backend::OnDevice;
pub(crate) use interfaces::DevicePreconditioner;
use kernels::{Kernel, NEAR, count};
pub(crate) use near::DeviceNear;
use near::Search;
pub(crate) use product::DeviceProduct;
use rows::Rows;
pub(crate) use two_level::DeviceTwoLevel;
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

/// Lanes that share a row of a sparse matrix, as `kernels/bem/sparse.cu` and `kernels/bem/preconditioner.cu` have it.
const LANES: usize = 8;

/// Panels and quadrature rules on the device.
#[derive(Debug)]
pub(crate) struct DeviceGeometry {
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

/// Quadrature rules as `kernels/shared/triangle.cuh` declares them.
#[derive(Debug)]
struct Rules {
    triangle: Buffer<[f64; 4]>,
    starts: Buffer<u32>,
    /// Nodes before each degree.
    first: Vec<u32>,
    line: Buffer<[f64; 2]>,
}

impl DeviceGeometry {
    /// Brings panels to the device, with rows of these kinds (none of them [`RowKind::Double`]); each looks for others within
    /// `diameters` of its own.
    ///
    /// # Errors
    /// The GPU's; [`Error::OutOfMemory`] at once if near field and preconditioner would not fit.
    pub(crate) fn new(
        device: &Device,
        panels: &Panels,
        kinds: &[RowKind],
        diameters: f64,
    ) -> Result<Self, Error> {
        let n = panels.len();
        let (needed, free) = (near::estimate(n), device.free_memory()?);
        if needed > free {
            return Err(Error::OutOfMemory { needed, free });
        }
        let vertices = device.upload(panels.coordinates())?;
        let centroids = device.buffer(n)?;
        let kernel = Kernel::new(device, &NEAR, &rows::general(false), "near_panels", THREADS)?;
        let args = [vertices.arg(), count(n), Arg::F64(diameters), centroids.arg()];
        kernel.over(n, 1, &args)?;
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
    pub(crate) fn set_needs(
        &mut self,
        needs: Option<&Needs>,
        solid_angles: f64,
    ) -> Result<(), Error> {
        self.rows.set_needs(&self.device, needs, solid_angles, &self.areas)?;
        self.search = Search::new(&self.device, self.panels, &self.centroids, &self.rows)?;
        Ok(())
    }

    /// As [`near::smallest_relative_gap`](crate::near::smallest_relative_gap).
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn smallest_relative_gap(&self, rule: &Rule) -> Result<f64, Error> {
        let blocks = self.panels.div_ceil(THREADS as usize);
        let parts = self.device.buffer::<f64>(blocks)?;
        let mut args = vec![self.vertices.arg(), self.areas.arg(), self.centroids.arg()];
        args.push(Arg::F64(self.diameters));
        args.extend(self.search.args());
        args.extend([count(self.panels), self.rules.nodes(rule), count(rule.len()), parts.arg()]);
        args.push(self.rows.arg());
        self.kernel("near_closest")?.over(self.panels, 1, &args)?;
        Ok(parts.to_vec()?.into_iter().fold(1.0, f64::min))
    }

    fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        Kernel::new(&self.device, &NEAR, self.rows.macros(), name, THREADS)
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

    /// Nodes of one rule, as an argument.
    fn nodes(&self, rule: &Rule) -> Arg {
        self.triangle.at(self.first[rule.degree().min(MAX_TRIANGLE_DEGREE)] as usize)
    }

    /// Triangle rules, line rules, the highest of both.
    fn of_pairs(&self) -> [Arg; 5] {
        let [nodes, starts, most] = self.of_triangles();
        [nodes, starts, self.line.arg(), most, count(MAX_LINE_POINTS)]
    }

    /// Nodes, beginnings and the highest degree of the triangle rules.
    fn of_triangles(&self) -> [Arg; 3] {
        [self.triangle.arg(), self.starts.arg(), count(MAX_TRIANGLE_DEGREE)]
    }
}
