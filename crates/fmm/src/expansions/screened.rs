//! Expansions of the Yukawa kernel `exp(-kappa r) / r`: radial functions and coaxial translations
//! (docs/math.md, "Screened sums").
//!
//! Harmonics are those of the Laplace kernel times radial functions that are 1 without screening:
//!
//! ```text
//! R(n,m)(y) = i^(n)(kappa |y|) C(n,m)(y),              i^(n)(t) = (2n+1)!! t^-n i(n)(t)
//! O(n,m)(x) = k^(n)(kappa |x|) C(n,m)(x) / |x|^(2n+1), k^(n)(t) = t^(n+1) k(n)(t) / (2n-1)!!
//! exp(-kappa |x-y|) / |x-y| = sum(n) sum(m) R(n,m)(y) O(n,m)(x)
//! ```
//!
//! with the modified spherical Bessel functions i(n) and k(n), i(0) = sinh(t) / t and
//! k(0) = exp(-t) / t. So everything that mixes harmonics of one degree alone, all rotations, is
//! as for the Laplace kernel, and whatever depends on kappa tends to the Laplace kernel's without
//! a loss of digits.
//!
//! Radial functions grow and decay exponentially. Expansions of a box of side s are therefore in
//! units of what their functions are at its corners, h from the centre: multipoles hold
//! `sum q i^(n)(kappa |y|) / i^(n)(kappa h) C(n,m)(y / s)`, local expansions stand for
//! `(1 / s) sum L i^(n)(kappa |x|) / i^(n)(kappa h) C(n,m)(x / s)`. All numbers are then at most
//! about those of the Laplace kernel, and translations as small as the interaction of the boxes.

use crate::expansions::coaxial::Coaxial;
use crate::expansions::harmonics::parity;
use crate::model::Kernel;
use crate::tree::side;
use simd::Real;

/// Half the diagonal of a box, in sides.
pub const HALF_DIAGONAL: f64 = 0.866_025_403_784_438_6;

/// Screening lengths in the side of a box from which on it does not feel others: what it would feel
/// of a unit charge is below 1e-80.
pub(crate) const DEAF: f64 = 700.0;

/// kappa times the root's side is no larger: more than [`Kernel::check_extent`] lets through, and
/// of no pair of points.
pub(crate) const LARGEST: f64 = 1e10;

/// How strongly a sum is screened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Screening {
    /// kappa times the root's side; 0: the Laplace kernel.
    pub root: f64,
}

impl Screening {
    /// The screening of `kernel` in a root cube of this side. Around points that all coincide the
    /// cube has any side, and no pair to be screened.
    pub(crate) fn new(kernel: Kernel, side: f64) -> Self {
        Self { root: (kernel.kappa() * side).min(LARGEST) }
    }

    /// The screening of `kernel` for distances in the caller's unit.
    pub(crate) fn unscaled(kernel: Kernel) -> Self {
        Self { root: kernel.kappa() }
    }

    /// `exp(-t) / r`, and what remains of its first and second derivative along a direction after
    /// the directions' products: `exp(-t) (1 + t) / r^3` and `exp(-t) (3 + 3 t + t^2) / r^5`, t
    /// being kappa r; r in units of the root's side.
    pub(crate) fn slopes(self, r: f64) -> [f64; 3] {
        let inverse = 1.0 / r;
        let cube = inverse * inverse * inverse;
        if !self.is_some() {
            return [inverse, cube, 3.0 * cube * inverse * inverse];
        }
        let t = self.root * r;
        let decay = (-t).exp();
        if decay == 0.0 {
            // The polynomials of t below may overflow.
            return [0.0; 3];
        }
        let potential = decay * inverse;
        let cube = potential * inverse * inverse;
        [potential, cube * (1.0 + t), cube * inverse * inverse * (3.0 + 3.0 * t + t * t)]
    }

    /// Squares of potential and gradient of a unit charge, and of all second derivatives together,
    /// at a squared distance in units of the root: `1/r^2`, `1/r^4` and `6/r^6` without screening.
    pub(crate) fn squares(self, r2: f64) -> [f64; 3] {
        let inverse = 1.0 / r2;
        if !self.is_some() {
            return [inverse, inverse * inverse, 6.0 * inverse * inverse * inverse];
        }
        let t = self.root * r2.sqrt();
        let potential = (-2.0 * t).exp() * inverse;
        if potential == 0.0 {
            return [0.0; 3];
        }
        let slope = (1.0 + t) * (1.0 + t);
        // Along the distance, and twice across it.
        let along = 2.0 + 2.0 * t + t * t;
        let second = along * along + 2.0 * slope;
        [potential, potential * slope * inverse, potential * second * inverse * inverse]
    }
    /// Whether the kernel is that of Yukawa.
    pub(crate) fn is_some(self) -> bool {
        self.root > 0.0
    }

    /// kappa times the side of a box of `level`.
    pub fn at(self, level: u8) -> f64 {
        self.root * side(level)
    }

