//! A plan on the device: geometry once, then one recorded graph for each kind of `apply`.
//!
//! P2P runs on a stream of its own beside the expansions; both add to the same sums, atomically. Points, tree, lists and
//! matrices stay on the device.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use ::gpu::{Arg, Buffer, Device, Event, Graph, Grid, Stream};

use super::expansions::{Expansions, scalar};
use super::hybrid::{Host, Span};
use super::kernels::{self, Kernel, count, kernel};
use super::lists::Lists;
use super::orders::{self, Orders};
use super::tree::{self, Order, Tree};
use super::{GpuInfo, tables, tuning};
use crate::plan::{Densities, Info, Potentials, StageSeconds};
use crate::{Backend, Error, Mode, Options, Precision};

/// Largest number of densities that one pass of P2P takes.
const GROUP: usize = 4;

/// Warps of a block of P2P, as `kernels/p2p.cu` and `kernels/close.cu` have it.
const P2P_WARPS: usize = 4;

/// Points of a leaf where all pairs are summed: leaves only keep coordinates relative there.
const DIRECT_OCCUPANCY: f64 = 256.0;

/// Shared memory of a block that every GPU has.
const SHARED: usize = 48 << 10;

/// A close pair, as `kernels/p2p.cu` declares it.
type ClosePair = [u32; 8];

/// Everything that `apply` needs.
#[derive(Debug)]
pub(crate) struct Engine {
    /// First, so that graphs go before the buffers that they use.
    recorded: HashMap<Signature, Recorded>,
    /// The CPU's part of a hybrid plan.
    host: Option<Host>,
    prepared: HashMap<Signature, (Kernels, Buffers)>,
    timeline: Vec<Span>,
    parts: Parts,
}

/// What stays on the device.
#[derive(Debug)]
struct Parts {
    device: Device,
    beside: Stream,
    precision: Precision,
    side: f64,
    sources: usize,
    targets: usize,
    /// Whether the targets are the sources.
    itself: bool,
    tree: Tree,
    lists: Lists,
    expansions: Expansions,
    source_order: Order,
    target_order: Option<Order>,
    source_points: Buffer<u8>,
    target_points: Option<Buffer<u8>>,
    close: Buffer<ClosePair>,
    thresholds: Buffer<f32>,
    close_count: usize,
    tables: Tables,
    gather: Kernel,
    scatter: Kernel,
}

/// Tables of harmonics.
#[derive(Debug)]
struct Tables {
    p: usize,
    diagonal: Buffer<u8>,
    columns: Buffer<u8>,
    derivatives: Buffer<u8>,
    ends: [u32; 3],
}

/// What decides which kernels an `apply` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Signature {
    densities: usize,
    charges: bool,
    dipoles: bool,
    potential: bool,
    gradient: bool,
}

/// Buffers and graph of one signature.
#[derive(Debug)]
struct Recorded {
    graph: Graph,
    buffers: Buffers,
    stages: StageSeconds,
}

/// Input, output and what lies between, k densities.
#[derive(Debug)]
struct Buffers {
    charges_in: Option<Buffer<f64>>,
    dipoles_in: Option<Buffer<f64>>,
    charges: Option<Buffer<u8>>,
    dipoles: Option<Buffer<u8>>,
    potential: Buffer<u8>,
    gradient: Option<Buffer<u8>>,
    potential_out: Option<Buffer<f64>>,
    gradient_out: Option<Buffer<f64>>,
}

/// Kernels of one signature.
#[derive(Debug)]
struct Kernels {
    p2m: Kernel,
    p2m_grid: (u32, u32),
    l2p: Kernel,
    l2p_grid: (u32, u32),
    /// Densities of each pass of P2P, P2P and its close pairs.
    p2p: Vec<(usize, Kernel, Kernel)>,
}

/// Stages of one density, and what belongs to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Gather,
    P2m(usize),
    M2m,
    M2l,
    L2l,
    L2p(usize),
    P2p,
    Scatter,
}

