//! The near field between the points of panels on the device: integrals of layers with the screened
//! kernels of several regions, minus sums over points.

use cuda::{Buffer, Device, Error};

use super::geometry::Rules;
pub(crate) use super::kernels::screened::Cutting;
use super::kernels::screened::{Fill, Integrate, Keep, MultiplyAdd, Surfaces};
use super::kernels::{Kernel, LANES, Pair, THREADS, count, prefix_sums, shrunk, sparse};
use super::rows::Rows;
use super::search::{Search, Searched};
use crate::geometry::panels::Panels;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::near::RowKind;
use crate::{Progress, Stage};

/// V, K, K' and T.
pub(crate) const LAYERS: usize = 4;

/// Blocks of entries that are integrated between two reports of progress.
const BLOCKS: usize = 1 << 20;

/// Panels with their points, and the regions around them.
pub(crate) struct PointPanels<'a> {
    pub(crate) panels: &'a Panels,
    /// Distance from its centroid within which each panel is close.
    pub(crate) reach: &'a [f64],
    pub(crate) patches: &'a [Patch],
    /// Places, unit normals and areas of all points, panel by panel.
    pub(crate) places: &'a [[f64; 3]],
    pub(crate) normals: &'a [Vec3],
    pub(crate) weights: &'a [f64],
    /// Parameters of each point of a panel, and the coefficients of its polynomial, shape (points,
    /// 2 + points).
    pub(crate) stencil: Vec<f64>,
    /// The regions in front of each panel and behind it.
    pub(crate) sides: &'a [[u32; 2]],
    /// Permittivity and kappa of each region.
    pub(crate) media: Vec<[f64; 2]>,
    pub(crate) cutting: Cutting,
}

impl PointPanels<'_> {
    /// Number of points of a panel.
    fn points(&self) -> usize {
        self.places.len() / self.panels.len().max(1)
    }

    /// Macros of its kernels.
    fn macros(&self) -> Vec<String> {
        vec![format!("POINTS={}", self.points()), format!("ORDER={}", self.order())]
    }

    /// Order of the patches.
    fn order(&self) -> usize {
        self.patches.iter().map(Patch::order).max().unwrap_or(1)
    }
}

/// Entries between the points of close panels, of both directions, in single precision.
#[derive(Debug)]
pub(crate) struct DeviceScreened {
    device: Device,
    panels: usize,
    points: usize,
    starts: Buffer<u32>,
    columns: Buffer<u32>,
    /// Which block has the entries of each column.
    places: Buffer<u32>,
    /// Blocks of (points, points, layers): two of each pair, and those of panels with themselves.
    values: Buffer<f32>,
    /// The latter, of each point with itself.
    diagonals: Vec<[f64; LAYERS]>,
    multiply_add: Kernel<MultiplyAdd>,
}

impl DeviceScreened {
    /// Integrates over all pairs of panels within reach that bound a common region.
    pub(crate) fn new(
        device: &Device,
        of: &PointPanels<'_>,
        progress: &dyn Progress,
    ) -> Result<Self, crate::Error> {
        let _span = tracing::debug_span!("integrals among ions").entered();
        let (n, points) = (of.panels.len(), of.points());
        let sides = device.upload(of.sides.as_flattened())?;
        let pairs = close_pairs(device, of, &sides)?;
        let [starts, columns, places] = rows(device, of, &pairs)?;
        let width = LAYERS * points * points;
        let (blocks, own) = (2 * pairs.len() + n, 2 * pairs.len());
        device.check_free((blocks * width * size_of::<f32>()) as u64)?;
        let values = device.buffer::<f32>(blocks * width)?;
        let macros = of.macros();
        let vectors = |of: &[Vec3]| of.iter().map(|&v| v.into()).collect::<Vec<[f64; 3]>>();
        let order = of.order();
        let coefficients = of.patches.iter().flat_map(|patch| patch.coefficients(order));
        let coefficients: Vec<Vec3> = coefficients.copied().collect();
        let patches = device.upload(&vectors(&coefficients))?;
        let of_points = (device.upload(of.places)?, device.upload(&vectors(of.normals))?);
        let (weights, media) = (device.upload(of.weights)?, device.upload(&of.media)?);
        let stencil = device.upload(&of.stencil)?;
        let straight = of.patches.iter().map(|patch| u32::from(patch.is_straight()));
        let straight = device.upload(&straight.collect::<Vec<u32>>())?;
        let rules = Rules::new(device)?;
        let integrate = Kernel::new(device, &macros, THREADS)?;
        for first in (0..blocks).step_by(BLOCKS) {
            let now = BLOCKS.min(blocks - first);
            let arguments = Integrate {
                of: Surfaces {
                    patches: patches.pointer(),
                    places: of_points.0.pointer(),
                    normals: of_points.1.pointer(),
                    weights: weights.pointer(),
                    sides: sides.pointer(),
                    media: media.pointer(),
                    stencil: stencil.pointer(),
                    straight: straight.pointer(),
                },
                rules: rules.of_pairs(),
                pairs: pairs.pointer(),
                count: count(pairs.len()),
                first: first as u64,
                blocks: count(now),
                by: of.cutting,
                values: values.pointer(),
            };
            integrate.over(LANES * now * points, 1, arguments)?;
            device.stream().synchronize()?;
            let done = (first + now) * n / blocks;
            if !progress.advance(Stage::NearField, done as u64, n as u64) {
                return Err(crate::Error::Interrupted);
            }
        }
        let mut of_panels = vec![0.0f32; n * width];
        values.read(own * width, &mut of_panels)?;
        let of_point = |block: &[f32], k: usize| -> [f64; LAYERS] {
            std::array::from_fn(|layer| f64::from(block[LAYERS * k * (points + 1) + layer]))
        };
        let blocks = of_panels.chunks_exact(width.max(1));
        let diagonals = blocks.flat_map(|block| (0..points).map(|k| of_point(block, k))).collect();
        let multiply_add = Kernel::new(device, &macros, THREADS)?;
        let device = device.clone();
        Ok(Self {
            device,
            panels: n,
            points,
            starts,
            columns,
            places,
            values,
            diagonals,
            multiply_add,
        })
    }

