//! One rank's part of a sum on a GPU of its own: the local essential tree on the device, its
//! stages, and the expansions that go to other ranks and come from them.
//!
//! The caller puts messages between the stages (module `distributed`). P2P runs on a stream of its
//! own meanwhile.

use std::time::Instant;

use cuda::{Buffer, Device};
use parallel::prelude::*;

use super::buffers::Signature;
use super::close::Close;
use super::coordinates::Coordinates;
use super::device_plan::{DevicePlan, Parts, Share, near_items};
use super::estimate::estimate_sorted;
use super::exchange::{Exchange, Messages, Offer, Peer};
use super::expansions::Expansions;
use super::hybrid::{self, Host, Span};
use super::lists::{Boxes, Lists};
use super::points::Points;
use super::relative::Relative;
use super::running::{Prepared, Running};
use super::stages::Stage;
use super::tree::{MortonOrder, Tree};
use super::truncation::Chosen;
use super::{far_matrices, on_host};
use crate::expansions::screened::Screening;
use crate::geometry::Geometry;
use crate::model::{Densities, Info, Potentials};
use crate::tree::lists;
use crate::tree::{self as cpu, Root};
use crate::truncation::TruncationNumbers;
use crate::{Backend, Error, Mode, Options, Precision, Stencil};
use parallel::DisjointSlice;

/// A rank's part as the CPU has found it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub root: Root,
    /// The local essential tree, with its lists of translations and the numbers that all agreed on.
    pub tree: &'a cpu::Tree,
    pub lists: &'a lists::Lists,
    pub numbers: &'a TruncationNumbers,
    /// The sources of the tree; `own` of them, which come first, are this rank's.
    pub sources: (&'a cpu::MortonOrder, &'a [[f64; 3]]),
    pub own: usize,
    pub targets: (&'a cpu::MortonOrder, &'a [[f64; 3]]),
    /// Whether the targets are the own sources.
    pub itself: bool,
}

/// A rank's plan on its GPU.
#[derive(Debug)]
pub(crate) struct RankEngine {
    prepared: Prepared,
    /// Parts of expansions, which are added up, and whole ones.
    parts: Exchange,
    multipoles: Exchange,
    /// The CPU's part of a hybrid plan.
    host: Option<Host>,
    plan: DevicePlan,
}

impl RankEngine {
    /// `parts`: expansions that are added up, `multipoles`: whole ones, of `numbers`' lengths.
    pub(crate) fn new(
        part: &Part<'_>,
        [parts, multipoles]: [&[Peer]; 2],
        options: &Options,
        precision: Precision,
        info: &mut Info,
    ) -> Result<Self, Error> {
        let device = Device::open(options.gpu)?;
        let [n, m] = [part.sources, part.targets].map(|(order, _)| order.index.len());
        let options = Options { mode: Mode::Fmm, ..options.clone() };
        device.check_free(estimate_sorted(&device, n, m, precision, &options))?;
        let upload = |(order, points)| {
            let order: &cpu::MortonOrder = order;
            let order =
                MortonOrder { keys: device.buffer(0)?, index: device.upload(&order.index)? };
            Ok::<_, cuda::Error>((Coordinates::new(&device, points, None)?, order))
        };
        let started = Instant::now();
        let mut points = Points {
            root: part.root,
            sources: upload(part.sources)?,
            targets: Some(upload(part.targets)?),
        };
        let (tree, mut cells) = Tree::of_host(&device, &part.root, part.tree)?;
        let relative = Relative::new(&device, precision, &tree, &points)?;
        points.release();
        let hybrid = options.backend == Backend::Hybrid;
        let stencil = match options.stencil {
            // What is near here must not be far on the CPU.
            None if hybrid => crate::tuning::stencil(&options, precision),
            stencil => stencil.unwrap_or(Stencil::Reduced),
        };
        let lists = Lists::new(&device, &tree, Some(stencil))?;
        device.stream().synchronize()?;
        let tree_seconds = started.elapsed().as_secs_f64();
        let share = Share {
            own_cells: {
                let others = cells.par_iter_mut().filter(|cell| !part.holds(cell.sources));
                others.for_each(|cell| cell.sources = [0; 2]);
                device.upload(&cells)?
            },
            slots: part.itself.then(|| device.upload(&part.slots())).transpose()?,
        };
        let near = near_items(&tree, &lists, &relative, part.root.side);
        let close = Close::find(&device, precision, near, &points, share.slots.is_some())?;
        let screening = Screening::new(options.kernel, part.root.side);
        let expansions = if hybrid {
            let stride = |p: usize| Host::stride(precision, p);
            Expansions::untranslated(&device, precision, &tree, part.numbers, stride)?
        } else {
            let batches = on_host::batches(part.lists, part.numbers.max(), &lists);
            let chosen = Chosen { batches, numbers: part.numbers.clone() };
            let limit = far_matrices::limit(&device);
            let boxes = Boxes { tree: &tree, lists: &lists };
            Expansions::new(&device, precision, screening, boxes, &chosen, limit)?
        };
        let parts_of_plan = Parts {
            direct: false,
            screening,
            points,
            relative,
            close,
            tree,
            lists,
            expansions,
            treecode: None,
            share: Some(share),
        };
        let plan = DevicePlan::new(&device, precision, parts_of_plan, part.numbers)?;
        let exchange = |peers| Exchange::new(&plan, part.tree, part.numbers, peers);
        let (parts, multipoles) = (exchange(parts)?, exchange(multipoles)?);
        device.stream().synchronize()?;
        plan.describe(part.numbers, info.leaf_size, tree_seconds, info);
        Ok(Self { prepared: Prepared::default(), parts, multipoles, host: None, plan })
    }

