use farad_cli::internals::arguments::parse_count;

#[test]
fn counts_may_be_written_with_an_exponent() {
    let counts = [("1", 1), ("1000", 1000), ("1e6", 1_000_000), ("2.5e3", 2500), ("3.0", 3)];
    for (text, count) in counts {
        assert_eq!(parse_count(text).unwrap().get(), count, "{text}");
    }
    for text in ["0", "-1", "1.5", "0.5e0", "1e300", "nan", "inf", "", "x", "1e-3"] {
        assert!(parse_count(text).is_err(), "{text}");
    }
}
