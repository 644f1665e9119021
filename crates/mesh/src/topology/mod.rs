//! The connections of triangles: shared edges, components, closedness and orientation.

pub mod creases;
pub mod disjoint;

use crate::measure;
use crate::surface::Mesh;
use crate::topology::disjoint::SharedSets;
use crate::vector::{cross, dot, sub};
use parallel::prelude::*;

/// Number of ranges that sides are distributed to, and the least number of triangles per range.
const RANGES: usize = 64;
const DEALT: usize = 4096;

/// Parts that are counted in parallel.
const FEW_PARTS: usize = 1000;

/// A triangle at an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Side {
    /// The edge's vertices, that of lower index first.
    pub low: u32,
    pub high: u32,
    pub triangle: u32,
    /// Whether the triangle runs through the edge from its lower to its higher vertex.
    pub forward: bool,
}

impl Side {
    /// 1 or -1: forward or backward.
    fn way(&self) -> isize {
        if self.forward { 1 } else { -1 }
    }
}

/// All sides of all triangles, sorted by edge.
///
/// Sides are distributed to ranges of lower vertices, which are sorted in parallel.
pub(crate) struct Sides {
    ranges: Vec<Vec<Side>>,
}

impl Sides {
    pub fn of(mesh: &Mesh) -> Self {
        let count = (mesh.triangles.len() / DEALT).clamp(1, RANGES);
        let width = mesh.vertices.len().div_ceil(count).max(1);
        let piece = mesh.triangles.len().div_ceil(count).max(1);
        let deal = |(index, triangles): (usize, &[[u32; 3]])| {
            let mut dealt = vec![Vec::new(); count];
            let room = 3 * triangles.len() / count;
            dealt.iter_mut().for_each(|range: &mut Vec<Side>| range.reserve(room));
            for side in sides_of(triangles, index * piece) {
                dealt[side.low as usize / width].push(side);
            }
            dealt
        };
        let pieces: Vec<_> = mesh.triangles.par_chunks(piece).enumerate().map(deal).collect();
        // By lower vertices, and then sorted within the few of each: linear in practice.
        let range = |k: usize| {
            let first = k * width;
            let mut starts = vec![0; width + 2];
            let own = || pieces.iter().flat_map(|dealt| &dealt[k]);
            own().for_each(|side| starts[side.low as usize - first + 2] += 1);
            (2..starts.len()).for_each(|v| starts[v] += starts[v - 1]);
            let mut all = vec![Side::default(); starts[width + 1]];
            // Filling moves each start to its end, which is the next one's start.
            for side in own() {
                let next = &mut starts[side.low as usize - first + 1];
                all[*next] = *side;
                *next += 1;
            }
            starts[..=width].windows(2).for_each(|at| all[at[0]..at[1]].sort_unstable());
            all
        };
        Self { ranges: (0..count).into_par_iter().map(range).collect() }
    }

    /// The sides at each edge, edge by edge.
    pub fn edges(&self) -> impl Iterator<Item = &[Side]> {
        self.ranges.iter().flat_map(|range| edges_of(range))
    }

    /// For each of `count` triangles those with which it shares an edge of two, and whether both
    /// run through it the same way; of edges for which `keep` says so of their first side.
    pub fn neighbours(&self, count: usize, keep: impl Fn(&Side) -> bool) -> Vec<Vec<(u32, bool)>> {
        let mut neighbours = vec![Vec::new(); count];
        for edge in self.edges() {
            if let [a, b] = edge
                && keep(a)
            {
                let same = a.forward == b.forward;
                neighbours[a.triangle as usize].push((b.triangle, same));
                neighbours[b.triangle as usize].push((a.triangle, same));
            }
        }
        neighbours
    }

    /// [`Self::edges`] in parallel; edges are sorted.
    pub fn par_edges(&self) -> impl Parallel<Item = &[Side]> {
        self.ranges.par_iter().flat_map_iter(|range| edges_of(range))
    }
}

fn edges_of(range: &[Side]) -> impl Iterator<Item = &[Side]> {
    range.chunk_by(|a, b| (a.low, a.high) == (b.low, b.high))
}

