//! The text of a case file under construction.

use super::table::Table;

/// Lines of a case file.
#[derive(Default)]
pub(super) struct CaseText(Vec<String>);

impl CaseText {
    /// Adds a line: a comment.
    pub(super) fn line(&mut self, line: &str) {
        self.0.push(line.to_owned());
    }

    /// Adds a table: its heading, keys that have values, and a blank line.
    pub(super) fn table<T: Table>(&mut self, table: &T) {
        self.commented_table(table, |_| None);
    }

    /// As [`table`](Self::table), with comments before some keys.
    pub(super) fn commented_table<T: Table>(
        &mut self,
        table: &T,
        comment: impl Fn(&str) -> Option<&'static str>,
    ) {
        if !T::INFO.name.is_empty() {
            self.0.push(T::INFO.heading());
        }
        let is_last = |key: &str| T::INFO.written_last.contains(&key);
        let (last, first): (Vec<_>, Vec<_>) =
            table.entries().into_iter().partition(|(key, _)| is_last(key));
        for (key, value) in first.into_iter().chain(last) {
            self.0.extend(comment(key).map(str::to_owned));
            self.0.push(format!("{key} = {value}"));
        }
        self.0.push(String::new());
    }

    /// Adds tables of one array.
    pub(super) fn tables<T: Table>(&mut self, tables: impl IntoIterator<Item = T>) {
        tables.into_iter().for_each(|table| self.table(&table));
    }

    /// The whole text.
    pub(super) fn finish(self) -> String {
        self.0.join("\n")
    }
}
