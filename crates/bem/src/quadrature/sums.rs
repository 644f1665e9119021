//! Sums of 1/|x - y| and its gradient over the points of a rule on one triangle and of a rule on
//! another, in lanes.

use simd::{Elementary, Simd, Task};

use crate::geometry::triangle::Vec3;
use crate::quadrature::modes::MODES;
use crate::quadrature::rule::Rule;

/// sum_pq v_p w_q / |x_p - y_q| over `outer` points on the triangle `s` and `inner` points on `t`;
/// coincident points contribute nothing.
#[inline]
pub fn sum(outer: &Rule, s: &[Vec3; 3], inner: &Rule, t: &[Vec3; 3]) -> f64 {
    simd::run(Sum { outer, s, inner, t })
}

/// sum_pq v_p w_q (x_p - y_q) / |x_p - y_q|^3 over the same points: minus the gradient with respect
/// to x.
#[inline]
pub fn field(outer: &Rule, s: &[Vec3; 3], inner: &Rule, t: &[Vec3; 3]) -> Vec3 {
    simd::run(Field { outer, s, inner, t })
}

struct Sum<'a> {
    outer: &'a Rule,
    s: &'a [Vec3; 3],
    inner: &'a Rule,
    t: &'a [Vec3; 3],
}

struct Field<'a> {
    outer: &'a Rule,
    s: &'a [Vec3; 3],
    inner: &'a Rule,
    t: &'a [Vec3; 3],
}

impl Task<f64> for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> f64 {
        let Self { outer, s, inner, t } = self;
        let mut total = V::zero();
        for at in (0..inner.len()).step_by(V::LANES) {
            let node = |k: usize| V::load(&inner.barycentric[k][at..]);
            let (a, b, c) = (node(0), node(1), node(2));
            let coordinate = |k: usize| coordinate(t, k, [a, b, c]);
            let (y0, y1, y2) = (coordinate(0), coordinate(1), coordinate(2));
            let mut sum = V::zero();
            for (x, weight) in outer.on(s) {
                let (dx, dy, dz) =
                    (y0.sub(V::splat(x.x)), y1.sub(V::splat(x.y)), y2.sub(V::splat(x.z)));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                sum = V::splat(weight).mul_add(r2.rsqrt_or_zero(), sum);
            }
            total = V::load(&inner.weights[at..]).mul_add(sum, total);
        }
        total.sum()
    }
}

impl Task<f64> for Field<'_> {
    type Output = Vec3;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Vec3 {
        let Self { outer, s, inner, t } = self;
        let (mut f0, mut f1, mut f2) = (V::zero(), V::zero(), V::zero());
        for at in (0..inner.len()).step_by(V::LANES) {
            let node = |k: usize| V::load(&inner.barycentric[k][at..]);
            let (a, b, c) = (node(0), node(1), node(2));
            let coordinate = |k: usize| coordinate(t, k, [a, b, c]);
            let (y0, y1, y2) = (coordinate(0), coordinate(1), coordinate(2));
            let weights = V::load(&inner.weights[at..]);
            for (x, weight) in outer.on(s) {
                let (dx, dy, dz) =
                    (V::splat(x.x).sub(y0), V::splat(x.y).sub(y1), V::splat(x.z).sub(y2));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                let inverse = r2.rsqrt_or_zero();
                let cube = inverse.mul(inverse).mul(inverse);
                let factor = V::splat(weight).mul(weights).mul(cube);
                f0 = dx.mul_add(factor, f0);
                f1 = dy.mul_add(factor, f1);
                f2 = dz.mul_add(factor, f2);
            }
        }
        Vec3::new(f0.sum(), f1.sum(), f2.sum())
    }
}

/// sum_pq v_p m_p w_q l_q k(x_p - y_q) over `outer` points on the triangle `s` and `inner` points
/// on `t`, for all modes m and l of linear functions on the two, shape (modes, modes), with k(r) =
/// 1/|r|, or normal . r / |r|^3 where a normal is given, screened with kappa; coincident points
/// contribute nothing.
#[inline]
pub(crate) fn between_modes(
    outer: &Rule,
    s: &[Vec3; 3],
    inner: &Rule,
    t: &[Vec3; 3],
    normal: Option<Vec3>,
    kappa: f64,
) -> [[f64; MODES]; MODES] {
    if kappa > 0.0 {
        simd::run(BetweenModes::<true> { outer, s, inner, t, normal, kappa })
    } else {
        simd::run(BetweenModes::<false> { outer, s, inner, t, normal, kappa })
    }
}

struct BetweenModes<'a, const SCREENED: bool> {
    outer: &'a Rule,
    s: &'a [Vec3; 3],
    inner: &'a Rule,
    t: &'a [Vec3; 3],
    normal: Option<Vec3>,
    kappa: f64,
}

impl<const SCREENED: bool> Task<f64> for BetweenModes<'_, SCREENED> {
    type Output = [[f64; MODES]; MODES];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Self { outer, s, inner, t, normal, kappa } = self;
        let mut total = [[V::zero(); MODES]; MODES];
        for at in (0..inner.len()).step_by(V::LANES) {
            let node = |k: usize| V::load(&inner.barycentric[k][at..]);
            let (a, b, c) = (node(0), node(1), node(2));
            let coordinate = |k: usize| coordinate(t, k, [a, b, c]);
            let (y0, y1, y2) = (coordinate(0), coordinate(1), coordinate(2));
            let mut sums = [V::zero(); MODES];
            for (p, (x, _)) in outer.on(s).enumerate() {
                let (dx, dy, dz) =
                    (V::splat(x.x).sub(y0), V::splat(x.y).sub(y1), V::splat(x.z).sub(y2));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                let inverse = r2.rsqrt_or_zero();
                let mut value = match normal {
                    None => inverse,
                    Some(n) => {
                        let along = dx
                            .mul(V::splat(n.x))
                            .add(dy.mul(V::splat(n.y)))
                            .add(dz.mul(V::splat(n.z)));
                        along.mul(inverse).mul(inverse).mul(inverse)
                    }
                };
                if SCREENED {
                    value = value.mul(decay(kappa, r2.mul(inverse), normal.is_some()));
                }
                for (sum, mode) in sums.iter_mut().zip(&outer.modes) {
                    *sum = V::splat(mode[p]).mul_add(value, *sum);
                }
            }
            for (row, sum) in total.iter_mut().zip(sums) {
                for (entry, mode) in row.iter_mut().zip(&inner.modes) {
                    *entry = V::load(&mode[at..]).mul_add(sum, *entry);
                }
            }
        }
        total.map(|row| row.map(|entry| entry.sum()))
    }
}

/// What screening leaves of 1/r, or of its derivative: exp(-kappa r), times 1 + kappa r.
#[inline(always)]
pub(crate) fn decay<V: Elementary>(kappa: f64, r: V, of_derivative: bool) -> V {
    let x = r.mul(V::splat(kappa));
    let decay = V::zero().sub(x).exp();
    if of_derivative { x.mul_add(decay, decay) } else { decay }
}

/// Coordinate `k` of points on a triangle.
#[inline(always)]
fn coordinate<V: Elementary>(t: &[Vec3; 3], k: usize, [a, b, c]: [V; 3]) -> V {
    let [u, v, w] = [V::splat(t[0][k]), V::splat(t[1][k]), V::splat(t[2][k])];
    // Without fused operations, as `on` does it: coincident points must coincide.
    u.mul(a).add(v.mul(b)).add(w.mul(c))
}
