//! The local essential tree: a rank's own boxes, and those of other ranks that its targets interact
//! with, as one octree over one array of sources.
//!
//! Own sources come first in that array, then those of other ranks. A box of which only the
//! multipole expansion is needed holds a few of its sources, on which truncation errors are
//! measured; it looks like a leaf, but none of its pairs would split it.

use std::collections::HashMap;
use std::ops::Range;

use comm::Communicator;

use super::scout::{Node, Scout};
use super::top::{Code, place};
use crate::morton::MAX_DEPTH;
use crate::tree::{Cell, MortonOrder, Tree};

/// What is asked of another rank's box.
pub(super) const MULTIPOLE: u64 = 1;
pub(super) const PARTICLES: u64 = 2;
const SAMPLES: u64 = 4;

/// Sources of a box that stand for all in the measurement of truncation errors.
const SAMPLED: usize = 16;

/// A box of another rank, and what is asked of it: [`MULTIPOLE`], [`PARTICLES`].
pub(super) type Request = [u64; 2];

/// The local essential tree.
pub(super) struct Essential {
    pub tree: Tree,
    /// Of own sources, then others.
    pub order: MortonOrder,
    pub points: Vec<[f64; 3]>,
    /// The sources of each box, here or elsewhere.
    pub source_counts: Vec<f64>,
    /// For each rank what this one asks of it.
    pub requests: Vec<Vec<Request>>,
    /// For each rank what it asks of this one.
    pub asked: Vec<Vec<Request>>,
}

impl Essential {
    /// From a rank's own tree and sources and the boxes that were found. Collective.
    pub(super) fn new(
        group: &dyn Communicator,
        tree: &Tree,
        (order, points): (&MortonOrder, Vec<[f64; 3]>),
        scout: Scout<'_>,
    ) -> Result<Self, comm::Error> {
        let nodes = &scout.nodes;
        let (requests, of_nodes) = requests(group, tree, nodes);
        let asked = comm::exchange(group, &requests)?;
        let answers: Vec<Vec<Vec<u32>>> = asked
            .iter()
            .map(|asked| asked.iter().map(|request| slots(tree, request)).collect())
            .collect();
        let counts: Vec<Vec<u32>> = answers
            .iter()
            .map(|of_rank| of_rank.iter().map(|slots| slots.len() as u32).collect())
            .collect();
        let coordinates: Vec<Vec<[f64; 3]>> = answers
            .iter()
            .map(|of_rank| {
                let slots = of_rank.iter().flatten();
                slots.map(|&slot| points[order.index[slot as usize] as usize]).collect()
            })
            .collect();
        let counts = comm::exchange(group, &counts)?;
        let coordinates = comm::exchange(group, &coordinates)?;
        let mut points = points;
        // Where the sources of other ranks' boxes are, by node.
        let mut elsewhere = HashMap::<usize, Range<u32>>::new();
        let mut begin = points.len() as u32;
        for (nodes, counts) in of_nodes.iter().zip(&counts) {
            for (&node, &count) in nodes.iter().zip(counts) {
                elsewhere.insert(node, begin..begin + count);
                begin += count;
            }
        }
        points.extend(coordinates.into_iter().flatten());
        let mut builder = Builder {
            rank: group.rank(),
            own: tree,
            own_order: order,
            nodes,
            elsewhere: &elsewhere,
            cells: Vec::new(),
            origins: Vec::new(),
            index: Vec::with_capacity(points.len()),
        };
        let levels = builder.cells();
        builder.place_sources(0);
        let Builder { cells, origins, index, .. } = builder;
        let source_counts = origins
            .iter()
            .zip(&cells)
            .map(|(origin, cell)| match origin.node {
                Some(node) => nodes[node].sources,
                None => cell.sources.len() as f64,
            })
            .collect();
        let order = MortonOrder { keys: Vec::new(), index };
        let tree = Tree { cells, levels };
        Ok(Self { tree, order, points, source_counts, requests, asked })
    }
}

/// What to ask of each rank, and the nodes of the requests.
fn requests(
    group: &dyn Communicator,
    tree: &Tree,
    nodes: &[Node],
) -> (Vec<Vec<Request>>, Vec<Vec<usize>>) {
    let mut requests = vec![Vec::new(); group.size()];
    let mut of_nodes = vec![Vec::new(); group.size()];
    for (i, node) in nodes.iter().enumerate() {
        let Some([rank, _]) = node.ranks else { continue };
        let own_sources = || {
            let (level, place) = place(node.code);
            tree.find(level, place).is_some_and(|cell| !tree.cells[cell].sources.is_empty())
        };
        let mut what = 0;
        if node.multipole && rank != group.rank() {
            what |= MULTIPOLE;
        }
        if node.particles {
            what |= PARTICLES;
        } else if node.multipole && !node.split && !own_sources() {
            what |= SAMPLES;
        }
        if what != 0 {
            requests[rank].push([node.code, what]);
            of_nodes[rank].push(i);
        }
    }
    (requests, of_nodes)
}