    /// Leaves M2M, M2L and L2L to the CPU, over the rank's boxes and lists.
    pub(crate) fn translated_on_host(
        self,
        simd: simd::Level,
        geometry: Geometry,
    ) -> Result<Self, Error> {
        let host = Host::over(&self.plan.device, simd, geometry, self.plan.precision)?;
        Ok(Self { host: Some(host), ..self })
    }

    /// For each of `ranks` ranks where its expansions are on this GPU, parts (0) and whole ones
    /// (1). `abroad`: some of the ranks are other processes.
    pub(crate) fn offers(&self, ranks: usize, abroad: bool) -> Vec<Vec<Offer>> {
        let mut offers = vec![Vec::new(); ranks];
        for (which, exchange) in [&self.parts, &self.multipoles].into_iter().enumerate() {
            exchange.offer(which as u64, abroad, &mut offers);
        }
        offers
    }

    /// Finds what each rank offers to this one; false if its GPU cannot copy all of it. Until then,
    /// and after [`Self::through_the_host`], expansions go through the host.
    pub(crate) fn find(&mut self, offers: &[Vec<Offer>]) -> Result<bool, Error> {
        let Self { parts, multipoles, plan, .. } = self;
        let mut all = true;
        for (which, exchange) in [parts, multipoles].into_iter().enumerate() {
            let of = offers.iter().flatten().filter(|offer| offer[0] == which as u64);
            all &= exchange.find(&plan.device, of)?;
        }
        Ok(all)
    }

    /// Leaves all exchange to the host.
    pub(crate) fn through_the_host(&mut self) {
        self.parts.through_the_host();
        self.multipoles.through_the_host();
    }

    /// Whether expansions go from GPU to GPU.
    pub(crate) fn copies_between_gpus(&self) -> bool {
        self.parts.copies_between_gpus()
    }

    /// Whether the CPU translates.
    pub(crate) fn is_hybrid(&self) -> bool {
        self.host.is_some()
    }

    /// The GPU.
    pub(crate) fn device(&self) -> &Device {
        &self.plan.device
    }

    /// Makes room for such an `apply`.
    pub(crate) fn prepare(&mut self, signature: Signature) -> Result<(), Error> {
        self.prepared.get(&self.plan, signature)?;
        Ok(())
    }

    /// Starts an `apply` of strengths of this rank's sources, then of others': P2P is under way
    /// when it returns.
    /// `exponents`: of the largest strength of each density on all ranks.
    pub(crate) fn begin(
        &mut self,
        signature: Signature,
        densities: [Densities<'_>; 2],
        exponents: &[Option<i32>],
        started: Instant,
    ) -> Result<RunningOnRank<'_>, Error> {
        let Self { prepared, parts, multipoles, host, plan } = self;
        let apply = prepared.get(plan, signature)?;
        let buffers = apply.buffers;
        let k = signature.densities;
        let inputs = [
            (&buffers.charges_in, densities.map(|of| of.charges), 1),
            (&buffers.dipoles_in, densities.map(|of| of.dipoles), 3),
        ];
        for (to, from, width) in inputs {
            if let (Some(to), [Some(own), Some(others)]) = (to, from) {
                write_rows(to, [own, others], [k, width * plan.sources])?;
            }
        }
        let largest: Vec<u64> = exponents.iter().flat_map(|&e| [bits(e), 0]).collect();
        buffers.largest.write(&largest)?;
        let running = Running::begin(apply, &[Stage::Gather], started)?;
        Ok(RunningOnRank { parts, multipoles, host: host.as_mut(), running })
    }
}

