//! Potentials of one piece at points of another, by the flat triangle that touches it where it is
//! nearest to the point.
//!
//! The triangle is the image of the piece's parameters under its linear map there, so that the
//! singularity, however narrow the piece is and however it bends, is in the closed form. What is
//! left, the difference of both kernels, is bounded, small where the piece turns by a small angle,
//! and integrated by a rule on the piece. The closed forms of these triangles minus those of the
//! ones through the corners are smooth enough for a rule on the other piece
//! (docs/math.md, "Curved panels").

use std::array;

use simd::{Elementary, Simd, Task};

use super::nodes::{dot, hats, minus, on_flat, total};
use super::pieces::Piece;
use super::{Both, CurvedPair, Limits, Scratch};
use crate::constants::ON_EDGE;
use crate::geometry::triangle::Triangle;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::transposed;
use crate::integrals::potentials::edge_potential;
use crate::integrals::touching::Contact;
use crate::quadrature::curved_sums::Points;
use crate::quadrature::rule::Rule;

/// Degrees of the rules on the shorter piece and on the longer one. They differ, so that no point
/// of one is a point of the other where pieces coincide.
const DEGREES: [[usize; 2]; 4] = [[5, 4], [8, 6], [11, 8], [15, 11]];

/// Two degrees agree if they differ by this share of the allowed error: where pieces meet at a
/// short edge or have all in common, errors are up to ten times as large as differences.
const AGREE: f64 = 0.1;

impl CurvedPair {
    /// Adds the potentials of pieces of which at least one is long; `s` and `t` start with what
    /// they have in common.
    pub(super) fn add_narrow(
        &self,
        contact: Contact,
        [s, t]: [&Piece; 2],
        limits: Limits,
        scratch: &mut Scratch,
        sum: &mut Both,
    ) {
        let is_turned = s.flat.diameter() > t.flat.diameter();
        let (outer, inner) = if is_turned { (t, s) } else { (s, t) };
        let mut last: Option<Both> = None;
        for [degree, of_inner] in DEGREES {
            let points = Points::on_patch(Rule::of_degree(of_inner), &inner.patch, None);
            let rule = Rule::of_degree(degree);
            let block = simd::run(Tangents { s: outer, t: inner, outer: rule, inner: &points });
            let block = if is_turned { transposed(block) } else { block };
            let mut entries = Both::default();
            self.add_blocks(s, t, &[block, Block::default()], &mut entries);
            let change = last.map(|last| self.change(&entries, &last));
            if change.is_some_and(|change| change <= AGREE * limits.allowed || limits.cuts == 0) {
                let [flat, _] = self.flat(s, t, scratch);
                let both = array::from_fn(|k| array::from_fn(|l| block[k][l] + flat[k][l]));
                return self.add_blocks(s, t, &[both, Block::default()], sum);
            }
            last = Some(entries);
        }
        self.add_cut(contact, [s, t], limits, scratch, sum);
    }
}

/// Means over points of `s` of the potentials of `t`, minus those of the flat triangles through
/// the corners of both.
pub(super) struct Tangents<'a> {
    pub(super) s: &'a Piece,
    pub(super) t: &'a Piece,
    /// Of points on `s`.
    pub(super) outer: &'static Rule,
    /// Points on `t`.
    pub(super) inner: &'a Points,
}

impl Task<f64> for Tangents<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Block {
        let Self { s, t, outer, inner } = self;
        let ([_, of_s, of_t], weights) = outer.lanes();
        let mut sums = [[V::zero(); 3]; 3];
        for at in (0..weights.len()).step_by(V::LANES) {
            let (u, v) = (V::load(&of_s[at..]), V::load(&of_t[at..]));
            let x = s.patch.lanes(u, v);
            let flat = on_flat(&s.flat.vertices, u, v);
            let [p, q] = nearest(&t.flat, flat);
            let [along_p, along_q] = t.tangents.lanes(t.patch.order(), p, q);
            let touching = {
                let at = minus(t.patch.lanes(p, q), x);
                let mut first = at;
                for k in 0..3 {
                    first[k] = along_p[k].neg_mul_add(p, along_q[k].neg_mul_add(q, at[k]));
                }
                let (mut second, mut third) = (first, first);
                for k in 0..3 {
                    second[k] = first[k].add(along_p[k]);
                    third[k] = first[k].add(along_q[k]);
                }
                [first, second, third]
            };
            let mut through = [flat; 3];
            for l in 0..3 {
                for k in 0..3 {
                    through[l][k] = V::splat(t.flat.vertices[l][k]).sub(flat[k]);
                }
            }
            let mut values = rest(inner, x, touching[0], [along_p, along_q]);
            for (corners, sign) in [(&touching, 1.0), (&through, -1.0)] {
                let of_corners = means(corners);
                for l in 0..3 {
                    values[l] = V::splat(sign).mul_add(of_corners[l], values[l]);
                }
            }
            let (weight, hats) = (V::load(&weights[at..]), hats(u, v));
            for l in 0..3 {
                let value = weight.mul(values[l]);
                for k in 0..3 {
                    sums[k][l] = hats[k].mul_add(value, sums[k][l]);
                }
            }
        }
        total(sums)
    }
}