impl Engine {
    pub(crate) fn new(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
        precision: Precision,
        info: &mut Info,
    ) -> Result<Self, Error> {
        let device = super::device(options.gpu)?;
        let (n, m) = (sources.len(), targets.map_or(sources.len(), <[_]>::len));
        let needed = estimate(n, targets.map_or(0, |_| m), precision, options);
        let free = device.free_memory()?;
        if needed > free {
            return Err(::gpu::Error::OutOfMemory { needed, free }.into());
        }
        let source_coordinates = device.upload(sources.as_flattened())?;
        let target_coordinates = targets.map(|t| device.upload(t.as_flattened())).transpose()?;
        // What is timed as tree and lists starts with points on the device and compiled kernels.
        warm_up(&device)?;
        device.stream().synchronize()?;
        let started = Instant::now();

        let far = (options.mode == Mode::Fmm).then_some(options.stencil);
        let hybrid = info.backend == Backend::Hybrid;
        let occupancy = match options.mode {
            Mode::Fmm if hybrid => tuning::hybrid_occupancy(options, precision),
            Mode::Fmm => tuning::occupancy(options, precision),
            Mode::Direct => DIRECT_OCCUPANCY,
        };
        let leaf_size = options.leaf_size.unwrap_or((2.0 * occupancy) as usize);
        let sets: Vec<&Buffer<f64>> =
            std::iter::once(&source_coordinates).chain(&target_coordinates).collect();
        let mut root = tree::root(&device, &sets, 1.0)?;
        let mut source_order = Order::new(&device, &root, &source_coordinates)?;
        if options.leaf_size.is_none() {
            let boxes = source_order.occupied(&device)?;
            let enlargement = tuning::enlargement(n, &boxes, occupancy);
            if enlargement > 1.0 {
                root = tree::root(&device, &sets, enlargement)?;
                source_order = Order::new(&device, &root, &source_coordinates)?;
            }
        }
        let target_order = target_coordinates
            .as_ref()
            .map(|points| Order::new(&device, &root, points))
            .transpose()?;
        let tree = Tree::new(&device, &root, &source_order, target_order.as_ref(), leaf_size)?;
        let lists = Lists::new(&device, &tree, far)?;
        device.stream().synchronize()?;
        let tree_seconds = started.elapsed().as_secs_f64();

        let ends = [
            (&source_coordinates, &source_order),
            (
                target_coordinates.as_ref().unwrap_or(&source_coordinates),
                target_order.as_ref().unwrap_or(&source_order),
            ),
        ];
        let (host, orders, expansions) = if hybrid {
            let in_order = (&source_order, target_order.as_ref());
            let (host, orders) = Host::new(
                &device,
                &root,
                (sources, targets),
                in_order,
                leaf_size,
                options,
                precision,
            )?;
            let stride = |p: usize| Host::stride(precision, p);
            let expansions = Expansions::untranslated(&device, precision, &tree, &orders, stride)?;
            (Some(host), orders, expansions)
        } else {
            let orders = orders::choose(&device, &tree, &lists, root.side, ends, options)?;
            let expansions = Expansions::new(&device, precision, &tree, &lists, &orders)?;
            (None, orders, expansions)
        };
        let place = |of_targets: bool| {
            let (points, order) = ends[usize::from(of_targets)];
            particles(&device, precision, &tree, root.side, of_targets, points, order)
        };
        let source_points = place(false)?;
        let target_points = targets.map(|_| place(true)).transpose()?;
        let macros = [("PRECISION", 8 * scalar(precision))];
        let mut parts = Parts {
            beside: device.new_stream()?,
            precision,
            side: root.side,
            sources: n,
            targets: m,
            itself: targets.is_none(),
            tables: Tables::new(&device, precision, orders.max().max(1))?,
            gather: kernel(&device, &kernels::PARTICLES, &macros, "particles_gather")?,
            scatter: kernel(&device, &kernels::PARTICLES, &macros, "particles_scatter")?,
            close: device.buffer(0)?,
            thresholds: device.buffer(0)?,
            close_count: 0,
            tree,
            lists,
            expansions,
            source_points,
            target_points,
            source_order,
            target_order,
            device,
        };
        if precision == Precision::Single {
            let target_coordinates = target_coordinates.as_ref().unwrap_or(&source_coordinates);
            parts.find_close(&source_coordinates, target_coordinates)?;
        }
        parts.device.stream().synchronize()?;
        parts.describe(&orders, leaf_size, tree_seconds, info);
        Ok(Self {
            recorded: HashMap::new(),
            host,
            prepared: HashMap::new(),
            timeline: Vec::new(),
            parts,
        })
    }