/// The sides of triangles, which are numbered from `first` on; a side from a vertex to itself is
/// none.
fn sides_of(triangles: &[[u32; 3]], first: usize) -> impl Iterator<Item = Side> {
    triangles.iter().enumerate().flat_map(move |(k, &[a, b, c])| {
        [(a, b), (b, c), (c, a)].into_iter().filter(|(p, q)| p != q).map(move |(p, q)| Side {
            low: p.min(q),
            high: p.max(q),
            triangle: (first + k) as u32,
            forward: p < q,
        })
    })
}

/// A set of triangles on its own: a component or a physical group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Number of triangles.
    pub triangles: usize,
    /// Number of edges.
    pub edges: usize,
    /// Edges of one triangle of the part.
    pub boundary_edges: usize,
    /// Edges of more than two triangles of the part, as where sheets meet in a T.
    pub non_manifold_edges: usize,
    /// Edges that as many triangles should run through one way as the other, but do not: normals
    /// flip sides there.
    pub flipped_edges: usize,
    /// Whether every edge has an even number of triangles, so that the part encloses space.
    pub closed: bool,
    /// Volume enclosed, positive if normals point outward, in the cube of the mesh's unit;
    /// meaningful if closed and consistent.
    pub signed_volume: f64,
}

/// Which way the normals of a part point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// Out of the space that the part encloses.
    Outward,
    /// Into the space that the part encloses.
    Inward,
    /// To one side throughout, of a surface that encloses nothing.
    Open,
    /// To different sides in different places.
    Inconsistent,
}

impl Part {
    /// Which way the normals point.
    pub fn orientation(&self) -> Orientation {
        if self.flipped_edges > 0 {
            Orientation::Inconsistent
        } else if !self.closed {
            Orientation::Open
        } else if self.signed_volume < 0.0 {
            Orientation::Inward
        } else {
            Orientation::Outward
        }
    }

    /// Adds the connections of other edges and triangles.
    fn add(&mut self, other: &Self) {
        self.triangles += other.triangles;
        self.edges += other.edges;
        self.boundary_edges += other.boundary_edges;
        self.non_manifold_edges += other.non_manifold_edges;
        self.flipped_edges += other.flipped_edges;
        self.closed &= other.closed;
        self.signed_volume += other.signed_volume;
    }

    /// Adds one edge, of which `uses` triangles of this part run through forward minus
    /// backward = `balance` times.
    fn add_edge(&mut self, uses: usize, balance: isize) {
        self.edges += 1;
        self.boundary_edges += usize::from(uses == 1);
        self.non_manifold_edges += usize::from(uses > 2);
        self.flipped_edges += usize::from(uses.is_multiple_of(2) && balance != 0);
        self.closed &= uses.is_multiple_of(2);
    }
}

/// The connections of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Whole mesh taken together.
    pub whole: Part,
    /// Components joined by shared edges, in the order of their first triangles.
    pub components: Vec<Part>,
    /// For each triangle an index into `components`.
    pub component_of: Vec<u32>,
    /// The physical groups, in the mesh's order.
    pub groups: Vec<Part>,
    /// Vertex pairs of the edges with more than two triangles.
    pub non_manifold_edges: Vec<[u32; 2]>,
}

impl Topology {
    /// The triangles of each component.
    pub(crate) fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.components.len()];
        for (&component, triangle) in self.component_of.iter().zip(0..) {
            members[component as usize].push(triangle);
        }
        members
    }

    /// Finds the connections of a valid mesh ([`Mesh::validate`]) in O(n log n).
    pub fn of(mesh: &Mesh) -> Self {
        let sides = Sides::of(mesh);
        let (component_of, count) = label_components(mesh, &sides, |_| true);
        let counts = |ranges: &[Vec<Side>]| Counts::of(ranges, mesh, &component_of, count);
        let fresh = || Counts::none(count, mesh.groups.len());
        // Each piece counts for all parts.
        let pieces = if count + mesh.groups.len() <= FEW_PARTS { RANGES } else { 1 };
        let ranges = sides.ranges.par_chunks(sides.ranges.len().div_ceil(pieces).max(1));
        let counts = ranges.map(counts).reduce(fresh, Counts::with);
        let Counts { mut whole, mut components, mut groups, non_manifold_edges } = counts;
        let all = (0..mesh.triangles.len()).map(|t| (t, 0));
        enclose(mesh, all, std::slice::from_mut(&mut whole));
        enclose(
            mesh,
            component_of.iter().enumerate().map(|(t, &c)| (t, c as usize)),
            &mut components,
        );
        let members = (0..mesh.triangles.len())
            .flat_map(|t| mesh.groups_of(t).iter().map(move |&g| (t, g as usize)));
        enclose(mesh, members, &mut groups);
        Self { whole, components, component_of, groups, non_manifold_edges }
    }
}

