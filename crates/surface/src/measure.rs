//! Areas and volumes by quadrature over curved triangles.

use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};
use parallel::prelude::*;

use crate::field::Field;
use crate::shape::{Shape, Tag};

/// Barycentric coordinates and weight of the two orbits of three points each of the rule of
/// degree 4 (D. A. Dunavant, Int. J. Numer. Methods Eng. 21 (1985) 1129).
const RULE: [(f64, f64); 2] = [
    (0.445_948_490_915_965, 0.223_381_589_678_011),
    (0.091_576_213_509_771, 0.109_951_743_655_322),
];

/// Triangles with sides longer than this, relative to the details of the surface, are measured in
/// four parts.
const LONG: f64 = 0.25;

/// A triangle's share of the area, and of the volume as seen from the origin.
pub(crate) type Measure = [f64; 2];

impl<F: Field> Shape<'_, F> {
    /// The measures of some triangles with their middles on the surface.
    pub fn measures(&self, triangles: &[u32], side: f64, origin: Vector) -> Vec<Measure> {
        let in_parts = side > LONG * self.field.detail();
        let nodes = self.patches(triangles).nodes;
        let one = |(&t, nodes): (&u32, &[Vector])| {
            let nodes: [Vector; 6] = std::array::from_fn(|k| sub(nodes[k], origin));
            if !in_parts {
                return measure(&nodes);
            }
            self.quarters(t, nodes, origin).iter().fold([0.0; 2], |sum, part| {
                let own = measure(part);
                [sum[0] + own[0], sum[1] + own[1]]
            })
        };
        triangles.par_iter().zip(nodes.par_chunks_exact(6)).map(one).collect()
    }

    /// The four parts of a triangle between its corners and middles, with middles of their own.
    fn quarters(&self, t: u32, nodes: [Vector; 6], origin: Vector) -> [[Vector; 6]; 4] {
        let [a, b, c, ab, bc, ca] = nodes;
        // A side's quarters are on its crease; both triangles of a side see the same ends.
        let middle = |p: Vector, q: Vector, side: Option<u32>| {
            let (p, q) = if p < q { (p, q) } else { (q, p) };
            let at = add(scale(0.5, add(p, q)), origin);
            let near = |x: &Vector| norm(sub(*x, at)) < 0.3 * norm(sub(q, p));
            let found = match side.filter(|&h| self.mesh.is_creased(h)) {
                Some(h) => [self.mesh.from(h), self.mesh.to(h)].iter().find_map(|&v| {
                    match self.tags[v as usize] {
                        Tag::Crease(pair) => self.field.meet(&pair, at),
                        _ => None,
                    }
                }),
                None => self.field.foot(at).map(|foot| foot.point),
            };
            sub(found.filter(near).unwrap_or(at), origin)
        };
        let sides = [3 * t, 3 * t + 1, 3 * t + 2].map(Some);
        let inner = [middle(ab, bc, None), middle(bc, ca, None), middle(ca, ab, None)];
        [
            [a, ab, ca, middle(a, ab, sides[0]), inner[2], middle(ca, a, sides[2])],
            [ab, b, bc, middle(ab, b, sides[0]), middle(b, bc, sides[1]), inner[0]],
            [ca, bc, c, inner[1], middle(bc, c, sides[1]), middle(c, ca, sides[2])],
            [ab, bc, ca, inner[0], inner[1], inner[2]],
        ]
    }
}

/// The measure of a triangle of order 2.
pub fn measure(nodes: &[Vector; 6]) -> Measure {
    let [a, b, c, ab, bc, ca] = *nodes;
    let mut sum = [0.0; 2];
    for (near, weight) in RULE {
        let far = 1.0 - 2.0 * near;
        for [u, v, w] in [[near, near, far], [near, far, near], [far, near, near]] {
            let shares = [
                u * (2.0 * u - 1.0),
                v * (2.0 * v - 1.0),
                w * (2.0 * w - 1.0),
                4.0 * u * v,
                4.0 * v * w,
                4.0 * w * u,
            ];
            let point = |shares: [f64; 6]| {
                let terms = shares.iter().zip([a, b, c, ab, bc, ca]);
                terms.fold([0.0; 3], |sum, (s, x)| add(sum, scale(*s, x)))
            };
            let by_v = [1.0 - 4.0 * u, 4.0 * v - 1.0, 0.0, 4.0 * (u - v), 4.0 * w, -4.0 * w];
            let by_w = [1.0 - 4.0 * u, 0.0, 4.0 * w - 1.0, -4.0 * v, 4.0 * v, 4.0 * (u - w)];
            let normal = cross(point(by_v), point(by_w));
            sum[0] += 0.5 * weight * norm(normal);
            sum[1] += weight * dot(point(shares), normal) / 6.0;
        }
    }
    sum
}
