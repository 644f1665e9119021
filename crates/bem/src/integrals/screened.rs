//! What screening changes in integrals over triangles: exp(-kappa r)/r - 1/r, and the same of
//! normal derivatives.
//!
//! These kernels stay bounded where triangles touch, but are not smooth there. Most pairs use the
//! transformations of [`touching`](super::touching), with more points until two orders agree. Where
//! that fails (long triangles, triangles that nearly touch or are larger than the screening
//! length), the outer integral is that of `outer`, and the inner one is taken along the edges: with
//! G' = g r for a kernel g, polar coordinates about the foot of x in the plane of T, at the height
//! z, give
//!
//! ```text
//! int_T g = sum_i int_(edge i) (G(r) - G(|z|)) d(angle)
//! int_T (y - foot) g = sum_i n_i int_(edge i) G(r) ds
//! ```

use std::f64::consts::PI;

use simd::{Elementary, One, Simd, Task};

use super::curved::TOGETHER;
use super::curved::nodes::{add, dot, hats, minus, on_flat, total};
use super::curved::pieces::contact;
use super::linear_nodes::{Block, Potential};
use super::linear_pair::{ENTRY, square};
use super::outer::{OuterQuadrature, Touching};
use super::potentials::WeightedPoints;
use super::solid_angle::in_plane_of;
use super::touching::{Contact, ORDERS, PairNodes};
use crate::geometry::triangle::{Triangle, Vec3};
use crate::quadrature;
use crate::quadrature::sums::decay;

/// Higher orders cost more than integrals along edges.
const MOST_ORDER: usize = 6;

/// Orders may agree by chance on triangles of more screening lengths: nothing of the kernel is left
/// where points are.
const LONGEST: f64 = 8.0;

/// Orders converge slowly on triangles more slender than this.
const SLENDER: f64 = 10.0;

/// Points along a part of an edge, a multiple of all vectors' lengths, and the part's length in
/// tau, the edge being at h sinh(tau): integrands are analytic up to the distance pi/2 from it.
const POINTS: usize = 16;
const PART: f64 = 1.5;

/// The line of an edge is no closer than this share of its length.
const ON_LINE: f64 = 1e-10;

/// Integrals of the change of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Screening {
    /// Inverse of the screening length.
    pub kappa: f64,
    /// Accuracy relative to the integral without screening; for normal derivatives, to the solid
    /// angle 2 pi.
    pub accuracy: f64,
}

impl Screening {
    /// The share of the unscreened integral over something of this size that screening leaves,
    /// about: errors must be smaller by as much.
    pub(crate) fn share(kappa: f64, size: f64) -> f64 {
        1.0 / (1.0 + kappa * size)
    }

    /// int_S int_T lambda_k(x) mu_l(y) times the change of 1/r, or of n_y . (x - y) / r^3.
    pub fn between(
        &self,
        s: &Triangle,
        t: &Triangle,
        layer: Potential,
        nodes: &mut WeightedPoints,
    ) -> Block {
        if layer == Potential::Double && in_plane_of(s, t) {
            return Block::default();
        }
        let unit = match layer {
            Potential::Single => s.area * t.potential_at(&s.centroid),
            Potential::Double => 2.0 * PI * s.area.min(t.area),
        };
        let allowed = ENTRY * self.accuracy * unit;
        if let Some(block) = self.by_orders(s, t, layer, allowed) {
            return block;
        }
        let sum = |nodes: &mut WeightedPoints| {
            simd::run(AlongEdges { nodes, s, t, kappa: self.kappa, layer })
        };
        let touching = Touching::Logarithmic;
        square(OuterQuadrature { sum, allowed, touching, nodes }.over(s, t))
    }

