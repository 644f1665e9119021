//! Real solid harmonics in the normalisation of all expansions.
//!
//! With `Q(n,m) = sqrt((n-m)!/(n+m)!) r^n P(n,m)(cos theta) e^(i m phi)` (no Condon-Shortley sign)
//! the regular harmonics are `C(n,0) = Q(n,0)`, `C(n,m) = sqrt(2) Re Q(n,m)` and
//! `S(n,m) = sqrt(2) Im Q(n,m)` for `m >= 1`. They are polynomials of degree n (docs/math.md,
//! "Expansions"; the recursions of [Gumerov2008], eq. 15, renormalised so that rotations are
//! orthogonal matrices and single precision neither overflows nor underflows), and
//!
//! ```text
//! 1/|x - y| = sum(n) sum(m) [ C(n,m)(y) C(n,m)(x) + S(n,m)(y) S(n,m)(x) ] / |x|^(2n+1)
//!
//! for |y| < |x|.
//! ```
//!
//! An expansion with truncation number p keeps `n < p`: p^2 coefficients, degree by degree, within
//! a degree the sines `S(n,1) ... S(n,n)` first, then the cosines `C(n,0) ... C(n,n)`; so a lower
//! truncation number is a prefix.

use simd::{Real, Simd};

/// Takes harmonics one after another, of `B` vectors of points.
pub trait Visit<V, const B: usize> {
    /// The harmonics of degree `n` whose coefficients are at `place`. Implementations are
    /// `#[inline(always)]`.
    fn visit(&mut self, n: usize, place: usize, harmonics: [V; B]);
}

/// Place of `S(n,m)`, `1 <= m <= n`, in an expansion.
#[inline(always)]
pub const fn sine(n: usize, m: usize) -> usize {
    n * n + m - 1
}

/// Place of `C(n,m)`, `0 <= m <= n`, in an expansion.
#[inline(always)]
pub const fn cosine(n: usize, m: usize) -> usize {
    n * n + n + m
}

