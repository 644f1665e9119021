//! Overlapping local inverses of a near-field matrix.
//!
//! For each panel i the nearest panels N_i, by strength A_ij / sqrt(A_ii A_jj), give a small matrix
//! A[N_i, N_i]; row i of its inverse is row i of S. On the scale of the neighbourhood that is the
//! exact inverse. (Vavasis, SIAM J. Matrix Anal. Appl. 13 (1992) 905; Carpentieri et al., SIAM J.
//! Sci. Comput. 27 (2005) 774.) Clusters of panels handle coarser scales.

use parallel::prelude::*;
use simd::{Elementary, Real, Simd, Task};

use crate::constants::PARALLEL;
use crate::geometry::panels::Panels;
use crate::near::{self, FullRows, Near};
use crate::precondition::clusters::Clusters;
use crate::precondition::entries::Adjacency;
use crate::precondition::local::BatchedLdl;

/// Panels per neighbourhood, including itself.
pub const NEIGHBOURS: usize = 30;

/// The same for a panel that faces another, whose neighbourhood spans several sheets.
pub(crate) const NEIGHBOURS_OF_FACING: usize = 60;

/// Two panels face each other if their strength A_ij / sqrt(A_ii A_jj) exceeds this (adjacent
/// panels have 0.5, slivers up to 0.85; on sheets a tenth of a triangle's side apart it is 0.75),
pub(crate) const FACING: f64 = 0.55;

/// they are parallel, and off each other's plane by more than this share of their distance.
pub(crate) const OUT_OF_PLANE: f64 = 1e-3;

/// Points per panel for pairs missing in the near field, where panels face each other: half way
/// from the centroid to each vertex, a rule of degree 2. Potentials of charges on two sheets almost
/// cancel, and so must their errors.
pub(crate) const POINTS: usize = 3;

/// Row i: the charge on panel i that gives the potentials around it, ignoring everything else.
pub struct LocalInverse {
    pub(super) len: usize,
    /// Rows of each block of the near field.
    parts: Vec<Rows>,
}

impl LocalInverse {
    /// From exact entries of close pairs; panels of a missing pair are treated as points.
    pub fn new(near: &Near, panels: &Panels, neighbours: usize) -> Self {
        let work = |block: usize| simd::run(RowsOfInverse { near, panels, block, neighbours });
        Self { len: near.len(), parts: (0..near.blocks()).into_par_iter().map(work).collect() }
    }

    /// The same over clusters instead of panels, from entries of close pairs; clusters of other
    /// pairs are treated as clouds.
    pub(crate) fn of_clusters(
        panels: &Panels,
        clusters: &Clusters,
        adjacency: &Adjacency,
        entries: &[f64],
    ) -> Self {
        let _span = tracing::debug_span!("local inverses of clusters").entered();
        let len = clusters.len();
        let work = |block: usize| {
            let rows = near::BLOCK * block..len.min(near::BLOCK * (block + 1));
            simd::run(RowsOfClusters { panels, clusters, adjacency, entries, rows })
        };
        Self { len, parts: (0..len.div_ceil(near::BLOCK)).into_par_iter().map(work).collect() }
    }

    /// Where each row begins and ends, its columns and values.
    pub(crate) fn rows(&self) -> (Vec<u32>, Vec<u32>, Vec<f32>) {
        let mut starts = vec![0];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let first = columns.len() as u32;
            starts.extend(part.starts[1..].iter().map(|start| first + start));
            columns.extend_from_slice(&part.columns);
            values.extend_from_slice(&part.values);
        }
        (starts, columns, values)
    }
}

/// Consecutive rows of S.
struct Rows {
    /// Where each row begins; last, where they end.
    starts: Vec<u32>,
    columns: Vec<u32>,
    /// Single precision: a preconditioner need not be exact, and this halves the memory.
    values: Vec<f32>,
}

impl Rows {
    fn with_room(count: usize, neighbours: usize) -> Self {
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        let room = count * neighbours;
        Self { starts, columns: Vec::with_capacity(room), values: Vec::with_capacity(room) }
    }

