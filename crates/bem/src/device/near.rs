//! The near field's matrix on the device: search, choice, integrals, rows.

use gpu::{Arg, Buffer, Device};

use super::kernels::{Kernel, NEAR, SPARSE, VECTOR_THREADS, VECTORS, count, prefix_sums, shrunk};
use super::rows::Rows;
use super::{DeviceGeometry, LANES, THREADS};
use crate::integrals::pair::PairQuadrature;
use crate::near::{Precision, REGULAR_ROW, Selection};
use crate::precondition::local_inverse::NEIGHBOURS;
use crate::quadrature::sums::Rule;
use crate::{Error, Progress, Stage};

/// Panels of a tree's leaf at most.
const LEAF: usize = 8;

/// Rows whose candidates are looked at together: what lies between takes a few hundred MiB.
const ROWS: usize = 1 << 18;

/// Candidates that are looked at together at most, if a row alone has not more.
const CANDIDATES: u64 = 1 << 26;

/// Bytes of device memory for near field and preconditioner of `n` panels, about.
pub(super) fn estimate(n: usize) -> u64 {
    /// DeviceGeometry, tree, pointers.
    const PANEL: usize = 72 + 8 + 8 + 4 + 4 + 32 + 14 + 40;
    let row = REGULAR_ROW * (8 + 16) + NEIGHBOURS * 8;
    let between = ROWS.min(n) * 64 * (8 + 4 + 16);
    (n * (PANEL + row) + between) as u64 + (64 << 20)
}

/// Entries on close pairs of panels, all rows in full; the diagonal apart and in double precision.
#[derive(Debug)]
pub(crate) struct DeviceNear {
    pub(super) geometry: DeviceGeometry,
    /// Macro with the type of the entries.
    pub(super) value: Vec<String>,
    /// Those of the kernels of this matrix.
    macros: Vec<String>,
    pub(super) starts: Buffer<u32>,
    pub(super) columns: Buffer<u32>,
    pub(super) values: Buffer<u8>,
    pub(super) diagonal: Buffer<f64>,
    multiply_add: Kernel,
    entries: usize,
}

/// Rows of entries without a diagonal.
#[derive(Debug)]
pub(super) struct SparseRows {
    pub(super) starts: Buffer<u32>,
    pub(super) columns: Buffer<u32>,
    pub(super) values: Buffer<u8>,
}

/// Pairs with their entries: one each, or with general rows both.
struct Part {
    pairs: Buffer<[u32; 2]>,
    values: Buffer<f64>,
}

