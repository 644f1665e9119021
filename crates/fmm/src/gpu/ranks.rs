//! One rank's part of a sum on a GPU of its own: the local essential tree on the device, its
//! stages, and the expansions that go to other ranks and come from them.
//!
//! The caller puts messages between the stages (module `distributed`). P2P runs on a stream of its
//! own meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use cuda::{Buffer, Device, Event, Reals, Shared};
use parallel::prelude::*;

use super::close::Close;
use super::coordinates::Coordinates;
use super::device_plan::{DevicePlan, Share, near_items};
use super::estimate::estimate_sorted;
use super::expansions::Expansions;
use super::hybrid::{self, Host, Span};
use super::kernels::{Kernel, count, exchange};
use super::lists::{Boxes, Lists};
use super::points::Points;
use super::relative::Relative;
use super::stages::{Apply, Buffers, Kernels, Signature, Stage};
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

/// Boxes whose expansions go to one rank, and come from it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub rank: usize,
    pub send: Vec<u32>,
    pub receive: Vec<u32>,
}

/// A rank's plan on its GPU.
#[derive(Debug)]
pub(crate) struct RankEngine {
    prepared: HashMap<Signature, (Kernels, Buffers)>,
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
        let made = (tree, lists, expansions, None);
        let kind = (false, screening);
        let (points, share) = ((points, relative, close), Some(share));
        let plan = DevicePlan::new(&device, precision, kind, part.numbers, points, made, share)?;
        let exchange = |peers| Exchange::new(&plan, part, peers);
        let (parts, multipoles) = (exchange(parts)?, exchange(multipoles)?);
        device.stream().synchronize()?;
        plan.describe(part.numbers, info.leaf_size, tree_seconds, info);
        Ok(Self { prepared: HashMap::new(), parts, multipoles, host: None, plan })
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
            let address = exchange.outgoing.address(abroad);
            for &(rank, _, [first, _]) in &exchange.send.ranks {
                let mut offer: Offer = [0; 15];
                offer[..2].copy_from_slice(&[which as u64, (first * exchange.send.scalar) as u64]);
                offer[2..].copy_from_slice(&address);
                offers[rank].push(offer);
            }
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
        (self.parts.incoming, self.multipoles.incoming) = (None, None);
    }

    /// Whether expansions go from GPU to GPU.
    pub(crate) fn copies_between_gpus(&self) -> bool {
        self.parts.incoming.is_some()
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
        if !self.prepared.contains_key(&signature) {
            let made = (self.plan.kernels(signature)?, self.plan.buffers(signature)?);
            self.prepared.insert(signature, made);
        }
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
    ) -> Result<Running<'_>, Error> {
        let Self { prepared, parts, multipoles, host, plan } = self;
        let plan = &*plan;
        let Some((kernels, buffers)) = prepared.get(&signature) else {
            return Err(Error::NotPlanned { what: "densities" });
        };
        let event = || plan.device.event();
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
        let apply = Apply { plan, signature, kernels, buffers };
        let (origin, near) = (event()?, [event()?, event()?]);
        let stream = plan.device.stream();
        origin.record(stream)?;
        let offset = started.elapsed().as_secs_f64();
        apply.stage(Stage::Gather, stream)?;
        let gathered = event()?;
        gathered.record(stream)?;
        plan.near_stream.wait(&gathered)?;
        near[0].record(&plan.near_stream)?;
        apply.stage(Stage::P2p, &plan.near_stream)?;
        near[1].record(&plan.near_stream)?;
        Ok(Running {
            parts,
            multipoles,
            host: host.as_mut(),
            plan,
            apply,
            origin,
            started,
            offset,
            near,
            marks: Vec::new(),
            on_host: Vec::new(),
        })
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

/// An `apply` under way.
#[derive(Debug)]
pub(crate) struct Running<'a> {
    parts: &'a Exchange,
    multipoles: &'a Exchange,
    host: Option<&'a mut Host>,
    plan: &'a DevicePlan,
    apply: Apply<'a>,
    started: Instant,
    /// When the device began, and seconds from the start of `apply` to that.
    origin: Event,
    offset: f64,
    near: [Event; 2],
    marks: Vec<(&'static str, [Event; 2])>,
    /// When the CPU translated.
    on_host: Vec<Span>,
}

/// Messages to or from other ranks.
pub(crate) type Messages = Vec<(usize, Vec<u8>)>;

