//! The stages of an `apply`, and the graph that they are recorded in.

use cuda::{Buffer, Graph, Grid, Pointer, Reals, Stream};

use super::buffers::{Buffers, Signature, of};
use super::device_plan::DevicePlan;
use super::kernels::{Kernel, NearSums, count, l2p, m2p, p2m, p2p, particles};
use super::treecode;
use crate::Error;
use crate::model::StageSeconds;

/// Largest number of densities that one pass of P2P takes.
const GROUP: usize = 4;

/// Shared memory per block guaranteed on every GPU, bytes.
const SHARED: usize = 48 << 10;

/// Buffers and graph of one signature.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) graph: Graph,
    pub(super) buffers: Buffers,
    pub(super) stages: StageSeconds,
}

/// Kernels of one signature.
#[derive(Debug)]
pub(super) struct Kernels {
    p2m: Kernel<p2m::P2m>,
    p2m_block: Block,
    l2p: Kernel<l2p::L2p>,
    l2p_block: Block,
    /// Of a treecode.
    pub(super) m2p: Option<Kernel<m2p::M2p>>,
    /// Densities of each pass of P2P, P2P and its close pairs.
    p2p: Vec<(usize, Kernel<p2p::P2p>, Kernel<p2p::Close>)>,
}

/// Blocks whose warps have some shared memory each.
#[derive(Clone, Copy, Debug)]
struct Block {
    warps: u32,
    /// Bytes of all warps.
    shared: u32,
}

impl Block {
    /// As many warps as share the memory that any GPU has, or one with more; `bytes` of a warp.
    fn new(bytes: usize) -> Self {
        let warps = (SHARED / bytes.max(1)).clamp(1, 8);
        Self { warps: warps as u32, shared: (warps * bytes) as u32 }
    }

    /// Blocks with `n` warps in all.
    fn grid(self, n: usize) -> Grid {
        let blocks = n.div_ceil(self.warps as usize);
        Grid { shared: self.shared, ..Grid::new(blocks, 32 * self.warps) }
    }
}

/// Stages of one density, and what belongs to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Largest,
    Gather,
    P2m(usize),
    M2m,
    M2l,
    L2l,
    L2p(usize),
    M2p(usize),
    P2p,
    Scatter,
}

