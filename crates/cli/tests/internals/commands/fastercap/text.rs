use farad_cli::internals::fastercap::{general, labels, picofarads, significant, time};
use formats::fastcap::Net;

/// The values are those of C.
#[test]
fn numbers_have_six_digits() {
    let known = [
        (3.95302e-9, "3.95302e-09"),
        (-3.8088e-10, "-3.8088e-10"),
        (0.00178033, "0.00178033"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (123_456.7, "123457"),
        (1_234_567.0, "1.23457e+06"),
        (999_999.9, "1e+06"),
        (100.0, "100"),
        (0.0, "0"),
        (-2.5, "-2.5"),
    ];
    for (value, text) in known {
        assert_eq!(general(value), text);
    }
    assert_eq!(significant(377_800.0, 4), "3.778e+05");
    assert_eq!(significant(54.97, 4), "54.97");
}

#[test]
fn rows_are_called_by_the_groups_that_have_conductors() {
    let net = |name: &str, group: &str| Net { name: name.into(), group: group.into() };
    let nets = [net("a", "GROUP3"), net("b", "GROUP3"), net("a", "GROUP7")];
    assert_eq!(labels(&nets), ["g1_a", "g1_b", "g2_a"]);
    let matrix = vec![vec![1.2e-12, -2e-13, 0.0]; 3];
    let text = picofarads(&nets, &matrix);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(lines[2].starts_with("a%GROUP3 1        1.2"), "{text}");
}

#[test]
fn times_are_printed_in_days() {
    assert_eq!(time(0.25), "0.250000s (0 days, 0 hours, 0 mins, 0 s)");
    assert_eq!(time(93_784.5), "93784.500000s (1 days, 2 hours, 3 mins, 4 s)");
}
