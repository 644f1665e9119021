//! Tables for people.

use comfy_table::{CellAlignment, Table, presets};

use crate::report::text::printable_line;

/// Rows under a header, the first column to the left and the others to the right, without rules.
pub(crate) fn aligned_table(
    header: impl IntoIterator<Item = impl Into<String>>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let header = header.into_iter().map(Into::into).collect();
    let mut table = Table::new();
    let fit = |row: Vec<String>| {
        row.iter().map(|cell| printable_line(cell).into_owned()).collect::<Vec<_>>()
    };
    table.load_preset(presets::NOTHING).set_header(fit(header)).add_rows(rows.into_iter().map(fit));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((2, 0));
        column.set_cell_alignment(match index {
            0 => CellAlignment::Left,
            _ => CellAlignment::Right,
        });
    }
    table.trim_fmt() + "\n"
}

/// As `aligned_table`, in several tables one after the other where one would be wider than
/// `width`: each has the first column and as many of the others as fit.
pub fn narrow_tables(header: &[String], rows: &[Vec<String>], width: usize) -> String {
    let cells = |column: usize| {
        let own = rows.iter().filter_map(move |row| row.get(column));
        std::iter::once(&header[column]).chain(own)
    };
    // Two blanks before each.
    let size =
        |column: usize| 2 + cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let mut tables: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for column in 1..header.len() {
        match tables.last_mut() {
            Some(table) if used + size(column) <= width => table.push(column),
            _ => {
                used = size(0);
                tables.push(vec![0, column]);
            }
        }
        used += size(column);
    }
    let part = |table: &Vec<usize>| {
        let of = |row: &[String]| table.iter().map(|&column| row[column].clone()).collect();
        aligned_table(of(header), rows.iter().map(|row| of(row)))
    };
    tables.iter().map(part).collect::<Vec<_>>().join("\n")
}