    /// Which of the tables of a plan a level needs: the Laplace kernel's serve all of them.
    pub(crate) fn scale(self, level: usize) -> usize {
        if self.is_some() { level } else { 0 }
    }
}

/// `i^(n)(t)` for `n < count`, times `factor`.
///
/// By the recurrence `i^(n-1) = i^(n) + t^2 i^(n+1) / ((2n+1)(2n+3))` downward, all of whose terms
/// are positive, from two power series.
pub fn regular(count: usize, t: f64, factor: f64) -> Vec<f64> {
    let mut values = vec![0.0; count];
    let mut above = factor * series(count + 1, t);
    let mut here = factor * series(count, t);
    for n in (0..count).rev() {
        // i^(n) from i^(n+1) and i^(n+2).
        let k = (n + 1) as f64;
        let value = here + t * t * above / ((2.0 * k + 1.0) * (2.0 * k + 3.0));
        values[n] = value;
        (above, here) = (here, value);
    }
    values
}

/// `i^(n)(t) = sum (t^2/2)^j / (j! (2n+3)(2n+5) ... (2n+2j+1))`.
fn series(n: usize, t: f64) -> f64 {
    let (mut term, mut sum, mut j) = (1.0, 1.0, 1.0);
    while term > 1e-17 * sum {
        term *= 0.5 * t * t / (j * (2.0 * (n as f64 + j) + 1.0));
        sum += term;
        j += 1.0;
    }
    sum
}

/// `exp(-kappa h) i^(n)(kappa h)` for `n < p`: what expansions of a box are in units of, kappa
/// times its side being `kappa`.
pub fn corner(p: usize, kappa: f64) -> Vec<f64> {
    let t = HALF_DIAGONAL * kappa;
    if t > HALF_DIAGONAL * DEAF { vec![1.0; p] } else { regular(p, t, (-t).exp()) }
}

/// `k^(n)(t) exp(shift)` for `n < count`, by the recurrence
/// `k^(n+1) = k^(n) + t^2 k^(n-1) / ((2n+1)(2n-1))`, all of whose terms are positive.
pub fn singular(count: usize, t: f64, shift: f64) -> Vec<f64> {
    let first = (shift - t).exp();
    let mut values = vec![first, first * (1.0 + t)];
    for n in 1..count.max(1) {
        let k = n as f64;
        let more = t * t * values[n - 1] / ((2.0 * k + 1.0) * (2.0 * k - 1.0));
        values.push(values[n] + more);
    }
    values.truncate(count);
    values
}

/// Factors of the recurrences: `sqrt(n^2 - m^2)`.
fn alpha(n: usize, m: usize) -> f64 {
    ((n * n) as f64 - (m * m) as f64).max(0.0).sqrt()
}

/// What d/dz of a harmonic of degree n has of degree n + 1, over kappa^2.
fn beta(n: usize, m: usize) -> f64 {
    alpha(n + 1, m) / ((2 * n + 1) * (2 * n + 3)) as f64
}

/// The first row or column of order m from that of order m - 1, by the derivative
/// `d/dx + i d/dy`; `sum` makes one of what degrees n - 1 and n + 1 have of it.
fn next_order(m: usize, first: &[f64], sum: impl Fn(usize, f64, f64) -> f64) -> Vec<f64> {
    let k = m - 1;
    let root = |product: usize| (product as f64).sqrt();
    let all = root((2 * k + 1) * (2 * k + 2));
    let mut next = vec![0.0; first.len() - 1];
    for (n, value) in next.iter_mut().enumerate().skip(m) {
        let below = root((n + k) * (n + k + 1)) * first[n - 1];
        let above = root((n + 1 - k) * (n - k)) * first[n + 1];
        *value = sum(n, below, above) / all;
    }
    next
}

/// Coefficients `(n, k)` of one coaxial translation for all m, `m <= n, k < p`.
struct Coefficients {
    p: usize,
    values: Vec<f64>,
}

impl Coefficients {
    /// Of `R(n)(x + t z) = sum(l) T(l,n) R(l)(x)` at the place `(l, n)`; lengths in any unit.
    ///
    /// The derivative in z of both sides relates neighbours (docs/math.md): rows upward from l = m,
    /// for l <= n, where terms fall; T(l,n) for l > n follows by symmetry.
    fn regular(p: usize, kappa: f64, t: f64) -> Self {
        let kappa2 = kappa * kappa;
        let mut values = vec![0.0; p * p * p];
        // First rows l = m: of m = 0 the function on the axis.
        let length = 2 * p + 1;
        let radial = regular(length + 1, kappa * t, 1.0);
        let mut first: Vec<f64> =
            radial.iter().enumerate().map(|(n, i)| i * t.powi(n as i32)).collect();
        for m in 0..p {
            if m > 0 {
                first = next_order(m, &first, |n, below, above| {
                    below - kappa2 * above / ((2 * n + 1) * (2 * n + 3)) as f64
                });
            }
            let mut below = vec![0.0; first.len()];
            let mut here = first.clone();
            for l in m..p {
                for n in l..p {
                    values[(m * p + l) * p + n] = here[n];
                }
                let mut above = vec![0.0; here.len() - 1];
                for n in l + 1..above.len() {
                    let mut sum = alpha(n, m) * here[n - 1] + kappa2 * beta(n, m) * here[n + 1];
                    if l > m {
                        sum -= kappa2 * beta(l - 1, m) * below[n];
                    }
                    above[n] = sum / alpha(l + 1, m);
                }
                (below, here) = (here, above);
            }
            // T(l,n) = T(n,l) (N(l) / N(n))^2, N being the norms of the harmonics.
            for n in m..p {
                let mut ratio = 1.0;
                for l in n + 1..p {
                    ratio *= kappa2 / ((2 * l + 1) * (2 * l - 1)) as f64;
                    values[(m * p + l) * p + n] = ratio * values[(m * p + n) * p + l];
                }
            }
        }
        Self { p, values }
    }