    /// Sums k densities; the arrays have been checked.
    pub(crate) fn apply(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
    ) -> Result<StageSeconds, Error> {
        let started = Instant::now();
        let signature = Signature {
            densities: k,
            charges: densities.charges.is_some(),
            dipoles: densities.dipoles.is_some(),
            potential: potentials.potential.is_some(),
            gradient: potentials.gradient.is_some(),
        };
        let parts = &self.parts;
        if k == 0 || parts.targets == 0 || parts.sources == 0 {
            potentials.potential.into_iter().for_each(|out| out.fill(0.0));
            potentials.gradient.into_iter().for_each(|out| out.fill(0.0));
            return Ok(StageSeconds::default());
        }
        if self.host.is_some() {
            return self.apply_hybrid(signature, densities, potentials, started);
        }
        let recorded = Self::recorded(&mut self.recorded, parts, signature)?;
        let buffers = &recorded.buffers;
        buffers.write(densities)?;
        let stream = parts.device.stream();
        let (begin, end) = (parts.device.event()?, parts.device.event()?);
        begin.record(stream)?;
        // SAFETY: the graph's buffers are those of `recorded` and `parts`, which live as long.
        unsafe { recorded.graph.launch(stream)? };
        end.record(stream)?;
        buffers.read(potentials)?;
        let device = begin.seconds_to(&end)?;
        Ok(StageSeconds { device, total: started.elapsed().as_secs_f64(), ..recorded.stages })
    }
}

impl Engine {
    fn recorded<'a>(
        all: &'a mut HashMap<Signature, Recorded>,
        parts: &Parts,
        signature: Signature,
    ) -> Result<&'a mut Recorded, Error> {
        Ok(match all.entry(signature) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(parts.record(signature)?),
        })
    }

    /// The device, unless cores take part.
    pub(crate) fn whole_device(&self) -> Option<Device> {
        self.host.is_none().then(|| self.parts.device.clone())
    }

    /// Potentials of k densities of charges, both on the device; the lengths have been checked.
    pub(crate) fn apply_on_device(
        &mut self,
        k: usize,
        charges: &Buffer<f64>,
        potential: &Buffer<f64>,
    ) -> Result<(), Error> {
        let (n, m) = (self.parts.sources, self.parts.targets);
        if self.host.is_some() {
            return Err(Error::NotPlanned { what: "device" });
        }
        if k == 0 || n == 0 || m == 0 {
            return Ok(potential.zero()?);
        }
        let signature = Signature {
            densities: k,
            charges: true,
            dipoles: false,
            potential: true,
            gradient: false,
        };
        let recorded = Self::recorded(&mut self.recorded, &self.parts, signature)?;
        let stream = self.parts.device.stream();
        let (Some(input), Some(output)) =
            (&recorded.buffers.charges_in, &recorded.buffers.potential_out)
        else {
            return Err(Error::NotPlanned { what: "device" });
        };
        input.copy_from(charges, k * n)?;
        // SAFETY: the graph's buffers are those of `recorded` and `parts`, which live as long.
        unsafe { recorded.graph.launch(stream)? };
        output.copy_to(potential, k * m)?;
        Ok(stream.synchronize()?)
    }

    /// When the parts of the last hybrid `apply` ran.
    pub(crate) fn timeline(&self) -> &[Span] {
        &self.timeline
    }

    /// P2P on a stream of its own while the CPU translates what P2M made; L2P when the locals are back.
    fn apply_hybrid(
        &mut self,
        signature: Signature,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
        started: Instant,
    ) -> Result<StageSeconds, Error> {
        let Self { host: Some(host), prepared, timeline, parts, .. } = self else {
            return Ok(StageSeconds::default());
        };
        let (kernels, buffers) = match prepared.entry(signature) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert((parts.kernels(signature)?, parts.buffers(signature)?))
            }
        };
        buffers.write(densities)?;
        let stream = parts.device.stream();
        let run =
            |stage: Stage, stream: &Stream| parts.stage(stage, stream, signature, kernels, buffers);
        let event = || parts.device.event();
        timeline.clear();
        let (origin, gathered) = (event()?, event()?);
        let (near_begin, near_end, end) = (event()?, event()?, event()?);
        origin.record(stream)?;
        // The device's clock starts here.
        let offset = started.elapsed().as_secs_f64();
        run(Stage::Gather, stream)?;
        gathered.record(stream)?;
        parts.beside.wait(&gathered)?;
        near_begin.record(&parts.beside)?;
        run(Stage::P2p, &parts.beside)?;
        near_end.record(&parts.beside)?;
        let mut on_device = Vec::new();
        for k in 0..signature.densities {
            let marks = [event()?, event()?, event()?, event()?];
            marks[0].record(stream)?;
            run(Stage::P2m(k), stream)?;
            marks[1].record(stream)?;
            let expansions = &parts.expansions;
            host.translate(
                &expansions.multipoles.values,
                &expansions.locals.values,
                || stream.synchronize(),
                started,
                timeline,
            )?;
            marks[2].record(stream)?;
            run(Stage::L2p(k), stream)?;
            marks[3].record(stream)?;
            on_device.push(marks);
        }
        stream.wait(&near_end)?;
        run(Stage::Scatter, stream)?;
        end.record(stream)?;
        buffers.read(potentials)?;
        let device = origin.seconds_to(&end)?;
        let mut span = |stage, begin: &Event, end: &Event| -> Result<(), ::gpu::Error> {
            let (begin, end) = (origin.seconds_to(begin)?, origin.seconds_to(end)?);
            timeline.push(Span { stage, gpu: true, begin: offset + begin, end: offset + end });
            Ok(())
        };
        span("P2P", &near_begin, &near_end)?;
        for marks in &on_device {
            span("P2M", &marks[0], &marks[1])?;
            span("L2P", &marks[2], &marks[3])?;
        }
        let of = |stage: &str| -> f64 {
            timeline.iter().filter(|s| s.stage == stage).map(|s| s.end - s.begin).sum()
        };
        Ok(StageSeconds {
            p2m: of("P2M"),
            m2m: of("M2M"),
            m2l: of("M2L"),
            l2l: of("L2L"),
            l2p: of("L2P"),
            p2p: of("P2P"),
            device,
            total: started.elapsed().as_secs_f64(),
        })
    }
}

