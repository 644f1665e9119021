use fgt::internals::boxes::{MAX_BOXES, side};

#[test]
fn sides_have_five_bits_and_are_no_larger_than_they_must_be() {
    for k in 0..500 {
        let wanted = 1.37f64.powi(k % 50 - 25);
        // The least side with which boxes can be counted: from far below the wanted one to above.
        let least = wanted * 1.093f64.powi(k - 250);
        let extent = least * MAX_BOXES;
        let side = side(wanted, extent);
        let unit = side.log2().floor().exp2() / 16.0;
        assert!((side / unit).fract() == 0.0, "{side}");
        assert!(side * MAX_BOXES >= extent, "{wanted} {least}: {side}");
        assert!(side <= wanted || side < 2.0 * least, "{wanted} {least}: {side}");
        assert!(side > wanted * 16.0 / 17.0, "{wanted} {least}: {side}");
    }
}
