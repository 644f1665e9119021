//! Dense systems.

use bem::internals::solve::Lu;
use nalgebra::DMatrix;

#[test]
fn solutions_satisfy_the_equations() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    for n in [1, 2, 47, 48, 49, 96, 150] {
        let mut matrix = DMatrix::from_fn(n, n, |_, _| random());
        matrix[(0, 0)] = 0.0; // no pivot without an exchange
        if n == 1 {
            matrix[(0, 0)] = 2.0;
        }
        let b: Vec<f64> = (0..n).map(|_| random()).collect();
        let mut x = b.clone();
        Lu::new(matrix.clone()).unwrap().solve(&mut x);
        let error = (&matrix * nalgebra::DVector::from_vec(x.clone())
            - nalgebra::DVector::from_vec(b))
        .norm();
        let size: f64 = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Backward stable: the residual is some roundings of |A| |x|.
        assert!(error < 1e-13 * n as f64 * size.max(1.0), "{n}: {error}");
    }
    assert!(Lu::new(DMatrix::from_element(3, 3, 1.0)).is_none());
}
