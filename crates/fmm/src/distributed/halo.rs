//! What ranks send each other in every sum: strengths of near sources and multipole expansions.
//!
//! A multipole expansion is made by the rank that holds all of a box's sources. Boxes at the top
//! hold sources of several ranks: each sends its part to the first of them, which adds them up.
//! There are two such boxes a level at most for two ranks that are neighbours in Morton order.

use std::ops::Range;

use comm::{Communicator, Pending};

use super::code::Code;
use super::essential::{Essential, MULTIPOLE, PARTICLES, Request, cell_of};
use super::top::Top;
use crate::engine::Engine;
use crate::expansions::Expansions;
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::gpu;
use crate::tree::Tree;
use simd::Real;

/// What goes to and comes from one other rank, in an order that both know.
#[derive(Clone, Debug)]
struct Peer<A> {
    rank: usize,
    send: Vec<A>,
    receive: Vec<A>,
}

/// A box: its level and its place in it.
#[derive(Clone, Copy, Debug)]
struct Slot {
    level: usize,
    slot: usize,
}

/// Which expansions are sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    /// Parts, which are added.
    Parts,
    Whole,
}

/// All messages of a sum.
#[derive(Debug)]
pub(super) struct Halo {
    /// Runs of sources in Morton order.
    particles: Vec<Peer<Range<usize>>>,
    /// Whole expansions.
    multipoles: Vec<Peer<Slot>>,
    /// Parts of expansions, which are added.
    parts: Vec<Peer<Slot>>,
    /// Truncation number of the multipole expansions of each level.
    numbers: Vec<usize>,
}

impl Halo {
    pub(super) fn new(
        group: &dyn Communicator,
        top: &Top,
        essential: &Essential,
        numbers: &TruncationNumbers,
    ) -> Self {
        let (rank, tree) = (group.rank(), &essential.tree);
        let stored = |slot: &Slot| numbers.multipole[slot.level] > 0;
        let slot = |code: Code| {
            let cell = cell_of(tree, code)?;
            let level = usize::from(tree.cells[cell].level);
            Some(Slot { level, slot: cell - tree.levels[level].start }).filter(stored)
        };
        let both = essential.asked.iter().zip(&essential.requests).enumerate();
        let others = both.filter(|(other, _)| *other != rank);
        let mut particles = Vec::new();
        let mut multipoles = Vec::new();
        for (rank, (asked, requests)) in others {
            let runs = |of: &[Request]| runs(tree, of);
            let slots = |of: &[Request]| -> Vec<Slot> {
                let whole = of.iter().filter(|[_, what]| what & MULTIPOLE != 0);
                whole.filter_map(|[code, _]| slot(*code)).collect()
            };
            particles.push(Peer { rank, send: runs(asked), receive: runs(requests) });
            multipoles.push(Peer { rank, send: slots(asked), receive: slots(requests) });
        }
        let mut parts: Vec<Peer<Slot>> = (0..group.size())
            .map(|rank| Peer { rank, send: Vec::new(), receive: Vec::new() })
            .collect();
        for of in &top.boxes {
            let Some([first, last]) = of.ranks.filter(|[first, last]| first < last) else {
                continue;
            };
            if !(first..=last).contains(&rank) {
                continue;
            }
            let Some(slot) = slot(of.code) else { continue };
            let holders = top.holders(of.code);
            if rank == first {
                for holder in holders.into_iter().filter(|&holder| holder != first) {
                    parts[holder].receive.push(slot);
                }
            } else if holders.contains(&rank) {
                parts[first].send.push(slot);
            }
        }
        particles.retain(Peer::has_any);
        multipoles.retain(Peer::has_any);
        parts.retain(Peer::has_any);
        Self { particles, multipoles, parts, numbers: numbers.multipole.clone() }
    }

    /// Bytes that this rank sends in the sum of one density; those of a source's strengths, and of
    /// a coefficient.
    pub(super) fn bytes(&self, [strengths, coefficient]: [usize; 2]) -> u64 {
        let particles = self.particles.iter().flat_map(|peer| &peer.send);
        let particles: usize = particles.map(|run| strengths * run.len()).sum();
        let slots = self.multipoles.iter().chain(&self.parts).flat_map(|peer| &peer.send);
        let coefficients: usize = slots.map(|slot| self.coefficients(slot)).sum();
        (particles + coefficients * coefficient) as u64
    }

    /// Sources of other ranks that come, and multipole expansions.
    pub(super) fn received(&self) -> [u64; 2] {
        let particles = self.particles.iter().flat_map(|peer| &peer.receive);
        let multipoles = self.multipoles.iter().map(|peer| peer.receive.len());
        [particles.map(Range::len).sum::<usize>() as u64, multipoles.sum::<usize>() as u64]
    }

