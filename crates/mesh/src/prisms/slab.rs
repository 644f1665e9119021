//! The plane between two heights, cut along outlines.

use std::collections::HashMap;

use spade::{
    ConstrainedDelaunayTriangulation, FloatTriangulation as _, HierarchyHintGenerator, Point2,
    PositionInTriangulation, Triangulation as _,
};

use super::{Fault, OUTSIDE, Point, Prism, edges};

/// Sine of the angle between pieces of one straight line.
const STRAIGHT: f64 = 1e-12;

/// Vertices within this of a line, relative to its length, lie on it: cuts are rounded.
const ON: f64 = 1e-10;

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

/// Triangles between lines.
#[derive(Default)]
pub(super) struct Plan(Cdt);

impl Plan {
    /// Cuts the plane along lines, where they cross too.
    pub(super) fn new(lines: impl Iterator<Item = [Point; 2]>) -> Result<Self, Fault> {
        let mut cdt = Cdt::new();
        let mut ends = Vec::new();
        // Before all cuts: these make vertices that the triangulation's hints do not know of, and
        // later ones would get wrong numbers in them.
        for [a, b] in lines {
            let [from, to] = [a, b].map(|[x, y]| cdt.insert(Point2::new(x, y)));
            ends.push([from.map_err(|_| Fault::Outline)?, to.map_err(|_| Fault::Outline)?]);
        }
        for [from, to] in ends {
            if from != to {
                cdt.add_constraint_and_split(from, to, |at| at);
            }
        }
        Ok(Self(cdt))
    }

    /// Corners, anticlockwise, and centres of all triangles.
    pub(super) fn triangles(&self) -> impl Iterator<Item = ([Point; 3], Point)> {
        self.0.inner_faces().map(|face| {
            let corners = face.positions().map(|x| [x.x, x.y]);
            (corners, centre(corners))
        })
    }

    /// The vertices inside of a line that `keep` holds for.
    pub(super) fn on(&self, [a, b]: [Point; 2], keep: impl Fn(Point) -> bool) -> Vec<Point> {
        let along = minus(b, a);
        let square = along[0] * along[0] + along[1] * along[1];
        let near = ON * square.sqrt();
        let corner = |least: bool, by: f64| {
            let of = |k: usize| if least { a[k].min(b[k]) } else { a[k].max(b[k]) };
            Point2::new(of(0) + by, of(1) + by)
        };
        let around = self.0.get_vertices_in_rectangle(corner(true, -near), corner(false, near));
        let places = around.map(|vertex| [vertex.position().x, vertex.position().y]);
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
        places.filter(is_inside).collect()
    }
}

/// What is between two heights.
#[derive(Default)]
pub(super) struct Slab {
    plan: Plan,
    /// Of the faces, the outer one included.
    labels: Vec<u32>,
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
        let mut labels = vec![OUTSIDE; plan.0.num_all_faces()];
        for face in plan.0.inner_faces() {
            let at = centre(face.positions().map(|x| [x.x, x.y]));
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
        }
        let segments = segments(&plan.0, &labels);
        Ok(Self { plan, labels, segments })
    }

    /// The label at a point that lies on no segment.
    pub(super) fn label_at(&self, [x, y]: Point) -> u32 {
        let cdt = &self.plan.0;
        let face = match cdt.locate(Point2::new(x, y)) {
            PositionInTriangulation::OnFace(face) => face.index(),
            PositionInTriangulation::OnEdge(edge) => cdt.directed_edge(edge).face().fix().index(),
            PositionInTriangulation::OnVertex(vertex) => {
                let edge = cdt.vertex(vertex).out_edge();
                edge.map_or(0, |edge| edge.face().fix().index())
            }
            _ => return OUTSIDE,
        };
        self.labels.get(face).copied().unwrap_or(OUTSIDE)
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
