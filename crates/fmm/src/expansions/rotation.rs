//! Rotations of expansions: the R of RCR (docs/math.md, "Rotations"; [Gumerov2008], section 2.2.2).
//!
//! A translation along `t` turns the frame about z until t lies in the xz-plane, then about y until
//! t is the z-axis. About z each pair `C(n,m), S(n,m)` turns by m times the azimuth. About y,
//! cosines mix with cosines and sines with sines of the same degree, by orthogonal matrices; the
//! way back is the transpose, which equals the matrix itself between factors `(-1)^m`, so that one
//! matrix serves both ways.

use crate::expansions::harmonics::{Gradient, cosine, sine};
use simd::Real;

/// Cosines and sines of the multiples of one azimuth.
#[derive(Clone, Debug)]
pub struct Azimuth<T> {
    /// `cos(m phi), sin(m phi)` for m = 0 .. p.
    pub forward: Vec<[T; 2]>,
    /// The way back: opposite angles, times `(-1)^m` as is left of the transpose of the rotation
    /// about y.
    pub backward: Vec<[T; 2]>,
}

impl<T: Real> Azimuth<T> {
    /// The azimuth of `(x, y)`; 0 on the z-axis.
    pub fn new(p: usize, x: f64, y: f64) -> Self {
        let r = x.hypot(y);
        let (c, s) = if r > 0.0 { (x / r, y / r) } else { (1.0, 0.0) };
        let (mut cm, mut sm) = (1.0, 0.0);
        let mut forward = Vec::with_capacity(p);
        let mut backward = Vec::with_capacity(p);
        for m in 0..p {
            let sign = crate::expansions::harmonics::parity(m);
            forward.push([T::of(cm), T::of(sm)]);
            backward.push([T::of(sign * cm), T::of(-sign * sm)]);
            (cm, sm) = (cm * c - sm * s, sm * c + cm * s);
        }
        Self { forward, backward }
    }
}

/// The rotation about y that takes the direction `(sin theta, 0, cos theta)` to the z-axis, for all
/// degrees below p.
#[derive(Clone, Debug)]
pub struct Polar<T> {
    /// For each degree n the matrix of the cosines, (n+1) x (n+1), then that of the sines, n x n;
    /// row-major.
    pub blocks: Vec<T>,
}

/// Where the blocks of degree `n` begin: the sum of `(k+1)^2 + k^2` over `k < n`.
#[inline(always)]
pub const fn block(n: usize) -> usize {
    n * (2 * n * n + 1) / 3
}

impl<T: Real> Polar<T> {
    /// `gradient` reaches at least degree p - 1.
    pub fn new(p: usize, cos: f64, sin: f64, gradient: &Gradient<f64>) -> Self {
        let mut blocks = Vec::with_capacity(block(p));
        // Full rows over the places of one degree, as an expansion orders them.
        let mut previous: Vec<Vec<f64>> = vec![vec![1.0]];
        for n in 0..p {
            if n > 0 {
                previous = next_degree(n, &previous, cos, sin, gradient);
            }
            for m in 0..=n {
                blocks.extend(previous[n + m][n..].iter().map(|&v| T::of(v)));
            }
            for m in 1..=n {
                blocks.extend(previous[m - 1][..n].iter().map(|&v| T::of(v)));
            }
        }
        Self { blocks }
    }
}

/// The rotation of degree n from that of degree n - 1.
///
/// Multiplying a harmonic of degree n - 1 by a coordinate gives, up to a multiple of r^2,
/// `1/(2n-1)` times the transposed gradient applied to degree n. So with the rotated coordinates
/// `x' = cos x - sin z`, `y' = y`, `z' = sin x + cos z` a row of order m follows from the row of
/// order m by `sqrt(n^2-m^2) Q(n,m) = (2n-1) z' Q(n-1,m)`, or from that of order m - 1 by
/// `sqrt((n+m)(n+m-1)) Q(n,m) = (2n-1) (x' + i y') Q(n-1,m-1)`. Either divides by the smaller a
/// root the farther it is taken from its end of the orders; with the better of the two, errors stay
/// below 1e-13 up to degree 50 and 1e-12 up to 60.
fn next_degree(
    n: usize,
    previous: &[Vec<f64>],
    cos: f64,
    sin: f64,
    gradient: &Gradient<f64>,
) -> Vec<Vec<f64>> {
    // (2n-1) times (a x + b y + c z) times the harmonics of degree n - 1 combined by `row`.
    let raise = |row: &[f64], [a, b, c]: [f64; 3]| -> Vec<f64> {
        let mut out = vec![0.0; 2 * n + 1];
        for (axis, weight) in [a, b, c].into_iter().enumerate() {
            if weight != 0.0 {
                for &(to, from, factor) in gradient.degree(axis, n) {
                    let from = from as usize - (n - 1) * (n - 1);
                    out[to as usize - n * n] += weight * factor * row[from];
                }
            }
        }
        out
    };
    let (x, y, z) = ([cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]);
    let base = n * n;
    let base_previous = (n - 1) * (n - 1);
    let mut rows = vec![Vec::new(); 2 * n + 1];
    let scaled = |row: Vec<f64>, scale: f64| row.into_iter().map(|v| v * scale).collect();
    for m in 0..=n {
        if 5 * m <= 3 * n {
            let scale = 1.0 / ((n * n - m * m) as f64).sqrt();
            let mut put = |place: usize, from: usize| {
                rows[place - base] = scaled(raise(&previous[from - base_previous], z), scale);
            };
            put(cosine(n, m), cosine(n - 1, m));
            if m > 0 {
                put(sine(n, m), sine(n - 1, m));
            }
            continue;
        }
        let scale = 1.0 / (((n + m) * (n + m - 1)) as f64).sqrt();
        let c = &previous[cosine(n - 1, m - 1) - base_previous];
        let (of_cosine, of_sine) = if m == 1 {
            // Q(n-1,0) is real, and C(n-1,0) lacks the others' sqrt(2).
            let scale = scale * 2f64.sqrt();
            (scaled(raise(c, x), scale), scaled(raise(c, y), scale))
        } else {
            let s = &previous[sine(n - 1, m - 1) - base_previous];
            let combine = |a: Vec<f64>, b: Vec<f64>, sign: f64| -> Vec<f64> {
                a.iter().zip(&b).map(|(a, b)| scale * (a + sign * b)).collect()
            };
            (combine(raise(c, x), raise(s, y), -1.0), combine(raise(s, x), raise(c, y), 1.0))
        };
        rows[cosine(n, m) - base] = of_cosine;
        rows[sine(n, m) - base] = of_sine;
    }
    rows
}
