use fmm::internals::scale::Scale;

#[test]
fn the_largest_strength_becomes_about_1_without_rounding() {
    for largest in [5e-324, 1e-310, 1e-50, 0.7, 1.0, 3.0, 1e39, f64::MAX] {
        for strengths in [[largest, -0.1 * largest], [0.3 * largest, -largest]] {
            let scale = Scale::of(&strengths, &[], 1.0);
            let scaled = strengths.map(|q| scale.apply(q));
            // Subnormal numbers and the largest ones come within single precision's range, if
            // not to 1.
            let most = scaled[0].abs().max(scaled[1].abs());
            assert!((1e-24..1e8).contains(&most), "{largest:e}: {most:e}");
            assert!((1e-300..1e300).contains(&largest) <= (1.0..2.0).contains(&most));
            assert_eq!(scaled.map(|q| scale.undo(q)), strengths);
        }
    }
    assert_eq!(Scale::of(&[0.0; 3], &[], 1.0), Scale::by(0));
    assert_eq!(Scale::of(&[], &[], 1.0), Scale::by(0));
}

#[test]
fn dipoles_count_in_units_of_the_side() {
    assert_eq!(Scale::of(&[1.0], &[8.0, 0.0, 0.0], 2.0), Scale::by(2));
    assert_eq!(Scale::of(&[64.0], &[8.0, 0.0, 0.0], 2.0), Scale::by(6));
    assert_eq!(Scale::of(&[], &[0.0, -8.0, 0.0], 0.25), Scale::by(5));
    assert_eq!(Scale::of(&[0.0], &[0.0; 3], 1e-9), Scale::by(0));
}