/// Parameters of the points of a triangle that are nearest to these.
#[inline(always)]
fn nearest<V: Elementary>(t: &Triangle, x: [V; 3]) -> [V; 2] {
    let (zero, one) = (V::zero(), V::splat(1.0));
    let mut seen = [x; 3];
    for l in 0..3 {
        for k in 0..3 {
            seen[l][k] = x[k].sub(V::splat(t.vertices[l][k]));
        }
    }
    // Barycentric coordinates of the foot in the plane, and the least of them.
    let mut inside = [zero; 3];
    let mut least = one;
    let (mut best, mut on_edge) = (V::splat(f64::INFINITY), [zero; 3]);
    for i in 0..3 {
        let (j, opposite) = ((i + 1) % 3, (i + 2) % 3);
        let (mut below, mut along) = (zero, zero);
        for k in 0..3 {
            below = V::splat(-t.edge_normals[i][k]).mul_add(seen[i][k], below);
            along = V::splat(t.tangents[i][k]).mul_add(seen[i][k], along);
        }
        inside[opposite] = below.mul(V::splat(t.lengths[i] / (2.0 * t.area)));
        least = least.min(inside[opposite]);
        let share = along.mul(V::splat(1.0 / t.lengths[i])).max(zero).min(one);
        let mut from = [zero; 3];
        for k in 0..3 {
            from[k] = V::splat(-t.tangents[i][k] * t.lengths[i]).mul_add(share, seen[i][k]);
        }
        let distance = dot(from, from);
        let mut here = [zero; 3];
        (here[i], here[j]) = (one.sub(share), share);
        for l in 0..3 {
            on_edge[l] = best.where_above(distance, here[l], on_edge[l]);
        }
        best = best.min(distance);
    }
    [1, 2].map(|l| least.where_above(zero, inside[l], on_edge[l]))
}

/// Means of 1/|y - x| over the points, minus those over the triangle that touches, for the linear
/// functions of the corners. The triangle's first corner is seen from x.
#[inline(always)]
fn rest<V: Elementary>(points: &Points, x: [V; 3], corner: [V; 3], sides: [[V; 3]; 2]) -> [V; 3] {
    let rule = points.rule();
    let mut sums = [V::zero(); 3];
    for (at, node) in rule.nodes().iter().enumerate() {
        let y = minus(points.splat::<V>(at), x);
        let [first, s, t] = node.barycentric;
        let mut flat = corner;
        for k in 0..3 {
            flat[k] = V::splat(s).mul_add(sides[0][k], V::splat(t).mul_add(sides[1][k], flat[k]));
        }
        let [of_y, of_flat] = V::rsqrts_or_zero([dot(y, y), dot(flat, flat)]);
        let value = of_y.sub(of_flat);
        for (l, hat) in [first, s, t].into_iter().enumerate() {
            sums[l] = V::splat(node.weight * hat).mul_add(value, sums[l]);
        }
    }
    sums
}

/// Means of 1/|y| over a triangle with these corners, for their linear functions: equation (43) of
/// the mathematics.
#[inline(always)]
fn means<V: Elementary>(a: &[[V; 3]; 3]) -> [V; 3] {
    let (zero, half) = (V::zero(), V::splat(0.5));
    let sides = [minus(a[1], a[0]), minus(a[2], a[1]), minus(a[0], a[2])];
    let cross = cross(sides[0], sides[1]);
    let squares = [dot(sides[0], sides[0]), dot(sides[1], sides[1]), dot(sides[2], sides[2])];
    let [per_a, per_b, per_c] = V::rsqrts_or_zero(squares);
    let per_length = [per_a, per_b, per_c];
    let twice_area = dot(cross, cross).sqrt();
    let per_area = V::splat(1.0).div(twice_area);
    let normal = [cross[0].mul(per_area), cross[1].mul(per_area), cross[2].mul(per_area)];
    let r = [dot(a[0], a[0]).sqrt(), dot(a[1], a[1]).sqrt(), dot(a[2], a[2]).sqrt()];
    let z = dot(a[0], normal).abs();
    let z2 = z.mul(z);
    let (mut uniform, mut distance, mut length, mut out) =
        (zero, [zero; 3], [zero; 3], [[zero; 3]; 3]);
    for i in 0..3 {
        let j = (i + 1) % 3;
        let mut tangent = sides[i];
        for k in 0..3 {
            tangent[k] = sides[i][k].mul(per_length[i]);
        }
        out[i] = self::cross(tangent, normal);
        let d = dot(a[i], out[i]);
        let (s, t) = (dot(a[i], tangent), dot(a[j], tangent));
        let rho2 = d.mul_add(d, z2);
        let edge = edge_potential([s, t], [r[i], r[j]], rho2.add(V::splat(ON_EDGE)));
        distance[i] = d;
        length[i] = rho2.mul_add(edge, t.mul(r[j]).sub(s.mul(r[i]))).mul(half);
        uniform = d.mul_add(edge, uniform);
    }
    let volume = z.mul(twice_area);
    let cosines =
        dot(a[0], a[1]).mul_add(r[2], dot(a[1], a[2]).mul_add(r[0], dot(a[2], a[0]).mul(r[1])));
    let denominator = r[0].mul(r[1]).mul_add(r[2], cosines);
    let angle = V::atan2_above(volume, denominator).mul(V::splat(2.0));
    let uniform = uniform.sub(z.mul(angle));
    let mut values = [zero; 3];
    for l in 0..3 {
        let opposite = (l + 1) % 3;
        let mut sum = zero;
        for i in 0..3 {
            sum = dot(out[opposite], out[i]).mul_add(length[i], sum);
        }
        let per_height = squares[opposite].mul(per_length[opposite]).mul(per_area);
        values[l] = distance[opposite].mul(uniform).sub(sum).mul(per_height);
        // Per area.
        values[l] = values[l].mul(per_area).mul(V::splat(2.0));
    }
    values
}

#[inline(always)]
fn cross<V: Elementary>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [
        a[1].mul(b[2]).sub(a[2].mul(b[1])),
        a[2].mul(b[0]).sub(a[0].mul(b[2])),
        a[0].mul(b[1]).sub(a[1].mul(b[0])),
    ]
}