    /// Appends a row for each lane.
    fn push<V: Elementary>(
        &mut self,
        local: &BatchedLdl<V>,
        chosen: &[Vec<u32>],
        diagonal: impl Fn(u32) -> f64,
    ) {
        for (lane, chosen) in chosen.iter().enumerate() {
            self.columns.extend(chosen);
            self.starts.push(self.columns.len() as u32);
            // If the neighbours' matrix is not positive definite, the panel is used alone.
            let alone = 1.0 / diagonal(chosen[0]);
            self.values.extend((0..chosen.len()).map(|a| match (local.is_definite(lane), a) {
                (true, a) => local.solution(a, lane) as f32,
                (false, 0) => alone as f32,
                (false, _) => 0.0,
            }));
        }
    }

    fn shrunk(mut self) -> Self {
        self.columns.shrink_to_fit();
        self.values.shrink_to_fit();
        self
    }
}

/// The rows of S for a block of the near field, one per lane at a time.
struct RowsOfInverse<'a> {
    near: &'a Near,
    panels: &'a Panels,
    block: usize,
    neighbours: usize,
}

impl Task<f64> for RowsOfInverse<'_> {
    type Output = Rows;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Rows {
        let full = self.near.full_rows(self.block);
        let count = full.rows.len();
        let mut rows = Rows::with_room(count, self.neighbours);
        let mut places = Vec::new();
        let mut local = BatchedLdl::<V>::default();
        let mut chosen = vec![Vec::new(); V::LANES];
        let mut face = vec![false; V::LANES];
        let panels: Vec<usize> = full.rows.clone().collect();
        for panels in panels.chunks(V::LANES) {
            for ((&i, chosen), face) in panels.iter().zip(&mut chosen).zip(&mut face) {
                *face = self.faces_another(&full, i);
                let most = if *face { NEIGHBOURS_OF_FACING } else { self.neighbours };
                self.choose(&full, i, most, chosen);
            }
            let (chosen, face) = (&chosen[..panels.len()], &face[..panels.len()]);
            local.clear(chosen.iter().map(Vec::len).max().unwrap_or(0));
            // One or a few points for each panel, unless the near field has the pair.
            let points = if face.contains(&true) { POINTS } else { 1 };
            self.places(chosen, face, points, &mut places);
            local.set_points(&places, points, self.panels.images());
            for (lane, chosen) in chosen.iter().enumerate() {
                self.fill(&full, chosen, &mut |a, b, entry| local.set(a, b, lane, entry));
            }
            local.solve();
            rows.push(&local, chosen, |i| self.near.diagonal(i as usize));
        }
        rows.shrunk()
    }
}

impl RowsOfInverse<'_> {
    /// Points on the chosen panels of each lane; none where a lane has fewer panels, and centroids
    /// where a panel faces no other.
    #[inline(always)]
    fn places<V: Elementary>(
        &self,
        chosen: &[Vec<u32>],
        face: &[bool],
        points: usize,
        places: &mut Vec<[V; 3]>,
    ) {
        places.clear();
        let most = chosen.iter().map(Vec::len).max().unwrap_or(0);
        for (a, point) in (0..most).flat_map(|a| (0..points).map(move |point| (a, point))) {
            let mut lanes = [[f64::NAN; f64::MAX_LANES]; 3];
            for (lane, chosen) in chosen.iter().enumerate() {
                if let Some(&i) = chosen.get(a) {
                    let mut place = self.panels.centroid(i as usize);
                    if face[lane] {
                        place = 0.5 * (place + self.panels.vertices(i as usize)[point]);
                    }
                    for axis in 0..3 {
                        lanes[axis][lane] = place[axis];
                    }
                }
            }
            places.push([V::load(&lanes[0]), V::load(&lanes[1]), V::load(&lanes[2])]);
        }
    }

    /// Whether a sheet next to panel `i` is closer than its own neighbours, and more panels are
    /// close than fit in a neighbourhood.
    fn faces_another(&self, full: &FullRows, i: usize) -> bool {
        let others = full.row(i).iter().filter(|(j, _)| *j as usize != i).count();
        if others < self.neighbours {
            return false;
        }
        let (panels, own) = (self.panels, self.near.diagonal(i).sqrt());
        full.row(i).iter().any(|&(j, entry)| {
            let j = j as usize;
            if j == i || entry <= FACING * own * self.near.diagonal(j).sqrt() {
                return false;
            }
            let (normal, apart) = (panels.normal(i), panels.centroid(j) - panels.centroid(i));
            normal.dot(&panels.normal(j)).abs() > PARALLEL
                && normal.dot(&apart).abs() > OUT_OF_PLANE * apart.norm()
        })
    }

    /// Panel `i`, then its strongest neighbours in decreasing order, `most` in all.
    fn choose(&self, full: &FullRows, i: usize, most: usize, chosen: &mut Vec<u32>) {
        let strength = |&(j, v): &(u32, f64)| (-v / self.near.diagonal(j as usize).sqrt(), j);
        let others = full.row(i).iter().filter(|(j, _)| *j as usize != i);
        let mut ranked: Vec<(f64, u32)> = others.map(strength).collect();
        if ranked.len() >= most {
            ranked.select_nth_unstable_by(most - 1, |a, b| a.0.total_cmp(&b.0));
            ranked.truncate(most - 1);
        }
        chosen.clear();
        chosen.extend(ranked.iter().map(|&(_, j)| j));
        chosen.sort_unstable_by(|a, b| b.cmp(a));
        chosen.insert(0, i as u32);
    }

    /// Entries (a, b), a <= b, that the near field has between the chosen panels.
    fn fill(&self, full: &FullRows, chosen: &[u32], set: &mut impl FnMut(usize, usize, f64)) {
        let Some((&first, others)) = chosen.split_first() else { return };
        set(0, 0, self.near.diagonal(first as usize));
        for &(j, entry) in full.row(first as usize) {
            if let Ok(b) = others.binary_search_by(|k| j.cmp(k)) {
                set(0, b + 1, entry);
            }
        }
        for (b, &i) in others.iter().enumerate() {
            let i = i as usize;
            set(b + 1, b + 1, self.near.diagonal(i));
            let mut left = b;
            self.near.later(i, |j, entry| {
                while left > 0 && (others[left - 1] as usize) < j {
                    left -= 1;
                }
                if left > 0 && others[left - 1] as usize == j {
                    left -= 1;
                    set(left + 1, b + 1, entry);
                }
            });
        }
    }
}