impl DevicePlan {
    pub(super) fn kernels(&self, s: Signature) -> Result<Kernels, cuda::Error> {
        let device = &self.device;
        let scalar = self.precision.bytes();
        let precision = self.precision.as_macro();
        let p = self.tables.p;
        let screened = usize::from(self.screening.is_some());
        let sums = if s.dipoles { 4 } else { 1 };
        let pitch = 32 + 16 / scalar;
        let squares = (p * p).next_multiple_of(4);
        let p2m_block = Block::new((((2 + screened) * p + sums) * pitch + sums * squares) * scalar);
        let macros = [precision, ("DIPOLES", usize::from(s.dipoles)), ("SCREENED", screened)];
        let p2m = Kernel::with(device, &macros)?;
        p2m.allow_shared(p2m_block.shared)?;
        let values = if s.gradient { 10 } else { 4 };
        let l2p_block = Block::new((values * p * (p + 1) / 2 + screened * 32 * p) * scalar);
        let macros = [precision, ("GRADIENT", usize::from(s.gradient)), ("SCREENED", screened)];
        let l2p = Kernel::with(device, &macros)?;
        l2p.allow_shared(l2p_block.shared)?;
        let kinds = [self.screening.is_some(), s.gradient];
        let of_treecode = |t| treecode::kernel(device, self.precision, t, kinds);
        let m2p = self.treecode.as_ref().map(of_treecode).transpose()?;
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
                ("ALL_PAIRS", usize::from(self.direct)),
                ("SCREENED", screened),
            ];
            p2p.push((group, Kernel::with(device, &macros)?, Kernel::with(device, &macros)?));
            left -= group;
        }
        Ok(Kernels { p2m, p2m_block, l2p, l2p_block, m2p, p2p })
    }

    /// The stages of one density that go through expansions.
    fn far_stages(&self, k: usize) -> Vec<Stage> {
        if self.direct {
            Vec::new()
        } else if self.treecode.is_some() {
            vec![Stage::P2m(k), Stage::M2m, Stage::M2p(k)]
        } else {
            vec![Stage::P2m(k), Stage::M2m, Stage::M2l, Stage::L2l, Stage::L2p(k)]
        }
    }

    /// Times each stage alone, which also makes every buffer's pages, then records all of them.
    pub(super) fn record(&self, signature: Signature) -> Result<Recorded, Error> {
        let buffers = self.buffers(signature)?;
        let kernels = self.kernels(signature)?;
        for input in [&buffers.charges_in, &buffers.dipoles_in].into_iter().flatten() {
            input.zero()?;
        }
        let apply = Apply { plan: self, signature, kernels: &kernels, buffers: &buffers };
        let run = |stage: Stage, stream: &Stream| apply.stage(stage, stream);
        let stream = self.device.stream();
        let mut stages = StageSeconds::default();
        let mut timed = |stage: Stage, times: f64| -> Result<(), cuda::Error> {
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
                Stage::M2p(_) => stages.m2p += seconds,
                Stage::P2p => stages.p2p += seconds,
                Stage::Largest | Stage::Gather | Stage::Scatter => {}
            }
            Ok(())
        };
        // Once to load the kernels, then with the clock.
        let expansions = self.far_stages(0);
        run(Stage::Largest, stream)?;
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

        let expansions: Vec<Stage> =
            (0..signature.densities).flat_map(|k| self.far_stages(k)).collect();
        let (fork, join) = (self.device.event()?, self.device.event()?);
        let graph = Graph::record(stream, || -> Result<(), cuda::Error> {
            run(Stage::Largest, stream)?;
            run(Stage::Gather, stream)?;
            fork.record(stream)?;
            self.near_stream.wait(&fork)?;
            run(Stage::P2p, &self.near_stream)?;
            join.record(&self.near_stream)?;
            for &stage in &expansions {
                run(stage, stream)?;
            }
            stream.wait(&join)?;
            run(Stage::Scatter, stream)
        })?;
        Ok(Recorded { graph, buffers, stages })
    }
}

/// What the stages of an `apply` go through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Apply<'a> {
    pub(super) plan: &'a DevicePlan,
    pub(super) signature: Signature,
    pub(super) kernels: &'a Kernels,
    pub(super) buffers: &'a Buffers,
}

/// Strengths as they came, and where they go.
#[derive(Clone, Copy, Debug)]
struct Input<'a> {
    from: Option<&'a Buffer<f64>>,
    to: Option<&'a Reals>,
    /// Components of a source, and their unit.
    width: usize,
    unit: f64,
}

