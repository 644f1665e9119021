use crate::harmonics::regular;
use fmm::internals::coaxial::Coaxial;
use fmm::internals::harmonics::{cosine, parity, sine};
use fmm::internals::truncation::series::{Sample, errors, exact};
use simd::Level;

type Point = [f64; 3];

/// The truncated expansion through harmonics in the frame of the translation, along z:
/// docs/math.md, (24), (27), (30).
fn by_harmonics(p: usize, distance: f64, sides: [f64; 2], y: Point, x: Point) -> f64 {
    let (multipole, at) = (regular(p, y), regular(p, x));
    let coaxial = Coaxial::<f64>::m2l(p, sides[0], sides[1], distance);
    let mut sum = 0.0;
    for m in 0..p {
        let (matrix, stride) = coaxial.matrix(m);
        for n in m..p {
            for k in m..p {
                // The table carries the sign of the way back of a rotation.
                let factor = parity(m) * matrix[(n - m) * stride + k - m];
                sum += factor * at[cosine(n, m)] * multipole[cosine(k, m)];
                if m > 0 {
                    sum += factor * at[sine(n, m)] * multipole[sine(k, m)];
                }
            }
        }
    }
    sum / sides[1]
}

/// That expansion's value and derivatives as [`errors`] lists them, derivatives by central
/// differences.
fn with_derivatives(p: usize, pair: &Sample, sides: [f64; 2], [u, v]: [usize; 2]) -> [f64; 4] {
    const H: f64 = 1e-3;
    let at = |dx: f64, dy: f64| {
        let (mut x, mut y) = (pair.target, pair.source);
        (x[u], y[v]) = (x[u] + dx, y[v] + dy);
        let [x, y] = [x.map(|c| c / sides[1]), y.map(|c| c / sides[0])];
        by_harmonics(p, pair.distance[2], sides, y, x)
    };
    let both = at(H, H) - at(H, -H) - at(-H, H) + at(-H, -H);
    [
        at(0.0, 0.0),
        (at(H, 0.0) - at(-H, 0.0)) / (2.0 * H),
        (at(0.0, H) - at(0.0, -H)) / (2.0 * H),
        both / (4.0 * H * H),
    ]
}

#[test]
fn the_recurrence_gives_the_errors_of_the_expansions() {
    const P: usize = 12;
    let points = [[0.5, -0.5, 0.5], [-0.3, 0.1, -0.45], [0.0, 0.2, 0.4], [0.5, 0.5, -0.5]];
    for (distance, sides) in [(2.0, [1.0, 1.0]), (3.3, [2.0, 1.0]), (2.9, [1.0, 2.0])] {
        for y in points {
            for x in points {
                let pair = Sample {
                    distance: [0.0, 0.0, distance],
                    target: x.map(|c| sides[1] * c),
                    source: y.map(|c| sides[0] * c),
                    weight: 1.0,
                };
                // All directions in turn, of which the errors are means.
                let pairs = [pair; 9];
                let turns: Vec<[usize; 2]> = (0..9).map(|i| [i % 3, i / 3]).collect();
                for p in 1..=P {
                    let mut expected = [0.0; 4];
                    for &turn in &turns {
                        let of = with_derivatives(p, &pair, sides, turn);
                        for (i, exact) in exact(&pair, turn).into_iter().enumerate() {
                            expected[i] += (exact - of[i]).powi(2) / 9.0;
                        }
                    }
                    for level in Level::available() {
                        for (gradient, dipoles, picked) in [
                            (false, false, &[0][..]),
                            (true, false, &[0, 1]),
                            (false, true, &[0, 2]),
                            (true, true, &[0, 1, 2, 3]),
                        ] {
                            let found =
                                errors(level, &pairs, P, [gradient, dipoles]).swap_remove(p);
                            for i in 0..4 {
                                let expected =
                                    if picked.contains(&i) { expected[i].sqrt() } else { 0.0 };
                                // Differences leave H^2 / 6 of a third derivative, at most a
                                // few hundred.
                                let tolerance = if i == 0 { 1e-13 } else { 1e-4 };
                                let error = (found[i].sqrt() - expected).abs();
                                assert!(error < tolerance, "{p} {i}: {error:e}");
                            }
                        }
                    }
                }
            }
        }
    }
}
