use farad::internals::solution::relative_asymmetry;
use farad::{LengthUnit, Matrices, mutual, units};

#[test]
fn mutual_capacitances_of_two_conductors() {
    let maxwell = [vec![3.0, -1.0], vec![-1.5, 2.0]];
    assert_eq!(mutual(&maxwell), [vec![2.0, 1.0], vec![1.5, 0.5]]);
    assert_eq!(relative_asymmetry(&maxwell, &[0, 1]), 0.5 / 3.0);
}

#[test]
fn permittivity_and_unit_enter_once() {
    let matrices = Matrices::new(&[vec![2.0]], &[0], 3.0, LengthUnit::Micrometre);
    assert_eq!(matrices.maxwell_length, [vec![6.0]]);
    assert_eq!(matrices.maxwell_farad, [vec![units::farads(6e-6, LengthUnit::Metre)]]);
    assert_eq!(matrices.mutual_farad, matrices.maxwell_farad);
}
