//! Neighbour search: a tree over panels in their order.

use std::ops::Range;

use crate::geometry::order::{LEAF, SEQUENTIAL};
use crate::geometry::triangle::Vec3;

/// Finds all panels j with |c_i - c_j| < max(reach_i, reach_j), for a panel i or a point.
pub struct Neighbours<'a> {
    centroids: &'a [Vec3],
    reach: &'a [f64],
    nodes: Vec<Node>,
}

/// The number of nodes of a range of this many panels.
fn nodes_of(panels: usize) -> usize {
    let (mut nodes, mut ranges) = (1, 1);
    while panels / ranges > LEAF {
        nodes += 2 * ranges;
        ranges *= 2;
    }
    // The ranges of a level differ by one panel: the larger ones may be halved once more.
    if panels / ranges == LEAF { nodes + 2 * (panels % ranges) } else { nodes }
}

/// What a tree is of.
#[derive(Clone, Copy)]
struct Of<'a> {
    centroids: &'a [Vec3],
    reach: &'a [f64],
}

impl Of<'_> {
    /// Fills the nodes of a range, parents before their children, which are numbered from `first`
    /// on.
    fn build(self, range: Range<usize>, first: usize, nodes: &mut [Node]) {
        let Some((own, others)) = nodes.split_first_mut() else { return };
        own.range = (range.start as u32, range.end as u32);
        let add = |own: &mut Node, low: &Vec3, high: &Vec3, reach: f64| {
            (own.low, own.high) = (own.low.inf(low), own.high.sup(high));
            own.reach = own.reach.max(reach);
        };
        if range.len() <= LEAF {
            let all = self.centroids[range.clone()].iter().zip(&self.reach[range]);
            all.for_each(|(x, reach)| add(own, x, x, *reach));
            return;
        }
        let middle = range.start + range.len() / 2;
        let (left, right) = others.split_at_mut(nodes_of(middle - range.start));
        let second = first + 1 + left.len();
        own.right = second as u32;
        let is_large = range.len() > SEQUENTIAL;
        let mut build_left = || self.build(range.start..middle, first + 1, left);
        let mut build_right = || self.build(middle..range.end, second, right);
        if is_large {
            rayon::join(build_left, build_right);
        } else {
            build_left();
            build_right();
        }
        for half in [&left[0], &right[0]] {
            add(own, &half.low, &half.high, half.reach);
        }
    }
}

/// A range of panels; its halves are the next node and `right`.
#[derive(Clone)]
struct Node {
    low: Vec3,
    high: Vec3,
    reach: f64,
    range: (u32, u32),
    right: u32,
}

impl Node {
    fn contains(&self, i: usize) -> bool {
        (self.range.0 as usize..self.range.1 as usize).contains(&i)
    }

    /// Whether a box is farther away than its `reach` and those of this node's panels.
    fn is_beyond(&self, low: &Vec3, high: &Vec3, reach: f64) -> bool {
        let mut apart = 0.0;
        for k in 0..3 {
            let d = (self.low[k] - high[k]).max(low[k] - self.high[k]).max(0.0);
            apart += d * d;
        }
        let within = reach.max(self.reach);
        apart > within * within
    }
}

impl<'a> Neighbours<'a> {
    /// Over centroids in the order of [`Panels`](crate::geometry::panels::Panels), with the reach
    /// of each.
    pub fn new(centroids: &'a [Vec3], reach: &'a [f64]) -> Self {
        let (low, high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        let empty = Node { low, high, reach: 0.0, range: (0, 0), right: 0 };
        let mut nodes = vec![empty; nodes_of(centroids.len())];
        Of { centroids, reach }.build(0..centroids.len(), 0, &mut nodes);
        Self { centroids, reach, nodes }
    }

    /// For searches of one panel after the other.
    pub fn walk(&self) -> Walk<'_> {
        Walk { search: self, leaf: 0..0, near: Vec::new() }
    }

    /// Appends the panels whose reach contains a point, in increasing order.
    pub fn around(&self, x: &Vec3, found: &mut Vec<u32>) {
        self.leaves(x, x, 0.0, |leaf| self.of_leaf(leaf, x, 0.0, found));
    }

    /// Appends the panels whose reach may contain a point of the box, in increasing order.
    pub(crate) fn around_box(&self, low: &Vec3, high: &Vec3, found: &mut Vec<u32>) {
        let beyond = |j: u32| {
            let (c, reach) = (&self.centroids[j as usize], self.reach[j as usize]);
            let outside = (low - c).sup(&(c - high)).map(|d| d.max(0.0));
            outside.norm_squared() > reach * reach
        };
        self.leaves(low, high, 0.0, |leaf| {
            let (start, end) = self.nodes[leaf as usize].range;
            found.extend((start..end).filter(|&j| !beyond(j)));
        });
    }

    /// Calls `f` with each leaf that may have neighbours of a box, in increasing order.
    fn leaves(&self, low: &Vec3, high: &Vec3, reach: f64, mut f: impl FnMut(u32)) {
        // Halves of 2^32 panels: one more is pending at each level.
        let mut open = [0u32; 34];
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let index = open[count];
            let node = &self.nodes[index as usize];
            if node.is_beyond(low, high, reach) {
                continue;
            }
            if node.right == 0 {
                f(index);
                continue;
            }
            open[count..count + 2].copy_from_slice(&[node.right, index + 1]);
            count += 2;
        }
    }

    /// Appends the neighbours in a leaf.
    fn of_leaf(&self, leaf: u32, x: &Vec3, reach: f64, found: &mut Vec<u32>) {
        let (start, end) = self.nodes[leaf as usize].range;
        for j in start..end {
            let within = reach.max(self.reach[j as usize]);
            if (self.centroids[j as usize] - x).norm_squared() < within * within {
                found.push(j);
            }
        }
    }
}

/// A search that keeps the leaves around its last panel's leaf: the next panel is usually in the
/// same one.
pub struct Walk<'a> {
    search: &'a Neighbours<'a>,
    leaf: Range<usize>,
    near: Vec<u32>,
}

impl Walk<'_> {
    /// Appends the neighbours of panel `i`, including itself, in increasing order.
    pub fn of(&mut self, i: usize, found: &mut Vec<u32>) {
        let search = self.search;
        if !self.leaf.contains(&i) {
            let mut index = 0;
            while search.nodes[index].right != 0 {
                let right = search.nodes[index].right as usize;
                index = if search.nodes[right].contains(i) { right } else { index + 1 };
            }
            let node = &search.nodes[index];
            self.leaf = node.range.0 as usize..node.range.1 as usize;
            self.near.clear();
            search.leaves(&node.low, &node.high, node.reach, |leaf| self.near.push(leaf));
        }
        let (x, reach) = (&search.centroids[i], search.reach[i]);
        for &leaf in &self.near {
            if !search.nodes[leaf as usize].is_beyond(x, x, reach) {
                search.of_leaf(leaf, x, reach, found);
            }
        }
    }
}
