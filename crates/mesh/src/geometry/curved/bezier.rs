//! Curved triangles by control points ([`crate::geometry::curved`] has them by nodes).
//!
//! A patch lies within the convex hull of its control points, and those of its four parts are
//! means of its own: bounds that hold everywhere, and that close in on the surface four times as
//! near with every halving. Whatever lies on a side is computed from the nodes of that side alone,
//! so that triangles that share one find the same, bit by bit, down to its smallest parts.

use crate::geometry::bvh::Box3;
use crate::geometry::curved::{from_lower, places};
use crate::patch::{MAX_NODES, MAX_ORDER, node_count};
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, add, dot, scale, sub};

/// Index of the control point (order - j - k, j, k).
pub const fn index(j: usize, k: usize) -> usize {
    (j + k) * (j + k + 1) / 2 + k
}

/// A curved triangle, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Bezier {
    order: usize,
    points: [Vector; MAX_NODES],
}

/// The vertices of the four parts, each the middle of two corners, which may be one, as
/// [`crate::geometry::curved::QUARTERS`] has them.
const QUARTERS: [[(usize, usize); 3]; 4] = [
    [(0, 0), (0, 1), (2, 0)],
    [(0, 1), (1, 1), (1, 2)],
    [(2, 0), (1, 2), (2, 2)],
    [(0, 1), (1, 2), (2, 0)],
];

/// Shares of the nodes along a side in the control points between its ends.
const ALONG: [&[&[f64]]; MAX_ORDER + 1] = [
    &[],
    &[],
    &[&[-0.5, 2.0, -0.5]],
    &[&[-5.0 / 6.0, 3.0, -1.5, 1.0 / 3.0], &[1.0 / 3.0, -1.5, 3.0, -5.0 / 6.0]],
    &[
        &[-13.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25],
        &[13.0 / 18.0, -32.0 / 9.0, 20.0 / 3.0, -32.0 / 9.0, 13.0 / 18.0],
        &[-0.25, 4.0 / 3.0, -3.0, 4.0, -13.0 / 12.0],
    ],
];

/// The sum of weighted points; what all points share is kept exactly.
fn combined(points: impl Iterator<Item = (f64, Vector)>, origin: Vector) -> Vector {
    points.fold(origin, |sum, (weight, x)| {
        std::array::from_fn(|i| sum[i] + weight * (x[i] - origin[i]))
    })
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|k| k as f64).product()
}

/// Bernstein's polynomial of a control point at a node.
fn bernstein(order: usize, of: [usize; 3], at: [usize; 3]) -> f64 {
    let power = |m: usize| (at[m] as f64 / order as f64).powi(of[m] as i32) / factorial(of[m]);
    factorial(order) * power(0) * power(1) * power(2)
}

impl Bezier {
    /// The patch through these nodes.
    pub fn of(order: usize, nodes: &[Vector]) -> Self {
        let mut points = [[0.0; 3]; MAX_NODES];
        let places = places(order);
        for (node, [_, j, k]) in places.iter().enumerate().take(3) {
            points[index(*j, *k)] = nodes[node];
        }
        for side in 0..3 {
            let (along, is_turned) = from_lower(order, nodes, side);
            for (s, weights) in ALONG[order].iter().enumerate() {
                let s = if is_turned { order - 2 - s } else { s };
                let [_, j, k] = places[3 + side * (order - 1) + s];
                let terms = weights.iter().copied().zip(along);
                points[index(j, k)] = combined(terms, along[0]);
            }
        }
        // Those within: of order 4 three equations, whose inverse is that of [2 1 1, 1 2 1, 1 1 2].
        let inner = &places[3 * order..];
        let rest = |at: &[usize; 3]| {
            let known = places[..3 * order].iter();
            let terms = known.map(|&of| (bernstein(order, of, *at), points[index(of[1], of[2])]));
            let sum =
                terms.fold([0.0; 3], |sum, (weight, x)| add(sum, scale(weight, sub(x, nodes[0]))));
            let node = places.iter().position(|place| place == at).unwrap_or(0);
            sub(sub(nodes[node], nodes[0]), sum)
        };
        let rests: Vec<Vector> = inner.iter().map(rest).collect();
        for (n, of) in inner.iter().enumerate() {
            let own = bernstein(order, *of, *of);
            let from_origin = match order {
                3 => scale(1.0 / own, rests[0]),
                // Neighbours have half of it.
                _ => {
                    let others = (0..3).filter(|&m| m != n).map(|m| rests[m]);
                    let sum = others.fold([0.0; 3], add);
                    scale(0.5 / own, sub(scale(3.0, rests[n]), sum))
                }
            };
            points[index(of[1], of[2])] = add(nodes[0], from_origin);
        }
        Self { order, points }
    }

    /// Its control points.
    pub fn hull(&self) -> &[Vector] {
        &self.points[..node_count(self.order)]
    }

    /// The corners.
    pub fn corners(&self) -> [Vector; 3] {
        [0, index(self.order, 0), index(0, self.order)].map(|n| self.points[n])
    }

    /// A box around it.
    pub fn bounds(&self) -> Box3 {
        Box3::around(self.hull())
    }

    /// The control points along a side, from its first corner to its second.
    pub fn side(&self, side: usize) -> [Vector; MAX_ORDER + 1] {
        let mut along = [[0.0; 3]; MAX_ORDER + 1];
        for (s, to) in along.iter_mut().enumerate().take(self.order + 1) {
            let rest = self.order - s;
            *to = self.points[match side {
                0 => index(s, 0),
                1 => index(rest, s),
                _ => index(0, rest),
            }];
        }
        along
    }