/// What edges say of a mesh and its parts.
struct Counts {
    whole: Part,
    components: Vec<Part>,
    groups: Vec<Part>,
    non_manifold_edges: Vec<[u32; 2]>,
}

impl Counts {
    fn none(components: usize, groups: usize) -> Self {
        let fresh = Part { closed: true, ..Part::default() };
        Self {
            components: vec![fresh.clone(); components],
            groups: vec![fresh.clone(); groups],
            whole: fresh,
            non_manifold_edges: Vec::new(),
        }
    }

    /// Of the edges in some ranges.
    fn of(ranges: &[Vec<Side>], mesh: &Mesh, component_of: &[u32], components: usize) -> Self {
        let mut counts = Self::none(components, mesh.groups.len());
        let mut per_group: Vec<(u32, usize, isize)> = Vec::new();
        for edge in ranges.iter().flat_map(|range| edges_of(range)) {
            let balance = edge.iter().map(Side::way).sum();
            counts.whole.add_edge(edge.len(), balance);
            counts.components[component_of[edge[0].triangle as usize] as usize]
                .add_edge(edge.len(), balance);
            if edge.len() > 2 {
                counts.non_manifold_edges.push([edge[0].low, edge[0].high]);
            }
            per_group.clear();
            for side in edge {
                for &group in mesh.groups_of(side.triangle as usize) {
                    match per_group.iter_mut().find(|entry| entry.0 == group) {
                        Some(entry) => (entry.1, entry.2) = (entry.1 + 1, entry.2 + side.way()),
                        None => per_group.push((group, 1, side.way())),
                    }
                }
            }
            for &(group, uses, balance) in &per_group {
                counts.groups[group as usize].add_edge(uses, balance);
            }
        }
        counts
    }

    /// Both together, these first.
    fn with(mut self, other: Self) -> Self {
        let add = |parts: &mut [Part], others: &[Part]| {
            parts.iter_mut().zip(others).for_each(|(part, other)| part.add(other));
        };
        self.whole.add(&other.whole);
        add(&mut self.components, &other.components);
        add(&mut self.groups, &other.groups);
        self.non_manifold_edges.extend(other.non_manifold_edges);
        self
    }
}

/// `count` parts of a valid mesh, described as in [`Topology`] but without volumes; `part_of` gives
/// the part of a triangle, if it is in one.
pub fn parts(
    mesh: &Mesh,
    count: usize,
    part_of: impl Fn(usize) -> Option<u32> + Sync,
) -> Vec<Part> {
    let fresh = || vec![Part { closed: true, ..Part::default() }; count];
    let sides = Sides::of(mesh);
    let of_range = |range: &Vec<Side>| {
        let mut parts = fresh();
        let mut at_edge: Vec<(u32, isize)> = Vec::new();
        for edge in edges_of(range) {
            at_edge.clear();
            let known = |side: &Side| Some((part_of(side.triangle as usize)?, side.way()));
            at_edge.extend(edge.iter().filter_map(known));
            at_edge.sort_unstable();
            for own in at_edge.chunk_by(|a, b| a.0 == b.0) {
                let balance = own.iter().map(|(_, way)| way).sum();
                parts[own[0].0 as usize].add_edge(own.len(), balance);
            }
        }
        parts
    };
    let together = |mut sums: Vec<Part>, parts: Vec<Part>| {
        sums.iter_mut().zip(parts).for_each(|(sum, part)| sum.add(&part));
        sums
    };
    let mut parts = sides.ranges.par_iter().map(of_range).reduce(fresh, together);
    (0..mesh.triangles.len())
        .filter_map(&part_of)
        .for_each(|part| parts[part as usize].triangles += 1);
    parts.iter_mut().for_each(|part| part.closed &= part.triangles > 0);
    parts
}

