use fmm::internals::gpu::rotated_matrices::{Wanted, along_z, rotation};
use fmm::internals::gpu::tables::{padded_columns, padded_rows, regular};
use fmm::internals::harmonics::{Gradient, cosine, parity, sine};
use fmm::internals::rotation::block;
use fmm::internals::screened::{HALF_DIAGONAL, Screening, corner, regular as radial};
use fmm::internals::translate::Kind;

/// A translation of truncation number `p` without a place for its matrix.
pub(super) fn wanted(kind: Kind, offset: [i32; 3], level: usize, p: usize) -> Wanted {
    Wanted { kind, offset, level, p, address: 0, lda: padded_rows(p) }
}

/// The matrix as the kernel makes it, column by column.
pub(super) fn dense(wanted: &Wanted, screening: Screening) -> Vec<f64> {
    let Wanted { p, lda, offset, .. } = *wanted;
    let gradient = Gradient::<f64>::new(p + 1);
    let polar = rotation::<f64>(p, wanted.vector().polar(), &gradient).blocks;
    let coaxial = along_z::<f64>(p, wanted.vector().along_z(wanted.level), screening);
    let azimuth = f64::from(offset[1]).atan2(f64::from(offset[0]));
    let mut matrix = vec![0.0; lda * padded_columns(p)];
    let cosines = |n: usize, i: usize, j: usize| polar[block(n) + i * (n + 1) + j];
    let sines = |n: usize, i: usize, j: usize| {
        if i * j == 0 { 0.0 } else { polar[block(n) + (n + 1) * (n + 1) + (i - 1) * n + j - 1] }
    };
    for (n, k) in (0..p).flat_map(|n| (0..p).map(move |k| (n, k))) {
        for (m, l) in (0..=n).flat_map(|m| (0..=k).map(move |l| (m, l))) {
            let (mut a, mut b) = (0.0, 0.0);
            for order in 0..=n.min(k) {
                let (values, stride) = coaxial.matrix(order);
                let along = values[(n - order) * stride + k - order];
                a += cosines(n, m, order) * along * cosines(k, order, l);
                b += sines(n, m, order) * along * sines(k, order, l);
            }
            let (s_in, c_in) = (l as f64 * azimuth).sin_cos();
            let (s_out, c_out) = (m as f64 * azimuth).sin_cos();
            let (s_out, c_out) = (parity(m) * s_out, parity(m) * c_out);
            let mut put = |row: usize, column: usize, value| matrix[column * lda + row] = value;
            put(cosine(n, m), cosine(k, l), c_out * a * c_in + s_out * b * s_in);
            if m > 0 {
                put(sine(n, m), cosine(k, l), s_out * a * c_in - c_out * b * s_in);
            }
            if l > 0 {
                put(cosine(n, m), sine(k, l), c_out * a * s_in - s_out * b * c_in);
            }
            if m > 0 && l > 0 {
                put(sine(n, m), sine(k, l), s_out * a * s_in + c_out * b * c_in);
            }
        }
    }
    matrix
}

/// The functions that expansions are sums of, in a box with kappa times its side `kappa`.
fn expand(p: usize, kappa: f64, y: [f64; 3]) -> Vec<f64> {
    let length = y.iter().map(|c| c * c).sum::<f64>().sqrt();
    let radial = radial(p, kappa * length, (-HALF_DIAGONAL * kappa).exp());
    let corner = corner(p, kappa);
    let values = regular(p, y).into_iter().enumerate();
    values.map(|(i, value)| value * radial[i.isqrt()] / corner[i.isqrt()]).collect()
}

fn product(matrix: &[f64], lda: usize, input: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; input.len()];
    for (column, value) in matrix.chunks_exact(lda).zip(input) {
        out.iter_mut().zip(column).for_each(|(out, entry)| *out += entry * value);
    }
    out
}

#[test]
fn matrices_are_translations() {
    const P: usize = 24;
    let length = |x: [f64; 3]| x.iter().map(|c| c * c).sum::<f64>().sqrt();
    // Well inside their boxes, so that the series has converged.
    let (y, x) = ([0.11, -0.14, 0.09], [-0.12, 0.08, 0.13]);
    for root in [1e-3, 3.0, 40.0] {
        let screening = Screening { root };
        for (offset, finer_target) in [
            ([4, 0, 0], 0),
            ([0, 0, -4], 0),
            ([0, -6, 2], 0),
            ([-4, 6, -6], 0),
            ([7, 3, -5], -1),
            ([-1, 9, 5], 1),
        ] {
            let level = 3;
            let w = wanted(Kind::M2l { finer_target }, offset, level, P);
            // Levels of the target and of the source, sides in units of the root.
            let target = screening.at(level as u8);
            let source = target * f64::from(finer_target).exp2();
            let local = product(&dense(&w, screening), w.lda, &expand(P, source, y));
            let found: f64 = local.iter().zip(expand(P, target, x)).map(|(l, e)| l * e).sum();
            // In units of the smaller side.
            let unit = target.min(source);
            let r = length(std::array::from_fn(|i| {
                0.5 * f64::from(offset[i]) + (target * x[i] - source * y[i]) / unit
            }));
            let exact = (-unit * r).exp() / r * (target / unit);
            let error = found / exact - 1.0;
            assert!(error.abs() < 1e-10, "{root} {offset:?} {finer_target}: {error:e}");
        }
        for octant in 0..8 {
            let offset: [i32; 3] =
                std::array::from_fn(|i| if octant >> i & 1 == 1 { 1 } else { -1 });
            let (parent, child) = (screening.at(2), screening.at(3));
            let of_child = expand(P, child, x);
            let of_parent = expand(
                P,
                parent,
                std::array::from_fn(|i| 0.5 * x[i] + 0.25 * f64::from(offset[i])),
            );
            let up = wanted(Kind::M2m, offset, 2, P);
            let moved = product(&dense(&up, screening), up.lda, &of_child);
            let down = wanted(Kind::L2l, offset, 3, P);
            let matrix = dense(&down, screening);
            // What is cut off comes from the highest degrees.
            for i in 0..P * P / 4 {
                let error = (moved[i] - of_parent[i]).abs();
                assert!(error < 1e-9, "{root} {octant} {i}: {error:e}");
                let column = &matrix[i * down.lda..];
                let sum: f64 = column.iter().zip(&of_child).map(|(m, e)| 2.0 * m * e).sum();
                let error = (sum - of_parent[i]).abs();
                assert!(error < 1e-9, "{root} {octant} {i} down: {error:e}");
            }
        }
    }
}