impl Buffers {
    /// Brings the densities to the device.
    fn write(&self, densities: Densities<'_>) -> Result<(), ::gpu::Error> {
        let inputs = [(&self.charges_in, densities.charges), (&self.dipoles_in, densities.dipoles)];
        for (buffer, values) in inputs {
            if let (Some(buffer), Some(values)) = (buffer, values) {
                buffer.write(values)?;
            }
        }
        Ok(())
    }

    /// Brings the sums back; waits for them.
    fn read(&self, potentials: Potentials<'_>) -> Result<(), ::gpu::Error> {
        let outputs = [
            (&self.potential_out, potentials.potential),
            (&self.gradient_out, potentials.gradient),
        ];
        for (buffer, values) in outputs {
            if let (Some(buffer), Some(values)) = (buffer, values) {
                buffer.read(0, values)?;
            }
        }
        Ok(())
    }
}

/// Bytes of device memory that a plan and an `apply` need at most, about: sorting and lists come before expansions.
pub(super) fn estimate(n: usize, m: usize, precision: Precision, options: &Options) -> u64 {
    let scalar = scalar(precision) as u64;
    let occupancy = tuning::occupancy(options, precision);
    let points = (n + m) as u64;
    // Coordinates, keys and indices with their copies for sorting, relative coordinates, strengths and sums.
    let k = options.densities.max(1) as u64;
    let kinds = 1 + 3 * u64::from(options.gradient) + 3 * u64::from(options.dipoles);
    let of_points = points * (24 + 2 * 12 + 4 * scalar + k * (1 + kinds) * (8 + scalar));
    // Boxes with their expansions and lists, 119 M2L and 27 P2P each, twice while they are sorted.
    let boxes = (1.2 * points as f64 / occupancy) as u64 + 64;
    let p = (-0.75 * options.tolerance.ln()).max(3.0);
    let of_boxes = boxes * (96 + (2.0 * p * p) as u64 * scalar + 160 * 40 + 28 * 16);
    of_points + of_boxes + (64 << 20)
}

