//! Expansions that go to the GPUs of other ranks and come from them.

use std::sync::Arc;

use cuda::{Buffer, Device, Reals, Shared};

use super::device_plan::DevicePlan;
use super::kernels::{Kernel, count, exchange};
use crate::tree::Tree;
use crate::truncation::TruncationNumbers;

/// Boxes whose expansions go to one rank, and come from it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub rank: usize,
    pub send: Vec<u32>,
    pub receive: Vec<u32>,
}

/// Messages to or from other ranks.
pub(crate) type Messages = Vec<(usize, Vec<u8>)>;

/// Expansions that go to other ranks and come from them, packed.
#[derive(Debug)]
pub(super) struct Exchange {
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
    pub(super) fn new(
        plan: &DevicePlan,
        tree: &Tree,
        numbers: &TruncationNumbers,
        peers: &[Peer],
    ) -> Result<Self, cuda::Error> {
        let macros = [plan.precision.as_macro()];
        let packed = |of: fn(&Peer) -> &[u32]| Packed::new(plan, tree, numbers, peers, of);
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

    /// Adds, for each rank that gets any, where its expansions are; `which`: 0 for parts, 1 for
    /// whole ones.
    pub(super) fn offer(&self, which: u64, abroad: bool, offers: &mut [Vec<Offer>]) {
        let address = self.outgoing.address(abroad);
        for &(rank, _, [first, _]) in &self.send.ranks {
            let mut offer: Offer = [0; 15];
            offer[..2].copy_from_slice(&[which, (first * self.send.scalar) as u64]);
            offer[2..].copy_from_slice(&address);
            offers[rank].push(offer);
        }
    }

    /// Leaves all to the host.
    pub(super) fn through_the_host(&mut self) {
        self.incoming = None;
    }

    /// Whether expansions go from GPU to GPU.
    pub(super) fn copies_between_gpus(&self) -> bool {
        self.incoming.is_some()
    }

    /// Finds what other ranks offer, in their order; false if not all are within reach.
    pub(super) fn find<'a>(
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
    pub(super) fn pack(&self, plan: &DevicePlan) -> Result<Messages, cuda::Error> {
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
    pub(super) fn unpack(
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
        tree: &Tree,
        numbers: &TruncationNumbers,
        peers: &[Peer],
        of: fn(&Peer) -> &[u32],
    ) -> Result<Self, cuda::Error> {
        let (mut ranks, mut boxes, mut places, mut end) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for peer in peers.iter().filter(|peer| !of(peer).is_empty()) {
            let (first_box, first) = (boxes.len(), end);
            for &cell in of(peer) {
                boxes.push(cell);
                places.push(end as u64);
                let level = usize::from(tree.cells[cell as usize].level);
                end += numbers.multipole[level].pow(2);
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