    fn coefficients(&self, slot: &Slot) -> usize {
        self.numbers[slot.level].pow(2)
    }

    /// Sends the strengths of own sources that others need.
    pub(super) fn send_particles<'g, T: Real>(
        &self,
        group: &'g dyn Communicator,
        engine: &mut Engine<T>,
    ) -> Result<Box<dyn Pending + 'g>, comm::Error> {
        let strengths = engine.strengths();
        let components: Vec<&[T]> = strengths.components().map(|values| &**values).collect();
        let width = components.len() * size_of::<T>();
        let message = |peer: &Peer<Range<usize>>| {
            let mut bytes = Vec::new();
            for run in &peer.send {
                components.iter().for_each(|values| put(&values[run.clone()], &mut bytes));
            }
            (peer.rank, bytes)
        };
        let length = |peer: &Peer<Range<usize>>| {
            (peer.rank, peer.receive.iter().map(Range::len).sum::<usize>() * width)
        };
        start(group, &self.particles, message, length)
    }

    /// Takes over the strengths that others sent.
    pub(super) fn receive_particles<T: Real>(
        &self,
        pending: Box<dyn Pending + '_>,
        engine: &mut Engine<T>,
    ) -> Result<(), comm::Error> {
        let messages = pending.wait()?;
        for (peer, message) in receiving(&self.particles).zip(&messages) {
            let mut bytes = &message[..];
            for run in &peer.receive {
                for values in engine.strengths().components() {
                    take(&mut bytes, &mut values[run.clone()]);
                }
            }
        }
        Ok(())
    }

    /// Completes the expansions of boxes that hold sources of several ranks, where others look for
    /// them.
    pub(super) fn complete<T: Real>(
        &self,
        group: &dyn Communicator,
        k: usize,
        multipoles: &mut Expansions<T>,
    ) -> Result<(), comm::Error> {
        let messages = self.send_slots(group, &self.parts, k, multipoles)?.wait()?;
        let mut part = Vec::new();
        receive_slots(&self.parts, &messages, k, multipoles, |bytes, own| {
            part.resize(own.len(), T::default());
            take(bytes, &mut part);
            own.iter_mut().zip(&part).for_each(|(own, &part)| *own += part);
        });
        Ok(())
    }

    /// Sends the multipole expansions that others need.
    pub(super) fn send_multipoles<'g, T: Real>(
        &self,
        group: &'g dyn Communicator,
        k: usize,
        multipoles: &mut Expansions<T>,
    ) -> Result<Box<dyn Pending + 'g>, comm::Error> {
        self.send_slots(group, &self.multipoles, k, multipoles)
    }

    /// Takes over the multipole expansions that others sent.
    pub(super) fn receive_multipoles<T: Real>(
        &self,
        pending: Box<dyn Pending + '_>,
        k: usize,
        multipoles: &mut Expansions<T>,
    ) -> Result<(), comm::Error> {
        let messages = pending.wait()?;
        receive_slots(&self.multipoles, &messages, k, multipoles, take);
        Ok(())
    }

    fn send_slots<'g, T: Real>(
        &self,
        group: &'g dyn Communicator,
        peers: &[Peer<Slot>],
        k: usize,
        multipoles: &mut Expansions<T>,
    ) -> Result<Box<dyn Pending + 'g>, comm::Error> {
        let message = |peer: &Peer<Slot>| {
            let mut bytes = Vec::new();
            for &Slot { level, slot } in &peer.send {
                for density in 0..k {
                    put(multipoles.of_box(level, density, slot), &mut bytes);
                }
            }
            (peer.rank, bytes)
        };
        start(group, peers, message, |peer| (peer.rank, k * self.length(peer, size_of::<T>())))
    }

    /// Bytes of the expansions that come from a rank, of one density.
    fn length(&self, peer: &Peer<Slot>, scalar: usize) -> usize {
        scalar * peer.receive.iter().map(|slot| self.coefficients(slot)).sum::<usize>()
    }

    /// The parts of expansions and the whole ones that go to other ranks and come from them, by
    /// boxes of `tree`.
    pub(super) fn exchanged(&self, tree: &Tree) -> [Vec<gpu::Peer>; 2] {
        let boxes = |of: &[Slot]| {
            of.iter().map(|of| (tree.levels[of.level].start + of.slot) as u32).collect()
        };
        [&self.parts, &self.multipoles].map(|peers| {
            let peer = |of: &Peer<Slot>| gpu::Peer {
                rank: of.rank,
                send: boxes(&of.send),
                receive: boxes(&of.receive),
            };
            peers.iter().map(peer).collect()
        })
    }

    /// Exchanges expansions of one density, which a GPU has packed; `scalar`: bytes of a number.
    pub(super) fn exchange_packed(
        &self,
        group: &dyn Communicator,
        of: Sent,
        sends: Vec<(usize, Vec<u8>)>,
        scalar: usize,
    ) -> Result<Vec<Vec<u8>>, comm::Error> {
        let peers = match of {
            Sent::Parts => &self.parts,
            Sent::Whole => &self.multipoles,
        };
        let receives: Vec<_> =
            receiving(peers).map(|peer| (peer.rank, self.length(peer, scalar))).collect();
        group.start(sends, &receives)?.wait()
    }

    /// The strengths of other ranks' near sources, shape (k, n, width), in the order in which they
    /// follow own ones; `values` are those of own ones, `index`: the place of each source in Morton
    /// order. Collective.
    pub(super) fn bring(
        &self,
        group: &dyn Communicator,
        index: &[u32],
        own: usize,
        values: &[f64],
        [k, width]: [usize; 2],
    ) -> Result<Vec<f64>, comm::Error> {
        let others = index.len() - own;
        // The places of some sources' values among `n`, one density after the other.
        let each = |runs: &[Range<usize>], [first, n]: [usize; 2], work: &mut dyn FnMut(_)| {
            for density in 0..k {
                for &place in runs.iter().flat_map(|run| &index[run.clone()]) {
                    let begin = (density * n + place as usize - first) * width;
                    work(begin..begin + width);
                }
            }
        };
        let message = |peer: &Peer<Range<usize>>| {
            let mut bytes = Vec::new();
            each(&peer.send, [0, own], &mut |range: Range<usize>| put(&values[range], &mut bytes));
            (peer.rank, bytes)
        };
        let length = |peer: &Peer<Range<usize>>| {
            let sources: usize = peer.receive.iter().map(Range::len).sum();
            (peer.rank, k * sources * width * size_of::<f64>())
        };
        let messages = start(group, &self.particles, message, length)?.wait()?;
        let receiving = receiving(&self.particles);
        let mut of_others = vec![0.0; k * others * width];
        for (peer, message) in receiving.zip(&messages) {
            let mut bytes = &message[..];
            let mut put = |range: Range<usize>| take(&mut bytes, &mut of_others[range]);
            each(&peer.receive, [own, others], &mut put);
        }
        Ok(of_others)
    }
}

