//! Points, strengths and sums on their way between the ranks that called and those that compute.

use std::ops::Range;

use comm::Communicator;
use rayon::prelude::*;

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
        let messages: Vec<Vec<[f64; 3]>> = self
            .sent
            .iter()
            .map(|sent| sent.iter().map(|&i| points[i as usize]).collect())
            .collect();
        Ok(comm::exchange(group, &messages)?.concat())
    }

    /// Brings an array of shape (k, n, width) to the ranks that have the points, n of each rank as
    /// [`Self::received`]. Collective.
    pub(super) fn forward(
        &self,
        group: &dyn Communicator,
        values: &[f64],
        [k, width]: [usize; 2],
    ) -> Result<Vec<f64>, comm::Error> {
        let n = self.sent();
        let messages: Vec<Vec<f64>> = self
            .sent
            .iter()
            .map(|sent| gather(values, sent.iter().map(|&i| i as usize), n, [k, width]))
            .collect();
        let messages = comm::exchange(group, &messages)?;
        let n = self.received();
        let mut all = vec![0.0; k * n * width];
        for (own, message) in self.received.iter().zip(&messages) {
            let rows = message.chunks_exact((own.len() * width).max(1));
            for (density, row) in rows.take(k).enumerate() {
                let begin = (density * n + own.start) * width;
                all[begin..begin + row.len()].copy_from_slice(row);
            }
        }
        Ok(all)
    }

    /// Brings an array of shape (k, n, width) back to the ranks that called. Collective.
    pub(super) fn back(
        &self,
        group: &dyn Communicator,
        values: &[f64],
        [k, width]: [usize; 2],
        to: &mut [f64],
    ) -> Result<(), comm::Error> {
        let n = self.received();
        let messages: Vec<Vec<f64>> =
            self.received.iter().map(|own| gather(values, own.clone(), n, [k, width])).collect();
        let messages = comm::exchange(group, &messages)?;
        let n = self.sent();
        for (sent, message) in self.sent.iter().zip(&messages) {
            let mut from = message.chunks_exact(width);
            for density in 0..k {
                for (&i, from) in sent.iter().zip(&mut from) {
                    let begin = (density * n + i as usize) * width;
                    to[begin..begin + width].copy_from_slice(from);
                }
            }
        }
        Ok(())
    }
}

/// The values of some of n points, density by density.
fn gather(
    values: &[f64],
    points: impl ExactSizeIterator<Item = usize> + Clone + Sync,
    n: usize,
    [k, width]: [usize; 2],
) -> Vec<f64> {
    let mut gathered = vec![0.0; k * points.len() * width];
    let rows = gathered.par_chunks_mut((points.len() * width).max(1));
    rows.enumerate().for_each(|(density, row)| {
        for (to, i) in row.chunks_exact_mut(width).zip(points.clone()) {
            let begin = (density * n + i) * width;
            to.copy_from_slice(&values[begin..begin + width]);
        }
    });
    gathered
}