/// Compiles the kernels that planning uses.
fn warm_up(device: &Device) -> Result<(), ::gpu::Error> {
    for source in [kernels::SCAN, kernels::MORTON, kernels::TREE, kernels::LISTS] {
        device.module(&source, &[])?;
    }
    super::primitives::Sort::of_points(device)?;
    super::primitives::Sort::of_pairs(device)?;
    Ok(())
}

/// Coordinates relative to leaves.
fn particles(
    device: &Device,
    precision: Precision,
    tree: &Tree,
    side: f64,
    of_targets: bool,
    points: &Buffer<f64>,
    order: &Order,
) -> Result<Buffer<u8>, ::gpu::Error> {
    let n = order.index.len();
    let out = device.buffer::<u8>(4 * n * scalar(precision))?;
    let macros = [("PRECISION", 8 * scalar(precision))];
    kernel(device, &kernels::PARTICLES, &macros, "particles_place")?.launch(
        device.stream(),
        Grid::covering(32 * tree.len(), 256),
        &[
            tree.cells.arg(),
            tree.centres.arg(),
            count(tree.len()),
            Arg::U32(u32::from(of_targets)),
            points.arg(),
            order.index.arg(),
            Arg::F64(side),
            out.arg(),
        ],
    )?;
    Ok(out)
}

impl Tables {
    fn new(device: &Device, precision: Precision, p: usize) -> Result<Self, ::gpu::Error> {
        let (diagonal, columns) = tables::recursion(p);
        let (entries, ends) = tables::derivatives(p);
        // Two 32-bit numbers and a factor, aligned as the factor is.
        let derivatives: Vec<u8> = entries
            .iter()
            .flat_map(|&(row, column, factor)| {
                let mut bytes = row.to_ne_bytes().to_vec();
                bytes.extend(column.to_ne_bytes());
                bytes.extend(tables::reals(precision, [factor]));
                bytes
            })
            .collect();
        Ok(Self {
            p,
            diagonal: device.upload(&tables::reals(precision, diagonal))?,
            columns: device.upload(&tables::reals(precision, columns))?,
            derivatives: device.upload(&derivatives)?,
            ends,
        })
    }

    fn args(&self) -> [Arg; 7] {
        let [x, y, z] = self.ends;
        [
            self.diagonal.arg(),
            self.columns.arg(),
            count(self.p),
            self.derivatives.arg(),
            Arg::U32(x),
            Arg::U32(y),
            Arg::U32(z),
        ]
    }
}

impl Parts {
    fn target_order(&self) -> &Order {
        self.target_order.as_ref().unwrap_or(&self.source_order)
    }

    fn target_points(&self) -> &Buffer<u8> {
        self.target_points.as_ref().unwrap_or(&self.source_points)
    }

    /// Arguments that P2P and the search for close pairs begin with.
    fn near_args(&self) -> Vec<Arg> {
        vec![
            self.tree.cells.arg(),
            self.tree.centres.arg(),
            self.lists.entries.arg(),
            self.lists.items.arg(),
            self.lists.item_cells.arg(),
            count(self.lists.items.len()),
            Arg::F64(self.side),
            self.source_points.arg(),
            self.target_points().arg(),
        ]
    }

    fn near_grid(&self) -> Grid {
        Grid::new(self.lists.items.len().div_ceil(P2P_WARPS), 32 * P2P_WARPS as u32)
    }

