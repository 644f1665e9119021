use farad::units::shortest;
use report::units::{column, prefix, significant, three_digits, with_bar};

#[test]
fn values_end_where_their_bars_do() {
    for (value, bar, text) in [
        (73.509_812, 0.000_69, "73.5098 +- 0.0007"),
        (73.509_812, 0.001_2, "73.5098 +- 0.0012"),
        (73.509_812, 12.3, "74 +- 13"),
        (-0.001_234_5, 1e-6, "-0.0012345 +- 0.0000010"),
        (6.780_5e-18, 3.1e-21, "6.781e-18 +- 4.0e-21"),
        (0.0, 0.5, "0.0 +- 0.5"),
        (1234.6, 567.0, "1235 +- 600"),
    ] {
        assert_eq!(with_bar(value, Some(bar)), text);
    }
    for bar in [None, Some(0.0), Some(f64::NAN)] {
        assert_eq!(with_bar(73.509_812, bar), significant(73.509_812));
    }
}

#[test]
fn columns_end_at_the_digit_of_their_largest_number() {
    for (largest, more, value, text) in [
        (73.509_812, 0, 73.509_812, "73.5098"),
        (73.509_812, 1, -0.5, "-0.50000"),
        (73.509_812, 0, 5.380_27e-17, "0.0000"),
        (73.509_812, 0, -5.380_27e-17, "0.0000"),
        (5.380_27e-17, 0, 5.380_27e-17, "5.38027e-17"),
        (5.380_27e-17, 0, -1e-18, "-1.00000e-18"),
        (2e9, 0, 1.5e9, "1.50000e9"),
        (0.0, 0, -0.0, "0.00000"),
    ] {
        assert_eq!(column(largest, more)(value), text, "{largest} {value}");
    }
}

#[test]
fn bars_are_rounded() {
    assert_eq!(three_digits(1.234_56e-15), 1.23e-15);
    assert_eq!((three_digits(0.0), three_digits(f64::INFINITY)), (0.0, f64::INFINITY));
    assert!(three_digits(f64::NAN).is_nan());
}

#[test]
fn prefixes_keep_numbers_between_1_and_1000() {
    for (value, symbol) in
        [(1.1e-10, "p"), (1e-12, "p"), (9.999e-13, "f"), (-2e-16, "a"), (3.0, "")]
    {
        assert_eq!(prefix(value).symbol, symbol, "{value}");
    }
    assert_eq!(prefix(0.0).factor, 1.0);
}

#[test]
fn six_significant_digits() {
    let pairs = [
        (0.66067815409957, "0.660678"),
        (73.512345678, "73.5123"),
        (-0.000123456789, "-0.000123457"),
        (123456789.0, "1.23457e8"),
        (0.0, "0"),
    ];
    for (value, expected) in pairs {
        assert_eq!(significant(value), expected);
    }
}

#[test]
fn numbers_read_back() {
    for value in [1.0, 3e-7, 0.1, 81.25, 1e12, 0.3 * 1e-6] {
        let table: toml::Table = format!("x = {}", shortest(value)).parse().unwrap();
        assert_eq!(table["x"].as_float(), Some(value));
    }
}