    /// The same by the first order that agrees with the one before.
    fn by_orders(
        &self,
        s: &Triangle,
        t: &Triangle,
        layer: Potential,
        allowed: f64,
    ) -> Option<Block> {
        let (contact, [of_s, of_t]) = contact(s, t, TOGETHER * (s.radius + t.radius));
        let apart = (s.centroid - t.centroid).norm() - s.radius - t.radius;
        if contact == Contact::Apart && apart < 0.0
            || s.slenderness().max(t.slenderness()) > SLENDER
            || self.kappa * s.radius.max(t.radius) > LONGEST
        {
            return None;
        }
        let vertices = [of_s.map(|k| s.vertices[k]), of_t.map(|l| t.vertices[l])];
        let normal = (layer == Potential::Double).then_some(t.normal);
        let areas = s.area * t.area;
        let (mut last, mut before): (Option<Block>, f64) = (None, f64::INFINITY);
        for order in *ORDERS.start()..=MOST_ORDER {
            let nodes = PairNodes::of(contact, order);
            let block =
                simd::run(Changes { nodes, vertices: &vertices, kappa: self.kappa, normal });
            if let Some(last) = last {
                let pairs = block.as_flattened().iter().zip(last.as_flattened());
                let changes = pairs.map(|(a, b)| areas * (a - b).abs());
                let change = changes.fold(0.0, |most, d| if d <= most { most } else { d });
                if change <= allowed {
                    let mut own = Block::default();
                    for (k, row) in of_s.into_iter().zip(block) {
                        of_t.into_iter().zip(row).for_each(|(l, mean)| own[k][l] = areas * mean);
                    }
                    return Some(own);
                }
                // The remaining orders must be likely to suffice.
                let fall = (change / before).min(1.0);
                if change * fall.powi((MOST_ORDER - order) as i32) > allowed {
                    return None;
                }
                before = change;
            }
            last = Some(block);
        }
        None
    }

    /// int_T mu_l(y) times the change of 1/|x - y|, or of normal . (x - y) / |x - y|^3 where a
    /// normal is given. A point on the triangle is its centroid.
    pub(crate) fn at(
        &self,
        x: &Vec3,
        t: &Triangle,
        normal: Option<Vec3>,
        nodes: &mut WeightedPoints,
    ) -> [f64; 3] {
        let unit = if normal.is_none() { t.potential_at(x) } else { 2.0 * PI };
        let lanes = |v: Vec3| -> [One<f64>; 3] { [0, 1, 2].map(|k| One::splat(v[k])) };
        let normal = normal.map(lanes);
        let sum = |nodes: &mut WeightedPoints| {
            let mut sums = [0.0; 3];
            for p in 0..nodes.x.len() {
                let y = Vec3::new(nodes.x[p], nodes.y[p], nodes.z[p]);
                let value = change(self.kappa, lanes(x - y), normal).lanes()[0];
                let hats = t.barycentric(&y);
                (0..3).for_each(|l| sums[l] += nodes.weights[p] * hats[l] * value);
            }
            sums
        };
        let (allowed, touching) = (self.accuracy * unit, Touching::Smooth);
        let mut outer = OuterQuadrature { sum, allowed, touching, nodes };
        if *x != t.centroid {
            return outer.adaptive(&t.vertices, t.area);
        }
        // No node is at the point itself.
        (0..3).fold([0.0; 3], |sum, k| {
            let corners = [t.vertices[k], *x, t.vertices[(k + 1) % 3]];
            let part = outer.adaptive(&corners, t.area / 3.0);
            std::array::from_fn(|l| sum[l] + part[l])
        })
    }
}

/// The change of 1/|d|, or of normal . d / |d|^3.
#[inline(always)]
fn change<V: Elementary>(kappa: f64, d: [V; 3], normal: Option<[V; 3]>) -> V {
    let square = dot(d, d);
    let inverse = square.rsqrt_or_zero();
    let left = decay(kappa, square.mul(inverse), normal.is_some());
    let value = left.sub(V::splat(1.0)).mul(inverse);
    match normal {
        None => value,
        Some(normal) => value.mul(inverse).mul(inverse).mul(dot(normal, d)),
    }
}

/// Means over nodes, for the linear functions of the corners in this order.
struct Changes<'a> {
    nodes: &'a PairNodes,
    vertices: &'a [[Vec3; 3]; 2],
    kappa: f64,
    normal: Option<Vec3>,
}

impl Task<f64> for Changes<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Block {
        let Self { nodes, vertices: [s, t], kappa, normal } = self;
        let normal = normal.map(|n| [V::splat(n.x), V::splat(n.y), V::splat(n.z)]);
        let mut sums = [[V::zero(); 3]; 3];
        for at in (0..nodes.weights.len()).step_by(V::LANES) {
            let [s0, t0, s1, t1] = nodes.lanes::<V>(at);
            let d = minus(on_flat(s, s0, t0), on_flat(t, s1, t1));
            let value = V::load(&nodes.weights[at..]).mul(change(kappa, d, normal));
            add(&mut sums, value, hats(s0, t0), hats(s1, t1));
        }
        total(sums)
    }
}

