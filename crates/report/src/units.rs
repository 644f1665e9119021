//! How numbers with units are written for people.

pub use farad::units::{
    ELEMENTARY_CHARGE, EPSILON_0, LengthUnit, count, farads, kilocalorie_per_mole,
    kilojoule_per_mole, over_thermal as thermal, shortest,
};

/// "1 charge", "1,200 charges".
pub fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// An error bar to three digits, more than any is known to.
pub fn three_digits(bar: f64) -> f64 {
    format!("{bar:.2e}").parse().unwrap_or(bar)
}

/// A power of 1000 with its SI prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// "p", for instance; empty for 1.
    pub symbol: &'static str,
    /// 1e-12, for instance.
    pub factor: f64,
}

/// The SI prefix in which `value` is between 1 and 1000.
pub fn prefix(value: f64) -> Prefix {
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

/// A number with `DIGITS` + 1 significant digits, plain where that is short.
pub fn significant(value: f64) -> String {
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
/// last of `DIGITS` + 1 and `more`; plain where these are short.
pub fn column(largest: f64, more: usize) -> impl Fn(f64) -> String {
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
pub fn with_bar(value: f64, bar: Option<f64>) -> String {
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

/// Decimals that give `size` `DIGITS` + 1 significant digits.
fn decimals(size: f64) -> usize {
    if size == 0.0 || !size.is_finite() {
        return DIGITS;
    }
    let magnitude = size.log10().floor() as i64;
    usize::try_from(DIGITS as i64 - magnitude).unwrap_or(0)
}

/// Seconds with three digits: "0.012 s", "34.5 s", "12 min 3 s".
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.9995 => format!("{s:.3} s"),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
    }
}

/// Bytes in the binary unit that keeps three digits.
pub fn bytes(count: u64) -> String {
    fmm::in_units(count)
}
