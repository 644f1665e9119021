//! The local essential tree: a rank's own boxes, and those of other ranks that its targets interact
//! with, as one octree over one array of sources.
//!
//! Own sources come first in that array, then those of other ranks. A box of which only the
//! multipole expansion is needed holds a few of its sources, on which truncation errors are
//! measured; it looks like a leaf, but none of its pairs would split it.

use std::ops::Range;

use comm::Communicator;
use parallel::prelude::*;

use super::code::{Code, place};
use super::scout::{Node, Scout};
use crate::tree::morton::MAX_DEPTH;
use crate::tree::{Cell, MortonOrder, Tree};
use parallel::DisjointSlice;

/// What a target box needs of another rank's box.
pub(super) const MULTIPOLE: u64 = 1;
pub(super) const PARTICLES: u64 = 2;
const SAMPLES: u64 = 4;

/// Sources of a box that stand for all in the measurement of truncation errors.
const SAMPLED: usize = 16;

/// A box of another rank, and what is needed of it: [`MULTIPOLE`], [`PARTICLES`].
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
        order: &MortonOrder,
        points: Vec<[f64; 3]>,
        scout: Scout<'_>,
    ) -> Result<Self, comm::Error> {
        let nodes = &scout.nodes;
        let (requests, of_nodes) = requests(group, tree, nodes);
        let asked = comm::exchange(group, &requests)?;
        let answers: Vec<Vec<Vec<u32>>> = asked
            .iter()
            .map(|asked| asked.par_iter().map(|request| slots(tree, request)).collect())
            .collect();
        let counts: Vec<Vec<u32>> = answers
            .iter()
            .map(|of_rank| of_rank.iter().map(|slots| slots.len() as u32).collect())
            .collect();
        let coordinates: Vec<Vec<[f64; 3]>> = answers
            .iter()
            .map(|of_rank| {
                let slots: Vec<u32> = of_rank.iter().flatten().copied().collect();
                let point = |slot: u32| points[order.index[slot as usize] as usize];
                slots.into_par_iter().with_min_len(1024).map(point).collect()
            })
            .collect();
        let counts = comm::exchange(group, &counts)?;
        let coordinates = comm::exchange(group, &coordinates)?;
        let mut points = points;
        // Where the sources of other ranks' boxes are, by node.
        let mut elsewhere = vec![0..0; nodes.len()];
        let mut begin = points.len() as u32;
        for (nodes, counts) in of_nodes.iter().zip(&counts) {
            for (&node, &count) in nodes.iter().zip(counts) {
                elsewhere[node] = begin..begin + count;
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
            cells: Vec::with_capacity(tree.cells.len() + nodes.len()),
            origins: Vec::with_capacity(tree.cells.len() + nodes.len()),
        };
        let levels = builder.cells();
        let index = builder.place_sources(&levels);
        let Builder { cells, origins, .. } = builder;
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

impl Essential {
    /// Which boxes hold any of this rank's sources, the first `own`.
    pub(super) fn own(&self, own: usize) -> Vec<bool> {
        let Self { tree: Tree { cells, .. }, order, .. } = self;
        let mut holds = vec![false; cells.len()];
        // Children come after their parents. Leaves are of one rank each.
        for (i, cell) in cells.iter().enumerate().rev() {
            holds[i] = if cell.is_leaf() {
                let first = order.index.get(cell.sources.start as usize);
                !cell.sources.is_empty() && first.is_some_and(|&first| (first as usize) < own)
            } else {
                holds[cell.children()].contains(&true)
            };
        }
        holds
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
    /// Where the sources of other ranks' boxes are, by node.
    elsewhere: &'a [Range<u32>],
    cells: Vec<Cell>,
    origins: Vec<Origin>,
}

/// Boxes that one job makes the children of, or gives their sources.
const JOB_CELLS: usize = 256;

impl Builder<'_> {
    /// Makes all boxes, without their sources, and returns the levels.
    fn cells(&mut self) -> Vec<Range<usize>> {
        let root = Origin { own: Some(0), node: Some(0) };
        self.cells.push(self.cell(0, root));
        self.origins.push(root);
        let mut levels: Vec<Range<usize>> = Vec::with_capacity(MAX_DEPTH + 1);
        levels.push(0..1);
        loop {
            let above = levels[levels.len() - 1].clone();
            let begin = self.cells.len();
            let this = &*self;
            let of_parent = |parent: usize| {
                let children = this.children(parent).into_iter().flatten();
                children.map(move |child| (this.cell(parent as u32, child), child))
            };
            let parents = above.into_par_iter().with_min_len(JOB_CELLS);
            let made: Vec<(Cell, Origin)> = parents.flat_map_iter(of_parent).collect();
            for (cell, origin) in made {
                let index = self.cells.len() as u32;
                let parent = &mut self.cells[cell.parent as usize];
                if parent.child_count == 0 {
                    parent.first_child = index;
                }
                parent.child_count += 1;
                self.cells.push(cell);
                self.origins.push(origin);
            }
            if self.cells.len() == begin {
                return levels;
            }
            levels.push(begin..self.cells.len());
        }
    }

    fn cell(&self, parent: u32, origin: Origin) -> Cell {
        let own = origin.own.map(|own| &self.own.cells[own]);
        let of_node = || origin.node.map_or((0, [0; 3]), |node| place(self.nodes[node].code));
        let (level, place) = own.map_or_else(of_node, |own| (own.level, own.place));
        Cell {
            place,
            level,
            child_count: 0,
            first_child: 0,
            parent,
            sources: 0..0,
            targets: own.map_or(0..0, |own| own.targets.clone()),
        }
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

    /// The sources of other ranks that a box has itself: those that stand for others' may be in a
    /// box that has children for own targets.
    fn of_others(&self, cell: usize) -> Range<u32> {
        self.origins[cell].node.map_or(0..0, |node| self.elsewhere[node].clone())
    }

    /// The own sources of a leaf, by their places in their order.
    fn of_own(&self, cell: usize) -> Range<u32> {
        let own = self.origins[cell].own.filter(|_| self.cells[cell].is_leaf());
        own.map_or(0..0, |own| self.own.cells[own].sources.clone())
    }

    /// Gives all boxes their sources, those of others first, and returns the sources in Morton
    /// order.
    fn place_sources(&mut self, levels: &[Range<usize>]) -> Vec<u32> {
        // Numbers of sources, from the leaves up, then places, from the root down.
        for cell in (0..self.cells.len()).rev() {
            let mut count = self.of_others(cell).len() + self.of_own(cell).len();
            if !self.cells[cell].is_leaf() {
                let children = &self.cells[self.cells[cell].children()];
                count += children.iter().map(|child| child.sources.len()).sum::<usize>();
            }
            self.cells[cell].sources = 0..count as u32;
        }
        for cell in levels.iter().take(levels.len() - 1).cloned().flatten() {
            let mut begin = self.cells[cell].sources.start + self.of_others(cell).len() as u32;
            if !self.cells[cell].is_leaf() {
                let children = self.cells[cell].children();
                for child in &mut self.cells[children] {
                    let end = begin + child.sources.end;
                    child.sources = begin..end;
                    begin = end;
                }
            }
        }
        let mut index = vec![0; self.cells[0].sources.len()];
        let shared = DisjointSlice::new(&mut index);
        let all = (0..self.cells.len()).into_par_iter().with_min_len(JOB_CELLS);
        all.for_each(|cell| {
            let (others, own) = (self.of_others(cell), self.of_own(cell));
            let begin = self.cells[cell].sources.start as usize;
            let middle = begin + others.len();
            // SAFETY: the places of a box's own part are those of no other box.
            let (to_others, to_own) =
                unsafe { (shared.slice(begin..middle), shared.slice(middle..middle + own.len())) };
            to_others.iter_mut().zip(others).for_each(|(to, i)| *to = i);
            to_own.copy_from_slice(&self.own_order.index[own.start as usize..own.end as usize]);
        });
        index
    }
}