    /// Number of stored numbers.
    pub(crate) fn entries(&self) -> usize {
        self.values.len()
    }

    /// V, K, K' and T between a point of a panel and itself.
    pub(crate) fn diagonal(&self, panel: usize, point: usize) -> [f64; LAYERS] {
        self.diagonals[panel * self.points + point]
    }

    /// Adds products with values in the processor's memory, of shape (2, points of a panel,
    /// panels).
    pub(crate) fn multiply_add(&self, x: &[f64], y: &mut [f64]) -> Result<(), Error> {
        let (from, to) = (self.device.upload(x)?, self.device.upload(y)?);
        let product = MultiplyAdd {
            n: count(self.panels),
            starts: self.starts.pointer(),
            columns: self.columns.pointer(),
            places: self.places.pointer(),
            values: self.values.pointer(),
            diagonals: self.columns.len() as u64,
            x: from.pointer(),
            y: to.pointer(),
        };
        self.multiply_add.over(LANES * self.panels, 1, product)?;
        to.read(0, y)
    }
}

/// All pairs of panels within reach that bound a common region, each once.
fn close_pairs(
    device: &Device,
    of: &PointPanels<'_>,
    sides: &Buffer<u32>,
) -> Result<Buffer<Pair>, Error> {
    let _span = tracing::debug_span!("close pairs").entered();
    let (panels, n) = (of.panels, of.panels.len());
    let around = |(c, reach): (&Vec3, &f64)| [c.x, c.y, c.z, *reach];
    let centroids: Vec<[f64; 4]> = panels.centroids().iter().zip(of.reach).map(around).collect();
    let (centroids, order) = (device.upload(&centroids)?, device.upload(panels.triangles())?);
    let areas = device.upload(panels.areas())?;
    let rows = Rows::new(device, panels, &vec![RowKind::Single; n], &areas)?;
    let search = Search::new(device, n, &centroids, &rows)?;
    let searched = Searched { device, centroids: &centroids, order: &order, rows: &rows };
    let found = search.count(searched, 0, n)?;
    // Entries are numbered by 32 bits, and there are two of each pair.
    let needed = found.total * 2 * size_of::<Pair>() as u64;
    if found.total > u64::from(u32::MAX / 2) {
        let (gpu, free) = (device.info().index, device.free_memory()?);
        return Err(Error::OutOfMemory { gpu, needed, free });
    }
    device.check_free(needed)?;
    let pairs = search.list(searched, &found)?;
    let kept = device.buffer(found.total as usize)?;
    let kept_count = device.upload(&[0u32])?;
    let total = found.total as usize;
    let keep = Keep {
        pairs: pairs.pointer(),
        count: count(total),
        sides: sides.pointer(),
        kept: kept.pointer(),
        kept_count: kept_count.pointer(),
    };
    Kernel::new(device, &of.macros(), THREADS)?.over(total, 1, keep)?;
    shrunk(device, &kept, kept_count.to_vec()?[0] as usize)
}

/// Where each row begins, its columns in increasing order, and the places of their entries.
fn rows(
    device: &Device,
    of: &PointPanels<'_>,
    pairs: &Buffer<Pair>,
) -> Result<[Buffer<u32>; 3], Error> {
    let n = of.panels.len();
    let macros = ["VALUE=u32", "GENERAL=0"].map(str::to_owned);
    let counts = device.buffer::<u32>(n)?;
    counts.zero()?;
    let all = count(pairs.len());
    let tally = sparse::Count { pairs: pairs.pointer(), count: all, counts: counts.pointer() };
    Kernel::new(device, &macros, THREADS)?.over(pairs.len(), 1, tally)?;
    let (starts, total) = prefix_sums(&counts.to_vec()?);
    counts.write(&starts[..n])?;
    let [columns, places] = [device.buffer(total as usize)?, device.buffer(total as usize)?];
    let fill = Fill {
        pairs: pairs.pointer(),
        count: all,
        next: counts.pointer(),
        columns: columns.pointer(),
        places: places.pointer(),
    };
    Kernel::new(device, &of.macros(), THREADS)?.over(pairs.len(), 1, fill)?;
    let starts = device.upload(&starts)?;
    let sort = sparse::Sort {
        n: count(n),
        starts: starts.pointer(),
        columns: columns.pointer(),
        values: places.pointer().cast(size_of::<u32>()),
    };
    Kernel::new(device, &macros, THREADS)?.over(n, 1, sort)?;
    Ok([starts, columns, places])
}