/// The sources that answer a request, in Morton order.
fn slots(tree: &Tree, &[code, what]: &Request) -> Vec<u32> {
    let Some(cell) = cell_of(tree, code) else { return Vec::new() };
    let range = tree.cells[cell].sources.clone();
    if what & PARTICLES != 0 {
        return range.collect();
    }
    if what & SAMPLES == 0 {
        return Vec::new();
    }
    let count = range.len().min(SAMPLED);
    (0..count).map(|i| range.start + (i * range.len() / count) as u32).collect()
}

/// The box of a code, if there is one.
pub(super) fn cell_of(tree: &Tree, code: Code) -> Option<usize> {
    let (level, place) = place(code);
    tree.find(level, place)
}

/// What a box is made from: a box of the own tree, a node that was found, or both.
#[derive(Clone, Copy)]
struct Origin {
    own: Option<usize>,
    node: Option<usize>,
}

struct Builder<'a> {
    rank: usize,
    own: &'a Tree,
    own_order: &'a MortonOrder,
    nodes: &'a [Node],
    elsewhere: &'a HashMap<usize, Range<u32>>,
    cells: Vec<Cell>,
    origins: Vec<Origin>,
    index: Vec<u32>,
}

impl Builder<'_> {
    /// Makes all boxes, without their sources, and returns the levels.
    fn cells(&mut self) -> Vec<Range<usize>> {
        self.push(0, Origin { own: Some(0), node: Some(0) });
        let mut levels = Vec::with_capacity(MAX_DEPTH + 1);
        levels.push(0..1);
        loop {
            let above = levels[levels.len() - 1].clone();
            let begin = self.cells.len();
            for parent in above {
                let first = self.cells.len();
                for child in self.children(parent).into_iter().flatten() {
                    self.push(parent as u32, child);
                }
                let children = first..self.cells.len();
                self.cells[parent].first_child = children.start as u32;
                self.cells[parent].child_count = children.len() as u8;
            }
            if self.cells.len() == begin {
                return levels;
            }
            levels.push(begin..self.cells.len());
        }
    }

    fn push(&mut self, parent: u32, origin: Origin) {
        let own = origin.own.map(|own| &self.own.cells[own]);
        let of_node = || origin.node.map_or((0, [0; 3]), |node| place(self.nodes[node].code));
        let (level, place) = own.map_or_else(of_node, |own| (own.level, own.place));
        self.cells.push(Cell {
            place,
            level,
            child_count: 0,
            first_child: 0,
            parent,
            sources: 0..0,
            targets: own.map_or(0..0, |own| own.targets.clone()),
        });
        self.origins.push(origin);
    }

    /// The octants of a box that exist.
    fn children(&self, parent: usize) -> [Option<Origin>; 8] {
        let Origin { own, node } = self.origins[parent];
        let mut children = [None; 8];
        if let Some(own) = own.map(|own| &self.own.cells[own]).filter(|own| !own.is_leaf()) {
            for child in own.children() {
                let place = self.own.cells[child].place;
                let octant = (0..3).fold(0, |octant, i| octant | (place[i] & 1) << i);
                children[octant as usize] = Some(Origin { own: Some(child), node: None });
            }
        }
        let Some(node) = node.map(|node| &self.nodes[node]) else { return children };
        for child in node.children.clone().into_iter().flatten() {
            let of = &self.nodes[child];
            let octant = &mut children[(of.code & 7) as usize];
            match octant {
                // Its sources may be other ranks', in part or all.
                Some(origin) if !of.is_of(self.rank) => origin.node = Some(child),
                None if node.split && of.sources > 0.0 && !of.is_of(self.rank) => {
                    *octant = Some(Origin { own: None, node: Some(child) });
                }
                _ => {}
            }
        }
        children
    }

    /// Gives a box and those beneath it their sources, in Morton order.
    fn place_sources(&mut self, cell: usize) {
        let begin = self.index.len() as u32;
        let Origin { own, node } = self.origins[cell];
        // Those that stand for others' may be in a box that has children for own targets.
        if let Some(range) = node.and_then(|node| self.elsewhere.get(&node)) {
            self.index.extend(range.clone());
        }
        if !self.cells[cell].is_leaf() {
            for child in self.cells[cell].children() {
                self.place_sources(child);
            }
        } else if let Some(own) = own {
            let slots = self.own.cells[own].sources.clone();
            let index = &self.own_order.index[slots.start as usize..slots.end as usize];
            self.index.extend_from_slice(index);
        }
        self.cells[cell].sources = begin..self.index.len() as u32;
    }
}
