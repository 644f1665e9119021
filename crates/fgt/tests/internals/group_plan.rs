use fgt::internals::group_plan::{decay, nodes_within, rough};

#[test]
fn what_is_dropped_is_a_share_of_the_tolerance() {
    for tolerance in [1e-3, 1e-6, 1e-10] {
        let dropped = (-decay(tolerance)).exp() / tolerance;
        // Sources all around add six times that up, which leaves room for the window's errors;
        // a longer reach costs time.
        assert!((0.02..0.06).contains(&dropped), "{tolerance:e}: {dropped}");
    }
}

#[test]
fn nodes_reach_from_either_side_of_a_point() {
    // A source between two nodes, and a target at the cut-off between two others.
    for (cut_off, expected) in [(0.3, 2), (2.0, 3), (2.1, 4), (1e9, 8)] {
        assert_eq!(nodes_within(cut_off, 7), expected, "{cut_off}");
    }
}

#[test]
fn exponentials_are_rough_where_a_tenth_of_the_tolerance_is_more() {
    assert!(rough(1e-3) && rough(1e-7) && !rough(9e-8) && !rough(1e-10));
}
