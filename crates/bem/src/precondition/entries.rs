//! Entries of the coarse levels' matrices: energies of clusters with evenly distributed charge, R^T
//! A R.
//!
//! As part of a preconditioner they may be approximate: distant clusters are points to each other,
//! near ones sum over parts of them down
//! to cells of a few panels, and only pairs in the near-field matrix are exact.

use std::ops::Range;

use comm::Communicator;
use parallel::prelude::*;

use crate::Error;
use crate::collective;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::precondition::clusters::{CLOUD, Clusters, of_clouds, variance_of_panel};
use crate::precondition::shared::Conductors;

/// Clusters farther apart than this multiple of the sum of their radii are points to each other.
pub(crate) const FAR: f64 = 1.5;

/// Clusters are close if their centres are within this many radii of one of them.
const CLOSE: f64 = 5.0;

/// The pairs of clusters for which a matrix has entries: rows of columns in increasing order, each
/// including the cluster itself.
pub struct Adjacency {
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

    pub(crate) fn range(&self, c: usize) -> Range<usize> {
        self.starts[c] as usize..self.starts[c + 1] as usize
    }

    /// The entries of pairs (c, d) with c <= d, in the place of both.
    pub(crate) fn mirrored(&self, entries: &[f64]) -> Vec<f64> {
        let entry = &|c: usize, k: usize| {
            let d = self.columns[k];
            let place = if (d as usize) < c { self.place(d as usize, c as u32) } else { None };
            entries[place.unwrap_or(k)]
        };
        in_rows(self.starts.len() - 1, |c| self.range(c).map(move |k| entry(c, k)))
    }

    /// Index of pair (c, d).
    fn place(&self, c: usize, d: u32) -> Option<usize> {
        self.row(c).binary_search(&d).ok().map(|k| self.starts[c] as usize + k)
    }
}

/// Rows per task.
const ROWS: usize = 256;

/// The values of all rows, one after the other.
fn in_rows<I: Iterator<Item = f64>>(rows: usize, row: impl Fn(usize) -> I + Sync) -> Vec<f64> {
    (0..rows).into_par_iter().flat_map_iter(row).collect()
}

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
pub struct Entries<'a> {
    panels: &'a Panels,
    clusters: &'a Clusters,
    cells: &'a Clusters,
    /// Each panel's share of its cluster's area.
    shares: Vec<f64>,
    /// Trees over the cells of each cluster, one after the other.
    nodes: Vec<Node>,
    /// Where the tree of each cluster begins.
    roots: Vec<usize>,
    /// Ranks that share the rows; each knows its own rows.
    group: &'a dyn Communicator,
}

/// Some consecutive cells of a cluster, as a cloud. Its halves, if there are several, are the next
/// node and the one after the tree of the first half. A tree over m cells has 2 m - 1 nodes.
struct Node {
    /// Share of the cluster's area.
    share: f64,
    centre: Vec3,
    radius: f64,
    variance: f64,
    /// The cells.
    first: u32,
    count: u32,
}

impl Node {
    /// Both halves of some cells.
    fn of_halves(a: &Self, b: &Self) -> Self {
        let share = a.share + b.share;
        let centre = (a.centre * a.share + b.centre * b.share) / share;
        let apart = |half: &Self| (half.centre - centre).norm();
        let variance =
            |half: &Self| half.share / share * (CLOUD * apart(half).powi(2) + half.variance);
        Self {
            share,
            centre,
            radius: (apart(a) + a.radius).max(apart(b) + b.radius),
            variance: variance(a) + variance(b),
            first: a.first,
            count: a.count + b.count,
        }
    }
}

/// Appends the tree over some cells.
fn grow(nodes: &mut Vec<Node>, cells: Range<usize>, leaf: &impl Fn(usize) -> Node) {
    let (own, middle) = (nodes.len(), cells.start + cells.len() / 2);
    nodes.push(leaf(cells.start));
    if cells.len() > 1 {
        grow(nodes, cells.start..middle, leaf);
        let right = nodes.len();
        grow(nodes, middle..cells.end, leaf);
        nodes[own] = Node::of_halves(&nodes[own + 1], &nodes[right]);
    }
}

