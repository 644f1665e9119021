//! Points, strengths and sums on their way between the ranks that called and those that compute.

use std::ops::Range;

use comm::Communicator;
use rayon::prelude::*;

use crate::disjoint::DisjointSlice;

/// Which points went where: a rank's own are ordered by the rank that they came from.
#[derive(Debug)]
pub(super) struct Route {
    /// For each rank the caller's points that it got.
    sent: Vec<Vec<u32>>,
    /// Where the points from each rank are among those received.
    received: Vec<Range<usize>>,
}

impl Route {
    /// Sends point `index[i]` for `i` in `parts[r]` to rank r. Collective.
    pub(super) fn new(
        group: &dyn Communicator,
        index: &[u32],
        parts: &[Range<usize>],
    ) -> Result<Self, comm::Error> {
        let sent: Vec<Vec<u32>> = parts.iter().map(|part| index[part.clone()].to_vec()).collect();
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
        let mut all = vec![0.0; 3 * self.received()];
        self.forward(group, points.as_flattened(), [1, 3], &mut all)?;
        Ok(all.as_chunks().0.to_vec())
    }

    /// Brings an array of shape (k, n, width) to the ranks that have the points, into one with n of
    /// each rank as [`Self::received`]. Collective.
    pub(super) fn forward(
        &self,
        group: &dyn Communicator,
        values: &[f64],
        [k, width]: [usize; 2],
        all: &mut [f64],
    ) -> Result<(), comm::Error> {
        let (rank, sent, length) = (group.rank(), self.sent() * width, self.received() * width);
        for density in 0..k {
            let from = &values[density * sent..(density + 1) * sent];
            let value = |of: &[u32], i: usize| from[of[i / width] as usize * width + i % width];
            let message = |(to, of): (usize, &Vec<u32>)| {
                let count = if to == rank { 0 } else { of.len() * width };
                pack(count, |i| value(of, i))
            };
            let messages = self.sent.iter().enumerate().map(message).collect();
            let arrived = group.exchange(messages)?;
            let row = &mut all[density * length..(density + 1) * length];
            for (from, (own, message)) in self.received.iter().zip(&arrived).enumerate() {
                let row = &mut row[own.start * width..own.end * width];
                if from == rank {
                    let of = &self.sent[rank];
                    row.par_chunks_mut(RUN).enumerate().for_each(|(run, row)| {
                        for (i, own) in (run * RUN..).zip(row) {
                            *own = value(of, i);
                        }
                    });
                } else {
                    row.par_chunks_mut(RUN).zip(message.par_chunks(RUN * SIZE)).for_each(unpack);
                }
            }
        }
        Ok(())
    }

    /// Brings an array of shape (k, n, width) back to the ranks that called. Collective.
    pub(super) fn back(
        &self,
        group: &dyn Communicator,
        values: &[f64],
        [k, width]: [usize; 2],
        to: &mut [f64],
    ) -> Result<(), comm::Error> {
        let (rank, sent, length) = (group.rank(), self.sent() * width, self.received() * width);
        for density in 0..k {
            let from = &values[density * length..(density + 1) * length];
            let of = |own: &Range<usize>| &from[own.start * width..own.end * width];
            let message = |(to, own): (usize, &Range<usize>)| {
                let from = if to == rank { &[] } else { of(own) };
                pack(from.len(), |i| from[i])
            };
            let messages = self.received.iter().enumerate().map(message).collect();
            let arrived = group.exchange(messages)?;
            let to = DisjointSlice::new(&mut to[density * sent..(density + 1) * sent]);
            for (from, (points, message)) in self.sent.iter().zip(&arrived).enumerate() {
                if from == rank {
                    let own = of(&self.received[rank]).par_chunks(RUN * width);
                    points.par_chunks(RUN).zip(own).for_each(|(points, own)| {
                        for (&i, own) in points.iter().zip(own.chunks(width)) {
                            let begin = i as usize * width;
                            // SAFETY: a point was sent to one rank, once.
                            unsafe { to.slice(begin..begin + width) }.copy_from_slice(own);
                        }
                    });
                    continue;
                }
                let messages = message.par_chunks(RUN * width * SIZE);
                points.par_chunks(RUN).zip(messages).for_each(|(points, message)| {
                    for (&i, message) in points.iter().zip(message.chunks(width * SIZE)) {
                        let begin = i as usize * width;
                        // SAFETY: a point was sent to one rank, once.
                        unpack((unsafe { to.slice(begin..begin + width) }, message));
                    }
                });
            }
        }
        Ok(())
    }
}

/// Bytes of a number.
const SIZE: usize = size_of::<f64>();

/// Numbers, or points, that one job moves.
const RUN: usize = 1 << 14;

/// A message of numbers.
fn pack(length: usize, value: impl Fn(usize) -> f64 + Sync) -> Vec<u8> {
    let mut message = vec![0; length * SIZE];
    message.par_chunks_mut(RUN * SIZE).enumerate().for_each(|(run, bytes)| {
        for (i, bytes) in (run * RUN..).zip(bytes.chunks_exact_mut(SIZE)) {
            bytes.copy_from_slice(&value(i).to_ne_bytes());
        }
    });
    message
}

/// Takes numbers out of a message.
fn unpack((numbers, message): (&mut [f64], &[u8])) {
    for (number, bytes) in numbers.iter_mut().zip(message.as_chunks().0) {
        *number = f64::from_ne_bytes(*bytes);
    }
}