/// `(-1)^n`.
pub fn parity(n: usize) -> f64 {
    if n.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// Scalars between the starts of two stored expansions with truncation number `p`: whole cache
/// lines.
pub(crate) const fn stride<T: Real>(p: usize) -> usize {
    (p * p).next_multiple_of(T::MAX_LANES)
}

/// Factors of the recursions up to one truncation number.
#[derive(Clone, Debug)]
pub struct Harmonics<T> {
    p: usize,
    /// `sqrt((2m-1)/(2m))` (`sqrt(2) sqrt(1/2) = 1` for m = 1), taking `Q(m-1,m-1)` to `Q(m,m)`.
    diagonal: Vec<T>,
    /// For each m, for n = m+1 .. p: `(2n-1)/sqrt(n^2-m^2)` and `-sqrt((n-1)^2-m^2)/sqrt(n^2-m^2)`.
    columns: Vec<[T; 2]>,
}

impl<T: Real> Harmonics<T> {
    /// Up to truncation number `p`.
    pub fn new(p: usize) -> Self {
        let diagonal = (0..p.max(1))
            .map(|m| match m {
                0 | 1 => T::of(1.0),
                _ => T::of(((2 * m - 1) as f64 / (2 * m) as f64).sqrt()),
            })
            .collect();
        let mut columns = Vec::with_capacity(p * p / 2);
        for m in 0..p {
            for n in m + 1..p {
                let (n, m) = (n as f64, m as f64);
                let root = (n * n - m * m).sqrt();
                let previous = ((n - 1.0) * (n - 1.0) - m * m).max(0.0).sqrt();
                columns.push([T::of((2.0 * n - 1.0) / root), T::of(-previous / root)]);
            }
        }
        Self { p, diagonal, columns }
    }

    /// Hands regular harmonics of `n < p` at one point a lane to `visitor`, order by order; p is at
    /// most the table's. What is done with them takes place along with the recursion, so that they
    /// never go through memory.
    #[inline(always)]
    pub fn walk<V: Simd<Scalar = T>, const B: usize>(
        &self,
        p: usize,
        [x, y, z]: &[[V; B]; 3],
        visitor: &mut impl Visit<V, B>,
    ) {
        debug_assert!(p <= self.p);
        if p == 0 {
            return;
        }
        let mut r2 = [V::zero(); B];
        for b in 0..B {
            r2[b] = z[b].mul_add(z[b], y[b].mul_add(y[b], x[b].mul(x[b])));
        }
        let mut c = [V::splat(T::of(1.0)); B];
        let mut s = [V::zero(); B];
        visitor.visit(0, cosine(0, 0), c);
        let (mut c1, mut c2) = (c, s);
        for (i, &[factor, previous]) in self.columns[..p - 1].iter().enumerate() {
            let (factor, previous) = (V::splat(factor), V::splat(previous));
            for b in 0..B {
                let below = previous.mul(r2[b]).mul(c2[b]);
                (c1[b], c2[b]) = (factor.mul(z[b]).mul_add(c1[b], below), c1[b]);
            }
            visitor.visit(i + 1, cosine(i + 1, 0), c1);
        }
        let mut offset = self.p - 1;
        for m in 1..p {
            let factor = V::splat(self.diagonal[m]);
            for b in 0..B {
                let (x, y) = (x[b].mul(factor), y[b].mul(factor));
                (c[b], s[b]) = (y.neg_mul_add(s[b], x.mul(c[b])), x.mul_add(s[b], y.mul(c[b])));
            }
            visitor.visit(m, sine(m, m), s);
            visitor.visit(m, cosine(m, m), c);
            let (mut c1, mut s1) = (c, s);
            let (mut c2, mut s2) = ([V::zero(); B], [V::zero(); B]);
            for (i, &[factor, previous]) in
                self.columns[offset..offset + p - m - 1].iter().enumerate()
            {
                let (factor, previous) = (V::splat(factor), V::splat(previous));
                for b in 0..B {
                    let (az, br2) = (factor.mul(z[b]), previous.mul(r2[b]));
                    (c1[b], c2[b]) = (az.mul_add(c1[b], br2.mul(c2[b])), c1[b]);
                    (s1[b], s2[b]) = (az.mul_add(s1[b], br2.mul(s2[b])), s1[b]);
                }
                let n = m + 1 + i;
                visitor.visit(n, sine(n, m), s1);
                visitor.visit(n, cosine(n, m), c1);
            }
            offset += self.p - m - 1;
        }
    }
}

/// The gradient of the regular harmonics as three sparse operators: each derivative of a harmonic
/// of degree n is a sum of at most two harmonics of degree n - 1 (docs/math.md, "Gradients"), and,
/// with screening, of two of degree n + 1.
#[derive(Clone, Debug)]
pub struct Gradient<T> {
    /// For x, y, z: `(row, column, factor)` with
    /// `d(harmonic row)/d(axis) = sum of factor * (harmonic column)`; rows ascend.
    pub(crate) entries: [Vec<(u32, u32, T)>; 3],
}

/// What one derivative of a harmonic, the row, has of another, the column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// Of row and column.
    pub(crate) degrees: [usize; 2],
    /// Without screening, and without `(kappa s)^2`.
    pub(crate) factor: f64,
}

