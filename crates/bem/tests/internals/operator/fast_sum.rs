//! When a fast sum is tight enough.

use bem::SolveOptions;
use bem::internals::constants::TIGHTEST;
use bem::internals::operator::fast_sum::{SampledError, is_hopeless, tighter_for, tolerance};

#[test]
fn a_sum_gets_tighter_by_what_it_is_off_unless_its_tolerance_was_asked_for() {
    let options = SolveOptions::default().tolerance(1e-6);
    assert_eq!(tolerance(&options), 0.3 * 1e-6);
    let error = |absolute| Some(SampledError { relative: 0.0, absolute });
    let found = tighter_for(3e-7, error(1e-5), &options).unwrap();
    assert!((found / 9e-9 - 1.0).abs() < 1e-12, "{found}");
    assert_eq!(tighter_for(3e-7, error(9e-7), &options), None);
    assert_eq!(tighter_for(3e-7, error(f64::NAN), &options), None);
    assert_eq!(tighter_for(TIGHTEST, error(1e-5), &options), None);
    assert_eq!(tighter_for(2e-12, error(1e-3), &options), Some(TIGHTEST));
    // The very tolerance that it would have had anyway.
    let asked = options.fmm_tolerance(Some(0.3 * 1e-6));
    assert_eq!(tighter_for(3e-7, error(1e-5), &asked), None);
    assert!(is_hopeless(error(2e-5), 1e-6) && !is_hopeless(error(9e-6), 1e-6));
    assert!(is_hopeless(error(f64::NAN), 1e-6) && !is_hopeless(None, 1e-6));
}
