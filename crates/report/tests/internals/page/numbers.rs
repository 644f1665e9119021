use report::internals::numbers::{plain, small, unit, with_bar};

#[test]
fn values_end_where_their_bars_do() {
    assert_eq!(with_bar(73.509_812, Some(0.000_69)), "73.5098 ± 0.0007");
    assert_eq!(with_bar(-0.5, Some(1e-3)), "\u{2212}0.5000 ± 0.0010");
    assert_eq!(with_bar(-6.780_5e-18, Some(3.1e-21)), "\u{2212}6.781e\u{2212}18 ± 4.0e\u{2212}21");
    for bar in [None, Some(f64::NAN), Some(0.0)] {
        assert_eq!(with_bar(2.0, bar), "2.00000");
    }
    assert_eq!((with_bar(f64::NAN, Some(1.0)), plain(f64::INFINITY)), ("–".into(), "–".into()));
    assert_eq!((small(Some(2.2e-7)), small(None)), ("2.2e\u{2212}7".into(), "–".into()));
    assert_eq!(unit(2e-6, "C"), ("µC".to_owned(), 1e-6));
}