impl<T: Real> Gradient<T> {
    /// Of expansions up to truncation number `p`.
    pub fn new(p: usize) -> Self {
        let mut entries: [Vec<(u32, u32, T)>; 3] = Default::default();
        let root = |value: usize| (value as f64).sqrt();
        for n in 1..p {
            // The derivatives of the complex Q are
            //   dQ(n,m)/dz          =  sqrt(n^2-m^2) Q(n-1,m),
            //   (dx + i dy) Q(n,m)  = -sqrt((n-m)(n-m-1)) Q(n-1,m+1),
            //   (dx - i dy) Q(n,m)  =  sqrt((n+m)(n+m-1)) Q(n-1,m-1),    Q(n,-1) = -conj Q(n,1).
            for m in 0..=n {
                let cosine_row = cosine(n, m) as u32;
                if m < n {
                    let factor = root(n * n - m * m);
                    entries[2].push((cosine_row, cosine(n - 1, m) as u32, T::of(factor)));
                    if m > 0 {
                        let (row, column) = (sine(n, m) as u32, sine(n - 1, m) as u32);
                        entries[2].push((row, column, T::of(factor)));
                    }
                }
                if m == 0 {
                    // Q(n,0) is real: d/dx and d/dy are the real and imaginary parts of (dx + i
                    // dy).
                    if n >= 2 {
                        let factor = T::of(-root(n * (n - 1)) / 2f64.sqrt());
                        entries[0].push((cosine_row, cosine(n - 1, 1) as u32, factor));
                        entries[1].push((cosine_row, sine(n - 1, 1) as u32, factor));
                    }
                    continue;
                }
                let sine_row = sine(n, m) as u32;
                // sqrt(2) of C(n,m) cancels that of C(n-1,m+1); C(n-1,0) carries none.
                if m + 1 < n {
                    let (c, s) = (cosine(n - 1, m + 1) as u32, sine(n - 1, m + 1) as u32);
                    let half = 0.5 * root((n - m) * (n - m - 1));
                    entries[0].push((cosine_row, c, T::of(-half)));
                    entries[0].push((sine_row, s, T::of(-half)));
                    entries[1].push((cosine_row, s, T::of(-half)));
                    entries[1].push((sine_row, c, T::of(half)));
                }
                let half = 0.5 * root((n + m) * (n + m - 1));
                if m == 1 {
                    let factor = T::of(half * 2f64.sqrt());
                    entries[0].push((cosine_row, cosine(n - 1, 0) as u32, factor));
                    entries[1].push((sine_row, cosine(n - 1, 0) as u32, factor));
                } else {
                    let (c, s) = (cosine(n - 1, m - 1) as u32, sine(n - 1, m - 1) as u32);
                    entries[0].push((cosine_row, c, T::of(half)));
                    entries[0].push((sine_row, s, T::of(half)));
                    entries[1].push((cosine_row, s, T::of(-half)));
                    entries[1].push((sine_row, c, T::of(half)));
                }
            }
        }
        for axis in &mut entries {
            axis.sort_by_key(|&(row, column, _)| (row, column));
        }
        Self { entries }
    }

    /// The entries of one derivative whose rows are harmonics of degree `n`.
    pub fn degree(&self, axis: usize, n: usize) -> &[(u32, u32, T)] {
        let entries = &self.entries[axis];
        let begin = entries.partition_point(|e| (e.0 as usize) < n * n);
        let end = entries.partition_point(|e| (e.0 as usize) < (n + 1) * (n + 1));
        &entries[begin..end]
    }

    /// Expansions of the three derivatives of a local expansion with truncation number `p`, of one
    /// degree less: coefficient `i` of axis `a` is added to `derivatives[i * step + a]`.
    pub(crate) fn differentiate(&self, p: usize, local: &[T], derivatives: &mut [T], step: usize) {
        for (axis, entries) in self.entries.iter().enumerate() {
            for &(row, column, factor) in entries.iter().take_while(|e| (e.0 as usize) < p * p) {
                derivatives[column as usize * step + axis] += factor * local[row as usize];
            }
        }
    }

    /// Adds the multipole moments of dipoles, `sum d . grad`, from the regular moments of each of
    /// their components: moment `i` of axis `a` is `moments[i * step + a]`.
    pub(crate) fn accumulate(&self, p: usize, moments: &[T], step: usize, multipole: &mut [T]) {
        for (axis, entries) in self.entries.iter().enumerate() {
            for &(row, column, factor) in entries.iter().take_while(|e| (e.0 as usize) < p * p) {
                multipole[row as usize] += factor * moments[column as usize * step + axis];
            }
        }
    }
}