impl<'a> Entries<'a> {
    /// For clusters, each made of consecutive cells.
    pub fn new(
        panels: &'a Panels,
        clusters: &'a Clusters,
        cells: &'a Clusters,
        group: &'a dyn Communicator,
    ) -> Self {
        let shares = clusters.shares(panels);
        let leaf = |cell: usize| Node {
            share: cells.members[cell].iter().map(|&i| shares[i as usize]).sum(),
            centre: cells.centres[cell],
            radius: cells.radii[cell],
            variance: cells.variances[cell],
            first: cell as u32,
            count: 1,
        };
        let mut counts = vec![0; clusters.len()];
        for own in &cells.members {
            counts[clusters.of[own[0] as usize] as usize] += 1;
        }
        let mut starts = vec![0];
        starts.extend(counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        }));
        let trees = |first: usize| {
            let mut nodes = Vec::new();
            for c in first..clusters.len().min(first + ROWS) {
                grow(&mut nodes, starts[c]..starts[c + 1], &leaf);
            }
            nodes
        };
        let firsts: Vec<usize> = (0..clusters.len()).step_by(ROWS).collect();
        let nodes = firsts.into_par_iter().flat_map_iter(trees).collect();
        let roots = (0..clusters.len()).map(|c| 2 * starts[c] - c).collect();
        Self { panels, clusters, cells, shares, nodes, roots, group }
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

    /// What distances say of these pairs, or of all, in the rows that this rank computes: (c, d)
    /// with c <= d in row c, without panels by themselves, zero elsewhere.
    pub fn by_distances(&self, pairs: Option<&Adjacency>) -> Vec<f64> {
        let count = self.clusters.len();
        let entry = &|c: usize, d: usize| {
            if d < c || !self.is_own(c) { 0.0 } else { self.by_distance(c, d) }
        };
        let _span = tracing::debug_span!("rows of the coarse level by distances").entered();
        match pairs {
            Some(pairs) => {
                in_rows(count, |c| pairs.row(c).iter().map(move |&d| entry(c, d as usize)))
            }
            None => in_rows(count, |c| (0..count).map(move |d| entry(c, d))),
        }
    }

    /// Entries of all pairs, corrected by the near field: (c, d) with c <= d in row c, zero
    /// elsewhere. Collective.
    pub(crate) fn of_all(&self, near: &KnownEntries<'_>) -> Result<Vec<f64>, Error> {
        let count = self.clusters.len();
        let mut entries = self.by_distances(None);
        self.correct(near, &mut entries, |c, d| Some(c * count + d));
        self.of_all_ranks(entries)
    }

    /// As [`of_all`](Self::of_all), for these pairs, both entries of each. Collective.
    pub(crate) fn of_pairs(
        &self,
        adjacency: &Adjacency,
        near: &KnownEntries<'_>,
    ) -> Result<Vec<f64>, Error> {
        let mut entries = self.by_distances(Some(adjacency));
        self.correct(near, &mut entries, |c, d| adjacency.place(c, d as u32));
        Ok(adjacency.mirrored(&self.of_all_ranks(entries)?))
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

    fn by_distance(&self, c: usize, d: usize) -> f64 {
        if self.are_far(c, d) {
            return self.clusters.inverse_distance(self.panels, c, d);
        }
        self.between(self.roots[c], self.roots[d])
    }

    /// The halves of a node with several cells.
    fn halves(&self, node: usize) -> [usize; 2] {
        [node + 1, node + 2 * (self.nodes[node].count as usize / 2)]
    }

    /// Energy of the charges of two nodes; without panels by themselves.
    fn between(&self, a: usize, b: usize) -> f64 {
        let [p, q] = [a, b].map(|node| &self.nodes[node]);
        if a == b {
            if p.count == 1 {
                return self.within(p.first as usize);
            }
            let [first, second] = self.halves(a);
            let each = self.between(first, first) + self.between(second, second);
            return each + 2.0 * self.between(first, second);
        }
        let distance = || self.panels.nearest_distance(&p.centre, &q.centre);
        if p.count == 1 && q.count == 1 || distance() > FAR * (p.radius + q.radius) {
            let of_clouds = |r2| of_clouds(r2, p.variance + q.variance);
            let [i, j] = [p, q].map(|node| self.cells.members[node.first as usize][0] as usize);
            let mean = self.panels.over_distances(&p.centre, i, &q.centre, j, of_clouds);
            return p.share * q.share * mean;
        }
        if q.count == 1 || p.count > 1 && p.radius >= q.radius {
            self.halves(a).map(|half| self.between(half, b)).iter().sum()
        } else {
            self.halves(b).map(|half| self.between(a, half)).iter().sum()
        }
    }

    /// As [`between`](Self::between), of the panels of a cell.
    fn within(&self, cell: usize) -> f64 {
        let members = || self.cells.members[cell].iter().map(|&i| i as usize);
        let energy = |i: usize, j: usize| self.shares[i] * self.shares[j] * self.rough(i, j);
        let row = |i: usize| members().filter(|j| *j != i).map(|j| energy(i, j)).sum::<f64>();
        members().map(row).sum()
    }

    /// Correction by the near field in the rows of a cluster: on the diagonal, and for each of a
    /// few other clusters the sum over pairs of panels, each counted once.
    fn of_near(&self, c: usize, near: &KnownEntries<'_>) -> (f64, Vec<(usize, f64)>) {
        let (clusters, shares) = (self.clusters, &self.shares);
        let (mut own, mut others) = (0.0, Vec::<(usize, f64)>::new());
        for i in clusters.members[c].iter().map(|&i| i as usize) {
            let Some(diagonal) = near.diagonal(i) else { continue };
            own += shares[i] * shares[i] * diagonal;
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
