//! Matrices of capacitances: a table with error bars, and a map of couplings.

use std::io;

use farad::Labelled;

use super::chart::{self, Couplings};
use super::html::{self, Html};
use super::numbers::{unit, with_bar};

/// The table of more conductors would be too large for a page.
const MOST_IN_TABLE: usize = 300;

/// Bars of more conductors are left to the tables in the folder.
const MOST_WITH_BARS: usize = 40;

/// The strongest couplings that have a table of their own where the matrix is large.
pub const STRONGEST: usize = 25;

/// The row of a column's own conductor.
fn own(matrix: &Labelled<'_>, column: usize) -> Option<usize> {
    matrix.rows.iter().position(|name| *name == matrix.columns[column])
}

/// Shares: |C_ij| over the geometric mean of both diagonals, or over the column's own where the
/// other is not there.
pub fn shares(matrix: Labelled<'_>) -> Vec<Vec<f64>> {
    let Labelled { values, .. } = matrix;
    let (rows, columns) = (matrix.rows.len(), matrix.columns.len());
    let own: Vec<Option<usize>> = (0..columns).map(|j| own(&matrix, j)).collect();
    let diagonal = |j: usize| own[j].map_or(f64::NAN, |row| values[row][j].abs());
    let column_of = |i: usize| own.iter().position(|row| *row == Some(i));
    let columns_of: Vec<Option<usize>> = (0..rows).map(column_of).collect();
    let share = |i: usize, j: usize| {
        if own[j] == Some(i) {
            return f64::NAN;
        }
        let other = columns_of[i].map_or_else(|| diagonal(j), diagonal);
        let share = values[i][j].abs() / (diagonal(j) * other).sqrt();
        // NaN stays NaN.
        if share > 1.0 { 1.0 } else { share }
    };
    (0..rows).map(|i| (0..columns).map(|j| share(i, j)).collect()).collect()
}

/// The matrix as a table; of a large one where it is.
pub fn table(matrix: Labelled<'_>, file: &str) -> Html {
    let mut html = Html::default();
    let (symbol, factor) = unit(matrix.largest(), "F");
    let count = matrix.rows.len().max(matrix.columns.len());
    if count > MOST_IN_TABLE {
        html.raw("<p>").text(&format!("The matrix of {count} conductors is in "));
        html.element("code", file).raw(".</p>\n");
        return html;
    }
    let with_bars = matrix.bars.is_some() && count <= MOST_WITH_BARS;
    let mut header = vec![format!("C / {symbol}")];
    header.extend(matrix.columns.iter().cloned());
    let rows = matrix.rows.iter().enumerate().map(|(i, name)| {
        let cell = |j: usize| {
            let bar = matrix.bar(i, j).filter(|_| with_bars);
            let value = matrix.values[i][j] / factor;
            if with_bars {
                with_bar(value, bar.map(|bar| bar / factor))
            } else if value.is_finite() {
                format!("{value:.4}").replace('-', "\u{2212}")
            } else {
                "–".to_owned()
            }
        };
        std::iter::once(name.clone()).chain((0..matrix.columns.len()).map(cell)).collect()
    });
    html.part(&html::table(&header, rows));
    if matrix.bars.is_some() && !with_bars {
        html.raw("<p class=\"note\">The error bars of so many entries are in <code>capacitance_maxwell_error.csv</code>; the strongest couplings below have theirs.</p>\n");
    }
    html
}

/// The map of couplings, and the strongest of many.
pub fn couplings(matrix: Labelled<'_>) -> io::Result<Html> {
    let mut html = Html::default();
    if matrix.rows.len() < 2 || matrix.columns.is_empty() {
        return Ok(html);
    }
    let (symbol, factor) = unit(matrix.largest(), "F");
    let shares = shares(matrix);
    let value = |i: usize, j: usize| {
        let bar = matrix.bar(i, j).map(|bar| bar / factor);
        format!("{} {symbol}", with_bar(matrix.values[i][j] / factor, bar))
    };
    let title = |i: usize, j: usize| {
        format!("C({}, {}) = {}", matrix.rows[i], matrix.columns[j], value(i, j))
    };
    let is_vague = |i: usize, j: usize| {
        matrix.bar(i, j).is_some_and(|bar| matrix.values[i][j].abs() <= 2.0 * bar)
    };
    let of = Couplings {
        rows: matrix.rows,
        columns: matrix.columns,
        shares: &shares,
        title: &title,
        is_vague: &is_vague,
    };
    html.part(&chart::heat_map(of)?);
    html.raw("<p class=\"note\">Coupling of two conductors: |C<sub>ij</sub>| / √(C<sub>ii</sub> C<sub>jj</sub>), on a logarithmic scale.");
    let count = matrix.rows.len().max(matrix.columns.len());
    if matrix.bars.is_some() && count <= MOST_WITH_BARS {
        html.raw(" Point at a cell for the entry with its error bar; a white dot marks entries that are no larger than twice theirs.");
    }
    html.raw("</p>\n");
    if count > MOST_WITH_BARS {
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (i, row) in shares.iter().enumerate() {
            for (j, &share) in row.iter().enumerate() {
                let is_twice = own(&matrix, j).is_some_and(|own| own < i)
                    && matrix.columns.contains(&matrix.rows[i]);
                if share.is_finite() && !is_twice {
                    pairs.push((share, i, j));
                }
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let header = ["conductor", "and", "C", "coupling"];
        let rows = pairs.iter().take(STRONGEST).map(|&(share, i, j)| {
            let names = [matrix.rows[i].clone(), matrix.columns[j].clone()];
            names.into_iter().chain([value(i, j), format!("{:.2} %", 100.0 * share)]).collect()
        });
        html.raw("<h3>Strongest couplings</h3>\n").part(&html::table(&header, rows));
    }
    Ok(html)
}