    /// Of `O(k)(x + t z) = sum(n) T(n,k) R(n)(x)` at the place `(n, k)`, times `exp(shift)`.
    ///
    /// Likewise, columns upward from k = m; T(n,k) for k > n is `(-1)^(n+k) T(k,n)`.
    fn singular(p: usize, kappa: f64, t: f64, shift: f64) -> Self {
        let kappa2 = kappa * kappa;
        let mut values = vec![0.0; p * p * p];
        let length = 2 * p + 1;
        let radial = singular(length + 1, kappa * t, shift);
        // Without the signs (-1)^(n+m), which leave the recurrences without them too.
        let mut first: Vec<f64> =
            radial.iter().enumerate().map(|(n, k)| k * t.powi(-(n as i32) - 1)).collect();
        for m in 0..p {
            if m > 0 {
                first = next_order(m, &first, |n, below, above| {
                    above - kappa2 * below / ((2 * n - 1) * (2 * n + 1)) as f64
                });
            }
            let mut before = vec![0.0; first.len()];
            let mut here = first.clone();
            for k in m..p {
                for n in k..p {
                    values[(m * p + n) * p + k] = parity(n + m) * here[n];
                    values[(m * p + k) * p + n] = parity(k + m) * here[n];
                }
                let mut next = vec![0.0; here.len() - 1];
                for n in m..next.len() {
                    let mut sum = alpha(n + 1, m) * here[n + 1];
                    if n > m {
                        sum += kappa2 * beta(n - 1, m) * here[n - 1];
                    }
                    if k > m {
                        sum -= kappa2 * beta(k - 1, m) * before[n];
                    }
                    next[n] = sum / alpha(k + 1, m);
                }
                (before, here) = (here, next);
            }
        }
        Self { p, values }
    }

    fn at(&self, m: usize, n: usize, k: usize) -> f64 {
        self.values[(m * self.p + n) * self.p + k]
    }
}

/// As [`Coaxial::m2l`], kappa times the unit of length being `kappa`.
pub fn m2l<T: Real>(p: usize, kappa: f64, source: f64, target: f64, distance: f64) -> Coaxial<T> {
    if kappa * source.max(target) > DEAF {
        return Coaxial::build(p, |_, _, _| 0.0);
    }
    let shift = HALF_DIAGONAL * kappa * (source + target);
    let coefficients = Coefficients::singular(p, kappa, distance, shift);
    let (from, to) = (corner(p, kappa * source), corner(p, kappa * target));
    Coaxial::build(p, |m, n, k| {
        let units = target.powi(n as i32 + 1) * source.powi(k as i32);
        parity(m) * units * (to[n] * coefficients.at(m, n, k) * from[k])
    })
}

/// As [`Coaxial::m2m`], kappa times the parent's side being `kappa`.
pub fn m2m<T: Real>(p: usize, kappa: f64, distance: f64) -> Coaxial<T> {
    if kappa > DEAF {
        return Coaxial::build(p, |_, _, _| 0.0);
    }
    let shift = (-0.5 * HALF_DIAGONAL * kappa).exp();
    let coefficients = Coefficients::regular(p, kappa, distance);
    let (child, parent) = (corner(p, 0.5 * kappa), corner(p, kappa));
    Coaxial::build(p, |m, n, k| {
        let units = shift * child[k] / parent[n];
        parity(m) * units * 0.5f64.powi(k as i32) * coefficients.at(m, k, n)
    })
}

/// As [`Coaxial::l2l`], kappa times the parent's side being `kappa`.
pub fn l2l<T: Real>(p: usize, kappa: f64, distance: f64) -> Coaxial<T> {
    if kappa > DEAF {
        return Coaxial::build(p, |_, _, _| 0.0);
    }
    let shift = (-0.5 * HALF_DIAGONAL * kappa).exp();
    let coefficients = Coefficients::regular(p, kappa, distance);
    let (child, parent) = (corner(p, 0.5 * kappa), corner(p, kappa));
    Coaxial::build(p, |m, n, k| {
        let units = shift * child[n] / parent[k];
        parity(m) * units * 0.5f64.powi(n as i32 + 1) * coefficients.at(m, n, k)
    })
}
