//! Orthogonal modes of linear functions on a triangle: the constant 1 and two slopes, of mean
//! square 1 whatever the shape of the triangle.

use super::TriangleNode;

/// How many there are.
pub(crate) const MODES: usize = 3;

/// The largest value of any mode.
pub(crate) const LARGEST: f64 = 2.0 * std::f64::consts::SQRT_2;

/// Values at the corners, shape (corners, modes).
pub(crate) const AT_CORNERS: [[f64; MODES]; 3] = {
    const ROOT_2: f64 = std::f64::consts::SQRT_2;
    const ROOT_6: f64 = 2.449_489_742_783_178;
    [[1.0, ROOT_6, -ROOT_2], [1.0, -ROOT_6, -ROOT_2], [1.0, 0.0, LARGEST]]
};

/// Values of the modes at barycentric coordinates.
pub(crate) fn modes(barycentric: [f64; 3]) -> [f64; MODES] {
    std::array::from_fn(|m| (0..3).map(|k| barycentric[k] * AT_CORNERS[k][m]).sum())
}

/// For each mode its values at the nodes of a rule, times the weights there.
pub(crate) fn weighted(nodes: &[TriangleNode]) -> [Vec<f64>; MODES] {
    std::array::from_fn(|m| {
        nodes.iter().map(|node| node.weight * modes(node.barycentric)[m]).collect()
    })
}

/// Values at the corners of a sum of modes.
pub(crate) fn at_corners(sum: [f64; MODES]) -> [f64; 3] {
    AT_CORNERS.map(|modes| (0..MODES).map(|m| modes[m] * sum[m]).sum())
}

/// Coefficients of the modes of a linear function, of its values at the corners.
pub(crate) fn of_corners([a, b, c]: [f64; 3]) -> [f64; MODES] {
    let [_, first, _] = AT_CORNERS[0];
    [(a + b + c) / 3.0, (a - b) / (2.0 * first), (2.0 * c - a - b) / (3.0 * LARGEST)]
}

/// Integrals against modes, of those against the barycentric coordinates.
pub(crate) fn tested(values: [f64; 3]) -> [f64; MODES] {
    std::array::from_fn(|m| (0..3).map(|k| AT_CORNERS[k][m] * values[k]).sum())
}

/// Integrals between modes, of those between the barycentric coordinates.
pub(crate) fn between(block: &[[f64; 3]; 3]) -> [[f64; MODES]; MODES] {
    let of_rows = block.map(tested);
    let column = |l: usize| tested([of_rows[0][l], of_rows[1][l], of_rows[2][l]]);
    let columns: [[f64; MODES]; MODES] = std::array::from_fn(column);
    std::array::from_fn(|m| std::array::from_fn(|l| columns[l][m]))
}

/// The same integrals where the triangle of the rows, of the columns or both have been run around
/// the other way, from the same corner: as mirror images are.
pub(crate) fn run_around(
    [of_rows, of_columns]: [bool; 2],
    block: [[f64; MODES]; MODES],
) -> [[f64; MODES]; MODES] {
    // The second and the third corner change places.
    let turned = |[even, a, b]: [f64; MODES]| {
        const COS: f64 = 0.5;
        const SIN: f64 = 0.866_025_403_784_438_6;
        [even, COS * a - SIN * b, -SIN * a - COS * b]
    };
    let rows = if of_columns { block.map(turned) } else { block };
    if !of_rows {
        return rows;
    }
    let columns: [[f64; MODES]; MODES] =
        std::array::from_fn(|l| turned([rows[0][l], rows[1][l], rows[2][l]]));
    std::array::from_fn(|m| std::array::from_fn(|l| columns[l][m]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quadrature;

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
        let corner = |k: usize| modes(std::array::from_fn(|l| if k == l { 1.0 } else { 0.0 }));
        assert!((0..3).flat_map(corner).all(|value| value.abs() <= LARGEST));
    }
}
