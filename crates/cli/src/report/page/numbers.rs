//! How pages write numbers: as the tables on the terminal, with signs that paper has.

use crate::report::units;

/// A value with its error bar, to the digit that the bar is in.
pub(super) fn with_bar(value: f64, bar: Option<f64>) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    signs(&units::with_bar(value, bar)).replace(" +- ", " ± ")
}

/// A value to six digits.
pub(super) fn plain(value: f64) -> String {
    if value.is_finite() { signs(&units::significant(value)) } else { "–".to_owned() }
}

/// Two digits with a power of ten, as tolerances and residuals are.
pub(super) fn small(value: Option<f64>) -> String {
    match value {
        Some(0.0) => "0".to_owned(),
        Some(value) if value.is_finite() => signs(&format!("{value:.1e}")),
        _ => "–".to_owned(),
    }
}

/// A unit with its prefix for numbers up to `largest`, and what that is worth.
pub(super) fn unit(largest: f64, unit: &str) -> (String, f64) {
    let prefix = units::prefix(largest);
    (format!("{}{unit}", prefix.symbol.replace('u', "µ")), prefix.factor)
}

/// The largest size of finite numbers.
pub(super) fn largest(values: &[Vec<f64>]) -> f64 {
    let finite = values.iter().flatten().filter(|value| value.is_finite());
    finite.fold(0.0, |largest, value| value.abs().max(largest))
}

/// Minus signs as long as plus signs.
fn signs(text: &str) -> String {
    text.replace('-', "\u{2212}").replace("+\u{2212}", "+-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_their_bars_do() {
        assert_eq!(with_bar(73.509_812, Some(0.000_69)), "73.5098 ± 0.0007");
        assert_eq!(with_bar(-0.5, Some(1e-3)), "\u{2212}0.5000 ± 0.0010");
        assert_eq!(
            with_bar(-6.780_5e-18, Some(3.1e-21)),
            "\u{2212}6.781e\u{2212}18 ± 4.0e\u{2212}21"
        );
        for bar in [None, Some(f64::NAN), Some(0.0)] {
            assert_eq!(with_bar(2.0, bar), "2.00000");
        }
        assert_eq!((with_bar(f64::NAN, Some(1.0)), plain(f64::INFINITY)), ("–".into(), "–".into()));
        assert_eq!((small(Some(2.2e-7)), small(None)), ("2.2e\u{2212}7".into(), "–".into()));
        assert_eq!(unit(2e-6, "C"), ("µC".to_owned(), 1e-6));
    }
}
