//! Finds what lies across from edges of flat metal, in a tree of boxes.

use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};

use super::across::Across;

/// Relative error by rounding of what is straight or level.
const LEVEL: f64 = 1e-9;

impl Across {
    /// From the middle of an edge of metal with this point in it, to the nearest of all edges by
    /// circles that touch the edge there: of a disk's rim that is the rim all around it, and none
    /// is what goes on along the edge.
    pub fn from(ends: [Vector; 2], inside: Vector, rims: &Rims) -> Self {
        let [a, b] = ends;
        let along = sub(b, a);
        let level = cross(along, sub(inside, a));
        let [level, outward] = [level, cross(along, level)].map(|v| scale(1.0 / norm(v), v));
        let middle = scale(0.5, add(a, b));
        let mut view = View { middle, along, level, outward, metal: 0.0, gap: 0.0 };
        rims.nearest(&mut view);
        // Rounding leaves a small number where an edge goes straight on.
        let straight = |inverse: f64| if inverse * norm(along) < LEVEL { 0.0 } else { inverse };
        Self { metal: straight(view.metal), gap: straight(view.gap), ground: 0.0, corner: None }
    }

    /// The nearest of these corners that lies on an edge's line.
    pub(super) fn to_corner(ends: [Vector; 2], corners: &[Vector]) -> Option<[f64; 2]> {
        let [a, b] = ends;
        let along = scale(1.0 / norm(sub(b, a)), sub(b, a));
        let distances = |x: &Vector| {
            let [to_a, to_b] = [sub(*x, a), sub(*x, b)].map(|off| dot(off, along).abs());
            let off = norm(cross(sub(*x, a), along));
            (off <= LEVEL * (to_a + to_b)).then(|| [to_a.min(to_b), to_a.max(to_b)])
        };
        corners.iter().filter_map(distances).min_by(|a, b| a[0].total_cmp(&b[0]))
    }
}

/// What ends at two places.
pub trait Ends {
    /// The ends.
    fn ends(&self) -> [Vector; 2];
}

impl Ends for [Vector; 2] {
    fn ends(&self) -> Self {
        *self
    }
}

/// Edges in a tree of boxes.
#[derive(Debug)]
pub struct Rims<E = [Vector; 2]> {
    /// The corners of the box.
    pub low: Vector,
    /// See there.
    pub high: Vector,
    /// Its content.
    pub inner: Inner<E>,
}

/// The content of a box.
#[derive(Debug)]
pub enum Inner<E> {
    /// A few edges.
    Edges(Vec<E>),
    /// Two smaller boxes.
    Halves(Box<[Rims<E>; 2]>),
}

/// Edges of one box, at most.
const LEAF: usize = 8;

/// The view from the middle of an edge.
struct View {
    middle: Vector,
    along: Vector,
    /// Across the metal's plane, and in it away from the metal.
    level: Vector,
    outward: Vector,
    /// The largest inverses so far.
    metal: f64,
    gap: f64,
}

impl View {
    fn see(&mut self, other: [Vector; 2]) {
        let length = norm(self.along);
        let its = sub(other[1], other[0]);
        // Where others stand on this edge, as in corners, none is across.
        let alike = dot(self.along, its).abs() / (length * norm(its));
        for x in [nearest(other, self.middle), other[0], other[1]] {
            let away = sub(x, self.middle);
            // Itself has its middle there, but for rounding.
            let is_level = dot(away, self.level).abs() <= LEVEL * norm(away);
            if norm(away) > LEVEL * length && is_level {
                let inverse = alike * dot(away, self.outward) / dot(away, away);
                (self.metal, self.gap) = (self.metal.max(-inverse), self.gap.max(inverse));
            }
        }
    }

