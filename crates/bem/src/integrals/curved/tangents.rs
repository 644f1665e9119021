//! Potentials of one piece at points of another, by the flat triangle that touches it where it is
//! nearest to the point.
//!
//! The triangle is the image of the piece's parameters under its linear map there, so that the
//! singularity, however narrow the piece is and however it bends, is in the closed form. What is
//! left, the difference of both kernels, is bounded, small where the piece turns by a small angle,
//! and integrated by rules on both pieces. The closed forms of these triangles minus those of the
//! ones through the corners change at ends of the piece: the other one is cut there until rules on
//! its parts agree (docs/math.md, "Curved panels").

use std::array;

use simd::{Elementary, Simd, Task};

use super::nodes::{dot, hats, minus, on_flat, total};
use super::pieces::Piece;
use super::{Both, CurvedPair, Limits, Scratch};
use crate::constants::ON_EDGE;
use crate::geometry::patch::{CORNERS, Parameters, Patch};
use crate::geometry::triangle::Triangle;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::transposed;
use crate::integrals::potentials::{WeightedPoints, edge_potential};
use crate::integrals::touching::Contact;
use crate::quadrature::curved_sums::Points;
use crate::quadrature::rule::Rule;

/// Degrees of the rules on the shorter piece and on the longer one, for what closed forms leave.
/// They differ, so that no point of one is a point of the other where pieces coincide.
const DEGREES: [[usize; 2]; 4] = [[5, 4], [8, 6], [11, 8], [15, 11]];

/// Change from one of these to the next over the one after that, where they are enough.
const FALL: f64 = 10.0;

/// Degrees of two rules on a part of the shorter piece, for closed forms.
const OF_PARTS: [usize; 2] = [5, 8];

/// Rules agree if they differ by this share of the allowed error, of either of both integrals.
const AGREE: f64 = 0.5;

/// Cuts of the shorter piece in two, after which the pair is cut instead, and the share of the
/// allowed error that each half may have.
const CUTS: usize = 8;
const OF_HALVES: f64 = 0.7;

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
        let is_last = limits.cuts == 0;
        let narrow = Narrow { pair: self, outer, inner, is_last };
        let Some(curved) = narrow.minus_flat(AGREE * limits.allowed) else {
            return self.add_cut(contact, [s, t], limits, scratch, sum);
        };
        let curved = if is_turned { transposed(curved) } else { curved };
        let [flat, _] = self.flat(s, t, scratch);
        self.add_blocks(s, t, &[plus(&curved, &flat), Block::default()], sum);
    }
}

fn plus(a: &Block, b: &Block) -> Block {
    array::from_fn(|k| array::from_fn(|l| a[k][l] + b[k][l]))
}

/// Two pieces, of which the first is not longer.
struct Narrow<'a> {
    pair: &'a CurvedPair,
    outer: &'a Piece,
    inner: &'a Piece,
    /// Whether the pair cannot be cut any more.
    is_last: bool,
}

impl Narrow<'_> {
    /// Means of potentials minus those of the flat triangles; `None` if rules do not agree.
    fn minus_flat(&self, allowed: f64) -> Option<Block> {
        Some(plus(&self.rest(allowed)?, &self.touching(&CORNERS, 1.0, allowed, CUTS)?))
    }

    /// Means of the potentials of `inner` minus those of the triangles that touch it.
    fn rest(&self, allowed: f64) -> Option<Block> {
        let mut last: Option<Block> = None;
        let mut enough = allowed * FALL.powi(DEGREES.len() as i32 - 2);
        for [degree, of_inner] in DEGREES {
            let points = Points::on_patch(Rule::of_degree(of_inner), &self.inner.patch, None);
            let [s, t] = [self.outer, self.inner];
            let block = simd::run(Rest { s, t, outer: Rule::of_degree(degree), inner: &points });
            if let Some(last) = last.replace(block) {
                let change = self.change(&block, &last);
                if change <= allowed {
                    return Some(block);
                }
                if change.is_nan() || change > enough {
                    break;
                }
                enough /= FALL;
            }
        }
        last.filter(|_| self.is_last)
    }

    /// Means over a part of `outer`, this share of it, of the potentials of triangles that touch
    /// `inner`, minus those of the flat triangle over its flat one.
    fn touching(
        &self,
        part: &[Parameters; 3],
        share: f64,
        allowed: f64,
        cuts: usize,
    ) -> Option<Block> {
        let [s, t] = [self.outer, self.inner];
        let [low, high] = OF_PARTS
            .map(|degree| simd::run(Tangents { s, t, part, share, rule: Rule::of_degree(degree) }));
        if self.change(&high, &low) <= allowed {
            return Some(high);
        }
        if cuts == 0 {
            return self.is_last.then_some(high);
        }
        let [a, b, c] = longest_first(part, &s.flat);
        let middle = [0, 1].map(|k| 0.5 * (a[k] + b[k]));
        let half = |part: [Parameters; 3]| {
            self.touching(&part, 0.5 * share, OF_HALVES * allowed, cuts - 1)
        };
        Some(plus(&half([a, middle, c])?, &half([middle, b, c])?))
    }

    /// The largest difference of wanted entries.
    fn change(&self, a: &Block, b: &Block) -> f64 {
        let difference = array::from_fn(|k| array::from_fn(|l| a[k][l] - b[k][l]));
        let mut change = Both::default();
        let blocks = [difference, Block::default()];
        self.pair.add_blocks(self.outer, self.inner, &blocks, &mut change);
        self.pair.change(&change, &Both::default())
    }
}

