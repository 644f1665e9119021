use farad::Level;
use farad::internals::accuracy::{is_stalled, stretch, tolerance_for};

#[test]
fn tolerances_follow_the_bar_that_is_expected_down_to_that_of_the_accuracy() {
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-12;
    assert!(close(tolerance_for(1e-5, 1e-3), 5e-5));
    assert!(close(tolerance_for(1e-4, 1e-5), 1e-5));
    assert!(close(tolerance_for(1e-4, f64::INFINITY), 1e-4));
}

#[test]
fn a_value_that_moved_more_than_its_bars_stretches_them_beyond_that() {
    let found = stretch([1.0, 1.4], 0.2);
    // Longer than what it moved by, and not by so much that no mesh would be fine enough.
    assert!((2.4..3.6).contains(&found), "{found}");
    assert_eq!(stretch([1.4, 1.4], 0.0), 0.0);
}

#[test]
fn bars_that_shrink_by_a_tenth_in_four_meshes_are_stalled() {
    let level = |relative: f64| Level {
        triangles: 0,
        worst: None,
        value: 1.0,
        bar: relative,
        relative,
        tolerance: 1e-5,
        seconds: 0.0,
    };
    let before = [0.3, 1.0, 0.9, 0.95, 0.95].map(level);
    let of = |level: &Level| level.relative;
    assert!(is_stalled(&before, 0.9, of) && !is_stalled(&before, 0.7, of));
    // Fewer meshes tell nothing, and a bar that is none does not shrink.
    let endless = [1.0, 1.0, 1.0, f64::INFINITY].map(level);
    assert!(!is_stalled(&before[..3], 2.0, of) && is_stalled(&endless, 0.1, of));
}
