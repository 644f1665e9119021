//! The plane between two heights, cut along outlines.

use std::collections::HashMap;

use robust::{Coord, orient2d};
use spade::{ConstrainedDelaunayTriangulation, HierarchyHintGenerator, Point2, Triangulation as _};

use super::cut::{ON, cut};
use super::prism::{Fault, OUTSIDE, Point, Prism, edges};
use crate::geometry::bvh::{Box3, Bvh};

/// Sine of the angle between pieces of one straight line.
const STRAIGHT: f64 = 1e-12;

/// A straight piece of a line on which labels change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Segment {
    /// The bits of its ends' coordinates.
    bits: [[u64; 2]; 2],
    /// The labels to the left and to the right, the lesser one first.
    pub(super) sides: [u32; 2],
}

impl Segment {
    pub(super) fn ends(&self) -> [Point; 2] {
        self.bits.map(|x| x.map(f64::from_bits))
    }

    pub(super) fn middle(&self) -> Point {
        let [a, b] = self.ends();
        [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]
    }
}

type Cdt = ConstrainedDelaunayTriangulation<Point2<f64>, (), (), (), HierarchyHintGenerator<f64>>;

/// Triangles between lines. Points are not located by `spade`, whose search may go
/// around in circles where lines hold triangles away from Delaunay's.
#[derive(Default)]
pub(super) struct Plan {
    cdt: Cdt,
    /// The vertices, sorted by each coordinate.
    sorted: [Vec<Point>; 2],
}

impl Plan {
    /// Cuts the plane along lines, where they cross too.
    pub(super) fn new(lines: impl Iterator<Item = [Point; 2]>) -> Result<Self, Fault> {
        let mut cdt = Cdt::new();
        let mut ends = Vec::new();
        // All of them before any line, for the same reason.
        for [a, b] in cut(lines)? {
            let [from, to] = [a, b].map(|[x, y]| cdt.insert(Point2::new(x, y)));
            let at = |at: Point| move |_| Fault::Crossings { at };
            ends.push([from.map_err(at(a))?, to.map_err(at(b))?]);
        }
        for [from, to] in ends {
            if cdt.try_add_constraint(from, to).is_empty() {
                let at = cdt.vertex(from).position();
                return Err(Fault::Crossings { at: [at.x, at.y] });
            }
        }
        let sorted = [0, 1].map(|k| {
            let mut all: Vec<Point> =
                cdt.vertices().map(|vertex| [vertex.position().x, vertex.position().y]).collect();
            all.sort_by(|a, b| a[k].total_cmp(&b[k]));
            all
        });
        Ok(Self { cdt, sorted })
    }

    /// Corners, anticlockwise, and centres of all triangles.
    pub(super) fn triangles(&self) -> impl Iterator<Item = ([Point; 3], Point)> {
        self.cdt.inner_faces().map(|face| {
            let corners = face.positions().map(|x| [x.x, x.y]);
            (corners, centre(corners))
        })
    }

    /// The vertices inside of a line that `keep` holds for.
    pub(super) fn on(&self, [a, b]: [Point; 2], keep: impl Fn(Point) -> bool) -> Vec<Point> {
        let along = minus(b, a);
        let square = along[0] * along[0] + along[1] * along[1];
        let near = ON * square.sqrt();
        let [along_x, along_y] = [0, 1].map(|k| {
            let (low, high) = (a[k].min(b[k]) - near, a[k].max(b[k]) + near);
            let all = &self.sorted[k];
            let range = all.partition_point(|x| x[k] < low)..all.partition_point(|x| x[k] <= high);
            &all[range]
        });
        let around = if along_x.len() < along_y.len() { along_x } else { along_y };
        let is_inside = |x: &Point| {
            let off = minus(*x, a);
            let share = (off[0] * along[0] + off[1] * along[1]) / square;
            *x != a
                && *x != b
                && share > 0.0
                && share < 1.0
                && cross(along, off).abs() <= near * square.sqrt()
                && keep(*x)
        };
        around.iter().copied().filter(is_inside).collect()
    }
}

/// What is between two heights.
#[derive(Default)]
pub(super) struct Slab {
    /// Corners of triangles, and their labels.
    faces: Vec<([Point; 3], u32)>,
    tree: Bvh,
    /// In their order.
    pub(super) segments: Vec<Segment>,
}