/// Corners of a part of a triangle, from the longest edge on.
fn longest_first(part: &[Parameters; 3], flat: &Triangle) -> [Parameters; 3] {
    let [u, v] = [1, 2].map(|k| flat.vertices[k] - flat.vertices[0]);
    let length = |k: usize| {
        let [s, t] = [0, 1].map(|axis| part[(k + 1) % 3][axis] - part[k][axis]);
        (u * s + v * t).norm_squared()
    };
    let longest = (0..3).fold(0, |most, k| if length(k) > length(most) { k } else { most });
    [0, 1, 2].map(|k| part[(longest + k) % 3])
}

/// Means over points of a part of `s` of the potentials of the triangles that touch `t`, minus
/// those of the flat triangles through the corners of both.
struct Tangents<'a> {
    s: &'a Piece,
    t: &'a Piece,
    part: &'a [Parameters; 3],
    /// Of the parameters.
    share: f64,
    rule: &'static Rule,
}

/// Means over points of `s` of the potentials of points of `t`, minus those of the same points on
/// the triangles that touch it.
struct Rest<'a> {
    s: &'a Piece,
    t: &'a Piece,
    /// Of points on `s`.
    outer: &'static Rule,
    /// Points on `t`.
    inner: &'a Points,
}

/// The triangle that touches `t` at these parameters: its first corner, seen from x, and its sides
/// from there.
#[inline(always)]
fn touching<V: Simd<Scalar = f64>>(t: &Piece, x: [V; 3], [p, q]: [V; 2]) -> [[V; 3]; 3] {
    let [along_p, along_q] = t.tangents.lanes(t.patch.order(), p, q);
    let mut first = minus(t.patch.lanes(p, q), x);
    for k in 0..3 {
        first[k] = along_p[k].neg_mul_add(p, along_q[k].neg_mul_add(q, first[k]));
    }
    [first, along_p, along_q]
}

/// Parameters nearest to x: those of the flat triangle, after a step to the foot on the plane that
/// touches there, where this is inside and nearer.
#[inline(always)]
fn nearest_on_curve<V: Simd<Scalar = f64>>(t: &Piece, x: [V; 3]) -> [V; 2] {
    let (zero, one) = (V::zero(), V::splat(1.0));
    let [p, q] = nearest(&t.flat, x);
    let [u, v] = t.tangents.lanes(t.patch.order(), p, q);
    let to = minus(x, t.patch.lanes(p, q));
    let (uu, uv, vv) = (dot(u, u), dot(u, v), dot(v, v));
    let (along_u, along_v) = (dot(to, u), dot(to, v));
    let per_square = one.div(uu.mul(vv).sub(uv.mul(uv)));
    let step = [
        vv.mul(along_u).sub(uv.mul(along_v)).mul(per_square),
        uu.mul(along_v).sub(uv.mul(along_u)).mul(per_square),
    ];
    let foot_p = p.add(step[0]).max(zero).min(one);
    let foot_q = q.add(step[1]).max(zero).min(one.sub(foot_p));
    let from_foot = minus(x, t.patch.lanes(foot_p, foot_q));
    let (before, after) = (dot(to, to), dot(from_foot, from_foot));
    [before.where_above(after, foot_p, p), before.where_above(after, foot_q, q)]
}

