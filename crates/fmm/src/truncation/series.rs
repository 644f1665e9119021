//! The truncated expansion of 1/r as a power series, and its errors for every truncation number at
//! once.
//!
//! With the target's point multiplied by s and the source's by t, `1/|d + s x - t y|` is a power
//! series in s and t; a truncation number keeps the powers below it. Its coefficients follow from
//! one another by a recurrence of five terms (docs/math.md, "Truncation"), so the errors of a pair
//! of points for all truncation numbers up to p cost O(p^2).

use super::sampling::Point;
use simd::{Level, Simd, Task, dispatch, scalars_mut};

/// A pair of points, each relative to its box, with the distance of the boxes' centres, source to
/// target, and the sample's weight; lengths in sides of the smaller box.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// From the source's box to the target's.
    pub distance: Point,
    /// Target, from the centre of its box.
    pub target: Point,
    /// Source, from the centre of its box.
    pub source: Point,
    /// What its error counts for.
    pub weight: f64,
}

/// The squared error of the truncated expansion for every p' at once, averaged over the samples: of
/// 1/r, of its derivative in a direction at the target, at the source, and at both; those not asked
/// for are 0.
pub fn errors(
    level: Level,
    pairs: &[Sample],
    p_max: usize,
    [gradient, dipoles]: [bool; 2],
) -> Vec<[f64; 4]> {
    dispatch(level, Errors { pairs, p_max, gradient, dipoles })
}

/// The arguments of [`errors`].
struct Errors<'a> {
    pairs: &'a [Sample],
    p_max: usize,
    gradient: bool,
    dipoles: bool,
}

/// Vectors that are evaluated side by side, so that no operation waits for the one before.
const ABREAST: usize = 4;

type Lanes<V> = [V; ABREAST];

/// Numbers with derivatives: the value (J = 1), and its derivative in one direction (2), and in
/// another and in both (4).
type Jet<V, const J: usize> = [Lanes<V>; J];

/// `sum + a b` of jets.
#[inline(always)]
fn add_product<V: Simd, const J: usize>(
    a: &Jet<V, J>,
    b: &Jet<V, J>,
    mut sum: Jet<V, J>,
) -> Jet<V, J> {
    // Derivatives are subsets of directions; those of the factors join to that of the product.
    for of_a in 0..J {
        for of_b in 0..J {
            if of_a & of_b == 0 {
                let to = &mut sum[of_a | of_b];
                *to = std::array::from_fn(|i| a[of_a][i].mul_add(b[of_b][i], to[i]));
            }
        }
    }
    sum
}

impl Task<f64> for Errors<'_> {
    type Output = Vec<[f64; 4]>;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Vec<[f64; 4]> {
        match (self.gradient, self.dipoles) {
            (false, false) => self.sums::<V, 1>([0]),
            (true, false) => self.sums::<V, 2>([0, 1]),
            (false, true) => self.sums::<V, 2>([0, 2]),
            (true, true) => self.sums::<V, 4>([0, 1, 2, 3]),
        }
    }
}

impl Errors<'_> {
    /// `picked`: which of the derivatives of [`quadratic_form`] the jets have.
    #[inline(always)]
    fn sums<V: Simd<Scalar = f64>, const J: usize>(&self, picked: [usize; J]) -> Vec<[f64; 4]> {
        let p = self.p_max;
        let zero: Jet<V, J> = [[V::zero(); ABREAST]; J];
        let mut sums = vec![[0.0; 4]; p + 1];
        let mut shells = vec![zero; p];
        let mut rows = vec![zero; 3 * p];
        let lanes = ABREAST * V::LANES;
        for (block, pairs) in self.pairs.chunks(lanes).enumerate() {
            let mut form = [zero; 6];
            let mut rest = zero;
            let mut weight = [V::zero(); ABREAST];
            for lane in 0..lanes {
                // Lanes without a pair repeat the first with no weight.
                let pair = pairs.get(lane).unwrap_or(&pairs[0]);
                // Directions along the axes in turn, the two independent of one another.
                let turn = block * lanes + lane;
                let directions = [turn % 3, turn / 3 % 3];
                let values = quadratic_form(pair, directions);
                let exact = exact(pair, directions);
                for (jet, &derivative) in picked.iter().enumerate() {
                    for (form, value) in form.iter_mut().zip(&values) {
                        scalars_mut(&mut form[jet])[lane] = value[derivative];
                    }
                    scalars_mut(&mut rest[jet])[lane] = exact[derivative];
                }
                scalars_mut(&mut weight)[lane] = if lane < pairs.len() { pair.weight } else { 0.0 };
            }
            expand(&form, &mut rows, &mut shells);
            for q in 0..=p {
                for (jet, &derivative) in picked.iter().enumerate() {
                    for i in 0..ABREAST {
                        let value = rest[jet][i];
                        sums[q][derivative] += value.mul(value).mul(weight[i]).sum();
                        if q < p {
                            rest[jet][i] = value.sub(shells[q][jet][i]);
                        }
                    }
                }
            }
        }
        for sum in sums.iter_mut().flatten() {
            *sum /= self.pairs.len() as f64;
        }
        sums
    }
}

