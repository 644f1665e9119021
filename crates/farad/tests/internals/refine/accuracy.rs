use farad::internals::accuracy::{
    Judge, Judgement, Verdict, is_stalled, stretch, tolerance_for, up_to,
};
use farad::{Goal, Level, Target};

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

fn level(bar: f64, relative: f64) -> Level {
    let (triangles, worst, value, tolerance, seconds) = (0, None, 1.0, 1e-5, 0.0);
    Level { triangles, worst, value, bar, relative, tolerance, seconds }
}

#[test]
fn bars_that_shrink_by_a_tenth_in_four_meshes_are_stalled() {
    let level = |relative: f64| level(relative, relative);
    let before = [0.3, 1.0, 0.9, 0.95, 0.95].map(level);
    let of = |level: &Level| level.relative;
    assert!(is_stalled(&before, 0.9, of) && !is_stalled(&before, 0.7, of));
    // Fewer meshes tell nothing, and a bar that is none does not shrink.
    let endless = [1.0, 1.0, 1.0, f64::INFINITY].map(level);
    assert!(!is_stalled(&before[..3], 2.0, of) && is_stalled(&endless, 0.1, of));
}

/// What follows a mesh: bars, and bars over values, of those before and of this one.
#[test]
fn verdicts_follow_from_bars_and_self_checks() {
    let goal = Goal { accuracy: 1e-2, target: Target::All, max_seconds: None };
    let verdict = |before: &[[f64; 2]], [bar, relative]: [f64; 2], has_failed: bool| {
        let levels: Vec<Level> = before.iter().map(|of| level(of[0], of[1])).collect();
        let judgement = Judgement { bar, relative, has_failed, ..Judgement::default() };
        Judge::new(&goal).verdict(&judgement, &levels)
    };
    let one = [[0.1, 0.1]];
    assert_eq!(verdict(&one, [0.01, 0.01], false), Verdict::Reached);
    // The first mesh is not believed, longer bars than before are not, nor what failed its checks.
    assert_eq!(verdict(&[], [0.01, 0.01], false), Verdict::Refine);
    assert_eq!(verdict(&[[0.005, 0.005]], [0.01, 0.01], false), Verdict::Refine);
    assert_eq!(verdict(&one, [0.01, 0.01], true), Verdict::Refine);
    assert_eq!(verdict(&one, [0.02, 0.02], false), Verdict::Refine);
    // Exact values need no other mesh.
    assert_eq!(verdict(&[], [0.0, 0.0], false), Verdict::Reached);
    // Bars that no longer shrink.
    let four = |bars: [f64; 4], relative: f64| bars.map(|bar| [bar, relative]);
    assert_eq!(verdict(&four([0.4; 4], 0.4), [0.4, 0.4], false), Verdict::Stalled);
    assert_eq!(verdict(&four([0.4; 4], 3.0), [0.4, 3.0], false), Verdict::Stalled);
    // Bars of a value that is zero do, and so does the value.
    let shrinking = [0.4, 0.2, 0.1, 0.05];
    assert_eq!(verdict(&four(shrinking, 3.0), [0.02, 3.0], false), Verdict::Vanishing);
    assert_eq!(verdict(&four(shrinking, 0.9), [0.02, 0.9], false), Verdict::Stalled);
}

/// Of solutions that failed their self-checks none is the result, and neither is one that did not
/// converge; the levels end with the mesh before them all.
#[test]
fn what_failed_is_not_the_result() {
    let judgement = |verdict, has_failed| Judgement { verdict, has_failed, ..Judgement::default() };
    for (verdict, has_failed, failure) in [
        (Verdict::Reached, false, None),
        (Verdict::Stalled, false, None),
        (Verdict::Stalled, true, Some("failed its self-checks")),
        (Verdict::Unsolved, true, Some("failed its self-checks")),
        (Verdict::NotConverged, false, Some("did not converge")),
    ] {
        assert_eq!(judgement(verdict, has_failed).failure(), failure, "{verdict:?}");
    }
    let levels = |of: &[usize]| -> Vec<Level> {
        of.iter().map(|&triangles| Level { triangles, ..level(0.1, 0.1) }).collect()
    };
    assert_eq!(up_to(levels(&[12, 30, 70, 160]), 30), levels(&[12, 30]));
    assert_eq!(up_to(levels(&[12, 30]), 30), levels(&[12, 30]));
    assert_eq!(up_to(levels(&[]), 30), []);
}
