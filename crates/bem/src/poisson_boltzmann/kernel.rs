//! The screened kernel G = exp(-kappa r) / r and its normal derivatives, for layers of several
//! regions at once.

use simd::{Elementary, One, Simd};

use super::nodes::{QuadraturePoint, Target};
use crate::geometry::triangle::Vec3;

/// Factors of the layers of one region in the rows of a point: of V, K = d/dn_y of it, K' = d/dn_x
/// and T = d2/dn_x dn_y.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) kappa: f64,
    pub(super) single: f64,
    pub(super) double: f64,
    pub(super) adjoint: f64,
    pub(super) hypersingular: f64,
    /// Factor of the region's K' in K, with points and panels exchanged.
    pub(super) transposed: f64,
}

impl Term {
    /// Unscreened double layer, scaled by a factor.
    pub(super) fn dipoles(times: f64) -> Self {
        let none = 0.0;
        Self {
            kappa: none,
            single: none,
            double: times,
            adjoint: none,
            hypersingular: none,
            transposed: none,
        }
    }
}

/// Sums over regions of the contributions of a density of normal fluxes and of one of potentials at
/// a point: to potentials (V, K) and to normal derivatives (K', T).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Entries {
    /// From the flux to potentials.
    pub(super) single: f64,
    /// From the potential to potentials.
    pub(super) double: f64,
    /// From the flux to normal derivatives.
    pub(super) adjoint: f64,
    /// From the potential to normal derivatives.
    pub(super) hypersingular: f64,
    /// K' with points and panels exchanged.
    pub(super) transposed: f64,
}

/// Number of kernels.
pub(super) const KERNELS: usize = 5;

impl From<[f64; KERNELS]> for Entries {
    fn from([single, double, adjoint, hypersingular, transposed]: [f64; KERNELS]) -> Self {
        Self { single, double, adjoint, hypersingular, transposed }
    }
}

impl Entries {
    pub(super) fn add(&mut self, factor: f64, other: &Self) {
        self.single += factor * other.single;
        self.double += factor * other.double;
        self.adjoint += factor * other.adjoint;
        self.hypersingular += factor * other.hypersingular;
        self.transposed += factor * other.transposed;
    }
}

/// All kernels per unit of parameters, for points x with unit normals `normal` and y with its area
/// times its unit normal `stretched`, `d` = x - y. Zero for coincident points.
#[inline(always)]
pub(super) fn values<V: Elementary>(
    terms: &[Term],
    d: [V; 3],
    normal: [V; 3],
    stretched: [V; 3],
) -> [V; KERNELS] {
    let dot = |a: [V; 3], b: [V; 3]| a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2])));
    let square = dot(d, d);
    let inverse = square.rsqrt_or_zero();
    let (r, inverse_square) = (square.mul(inverse), inverse.mul(inverse));
    let area = dot(stretched, stretched).sqrt();
    let (at_x, at_y, both) = (dot(normal, d), dot(stretched, d), dot(normal, stretched));
    let mut sums = [V::zero(); KERNELS];
    for term in terms {
        let (mut g0, mut to_g1, mut to_g2) = (inverse, V::splat(1.0), V::splat(3.0));
        if term.kappa > 0.0 {
            let x = r.mul(V::splat(term.kappa));
            g0 = inverse.mul(V::zero().sub(x).exp());
            to_g1 = x.add(V::splat(1.0));
            to_g2 = x.mul_add(x, to_g1.mul(V::splat(3.0)));
        }
        // grad_x G = -g1 d, and dg1/dr = -g2 r.
        let g1 = g0.mul(inverse_square).mul(to_g1);
        let g2 = g0.mul(inverse_square).mul(inverse_square).mul(to_g2);
        sums[0] = g0.mul(area).mul_add(V::splat(term.single), sums[0]);
        let double = g1.mul(at_y);
        sums[1] = double.mul_add(V::splat(term.double), sums[1]);
        sums[2] = g1.mul(at_x).mul(area).mul_add(V::splat(-term.adjoint), sums[2]);
        let derived = g1.mul(both).sub(g2.mul(at_x).mul(at_y));
        sums[3] = derived.mul_add(V::splat(term.hypersingular), sums[3]);
        sums[4] = double.mul_add(V::splat(term.transposed), sums[4]);
    }
    sums
}

/// The kernels between two points, times the area of the second; zero if they coincide.
pub(super) fn between_points(terms: &[Term], x: &Target, y: QuadraturePoint) -> Entries {
    let QuadraturePoint { place, normal, weight } = y;
    let lanes = |v: Vec3| -> [One<f64>; 3] { [0, 1, 2].map(|k| One::splat(v[k])) };
    let sums = values(terms, lanes(x.place - place), lanes(x.normal), lanes(normal * weight));
    Entries::from(sums.map(|v| v.lanes()[0]))
}
