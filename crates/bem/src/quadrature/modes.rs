//! Orthogonal modes of linear functions on a triangle: the constant 1 and two slopes, of mean
//! square 1 whatever the shape of the triangle.

use super::TriangleNode;

/// Number of modes.
pub const MODES: usize = 3;

/// The largest value of any mode.
pub const LARGEST: f64 = 2.0 * std::f64::consts::SQRT_2;

/// Values at the corners, shape (corners, modes).
pub(crate) const AT_CORNERS: [[f64; MODES]; 3] = {
    const ROOT_2: f64 = std::f64::consts::SQRT_2;
    const ROOT_6: f64 = 2.449_489_742_783_178;
    [[1.0, ROOT_6, -ROOT_2], [1.0, -ROOT_6, -ROOT_2], [1.0, 0.0, LARGEST]]
};

/// Values of the modes at barycentric coordinates.
pub fn modes(barycentric: [f64; 3]) -> [f64; MODES] {
    std::array::from_fn(|m| (0..3).map(|k| barycentric[k] * AT_CORNERS[k][m]).sum())
}

/// For each mode its values at the nodes of a rule, times the weights there.
pub(crate) fn weighted(nodes: &[TriangleNode]) -> [Vec<f64>; MODES] {
    std::array::from_fn(|m| {
        nodes.iter().map(|node| node.weight * modes(node.barycentric)[m]).collect()
    })
}

/// Values at the corners of a sum of modes.
pub fn at_corners(sum: [f64; MODES]) -> [f64; 3] {
    AT_CORNERS.map(|modes| (0..MODES).map(|m| modes[m] * sum[m]).sum())
}

/// Coefficients of the modes of a linear function, from its values at the corners.
pub fn of_corners([a, b, c]: [f64; 3]) -> [f64; MODES] {
    let [_, first, _] = AT_CORNERS[0];
    [(a + b + c) / 3.0, (a - b) / (2.0 * first), (2.0 * c - a - b) / (3.0 * LARGEST)]
}

/// Integrals against modes, from those against the barycentric coordinates.
pub(crate) fn tested(values: [f64; 3]) -> [f64; MODES] {
    std::array::from_fn(|m| (0..3).map(|k| AT_CORNERS[k][m] * values[k]).sum())
}

/// Integrals between modes, from those between the barycentric coordinates.
pub fn between(block: &[[f64; 3]; 3]) -> [[f64; MODES]; MODES] {
    let of_rows = block.map(tested);
    let column = |l: usize| tested([of_rows[0][l], of_rows[1][l], of_rows[2][l]]);
    let columns: [[f64; MODES]; MODES] = std::array::from_fn(column);
    std::array::from_fn(|m| std::array::from_fn(|l| columns[l][m]))
}

/// Integrals between the barycentric coordinates, from those between modes: inverts [`between`].
pub fn between_corners(block: &[[f64; MODES]; MODES]) -> [[f64; 3]; 3] {
    let coordinate = |k: usize| of_corners(std::array::from_fn(|l| f64::from(u8::from(k == l))));
    let [rows, columns] = [(); 2].map(|()| [0, 1, 2].map(coordinate));
    let entry = |k: usize, l: usize| -> f64 {
        let row = |m: usize| (0..MODES).map(move |n| block[m][n] * columns[l][n]).sum::<f64>();
        (0..MODES).map(|m| rows[k][m] * row(m)).sum()
    };
    std::array::from_fn(|k| std::array::from_fn(|l| entry(k, l)))
}

/// These integrals if the triangle of the rows, of the columns or both have the opposite
/// orientation, starting from the same corner, as mirror images have.
pub fn run_around(
    [of_rows, of_columns]: [bool; 2],
    block: [[f64; MODES]; MODES],
) -> [[f64; MODES]; MODES] {
    // The second and the third corner are exchanged.
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
