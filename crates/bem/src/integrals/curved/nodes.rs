//! Sums over the nodes of two pieces that touch, several at a time.

use simd::{Elementary, Simd, Task};

use super::pieces::Piece;
use crate::geometry::triangle::Vec3;
use crate::integrals::linear_nodes::Block;
use crate::integrals::touching::PairNodes;

/// Sums over nodes of the difference between potentials and those of flat triangles.
pub(super) struct Potentials<'a> {
    pub(super) nodes: &'a PairNodes,
    pub(super) s: &'a Piece,
    pub(super) t: &'a Piece,
}

/// Sums over nodes of the normal derivative at the first piece and, if `BACK`, at the second.
pub(super) struct Fields<'a, const BACK: bool> {
    pub(super) nodes: &'a PairNodes,
    pub(super) s: &'a Piece,
    pub(super) t: &'a Piece,
}

// Closures of arrays are compiled to calls here, and vectors do not stay in registers across them:
// hence loops.

/// The point of a flat triangle with these parameters.
#[inline(always)]
pub(in crate::integrals) fn on_flat<V: Simd<Scalar = f64>>(v: &[Vec3; 3], s: V, t: V) -> [V; 3] {
    let (u, w) = (v[1] - v[0], v[2] - v[0]);
    let mut x = [V::zero(); 3];
    for k in 0..3 {
        x[k] = V::splat(u[k]).mul_add(s, V::splat(w[k]).mul_add(t, V::splat(v[0][k])));
    }
    x
}

#[inline(always)]
pub(in crate::integrals) fn minus<V: Elementary>(x: [V; 3], y: [V; 3]) -> [V; 3] {
    [x[0].sub(y[0]), x[1].sub(y[1]), x[2].sub(y[2])]
}

#[inline(always)]
pub(in crate::integrals) fn dot<V: Elementary>(a: [V; 3], b: [V; 3]) -> V {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2])))
}

/// Adds a value at parameters of both pieces to the sums for the functions of their corners.
#[inline(always)]
pub(in crate::integrals) fn add<V: Simd<Scalar = f64>>(
    sums: &mut [[V; 3]; 3],
    value: V,
    hats: [V; 3],
    others: [V; 3],
) {
    for k in 0..3 {
        let value = hats[k].mul(value);
        for l in 0..3 {
            sums[k][l] = others[l].mul_add(value, sums[k][l]);
        }
    }
}

#[inline(always)]
pub(in crate::integrals) fn hats<V: Simd<Scalar = f64>>(s: V, t: V) -> [V; 3] {
    [V::splat(1.0).sub(s).sub(t), s, t]
}

#[inline(always)]
pub(in crate::integrals) fn total<V: Simd<Scalar = f64>>(sums: [[V; 3]; 3]) -> Block {
    let mut block = Block::default();
    for k in 0..3 {
        for l in 0..3 {
            block[k][l] = sums[k][l].sum();
        }
    }
    block
}

impl PairNodes {
    /// Parameters of the nodes from `at` on, one per lane: of the first panel, of the second.
    #[inline(always)]
    pub(in crate::integrals) fn lanes<V: Simd<Scalar = f64>>(&self, at: usize) -> [V; 4] {
        let [[s, t], [u, v]] = &self.parameters;
        [V::load(&s[at..]), V::load(&t[at..]), V::load(&u[at..]), V::load(&v[at..])]
    }
}

impl Task<f64> for Potentials<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Block {
        let Self { nodes, s, t } = self;
        let mut sums = [[V::zero(); 3]; 3];
        for at in (0..nodes.weights.len()).step_by(V::LANES) {
            let [s0, t0, s1, t1] = nodes.lanes::<V>(at);
            let d = minus(s.patch.lanes(s0, t0), t.patch.lanes(s1, t1));
            let flat = minus(on_flat(&s.flat.vertices, s0, t0), on_flat(&t.flat.vertices, s1, t1));
            let value = dot(d, d).rsqrt_or_zero().sub(dot(flat, flat).rsqrt_or_zero());
            let value = V::load(&nodes.weights[at..]).mul(value);
            add(&mut sums, value, hats(s0, t0), hats(s1, t1));
        }
        total(sums)
    }
}

impl<const BACK: bool> Task<f64> for Fields<'_, BACK> {
    type Output = [Block; 2];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> [Block; 2] {
        let Self { nodes, s, t } = self;
        let (mut forth, mut back) = ([[V::zero(); 3]; 3], [[V::zero(); 3]; 3]);
        for at in (0..nodes.weights.len()).step_by(V::LANES) {
            let [s0, t0, s1, t1] = nodes.lanes::<V>(at);
            // From x to y.
            let d = minus(t.patch.lanes(s1, t1), s.patch.lanes(s0, t0));
            let inverse = dot(d, d).rsqrt_or_zero();
            let cubed = inverse.mul(inverse).mul(inverse).mul(V::load(&nodes.weights[at..]));
            let normal = s.tangents.normals(s.patch.order(), s0, t0);
            add(&mut forth, dot(normal, d).mul(cubed), hats(s0, t0), hats(s1, t1));
            if BACK {
                let normal = t.tangents.normals(t.patch.order(), s1, t1);
                let value = V::zero().sub(dot(normal, d).mul(cubed));
                add(&mut back, value, hats(s1, t1), hats(s0, t0));
            }
        }
        [total(forth), if BACK { total(back) } else { Block::default() }]
    }
}
