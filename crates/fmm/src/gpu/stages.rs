//! The stages of an `apply`, and the graph that they are recorded in.

use ::gpu::{Arg, Buffer, Graph, Grid, Stream};

use super::expansions::scalar;
use super::kernels::{self, Kernel, count, kernel};
use super::parts::Parts;
use crate::Error;
use crate::plan::{Densities, Potentials, StageSeconds};

/// Largest number of densities that one pass of P2P takes.
const GROUP: usize = 4;

/// Shared memory of a block that every GPU has.
const SHARED: usize = 48 << 10;

/// What decides which kernels an `apply` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Signature {
    pub(super) densities: usize,
    pub(super) charges: bool,
    pub(super) dipoles: bool,
    pub(super) potential: bool,
    pub(super) gradient: bool,
}

/// Buffers and graph of one signature.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) graph: Graph,
    pub(super) buffers: Buffers,
    pub(super) stages: StageSeconds,
}

/// Input, output and what lies between, k densities.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) charges_in: Option<Buffer<f64>>,
    pub(super) dipoles_in: Option<Buffer<f64>>,
    /// Of each density the largest charge and the largest component of a dipole, as bits of a double.
    pub(super) largest: Buffer<u64>,
    pub(super) charges: Option<Buffer<u8>>,
    pub(super) dipoles: Option<Buffer<u8>>,
    pub(super) potential: Buffer<u8>,
    pub(super) gradient: Option<Buffer<u8>>,
    pub(super) potential_out: Option<Buffer<f64>>,
    pub(super) gradient_out: Option<Buffer<f64>>,
}

/// Kernels of one signature.
#[derive(Debug)]
pub(super) struct Kernels {
    pub(super) p2m: Kernel,
    pub(super) p2m_grid: (u32, u32),
    pub(super) l2p: Kernel,
    pub(super) l2p_grid: (u32, u32),
    /// Densities of each pass of P2P, P2P and its close pairs.
    pub(super) p2p: Vec<(usize, Kernel, Kernel)>,
}

/// Stages of one density, and what belongs to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Gather,
    P2m(usize),
    M2m,
    M2l,
    L2l,
    L2p(usize),
    P2p,
    Scatter,
}

impl Buffers {
    /// Brings the densities to the device.
    pub(super) fn write(&self, densities: Densities<'_>) -> Result<(), ::gpu::Error> {
        let inputs = [(&self.charges_in, densities.charges), (&self.dipoles_in, densities.dipoles)];
        for (buffer, values) in inputs {
            if let (Some(buffer), Some(values)) = (buffer, values) {
                buffer.write(values)?;
            }
        }
        Ok(())
    }

    /// Brings the sums back; waits for them.
    pub(super) fn read(&self, potentials: Potentials<'_>) -> Result<(), ::gpu::Error> {
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

impl Parts {
    pub(super) fn buffers(&self, s: Signature) -> Result<Buffers, ::gpu::Error> {
        let (n, m, k) = (self.sources, self.targets, s.densities);
        let scalar = scalar(self.precision);
        let device = &self.device;
        let wide = |there: bool, len: usize| there.then(|| device.buffer::<f64>(len)).transpose();
        let real =
            |there: bool, len: usize| there.then(|| device.buffer::<u8>(len * scalar)).transpose();
        Ok(Buffers {
            charges_in: wide(s.charges, k * n)?,
            dipoles_in: wide(s.dipoles, 3 * k * n)?,
            largest: device.buffer(2 * k)?,
            charges: real(s.charges, k * n)?,
            dipoles: real(s.dipoles, 3 * k * n)?,
            potential: device.buffer(k * m * scalar)?,
            gradient: real(s.gradient, 3 * k * m)?,
            potential_out: wide(s.potential, k * m)?,
            gradient_out: wide(s.gradient, 3 * k * m)?,
        })
    }

    pub(super) fn kernels(&self, s: Signature) -> Result<Kernels, ::gpu::Error> {
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
                ("ALL_PAIRS", usize::from(self.direct)),
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
    pub(super) fn record(&self, signature: Signature) -> Result<Recorded, Error> {
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
    pub(super) fn stage(
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
                buffers.largest.zero_on(stream)?;
                let inputs = [
                    (&buffers.charges_in, &buffers.charges, 1, 1.0),
                    (&buffers.dipoles_in, &buffers.dipoles, 3, self.side),
                ];
                for (kind, &(from, _, width, _)) in inputs.iter().enumerate() {
                    let Some(from) = from else { continue };
                    for k in 0..s.densities {
                        let args = [
                            from.at(k * width * n),
                            Arg::U64((width * n) as u64),
                            buffers.largest.at(2 * k + kind),
                        ];
                        // Eight values a thread: few threads then meet at the one number.
                        let grid = Grid::covering((width * n).div_ceil(8), 256);
                        self.largest.launch(stream, grid, &args)?;
                    }
                }
                for (from, to, width, unit) in inputs {
                    let Some(from) = from else { continue };
                    for k in 0..s.densities {
                        let args = [
                            from.at(k * width * n),
                            self.source_order.index.arg(),
                            count(n),
                            count(width),
                            Arg::F64(unit),
                            buffers.largest.at(2 * k),
                            Arg::F64(self.side),
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
                    let pairs = [self.close.arg(), count(self.close_count), self.squares.arg()];
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
                        buffers.largest.at(2 * k),
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