impl DeviceNear {
    /// Exact entries on the pairs of `selection`. `check(entries)` may refuse that many.
    ///
    /// # Errors
    /// [`Error::Interrupted`], what `check` says, and the GPU's.
    pub(crate) fn new(
        geometry: DeviceGeometry,
        selection: &Selection,
        quadrature: PairQuadrature,
        precision: Precision,
        check: impl Fn(usize) -> Result<(), Error>,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let (n, search) = (geometry.panels, &geometry.search);
        let integrals = Integrals::new(&geometry, selection, quadrature)?;
        let mut parts = Vec::new();
        let (mut first, mut rows, mut pairs) = (0, ROWS, 0);
        while first < n {
            rows = rows.min(n - first);
            let (begins, total) = search.count(&geometry, first, rows)?;
            if total > CANDIDATES && rows > 1 {
                rows /= 2;
                continue;
            }
            let candidates = search.list(&geometry, first, &begins, total as usize)?;
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
        let mut args = vec![geometry.vertices.arg(), count(n)];
        args.extend(geometry.rules.of_pairs());
        args.extend([Arg::F64(accuracy), count(increment), diagonal.arg(), geometry.rows.arg()]);
        geometry.kernel("near_diagonal")?.over(n, 1, &args)?;
        Ok(Self::from_parts(geometry, parts, diagonal, precision)?)
    }

    /// Puts pairs into rows.
    fn from_parts(
        geometry: DeviceGeometry,
        parts: Vec<Part>,
        diagonal: Buffer<f64>,
        precision: Precision,
    ) -> Result<Self, gpu::Error> {
        let (device, n) = (&geometry.device, geometry.panels);
        let (name, size) = match precision {
            Precision::Single => ("VALUE=float", 4),
            Precision::Double => ("VALUE=double", 8),
        };
        let value = vec![name.to_owned()];
        let macros = [geometry.rows.macros(), &value].concat();
        let kernel = |name: &str| Kernel::new(device, &SPARSE, &macros, name, THREADS);
        let counts = device.buffer::<u32>(n)?;
        counts.zero()?;
        let tally = kernel("sparse_count")?;
        for part in &parts {
            let pairs = part.pairs.len();
            tally.over(pairs, 1, &[part.pairs.arg(), count(pairs), counts.arg()])?;
        }
        let (starts, total) = prefix_sums(&counts.to_vec()?);
        if total > u64::from(u32::MAX) {
            let free = device.free_memory()?;
            return Err(gpu::Error::OutOfMemory { needed: total * (4 + size), free });
        }
        let total = total as usize;
        counts.write(&starts[..n])?;
        let starts = device.upload(&starts)?;
        let columns = device.buffer::<u32>(total)?;
        let values = device.buffer::<u8>(total * size as usize)?;
        let fill = kernel("sparse_fill")?;
        for part in parts {
            let pairs = part.pairs.len();
            let (from, entries) = (part.pairs.arg(), part.values.arg());
            let args = [from, entries, count(pairs), counts.arg(), columns.arg(), values.arg()];
            fill.over(pairs, 1, &args)?;
        }
        let args = [count(n), starts.arg(), columns.arg(), values.arg()];
        kernel("sparse_sort")?.over(n, 1, &args)?;
        let multiply_add = kernel("sparse_multiply_add")?;
        let entries = n + total;
        Ok(Self {
            geometry,
            value,
            macros,
            starts,
            columns,
            values,
            diagonal,
            multiply_add,
            entries,
        })
    }

    /// Some of its rows and columns, for panels with this geometry; `index` of each panel among them, or [`u32::MAX`].
    pub(super) fn between(
        &self,
        geometry: DeviceGeometry,
        chosen: &Buffer<u32>,
        index: &Buffer<u32>,
    ) -> Result<Self, gpu::Error> {
        let device = &self.geometry.device;
        let rows = self.part(chosen, index)?;
        let diagonal = device.buffer(chosen.len())?;
        let kernel = Kernel::new(device, &VECTORS, &[], "vector_gather", VECTOR_THREADS)?;
        let args = [count(chosen.len()), chosen.arg(), self.diagonal.arg(), diagonal.arg()];
        kernel.over(chosen.len(), 1, &args)?;
        let (value, macros) = (self.value.clone(), self.macros.clone());
        let multiply_add = self.multiply_add.clone();
        let entries = chosen.len() + rows.columns.len();
        let SparseRows { starts, columns, values } = rows;
        Ok(Self {
            geometry,
            value,
            macros,
            starts,
            columns,
            values,
            diagonal,
            multiply_add,
            entries,
        })
    }

    /// Of some rows the entries off the diagonal in the columns that have an `index`, by which they are renamed.
    pub(super) fn part(
        &self,
        chosen: &Buffer<u32>,
        index: &Buffer<u32>,
    ) -> Result<SparseRows, gpu::Error> {
        let (device, n) = (&self.geometry.device, chosen.len());
        let kernel = |name: &str| Kernel::new(device, &SPARSE, &self.macros, name, THREADS);
        let counts = device.buffer::<u32>(n)?;
        let from = [count(n), chosen.arg(), index.arg(), self.starts.arg(), self.columns.arg()];
        let args = [&from[..], &[counts.arg()]].concat();
        kernel("sparse_part_lengths")?.over(n, 1, &args)?;
        let (starts, total) = prefix_sums(&counts.to_vec()?);
        let (starts, total) = (device.upload(&starts)?, total as usize);
        let columns = device.buffer::<u32>(total)?;
        let size = if self.value[0].ends_with("float") { 4 } else { 8 };
        let values = device.buffer::<u8>(total * size)?;
        let to = [self.values.arg(), starts.arg(), columns.arg(), values.arg()];
        kernel("sparse_part")?.over(n, 1, &[&from[..], &to].concat())?;
        Ok(SparseRows { starts, columns, values })
    }

    /// Entries that are not zero, the diagonal among them.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    pub(crate) fn len(&self) -> usize {
        self.geometry.panels
    }

