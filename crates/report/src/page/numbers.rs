//! How pages write numbers: as the tables on the terminal, with signs that paper has.

use crate::units;

/// A value with its error bar, to the digit that the bar is in.
pub fn with_bar(value: f64, bar: Option<f64>) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    signs(&units::with_bar(value, bar)).replace(" +- ", " ± ")
}

/// A value to six digits.
pub fn plain(value: f64) -> String {
    if value.is_finite() { signs(&units::significant(value)) } else { "–".to_owned() }
}

/// Two digits with a power of ten, as tolerances and residuals are.
pub fn small(value: Option<f64>) -> String {
    match value {
        Some(0.0) => "0".to_owned(),
        Some(value) if value.is_finite() => signs(&format!("{value:.1e}")),
        _ => "–".to_owned(),
    }
}

/// A unit with its prefix for numbers up to `largest`, and what that is worth.
pub fn unit(largest: f64, unit: &str) -> (String, f64) {
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
