//! A binary tree of boxes around triangles.
//!
//! Triangles are split at the median of their centres along the longest side of the box, so that the depth is the logarithm of
//! their number whatever their places; building takes O(n log n).

use crate::vector::Vector;

/// Triangles in a leaf, at most.
const LEAF: usize = 4;

/// Stands for the label of a node with triangles of several labels.
pub(crate) const MIXED: u32 = u32::MAX;

/// An axis-parallel box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Box3 {
    pub low: Vector,
    pub high: Vector,
}

impl Box3 {
    const EMPTY: Self = Self { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

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
#[derive(Clone, Debug)]
pub(crate) struct Bvh {
    pub nodes: Vec<Node>,
    /// The triangles, leaf by leaf, as indices into the boxes that the tree was built from.
    pub order: Vec<u32>,
}

impl Bvh {
    /// Builds the tree over boxes.
    pub fn new(boxes: &[Box3]) -> Self {
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut nodes = Vec::with_capacity(boxes.len());
        if !boxes.is_empty() {
            nodes.push(leaf(boxes, &order, 0, boxes.len()));
        }
        let mut at = 0;
        while at < nodes.len() {
            let Node { bounds, start, count, .. } = nodes[at];
            if count as usize > LEAF {
                let (start, end) = (start as usize, (start + count) as usize);
                let axis = longest(&bounds);
                let centre = |i: u32| boxes[i as usize].low[axis] + boxes[i as usize].high[axis];
                let middle = (end - start) / 2;
                order[start..end]
                    .select_nth_unstable_by(middle, |a, b| centre(*a).total_cmp(&centre(*b)));
                let children = nodes.len() as u32;
                nodes.push(leaf(boxes, &order, start, start + middle));
                nodes.push(leaf(boxes, &order, start + middle, end));
                (nodes[at].count, nodes[at].children) = (0, children);
            }
            at += 1;
        }
        Self { nodes, order }
    }

    /// The triangles of a leaf.
    pub fn members(&self, node: &Node) -> &[u32] {
        &self.order[node.start as usize..(node.start + node.count) as usize]
    }

    /// For each node what `label` says of all triangles under it, `MIXED` where it does not say the same of all.
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

    /// Calls `visit` for every pair of leaves, a leaf with itself included, whose boxes overlap.
    pub fn overlapping_leaves(&self, visit: impl FnMut(&Node, &Node)) {
        self.overlapping_leaves_but(|_, _| false, visit);
    }

    /// The same without what lies under pairs of nodes that are to be skipped, told by their indices.
    pub fn overlapping_leaves_but(
        &self,
        skip: impl Fn(usize, usize) -> bool,
        mut visit: impl FnMut(&Node, &Node),
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let mut stack = vec![(0u32, 0u32)];
        while let Some((a, b)) = stack.pop() {
            let (node, other) = (&self.nodes[a as usize], &self.nodes[b as usize]);
            if !node.bounds.overlaps(&other.bounds) || skip(a as usize, b as usize) {
                continue;
            }
            match (node.count > 0, other.count > 0) {
                (true, true) => visit(node, other),
                _ if a == b => {
                    let c = node.children;
                    stack.extend([(c, c), (c, c + 1), (c + 1, c + 1)]);
                }
                (true, false) => {
                    stack.extend([(a, other.children), (a, other.children + 1)]);
                }
                (false, _) => {
                    stack.extend([(node.children, b), (node.children + 1, b)]);
                }
            }
        }
    }
}

fn leaf(boxes: &[Box3], order: &[u32], start: usize, end: usize) -> Node {
    let bounds = order[start..end]
        .iter()
        .fold(Box3::EMPTY, |sum, &member| sum.joined(&boxes[member as usize]));
    Node { bounds, start: start as u32, count: (end - start) as u32, children: 0 }
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
