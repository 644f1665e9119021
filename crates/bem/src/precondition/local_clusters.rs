//! Local inverses over clusters of panels.

use parallel::prelude::*;

use super::clusters::Clusters;
use super::entries::Adjacency;
use super::local_inverse::{LocalInverse, Neighbourhoods, Rows};
use super::local_panels::NEIGHBOURS;
use crate::geometry::panels::Panels;
use crate::near;

impl LocalInverse {
    /// Over clusters, from entries of close pairs; clusters of other pairs are treated as clouds.
    pub(crate) fn of_clusters(
        panels: &Panels,
        clusters: &Clusters,
        adjacency: &Adjacency,
        entries: &[f64],
    ) -> Self {
        let _span = tracing::debug_span!("local inverses of clusters").entered();
        let len = clusters.len();
        let part = |block: usize| {
            let rows = near::BLOCK * block..len.min(near::BLOCK * (block + 1));
            Rows::new(rows, ClusterNeighbourhoods { panels, clusters, adjacency, entries })
        };
        let parts = (0..len.div_ceil(near::BLOCK)).into_par_iter().map(part).collect();
        Self::of_parts(len, near::BLOCK, parts)
    }
}

/// Consecutive clusters.
struct ClusterNeighbourhoods<'a> {
    panels: &'a Panels,
    clusters: &'a Clusters,
    adjacency: &'a Adjacency,
    entries: &'a [f64],
}

impl ClusterNeighbourhoods<'_> {
    fn entry(&self, c: usize, d: u32) -> Option<f64> {
        let place = self.adjacency.row(c).binary_search(&d).ok()?;
        Some(self.entries[self.adjacency.range(c).start + place])
    }

    fn diagonal(&self, c: usize) -> f64 {
        self.entry(c, c as u32).unwrap_or(1.0)
    }
}

impl Neighbourhoods for ClusterNeighbourhoods<'_> {
    type Block = f32;

    /// Cluster `c`, then its strongest neighbours in increasing order.
    fn choose(&mut self, c: usize, _lane: usize, chosen: &mut Vec<u32>) {
        let strength = |(&d, entry): (&u32, &f64)| (-entry / self.diagonal(d as usize).sqrt(), d);
        let row = self.adjacency.row(c).iter().zip(&self.entries[self.adjacency.range(c)]);
        let mut ranked: Vec<(f64, u32)> =
            row.filter(|(d, _)| **d as usize != c).map(strength).collect();
        if ranked.len() >= NEIGHBOURS {
            let by_strength = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0);
            ranked.select_nth_unstable_by(NEIGHBOURS - 1, by_strength);
            ranked.truncate(NEIGHBOURS - 1);
        }
        chosen.clear();
        chosen.push(c as u32);
        chosen.extend(ranked.iter().map(|&(_, d)| d));
        chosen[1..].sort_unstable();
    }

    /// Entries (a, b), a <= b, between the chosen clusters.
    fn fill(&mut self, chosen: &[u32], set: &mut impl FnMut(usize, usize, f64)) {
        for (a, &c) in chosen.iter().enumerate() {
            let c = c as usize;
            set(a, a, self.diagonal(c));
            for (b, &d) in chosen.iter().enumerate().skip(a + 1) {
                let entry = self.entry(c, d);
                let of_clouds = || self.clusters.inverse_distance(self.panels, c, d as usize);
                set(a, b, entry.unwrap_or_else(of_clouds));
            }
        }
    }
}
