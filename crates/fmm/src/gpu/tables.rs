//! Factors and matrices that kernels read, made on the host in double precision (docs/math.md,
//! "Dense translations").

use crate::Precision;
use crate::expansions::harmonics::{Gradient, cosine, parity, sine};

/// Factors of the recursions of harmonics: that of each diagonal, and two for each step along a
/// column, column after column.
pub(super) fn recursion(p: usize) -> (Vec<f64>, Vec<f64>) {
    let diagonal = (0..p)
        .map(|m| if m < 2 { 1.0 } else { ((2 * m - 1) as f64 / (2 * m) as f64).sqrt() })
        .collect();
    let mut columns = Vec::new();
    for m in 0..p {
        for n in m + 1..p {
            let root = ((n * n - m * m) as f64).sqrt();
            let previous = (((n - 1) * (n - 1)).saturating_sub(m * m) as f64).sqrt();
            columns.extend([(2 * n - 1) as f64 / root, previous / root]);
        }
    }
    (diagonal, columns)
}

/// The three derivatives of harmonics as entries (row, column, factor), and where those of each
/// axis end.
pub(super) fn derivatives(p: usize) -> (Vec<(u32, u32, f64)>, [u32; 3]) {
    let gradient = Gradient::<f64>::new(p);
    let mut entries = Vec::new();
    let ends = std::array::from_fn(|axis| {
        for n in 1..p {
            entries.extend_from_slice(gradient.degree(axis, n));
        }
        entries.len() as u32
    });
    (entries, ends)
}

/// `sqrt(k!)` for `k < count`.
pub(super) fn root_factorials(count: usize) -> Vec<f64> {
    let mut value = 1.0;
    (0..count)
        .map(|k| {
            value *= (k.max(1) as f64).sqrt();
            value
        })
        .collect()
}

/// Factors `(n+k)! / sqrt((n-m)! (n+m)! (k-m)! (k+m)!)` for `m <= k <= n < p`, m after m, n after
/// n.
pub fn coaxial(p: usize) -> Vec<f64> {
    let roots = root_factorials(2 * p + 1);
    // sqrt of (n+k)! / ((n-m)! (k+m)!), and of the same with n and k exchanged: no overflow on the
    // way.
    let binomial = |total: usize, part: usize| roots[total] / roots[part] / roots[total - part];
    let mut out = Vec::new();
    for m in 0..p {
        for n in m..p {
            out.extend((m..=n).map(|k| binomial(n + k, n - m) * binomial(n + k, n + m)));
        }
    }
    out
}

/// What z times the harmonic of degree n - 1 and r^2 times that of degree n - 2 count in the one of
/// degree n, for m < n < p, m after m (docs/math.md, "Expansions").
pub(super) fn recurrence(p: usize) -> Vec<[f64; 2]> {
    let root = |n: usize, m: usize| (((n - m) * (n + m)) as f64).sqrt();
    let of = |n: usize, m: usize| {
        let before = if n - 1 > m { root(n - 1, m) } else { 0.0 };
        [(2 * n - 1) as f64 / root(n, m), before / root(n, m)]
    };
    (0..p).flat_map(|m| (m + 1..p).map(move |n| of(n, m))).collect()
}

/// Rows of an expansion's matrix in memory: whole runs of eight.
pub fn padded_rows(p: usize) -> usize {
    (p * p).next_multiple_of(8)
}

/// Columns in memory are padded to a multiple of this.
pub(super) const WHOLE_COLUMNS: usize = 16;

/// Columns in memory.
pub fn padded_columns(p: usize) -> usize {
    (p * p).next_multiple_of(WHOLE_COLUMNS)
}

/// Bytes of shared memory that the making of M2L matrices takes: harmonics of the direction and
/// powers of two ratios.
pub(super) fn fill_shared(p: usize) -> u32 {
    (8 * ((2 * p - 1) * (2 * p - 1) + 2 * p + 2)) as u32
}

