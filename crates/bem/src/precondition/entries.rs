//! Entries of the coarse levels' matrices: energies of clusters with evenly distributed charge, R^T
//! A R.
//!
//! As part of a preconditioner they may be approximate: distant clusters are points to each other,
//! near ones sum over cells of a few panels, and only pairs in the near-field matrix are exact.

use comm::Communicator;
use parallel::prelude::*;

use crate::Error;
use crate::collective;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::near::Near;
use crate::precondition::clusters::{Clusters, of_clouds, variance_of_panel};
use crate::precondition::shared::Conductors;

/// Clusters farther apart than this multiple of the sum of their radii are points to each other.
pub(crate) const FAR: f64 = 1.5;

/// Clusters are close if their centres are within this many radii of one of them.
const CLOSE: f64 = 5.0;

/// The pairs of clusters for which a matrix has entries: rows of columns in increasing order, each
/// including the cluster itself.
pub(crate) struct Adjacency {
    /// Where each row begins; last, where they end.
    pub(crate) starts: Vec<u32>,
    pub(crate) columns: Vec<u32>,
}

impl Adjacency {
    /// Close pairs.
    pub(crate) fn close(clusters: &Clusters) -> Self {
        let reach: Vec<f64> = clusters.radii.iter().map(|radius| CLOSE * radius).collect();
        let search = Neighbours::new(&clusters.centres, &reach);
        let starts: Vec<usize> = (0..clusters.len()).step_by(ROWS).collect();
        let rows = starts.into_par_iter().flat_map_iter(|first| {
            let mut walk = search.walk();
            let row = move |c: usize| {
                let mut found = Vec::new();
                walk.of(c, &mut found);
                found
            };
            (first..clusters.len().min(first + ROWS)).map(row)
        });
        let rows: Vec<Vec<u32>> = rows.collect();
        let mut starts = vec![0];
        for row in &rows {
            starts.push(starts[starts.len() - 1] + row.len() as u32);
        }
        Self { starts, columns: rows.concat() }
    }

    pub(crate) fn row(&self, c: usize) -> &[u32] {
        &self.columns[self.range(c)]
    }

    pub(crate) fn range(&self, c: usize) -> std::ops::Range<usize> {
        self.starts[c] as usize..self.starts[c + 1] as usize
    }

    /// Index of pair (c, d).
    fn place(&self, c: usize, d: u32) -> Option<usize> {
        self.row(c).binary_search(&d).ok().map(|k| self.starts[c] as usize + k)
    }
}

/// Rows per search task.
const ROWS: usize = 256;

/// Exact entries between conductors' panels in the rows that a rank owns, by their positions among
/// those of all ranks.
pub(crate) struct KnownEntries<'a> {
    near: &'a Near,
    /// Position among the conductors' local panels, `u32::MAX` if another rank owns it.
    here: Vec<u32>,
    /// Position among those of all ranks.
    of_all: &'a [u32],
}

impl<'a> KnownEntries<'a> {
    /// From the near field of the local panels.
    pub(crate) fn new(near: &'a Near, conductors: &'a Conductors<'_>) -> Self {
        let mut here = vec![u32::MAX; conductors.owner.len()];
        for ((&position, owned), k) in conductors.local.iter().zip(&conductors.is_owned).zip(0..) {
            if *owned {
                here[position as usize] = k;
            }
        }
        Self { near, here, of_all: &conductors.local }
    }

    /// The entry of a panel with itself, if it and its row are known.
    fn diagonal(&self, i: usize) -> Option<f64> {
        let here = self.here[i];
        (here != u32::MAX).then(|| self.near.diagonal(here as usize))
    }

    /// Calls `f(j, A_ij)` for the known j > i of such a row.
    fn later(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let here = self.here[i];
        if here != u32::MAX {
            let of_all = |j: usize| self.of_all[j] as usize;
            self.near.later(here as usize, |j, entry| f(of_all(j), entry));
        }
    }
}

/// Approximate entries of pairs of clusters.
pub(crate) struct Entries<'a> {
    panels: &'a Panels,
    clusters: &'a Clusters,
    cells: &'a Clusters,
    /// Each panel's share of its cluster's area.
    shares: Vec<f64>,
    /// Cells of each cluster, with their shares of its area.
    cells_of: Vec<Vec<(usize, f64)>>,
    /// Ranks that share the rows; each knows its own rows.
    group: &'a dyn Communicator,
}

impl<'a> Entries<'a> {
    /// For clusters, each made of whole cells.
    pub(crate) fn new(
        panels: &'a Panels,
        clusters: &'a Clusters,
        cells: &'a Clusters,
        group: &'a dyn Communicator,
    ) -> Self {
        let shares = clusters.shares(panels);
        let mut cells_of = vec![Vec::new(); clusters.len()];
        for (cell, members) in cells.members.iter().enumerate() {
            let share: f64 = members.iter().map(|&i| shares[i as usize]).sum();
            let cluster = clusters.of[members[0] as usize];
            cells_of[cluster as usize].push((cell, share));
        }
        Self { panels, clusters, cells, shares, cells_of, group }
    }

    /// Whether this rank computes the distance-based entries of a row.
    fn is_own(&self, row: usize) -> bool {
        row % self.group.size() == self.group.rank()
    }

    /// Sums of the results of all ranks. Collective.
    fn of_all_ranks(&self, mut entries: Vec<f64>) -> Result<Vec<f64>, Error> {
        collective::sum(self.group, &mut entries)?;
        Ok(entries)
    }