impl Slab {
    pub(super) fn new(
        prisms: &[Prism],
        [low, high]: [f64; 2],
        is_body: &impl Fn(u32) -> bool,
    ) -> Result<Self, Fault> {
        let reaches = |k: &usize| prisms[*k].heights[0] <= low && prisms[*k].heights[1] >= high;
        let inside: Vec<usize> = (0..prisms.len()).filter(reaches).collect();
        let bounds: Vec<[Point; 2]> = inside.iter().map(|&k| bounds(&prisms[k])).collect();
        let rings = inside.iter().flat_map(|&k| &prisms[k].rings);
        let plan = Plan::new(rings.flat_map(|ring| edges(ring)))?;
        let mut labels = vec![OUTSIDE; plan.cdt.num_all_faces()];
        let mut faces = Vec::with_capacity(labels.len());
        for face in plan.cdt.inner_faces() {
            let corners = face.positions().map(|x| [x.x, x.y]);
            let at = centre(corners);
            let is_near =
                |[low, high]: &[Point; 2]| (0..2).all(|k| low[k] <= at[k] && high[k] >= at[k]);
            let near = inside.iter().zip(&bounds).filter(|(_, bounds)| is_near(bounds));
            let mut here = near.map(|(&k, _)| k).filter(|&k| prisms[k].contains(at));
            let Some(first) = here.next() else { continue };
            let label = prisms[first].label;
            let is_other = |&k: &usize| prisms[k].label != label && is_body(prisms[k].label);
            if is_body(label)
                && let Some(other) = here.find(is_other)
            {
                let at = [at[0], at[1], 0.5 * (low + high)];
                return Err(Fault::Meeting { prisms: [first, other], at });
            }
            labels[face.fix().index()] = label;
            if label != OUTSIDE {
                faces.push((corners, label));
            }
        }
        let segments = segments(&plan.cdt, &labels);
        let flat =
            |(corners, _): &([Point; 3], u32)| Box3::around(&corners.map(|[x, y]| [x, y, 0.0]));
        let tree = Bvh::new(&faces.iter().map(flat).collect::<Vec<Box3>>());
        Ok(Self { faces, tree, segments })
    }

    /// The label at a point that lies on no segment.
    pub(super) fn label_at(&self, [x, y]: Point) -> u32 {
        let at = Box3 { low: [x, y, 0.0], high: [x, y, 0.0] };
        let holds = |&face: &u32| {
            let corners = self.faces[face as usize].0;
            let side = |k: usize| {
                let [a, b] = [corners[k], corners[(k + 1) % 3]];
                let [a, b, at] = [a, b, [x, y]].map(|[x, y]| Coord { x, y });
                orient2d(a, b, at)
            };
            (0..3).all(|k| side(k) >= 0.0)
        };
        let mut open = if self.tree.nodes.is_empty() { vec![] } else { vec![0] };
        while let Some(node) = open.pop() {
            let node = &self.tree.nodes[node as usize];
            if !node.bounds.holds(&at) {
                continue;
            }
            if node.count == 0 {
                open.extend([node.children, node.children + 1]);
            } else if let Some(face) = self.tree.members(node).iter().find(|face| holds(face)) {
                return self.faces[*face as usize].1;
            }
        }
        OUTSIDE
    }
}

/// The lines on which labels change, as long as they are straight and between the same labels.
fn segments(cdt: &Cdt, labels: &[u32]) -> Vec<Segment> {
    let mut pieces = Vec::new();
    for edge in cdt.undirected_edges() {
        let edge = edge.as_directed();
        let [left, right] = [edge, edge.rev()].map(|edge| labels[edge.face().fix().index()]);
        let edge = if left < right { edge } else { edge.rev() };
        if left != right {
            let ends = [edge.from().fix().index(), edge.to().fix().index()];
            pieces.push((ends, [left.min(right), left.max(right)]));
        }
    }
    let position = |vertex: usize| {
        let at = cdt.vertex(spade::handles::FixedVertexHandle::from_index(vertex)).position();
        [at.x + 0.0, at.y + 0.0]
    };
    // The pieces that end and that begin at each vertex.
    let mut at: HashMap<usize, [Vec<usize>; 2]> = HashMap::new();
    for (k, ([from, to], _)) in pieces.iter().enumerate() {
        at.entry(*to).or_default()[0].push(k);
        at.entry(*from).or_default()[1].push(k);
    }
    let next = |k: usize| {
        let ([from, to], sides) = pieces[k];
        let [[_], [next]] = [&at[&to][0][..], &at[&to][1][..]] else { return None };
        let ([_, end], other) = pieces[*next];
        let [p, q, r] = [from, to, end].map(position);
        let (u, v) = (minus(q, p), minus(r, q));
        let is_straight = cross(u, v).abs() <= STRAIGHT * length(u) * length(v)
            && u[0] * v[0] + u[1] * v[1] > 0.0;
        (other == sides && is_straight).then_some(*next)
    };
    let mut is_later = vec![false; pieces.len()];
    (0..pieces.len()).filter_map(next).for_each(|k| is_later[k] = true);
    let mut found: Vec<Segment> = (0..pieces.len())
        .filter(|&k| !is_later[k])
        .map(|first| {
            let mut last = first;
            while let Some(after) = next(last) {
                last = after;
            }
            let ([from, _], sides) = pieces[first];
            let bits = [from, pieces[last].0[1]].map(|v| position(v).map(f64::to_bits));
            Segment { bits, sides }
        })
        .collect();
    found.sort_unstable();
    found
}

fn bounds(prism: &Prism) -> [Point; 2] {
    let all = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
    prism.rings.iter().flatten().fold(all, |[low, high], x| {
        let by = |k: usize| (low[k].min(x[k]), high[k].max(x[k]));
        let (of_x, of_y) = (by(0), by(1));
        [[of_x.0, of_y.0], [of_x.1, of_y.1]]
    })
}

fn centre(corners: [Point; 3]) -> Point {
    std::array::from_fn(|k| (corners[0][k] + corners[1][k] + corners[2][k]) / 3.0)
}

fn minus(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1]]
}

fn cross(a: Point, b: Point) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

fn length(a: Point) -> f64 {
    a[0].hypot(a[1])
}
