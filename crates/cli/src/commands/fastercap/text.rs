//! The text that callers of FasterCap and FastCap read: matrices, statistics, times.

use std::fmt::Write as _;

use formats::fastcap::Net;

/// A number with six significant digits, as C's %g has it.
pub fn general(value: f64) -> String {
    significant(value, 6)
}

/// A number with this number of significant digits, without zeros at the end; with an exponent
/// where it is long.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent) as usize;
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

/// Without zeros after a point.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// The labels of rows: the number of the conductor's group among those that have conductors, and
/// its name.
pub fn labels(nets: &[Net]) -> Vec<String> {
    let mut groups: Vec<&str> = Vec::new();
    let mut labels = Vec::with_capacity(nets.len());
    for Net { name, group } in nets {
        let number = groups.iter().position(|known| known == group).unwrap_or(groups.len());
        if number == groups.len() {
            groups.push(group);
        }
        labels.push(format!("g{}_{name}", number + 1));
    }
    labels
}

/// FasterCap's block of a matrix in farad, with its warnings.
pub(super) fn matrix(labels: &[String], matrix: &[Vec<f64>], bars: &[Vec<f64>]) -> String {
    let n = labels.len();
    let mut text = format!("Capacitance matrix is:\nDimension {n} x {n}\n");
    for (label, row) in labels.iter().zip(matrix) {
        let _ = write!(text, "{label}  ");
        row.iter().for_each(|entry| {
            let _ = write!(text, "{} ", general(*entry));
        });
        text.push('\n');
    }
    for i in 0..n {
        for j in (0..n).filter(|&j| j != i && matrix[i][j] > bars[i][j]) {
            let _ = writeln!(
                text,
                "Warning: capacitance matrix has a non-negative off-diagonal element at row {} col {}",
                i + 1,
                j + 1
            );
        }
        let others = |of: &[f64]| (0..n).filter(|&j| j != i).map(|j| of[j].abs()).sum::<f64>();
        if matrix[i][i] + bars[i][i] + others(&bars[i]) < others(&matrix[i]) {
            let _ = writeln!(
                text,
                "Warning: capacitance matrix is not diagonally dominant due to row {}",
                i + 1
            );
        }
    }
    text
}

/// The norm of a matrix's bars over its own (Frobenius).
pub(super) fn relative_norm(matrix: &[Vec<f64>], bars: &[Vec<f64>]) -> f64 {
    let square = |of: &[Vec<f64>]| of.iter().flatten().map(|x| x * x).sum::<f64>();
    (square(bars) / square(matrix)).sqrt()
}

/// FastCap's block of a matrix, given in farad.
pub fn picofarads(nets: &[Net], matrix: &[Vec<f64>]) -> String {
    let label = |net: &Net| format!("{}%{}", net.name, net.group);
    let labels: Vec<String> = nets.iter().map(label).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let digits = labels.len().to_string().len();
    let mut text = String::from("CAPACITANCE MATRIX, picofarads\n");
    let _ = write!(text, "{:1$}", "", width + 1 + digits);
    (1..=labels.len()).for_each(|number| {
        let _ = write!(text, " {number:>10}");
    });
    text.push('\n');
    for (k, (label, row)) in labels.iter().zip(matrix).enumerate() {
        let _ = write!(text, "{label} {:<digits$}", k + 1);
        row.iter().for_each(|entry| {
            let _ = write!(text, " {:>10}", significant(1e12 * entry, 4));
        });
        text.push('\n');
    }
    text
}

/// A matrix in farad as FasterCap's -e writes it.
pub(super) fn rows(matrix: &[Vec<f64>]) -> String {
    let row = |row: &Vec<f64>| row.iter().map(|x| general(*x)).collect::<Vec<_>>().join(", ");
    matrix.iter().map(|of| row(of) + "\n").collect()
}

/// Seconds as FasterCap tells them.
pub fn time(seconds: f64) -> String {
    let whole = seconds as u64;
    let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400);
    format!(
        "{seconds:.6}s ({days} days, {} hours, {} mins, {} s)",
        hours % 24,
        minutes % 60,
        whole % 60
    )
}
