use crate::harmonics::regular as harmonics;
use fmm::internals::coaxial::Coaxial;
use fmm::internals::harmonics::{cosine, parity, sine};
use fmm::internals::screened::{HALF_DIAGONAL, corner, l2l, m2l, m2m, regular, singular};

const P: usize = 30;

/// From nearly none to exponentials of 1e-60.
const KAPPAS: [f64; 6] = [1e-9, 1e-2, 1.0, 6.0, 20.0, 60.0];

fn length(x: [f64; 3]) -> f64 {
    x.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// The functions that expansions are sums of, kappa times the box's side being `kappa`.
fn expand(kappa: f64, y: [f64; 3]) -> Vec<f64> {
    let radial = regular(P, kappa * length(y), (-HALF_DIAGONAL * kappa).exp());
    let corner = corner(P, kappa);
    let values = harmonics(P, y).into_iter().enumerate();
    values.map(|(i, value)| value * radial[i.isqrt()] / corner[i.isqrt()]).collect()
}

/// As the translations of a plan do, without the sign of the way back.
fn apply(coaxial: &Coaxial<f64>, from: &[f64]) -> Vec<f64> {
    let mut to = vec![0.0; P * P];
    for m in 0..P {
        let (matrix, stride) = coaxial.matrix(m);
        for n in m..P {
            for k in m..P {
                let entry = parity(m) * matrix[(n - m) * stride + k - m];
                to[cosine(n, m)] += entry * from[cosine(k, m)];
                if m > 0 {
                    to[sine(n, m)] += entry * from[sine(k, m)];
                }
            }
        }
    }
    to
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn radial_functions_are_bessel_functions() {
    for t in [1e-3, 0.3, 2.0, 11.0, 40.0] {
        let (i, k) = (regular(3, t, 1.0), singular(3, t, 0.0));
        // In closed form, of which small arguments leave few digits.
        let (sinh, cosh) = (t.sinh(), t.cosh());
        let closed = [
            (i[0], sinh / t, 1.0),
            (i[1], 3.0 * (cosh / t - sinh / (t * t)) / t, cosh / t / t),
            (k[0], (-t).exp(), 1.0),
            (k[1], (-t).exp() * (1.0 + t), 1.0),
            (k[2], (-t).exp() * (1.0 + t + t * t / 3.0), 1.0),
        ];
        for (found, exact, lost) in closed {
            assert!((found - exact).abs() < 1e-14 * exact + 1e-15 * lost, "{t}: {found} {exact}");
        }
    }
}

#[test]
fn without_screening_they_are_translations_of_the_laplace_kernel() {
    let pairs = [
        (m2l::<f64>(P, 1e-9, 1.0, 2.0, 3.5), Coaxial::m2l(P, 1.0, 2.0, 3.5)),
        (m2m(P, 1e-9, 0.4), Coaxial::m2m(P, 0.4)),
        (l2l(P, 1e-9, 0.4), Coaxial::l2l(P, 0.4)),
    ];
    for (screened, laplace) in pairs {
        for m in 0..P {
            for (a, b) in screened.matrix(m).0.iter().zip(laplace.matrix(m).0) {
                // exp(-1e-9 ...) itself is other than 1.
                assert!((a - b).abs() <= 1e-8 * b.abs() + 1e-16, "{m}: {a} {b}");
            }
        }
    }
}

#[test]
fn m2l_gives_the_yukawa_potential() {
    let (y, x) = ([0.2, -0.1, 0.25], [-0.25, 0.3, -0.1]);
    for kappa in KAPPAS {
        for (source, target, distance) in
            [(1.0, 1.0, 2.0), (1.0, 1.0, 4.0), (2.0, 1.0, 3.5), (1.0, 2.0, 3.1)]
        {
            let multipole = expand(kappa * source, y);
            let local = apply(&m2l(P, kappa, source, target, distance), &multipole);
            let there = expand(kappa * target, x);
            let potential = dot(&local, &there) / target;
            let r = length(std::array::from_fn(|i| {
                target * x[i] - source * y[i] + if i == 2 { distance } else { 0.0 }
            }));
            let exact = (-kappa * r).exp() / r;
            // Of what the closest corners would feel, truncation leaves as much as of 1/r:
            // below (0.75 / 2)^30.
            let gap = distance - HALF_DIAGONAL * (source + target);
            let error = (potential - exact).abs();
            assert!(error < 1e-12 * (-kappa * gap).exp(), "{kappa} {distance}: {error:e}");
            if kappa < 2.0 {
                assert!(error < 1e-12 * exact, "{kappa} {distance}: {error:e}");
            }
        }
    }
}

#[test]
fn m2m_and_l2l_move_centres() {
    let y = [0.2, -0.45, 0.15];
    for kappa in KAPPAS {
        let distance = 0.25 * 3f64.sqrt();
        // In units of the parent, whose half the child is.
        let child = expand(0.5 * kappa, y);
        let moved = apply(&m2m(P, kappa, distance), &child);
        let place = [0.5 * y[0], 0.5 * y[1], 0.5 * y[2] + distance];
        let exact = expand(kappa, place);
        // Degrees above P are missing in the child's expansion: far from P they do not matter.
        for n in 0..P / 2 {
            let degree = n * n..(n + 1) * (n + 1);
            let most = exact[degree.clone()].iter().fold(0f64, |m, v| m.max(v.abs()));
            for i in degree {
                let error = (moved[i] - exact[i]).abs();
                assert!(error < 1e-8 * most + 1e-16, "{kappa} {n}: {error:e} of {most:e}");
                if kappa <= 20.0 {
                    assert!(error < 1e-13 * most, "{kappa} {n}: {error:e} of {most:e}");
                }
            }
        }
        let local: Vec<f64> = (0..P * P)
            .map(|i| 0.3f64.powi(i.isqrt() as i32) * ((i * 7919 % 101) as f64 - 50.0))
            .collect();
        let of_parent = dot(&local, &exact);
        let of_child = 2.0 * dot(&apply(&l2l(P, kappa, distance), &local), &child);
        assert!((of_child - of_parent).abs() < 1e-12 * of_parent.abs(), "{kappa}");
    }
}
