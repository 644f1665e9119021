//! Tables for people.

use comfy_table::{CellAlignment, Table, presets};

use crate::text::printable_line;

/// Rows under a header, the first column to the left and the others to the right, without rules.
pub(crate) fn grid(header: Vec<String>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
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