    /// Entries of all pairs, corrected by the near field: (c, d) with c <= d in row c, zero
    /// elsewhere. Collective.
    pub(crate) fn of_all(&self, near: &KnownEntries<'_>) -> Result<Vec<f64>, Error> {
        let count = self.clusters.len();
        let mut entries = vec![0.0; count * count];
        entries.par_chunks_mut(count).enumerate().for_each(|(c, row)| {
            let own = if self.is_own(c) { c..count } else { 0..0 };
            own.for_each(|d| row[d] = self.by_distances(c, d));
        });
        self.correct(near, &mut entries, |c, d| Some(c * count + d));
        self.of_all_ranks(entries)
    }

    /// As [`of_all`](Self::of_all), for these pairs, both entries of each. Collective.
    pub(crate) fn of_pairs(
        &self,
        adjacency: &Adjacency,
        near: &KnownEntries<'_>,
    ) -> Result<Vec<f64>, Error> {
        let row = |c: usize| {
            adjacency.row(c).iter().map(move |&d| {
                let d = d as usize;
                if d < c || !self.is_own(c) { 0.0 } else { self.by_distances(c, d) }
            })
        };
        let mut entries: Vec<f64> =
            (0..self.clusters.len()).into_par_iter().flat_map_iter(row).collect();
        self.correct(near, &mut entries, |c, d| adjacency.place(c, d as u32));
        let mut entries = self.of_all_ranks(entries)?;
        for c in 0..self.clusters.len() {
            for k in adjacency.range(c) {
                let d = adjacency.columns[k] as usize;
                if let Some(place) = adjacency.place(d, c as u32).filter(|_| d < c) {
                    entries[k] = entries[place];
                }
            }
        }
        Ok(entries)
    }

    /// Replaces distance-based contributions by the near field; entry (c, d), c <= d, is at
    /// `place`.
    fn correct(
        &self,
        near: &KnownEntries<'_>,
        entries: &mut [f64],
        place: impl Fn(usize, usize) -> Option<usize>,
    ) {
        let corrections: Vec<_> =
            (0..self.clusters.len()).into_par_iter().map(|c| self.of_near(c, near)).collect();
        for (c, (own, others)) in corrections.into_iter().enumerate() {
            let mut add = |c: usize, d: usize, more: f64| {
                if let Some(place) = place(c.min(d), c.max(d)) {
                    entries[place] += more;
                }
            };
            add(c, c, own);
            for (d, more) in others {
                // Pairs of panels of one cluster are stored once and count twice.
                add(c, d, if c == d { 2.0 * more } else { more });
            }
        }
    }

    fn are_far(&self, c: usize, d: usize) -> bool {
        let clusters = self.clusters;
        let distance = self.panels.nearest_distance(&clusters.centres[c], &clusters.centres[d]);
        c != d && distance > FAR * (clusters.radii[c] + clusters.radii[d])
    }

    /// Contribution of a pair of panels that is not in the near-field matrix.
    fn rough(&self, i: usize, j: usize) -> f64 {
        let (panels, cells) = (self.panels, self.cells);
        let (a, b) = (cells.of[i] as usize, cells.of[j] as usize);
        if a != b {
            return cells.inverse_distance(panels, a, b);
        }
        let variance = variance_of_panel(panels, i) + variance_of_panel(panels, j);
        let of_clouds = |r2| of_clouds(r2, variance);
        panels.over_distances(&panels.centroid(i), i, &panels.centroid(j), j, of_clouds)
    }

    fn by_distances(&self, c: usize, d: usize) -> f64 {
        if self.are_far(c, d) {
            return self.clusters.inverse_distance(self.panels, c, d);
        }
        let (cells, shares) = (self.cells, &self.shares);
        let mut sum = 0.0;
        for &(a, share_a) in &self.cells_of[c] {
            for &(b, share_b) in &self.cells_of[d] {
                if a != b {
                    sum += share_a * share_b * cells.inverse_distance(self.panels, a, b);
                    continue;
                }
                for &i in &cells.members[a] {
                    for &j in &cells.members[a] {
                        let (i, j) = (i as usize, j as usize);
                        sum += shares[i] * shares[j] * self.rough(i, j);
                    }
                }
            }
        }
        sum
    }

    /// Correction by the near field in the rows of a cluster: on the diagonal, and for each of a
    /// few other clusters the sum over pairs of panels, each counted once.
    fn of_near(&self, c: usize, near: &KnownEntries<'_>) -> (f64, Vec<(usize, f64)>) {
        let (clusters, shares) = (self.clusters, &self.shares);
        let (mut own, mut others) = (0.0, Vec::<(usize, f64)>::new());
        for i in clusters.members[c].iter().map(|&i| i as usize) {
            let Some(diagonal) = near.diagonal(i) else { continue };
            own += shares[i] * shares[i] * (diagonal - self.rough(i, i));
            near.later(i, |j, exact| {
                let d = clusters.of[j] as usize;
                let known = others.iter_mut().find(|other| other.0 == d);
                if known.is_none() && self.are_far(c, d) {
                    return;
                }
                let more = shares[i] * shares[j] * (exact - self.rough(i, j));
                match known {
                    Some(other) => other.1 += more,
                    None => others.push((d, more)),
                }
            });
        }
        (own, others)
    }
}
