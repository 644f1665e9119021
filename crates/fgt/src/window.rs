//! The window that brings charges to the nodes of a grid and sums from nodes to targets:
//! Kaiser and Bessel's, psi(z) = I0(beta sqrt(1 - (2 z / w)^2)) / I0(beta) in |z| <= w / 2, z in
//! node spacings (docs/math.md, section "Fast Gauss transform").

use std::f64::consts::PI;

use simd::Simd;

/// Nodes that a padded row of weights holds at most.
pub(crate) const MAX_WIDTH: usize = 16;

/// Vectors that hold a padded row of weights at most: of two lanes each, or of one (the scalar
/// twin).
pub const MAX_VECTORS: usize = 16;

/// What a tolerance asks of window and grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Width w in node spacings.
    pub width: usize,
    /// Largest node spacing in units of the square root of the bandwidth.
    pub spacing: f64,
    /// Shape parameter.
    pub beta: f64,
}

const fn shape(width: usize, spacing: f64, beta: f64) -> Shape {
    Shape { width, spacing, beta }
}

/// Tolerances 1e-2, 1e-3 .. 1e-12: the smallest width whose spacing is near the largest that the
/// Gaussian's own spectrum allows, and the spacing at which the error along one axis is a sixth of
/// the tolerance, but 2.5e-13 at least.
const VALUES: [Shape; 11] = [
    shape(5, 0.60, 10.37),
    shape(6, 0.51, 12.44),
    shape(7, 0.42, 17.15),
    shape(8, 0.38, 19.60),
    shape(8, 0.35, 18.60),
    shape(9, 0.32, 20.92),
    shape(10, 0.30, 23.25),
    shape(11, 0.28, 25.57),
    shape(12, 0.27, 27.90),
    shape(13, 0.25, 30.22),
    shape(14, 0.24, 34.31),
];

/// As [`VALUES`], for values and gradients.
const GRADIENTS: [Shape; 11] = [
    shape(6, 0.55, 13.19),
    shape(7, 0.47, 14.51),
    shape(8, 0.40, 18.60),
    shape(8, 0.32, 20.61),
    shape(10, 0.33, 23.25),
    shape(11, 0.31, 26.95),
    shape(12, 0.29, 29.41),
    shape(13, 0.27, 31.86),
    shape(14, 0.26, 34.31),
    shape(15, 0.25, 36.76),
    shape(16, 0.24, 39.21),
];

impl Shape {
    /// The shape for a tolerance: that of the next smaller power of ten.
    pub fn of(tolerance: f64, gradient: bool) -> Self {
        let decade = (-tolerance.log10() - 1e-9).ceil().clamp(2.0, 12.0) as usize;
        (if gradient { GRADIENTS } else { VALUES })[decade - 2]
    }
}

/// A window, as polynomials of the place of a point between two nodes.
#[derive(Clone, Debug)]
pub struct Window {
    shape: Shape,
    /// Lanes of a row of weights: 8 or 16.
    padded: usize,
    /// Coefficients, highest power first, (degree + 1, padded): node i has
    /// psi((t + 1) / 2 - w / 2 + i).
    values: Vec<f64>,
    /// As `values`, for the derivative of psi(n - u) with respect to u.
    slopes: Vec<f64>,
}

impl Window {
    /// The window of a shape, to an error of `tolerance`.
    pub fn new(shape: Shape, tolerance: f64) -> Self {
        let width = shape.width;
        let padded = width.next_multiple_of(8);
        let place = |i: usize, t: f64| 0.5 * (t + 1.0) - 0.5 * width as f64 + i as f64;
        let fit = |f: &dyn Fn(f64) -> f64| {
            let series: Vec<Vec<f64>> = (0..width).map(|i| chebyshev(|t| f(place(i, t)))).collect();
            rows(&series, padded, 1e-3 * tolerance)
        };
        let values = fit(&|z| shape.value(z));
        let slopes = fit(&|z| -shape.slope(z));
        Self { shape, padded, values, slopes }
    }

    /// Nodes that a point reaches along one axis.
    pub fn width(&self) -> usize {
        self.shape.width
    }

    /// Lanes of a row of weights.
    pub fn padded(&self) -> usize {
        self.padded
    }

    /// Terms of the polynomials.
    pub fn terms(&self) -> usize {
        self.values.len() / self.padded
    }

    /// First node, counted from w / 2 (rounded down) nodes before the corner of a box, and t in
    /// [-1, 1], of a point `u` node spacings from that corner.
    #[inline(always)]
    pub fn first(&self, u: f64) -> (usize, f64) {
        let edge = u - 0.5 * self.shape.width as f64;
        let first = edge.ceil();
        let node = first + (self.shape.width / 2) as f64;
        (node.max(0.0) as usize, 2.0 * (first - edge) - 1.0)
    }

    /// Weights of the nodes, lane by lane; `P` is [`Window::padded`].
    #[inline(always)]
    pub fn weights<V: Simd<Scalar = f64>, const P: usize>(&self, t: f64) -> [V; MAX_VECTORS] {
        evaluate::<V, P>(&self.values, t)
    }