/// sum_p w_p lambda_k(x_p) M_l(x_p), row by row, with M_l the integral of mu_l times the change.
struct AlongEdges<'a> {
    nodes: &'a WeightedPoints,
    s: &'a Triangle,
    t: &'a Triangle,
    kappa: f64,
    layer: Potential,
}

impl Task<f64> for AlongEdges<'_> {
    type Output = [f64; 9];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> [f64; 9] {
        let Self { nodes, s, t, kappa, layer } = self;
        let gradients = t.hats().map(|hat| hat.gradient);
        let line = quadrature::line(POINTS);
        let (mut places, mut weights) = ([0.0; POINTS], [0.0; POINTS]);
        for (p, node) in line.iter().enumerate() {
            (places[p], weights[p]) = (node.at, node.weight);
        }
        let mut sums = [0.0; 9];
        for p in 0..nodes.x.len() {
            let x = Vec3::new(nodes.x[p], nodes.y[p], nodes.z[p]);
            let z = (x - t.vertices[0]).dot(&t.normal);
            if layer == Potential::Double && z == 0.0 {
                continue;
            }
            let at_foot = primitive(kappa, V::splat(z.abs()), layer);
            let (mut even, mut moment) = (0.0, Vec3::zeros());
            for i in 0..3 {
                let a = t.vertices[i] - x;
                let d = a.dot(&t.edge_normals[i]);
                let h = d.abs().max(ON_LINE * t.lengths[i]);
                let start = a.dot(&t.tangents[i]);
                let [from, to] = [start, start + t.lengths[i]].map(|s| (s / h).asinh());
                let parts = ((to - from) / PART).ceil().max(1.0);
                let step = (to - from) / parts;
                let (mut of_angle, mut of_length) = (V::zero(), V::zero());
                for part in 0..parts as usize {
                    let from = V::splat(from + step * part as f64);
                    for at in (0..POINTS).step_by(V::LANES) {
                        let tau = V::load(&places[at..]).mul_add(V::splat(step), from);
                        let growing = tau.exp();
                        let cosh = growing.add(V::splat(1.0).div(growing)).mul(V::splat(0.5));
                        let away = cosh.mul(V::splat(h));
                        let r = away.mul_add(away, V::splat(z * z)).sqrt();
                        let value = primitive(kappa, r, layer).sub(at_foot);
                        let value = V::load(&weights[at..]).mul(value);
                        of_angle = of_angle.add(value.div(cosh));
                        of_length = value.mul_add(away, of_length);
                    }
                }
                even += step * d.signum() * of_angle.sum();
                moment += t.edge_normals[i] * (step * of_length.sum());
            }
            let weight = nodes.weights[p] * if layer == Potential::Double { z } else { 1.0 };
            let (rows, columns) = (s.barycentric(&x), t.barycentric(&x));
            for (k, row) in rows.into_iter().enumerate() {
                for l in 0..3 {
                    let of_column = columns[l] * even + gradients[l].dot(&moment);
                    sums[3 * k + l] += weight * row * of_column;
                }
            }
        }
        sums
    }
}

/// G(r) of the change of 1/r, or of 1/r^3.
#[inline(always)]
fn primitive<V: Elementary>(kappa: f64, r: V, layer: Potential) -> V {
    /// (1 - exp(-x) - x) / x^2 below [`SMALL`], to a relative error of 3e-15.
    const SERIES: [f64; 8] = [
        -1.0 / 2.0,
        1.0 / 6.0,
        -1.0 / 24.0,
        1.0 / 120.0,
        -1.0 / 720.0,
        1.0 / 5040.0,
        -1.0 / 40320.0,
        1.0 / 362_880.0,
    ];
    const SMALL: f64 = 0.1;
    let x = r.mul(V::splat(kappa));
    let lost = V::splat(1.0).sub(V::zero().sub(x).exp());
    if layer == Potential::Double {
        return lost.div(r);
    }
    let small = x.mul(r).mul(x.polynomial(&SERIES));
    x.where_above(V::splat(SMALL), lost.sub(x).mul(V::splat(1.0 / kappa)), small)
}
