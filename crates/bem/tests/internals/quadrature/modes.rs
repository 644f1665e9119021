//! Modes of a triangle.

use bem::internals::quadrature::modes::{
    LARGEST, MODES, at_corners, between, between_corners, modes, of_corners, run_around,
};
use bem::internals::quadrature::{self, TriangleNode};

#[test]
fn modes_are_orthogonal_and_their_sums_are_linear_functions() {
    let rule = quadrature::triangle(2);
    for m in 0..MODES {
        for k in 0..MODES {
            let product = |node: &TriangleNode| {
                let modes = modes(node.barycentric);
                node.weight * modes[m] * modes[k]
            };
            let mean: f64 = rule.iter().map(product).sum();
            let expected = if m == k { 1.0 } else { 0.0 };
            assert!((mean - expected).abs() < 1e-14, "{m} {k}: {mean}");
        }
    }
    let (sum, at) = ([0.7, -1.3, 2.1], [0.2, 0.5, 0.3]);
    let by_modes: f64 = modes(at).iter().zip(sum).map(|(mode, x)| mode * x).sum();
    let by_corners: f64 = at_corners(sum).iter().zip(at).map(|(value, x)| value * x).sum();
    assert!((by_modes - by_corners).abs() < 1e-14);
    let back = of_corners(at_corners(sum));
    assert!(back.iter().zip(sum).all(|(a, b)| (a - b).abs() < 1e-14), "{back:?}");
    // Around the other way.
    let swapped = modes([at[0], at[2], at[1]]);
    let outer = |of: [f64; 3]| of.map(|a| sum.map(|b| a * b));
    let turned = run_around([true, false], outer(modes(at)));
    let expected = outer(swapped);
    for (row, expected) in turned.iter().zip(expected) {
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
    }
    let transposed = run_around([false, true], outer(modes(at)).map(|row| row));
    let back = run_around([false, true], transposed);
    for (row, expected) in back.iter().zip(outer(modes(at))) {
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
    }
    let block = [[0.3, -0.2, 1.0], [0.5, 2.0, 0.1], [-1.0, 0.4, 0.6]];
    for (row, expected) in between(&between_corners(&block)).iter().zip(block) {
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
    }
    let corner = |k: usize| modes(std::array::from_fn(|l| if k == l { 1.0 } else { 0.0 }));
    assert!((0..3).flat_map(corner).all(|value| value.abs() <= LARGEST));
}