    /// Second derivatives by the second and the third barycentric coordinate, where the first is
    /// one minus these: twice by the one, by both, twice by the other; in the mean.
    pub fn second(&self) -> [Vector; 3] {
        let mut sums = [[0.0; 3]; 3];
        for [_, j, k] in places(self.order - 2) {
            let at = |dj: usize, dk: usize| self.points[index(j + dj, k + dk)];
            let (here, by_j, by_k) = (at(0, 0), at(1, 0), at(0, 1));
            let second =
                |far: Vector, near: Vector, other: Vector| sub(sub(far, near), sub(other, here));
            let each = [
                second(at(2, 0), by_j, by_j),
                second(at(1, 1), by_j, by_k),
                second(at(0, 2), by_k, by_k),
            ];
            sums = std::array::from_fn(|m| add(sums[m], each[m]));
        }
        let p = self.order as f64;
        let factor = p * (p - 1.0) / node_count(self.order - 2) as f64;
        sums.map(|sum| scale(factor, sum))
    }

    /// The order of its polynomials.
    pub fn order(&self) -> usize {
        self.order
    }

    /// No point of it is further than this from that of the flat triangle with its corners at the
    /// same barycentric coordinates.
    pub fn bulge(&self) -> f64 {
        let [a, b, c] = self.corners();
        let (ab, ac, p) = (sub(b, a), sub(c, a), self.order as f64);
        let mut most = 0.0f64;
        for sum in 1..=self.order {
            for k in 0..=sum {
                let j = sum - k;
                let flat: Vector =
                    std::array::from_fn(|i| a[i] + (j as f64 * ab[i] + k as f64 * ac[i]) / p);
                let off = sub(self.points[index(j, k)], flat);
                most = most.max(dot(off, off));
            }
        }
        most.sqrt()
    }

    /// The changes from one control point to the next, times one over the order, on the way from
    /// the point that divides side `side` in these shares to the corner across.
    pub fn rises(&self, side: usize, shares: [f64; 2]) -> impl Iterator<Item = Vector> {
        let of = move |m: usize, [i, j, k]: [usize; 3]| {
            let mut place = [i, j, k];
            place[m] += 1;
            self.points[index(place[1], place[2])]
        };
        places(self.order - 1).iter().map(move |&place| {
            let foot =
                add(scale(shares[0], of(side, place)), scale(shares[1], of((side + 1) % 3, place)));
            sub(of((side + 2) % 3, place), foot)
        })
    }

    /// The four parts of the triangle that is cut at the middles of its sides, as
    /// `crate::geometry::curved::QUARTERS` has them.
    pub fn quarters(&self) -> [Self; 4] {
        QUARTERS.map(|vertices| self.part(vertices))
    }

    /// The part with these vertices: its control points are the values of the polar form there.
    fn part(&self, vertices: [(usize, usize); 3]) -> Self {
        let [a, b, c] = vertices.map(<[usize; 2]>::from);
        let mut part = Self { order: self.order, points: [[0.0; 3]; MAX_NODES] };
        let mut by_c = self.points;
        for k in 0..=self.order {
            let mut by_b = by_c;
            for j in 0..=self.order - k {
                let mut by_a = by_b;
                for left in (1..=self.order - j - k).rev() {
                    lower(&mut by_a, left, a);
                }
                part.points[index(j, k)] = by_a[0];
                if j + k < self.order {
                    lower(&mut by_b, self.order - j - k, b);
                }
            }
            if k < self.order {
                lower(&mut by_c, self.order - k, c);
            }
        }
        part
    }
}

/// The polar form of control points of an order with one argument in the middle of two corners: the
/// control points of the order below.
fn lower(points: &mut [Vector; MAX_NODES], order: usize, [p, q]: [usize; 2]) {
    let child = |corner: usize, j: usize, k: usize| match corner {
        0 => index(j, k),
        1 => index(j + 1, k),
        _ => index(j, k + 1),
    };
    for sum in 0..order {
        for k in 0..=sum {
            let j = sum - k;
            let (x, y) = (points[child(p, j, k)], points[child(q, j, k)]);
            // Equal in both orders, bit by bit. No later one needs what this replaces.
            points[index(j, k)] = std::array::from_fn(|i| 0.5 * (x[i] + y[i]));
        }
    }
}

/// The control points of the curved triangles of a surface.
#[derive(Clone, Debug)]
pub(crate) struct Nets {
    order: usize,
    points: Vec<Vector>,
}

impl Nets {
    /// The nets of some triangles.
    pub fn of(patches: &Patches, triangles: &[u32]) -> Self {
        use parallel::prelude::*;
        let order = patches.order;
        let of = |&t: &u32| {
            let patch = Bezier::of(order, patches.of(t as usize));
            patch.points.into_iter().take(node_count(order))
        };
        Self { order, points: triangles.par_iter().flat_map_iter(of).collect() }
    }

    /// One of them, by its place among them.
    pub fn get(&self, index: usize) -> Bezier {
        let count = node_count(self.order);
        let mut points = [[0.0; 3]; MAX_NODES];
        points[..count].copy_from_slice(self.hull(index));
        Bezier { order: self.order, points }
    }

    /// The control points of one.
    pub fn hull(&self, index: usize) -> &[Vector] {
        let count = node_count(self.order);
        &self.points[count * index..count * (index + 1)]
    }
}

/// A box around a triangle of a mesh, curved or flat.
pub(crate) fn bounds(mesh: &Mesh, triangle: usize) -> Box3 {
    match &mesh.patches {
        Some(patches) => Bezier::of(patches.order, patches.of(triangle)).bounds(),
        None => Box3::around(&mesh.corners(triangle)),
    }
}
