use report::internals::scene::{code, range};

#[test]
fn colours_of_charges_of_both_signs_are_symmetric() {
    let of = |values: &[f64]| range(&values.iter().map(|v| [*v, 1.0]).collect::<Vec<_>>());
    assert_eq!(of(&[-1.0, 2.0]), (-2.0, 2.0, "diverging"));
    assert_eq!(of(&[1.0, 2.0]), (0.0, 2.0, "sequential"));
    assert_eq!(of(&[-1e-6, 2.0]), (0.0, 2.0, "sequential"));
    assert_eq!(of(&[-3.0, -2.0]), (-3.0, 3.0, "diverging"));
    assert_eq!(of(&[0.0, f64::NAN]), (0.0, 1.0, "sequential"));
    // One of a hundred is beyond the colours.
    let mut many = vec![1.0; 99];
    many.push(1000.0);
    assert_eq!(of(&many), (0.0, 1.0, "sequential"));
    assert_eq!(code(f64::NAN, 0.0, 1.0), 0);
    assert_eq!([-1.0, 0.0, 0.5, 7.0].map(|v| code(v, 0.0, 1.0)), [1, 1, 128, 255]);
}
