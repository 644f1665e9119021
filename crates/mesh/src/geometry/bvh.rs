//! A binary tree of boxes around triangles.
//!
//! Triangles are split at the median of their centres along the longest side of the box, so that
//! the depth is the logarithm of their number wherever they lie; building takes O(n log n).

use crate::vector::Vector;
use parallel::prelude::*;

/// Triangles in a leaf, at most.
const LEAF: usize = 4;

/// Trees over up to this number of triangles are built by one thread.
const SEQUENTIAL: usize = 8192;

/// Least number of pairs of nodes that are visited in parallel, if there are as many.
const TASKS: usize = 1024;

/// The label of a node with triangles of several labels.
pub(crate) const MIXED: u32 = u32::MAX;

/// An axis-parallel box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box3 {
    pub low: Vector,
    pub high: Vector,
}

impl Box3 {
    pub const EMPTY: Self = Self { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    pub fn around(points: &[Vector]) -> Self {
        points
            .iter()
            .fold(Self::EMPTY, |sum, point| sum.joined(&Self { low: *point, high: *point }))
    }

    pub fn joined(&self, other: &Self) -> Self {
        Self {
            low: std::array::from_fn(|i| self.low[i].min(other.low[i])),
            high: std::array::from_fn(|i| self.high[i].max(other.high[i])),
        }
    }

    /// Its longest side.
    pub fn size(&self) -> f64 {
        (0..3).map(|k| self.high[k] - self.low[k]).fold(0.0, f64::max)
    }

    /// Longer by `margin` on every side.
    pub fn grown(&self, margin: f64) -> Self {
        Self { low: self.low.map(|x| x - margin), high: self.high.map(|x| x + margin) }
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        (0..3).all(|i| self.low[i] <= other.high[i] && other.low[i] <= self.high[i])
    }

    pub fn holds(&self, other: &Self) -> bool {
        (0..3).all(|i| self.low[i] <= other.low[i] && other.high[i] <= self.high[i])
    }

    /// Whether a line from a point comes through within `reach` lengths of its direction.
    pub fn is_met_by(&self, from: Vector, direction: Vector, reach: f64) -> bool {
        let (mut enter, mut leave) = (0.0f64, reach);
        for i in 0..3 {
            if direction[i] == 0.0 {
                if from[i] < self.low[i] || from[i] > self.high[i] {
                    return false;
                }
                continue;
            }
            let (s, t) =
                ((self.low[i] - from[i]) / direction[i], (self.high[i] - from[i]) / direction[i]);
            (enter, leave) = (enter.max(s.min(t)), leave.min(s.max(t)));
        }
        enter <= leave
    }

    /// The square of the distance of a point, 0 inside.
    pub fn distance_squared(&self, point: Vector) -> f64 {
        let gap = |i: usize| (self.low[i] - point[i]).max(point[i] - self.high[i]).max(0.0);
        (0..3).map(|i| gap(i) * gap(i)).sum()
    }

    /// The square of the distance of another box, 0 where they overlap.
    pub fn gap_squared(&self, other: &Self) -> f64 {
        let gap = |i: usize| (self.low[i] - other.high[i]).max(other.low[i] - self.high[i]);
        (0..3).map(|i| gap(i).max(0.0).powi(2)).sum()
    }
}

/// A node: a leaf if `count` is not 0, else one with two children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub bounds: Box3,
    /// First of its triangles in the order of the tree.
    pub start: u32,
    /// Triangles of a leaf.
    pub count: u32,
    /// The children are this node and the next.
    pub children: u32,
}

/// The tree. Its root is node 0; without triangles there are no nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bvh {
    pub nodes: Vec<Node>,
    /// The triangles, leaf by leaf, as indices into the boxes that the tree was built from.
    pub order: Vec<u32>,
}

impl Bvh {
    /// Builds the tree over boxes.
    pub fn new(boxes: &[Box3]) -> Self {
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let nodes = if boxes.is_empty() { Vec::new() } else { build(boxes, &mut order, 0) };
        Self { nodes, order }
    }

    /// The triangles of a leaf.
    pub fn members(&self, node: &Node) -> &[u32] {
        &self.order[node.start as usize..(node.start + node.count) as usize]
    }