impl Running<'_> {
    /// Makes the multipole expansions of density `k` from own sources, and takes out the parts of
    /// those that others add up.
    pub(crate) fn upward(&mut self, k: usize) -> Result<Messages, Error> {
        self.timed("P2M", Stage::P2m(k))?;
        self.timed("M2M", Stage::M2m)?;
        Ok(self.parts.pack(self.plan)?)
    }

    /// Adds the parts that others sent, in the order of their ranks, and takes out the expansions
    /// that others need.
    pub(crate) fn complete(&mut self, messages: &[Vec<u8>]) -> Result<Messages, Error> {
        self.parts.unpack(self.plan, messages, true)?;
        Ok(self.multipoles.pack(self.plan)?)
    }

    /// Takes over the expansions that others sent, and adds what all give at the targets.
    pub(crate) fn downward(&mut self, k: usize, messages: &[Vec<u8>]) -> Result<(), Error> {
        self.multipoles.unpack(self.plan, messages, false)?;
        self.timed("M2L", Stage::M2l)?;
        self.timed("L2L", Stage::L2l)?;
        self.timed("L2P", Stage::L2p(k))
    }

    /// Makes the multipole expansions of density `k` from own sources, those of leaves on the GPU
    /// and the others by the CPU, of a hybrid plan.
    pub(crate) fn upward_on_host(&mut self, k: usize) -> Result<(), Error> {
        self.timed("P2M", Stage::P2m(k))?;
        let (plan, started) = (self.plan, self.started);
        let Some(host) = &mut self.host else { return Ok(()) };
        let from = &plan.expansions.multipoles.values;
        let synchronize = || plan.device.stream().synchronize();
        Ok(host.upward(from, synchronize, started, &mut self.on_host)?)
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
        if let Some(host) = &mut self.host {
            let to = &self.plan.expansions.locals.values;
            host.downward(to, self.started, &mut self.on_host)?;
        }
        self.timed("L2P", Stage::L2p(k))
    }

    /// Brings the sums back: when its parts ran, and seconds from the device's begin to its end.
    pub(crate) fn finish(self, potentials: Potentials<'_>) -> Result<(Vec<Span>, f64), Error> {
        let Self { plan, apply, origin, offset, near, marks, on_host: mut spans, .. } = self;
        let stream = plan.device.stream();
        stream.wait(&near[1])?;
        apply.stage(Stage::Scatter, stream)?;
        let end = plan.device.event()?;
        end.record(stream)?;
        apply.buffers.read(potentials)?;
        for (stage, [begin, end]) in std::iter::once(("P2P", near)).chain(marks) {
            let [begin, end] = [origin.seconds_to(&begin)?, origin.seconds_to(&end)?];
            spans.push(Span { stage, gpu: true, begin: offset + begin, end: offset + end });
        }
        Ok((spans, origin.seconds_to(&end)?))
    }

    fn timed(&mut self, name: &'static str, stage: Stage) -> Result<(), Error> {
        let device = &self.plan.device;
        let marks = [device.event()?, device.event()?];
        marks[0].record(device.stream())?;
        self.apply.stage(stage, device.stream())?;
        marks[1].record(device.stream())?;
        self.marks.push((name, marks));
        Ok(())
    }
}

/// Expansions that go to other ranks and come from them, packed.
#[derive(Debug)]
struct Exchange {
    send: Packed,
    receive: Packed,
    pack: Kernel<exchange::Pack>,
    unpack: Kernel<exchange::Unpack>,
    /// Where packed expansions are, for other GPUs to copy from.
    outgoing: Arc<Shared>,
    /// Of each rank that sends any, where they are and the first byte; none: they come through the
    /// host.
    incoming: Option<Vec<(Arc<Shared>, usize)>>,
}

/// Where expansions for another rank are: 0 for parts or 1 for whole ones, the first byte, and the
/// [`cuda::Address`] of the memory.
pub(crate) type Offer = [u64; 15];

/// Expansions of boxes, one after the other, rank by rank.
#[derive(Debug)]
struct Packed {
    /// Rank, its first box and boxes, its first number and numbers.
    ranks: Vec<(usize, [usize; 2], [usize; 2])>,
    boxes: Buffer<u32>,
    /// Where the expansion of each begins.
    places: Buffer<u64>,
    /// Where those of others are put.
    values: Reals,
    /// Bytes of a number.
    scalar: usize,
    /// Numbers of all.
    end: usize,
}

impl Exchange {
    fn new(plan: &DevicePlan, part: &Part<'_>, peers: &[Peer]) -> Result<Self, cuda::Error> {
        let macros = [plan.precision.as_macro()];
        let packed = |of: fn(&Peer) -> &[u32]| Packed::new(plan, part, peers, of);
        let send = packed(|peer| &peer.send)?;
        Ok(Self {
            outgoing: plan.device.shared(send.bytes())?,
            incoming: None,
            send,
            receive: packed(|peer| &peer.receive)?,
            pack: Kernel::with(&plan.device, &macros)?,
            unpack: Kernel::with(&plan.device, &macros)?,
        })
    }