    /// Takes what the points give from exact entries: the rest corrects a sum over the points.
    pub(crate) fn subtract_points(&mut self, rule: &Rule) -> Result<(), gpu::Error> {
        let g = &self.geometry;
        let kernel = Kernel::new(&g.device, &SPARSE, &self.macros, "sparse_subtract", THREADS)?;
        let mut args = self.args();
        args.extend([g.vertices.arg(), g.order.arg()]);
        args.extend(g.rules.of_triangles());
        args.extend([count(rule.degree()), g.rows.arg()]);
        kernel.over(LANES * g.panels, 1, &args)
    }

    /// Rows, columns, entries and diagonal as arguments.
    pub(super) fn args(&self) -> Vec<Arg> {
        vec![
            count(self.geometry.panels),
            self.starts.arg(),
            self.columns.arg(),
            self.values.arg(),
            self.diagonal.arg(),
        ]
    }

    /// y += A x for `columns` vectors on the device.
    pub(crate) fn multiply_add(
        &self,
        x: &Buffer<f64>,
        y: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), gpu::Error> {
        let mut args = self.args();
        args.extend([x.arg(), y.arg()]);
        self.multiply_add.over(LANES * self.geometry.panels, columns, &args)
    }

    /// Rows with columns and entries, the diagonal first, for tests.
    #[cfg(test)]
    pub(super) fn rows(&self) -> Vec<Vec<(usize, f64)>> {
        let (starts, columns) = (self.starts.to_vec().unwrap(), self.columns.to_vec().unwrap());
        let bytes = self.values.to_vec().unwrap();
        let values: Vec<f64> = if self.value[0].ends_with("float") {
            bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_ne_bytes(*b))).collect()
        } else {
            bytes.as_chunks::<8>().0.iter().map(|b| f64::from_ne_bytes(*b)).collect()
        };
        let diagonal = self.diagonal.to_vec().unwrap();
        (0..self.len())
            .map(|i| {
                let row = starts[i] as usize..starts[i + 1] as usize;
                let others = row.map(|k| (columns[k] as usize, values[k]));
                std::iter::once((i, diagonal[i])).chain(others).collect()
            })
            .collect()
    }
}

/// The tree of panels.
#[derive(Debug)]
pub(super) struct Search {
    depth: u32,
    nodes: Buffer<[f64; 7]>,
    starts: Buffer<u32>,
    candidates: Kernel,
}

impl Search {
    pub(super) fn new(
        device: &Device,
        n: usize,
        centroids: &Buffer<[f64; 4]>,
        rows: &Rows,
    ) -> Result<Self, gpu::Error> {
        let kernel = |name: &str| Kernel::new(device, &NEAR, rows.macros(), name, THREADS);
        let mut depth = 0;
        while n.div_ceil(1 << depth) > LEAF {
            depth += 1;
        }
        let leaves = 1usize << depth;
        let nodes = device.buffer(2 * leaves)?;
        let starts = device.buffer(leaves + 1)?;
        let args = [centroids.arg(), count(n), Arg::U32(depth), nodes.arg(), starts.arg()];
        kernel("near_leaves")?.over(leaves, 1, &args)?;
        let parents = kernel("near_parents")?;
        for level in (0..depth).rev() {
            parents.over(1 << level, 1, &[nodes.arg(), Arg::U32(1 << level)])?;
        }
        Ok(Self { depth, nodes, starts, candidates: kernel("near_candidates")? })
    }

    /// Nodes, beginnings of the leaves and depth as arguments.
    pub(super) fn args(&self) -> [Arg; 3] {
        [self.nodes.arg(), self.starts.arg(), Arg::U32(self.depth)]
    }

