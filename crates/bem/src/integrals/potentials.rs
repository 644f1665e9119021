//! The closed-form potential of a triangle at many points, in lanes: the vector twin of
//! [`Triangle::potential`].

use simd::{Elementary, Real, Simd, Task};

use crate::constants::ON_EDGE;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::quadrature::TriangleNode;

/// Points with weights, coordinate by coordinate.
#[derive(Clone, Debug, Default)]
pub struct WeightedPoints {
    /// Their x coordinates, one per point.
    pub x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) z: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

impl WeightedPoints {
    /// No points, and room for this number of them, filled up.
    pub(crate) fn with_capacity(points: usize) -> Self {
        let room = || Vec::with_capacity(points.next_multiple_of(f64::MAX_LANES));
        Self { x: room(), y: room(), z: room(), weights: room() }
    }

    /// Removes all points.
    pub fn clear(&mut self) {
        for values in [&mut self.x, &mut self.y, &mut self.z, &mut self.weights] {
            values.clear();
        }
    }

    /// Adds a point.
    #[inline]
    pub fn push(&mut self, at: &Vec3, weight: f64) {
        self.x.push(at.x);
        self.y.push(at.y);
        self.z.push(at.z);
        self.weights.push(weight);
    }

    /// Replaces all points by those of a rule on the triangle with corners `v`.
    pub(crate) fn set_rule(&mut self, v: &[Vec3; 3], rule: &[TriangleNode]) {
        self.clear();
        for (k, values) in [&mut self.x, &mut self.y, &mut self.z].into_iter().enumerate() {
            let [a, b, c] = v.map(|v| v[k]);
            values.extend(
                rule.iter()
                    .map(|TriangleNode { barycentric: [u, v, w], .. }| a * u + b * v + c * w),
            );
        }
        self.weights.extend(rule.iter().map(|node| node.weight));
    }

    /// sum_p w_p Phi(x_p) with Phi the potential of unit density on `source`.
    pub fn sum_potential(&mut self, source: &Triangle) -> f64 {
        let count = self.x.len();
        self.fill_up(&source.centroid);
        simd::run(Sum::<false> { nodes: self, count, source })
    }

    /// Adds `density` Phi(x_p) to the sum of each node, with Phi as above.
    pub(crate) fn add_potentials(&mut self, source: &Triangle, density: f64, sums: &mut Vec<f64>) {
        let count = self.x.len();
        self.fill_up(&source.centroid);
        sums.resize(self.x.len(), 0.0);
        simd::run(AddPotentials { nodes: self, count, source, density, sums });
        sums.truncate(count);
    }

    /// sum_p w_p Omega(x_p) with Omega the solid angle of `source`, positive on its normal's side.
    pub fn sum_solid_angle(&mut self, source: &Triangle) -> f64 {
        let count = self.x.len();
        self.fill_up(&source.centroid);
        simd::run(Sum::<true> { nodes: self, count, source })
    }

    /// sum_p w_p n . grad Phi(x_p) with Phi the potential of unit density on `source`; in its plane
    /// the principal value.
    pub fn sum_flux(&mut self, source: &Triangle, normal: &Vec3) -> f64 {
        let count = self.x.len();
        self.fill_up(&source.centroid);
        simd::run(SumFlux { nodes: self, count, source, normal })
    }

    /// Adds sum_p w_p / |x - x_p| at each of `targets`; a point that coincides with a target
    /// contributes nothing.
    pub(crate) fn add_inverse_distances(&mut self, targets: &[[f64; 3]], sums: &mut [f64]) {
        self.fill_up(&Vec3::zeros());
        simd::run(InverseDistances { nodes: self, targets, sums });
    }

    /// The gradients of the same sums; `sums` has shape (targets, 3).
    pub(crate) fn add_gradients(&mut self, targets: &[[f64; 3]], sums: &mut [f64]) {
        self.fill_up(&Vec3::zeros());
        simd::run(Gradients { nodes: self, targets, sums });
    }

    /// Pads to whole vectors with points of weight 0.
    pub fn fill_up(&mut self, at: &Vec3) {
        let length = self.x.len().next_multiple_of(f64::MAX_LANES);
        self.x.resize(length, at.x);
        self.y.resize(length, at.y);
        self.z.resize(length, at.z);
        self.weights.resize(length, 0.0);
    }

    /// The nodes from `at` on, one per lane.
    #[inline(always)]
    pub(crate) fn at<V: Elementary>(&self, at: usize) -> [V; 3] {
        [V::load(&self.x[at..]), V::load(&self.y[at..]), V::load(&self.z[at..])]
    }
}

struct InverseDistances<'a> {
    nodes: &'a WeightedPoints,
    targets: &'a [[f64; 3]],
    sums: &'a mut [f64],
}

