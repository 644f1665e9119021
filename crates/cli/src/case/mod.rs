//! The case file: what to compute. How (backend, threads, memory) is for the command line.
//!
//! docs/case-file.md is the reference for users, [`schema`] its counterpart in code.

mod case_text;
pub(crate) mod choices;
mod definition;
pub(crate) mod described;
pub(crate) mod diagnostics;
mod document;
mod faults;
mod foreign;
pub(crate) mod json_schema;
pub(crate) mod key_tables;
mod known;
mod load;
mod map;
mod misnamed;
mod places;
pub(crate) mod problem;
pub(crate) mod read;
pub(crate) mod resolved;
pub(crate) mod schema;
mod table;
mod tables;
mod values;

pub(crate) use choices::{Format, Viewer};
pub use choices::{Overrides, VtkMode};
pub use definition::Case;
pub(crate) use diagnostics::quoted;
pub(crate) use known::number;
pub(crate) use map::file as potential_map;
pub use tables::SCHEMA;
pub(crate) use tables::probe::{file as probe_file, map as probe_map, picture as probe_picture};
pub(crate) use tables::solver::parse_target;
pub use tables::top::FORMAT;
pub(crate) use tables::{molecule, sweep};
