//! Laws that capacitance matrices keep.

use bem::Replaced;
use bem::checks::{Finding, Law, capacitance_matrix, replaced_entries};

fn sums(matrix: &[Vec<f64>]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().sum()).collect()
}

fn laws(matrix: &[[f64; 3]; 3], tolerance: f64, one_medium: bool) -> Vec<(Law, [usize; 2])> {
    let matrix: Vec<Vec<f64>> = matrix.iter().map(|row| row.to_vec()).collect();
    let found = capacitance_matrix(&matrix, &sums(&matrix), tolerance, one_medium);
    found.iter().map(|finding| (finding.law, finding.at)).collect()
}

#[test]
fn a_sound_matrix_breaks_no_law() {
    // Two close plates and a small far sphere; errors of a few tolerances, couplings that are
    // tiny.
    let sound = [[87.17, -86.66, -1e-4], [-86.6601, 87.18, -9e-5], [-1.1e-4, -9.5e-5, 1e-2]];
    assert_eq!(laws(&sound, 1e-6, true), []);
    assert_eq!(laws(&sound, 1e-6, false), []);
}

/// What a capacitor filled with eps_r = 1000 next to a far sphere gave: hidden in an asymmetry
/// relative to the largest entry.
#[test]
fn a_wrong_small_coupling_is_seen_next_to_large_ones() {
    let wrong = [
        [87.172_490, -86.661_618, 0.005_195],
        [-86.654_253, 87.184_696, -0.114_471],
        [-0.039_863, -0.069_412, 0.681_976],
    ];
    let found = laws(&wrong, 1e-6, false);
    assert!(found.contains(&(Law::Symmetry, [0, 2])), "{found:?}");
    assert!(found.contains(&(Law::Symmetry, [1, 2])), "{found:?}");
    // The pair of plates agrees to 1e-4 of its entry.
    assert!(!found.contains(&(Law::Symmetry, [0, 1])), "{found:?}");
}

/// Entries of other rows stand in for these: the warning gives the defect of these rows, relative
/// to their size.
#[test]
fn what_was_replaced_is_judged_by_the_row_it_is_from() {
    let corrected = [
        vec![87.172_490, -86.661_618, -0.039_863],
        vec![-86.654_253, 87.184_696, -0.069_412],
        vec![-0.039_863, -0.069_412, 0.681_976],
    ];
    assert!(capacitance_matrix(&corrected, &sums(&corrected), 1e-6, false).is_empty());
    let had = |was| replaced_entries(&corrected, &[Replaced { at: [0, 2], was }]);
    assert!(had(0.005_195).is_empty());
    assert_eq!(
        had(1.0).iter().map(|f| (f.law, f.at)).collect::<Vec<_>>(),
        [(Law::Transposed, [0, 2])]
    );
    assert!(had(f64::NAN)[0].ratio() > 10.0);
}

#[test]
fn signs_and_sums_are_looked_at() {
    let negative = [[-74.9, -1.0, -1.0], [-1.0, 4.0, -1.0], [-1.0, -1.0, 4.0]];
    let found = laws(&negative, 1e-4, true);
    assert!(found.contains(&(Law::Diagonal, [0, 0])), "{found:?}");
    let positive = [[4.0, 1.0, -1.0], [1.0, 4.0, -1.0], [-1.0, -1.0, 4.0]];
    assert_eq!(
        laws(&positive, 1e-4, true),
        [(Law::OffDiagonal, [0, 1]), (Law::OffDiagonal, [1, 0])]
    );
    let sums = [[4.0, -3.0, -1.5], [-3.0, 4.0, -0.5], [-1.5, -0.5, 4.0]];
    assert_eq!(laws(&sums, 1e-4, true), [(Law::RowSum, [0, 0])]);
    let nan = [[f64::NAN, -1.0, -1.0], [-1.0, 4.0, -1.0], [-1.0, -1.0, 4.0]];
    assert!(laws(&nan, 1e-4, true).contains(&(Law::Diagonal, [0, 0])));
}

#[test]
fn the_promise_is_broken_in_steps() {
    let finding = |value| Finding { law: Law::Symmetry, at: [0, 1], value, promise: 1.0 };
    assert_eq!(finding(0.5).ratio(), 0.5);
    assert_eq!(finding(3.0).ratio(), 3.0);
    assert_eq!(finding(f64::NAN).ratio(), f64::INFINITY);
    let diagonal = capacitance_matrix(&[vec![-1.0]], &[-1.0], 1e-6, true);
    assert!(diagonal[0].ratio() > 10.0, "{diagonal:?}");
}
