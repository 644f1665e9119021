//! Which boxes a treecode evaluates at which targets, and which it sums directly (docs/math.md,
//! "Treecode").

use parallel::prelude::*;

use crate::geometry::far_rows::{FAR, FarRows, band, class};
use crate::tree::lists::Rows;
use crate::tree::{Cell, MortonOrder, Root, Tree, side};

/// Smallest and largest coordinates of a box's targets, in units of the root's side.
type Bounds = [[f64; 3]; 2];

const NONE: Bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];

/// The bounds of the targets of all boxes.
fn bounds(root: &Root, tree: &Tree, order: &MortonOrder, targets: &[[f64; 3]]) -> Vec<Bounds> {
    let join = |[low, high]: Bounds, [l, h]: &Bounds| -> Bounds {
        let low = std::array::from_fn(|i| f64::min(low[i], l[i]));
        [low, std::array::from_fn(|i| f64::max(high[i], h[i]))]
    };
    let of_leaf = |cell: &Cell| {
        let own = if cell.is_leaf() { cell.targets.clone() } else { 0..0 };
        order.index[own.start as usize..own.end as usize].iter().fold(NONE, |bounds, &i| {
            let x = targets[i as usize];
            let x: [f64; 3] = std::array::from_fn(|k| (x[k] - root.corner[k]) / root.side);
            join(bounds, &[x, x])
        })
    };
    let mut all: Vec<Bounds> = tree.cells.par_iter().with_min_len(256).map(of_leaf).collect();
    for index in (1..tree.cells.len()).rev() {
        let parent = tree.cells[index].parent as usize;
        all[parent] = join(all[parent], &all[index]);
    }
    all
}

/// Distance of the nearest target within `bounds` from the centre of box `source`, in sides of the
/// latter.
fn distance([low, high]: &Bounds, source: &Cell) -> f64 {
    let centre = source.centre();
    let beyond = |i: usize| (low[i] - centre[i]).max(centre[i] - high[i]).max(0.0);
    let r2: f64 = (0..3).map(|i| beyond(i) * beyond(i)).sum();
    r2.sqrt() / side(source.level)
}

/// What a traversal knows.
pub(crate) struct Traversal<'a> {
    tree: &'a Tree,
    bounds: Vec<Bounds>,
    /// Boxes that were not split because each target is far from them, though not all of a box of
    /// targets need be.
    whole: &'a (dyn Fn(usize) -> bool + Sync),
    /// Pairs of points up to which a leaf is summed directly, at one target and for each more.
    direct: [f64; 2],
}

/// What one run of target boxes finds.
#[derive(Default)]
struct Found {
    near: Rows,
    near_pairs: u64,
    far: Rows,
    classes: Vec<u16>,
    /// For each box the pairs left to its children.
    begins: Vec<u32>,
    left: Vec<u32>,
}

/// Boxes that one job visits.
const JOB_CELLS: usize = 64;

impl<'a> Traversal<'a> {
    /// Over the boxes of `tree`; see [`Traversal`].
    pub(crate) fn new(
        root: &Root,
        tree: &'a Tree,
        order: &MortonOrder,
        targets: &[[f64; 3]],
        whole: &'a (dyn Fn(usize) -> bool + Sync),
        direct: [f64; 2],
    ) -> Self {
        Self { tree, bounds: bounds(root, tree, order, targets), whole, direct }
    }

    /// Near leaves of all leaves with their number of pairs of points, and far boxes.
    pub(crate) fn run(&self) -> (Rows, u64, FarRows) {
        let (mut near, mut near_pairs, mut far) = (Rows::default(), 0, FarRows::default());
        near.begins.push(0);
        far.begins.push(0);
        let mut above = vec![Found { begins: vec![0, 1], left: vec![0], ..Found::default() }];
        let mut begin_above = 0;
        for level in &self.tree.levels {
            let starts: Vec<usize> = level.clone().step_by(JOB_CELLS).collect();
            let found: Vec<Found> = starts
                .into_par_iter()
                .with_max_len(1)
                .map(|start| {
                    let mut found = Found::default();
                    found.begins.push(0);
                    let mut stack = Vec::new();
                    for index in start..(start + JOB_CELLS).min(level.end) {
                        let parent = self.tree.cells[index].parent as usize - begin_above;
                        let (of, slot) = (&above[parent / JOB_CELLS], parent % JOB_CELLS);
                        let inherited = of.begins[slot] as usize..of.begins[slot + 1] as usize;
                        stack.extend_from_slice(&of.left[inherited]);
                        self.visit(index, &mut stack, &mut found);
                        found.begins.push(found.left.len() as u32);
                    }
                    found
                })
                .collect();
            for found in &found {
                append(&mut near.cells, &mut near.begins, &mut near.entries, &found.near);
                append(&mut far.cells, &mut far.begins, &mut far.entries, &found.far);
                far.orders.extend_from_slice(&found.classes);
                near_pairs += found.near_pairs;
            }
            (above, begin_above) = (found, level.start);
        }
        (near, near_pairs, far)
    }

    /// Settles what it can between target box `index` and the boxes on `stack`. Of a pair that is
    /// not settled the larger box is split, the target's first when both are equal: a smaller box
    /// of targets may be far from all of the sources.
    fn visit(&self, index: usize, stack: &mut Vec<u32>, found: &mut Found) {
        let cells = &self.tree.cells;
        let target = &cells[index];
        let count = target.targets.len();
        if count == 0 {
            stack.clear();
            return;
        }
        let (first_near, first_far) = (found.near.entries.len(), found.far.entries.len());
        while let Some(s) = stack.pop() {
            let source = &cells[s as usize];
            if source.sources.is_empty() {
                continue;
            }
            let whole = (self.whole)(s as usize);
            let distance = distance(&self.bounds[index], source);
            if distance >= FAR || (whole && target.is_leaf()) {
                let [first, more] = self.direct;
                let cheap = source.sources.len() as f64 <= first + more * (count - 1) as f64;
                if cheap && source.is_leaf() && !whole {
                    let rest =
                        if target.is_leaf() { &mut found.near.entries } else { &mut found.left };
                    rest.push(s);
                    continue;
                }
                found.far.entries.push(s);
                found.classes.push(class(source.level, band(distance)) as u16);
            } else if !source.is_leaf() && (target.is_leaf() || source.level < target.level) {
                stack.extend(source.children().map(|child| child as u32));
            } else if target.is_leaf() {
                found.near.entries.push(s);
            } else {
                found.left.push(s);
            }
        }
        if found.far.entries.len() > first_far {
            found.far.cells.push(index as u32);
            found.far.begins.push(found.far.entries.len() as u32);
        }
        if target.is_leaf() {
            let near = &mut found.near.entries[first_near..];
            near.sort_unstable();
            let sources: u64 = near.iter().map(|&s| cells[s as usize].sources.len() as u64).sum();
            found.near_pairs += count as u64 * sources;
            found.near.cells.push(index as u32);
            found.near.begins.push(found.near.entries.len() as u32);
        }
    }
}

/// Appends rows; those of the parts begin without a zero.
fn append(cells: &mut Vec<u32>, begins: &mut Vec<u32>, entries: &mut Vec<u32>, part: &Rows) {
    let base = entries.len() as u32;
    cells.extend_from_slice(&part.cells);
    begins.extend(part.begins.iter().map(|end| end + base));
    entries.extend_from_slice(&part.entries);
}