impl Apply<'_> {
    /// Puts one stage on `stream`.
    pub(super) fn stage(&self, stage: Stage, stream: &Stream) -> Result<(), cuda::Error> {
        let expansions = &self.plan.expansions;
        match stage {
            Stage::Largest => self.largest(stream),
            Stage::Gather => self.gather(stream),
            Stage::P2m(k) => self.p2m(stream, k),
            Stage::M2m => expansions.m2m(stream),
            Stage::M2l => {
                expansions.locals.values.zero_on(stream)?;
                expansions.m2l(stream, &self.plan.lists)
            }
            Stage::L2l => expansions.l2l(stream),
            Stage::L2p(k) => self.l2p(stream, k),
            Stage::M2p(k) => self.m2p(stream, k),
            Stage::P2p => self.p2p(stream),
            Stage::Scatter => self.scatter(stream),
        }
    }

    /// Charges and dipoles.
    fn inputs(&self) -> [Input<'_>; 2] {
        let Self { plan, buffers, .. } = self;
        let (charges, dipoles) = (buffers.charges.as_ref(), buffers.dipoles.as_ref());
        [
            Input { from: buffers.charges_in.as_ref(), to: charges, width: 1, unit: 1.0 },
            Input { from: buffers.dipoles_in.as_ref(), to: dipoles, width: 3, unit: plan.side },
        ]
    }

    /// The largest strengths of each density, by which it is scaled.
    fn largest(&self, stream: &Stream) -> Result<(), cuda::Error> {
        let Self { plan, buffers, .. } = self;
        let n = plan.sources;
        buffers.largest.zero_on(stream)?;
        for (kind, Input { from, width, .. }) in self.inputs().into_iter().enumerate() {
            let Some(from) = from else { continue };
            // Eight values per thread: few threads then meet at the one number.
            let grid = Grid::covering((width * n).div_ceil(8), particles::THREADS);
            for k in 0..self.signature.densities {
                let of_density = particles::Largest {
                    values: from.pointer_to(k * width * n),
                    count: (width * n) as u64,
                    largest: buffers.largest.pointer_to(2 * k + kind),
                };
                plan.largest.launch(stream, grid, of_density)?;
            }
        }
        Ok(())
    }

    /// Strengths in Morton order and in the plan's format, each density by its own scale; sums
    /// begin with zero.
    fn gather(&self, stream: &Stream) -> Result<(), cuda::Error> {
        let Self { plan, buffers, .. } = self;
        let n = plan.sources;
        buffers.potential.bytes.zero_on(stream)?;
        if let Some(gradient) = &buffers.gradient {
            gradient.bytes.zero_on(stream)?;
        }
        for Input { from, to, width, unit } in self.inputs() {
            let Some(from) = from else { continue };
            for k in 0..self.signature.densities {
                let strengths = particles::Gather {
                    from: from.pointer_to(k * width * n),
                    index: plan.source_order.index.pointer(),
                    n: count(n),
                    width: count(width),
                    unit,
                    largest: buffers.largest.pointer_to(2 * k),
                    side: plan.side,
                    to: of(to, k * width * n),
                };
                plan.gather.launch(stream, Grid::covering(n, particles::THREADS), strengths)?;
            }
        }
        Ok(())
    }

    fn p2m(&self, stream: &Stream, k: usize) -> Result<(), cuda::Error> {
        let Self { plan, kernels, buffers, .. } = self;
        let (n, boxes) = (plan.sources, plan.tree.len());
        let multipoles = &plan.expansions.multipoles;
        multipoles.values.zero_on(stream)?;
        let leaves = p2m::P2m {
            cells: plan.expanded_cells().pointer(),
            count: count(boxes),
            levels: multipoles.device_levels.pointer(),
            sources: plan.points.sources.pointer(),
            charges: of(buffers.charges.as_ref(), k * n),
            dipoles: of(buffers.dipoles.as_ref(), 3 * k * n),
            n: n as u64,
            tables: plan.tables.arguments(),
            radials: plan.radials.as_ref().map_or(Pointer::null(), |r| r.multipole.pointer()),
        };
        kernels.p2m.launch(stream, kernels.p2m_block.grid(boxes), leaves)
    }

    fn l2p(&self, stream: &Stream, k: usize) -> Result<(), cuda::Error> {
        let Self { plan, kernels, buffers, .. } = self;
        let (m, boxes) = (plan.targets, plan.tree.len());
        let [potential, gradient] = buffers.sums_of(k, m);
        let leaves = l2p::L2p {
            cells: plan.tree.cells.pointer(),
            count: count(boxes),
            levels: plan.expansions.locals.device_levels.pointer(),
            targets: plan.points.targets().pointer(),
            tables: plan.tables.arguments(),
            radials: plan.radials.as_ref().map_or(Pointer::null(), |r| r.local.pointer()),
            potential,
            gradient,
            m_targets: m as u64,
        };
        kernels.l2p.launch(stream, kernels.l2p_block.grid(boxes), leaves)
    }

    fn p2p(&self, stream: &Stream) -> Result<(), cuda::Error> {
        let Self { plan, buffers, .. } = self;
        let (n, m) = (plan.sources, plan.targets);
        let mut first = 0;
        for (group, p2p, close) in &self.kernels.p2p {
            let sums = NearSums {
                charges: of(buffers.charges.as_ref(), first * n),
                dipoles: of(buffers.dipoles.as_ref(), 3 * first * n),
                n: n as u64,
                potential: buffers.potential.pointer_to(first * m),
                gradient: of(buffers.gradient.as_ref(), 3 * first * m),
                m: m as u64,
            };
            let (near, kappa) = (plan.near_items(), plan.kappa());
            p2p.launch(stream, plan.near_grid(), p2p::P2p { near, sums, kappa })?;
            let pairs = p2p::Close {
                pairs: plan.close.pairs.pointer(),
                count: count(plan.close.count),
                squares: plan.close.squares.pointer(),
                sums,
                kappa,
            };
            close.launch(stream, Grid::covering(plan.close.count, 256), pairs)?;
            first += group;
        }
        Ok(())
    }

    /// Sums in the caller's order and scale.
    fn scatter(&self, stream: &Stream) -> Result<(), cuda::Error> {
        let Self { plan, signature: s, buffers, .. } = self;
        let (n, m) = (plan.sources, plan.targets);
        let out = |buffer: &Option<Buffer<f64>>, first: usize| {
            buffer.as_ref().map_or(Pointer::null(), |b| b.pointer_to(first))
        };
        for k in 0..s.densities {
            let sums = particles::Scatter {
                index: plan.target_order().index.pointer(),
                m: count(m),
                side: plan.side,
                targets: plan.points.targets().pointer(),
                // With dipoles close pairs are left out, a target with itself among them; its
                // gradient is zero in any case.
                itself: plan.itself && s.charges && !s.dipoles,
                slots: plan.slots(),
                charges: of(buffers.charges.as_ref(), k * n),
                largest: buffers.largest.pointer_to(2 * k),
                potential: buffers.potential.pointer_to(k * m),
                gradient: of(buffers.gradient.as_ref(), 3 * k * m),
                kappa: plan.kappa(),
                potential_out: out(&buffers.potential_out, k * m),
                gradient_out: out(&buffers.gradient_out, 3 * k * m),
            };
            plan.scatter.launch(stream, Grid::covering(m, particles::THREADS), sums)?;
        }
        Ok(())
    }

    /// Multipoles of one density at the targets.
    pub(super) fn m2p(&self, stream: &Stream, k: usize) -> Result<(), cuda::Error> {
        let Self { plan, kernels, buffers, signature } = self;
        let (Some(treecode), Some(kernel)) = (&plan.treecode, &kernels.m2p) else { return Ok(()) };
        let kinds = [plan.screening.is_some(), signature.gradient];
        let [potential, gradient] = buffers.sums_of(k, plan.targets);
        let tables = &plan.tables;
        for launch in &treecode.launches {
            let evaluations = m2p::M2p {
                evaluations: treecode.evaluations.pointer_to(launch.first),
                boxes: treecode.boxes.pointer(),
                pitch: count(treecode::pitch(launch.boxes)),
                cells: plan.tree.cells.pointer(),
                centres: plan.tree.centres.pointer(),
                side: plan.side,
                levels: plan.expansions.multipoles.device_levels.pointer(),
                targets: treecode.targets.pointer(),
                diagonal: tables.diagonal(),
                columns: tables.columns(),
                table_p: count(tables.p),
                kappa: plan.kappa(),
                corners: treecode.corners.pointer(),
                potential,
                gradient,
                m_targets: plan.targets as u64,
            };
            let shared = treecode::shared(launch.p, launch.boxes, plan.precision, kinds);
            let grid = Grid { shared, ..Grid::new(launch.count, 32) };
            kernel.launch(stream, grid, evaluations)?;
        }
        Ok(())
    }
}
