//! Points, strengths and sums on their way between the ranks that called and those that compute.

use std::ops::Range;

use comm::Communicator;
use parallel::prelude::*;

use parallel::DisjointSlice;

/// Which points went where: a rank's own are ordered by the rank that they came from, then as they
/// were given there.
#[derive(Debug)]
pub(super) struct Route {
    /// For each rank the caller's points that it got.
    sent: Vec<Vec<u32>>,
    /// Where the points from each rank are among those received.
    received: Vec<Range<usize>>,
}

impl Route {
    /// Sends each point to the rank that has its key: rank r those from `begins[r]` on. Collective.
    pub(super) fn new(
        group: &dyn Communicator,
        keys: &[u64],
        begins: &[u64],
    ) -> Result<Self, comm::Error> {
        let sent = by_rank(keys, begins);
        let counts: Vec<Vec<u64>> = sent.iter().map(|sent| vec![sent.len() as u64]).collect();
        let counts = comm::exchange(group, &counts)?;
        let mut begin = 0;
        let received = counts
            .iter()
            .map(|count| {
                let own = begin..begin + count.first().map_or(0, |&count| count as usize);
                begin = own.end;
                own
            })
            .collect();
        Ok(Self { sent, received })
    }

    /// Points received.
    pub(super) fn received(&self) -> usize {
        self.received.last().map_or(0, |last| last.end)
    }

    /// Points sent.
    pub(super) fn sent(&self) -> usize {
        self.sent.iter().map(Vec::len).sum()
    }

    /// Coordinates of the points received. Collective.
    pub(super) fn points(
        &self,
        group: &dyn Communicator,
        points: &[[f64; 3]],
    ) -> Result<Vec<[f64; 3]>, comm::Error> {
        let mut all = vec![[0.0; 3]; self.received()];
        self.forward_row(group, points, &mut all)?;
        Ok(all)
    }

    /// Brings an array of shape (k, n, width), width 1 or 3, to the ranks that have the points,
    /// into one with n of each rank as [`Self::received`]. Collective.
    pub(super) fn forward(
        &self,
        group: &dyn Communicator,
        values: &[f64],
        [k, width]: [usize; 2],
        all: &mut [f64],
    ) -> Result<(), comm::Error> {
        let (sent, length) = (self.sent() * width, self.received() * width);
        for density in 0..k {
            let from = &values[density * sent..(density + 1) * sent];
            let to = &mut all[density * length..(density + 1) * length];
            if width == 1 {
                self.forward_row::<1>(group, from.as_chunks().0, to.as_chunks_mut().0)?;
            } else {
                self.forward_row::<3>(group, from.as_chunks().0, to.as_chunks_mut().0)?;
            }
        }
        Ok(())
    }

    fn forward_row<const W: usize>(
        &self,
        group: &dyn Communicator,
        values: &[[f64; W]],
        all: &mut [[f64; W]],
    ) -> Result<(), comm::Error> {
        let rank = group.rank();
        let message = |(to, of): (usize, &Vec<u32>)| {
            let of = if to == rank { &[][..] } else { of };
            pack(of.len(), |i| values[of[i] as usize])
        };
        let messages = self.sent.iter().enumerate().map(message).collect();
        let arrived = group.exchange(messages)?;
        for (from, (own, message)) in self.received.iter().zip(arrived).enumerate() {
            let to = &mut all[own.clone()];
            if from == rank {
                let of = self.sent[rank].par_chunks(RUN);
                to.par_chunks_mut(RUN).zip(of).for_each(|(to, of)| {
                    to.iter_mut().zip(of).for_each(|(to, &i)| *to = values[i as usize]);
                });
            } else {
                let runs = message.par_chunks(RUN * W * SIZE);
                to.par_chunks_mut(RUN).zip(runs).for_each(|(to, run)| {
                    to.iter_mut().zip(unpacked(run)).for_each(|(to, value)| *to = value);
                });
            }
        }
        Ok(())
    }

    /// Brings an array of shape (k, n, width), width 1 or 3, back to the ranks that called.
    /// Collective.
    pub(super) fn back(
        &self,
        group: &dyn Communicator,
        values: &[f64],
        [k, width]: [usize; 2],
        to: &mut [f64],
    ) -> Result<(), comm::Error> {
        let (sent, length) = (self.sent() * width, self.received() * width);
        for density in 0..k {
            let from = &values[density * length..(density + 1) * length];
            let to = &mut to[density * sent..(density + 1) * sent];
            if width == 1 {
                self.back_row::<1>(group, from.as_chunks().0, to.as_chunks_mut().0)?;
            } else {
                self.back_row::<3>(group, from.as_chunks().0, to.as_chunks_mut().0)?;
            }
        }
        Ok(())
    }