    /// The triangles whose boxes lie within another one, in no order; `boxes`: those of the tree.
    pub fn held_by(&self, outer: &Box3, boxes: &[Box3]) -> Vec<u32> {
        let mut found = Vec::new();
        let enters = |_: &mut _, index: usize| self.nodes[index].bounds.overlaps(outer);
        self.visit(&mut found, enters, |found, members| {
            found.extend(members.iter().filter(|&&member| outer.holds(&boxes[member as usize])));
        });
        found
    }

    /// Visits the triangles of all leaves on the ways down from the root along nodes that `enters`.
    pub fn visit<S>(
        &self,
        state: &mut S,
        mut enters: impl FnMut(&mut S, usize) -> bool,
        mut visit: impl FnMut(&mut S, &[u32]),
    ) {
        let mut stack = Vec::with_capacity(64);
        stack.extend((!self.nodes.is_empty()).then_some(0));
        while let Some(index) = stack.pop() {
            if !enters(state, index) {
                continue;
            }
            let node = &self.nodes[index];
            if node.count > 0 {
                visit(state, self.members(node));
            } else {
                stack.extend([node.children as usize, node.children as usize + 1]);
            }
        }
    }

    /// As [`Self::visit`], of two children the one with the smaller `gap` first, which `enters`
    /// gets, too.
    pub fn visit_nearest<S>(
        &self,
        state: &mut S,
        gap: impl Fn(&Box3) -> f64,
        enters: impl Fn(&S, f64, usize) -> bool,
        mut visit: impl FnMut(&mut S, u32),
    ) {
        let gap = |index: usize| gap(&self.nodes[index].bounds);
        let mut stack = Vec::with_capacity(64);
        stack.extend((!self.nodes.is_empty()).then(|| (gap(0), 0)));
        while let Some((bound, index)) = stack.pop() {
            if !enters(state, bound, index) {
                continue;
            }
            let node = &self.nodes[index];
            if node.count > 0 {
                self.members(node).iter().for_each(|&member| visit(state, member));
                continue;
            }
            let first = node.children as usize;
            let mut children = [first, first + 1].map(|child| (gap(child), child));
            // Pushed last, the nearer child is visited first.
            if children[0].0 < children[1].0 {
                children.swap(0, 1);
            }
            stack.extend(children);
        }
    }

    /// Calls `visit` for each pair of members of two leaves.
    pub fn pairs(&self, a: &Node, b: &Node, mut visit: impl FnMut(u32, u32)) {
        let same = a.start == b.start;
        for (i, &s) in self.members(a).iter().enumerate() {
            let others = self.members(b);
            others[if same { i + 1 } else { 0 }..].iter().for_each(|&t| visit(s, t));
        }
    }

    /// For each node the label of all triangles under it, `MIXED` where their labels differ.
    pub fn common(&self, label: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut labels = vec![MIXED; self.nodes.len()];
        // Children come after their parents.
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let children = node.children as usize;
            let joined = |a: u32, b: u32| if a == b { a } else { MIXED };
            labels[index] = if node.count > 0 {
                let each = self.members(node).iter().map(|&member| label(member));
                each.reduce(joined).unwrap_or(MIXED)
            } else {
                joined(labels[children], labels[children + 1])
            };
        }
        labels
    }

    /// Everything that `visit` adds for the pairs of leaves whose boxes overlap, a leaf with itself
    /// included; in no order.
    pub fn overlapping_leaves<T: Send>(
        &self,
        visit: impl Fn(&Node, &Node, &mut Vec<T>) + Sync,
    ) -> Vec<T> {
        self.overlapping_leaves_but(|_, _| false, visit)
    }

    /// Without what lies under pairs of nodes for which `skip` holds, by their indices.
    pub fn overlapping_leaves_but<T: Send>(
        &self,
        skip: impl Fn(usize, usize) -> bool + Sync,
        visit: impl Fn(&Node, &Node, &mut Vec<T>) + Sync,
    ) -> Vec<T> {
        let mut found = Vec::new();
        if self.nodes.is_empty() {
            return found;
        }
        let step = |(a, b): (u32, u32), open: &mut Vec<(u32, u32)>, found: &mut Vec<T>| {
            if let Some((node, other)) = self.opened(a, b, &skip, open) {
                visit(node, other, found);
            }
        };
        // Level by level until there are pairs for all threads.
        let mut open = vec![(0, 0)];
        while !open.is_empty() && open.len() < TASKS {
            for pair in std::mem::take(&mut open) {
                step(pair, &mut open, &mut found);
            }
        }
        let under = |pair: (u32, u32)| {
            let (mut open, mut found) = (vec![pair], Vec::new());
            while let Some(pair) = open.pop() {
                step(pair, &mut open, &mut found);
            }
            found
        };
        found.par_extend(open.into_par_iter().flat_map_iter(under));
        found
    }

    /// Puts the pairs of children of two nodes that overlap on `open`, or returns the nodes if they
    /// are leaves.
    fn opened(
        &self,
        a: u32,
        b: u32,
        skip: impl Fn(usize, usize) -> bool,
        open: &mut Vec<(u32, u32)>,
    ) -> Option<(&Node, &Node)> {
        let (node, other) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        if !node.bounds.overlaps(&other.bounds) || skip(a as usize, b as usize) {
            return None;
        }
        match (node.count > 0, other.count > 0) {
            (true, true) => return Some((node, other)),
            _ if a == b => {
                let c = node.children;
                open.extend([(c, c), (c, c + 1), (c + 1, c + 1)]);
            }
            (true, false) => open.extend([(a, other.children), (a, other.children + 1)]),
            (false, _) => open.extend([(node.children, b), (node.children + 1, b)]),
        }
        None
    }
}