    /// Lists the close pairs; a second time if there are more than was guessed.
    fn find_close(
        &mut self,
        sources: &Buffer<f64>,
        targets: &Buffer<f64>,
    ) -> Result<(), ::gpu::Error> {
        let device = self.device.clone();
        let find = kernel(&device, &kernels::CLOSE, &[("PRECISION", 32)], "close_find")?;
        let mut capacity = 1024 + self.targets;
        loop {
            let found = device.upload(&[0u32])?;
            self.close = device.buffer(capacity)?;
            self.thresholds = device.buffer(capacity)?;
            let mut args = self.near_args();
            args.extend([
                Arg::U32(u32::from(self.itself)),
                sources.arg(),
                self.source_order.index.arg(),
                targets.arg(),
                self.target_order().index.arg(),
                self.close.arg(),
                self.thresholds.arg(),
                count(capacity),
                found.arg(),
            ]);
            find.launch(device.stream(), self.near_grid(), &args)?;
            self.close_count = found.to_vec()?[0] as usize;
            if self.close_count <= capacity {
                break;
            }
            capacity = self.close_count;
        }
        // What is not needed goes back.
        let pairs = tree::grown(&device, &self.close, self.close_count, self.close_count)?;
        let limits = tree::grown(&device, &self.thresholds, self.close_count, self.close_count)?;
        (self.close, self.thresholds) = (pairs, limits);
        Ok(())
    }

    fn describe(&self, orders: &Orders, leaf_size: usize, tree_seconds: f64, info: &mut Info) {
        info.truncation_number = orders.max();
        info.mean_translation_order = orders.mean;
        info.leaf_size = leaf_size;
        info.depth = self.tree.depth();
        info.m2l_count = u64::from(self.lists.begins.last().copied().unwrap_or(0));
        info.m2l_per_box = info.m2l_count as f64 / self.tree.len() as f64;
        info.p2p_pairs = self.lists.pairs;
        let points = self.source_points.bytes()
            + self.target_points.as_ref().map_or(0, Buffer::bytes)
            + 12 * (self.sources + self.targets) as u64;
        let lists = self.lists.far.bytes()
            + self.lists.near.bytes()
            + self.lists.entries.bytes()
            + self.lists.items.bytes()
            + self.close.bytes();
        info.memory_bytes = points + lists + self.tree.cells.bytes() + self.expansions.bytes();
        info.gpu = Some(GpuInfo {
            name: self.device.info().name.clone(),
            index: self.device.info().index,
            tree_seconds,
            m2l_operations: 2.0 * self.expansions.m2l_products,
            close_pairs: self.close_count as u64,
            boxes: self.tree.len() as u64,
        });
    }

    fn buffers(&self, s: Signature) -> Result<Buffers, ::gpu::Error> {
        let (n, m, k) = (self.sources, self.targets, s.densities);
        let scalar = scalar(self.precision);
        let device = &self.device;
        let wide = |there: bool, len: usize| there.then(|| device.buffer::<f64>(len)).transpose();
        let real =
            |there: bool, len: usize| there.then(|| device.buffer::<u8>(len * scalar)).transpose();
        Ok(Buffers {
            charges_in: wide(s.charges, k * n)?,
            dipoles_in: wide(s.dipoles, 3 * k * n)?,
            charges: real(s.charges, k * n)?,
            dipoles: real(s.dipoles, 3 * k * n)?,
            potential: device.buffer(k * m * scalar)?,
            gradient: real(s.gradient, 3 * k * m)?,
            potential_out: wide(s.potential, k * m)?,
            gradient_out: wide(s.gradient, 3 * k * m)?,
        })
    }

    fn kernels(&self, s: Signature) -> Result<Kernels, ::gpu::Error> {
        let device = &self.device;
        let scalar = scalar(self.precision);
        let precision = ("PRECISION", 8 * scalar);
        // Warps of a block: as many as share the memory that any GPU has, or one with more.
        let grid = |bytes: usize| -> (u32, u32) {
            let warps = (SHARED / bytes.max(1)).clamp(1, 8);
            (warps as u32, (warps * bytes) as u32)
        };
        let p = self.tables.p;
        let sums = if s.dipoles { 4 } else { 1 };
        let pitch = 32 + 16 / scalar;
        let squares = (p * p).next_multiple_of(4);
        let p2m_grid = grid(((2 * p + sums) * pitch + sums * squares) * scalar);
        let values = if s.gradient { 10 } else { 4 };
        let l2p_grid = grid(values * p * (p + 1) / 2 * scalar);
        let macros = [precision, ("DIPOLES", usize::from(s.dipoles))];
        let p2m = kernel(device, &kernels::P2M, &macros, "p2m")?;
        p2m.allow_shared(p2m_grid.1)?;
        let macros = [precision, ("GRADIENT", usize::from(s.gradient))];
        let l2p = kernel(device, &kernels::L2P, &macros, "l2p")?;
        l2p.allow_shared(l2p_grid.1)?;
        let mut p2p = Vec::new();
        let mut left = s.densities;
        while left > 0 {
            let group = [GROUP, 2, 1].into_iter().find(|&g| g <= left).unwrap_or(1);
            let macros = [
                precision,
                ("DENSITIES", group),
                ("CHARGES", usize::from(s.charges)),
                ("DIPOLES", usize::from(s.dipoles)),
                ("GRADIENT", usize::from(s.gradient)),
            ];
            p2p.push((
                group,
                kernel(device, &kernels::P2P, &macros, "p2p")?,
                kernel(device, &kernels::P2P, &macros, "p2p_close")?,
            ));
            left -= group;
        }
        Ok(Kernels { p2m, p2m_grid, l2p, l2p_grid, p2p })
    }

