//! Lines of the plane cut where they cross and where ends of others lie on them.
//!
//! Afterwards no two have more in common than ends, by exact predicates, although crossings are
//! rounded: a triangulation along them is valid.

use std::cmp::Ordering;

use robust::{Coord, orient2d};

use super::prism::{Fault, Point};
use crate::geometry::bvh::{Box3, Bvh};

/// Vertices within this of a line, relative to its length, lie on it: cuts are rounded.
pub(super) const ON: f64 = 1e-10;

/// Ends within this of a line, relative to its length, become part of it: less than what lies on
/// a line, as pieces of it are cut again.
const NEAR: f64 = ON / 8.0;

/// Rounded pieces may cross once more; they do so less and less often.
const PASSES: usize = 24;

/// A straight line from one point to another.
pub type Line = [Point; 2];

/// The pieces of lines, each once.
pub fn cut(lines: impl Iterator<Item = Line>) -> Result<Vec<Line>, Fault> {
    cut_within(PASSES, lines)
}

/// As [`cut`], in `passes` passes at most.
pub fn cut_within(passes: usize, lines: impl Iterator<Item = Line>) -> Result<Vec<Line>, Fault> {
    let mut lines = unique(lines);
    let mut last = [0.0; 2];
    for _ in 0..passes {
        let mut cuts = cuts(&lines);
        if cuts.is_empty() {
            return Ok(lines);
        }
        last = cuts[0].1;
        // Found in no order.
        let along = |k: u32, at: Point| {
            let [a, b] = lines[k as usize];
            (b[0] - a[0]) * (at[0] - a[0]) + (b[1] - a[1]) * (at[1] - a[1])
        };
        cuts.sort_by(|&(k, x), &(l, y)| {
            k.cmp(&l).then_with(|| along(k, x).total_cmp(&along(k, y))).then_with(|| order(&x, &y))
        });
        let mut pieces = Vec::with_capacity(lines.len() + cuts.len());
        let mut left = cuts.as_slice();
        for (k, &[from, to]) in lines.iter().enumerate() {
            let (own, rest) = left.split_at(left.partition_point(|(of, _)| *of as usize == k));
            left = rest;
            let ends = own.iter().map(|(_, at)| *at).chain([to]);
            let mut at = from;
            for next in ends {
                pieces.push([at, next]);
                at = next;
            }
        }
        lines = unique(pieces.into_iter());
    }
    Err(Fault::Crossings { at: last })
}

fn order(a: &Point, b: &Point) -> Ordering {
    a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
}

/// Each line once, from its lower end to its upper one; none without length.
fn unique(lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let directed = |line: Line| {
        let [a, b] = line.map(|at| at.map(|x| x + 0.0));
        if order(&a, &b).is_le() { [a, b] } else { [b, a] }
    };
    let mut lines: Vec<Line> = lines.map(directed).filter(|[a, b]| a != b).collect();
    lines.sort_unstable_by(|[a, b], [c, d]| order(a, c).then(order(b, d)));
    lines.dedup();
    lines
}

/// Where lines are to be cut: the indices of these, and the places.
fn cuts(lines: &[Line]) -> Vec<(u32, Point)> {
    let flat = |at: Point| [at[0], at[1], 0.0];
    let around = |&[a, b]: &Line| {
        let reach = NEAR * length([b[0] - a[0], b[1] - a[1]]);
        Box3::around(&[flat(a), flat(b)]).grown(reach)
    };
    let boxes: Vec<Box3> = lines.iter().map(around).collect();
    let tree = Bvh::new(&boxes);
    tree.overlapping_leaves(|node, other, found: &mut Vec<(u32, Point)>| {
        tree.pairs(node, other, |one, two| {
            // One crossing gives one point, whatever other lines there are.
            let [one, two] = [one.min(two), one.max(two)];
            if boxes[one as usize].overlaps(&boxes[two as usize]) {
                meet(lines, [one, two], found);
            }
        });
    })
}

/// Adds where two lines are to be cut.
fn meet(lines: &[Line], pair: [u32; 2], found: &mut Vec<(u32, Point)>) {
    let [one, two] = pair.map(|k| lines[k as usize]);
    let before = found.len();
    for (line, k, ends) in [(one, pair[0], two), (two, pair[1], one)] {
        found.extend(ends.into_iter().filter(|at| is_on(line, *at)).map(|at| (k, at)));
    }
    if found.len() > before || !(is_split(one, two) && is_split(two, one)) {
        return;
    }
    let at = crossing(one, two);
    for (line, k) in [(one, pair[0]), (two, pair[1])] {
        if is_between(line, at) {
            found.push((k, at));
        }
    }
}

/// Whether a point is nearly on a line, between its ends.
fn is_on([a, b]: Line, at: Point) -> bool {
    let (along, off) = ([b[0] - a[0], b[1] - a[1]], [at[0] - a[0], at[1] - a[1]]);
    let far = length(along);
    let cross = along[0] * off[1] - along[1] * off[0];
    cross.abs() <= NEAR * far * far && is_between([a, b], at)
}

/// Whether a point comes between the ends of a line.
fn is_between([a, b]: Line, at: Point) -> bool {
    let is_after = |from: Point, to: Point| {
        (to[0] - from[0]) * (at[0] - from[0]) + (to[1] - from[1]) * (at[1] - from[1]) > 0.0
    };
    at != a && at != b && is_after(a, b) && is_after(b, a)
}

/// Whether the ends of the second line are on different sides of the first one.
pub fn is_split([a, b]: Line, ends: Line) -> bool {
    let [one, other] = ends.map(|at| {
        let [a, b, at] = [a, b, at].map(|[x, y]| Coord { x, y });
        orient2d(a, b, at)
    });
    one > 0.0 && other < 0.0 || one < 0.0 && other > 0.0
}

/// Where two lines cross; exact if they are parallel to the axes.
fn crossing([a, b]: Line, [c, d]: Line) -> Point {
    let (u, v) = ([b[0] - a[0], b[1] - a[1]], [d[0] - c[0], d[1] - c[1]]);
    let across = u[0] * v[1] - u[1] * v[0];
    let share = ((c[0] - a[0]) * v[1] - (c[1] - a[1]) * v[0]) / across;
    let place = |k: usize| match (u[k] == 0.0, v[k] == 0.0) {
        (true, _) => a[k],
        (_, true) => c[k],
        _ => a[k] + share * u[k],
    };
    [place(0), place(1)]
}

fn length(along: Point) -> f64 {
    along[0].hypot(along[1])
}
