//! The near field's matrix on the device: search, choice, integrals, rows.

use cuda::{Buffer, Device, Pointer};

use super::geometry::{DeviceGeometry, ROWS};
use super::kernels::near::{Diagonal, Integrate, Select, Sizes};
use super::kernels::{Kernel, Matrix, Pair, Value, count, prefix_sums, shrunk, sparse, vectors};
use super::kernels::{LANES, THREADS};
use crate::integrals::pair::PairQuadrature;
use crate::near::{Assembly, Precision, Selection};
use crate::quadrature::rule::Rule;
use crate::{Error, Stage};

/// Most candidates selected together, unless a single row has more.
const CANDIDATES: u64 = 1 << 26;

/// Entries on close pairs of panels, all rows in full; the diagonal apart and in double precision.
#[derive(Debug)]
pub struct DeviceNear {
    pub(super) geometry: DeviceGeometry,
    /// Macro with the type of the entries.
    pub(super) value: Vec<String>,
    /// Macros of the kernels of this matrix.
    macros: Vec<String>,
    rows: SparseRows,
    pub(super) diagonal: Buffer<f64>,
    multiply_add: Kernel<sparse::MultiplyAdd>,
}

/// Rows of entries without a diagonal.
#[derive(Debug)]
pub(super) struct SparseRows {
    pub(super) starts: Buffer<u32>,
    pub(super) columns: Buffer<u32>,
    values: Buffer<u8>,
    /// Bytes of an entry.
    size: usize,
}

impl SparseRows {
    /// Room for `total` entries in rows that begin at `starts`.
    fn with_room(
        device: &Device,
        starts: &[u32],
        total: usize,
        size: usize,
    ) -> Result<Self, cuda::Error> {
        let (starts, columns) = (device.upload(starts)?, device.buffer(total)?);
        Ok(Self { starts, columns, values: device.buffer(total * size)?, size })
    }

    /// The entries, for a kernel.
    pub(super) fn values(&self) -> Pointer<Value> {
        self.values.pointer().cast(self.size)
    }
}

/// Pairs with their entries: one each, or with general rows both.
struct Part {
    pairs: Buffer<Pair>,
    values: Buffer<f64>,
}

impl DeviceNear {
    /// Exact entries of the close pairs.
    pub fn new(
        geometry: DeviceGeometry,
        quadrature: PairQuadrature,
        assembly: &Assembly<'_>,
    ) -> Result<Self, Error> {
        let _span = tracing::debug_span!("close pairs").entered();
        let n = geometry.panels;
        let Assembly { selection, precision, check, progress, .. } = *assembly;
        let integrals = Integrals::new(&geometry, selection, quadrature)?;
        let mut parts = Vec::new();
        let (mut first, mut rows, mut pairs) = (0, ROWS, 0);
        while first < n {
            rows = rows.min(n - first);
            let searched = geometry.searched();
            let found = geometry.search.count(searched, first, rows)?;
            if found.total > CANDIDATES && rows > 1 {
                rows /= 2;
                continue;
            }
            let candidates = geometry.search.list(searched, &found)?;
            let part = integrals.of(&geometry, &candidates)?;
            pairs += part.pairs.len();
            check(n + 2 * pairs)?;
            parts.push(part);
            first += rows;
            if !progress.advance(Stage::NearField, first as u64, n as u64) {
                return Err(Error::Interrupted);
            }
        }
        let diagonal = geometry.device.buffer(n)?;
        let (accuracy, increment) = quadrature.accuracy_and_increment();
        let of_diagonal = Diagonal {
            vertices: geometry.vertices.pointer(),
            n: count(n),
            rules: geometry.rules.of_pairs(),
            accuracy,
            increment: count(increment),
            diagonal: diagonal.pointer(),
            rows: geometry.rows.pointer(),
        };
        geometry.kernel()?.over(n, 1, of_diagonal)?;
        Ok(Self::from_parts(geometry, parts, diagonal, precision)?)
    }

