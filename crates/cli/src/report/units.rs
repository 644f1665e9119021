//! How numbers with units are written for people.

pub(crate) use farad::units::{
    ELEMENTARY_CHARGE, EPSILON_0, LengthUnit, count, farads, kilocalorie_per_mole,
    kilojoule_per_mole, over_thermal as thermal, shortest,
};

use crate::case::Case;

/// Kelvin that energies in kT are at where a case does not say: 25 degrees Celsius.
const ROOM: f64 = 298.15;

/// The temperature that energies and potentials of a case are told at in multiples of kT.
pub(crate) fn temperature(case: &Case) -> f64 {
    case.temperature.unwrap_or(ROOM)
}

/// "1 charge", "1,200 charges".
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// An error bar to three digits, more than any is known to.
pub(crate) fn three_digits(bar: f64) -> f64 {
    format!("{bar:.2e}").parse().unwrap_or(bar)
}

/// A power of 1000 with its SI prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prefix {
    pub(crate) symbol: &'static str,
    pub(crate) factor: f64,
}

/// The SI prefix in which `value` is between 1 and 1000.
pub(crate) fn prefix(value: f64) -> Prefix {
    const PREFIXES: [Prefix; 9] = [
        Prefix { symbol: "", factor: 1.0 },
        Prefix { symbol: "m", factor: 1e-3 },
        Prefix { symbol: "u", factor: 1e-6 },
        Prefix { symbol: "n", factor: 1e-9 },
        Prefix { symbol: "p", factor: 1e-12 },
        Prefix { symbol: "f", factor: 1e-15 },
        Prefix { symbol: "a", factor: 1e-18 },
        Prefix { symbol: "z", factor: 1e-21 },
        Prefix { symbol: "y", factor: 1e-24 },
    ];
    // The last digit that is shown may round 0.9999999 up to 1.
    let fits = |prefix: &&Prefix| value.abs() >= prefix.factor * 0.999_999_5;
    PREFIXES.iter().find(fits).copied().unwrap_or(PREFIXES[0])
}

/// Digits after the leading one that a mesh can make true at best.
const DIGITS: usize = 5;

/// A number with [`DIGITS`] + 1 significant digits, plain where that is short.
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs();
    if (1e-4..1e7).contains(&size) {
        let decimals = decimals(size);
        format!("{value:.decimals$}")
    } else {
        format!("{value:.DIGITS$e}")
    }
}

/// How the numbers of a column are written: all to the digit that the largest of them has as its
/// last of [`DIGITS`] + 1 and `more`; plain where these are short.
pub(crate) fn column(largest: f64, more: usize) -> impl Fn(f64) -> String {
    let is_plain = largest == 0.0 || (1e-4..1e7).contains(&largest);
    let digits = if is_plain { decimals(largest) } else { DIGITS } + more;
    move |value| {
        let text =
            if is_plain { format!("{value:.digits$}") } else { format!("{value:.digits$e}") };
        // A negative number that is rounded to 0.
        match text.strip_prefix('-') {
            Some(zero) if zero.bytes().all(|b| b == b'0' || b == b'.') => zero.to_owned(),
            _ => text,
        }
    }
}

/// A value with its error bar, "73.5098 +- 0.0007", to the digit that the bar is in.
pub(crate) fn with_bar(value: f64, bar: Option<f64>) -> String {
    let bar = bar.filter(|bar| *bar > 0.0 && bar.is_finite());
    let Some(bar) = bar else { return significant(value) };
    // Bars are rounded up: 1 significant digit, 2 where that would be a 1.
    let mut place = bar.log10().floor() as i32;
    if bar / 10f64.powi(place) < 2.0 {
        place -= 1;
    }
    let bar = (bar / 10f64.powi(place) - 1e-9).ceil() * 10f64.powi(place);
    let size = value.abs().max(bar);
    if (1e-4..1e7).contains(&size) && place < 4 {
        let decimals = usize::try_from(-place).unwrap_or(0);
        return format!("{value:.decimals$} +- {bar:.decimals$}");
    }
    let exponent = size.log10().floor() as i32;
    let digits = usize::try_from(exponent - place).unwrap_or(0);
    format!("{value:.digits$e} +- {bar:.1e}")
}

/// Decimals that give `size` [`DIGITS`] + 1 significant digits.
fn decimals(size: f64) -> usize {
    if size == 0.0 || !size.is_finite() {
        return DIGITS;
    }
    let magnitude = size.log10().floor() as i64;
    usize::try_from(DIGITS as i64 - magnitude).unwrap_or(0)
}

/// Seconds with three digits: "0.012 s", "34.5 s", "12 min 3 s".
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.9995 => format!("{s:.3} s"),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
    }
}

/// Bytes in the binary unit that keeps three digits.
pub(crate) fn bytes(count: u64) -> String {
    fmm::in_units(count)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