/// Matrices that translate between a box and its child in octant 0 .. 8: M2M (child to parent) and
/// L2L (parent to child), column by column with [`padded_rows`] rows, [`padded_columns`] columns.
///
/// `H(u/2 + d) = T(d) H(u)` with d the child's centre seen from the parent's in units of the
/// parent's side: T is M2M, and its transpose over 2 is L2L.
pub fn families(p: usize, octant: usize) -> [Vec<f64>; 2] {
    let d = std::array::from_fn(|axis| if octant >> axis & 1 == 1 { 0.25 } else { -0.25 });
    let (rows, columns) = (padded_rows(p), padded_columns(p));
    let mut up = vec![0.0; rows * columns];
    let mut down = vec![0.0; rows * columns];
    let mut put = |n: usize, k: usize, value: f64| {
        up[k * rows + n] = value;
        down[n * rows + k] = 0.5 * value;
    };
    let d = regular(p, d);
    let roots = root_factorials(2 * p + 1);
    // g of docs/math.md: the complex harmonic is (C + iS) over g, and over sqrt(2) too for m > 0.
    let scale =
        |n: usize, m: usize| roots[n - m] * roots[n + m] * if m == 0 { 1.0 } else { 2f64.sqrt() };
    // U(j,m) of d for any sign of m: real and imaginary part, zero outside of the degree.
    let u = |j: usize, m: usize| -> [f64; 2] {
        if m > j {
            return [0.0; 2];
        }
        let s = scale(j, m);
        [d[cosine(j, m)] / s, if m == 0 { 0.0 } else { d[sine(j, m)] / s }]
    };
    for n in 0..p {
        for m in 0..=n {
            for k in 0..=n {
                for l in 0..=k {
                    let j = n - k;
                    let a = if m >= l {
                        u(j, m - l)
                    } else {
                        let [re, im] = u(j, l - m);
                        let sign = parity(m + l);
                        [sign * re, -sign * im]
                    };
                    let b = if l == 0 { [0.0; 2] } else { u(j, m + l).map(|v| parity(l) * v) };
                    let factor = scale(n, m) / scale(k, l) * 0.5f64.powi(k as i32);
                    put(cosine(n, m), cosine(k, l), factor * (a[0] + b[0]));
                    if l > 0 {
                        put(cosine(n, m), sine(k, l), factor * (b[1] - a[1]));
                    }
                    if m > 0 {
                        put(sine(n, m), cosine(k, l), factor * (a[1] + b[1]));
                        if l > 0 {
                            put(sine(n, m), sine(k, l), factor * (a[0] - b[0]));
                        }
                    }
                }
            }
        }
    }
    [up, down]
}

/// Regular harmonics of `n < p` at one point.
pub fn regular(p: usize, [x, y, z]: [f64; 3]) -> Vec<f64> {
    let (diagonal, columns) = recursion(p);
    let mut columns = columns.chunks_exact(2);
    let r2 = x * x + y * y + z * z;
    let mut out = vec![0.0; p * p];
    let (mut c, mut s) = (1.0, 0.0);
    for m in 0..p {
        if m > 0 {
            let f = diagonal[m];
            (c, s) = (f * (x * c - y * s), f * (x * s + y * c));
        }
        let (mut c1, mut s1, mut c2, mut s2) = (c, s, 0.0, 0.0);
        for n in m..p {
            out[cosine(n, m)] = c1;
            if m > 0 {
                out[sine(n, m)] = s1;
            }
            if n + 1 < p
                && let Some(&[a, b]) = columns.next().and_then(|f| f.first_chunk::<2>())
            {
                (c1, c2) = (a * z * c1 - b * r2 * c2, c1);
                (s1, s2) = (a * z * s1 - b * r2 * s2, s1);
            }
        }
    }
    out
}

/// Entries of derivatives as kernels read them: two 32-bit numbers and a factor, aligned as the
/// factor is.
pub(super) fn derivative_bytes(precision: Precision, entries: &[(u32, u32, f64)]) -> Vec<u8> {
    let of = |&(row, column, factor): &(u32, u32, f64)| {
        let mut bytes = row.to_ne_bytes().to_vec();
        bytes.extend(column.to_ne_bytes());
        bytes.extend(precision.encode([factor]));
        bytes
    };
    entries.iter().flat_map(of).collect()
}