    /// Derivatives of the weights with respect to the point's place in node spacings, likewise.
    #[inline(always)]
    pub fn slopes<V: Simd<Scalar = f64>, const P: usize>(&self, t: f64) -> [V; MAX_VECTORS] {
        evaluate::<V, P>(&self.slopes, t)
    }

    /// Coefficients of the polynomials for values and for slopes, highest power first, (terms,
    /// padded).
    pub fn coefficients(&self) -> [&[f64]; 2] {
        [&self.values, &self.slopes]
    }

    /// Fourier transform of the window at angular frequency `theta` per node spacing.
    pub fn transform(&self, theta: f64) -> f64 {
        self.shape.transform(theta)
    }
}

/// Polynomials of `P` lanes at t.
#[inline(always)]
fn evaluate<V: Simd<Scalar = f64>, const P: usize>(
    coefficients: &[f64],
    t: f64,
) -> [V; MAX_VECTORS] {
    let t = V::splat(t);
    let mut sums = [V::zero(); MAX_VECTORS];
    for row in coefficients.chunks_exact(P) {
        for v in 0..P / V::LANES {
            sums[v] = sums[v].mul_add(t, V::load(&row[v * V::LANES..]));
        }
    }
    sums
}

impl Shape {
    /// The window `z` node spacings from its middle.
    pub fn value(&self, z: f64) -> f64 {
        bessel(0, self.beta * self.root(z)) / bessel(0, self.beta)
    }

    /// Its derivative.
    fn slope(&self, z: f64) -> f64 {
        // I1(x) / x stays finite at the edge.
        let x = (self.beta * self.root(z)).max(1e-8);
        let steepness = -4.0 * z * (self.beta / self.width as f64).powi(2);
        steepness * bessel(1, x) / x / bessel(0, self.beta)
    }

    /// sqrt(1 - (2 z / w)^2), 0 at the edge and beyond: rows of weights end there.
    fn root(&self, z: f64) -> f64 {
        (1.0 - (2.0 * z / self.width as f64).powi(2)).max(0.0).sqrt()
    }

    fn transform(&self, theta: f64) -> f64 {
        let half = 0.5 * self.width as f64;
        let square = self.beta * self.beta - (theta * half).powi(2);
        let root = square.abs().sqrt();
        let ratio = match root {
            r if r < 1e-4 => 1.0 + square / 6.0,
            r if square > 0.0 => r.sinh() / r,
            r => r.sin() / r,
        };
        self.width as f64 * ratio / bessel(0, self.beta)
    }
}

/// The modified Bessel function of order 0 or 1, by its series, all of whose terms are positive.
fn bessel(order: u32, x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let first = (0.5 * x).powi(order as i32);
    let (mut term, mut sum) = (first, first);
    let mut k = 1.0;
    while term > 1e-17 * sum {
        term *= quarter / (k * (k + f64::from(order)));
        sum += term;
        k += 1.0;
    }
    sum
}

/// Points of a fit.
pub const FIT: usize = 26;

/// Chebyshev coefficients of the interpolant at [`FIT`] points of the first kind.
fn chebyshev(f: impl Fn(f64) -> f64) -> Vec<f64> {
    let angle = |i: usize| PI * (i as f64 + 0.5) / FIT as f64;
    let values: Vec<f64> = (0..FIT).map(|i| f(angle(i).cos())).collect();
    (0..FIT)
        .map(|k| {
            let sum: f64 = (0..FIT).map(|i| values[i] * (k as f64 * angle(i)).cos()).sum();
            sum * if k == 0 { 1.0 } else { 2.0 } / FIT as f64
        })
        .collect()
}

/// Coefficients of powers, (terms, padded), highest first, of one series for each node, without
/// terms below `small`: errors of the window are amplified by the deconvolution, so that is much
/// less than the tolerance.
fn rows(series: &[Vec<f64>], padded: usize, small: f64) -> Vec<f64> {
    let mut degree = FIT - 1;
    while degree > 1 && series.iter().all(|c| c[degree].abs() < small) {
        degree -= 1;
    }
    let mut rows = vec![0.0; (degree + 1) * padded];
    for (i, series) in series.iter().enumerate() {
        for (k, &c) in monomials(&series[..=degree]).iter().enumerate() {
            rows[(degree - k) * padded + i] = c;
        }
    }
    rows
}

/// Coefficients of powers, lowest first, of a Chebyshev series.
fn monomials(series: &[f64]) -> Vec<f64> {
    let n = series.len();
    let mut sum = vec![0.0; n];
    // T_k by T_{k+1} = 2 t T_k - T_{k-1}.
    let (mut before, mut this) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    this[0] = 1.0;
    for (k, &c) in series.iter().enumerate() {
        for (sum, t) in sum.iter_mut().zip(&this) {
            *sum += c * t;
        }
        let mut next = vec![0.0; n + 1];
        for i in 0..n {
            next[i + 1] = if k == 0 { 1.0 } else { 2.0 } * this[i];
        }
        for i in 0..n {
            next[i] -= if k == 0 { 0.0 } else { before[i] };
        }
        before = std::mem::replace(&mut this, next);
    }
    sum
}