/// 1/r, its derivatives along axis `u` at the target, along axis `v` at the source, and both.
pub fn exact(pair: &Sample, [u, v]: [usize; 2]) -> [f64; 4] {
    let d: Point = std::array::from_fn(|i| pair.distance[i] + pair.target[i] - pair.source[i]);
    let inverse = 1.0 / dot(&d, &d).sqrt();
    let inverse3 = inverse * inverse * inverse;
    let same = if u == v { 1.0 } else { 0.0 };
    let both = (same - 3.0 * d[u] * d[v] * inverse * inverse) * inverse3;
    [inverse, -d[u] * inverse3, d[v] * inverse3, both]
}

fn dot(a: &Point, b: &Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// With the target's point multiplied by s and the source's by t, the squared distance is a
/// quadratic form in s and t: `1 / sqrt(q)` of its constant q, then the coefficients of s, t, s^2,
/// t^2 and st over -q; each with its derivatives along axis `u` of the target's point, along axis
/// `v` of the source's, and both.
fn quadratic_form(pair: &Sample, [u, v]: [usize; 2]) -> [[f64; 4]; 6] {
    let Sample { distance: d, target: x, source: y, .. } = pair;
    let q = dot(d, d);
    let same = if u == v { 1.0 } else { 0.0 };
    let over = |values: [f64; 4]| values.map(|value| -value / q);
    [
        [1.0 / q.sqrt(), 0.0, 0.0, 0.0],
        over([2.0 * dot(d, x), 2.0 * d[u], 0.0, 0.0]),
        over([-2.0 * dot(d, y), 0.0, -2.0 * d[v], 0.0]),
        over([dot(x, x), 2.0 * x[u], 0.0, 0.0]),
        over([dot(y, y), 0.0, 2.0 * y[v], 0.0]),
        over([-2.0 * dot(x, y), -2.0 * y[u], -2.0 * x[v], -2.0 * same]),
    ]
}

/// What raising the truncation number from q to q + 1 adds to the expansion of 1/r, for every q
/// below `shells.len()`.
///
/// The truncated expansion is the part of `1/|d + s x - t y|` whose powers n of s and k of t are
/// below p, at s = t = 1. With the quadratic form `Q(s, t)` under the root, `f = Q^(-1/2)` obeys
/// `2 Q df/ds = -f dQ/ds`, so its coefficients follow from one another (docs/math.md,
/// "Truncation"). `rows` has room for three rows.
#[inline(always)]
fn expand<V: Simd<Scalar = f64>, const J: usize>(
    form: &[Jet<V, J>; 6],
    rows: &mut [Jet<V, J>],
    shells: &mut [Jet<V, J>],
) {
    let [first, a_s, a_t, a_ss, a_tt, a_st] = form;
    let zero: Jet<V, J> = [[V::zero(); ABREAST]; J];
    let scaled =
        |a: &Jet<V, J>, c: f64| -> Jet<V, J> { a.map(|lanes| lanes.map(|v| v.mul(V::splat(c)))) };
    let add = |to: &mut Jet<V, J>, value: &Jet<V, J>| {
        *to = std::array::from_fn(|j| std::array::from_fn(|i| to[j][i].add(value[j][i])));
    };
    let p = shells.len();
    let (mut before, rest) = rows.split_at_mut(p);
    let (mut here, mut next) = rest.split_at_mut(p);
    // The row of s^0 is that of t alone.
    let (mut k1, mut k2) = (*first, zero);
    for k in 0..p {
        (here[k], shells[k], before[k]) = (k1, k1, zero);
        let (c1, c2) = ratios(k);
        let value = add_product(&scaled(a_tt, c2), &k2, zero);
        (k1, k2) = (add_product(&scaled(a_t, c1), &k1, value), k1);
    }
    for n in 0..p.saturating_sub(1) {
        let (c1, c2) = ratios(n);
        let (b_s, b_st, b_ss) = (scaled(a_s, c1), scaled(a_st, c1), scaled(a_ss, c2));
        // f[n, k - 1], then f[n + 1, k - 1] and f[n + 1, k - 2].
        let (mut left, mut k1, mut k2) = (zero, zero, zero);
        let mut own = zero;
        for k in 0..p {
            let value = add_product(&b_ss, &before[k], zero);
            let value = add_product(&b_s, &here[k], value);
            let value = add_product(&b_st, &left, value);
            let value = add_product(a_tt, &k2, value);
            let value = add_product(a_t, &k1, value);
            next[k] = value;
            // Row n + 1 up to the diagonal belongs to its own shell, the rest to those of the
            // columns.
            add(if k <= n + 1 { &mut own } else { &mut shells[k] }, &value);
            (left, k2, k1) = (here[k], k1, value);
        }
        add(&mut shells[n + 1], &own);
        (before, here, next) = (here, next, before);
    }
}

/// `(n + 1/2) / (n + 1)` and `n / (n + 1)`.
fn ratios(n: usize) -> (f64, f64) {
    let n = n as f64;
    ((n + 0.5) / (n + 1.0), n / (n + 1.0))
}