    fn launch(
        &self,
        geometry: &DeviceGeometry,
        first: usize,
        counts: &Buffer<u32>,
        rows: usize,
        pairs: Arg,
    ) -> Result<(), gpu::Error> {
        let args = [
            geometry.centroids.arg(),
            geometry.order.arg(),
            self.nodes.arg(),
            self.starts.arg(),
            Arg::U32(self.depth),
            count(first),
            count(rows),
            counts.arg(),
            pairs,
            geometry.rows.arg(),
        ];
        self.candidates.over(rows, 1, &args)
    }

    /// Where the candidates of some rows begin, and how many there are.
    fn count(
        &self,
        geometry: &DeviceGeometry,
        first: usize,
        rows: usize,
    ) -> Result<(Vec<u32>, u64), gpu::Error> {
        let counts = geometry.device.buffer::<u32>(rows)?;
        self.launch(geometry, first, &counts, rows, Arg::Pointer(0))?;
        Ok(prefix_sums(&counts.to_vec()?))
    }

    fn list(
        &self,
        geometry: &DeviceGeometry,
        first: usize,
        begins: &[u32],
        total: usize,
    ) -> Result<Buffer<[u32; 2]>, gpu::Error> {
        // One more, so that there is an address even if there is no pair.
        let pairs = geometry.device.buffer(total + 1)?;
        let rows = begins.len() - 1;
        let begins = geometry.device.upload(&begins[..rows])?;
        self.launch(geometry, first, &begins, rows, pairs.arg())?;
        Ok(pairs)
    }
}

/// Choice and integrals of pairs.
struct Integrals<'a> {
    selection: &'a Selection,
    quadrature: PairQuadrature,
    select: Kernel,
    integrate: Kernel,
}

impl<'a> Integrals<'a> {
    fn new(
        geometry: &DeviceGeometry,
        selection: &'a Selection,
        quadrature: PairQuadrature,
    ) -> Result<Self, gpu::Error> {
        let select = geometry.kernel("near_select")?;
        let integrate = geometry.kernel("near_integrate")?;
        Ok(Self { selection, quadrature, select, integrate })
    }

    /// The pairs among `candidates` (all but its last element) that the near field holds.
    fn of(
        &self,
        geometry: &DeviceGeometry,
        candidates: &Buffer<[u32; 2]>,
    ) -> Result<Part, gpu::Error> {
        let device = &geometry.device;
        let total = candidates.len() - 1;
        let [rule, finer] = self.selection.rules;
        let (charges, parts) = (geometry.charges.arg(), geometry.parts.arg());
        let panels = [geometry.vertices.arg(), charges, parts, candidates.arg()];
        let chosen = device.buffer::<u32>(total)?;
        // Pairs chosen, pairs left for integrals along edges, pairs kept.
        let tally = device.upload(&[0u32; 3])?;
        let mut args = panels.to_vec();
        args.push(count(total));
        args.extend(geometry.rules.of_triangles());
        args.extend([count(rule.degree()), count(finer.degree())]);
        args.extend([Arg::F64(self.selection.error), chosen.arg(), tally.at(0)]);
        args.push(geometry.rows.arg());
        self.select.over(total, 1, &args)?;

        let found = tally.to_vec()?[0] as usize;
        let rest = device.buffer::<u32>(found)?;
        let kept = device.buffer::<[u32; 2]>(found)?;
        let per_pair = if geometry.rows.is_general() { 2 } else { 1 };
        let values = device.buffer::<f64>(per_pair * found)?;
        let (accuracy, increment) = self.quadrature.accuracy_and_increment();
        for (edges, list) in [(0, &chosen), (1, &rest)] {
            let pairs = tally.to_vec()?[edges] as usize;
            let mut args = panels.to_vec();
            args.extend([list.arg(), count(pairs)]);
            args.extend(geometry.rules.of_pairs());
            args.extend([count(rule.degree()), Arg::F64(self.selection.error)]);
            args.extend([Arg::F64(accuracy), count(increment), count(edges)]);
            args.extend([rest.arg(), tally.at(1), kept.arg(), values.arg(), tally.at(2)]);
            args.push(geometry.rows.arg());
            self.integrate.over(pairs, 1, &args)?;
        }
        let pairs = tally.to_vec()?[2] as usize;
        Ok(Part {
            pairs: shrunk(device, &kept, pairs)?,
            values: shrunk(device, &values, per_pair * pairs)?,
        })
    }
}