    /// Finds what other ranks offer, in their order; false if not all are within reach.
    fn find<'a>(
        &mut self,
        device: &Device,
        offers: impl Iterator<Item = &'a Offer>,
    ) -> Result<bool, cuda::Error> {
        let find = |&[_, begin, address @ ..]: &Offer| {
            let found = device.find_shared(&address)?;
            Ok(found.map(|shared| (shared, begin as usize)))
        };
        let found = offers.map(find).collect::<Result<Option<Vec<_>>, cuda::Error>>()?;
        self.incoming = found.filter(|found| found.len() == self.receive.ranks.len());
        Ok(self.incoming.is_some())
    }

    /// The expansions for other ranks.
    fn pack(&self, plan: &DevicePlan) -> Result<Messages, cuda::Error> {
        let Packed { ranks, boxes, places, scalar, .. } = &self.send;
        if boxes.is_empty() {
            return Ok(Vec::new());
        }
        let of_boxes = exchange::Pack {
            cells: plan.tree.cells.pointer(),
            levels: plan.expansions.multipoles.device_levels.pointer(),
            boxes: boxes.pointer(),
            places: places.pointer(),
            count: count(boxes.len()),
            packed: self.outgoing.pointer().cast(*scalar),
        };
        let grid = cuda::Grid::covering(32 * boxes.len(), exchange::THREADS);
        self.pack.launch(plan.device.stream(), grid, of_boxes)?;
        if self.incoming.is_some() {
            // Others copy as soon as all ranks are here.
            plan.device.stream().synchronize()?;
            return Ok(Vec::new());
        }
        let bytes = self.outgoing.to_vec(&plan.device)?;
        let message = |&(rank, _, [first, numbers]): &(usize, _, [usize; 2])| {
            (rank, bytes[first * scalar..(first + numbers) * scalar].to_vec())
        };
        Ok(ranks.iter().map(message).collect())
    }

    /// Takes over the expansions of other ranks, in their order, or adds them.
    fn unpack(
        &self,
        plan: &DevicePlan,
        messages: &[Vec<u8>],
        added: bool,
    ) -> Result<(), cuda::Error> {
        let Packed { ranks, boxes, places, values, scalar, end: _ } = &self.receive;
        if let Some(incoming) = &self.incoming {
            for ((from, begin), (_, _, [first, numbers])) in incoming.iter().zip(ranks) {
                let [first, count] = [first, numbers].map(|numbers| numbers * scalar);
                values.bytes.copy_from_shared(first, from, *begin, count)?;
            }
            // They may be packed again as soon as all ranks are here.
            plan.device.stream().synchronize()?;
        } else {
            values.bytes.write(&messages.concat())?;
        }
        // Several ranks may add to one box: one after the other.
        for &(_, [first, here], _) in ranks {
            let of_boxes = exchange::Unpack {
                cells: plan.tree.cells.pointer(),
                levels: plan.expansions.multipoles.device_levels.pointer(),
                boxes: boxes.pointer_to(first),
                places: places.pointer_to(first),
                count: count(here),
                packed: values.pointer(),
                added,
            };
            let grid = cuda::Grid::covering(32 * here, exchange::THREADS);
            self.unpack.launch(plan.device.stream(), grid, of_boxes)?;
        }
        Ok(())
    }
}

impl Packed {
    /// Of those peers that have any.
    fn new(
        plan: &DevicePlan,
        part: &Part<'_>,
        peers: &[Peer],
        of: fn(&Peer) -> &[u32],
    ) -> Result<Self, cuda::Error> {
        let (mut ranks, mut boxes, mut places, mut end) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for peer in peers.iter().filter(|peer| !of(peer).is_empty()) {
            let (first_box, first) = (boxes.len(), end);
            for &cell in of(peer) {
                boxes.push(cell);
                places.push(end as u64);
                let level = usize::from(part.tree.cells[cell as usize].level);
                end += part.numbers.multipole[level].pow(2);
            }
            ranks.push((peer.rank, [first_box, boxes.len() - first_box], [first, end - first]));
        }
        Ok(Self {
            ranks,
            boxes: plan.device.upload(&boxes)?,
            places: plan.device.upload(&places)?,
            values: Reals::new(&plan.device, plan.precision, end)?,
            scalar: plan.precision.bytes(),
            end,
        })
    }

    /// Bytes of all expansions.
    fn bytes(&self) -> usize {
        self.end * self.scalar
    }
}
