//! Groups of panels: clusters of the coarse levels, and cells of a few panels each that represent
//! their charge.
//!
//! A cluster lies on one sheet of one conductor. The two faces of a plate carry separate charges;
//! with one even charge over both, GMRES would have to find their difference.
//!
//! Cells may lie over each other, as on the two sides of a thin plate, with centres as close as
//! rounding permits. So a cell is not a point but a cloud of charge with its own spread: the energy
//! of two Gaussian clouds of variances u and v whose centres are a distance r apart is erf(r /
//! sqrt(2 (u + v))) / r, which is 1/r from a few spreads on, finite at r = 0 and, for any spreads,
//! a positive definite matrix.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use parallel::prelude::*;

use crate::constants::PARALLEL;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;

/// Boxes at most.
const MOST_BOXES: usize = 2048;

/// Clusters at most, unless one box alone has more: their matrix is dense and factorised.
const MOST_CLUSTERS: usize = 2560;

/// If separate sheets, or conductors, would leave fewer boxes than this, they share clusters.
const LEAST_BOXES: usize = MOST_BOXES / 16;

/// Panels per box, at least: about a neighbourhood of the fine level; twice as many if a box has
/// several clusters.
const LEAST_PANELS: usize = 24;

/// As [`LEAST_PANELS`], with unions, which leave more to the levels below: stacks of plates of
/// 386,816 and 1,547,264 triangles take 12 iterations instead of 13.
const LEAST_BELOW_UNIONS: usize = 16;

/// Average number of panels per cluster, at least: where conductors or sheets are smaller, clusters
/// are no coarser than panels.
const LEAST_ON_AVERAGE: usize = 8;

/// Parallel panels are on one sheet unless there is a gap between them along the normal of more
/// than this share of their extent, which curved sheets do not have,
const GAP: f64 = 0.25;

/// and of more than this multiple of a panel's radius: closer sheets count as one.
const APART: f64 = 0.2;

/// Panels in a cell at most.
const CELL: usize = 8;

/// A vertex shared by more clusters than this, as in the middle of a fan, does not make them
/// neighbours.
const MOST_AT_A_VERTEX: usize = 32;

/// Variance of the cloud that represents a group, as a share of the mean squared distance from its
/// centre: a disk has the energy of its cloud, 16 / (3 pi radius).
pub(super) const CLOUD: f64 = 2.0 / 9.0;

/// From this many spreads on, clouds are treated as points.
pub const POINTS: f64 = 4.0;

/// Mean inverse distance of two clouds with variances that sum to `variance`, `r2` the square of
/// the distance of their centres.
pub fn of_clouds(r2: f64, variance: f64) -> f64 {
    if r2 >= POINTS * POINTS * variance {
        return if r2 > 0.0 { 1.0 / r2.sqrt() } else { 0.0 };
    }
    let x = (0.5 * r2 / variance).sqrt();
    if x < 1e-3 {
        // erf(x) / x near 0, where the quotient would lose digits.
        return (1.0 - x * x / 3.0) * (2.0 / (std::f64::consts::PI * variance)).sqrt();
    }
    erf(x) / r2.sqrt()
}