    /// Times each stage alone, which also makes every buffer's pages, then records all of them.
    fn record(&self, signature: Signature) -> Result<Recorded, Error> {
        let buffers = self.buffers(signature)?;
        let kernels = self.kernels(signature)?;
        for input in [&buffers.charges_in, &buffers.dipoles_in].into_iter().flatten() {
            input.zero()?;
        }
        let run = |stage: Stage, stream: &Stream| {
            self.stage(stage, stream, signature, &kernels, &buffers)
        };
        let stream = self.device.stream();
        let mut stages = StageSeconds::default();
        let mut timed = |stage: Stage, times: f64| -> Result<(), ::gpu::Error> {
            let (begin, end) = (self.device.event()?, self.device.event()?);
            begin.record(stream)?;
            run(stage, stream)?;
            end.record(stream)?;
            let seconds = times * begin.seconds_to(&end)?;
            match stage {
                Stage::P2m(_) => stages.p2m += seconds,
                Stage::M2m => stages.m2m += seconds,
                Stage::M2l => stages.m2l += seconds,
                Stage::L2l => stages.l2l += seconds,
                Stage::L2p(_) => stages.l2p += seconds,
                Stage::P2p => stages.p2p += seconds,
                Stage::Gather | Stage::Scatter => {}
            }
            Ok(())
        };
        // Once to load the kernels, then with the clock.
        let mut expansions = vec![Stage::P2m(0), Stage::M2m, Stage::M2l, Stage::L2l, Stage::L2p(0)];
        run(Stage::Gather, stream)?;
        for &stage in expansions.iter().chain(&[Stage::P2p]) {
            run(stage, stream)?;
        }
        for &stage in &expansions {
            timed(stage, signature.densities as f64)?;
        }
        timed(Stage::P2p, 1.0)?;
        run(Stage::Scatter, stream)?;
        stream.synchronize()?;

        expansions.clear();
        for k in 0..signature.densities {
            let stages = [Stage::P2m(k), Stage::M2m, Stage::M2l, Stage::L2l, Stage::L2p(k)];
            expansions.extend(stages);
        }
        let (fork, join) = (self.device.event()?, self.device.event()?);
        let graph = Graph::record(stream, || -> Result<(), ::gpu::Error> {
            run(Stage::Gather, stream)?;
            fork.record(stream)?;
            self.beside.wait(&fork)?;
            run(Stage::P2p, &self.beside)?;
            join.record(&self.beside)?;
            for &stage in &expansions {
                run(stage, stream)?;
            }
            stream.wait(&join)?;
            run(Stage::Scatter, stream)
        })?;
        Ok(Recorded { graph, buffers, stages })
    }

