//! Where panels stand in files, in words.

use farad::units::count;

/// Where a panel stands: index of its file, its line there, and the line of the list; 0 without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub file: u32,
    pub line: u32,
    pub listed: u32,
}

pub(super) fn place_of(files: &[String], Origin { file, line, listed }: Origin) -> String {
    let file = files.get(file as usize).map_or("", String::as_str);
    let listed = if listed > 0 { format!(" (line {listed} of the list)") } else { String::new() };
    format!("line {line} of {file}{listed}")
}

/// "1 panel is", "1,234 panels are".
pub(super) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { many })
}
