use farad_cli::internals::sum::warnings;

#[test]
fn errors_beyond_the_tolerance_are_reported() {
    assert!(warnings(1e-6, 1e-6, 0).is_empty());
    assert_eq!(warnings(3e-6, 1e-6, 0), ["the error is 3.0e-6, 3.0 times the tolerance of 1.0e-6"]);
    assert_eq!(warnings(f64::NAN, 1e-6, 7), ["7 of the sums are no finite numbers"]);
    assert_eq!(warnings(f64::NAN, 1e-6, 0).len(), 1);
}