    /// Puts one stage on `stream`.
    fn stage(
        &self,
        stage: Stage,
        stream: &Stream,
        s: Signature,
        kernels: &Kernels,
        buffers: &Buffers,
    ) -> Result<(), ::gpu::Error> {
        let (n, m) = (self.sources, self.targets);
        let scalar = scalar(self.precision);
        let of = |buffer: &Option<Buffer<u8>>, first: usize| {
            buffer.as_ref().map_or(Arg::Pointer(0), |b| b.at(first * scalar))
        };
        let cells = [self.tree.cells.arg(), count(self.tree.len())];
        let warps = |(warps, shared): (u32, u32)| {
            let blocks = self.tree.len().div_ceil(warps as usize);
            Grid { shared, ..Grid::new(blocks, 32 * warps) }
        };
        match stage {
            Stage::Gather => {
                buffers.potential.zero_on(stream)?;
                if let Some(gradient) = &buffers.gradient {
                    gradient.zero_on(stream)?;
                }
                for (from, to, width, factor) in [
                    (&buffers.charges_in, &buffers.charges, 1, 1.0),
                    (&buffers.dipoles_in, &buffers.dipoles, 3, 1.0 / self.side),
                ] {
                    let Some(from) = from else { continue };
                    for k in 0..s.densities {
                        let args = [
                            from.at(k * width * n),
                            self.source_order.index.arg(),
                            count(n),
                            count(width),
                            Arg::F64(factor),
                            of(to, k * width * n),
                        ];
                        self.gather.launch(stream, Grid::covering(n, 256), &args)?;
                    }
                }
                Ok(())
            }
            Stage::P2m(k) => {
                self.expansions.multipoles.values.zero_on(stream)?;
                let mut args = cells.to_vec();
                args.extend([
                    self.expansions.multipoles.device_levels.arg(),
                    self.source_points.arg(),
                    of(&buffers.charges, k * n),
                    of(&buffers.dipoles, 3 * k * n),
                    Arg::U64(n as u64),
                ]);
                args.extend(self.tables.args());
                kernels.p2m.launch(stream, warps(kernels.p2m_grid), &args)
            }
            Stage::M2m => self.expansions.m2m(stream),
            Stage::M2l => {
                self.expansions.locals.values.zero_on(stream)?;
                self.expansions.m2l(stream, &self.lists)
            }
            Stage::L2l => self.expansions.l2l(stream),
            Stage::L2p(k) => {
                let mut args = cells.to_vec();
                args.extend([
                    self.expansions.locals.device_levels.arg(),
                    self.target_points().arg(),
                ]);
                args.extend(self.tables.args());
                args.extend([
                    buffers.potential.at(k * m * scalar),
                    of(&buffers.gradient, 3 * k * m),
                    Arg::U64(m as u64),
                ]);
                kernels.l2p.launch(stream, warps(kernels.l2p_grid), &args)
            }
            Stage::P2p => {
                let mut first = 0;
                for (group, p2p, close) in &kernels.p2p {
                    let strengths = [
                        of(&buffers.charges, first * n),
                        of(&buffers.dipoles, 3 * first * n),
                        Arg::U64(n as u64),
                        buffers.potential.at(first * m * scalar),
                        of(&buffers.gradient, 3 * first * m),
                        Arg::U64(m as u64),
                    ];
                    let mut args = self.near_args();
                    args.extend(strengths);
                    p2p.launch(stream, self.near_grid(), &args)?;
                    let pairs = [self.close.arg(), count(self.close_count), self.thresholds.arg()];
                    close.launch(
                        stream,
                        Grid::covering(self.close_count, 256),
                        &[&pairs[..], &strengths].concat(),
                    )?;
                    first += group;
                }
                Ok(())
            }
            Stage::Scatter => {
                // With dipoles close pairs are left out, a target with itself among them; its gradient is zero in any case.
                let itself = self.itself && s.charges && !s.dipoles;
                for k in 0..s.densities {
                    let at = |out: &Option<Buffer<f64>>, first: usize| {
                        out.as_ref().map_or(Arg::Pointer(0), |b| b.at(first))
                    };
                    let args = [
                        self.target_order().index.arg(),
                        count(m),
                        Arg::F64(self.side),
                        self.target_points().arg(),
                        Arg::U32(u32::from(itself)),
                        of(&buffers.charges, k * n),
                        buffers.potential.at(k * m * scalar),
                        of(&buffers.gradient, 3 * k * m),
                        at(&buffers.potential_out, k * m),
                        at(&buffers.gradient_out, 3 * k * m),
                    ];
                    self.scatter.launch(stream, Grid::covering(m, 256), &args)?;
                }
                Ok(())
            }
        }
    }
}