    fn back_row<const W: usize>(
        &self,
        group: &dyn Communicator,
        values: &[[f64; W]],
        to: &mut [[f64; W]],
    ) -> Result<(), comm::Error> {
        let rank = group.rank();
        let message = |(to, own): (usize, &Range<usize>)| {
            let of = if to == rank { &[][..] } else { &values[own.clone()] };
            pack(of.len(), |i| of[i])
        };
        let messages = self.received.iter().enumerate().map(message).collect();
        let arrived = group.exchange(messages)?;
        let to = DisjointSlice::new(to);
        let put = |i: u32, value: [f64; W]| {
            let i = i as usize;
            // SAFETY: a point was sent to one rank, once.
            let slot = unsafe { to.slice(i..i + 1) };
            slot[0] = value;
        };
        for (from, (points, message)) in self.sent.iter().zip(arrived).enumerate() {
            let runs = points.par_chunks(RUN);
            if from == rank {
                let own = values[self.received[rank].clone()].par_chunks(RUN);
                runs.zip(own).for_each(|(points, own)| {
                    points.iter().zip(own).for_each(|(&i, &value)| put(i, value));
                });
            } else {
                runs.zip(message.par_chunks(RUN * W * SIZE)).for_each(|(points, run)| {
                    points.iter().zip(unpacked(run)).for_each(|(&i, value)| put(i, value));
                });
            }
        }
        Ok(())
    }
}

/// The points that each rank gets, in the caller's order.
fn by_rank(keys: &[u64], begins: &[u64]) -> Vec<Vec<u32>> {
    // The first rank's begin is that of all.
    let rank_of = |key: u64| begins[1..].partition_point(|&begin| begin <= key);
    let count = |keys: &[u64]| {
        let mut counts = vec![0; begins.len()];
        keys.iter().for_each(|&key| counts[rank_of(key)] += 1);
        counts
    };
    let counts: Vec<Vec<usize>> = keys.par_chunks(RUN).map(count).collect();
    let mut ends = vec![0; begins.len()];
    let places: Vec<Vec<usize>> = counts
        .iter()
        .map(|counts| {
            let before = ends.clone();
            ends.iter_mut().zip(counts).for_each(|(end, count)| *end += count);
            before
        })
        .collect();
    let mut sent: Vec<Vec<u32>> = ends.iter().map(|&end| vec![0; end]).collect();
    let shared: Vec<_> = sent.iter_mut().map(|sent| DisjointSlice::new(sent)).collect();
    let runs = keys.par_chunks(RUN).zip(places).zip(counts).enumerate();
    runs.for_each(|(run, ((keys, places), counts))| {
        let part = |(rank, (place, count)): (usize, (usize, usize))| {
            // SAFETY: each run of keys has its own part of what each rank gets.
            unsafe { shared[rank].slice(place..place + count) }.iter_mut()
        };
        let mut parts: Vec<_> = places.into_iter().zip(counts).enumerate().map(part).collect();
        for (i, &key) in (run * RUN..).zip(keys) {
            if let Some(to) = parts[rank_of(key)].next() {
                *to = i as u32;
            }
        }
    });
    sent
}

/// Bytes of a number.
const SIZE: usize = size_of::<f64>();

/// Points that one job moves.
const RUN: usize = 1 << 14;

/// A message of values.
fn pack<const W: usize>(length: usize, value: impl Fn(usize) -> [f64; W] + Sync) -> Vec<u8> {
    let mut message = vec![0; length * W * SIZE];
    message.par_chunks_mut(RUN * W * SIZE).enumerate().for_each(|(run, bytes)| {
        for (i, bytes) in (run * RUN..).zip(bytes.chunks_exact_mut(W * SIZE)) {
            for (bytes, number) in bytes.as_chunks_mut().0.iter_mut().zip(value(i)) {
                *bytes = number.to_ne_bytes();
            }
        }
    });
    message
}

/// The values of a message.
fn unpacked<const W: usize>(message: &[u8]) -> impl Iterator<Item = [f64; W]> {
    message.chunks_exact(W * SIZE).map(|bytes| {
        let numbers = bytes.as_chunks().0;
        std::array::from_fn(|i| f64::from_ne_bytes(numbers[i]))
    })
}