/// Error function of x >= 0 to 1.5e-7 (Abramowitz & Stegun, Handbook of Mathematical Functions,
/// 7.1.26).
fn erf(x: f64) -> f64 {
    const A: [f64; 5] =
        [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    1.0 - A.iter().rev().fold(0.0, |sum, a| (sum + a) * t) * (-x * x).exp()
}

/// Clusters of the coarse levels.
pub struct ClusterLevels {
    /// Clusters to which the finest level leaves smooth potentials.
    pub groups: Clusters,
    /// If there are more than a dense matrix permits: unions of consecutive clusters, and the union
    /// of each.
    pub unions: Option<(Clusters, Vec<u32>)>,
    /// For the finest level's clusters: the cells of each, in their order,
    pub cells: Clusters,
    /// and pairs that share a vertex, in both orders, sorted.
    pub touching: Vec<(u32, u32)>,
}

impl ClusterLevels {
    /// `None` if there are too few panels for a coarse level to help.
    pub fn new(panels: &Panels, conductor: &[u32]) -> Option<Self> {
        let _span = tracing::debug_span!("clusters of panels").entered();
        let parts_of_boxes = |parting: Parting, least: usize, most: usize| {
            parts_of_boxes(panels, conductor, parting, least, most)
        };
        // Boxes have fewer than four times the least number of panels.
        if panels.len() < 4 * LEAST_PANELS * MOST_CLUSTERS {
            let small = parts_of_boxes(Parting::Sheets, LEAST_PANELS, usize::MAX);
            if small.len() <= MOST_CLUSTERS {
                let groups = (small.len() >= 2).then(|| Clusters::new(panels, small))?;
                return Some(Self::of(panels, groups, None));
            }
        }
        let numbers = || (0..).map(|k| MOST_BOXES >> k).take_while(|most| *most >= LEAST_BOXES);
        let partings = [Parting::Sheets, Parting::Conductors].into_iter();
        let tried = partings.flat_map(|parting| numbers().map(move |most| (parting, most)));
        let large = tried
            .map(|(parting, most)| parts_of_boxes(parting, LEAST_PANELS, most))
            .find(|large| large.len() <= MOST_CLUSTERS)
            .unwrap_or_else(|| parts_of_boxes(Parting::Boxes, LEAST_PANELS, MOST_BOXES));
        let small = parts_of_boxes(Parting::Sheets, LEAST_BELOW_UNIONS, usize::MAX);
        if small.len() * LEAST_ON_AVERAGE > panels.len() {
            return Some(Self::of(panels, Clusters::new(panels, large), None));
        }
        // Boxes nest, but sheets may be split elsewhere: a cluster goes with its first panel.
        let mut part_of = vec![0; panels.len()];
        for (part, members) in large.iter().enumerate() {
            members.iter().for_each(|&i| part_of[i as usize] = part);
        }
        let mut unions = vec![Vec::new(); large.len()];
        for (c, members) in small.iter().enumerate() {
            unions[part_of[members[0] as usize]].push(c);
        }
        unions.retain(|clusters| !clusters.is_empty());
        // In the order of the unions.
        let union_of: Vec<u32> =
            unions.iter().zip(0..).flat_map(|(own, k)| own.iter().map(move |_| k)).collect();
        let mut small: Vec<Option<Vec<u32>>> = small.into_iter().map(Some).collect();
        let small: Vec<Vec<u32>> =
            unions.iter().flatten().filter_map(|&c| small[c].take()).collect();
        let mut clusters = small.iter();
        let panels_of =
            |own: &Vec<usize>| clusters.by_ref().take(own.len()).flatten().copied().collect();
        let members = unions.iter().map(panels_of).collect();
        let unions = Clusters::new(panels, members);
        Some(Self::of(panels, Clusters::new(panels, small), Some((unions, union_of))))
    }

    fn of(panels: &Panels, groups: Clusters, unions: Option<(Clusters, Vec<u32>)>) -> Self {
        let (cells, touching) = (Clusters::cells(panels, &groups), touching(panels, &groups));
        Self { groups, unions, cells, touching }
    }
}

/// Panels whose corners are sorted by one thread.
const SOME: usize = 4096;

/// First bits of a vertex's hash by which vertices are shared out to threads.
const BITS: u32 = 8;

/// Pairs of clusters that share a vertex, in both orders, sorted.
fn touching(panels: &Panels, clusters: &Clusters) -> Vec<(u32, u32)> {
    let _span = tracing::debug_span!("clusters that touch").entered();
    let vertex = |v: &Vec3| {
        let mut hasher = DefaultHasher::new();
        // -0 and 0 are the same.
        v.iter().for_each(|x| (x + 0.0).to_bits().hash(&mut hasher));
        hasher.finish()
    };
    // Most corners are those of several panels of a cluster, and most of these are next to each
    // other.
    let of_some = |own: &mut Vec<(u64, u32)>, (first, some): (usize, &[[Vec3; 3]])| {
        let corners = some.as_flattened().iter().zip(3 * SOME * first..);
        own.clear();
        own.extend(corners.map(|(v, at)| (vertex(v), clusters.of[at / 3])));
        own.sort_unstable();
        own.dedup();
        own.clone()
    };
    let parts = panels.all_vertices()[..panels.len()].par_chunks(SOME).enumerate();
    let parts: Vec<Vec<(u64, u32)>> = parts.map_init(Vec::<(u64, u32)>::new, of_some).collect();
    let beginning_with = |bits: usize| {
        let first = |part: &[(u64, u32)], bits: usize| {
            part.partition_point(|(vertex, _)| ((vertex >> (64 - BITS)) as usize) < bits)
        };
        let mut own = Vec::new();
        for part in &parts {
            own.extend_from_slice(&part[first(part, bits)..first(part, bits + 1)]);
        }
        own.sort_unstable();
        own.dedup();
        // Most vertices belong to one cluster only.
        let shared = own.chunk_by(|a, b| a.0 == b.0).filter(|of| of.len() <= MOST_AT_A_VERTEX);
        let mut pairs = Vec::new();
        for of_vertex in shared {
            for &(_, c) in of_vertex {
                pairs.extend(of_vertex.iter().filter(|(_, d)| *d != c).map(|(_, d)| (c, *d)));
            }
        }
        sorted_once(pairs)
    };
    let all = 0..1usize << BITS;
    let pairs: Vec<Vec<(u32, u32)>> = all.into_par_iter().map(beginning_with).collect();
    sorted_once(pairs.concat())
}

/// Sorted, each once.
fn sorted_once(mut pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    pairs.par_sort_unstable();
    pairs.dedup();
    pairs
}

/// As [`touching`], for unions of clusters, from the pairs of clusters.
pub(crate) fn touching_unions(touching: &[(u32, u32)], union_of: &[u32]) -> Vec<(u32, u32)> {
    let union = |&(c, d): &(u32, u32)| (union_of[c as usize], union_of[d as usize]);
    sorted_once(touching.par_iter().map(union).filter(|(c, d)| c != d).collect())
}

/// Panels in compact groups.
pub struct Clusters {
    /// Group of each panel.
    pub of: Vec<u32>,
    /// Panels of each group.
    pub members: Vec<Vec<u32>>,
    pub(crate) areas: Vec<f64>,
    pub centres: Vec<Vec3>,
    /// Distance from the centre to the farthest centroid, at least the distance from a centroid to
    /// a vertex.
    pub radii: Vec<f64>,
    /// Variances of the clouds that represent the groups.
    pub variances: Vec<f64>,
}

/// Variance of the cloud that represents a panel.
pub(crate) fn variance_of_panel(panels: &Panels, i: usize) -> f64 {
    let [a, b, c] = panels.vertices(i);
    let squares = (b - a).norm_squared() + (c - b).norm_squared() + (a - c).norm_squared();
    CLOUD * squares / 36.0
}

impl Clusters {
    /// Each group's share of the area of its union.
    pub(crate) fn shares_of(&self, unions: &Self, union_of: &[u32]) -> Vec<f64> {
        let share = |(&union, area): (&u32, &f64)| area / unions.areas[union as usize];
        union_of.iter().zip(&self.areas).map(share).collect()
    }

    fn new(panels: &Panels, members: Vec<Vec<u32>>) -> Self {
        let mut of = vec![0; panels.len()];
        for (group, members) in members.iter().enumerate() {
            members.iter().for_each(|&i| of[i as usize] = group as u32);
        }
        let work = |members: &Vec<u32>| {
            let members = || members.iter().map(|&i| i as usize);
            let area: f64 = members().map(|i| panels.areas()[i]).sum();
            let moment: Vec3 = members().map(|i| panels.centroid(i) * panels.areas()[i]).sum();
            let centre = moment / area;
            let distance = |i: usize| (panels.centroid(i) - centre).norm().max(panels.radius(i));
            let variance = |i: usize| {
                let square = (panels.centroid(i) - centre).norm_squared();
                panels.areas()[i] / area * (CLOUD * square + variance_of_panel(panels, i))
            };
            let radius = members().map(distance).fold(0.0, f64::max);
            ((area, centre), (radius, members().map(variance).sum::<f64>()))
        };
        let all: Vec<_> = members.par_iter().with_min_len(64).map(work).collect();
        let ((areas, centres), (radii, variances)) = all.into_iter().unzip();
        Self { of, members, areas, centres, radii, variances }
    }

    /// Cells of a few panels, each within one of the clusters and in their order.
    fn cells(panels: &Panels, clusters: &Self) -> Self {
        let _span = tracing::debug_span!("cells of clusters").entered();
        let cells = boxes(0..panels.len(), &|range| range.len() <= CELL).into_par_iter();
        let part = |range| parted(range, |i| clusters.of[i as usize]);
        let mut members: Vec<Vec<u32>> = cells.flat_map_iter(part).collect();
        members.par_sort_by_key(|own| clusters.of[own[0] as usize]);
        Self::new(panels, members)
    }

    /// Each panel's share of its group's area.
    pub fn shares(&self, panels: &Panels) -> Vec<f64> {
        let share = |(&group, area): (&u32, &f64)| area / self.areas[group as usize];
        self.of.iter().zip(panels.areas()).map(share).collect()
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Mean inverse distance, summed over images.
    pub(crate) fn inverse_distance(&self, panels: &Panels, a: usize, b: usize) -> f64 {
        let variance = self.variances[a] + self.variances[b];
        let of_clouds = |r2| of_clouds(r2, variance);
        let first = |of: usize| self.members[of].first().map_or(0, |&i| i as usize);
        let [x, y] = [a, b].map(|of| &self.centres[of]);
        panels.over_distances(x, first(a), y, first(b), of_clouds)
    }
}

/// How the panels of a box are split.
#[derive(Clone, Copy)]
enum Parting {
    /// By conductor and by sheet.
    Sheets,
    /// By conductor.
    Conductors,
    /// Not at all.
    Boxes,
}

/// Panels of boxes with at least `least` panels, at most `most` boxes, and their parts.
fn parts_of_boxes(
    panels: &Panels,
    conductor: &[u32],
    parting: Parting,
    least: usize,
    most: usize,
) -> Vec<Vec<u32>> {
    let n = panels.len();
    let parts = |range: Range<usize>| -> Vec<Vec<u32>> {
        let of_conductors = || parted(range.clone(), |i| conductor[i as usize]).into_iter();
        match parting {
            Parting::Sheets => of_conductors().flat_map(|own| sheets(panels, own)).collect(),
            Parting::Conductors => of_conductors().collect(),
            Parting::Boxes => vec![range.map(|i| i as u32).collect()],
        }
    };
    let whole = |range: &Range<usize>| {
        // A box to be split may be twice as large.
        let is_small =
            |times: usize| range.len() / 2 < times * least || times * n / range.len() >= most;
        is_small(1) || (is_small(2) && parts(range.clone()).len() > 1)
    };
    boxes(0..n, &whole).into_par_iter().flat_map_iter(parts).collect()
}

/// Ranges of the tree, halved until they are `whole`.
fn boxes(
    range: Range<usize>,
    whole: &(impl Fn(&Range<usize>) -> bool + Sync),
) -> Vec<Range<usize>> {
    if range.len() <= 1 || whole(&range) {
        return vec![range];
    }
    let middle = range.start + range.len() / 2;
    let (first, second) = (range.start..middle, middle..range.end);
    let (mut found, others) = rayon::join(|| boxes(first, whole), || boxes(second, whole));
    found.extend(others);
    found
}

/// Panels of a range by their owner.
fn parted(range: Range<usize>, owner: impl Fn(u32) -> u32) -> Vec<Vec<u32>> {
    let mut members: Vec<u32> = range.map(|i| i as u32).collect();
    members.sort_by_key(|&i| owner(i));
    members.chunk_by(|&i, &j| owner(i) == owner(j)).map(<[u32]>::to_vec).collect()
}

/// Panels of a box and a conductor, by sheet: panels of roughly one normal, up to its sign, without
/// gaps between their positions along it.
fn sheets(panels: &Panels, mut members: Vec<u32>) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    while let Some(&first) = members.first() {
        let normal = panels.normal(first as usize);
        let is_parallel =
            |&i: &u32| i == first || normal.dot(&panels.normal(i as usize)).abs() > PARALLEL;
        let (parallel, others) = members.into_iter().partition::<Vec<u32>, _>(is_parallel);
        members = others;
        let height = |&i: &u32| (normal.dot(&panels.centroid(i as usize)), i);
        let mut heights: Vec<(f64, u32)> = parallel.iter().map(height).collect();
        heights.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let extent = heights[heights.len() - 1].0 - heights[0].0;
        let gap = (GAP * extent).max(APART * panels.radius(first as usize));
        let sheets = heights.chunk_by(|a, b| b.0 - a.0 <= gap);
        found.extend(sheets.map(|sheet| sheet.iter().map(|&(_, i)| i).collect()));
    }
    found
}