/// Counts triangles and sums signed volumes of parts, from pairs (triangle, part).
fn enclose(mesh: &Mesh, members: impl Iterator<Item = (usize, usize)>, parts: &mut [Part]) {
    // Cones from a point of the part itself: cones from a distant origin would cancel badly.
    let mut apex = vec![None; parts.len()];
    for (triangle, part) in members {
        let [a, b, c] = mesh.corners(triangle);
        let apex = *apex[part].get_or_insert(a);
        parts[part].signed_volume += match &mesh.patches {
            Some(patches) => measure::cone(patches, triangle, apex),
            None => dot(sub(a, apex), cross(sub(b, apex), sub(c, apex))) / 6.0,
        };
        parts[part].triangles += 1;
    }
    for part in parts {
        part.closed &= part.triangles > 0;
    }
}

/// For each triangle of a valid mesh the component it belongs to, and the number of components.
///
/// Triangles are joined by shared edges; components are numbered in the order of their first
/// triangles.
pub fn components(mesh: &Mesh) -> (Vec<u32>, usize) {
    label_components(mesh, &Sides::of(mesh), |_| true)
}

/// As [`components`], joined only by edges that `joins` accepts.
pub(crate) fn components_where(
    mesh: &Mesh,
    joins: impl Fn(&[Side]) -> bool + Sync,
) -> (Vec<u32>, usize) {
    label_components(mesh, &Sides::of(mesh), joins)
}

fn label_components(
    mesh: &Mesh,
    sides: &Sides,
    joins: impl Fn(&[Side]) -> bool + Sync,
) -> (Vec<u32>, usize) {
    let sets = SharedSets::new(mesh.triangles.len());
    sides.par_edges().filter(|edge| joins(edge)).for_each(|edge| {
        edge.windows(2).for_each(|pair| sets.join(pair[0].triangle, pair[1].triangle));
    });
    sets.labels((0..mesh.triangles.len() as u32).into_par_iter())
}

/// Of how many separate pieces, which share no edges, each of `count` sets of triangles is.
/// `sets_of` gives the sets that a triangle belongs to; pieces without any of the first `counted`
/// triangles do not count.
pub fn pieces<'a>(
    mesh: &Mesh,
    counted: usize,
    count: usize,
    sets_of: impl Fn(usize) -> &'a [u32] + Sync,
) -> Vec<usize> {
    // A triangle stands for itself once in each of its sets.
    let mut first = Vec::with_capacity(mesh.triangles.len() + 1);
    first.push(0u32);
    for t in 0..mesh.triangles.len() {
        first.push(first[t] + sets_of(t).len() as u32);
    }
    let places = |t: usize| sets_of(t).iter().copied().zip(first[t]..);
    let total = first[mesh.triangles.len()] as usize;
    let joined = SharedSets::new(total);
    let join_at = |at: &mut Vec<(u32, u32)>, edge: &[Side]| {
        at.clear();
        at.extend(edge.iter().flat_map(|side| places(side.triangle as usize)));
        at.sort_unstable();
        let pairs = at.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        pairs.for_each(|pair| joined.join(pair[0].1, pair[1].1));
    };
    Sides::of(mesh).par_edges().for_each_init(Vec::new, join_at);
    // Those that count come first, and a piece is known by the first of its places.
    let is_first = |&(_, place): &(u32, u32)| joined.root(place) == place;
    let counted = (0..counted.min(mesh.triangles.len())).into_par_iter();
    let firsts: Vec<(u32, u32)> = counted.flat_map_iter(places).filter(is_first).collect();
    let mut pieces = vec![0; count];
    firsts.iter().for_each(|(set, _)| pieces[*set as usize] += 1);
    pieces
}