/// Rows of S over clusters.
struct RowsOfClusters<'a> {
    panels: &'a Panels,
    clusters: &'a Clusters,
    adjacency: &'a Adjacency,
    entries: &'a [f64],
    rows: std::ops::Range<usize>,
}

impl Task<f64> for RowsOfClusters<'_> {
    type Output = Rows;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Rows {
        let mut rows = Rows::with_room(self.rows.len(), NEIGHBOURS);
        let mut local = BatchedLdl::<V>::default();
        let mut chosen = vec![Vec::new(); V::LANES];
        let clusters: Vec<usize> = self.rows.clone().collect();
        for clusters in clusters.chunks(V::LANES) {
            clusters.iter().zip(&mut chosen).for_each(|(&c, chosen)| self.choose(c, chosen));
            let chosen = &chosen[..clusters.len()];
            local.clear(chosen.iter().map(Vec::len).max().unwrap_or(0));
            for (lane, chosen) in chosen.iter().enumerate() {
                self.fill(chosen, &mut |a, b, entry| local.set(a, b, lane, entry));
            }
            local.solve();
            rows.push(&local, chosen, |c| self.diagonal(c as usize));
        }
        rows.shrunk()
    }
}

impl RowsOfClusters<'_> {
    fn entry(&self, c: usize, d: u32) -> Option<f64> {
        let place = self.adjacency.row(c).binary_search(&d).ok()?;
        Some(self.entries[self.adjacency.range(c).start + place])
    }

    fn diagonal(&self, c: usize) -> f64 {
        self.entry(c, c as u32).unwrap_or(1.0)
    }

    /// Cluster `c`, then its strongest neighbours in increasing order.
    fn choose(&self, c: usize, chosen: &mut Vec<u32>) {
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
    fn fill(&self, chosen: &[u32], set: &mut impl FnMut(usize, usize, f64)) {
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

impl LocalInverse {
    pub(super) fn add_product(&self, x: &[f64], y: &mut [f64]) {
        self.parts.par_iter().zip(y.par_chunks_mut(near::BLOCK)).for_each(|(part, y)| {
            for (y, ends) in y.iter_mut().zip(part.starts.windows(2)) {
                let row = ends[0] as usize..ends[1] as usize;
                let terms = part.columns[row.clone()].iter().zip(&part.values[row]);
                *y += terms.map(|(&j, &v)| f64::from(v) * x[j as usize]).sum::<f64>();
            }
        });
    }
}