    /// Puts pairs into rows.
    fn from_parts(
        geometry: DeviceGeometry,
        parts: Vec<Part>,
        diagonal: Buffer<f64>,
        precision: Precision,
    ) -> Result<Self, cuda::Error> {
        let (device, n) = (&geometry.device, geometry.panels);
        let (name, size) = match precision {
            Precision::Single => ("VALUE=float", 4),
            Precision::Double => ("VALUE=double", 8),
        };
        let value = vec![name.to_owned()];
        let macros = [geometry.rows.macros(), &value].concat();
        let counts = device.buffer::<u32>(n)?;
        counts.zero()?;
        let tally = Kernel::new(device, &macros, THREADS)?;
        for Part { pairs, .. } in &parts {
            let (count, counts) = (count(pairs.len()), counts.pointer());
            let of_pairs = sparse::Count { pairs: pairs.pointer(), count, counts };
            tally.over(pairs.len(), 1, of_pairs)?;
        }
        let (starts, total) = prefix_sums(&counts.to_vec()?);
        if total > u64::from(u32::MAX) {
            let free = device.free_memory()?;
            let gpu = device.info().index;
            let needed = total * (4 + size as u64);
            return Err(cuda::Error::OutOfMemory { gpu, needed, free });
        }
        let total = total as usize;
        counts.write(&starts[..n])?;
        let rows = SparseRows::with_room(device, &starts, total, size)?;
        let fill = Kernel::new(device, &macros, THREADS)?;
        for part in parts {
            let pairs = part.pairs.len();
            let entries = sparse::Fill {
                pairs: part.pairs.pointer(),
                entries: part.values.pointer(),
                count: count(pairs),
                next: counts.pointer(),
                columns: rows.columns.pointer(),
                values: rows.values(),
            };
            fill.over(pairs, 1, entries)?;
        }
        let sort = sparse::Sort {
            n: count(n),
            starts: rows.starts.pointer(),
            columns: rows.columns.pointer(),
            values: rows.values(),
        };
        Kernel::new(device, &macros, THREADS)?.over(n, 1, sort)?;
        let multiply_add = Kernel::new(device, &macros, THREADS)?;
        Ok(Self { geometry, value, macros, rows, diagonal, multiply_add })
    }

    /// Some of its rows and columns, for panels with this geometry; `index` of each panel among
    /// them, or [`u32::MAX`].
    pub(super) fn between(
        &self,
        geometry: DeviceGeometry,
        chosen: &Buffer<u32>,
        index: &Buffer<u32>,
    ) -> Result<Self, cuda::Error> {
        let device = &self.geometry.device;
        let rows = self.part(chosen, index)?;
        let diagonal = device.buffer(chosen.len())?;
        let gather = vectors::Gather {
            count: count(chosen.len()),
            chosen: chosen.pointer(),
            from: self.diagonal.pointer(),
            to: diagonal.pointer(),
        };
        Kernel::new(device, &[], vectors::THREADS)?.over(chosen.len(), 1, gather)?;
        let (value, macros) = (self.value.clone(), self.macros.clone());
        let multiply_add = self.multiply_add.clone();
        Ok(Self { geometry, value, macros, rows, diagonal, multiply_add })
    }

    /// Off-diagonal entries of some rows, in the columns that have an `index`, by which they are
    /// renamed.
    pub(super) fn part(
        &self,
        chosen: &Buffer<u32>,
        index: &Buffer<u32>,
    ) -> Result<SparseRows, cuda::Error> {
        let (device, n) = (&self.geometry.device, chosen.len());
        let counts = device.buffer::<u32>(n)?;
        let from = sparse::Chosen {
            count: count(n),
            chosen: chosen.pointer(),
            index: index.pointer(),
            starts: self.rows.starts.pointer(),
            columns: self.rows.columns.pointer(),
        };
        let lengths = sparse::PartLengths { from, lengths: counts.pointer() };
        Kernel::new(device, &self.macros, THREADS)?.over(n, 1, lengths)?;
        let (starts, total) = prefix_sums(&counts.to_vec()?);
        let rows = SparseRows::with_room(device, &starts, total as usize, self.rows.size)?;
        let part = sparse::Part {
            from,
            values: self.rows.values(),
            part_starts: rows.starts.pointer(),
            part_columns: rows.columns.pointer(),
            part_values: rows.values(),
        };
        Kernel::new(device, &self.macros, THREADS)?.over(n, 1, part)?;
        Ok(rows)
    }

    /// Number of nonzero entries, including the diagonal.
    pub(crate) fn entries(&self) -> usize {
        self.len() + self.rows.columns.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.geometry.panels
    }

    /// Subtracts the quadrature sums from the exact entries: the rest corrects a sum over the
    /// points.
    pub fn subtract_points(&mut self, rule: &Rule) -> Result<(), cuda::Error> {
        let g = &self.geometry;
        let subtract = sparse::Subtract {
            matrix: self.matrix(),
            vertices: g.vertices.pointer(),
            order: g.order.pointer(),
            rules: g.rules.of_triangles(),
            degree: count(rule.degree()),
            rows: g.rows.pointer(),
        };
        Kernel::new(&g.device, &self.macros, THREADS)?.over(LANES * g.panels, 1, subtract)
    }

    /// Its kernel argument.
    pub(super) fn matrix(&self) -> Matrix {
        Matrix {
            n: count(self.geometry.panels),
            starts: self.rows.starts.pointer(),
            columns: self.rows.columns.pointer(),
            values: self.rows.values(),
            diagonal: self.diagonal.pointer(),
        }
    }