/// The tree over some triangles, which are put in its order and begin at `start` in that of the
/// whole: children come after their parents, both next to each other.
fn build(boxes: &[Box3], order: &mut [u32], start: usize) -> Vec<Node> {
    let joined = |sum: Box3, &member: &u32| sum.joined(&boxes[member as usize]);
    if order.len() <= SEQUENTIAL {
        let bounds = order.iter().fold(Box3::EMPTY, joined);
        let mut nodes = Vec::with_capacity(order.len());
        nodes.push(leaf(bounds, start, order.len()));
        let mut at = 0;
        while at < nodes.len() {
            let Node { bounds, start: first, count, .. } = nodes[at];
            if count as usize > LEAF {
                let first = first as usize - start;
                let of_node = &mut order[first..first + count as usize];
                let halves = halves(boxes, of_node, &bounds);
                let mut place = start + first;
                let children = nodes.len() as u32;
                for half in halves {
                    nodes.push(leaf(half.iter().fold(Box3::EMPTY, joined), place, half.len()));
                    place += half.len();
                }
                (nodes[at].count, nodes[at].children) = (0, children);
            }
            at += 1;
        }
        return nodes;
    }
    let bounds = order
        .par_chunks(SEQUENTIAL)
        .map(|members| members.iter().fold(Box3::EMPTY, joined))
        .reduce(|| Box3::EMPTY, |a, b| a.joined(&b));
    let [left, right] = halves(boxes, order, &bounds);
    let middle = start + left.len();
    let (left, right) = rayon::join(|| build(boxes, left, start), || build(boxes, right, middle));
    let root = Node { children: 1, ..leaf(bounds, start, 0) };
    // Both roots, then the nodes under each.
    let shift = 1 + left.len() as u32;
    let of_left = |node: &Node| Node { children: node.children + 2, ..*node };
    let of_right = |node: &Node| Node { children: node.children + shift, ..*node };
    let first = [root, of_left(&left[0]), of_right(&right[0])].into_iter();
    let under = left[1..].iter().map(of_left).chain(right[1..].iter().map(of_right));
    first.chain(under).collect()
}

/// Splits triangles at the median of their centres along the longest side of their box.
fn halves<'a>(boxes: &[Box3], order: &'a mut [u32], bounds: &Box3) -> [&'a mut [u32]; 2] {
    let axis = longest(bounds);
    let centre = |i: u32| boxes[i as usize].low[axis] + boxes[i as usize].high[axis];
    let middle = order.len() / 2;
    order.select_nth_unstable_by(middle, |a, b| centre(*a).total_cmp(&centre(*b)));
    order.split_at_mut(middle).into()
}

fn leaf(bounds: Box3, start: usize, count: usize) -> Node {
    Node { bounds, start: start as u32, count: count as u32, children: 0 }
}

fn longest(bounds: &Box3) -> usize {
    let side = |i: usize| bounds.high[i] - bounds.low[i];
    let mut longest = 0;
    for i in 1..3 {
        if side(i) > side(longest) {
            longest = i;
        }
    }
    longest
}
