//! Networks of capacitors that have the capacitance matrix, and its inverse.

use nalgebra::DMatrix;

/// Capacitors between nets and to ground, without the smallest couplings.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Of each net, in the unit of the matrix.
    pub to_ground: Vec<f64>,
    /// Two nets, the first before the second, and their capacitance.
    pub couplings: Vec<(usize, usize, f64)>,
    /// How many couplings are left out. They are added to ground: the total capacitance of each
    /// net, its diagonal, stays.
    pub neglected: usize,
    /// The largest sum of absolute values left out of a net's couplings, over its diagonal.
    pub largest_share: f64,
}

impl Network {
    /// The network of a symmetric Maxwell matrix without couplings of less than `threshold` times
    /// the smaller diagonal of their two nets.
    pub fn new(maxwell: &[Vec<f64>], threshold: f64) -> Self {
        let own = |i: usize| maxwell[i][i].abs();
        let mut to_ground: Vec<f64> = (0..maxwell.len()).map(|i| maxwell[i][i]).collect();
        let mut left_out = vec![0.0; maxwell.len()];
        let (mut couplings, mut neglected) = (Vec::new(), 0);
        for (i, row) in maxwell.iter().enumerate() {
            for (j, entry) in row.iter().enumerate().skip(i + 1) {
                if entry.abs() < threshold * own(i).min(own(j)) {
                    neglected += usize::from(*entry != 0.0);
                    left_out[i] += entry.abs();
                    left_out[j] += entry.abs();
                } else if *entry != 0.0 {
                    couplings.push((i, j, -entry));
                    to_ground[i] += entry;
                    to_ground[j] += entry;
                }
            }
        }
        let share = |(i, sum): (usize, &f64)| if *sum > 0.0 { sum / own(i) } else { 0.0 };
        let largest_share = left_out.iter().enumerate().map(share).fold(0.0, f64::max);
        Self { to_ground, couplings, neglected, largest_share }
    }
}

/// The mean of a matrix and its transpose.
pub fn symmetric(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mean = |i: usize, j: usize| 0.5 * (matrix[i][j] + matrix[j][i]);
    (0..matrix.len()).map(|i| (0..matrix.len()).map(|j| mean(i, j)).collect()).collect()
}

/// The inverse of a Maxwell matrix, the potentials of its nets by their charges; `None` if it has
/// none.
pub fn inverse(maxwell: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = maxwell.len();
    let inverse = DMatrix::from_fn(n, n, |i, j| maxwell[i][j]).try_inverse()?;
    Some(inverse.row_iter().map(|row| row.iter().copied().collect()).collect())
}
