//! FastCap's panels: the generic format (.qui) and PATRAN neutral files (.neu).
//!
//! Panels are triangles and quadrilaterals that each name their conductor. What the names mean, and
//! where a list (.lst) puts the panels, is not known here. Lengths are metres. Format: K. Nabors,
//! S. Kim, J. White and S. Senturia, FastCap User's Guide, MIT 1992.

mod neutral;
mod panels;

pub use panels::{COMMENT, Panel, Panels, Rename, skip_colour};

use crate::io::files::{FormatError, Lines};

/// Reads the content of a file of panels in either format, chosen by how it begins.
///
/// # Errors
/// [`FormatError`]; any bytes at all may be given.
pub fn parse(bytes: &[u8]) -> Result<Panels, FormatError> {
    if neutral::is_neutral(bytes) { neutral::parse(bytes) } else { panels::parse(bytes) }
}

/// Reads the panels of a section within a list, after its line `File NAME` and to its line `End`.
///
/// # Errors
/// [`FormatError`]; any bytes at all may be given.
pub fn parse_section(lines: &mut Lines<'_>) -> Result<Panels, FormatError> {
    panels::read(lines, true)
}