/// All corners of a triangle from the first and the sides there.
#[inline(always)]
fn corners<V: Elementary>([first, along_p, along_q]: [[V; 3]; 3]) -> [[V; 3]; 3] {
    let (mut second, mut third) = (first, first);
    for k in 0..3 {
        second[k] = first[k].add(along_p[k]);
        third[k] = first[k].add(along_q[k]);
    }
    [first, second, third]
}

impl Task<f64> for Tangents<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Block {
        let Self { s, t, part: [a, b, c], share, rule } = self;
        let ([_, of_s, of_t], weights) = rule.lanes();
        let mut sums = [[V::zero(); 3]; 3];
        for at in (0..weights.len()).step_by(V::LANES) {
            let (p, q) = (V::load(&of_s[at..]), V::load(&of_t[at..]));
            let mut parameters = [p; 2];
            for k in 0..2 {
                let (first, second) = (V::splat(b[k] - a[k]), V::splat(c[k] - a[k]));
                parameters[k] = first.mul_add(p, second.mul_add(q, V::splat(a[k])));
            }
            let [u, v] = parameters;
            let flat = on_flat(&s.flat.vertices, u, v);
            let touching = corners(touching(t, s.patch.lanes(u, v), nearest(&t.flat, flat)));
            let mut through = [flat; 3];
            for l in 0..3 {
                for k in 0..3 {
                    through[l][k] = V::splat(t.flat.vertices[l][k]).sub(flat[k]);
                }
            }
            let (touching, through) = (means(&touching), means(&through));
            let (weight, hats) = (V::load(&weights[at..]), hats(u, v));
            for l in 0..3 {
                let value = weight.mul(touching[l].sub(through[l]));
                for k in 0..3 {
                    sums[k][l] = hats[k].mul_add(value, sums[k][l]);
                }
            }
        }
        total(sums).map(|row| row.map(|sum| share * sum))
    }
}

impl Task<f64> for Rest<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Block {
        let Self { s, t, outer, inner } = self;
        let ([_, of_s, of_t], weights) = outer.lanes();
        let mut sums = [[V::zero(); 3]; 3];
        for at in (0..weights.len()).step_by(V::LANES) {
            let (u, v) = (V::load(&of_s[at..]), V::load(&of_t[at..]));
            let x = s.patch.lanes(u, v);
            let here = nearest(&t.flat, on_flat(&s.flat.vertices, u, v));
            let values = rest(inner, x, touching(t, x, here));
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

/// Potentials of a patch at points, which are filled up: means for the linear functions of its
/// corners by the second of two rules for what closed forms leave, and the largest change from the
/// first, shape (4, points).
pub(in crate::integrals) fn at_points(
    patch: &Patch,
    nodes: &WeightedPoints,
    degrees: [usize; 2],
) -> [Vec<f64>; 4] {
    let rules = degrees.map(|degree| Points::on_patch(Rule::of_degree(degree), patch, None));
    let t = Piece::new(*patch, CORNERS, false);
    let mut values = array::from_fn(|_| vec![0.0; nodes.x.len()]);
    simd::run(AtPoints { t: &t, nodes, rules: rules.each_ref(), values: &mut values });
    values
}

struct AtPoints<'a> {
    t: &'a Piece,
    nodes: &'a WeightedPoints,
    rules: [&'a Points; 2],
    values: &'a mut [Vec<f64>; 4],
}

impl Task<f64> for AtPoints<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { t, nodes, rules, values } = self;
        for at in (0..nodes.x.len()).step_by(V::LANES) {
            let x = nodes.at::<V>(at);
            let touching = touching(t, x, nearest_on_curve(t, x));
            let closed = means(&corners(touching));
            let (before, after) = (rest(rules[0], x, touching), rest(rules[1], x, touching));
            let mut change = V::zero();
            for l in 0..3 {
                change = change.max(after[l].sub(before[l]).abs());
                closed[l].add(after[l]).store(&mut values[l][at..]);
            }
            change.store(&mut values[3][at..]);
        }
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
fn rest<V: Elementary>(points: &Points, x: [V; 3], [corner, p, q]: [[V; 3]; 3]) -> [V; 3] {
    let rule = points.rule();
    let mut sums = [V::zero(); 3];
    for (at, node) in rule.nodes().iter().enumerate() {
        let y = minus(points.splat::<V>(at), x);
        let [first, s, t] = node.barycentric;
        let mut flat = corner;
        for k in 0..3 {
            flat[k] = V::splat(s).mul_add(p[k], V::splat(t).mul_add(q[k], flat[k]));
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
