use fmm::internals::gpu::tables::{coaxial, families, padded_rows, regular};

#[test]
fn moving_the_origin_of_harmonics_is_the_families_matrix() {
    const P: usize = 24;
    let point = [0.31, -0.42, 0.17];
    for octant in 0..8 {
        let d: [f64; 3] = std::array::from_fn(|i| if octant >> i & 1 == 1 { 0.25 } else { -0.25 });
        let of_child = regular(P, point);
        let of_parent = regular(P, std::array::from_fn(|i| 0.5 * point[i] + d[i]));
        let [up, down] = families(P, octant);
        let rows = padded_rows(P);
        for n in 0..P * P {
            let sum: f64 = (0..P * P).map(|k| up[k * rows + n] * of_child[k]).sum();
            // Harmonics are at most 1 here; rounding of sums of P^2 terms.
            assert!((sum - of_parent[n]).abs() < 1e-13, "octant {octant}, place {n}");
            for k in 0..P * P {
                assert_eq!(down[n * rows + k], 0.5 * up[k * rows + n]);
            }
        }
    }
}

#[test]
fn coaxial_factors_are_the_textbooks() {
    let factors = coaxial(6);
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let mut place = 0;
    for m in 0..6 {
        for n in m..6 {
            for k in m..=n {
                let below =
                    factorial(n - m) * factorial(n + m) * factorial(k - m) * factorial(k + m);
                let exact = factorial(n + k) / below.sqrt();
                assert!((factors[place] / exact - 1.0).abs() < 1e-13);
                place += 1;
            }
        }
    }
    assert_eq!(place, factors.len());
}