impl Task<f64> for InverseDistances<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        /// Targets per block.
        const BLOCK: usize = 4;
        let Self { nodes, targets, sums } = self;
        let (blocks, rest) = targets.as_chunks::<BLOCK>();
        let (sums_of_blocks, sums_of_rest) = sums.as_chunks_mut::<BLOCK>();
        for (targets, sums) in blocks.iter().zip(sums_of_blocks) {
            add_inverse_distances::<V, BLOCK>(nodes, targets, sums);
        }
        for (target, sum) in rest.iter().zip(sums_of_rest) {
            let mut one = [*sum];
            add_inverse_distances::<V, 1>(nodes, &[*target], &mut one);
            *sum = one[0];
        }
    }
}

#[inline(always)]
fn add_inverse_distances<V: Elementary, const B: usize>(
    nodes: &WeightedPoints,
    targets: &[[f64; 3]; B],
    sums: &mut [f64; B],
) {
    let mut totals = [V::zero(); B];
    for at in (0..nodes.x.len()).step_by(V::LANES) {
        let x = nodes.at::<V>(at);
        let mut r2 = [V::zero(); B];
        for axis in 0..3 {
            for b in 0..B {
                let d = V::splat(targets[b][axis]).sub(x[axis]);
                r2[b] = d.mul_add(d, r2[b]);
            }
        }
        let inverse = V::rsqrts_or_zero(r2);
        let weights = V::load(&nodes.weights[at..]);
        for b in 0..B {
            totals[b] = weights.mul_add(inverse[b], totals[b]);
        }
    }
    for b in 0..B {
        sums[b] += totals[b].sum();
    }
}

struct Gradients<'a> {
    nodes: &'a WeightedPoints,
    targets: &'a [[f64; 3]],
    sums: &'a mut [f64],
}

impl Task<f64> for Gradients<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { nodes, targets, sums } = self;
        for (target, total) in targets.iter().zip(sums.chunks_exact_mut(3)) {
            let [x, y, z] = target.map(V::splat);
            let (mut gx, mut gy, mut gz) = (V::zero(), V::zero(), V::zero());
            for at in (0..nodes.x.len()).step_by(V::LANES) {
                let dx = V::load(&nodes.x[at..]).sub(x);
                let dy = V::load(&nodes.y[at..]).sub(y);
                let dz = V::load(&nodes.z[at..]).sub(z);
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                let inverse = r2.rsqrt_or_zero();
                let factor = V::load(&nodes.weights[at..]).mul(inverse).mul(inverse.mul(inverse));
                gx = dx.mul_add(factor, gx);
                gy = dy.mul_add(factor, gy);
                gz = dz.mul_add(factor, gz);
            }
            total[0] += gx.sum();
            total[1] += gy.sum();
            total[2] += gz.sum();
        }
    }
}

/// The weighted sum over nodes of the potential of a triangle, or of the angle that it fills.
struct Sum<'a, const IS_ANGLE: bool> {
    nodes: &'a WeightedPoints,
    /// Number of nodes without padding.
    count: usize,
    source: &'a Triangle,
}

impl<const IS_ANGLE: bool> Task<f64> for Sum<'_, IS_ANGLE> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> f64 {
        let Self { nodes, count, source } = self;
        let mut sum = V::zero();
        for at in (0..count).step_by(V::LANES) {
            let x = nodes.at(at);
            let value = if IS_ANGLE { solid_angle(source, x) } else { potential(source, x) };
            sum = V::load(&nodes.weights[at..]).mul_add(value, sum);
        }
        sum.sum()
    }
}

/// The weighted sum over nodes of the component of a potential's gradient along a normal.
struct SumFlux<'a> {
    nodes: &'a WeightedPoints,
    /// Number of nodes without padding.
    count: usize,
    source: &'a Triangle,
    normal: &'a Vec3,
}

impl Task<f64> for SumFlux<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> f64 {
        let Self { nodes, count, source, normal } = self;
        let zero = V::zero();
        let across = [0, 1, 2].map(|i| V::splat(-normal.dot(&source.edge_normals[i])));
        let through = V::splat(-normal.dot(&source.normal));
        let mut sum = zero;
        for at in (0..count).step_by(V::LANES) {
            let (a, r) = seen_from(source, nodes.at::<V>(at));
            let below = along(&a[0], &source.normal);
            let z2 = below.mul_add(below, V::splat(ON_EDGE));
            let mut value = through.mul(signed_solid_angle(source, &a, &r, below));
            for i in 0..3 {
                let j = (i + 1) % 3;
                let d = along(&a[i], &source.edge_normals[i]);
                let (s, t) = (along(&a[i], &source.tangents[i]), along(&a[j], &source.tangents[i]));
                let rho2 = d.mul_add(d, z2);
                value = across[i].mul_add(edge_potential([s, t], [r[i], r[j]], rho2), value);
            }
            sum = V::load(&nodes.weights[at..]).mul_add(value, sum);
        }
        sum.sum()
    }
}

struct AddPotentials<'a> {
    nodes: &'a WeightedPoints,
    count: usize,
    source: &'a Triangle,
    density: f64,
    sums: &'a mut [f64],
}