/// Writes k rows of `length` values, each of one of `own` and one of `others`.
fn write_rows(
    to: &Buffer<f64>,
    [own, others]: [&[f64]; 2],
    [k, length]: [usize; 2],
) -> Result<(), cuda::Error> {
    let (first, rest) = (own.len() / k.max(1), others.len() / k.max(1));
    for row in 0..k {
        to.write_at(row * length, &own[row * first..(row + 1) * first])?;
        to.write_at(row * length + first, &others[row * rest..(row + 1) * rest])?;
    }
    Ok(())
}

/// The bits of a charge with such an exponent, as far as strengths are scaled; of none zero.
fn bits(exponent: Option<i32>) -> u64 {
    exponent.map_or(0, |exponent| ((1023 + exponent.clamp(-1000, 1000)) as u64) << 52)
}

impl Part<'_> {
    /// Whether a box's sources, if it has any, are this rank's.
    fn holds(&self, [begin, end]: [u32; 2]) -> bool {
        let first = self.sources.0.index.get(begin as usize);
        begin == end || first.is_some_and(|&first| (first as usize) < self.own)
    }

    /// Which of the sources each target is: those of a leaf are its last ones, in their order.
    fn slots(&self) -> Vec<u32> {
        let mut slots = vec![0; self.targets.0.index.len()];
        let shared = DisjointSlice::new(&mut slots);
        let leaves = self.tree.cells.par_iter().with_min_len(256).filter(|cell| cell.is_leaf());
        leaves.for_each(|leaf| {
            let own = leaf.targets.start as usize..leaf.targets.end as usize;
            let first = leaf.sources.end - own.len() as u32;
            // SAFETY: a target is in one leaf.
            let slots = unsafe { shared.slice(own) };
            (first..).zip(slots).for_each(|(source, slot)| *slot = source);
        });
        slots
    }
}

/// An `apply` of a rank under way.
#[derive(Debug)]
pub(crate) struct RunningOnRank<'a> {
    parts: &'a Exchange,
    multipoles: &'a Exchange,
    host: Option<&'a mut Host>,
    running: Running<'a>,
}

impl RunningOnRank<'_> {
    /// Makes the multipole expansions of density `k` from own sources, and takes out the parts of
    /// those that others add up.
    pub(crate) fn upward(&mut self, k: usize) -> Result<Messages, Error> {
        self.running.stage("P2M", Stage::P2m(k))?;
        self.running.stage("M2M", Stage::M2m)?;
        Ok(self.parts.pack(self.running.plan())?)
    }

    /// Adds the parts that others sent, in the order of their ranks, and takes out the expansions
    /// that others need.
    pub(crate) fn complete(&mut self, messages: &[Vec<u8>]) -> Result<Messages, Error> {
        self.parts.unpack(self.running.plan(), messages, true)?;
        Ok(self.multipoles.pack(self.running.plan())?)
    }

    /// Takes over the expansions that others sent, and adds what all give at the targets.
    pub(crate) fn downward(&mut self, k: usize, messages: &[Vec<u8>]) -> Result<(), Error> {
        self.multipoles.unpack(self.running.plan(), messages, false)?;
        self.running.stage("M2L", Stage::M2l)?;
        self.running.stage("L2L", Stage::L2l)?;
        Ok(self.running.stage("L2P", Stage::L2p(k))?)
    }

    /// [`Self::upward`] of a hybrid plan, up to the exchange: expansions of leaves are made on the
    /// GPU, the others by the CPU.
    pub(crate) fn upward_on_host(&mut self, k: usize) -> Result<(), Error> {
        let Self { host, running, .. } = self;
        Ok(host.as_mut().map_or(Ok(()), |host| running.upward(host, k))?)
    }

    /// Exchanges the expansions that the CPU has. Collective.
    pub(crate) fn exchange_on_host<X: hybrid::Exchange>(
        &mut self,
        exchange: &mut X,
    ) -> Result<(), X::Error> {
        self.host.as_mut().map_or(Ok(()), |host| host.exchange(exchange))
    }

    /// Translates by the CPU, and adds what that gives at the targets.
    pub(crate) fn downward_on_host(&mut self, k: usize) -> Result<(), Error> {
        let Self { host, running, .. } = self;
        Ok(host.as_mut().map_or(Ok(()), |host| running.downward(host, k))?)
    }

    /// Brings the sums back: when its parts ran, and seconds from the device's begin to its end.
    pub(crate) fn finish(self, potentials: Potentials<'_>) -> Result<(Vec<Span>, f64), Error> {
        self.running.finish(potentials)
    }
}