    /// Whether no place of a box has a larger inverse than there is, inward and outward.
    fn is_beyond(&self, of: &Rims) -> bool {
        let squared = of.squared_distance(self.middle);
        // The farthest that it goes this way.
        let reach = |sign: f64| -> f64 {
            let ends = |k: usize| [of.low[k], of.high[k]].map(|x| x - self.middle[k]);
            let along = |k: usize| ends(k).map(|off| sign * self.outward[k] * off);
            (0..3).map(|k| along(k)[0].max(along(k)[1])).sum()
        };
        let is_beyond = |sign: f64, known: f64| reach(sign) <= known * squared;
        is_beyond(-1.0, self.metal) && is_beyond(1.0, self.gap)
    }
}

impl<E: Ends> Rims<E> {
    /// The rims of all these edges.
    pub fn new(mut edges: Vec<E>) -> Self {
        let bound = |k: usize, of: fn(f64, f64) -> f64, start: f64| {
            edges.iter().flat_map(Ends::ends).map(|x| x[k]).fold(start, of)
        };
        let low: Vector = std::array::from_fn(|k| bound(k, f64::min, f64::INFINITY));
        let high: Vector = std::array::from_fn(|k| bound(k, f64::max, f64::NEG_INFINITY));
        if edges.len() <= LEAF {
            return Self { low, high, inner: Inner::Edges(edges) };
        }
        let longer = |a: usize, b: usize| if high[b] - low[b] > high[a] - low[a] { b } else { a };
        let axis = (1..3).fold(0, longer);
        let half = edges.len() / 2;
        let at = |edge: &E| {
            let [a, b] = edge.ends();
            a[axis] + b[axis]
        };
        edges.select_nth_unstable_by(half, |a, b| at(a).total_cmp(&at(b)));
        let second = edges.split_off(half);
        let halves = [edges, second].map(Self::new);
        Self { low, high, inner: Inner::Halves(Box::new(halves)) }
    }

    /// The edge that is nearest to a place, and its distance; none of no edges.
    pub fn nearest_to(&self, x: Vector) -> Option<(&E, f64)> {
        let mut known = None;
        self.nearer(x, &mut known);
        known.map(|(edge, squared)| (edge, squared.sqrt()))
    }

    /// Takes an edge that is nearer than the known one, whose squared distance is with it.
    fn nearer<'a>(&'a self, x: Vector, known: &mut Option<(&'a E, f64)>) {
        let least = |known: &Option<(&E, f64)>| known.map_or(f64::INFINITY, |known| known.1);
        if self.squared_distance(x) >= least(known) {
            return;
        }
        match &self.inner {
            Inner::Edges(edges) => {
                for edge in edges {
                    let off = sub(x, nearest(edge.ends(), x));
                    if dot(off, off) < least(known) {
                        *known = Some((edge, dot(off, off)));
                    }
                }
            }
            Inner::Halves(halves) => {
                let [a, b] = &**halves;
                let [first, second] =
                    if b.squared_distance(x) < a.squared_distance(x) { [b, a] } else { [a, b] };
                first.nearer(x, known);
                second.nearer(x, known);
            }
        }
    }

    /// The square of the box's distance from a place.
    fn squared_distance(&self, x: Vector) -> f64 {
        let off = |k: usize| (self.low[k] - x[k]).max(x[k] - self.high[k]).max(0.0);
        (0..3).map(|k| off(k) * off(k)).sum()
    }
}

impl Rims {
    fn nearest(&self, view: &mut View) {
        if view.is_beyond(self) {
            return;
        }
        match &self.inner {
            Inner::Edges(edges) => edges.iter().for_each(|edge| view.see(*edge)),
            Inner::Halves(halves) => {
                let [a, b] = &**halves;
                let [first, second] =
                    if b.squared_distance(view.middle) < a.squared_distance(view.middle) {
                        [b, a]
                    } else {
                        [a, b]
                    };
                first.nearest(view);
                second.nearest(view);
            }
        }
    }
}

/// The place between two ends that is nearest to another.
pub(super) fn nearest([a, b]: [Vector; 2], x: Vector) -> Vector {
    let along = sub(b, a);
    let share = (dot(along, sub(x, a)) / dot(along, along)).clamp(0.0, 1.0);
    add(a, scale(share, along))
}