impl<A> Peer<A> {
    fn has_any(&self) -> bool {
        !self.send.is_empty() || !self.receive.is_empty()
    }
}

/// Those that anything comes from.
fn receiving<A>(peers: &[Peer<A>]) -> impl Iterator<Item = &Peer<A>> {
    peers.iter().filter(|peer| !peer.receive.is_empty())
}

/// The sources of the boxes whose particles are asked for.
fn runs(tree: &Tree, requests: &[Request]) -> Vec<Range<usize>> {
    let near = requests.iter().filter(|[_, what]| what & PARTICLES != 0);
    near.filter_map(|&[code, _]| {
        let range = &tree.cells[cell_of(tree, code)?].sources;
        Some(range.start as usize..range.end as usize)
    })
    .collect()
}

/// Starts the messages of `peers`; none goes or comes where there is nothing to send or receive.
fn start<'g, A>(
    group: &'g dyn Communicator,
    peers: &[Peer<A>],
    message: impl Fn(&Peer<A>) -> (usize, Vec<u8>),
    length: impl Fn(&Peer<A>) -> (usize, usize),
) -> Result<Box<dyn Pending + 'g>, comm::Error> {
    let sends = peers.iter().filter(|peer| !peer.send.is_empty()).map(message).collect();
    let receives: Vec<(usize, usize)> = receiving(peers).map(length).collect();
    group.start(sends, &receives)
}

/// Takes over expansions of k densities from the messages of `peers`.
fn receive_slots<T: Real>(
    peers: &[Peer<Slot>],
    messages: &[Vec<u8>],
    k: usize,
    multipoles: &mut Expansions<T>,
    mut take_over: impl FnMut(&mut &[u8], &mut [T]),
) {
    for (peer, message) in receiving(peers).zip(messages) {
        let mut bytes = &message[..];
        for &Slot { level, slot } in &peer.receive {
            for density in 0..k {
                take_over(&mut bytes, multipoles.of_box_mut(level, density, slot));
            }
        }
    }
}

/// Appends numbers as bytes.
fn put<T: Real>(values: &[T], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(bytemuck::cast_slice(values));
}

/// Takes numbers from the front of bytes, whose length has been checked.
fn take<T: Real>(bytes: &mut &[u8], values: &mut [T]) {
    let (own, rest) = bytes.split_at(size_of_val(values).min(bytes.len()));
    bytemuck::cast_slice_mut(values)[..own.len()].copy_from_slice(own);
    *bytes = rest;
}
