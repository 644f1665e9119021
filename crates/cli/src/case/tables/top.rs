//! The top of the file.

use super::prelude::*;

/// The only version of the format so far.
pub const FORMAT: usize = 1;

table! {
    /// The keys before the first table.
    TopTable = "";
    format: usize = Spec::integer(FORMAT, FORMAT), REQUIRED, "version of this format";
    title: String = TEXT, or("the case file's name without `.toml`"), "shown above the results";
}

impl TopTable {
    /// The table of a case with this title.
    pub(in crate::case) fn of(title: &str) -> Self {
        Self { format: FORMAT.into(), title: title.to_owned().into(), ..Self::default() }
    }
}