impl Task<f64> for AddPotentials<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { nodes, count, source, density, sums } = self;
        let density = V::splat(density);
        for at in (0..count).step_by(V::LANES) {
            let sum = density.mul_add(potential(source, nodes.at::<V>(at)), V::load(&sums[at..]));
            sum.store(&mut sums[at..]);
        }
    }
}

#[inline(always)]
fn dot<V: Elementary>(a: &[V; 3], b: &[V; 3]) -> V {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2])))
}

/// As `dot`, with one direction for all lanes.
#[inline(always)]
pub(crate) fn along<V: Elementary>(a: &[V; 3], b: &Vec3) -> V {
    dot(a, &[V::splat(b.x), V::splat(b.y), V::splat(b.z)])
}

/// The vertices seen from x, and their distances.
#[inline(always)]
pub(crate) fn seen_from<V: Elementary>(source: &Triangle, x: [V; 3]) -> ([[V; 3]; 3], [V; 3]) {
    let seen = |v: &Vec3| -> [V; 3] {
        [V::splat(v.x).sub(x[0]), V::splat(v.y).sub(x[1]), V::splat(v.z).sub(x[2])]
    };
    let a = [seen(&source.vertices[0]), seen(&source.vertices[1]), seen(&source.vertices[2])];
    (a, [dot(&a[0], &a[0]).sqrt(), dot(&a[1], &a[1]).sqrt(), dot(&a[2], &a[2]).sqrt()])
}

/// Half the solid angle at the height z > 0.
#[inline(always)]
pub(crate) fn half_solid_angle<V: Elementary>(
    source: &Triangle,
    a: &[[V; 3]; 3],
    r: &[V; 3],
    z: V,
) -> V {
    let volume = z.mul(V::splat(2.0 * source.area));
    let cosines = dot(&a[0], &a[1])
        .mul_add(r[2], dot(&a[1], &a[2]).mul_add(r[0], dot(&a[2], &a[0]).mul(r[1])));
    let denominator = r[0].mul(r[1]).mul_add(r[2], cosines);
    V::atan2_above(volume, denominator)
}

/// As [`Triangle::solid_angle`].
#[inline(always)]
fn solid_angle<V: Elementary>(source: &Triangle, x: [V; 3]) -> V {
    let (a, r) = seen_from(source, x);
    let below = along(&a[0], &source.normal);
    signed_solid_angle(source, &a, &r, below)
}

/// As [`solid_angle`], for a point this far below the triangle's plane: 0 in it.
#[inline(always)]
fn signed_solid_angle<V: Elementary>(
    source: &Triangle,
    a: &[[V; 3]; 3],
    r: &[V; 3],
    below: V,
) -> V {
    let zero = V::zero();
    let twice = V::splat(2.0).mul(half_solid_angle(source, a, r, below.abs()));
    let behind = zero.sub(twice).zero_unless_above(below, zero);
    zero.where_above(below, twice, behind)
}

/// L of an edge whose ends are at `s` and `t` along it and at distances `r`, on a line at distance
/// sqrt(rho2).
#[inline(always)]
pub(crate) fn edge_potential<V: Elementary>([s, t]: [V; 2], r: [V; 2], rho2: V) -> V {
    let (zero, one) = (V::zero(), V::splat(1.0));
    // ln (r_j + t) / (r_i + s), each without cancellation: (r + s) (r - s) = rho^2.
    let (before, after) = (r[0].add(s.abs()), r[1].add(t.abs()));
    let short = zero.where_above(s, before, one);
    // s < t: only 0 < s, s <= 0 < t and t <= 0 occur.
    let numerator = t.where_above(zero, after, rho2).mul(short);
    let denominator = zero.where_above(s, rho2, before);
    let denominator = t.where_above(zero, denominator, after.mul(denominator));
    V::ln_ratio(numerator, denominator)
}

/// Equation (8) of the mathematics, as [`Triangle::potential`] has it.
#[inline(always)]
pub(crate) fn potential<V: Elementary>(source: &Triangle, x: [V; 3]) -> V {
    let (a, r) = seen_from(source, x);
    let z = along(&a[0], &source.normal).abs();
    let z2 = z.mul_add(z, V::splat(ON_EDGE));
    let mut sum = V::zero();
    for i in 0..3 {
        let j = (i + 1) % 3;
        let d = along(&a[i], &source.edge_normals[i]);
        let (s, t) = (along(&a[i], &source.tangents[i]), along(&a[j], &source.tangents[i]));
        let rho2 = d.mul_add(d, z2);
        sum = d.mul_add(edge_potential([s, t], [r[i], r[j]], rho2), sum);
    }
    if z.sum() == 0.0 {
        return sum; // all in the plane, as between the panels of a flat face
    }
    z.mul(V::splat(-2.0)).mul_add(half_solid_angle(source, &a, &r, z), sum)
}