    /// y += A x for `columns` vectors on the device.
    pub fn multiply_add(
        &self,
        x: &Buffer<f64>,
        y: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), cuda::Error> {
        let (matrix, x, y) = (self.matrix(), x.pointer(), y.pointer());
        let product = sparse::MultiplyAdd { matrix, x, y };
        self.multiply_add.over(LANES * self.geometry.panels, columns, product)
    }

    /// y += A x for vectors in the processor's memory, side by side.
    pub(crate) fn multiply_add_on_host(&self, x: &[f64], y: &mut [f64]) -> Result<(), cuda::Error> {
        let device = &self.geometry.device;
        let (from, to) = (device.upload(x)?, device.upload(y)?);
        self.multiply_add(&from, &to, x.len() / self.len().max(1))?;
        to.read(0, y)
    }

    /// Rows with columns and entries, the diagonal first, for tests.
    pub fn rows(&self) -> Result<Vec<Vec<(usize, f64)>>, cuda::Error> {
        let (starts, columns) = (self.rows.starts.to_vec()?, self.rows.columns.to_vec()?);
        let bytes = self.rows.values.to_vec()?;
        let values: Vec<f64> = if self.rows.size == size_of::<f32>() {
            bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_ne_bytes(*b))).collect()
        } else {
            bytes.as_chunks::<8>().0.iter().map(|b| f64::from_ne_bytes(*b)).collect()
        };
        let diagonal = self.diagonal.to_vec()?;
        let row = |i: usize| {
            let others = starts[i] as usize..starts[i + 1] as usize;
            let others = others.map(|k| (columns[k] as usize, values[k]));
            std::iter::once((i, diagonal[i])).chain(others).collect()
        };
        Ok((0..self.len()).map(row).collect())
    }
}

/// Choice and integrals of pairs.
struct Integrals<'a> {
    selection: &'a Selection,
    quadrature: PairQuadrature,
    select: Kernel<Select>,
    integrate: Kernel<Integrate>,
}

impl<'a> Integrals<'a> {
    fn new(
        geometry: &DeviceGeometry,
        selection: &'a Selection,
        quadrature: PairQuadrature,
    ) -> Result<Self, cuda::Error> {
        let select = geometry.kernel()?;
        let integrate = geometry.kernel()?;
        Ok(Self { selection, quadrature, select, integrate })
    }

    /// The pairs among `candidates` (all but its last element) that the near field holds.
    fn of(
        &self,
        geometry: &DeviceGeometry,
        candidates: &Buffer<Pair>,
    ) -> Result<Part, cuda::Error> {
        let device = &geometry.device;
        let total = candidates.len() - 1;
        let [rule, finer] = self.selection.rules;
        let panels = Sizes {
            vertices: geometry.vertices.pointer(),
            charges: geometry.charges.pointer(),
            parts: geometry.parts.pointer(),
        };
        let chosen = device.buffer::<u32>(total)?;
        // Pairs chosen, pairs left for integrals along edges, pairs kept.
        let tally = device.upload(&[0u32; 3])?;
        let select = Select {
            panels,
            pairs: candidates.pointer(),
            count: count(total),
            rules: geometry.rules.of_triangles(),
            degree: count(rule.degree()),
            finer: count(finer.degree()),
            allowed: self.selection.error,
            chosen: chosen.pointer(),
            chosen_count: tally.pointer(),
            rows: geometry.rows.pointer(),
        };
        self.select.over(total, 1, select)?;

        let found = tally.to_vec()?[0] as usize;
        let rest = device.buffer::<u32>(found)?;
        let kept = device.buffer::<Pair>(found)?;
        let per_pair = if geometry.rows.is_general() { 2 } else { 1 };
        let values = device.buffer::<f64>(per_pair * found)?;
        let (accuracy, increment) = self.quadrature.accuracy_and_increment();
        for (edges, list) in [(0, &chosen), (1, &rest)] {
            let pairs = tally.to_vec()?[edges] as usize;
            let integrate = Integrate {
                panels,
                pairs: candidates.pointer(),
                chosen: list.pointer(),
                count: count(pairs),
                rules: geometry.rules.of_pairs(),
                degree: count(rule.degree()),
                allowed: self.selection.error,
                accuracy,
                increment: count(increment),
                edges: count(edges),
                rest: rest.pointer(),
                rest_count: tally.pointer_to(1),
                kept: kept.pointer(),
                values: values.pointer(),
                kept_count: tally.pointer_to(2),
                rows: geometry.rows.pointer(),
            };
            self.integrate.over(pairs, 1, integrate)?;
        }
        let pairs = tally.to_vec()?[2] as usize;
        Ok(Part {
            pairs: shrunk(device, &kept, pairs)?,
            values: shrunk(device, &values, per_pair * pairs)?,
        })
    }
}
