//! The case file: what to compute. How (backend, threads, memory) is for the command line.
//!
//! docs/case-file.md is the reference for users, [`schema`] its counterpart in code.

mod choices;
mod conductor;
mod definition;
pub(crate) mod described;
pub(crate) mod diagnostics;
mod dielectric;
mod document;
mod faults;
mod file_names;
mod film;
mod foreign;
mod goal;
mod known;
mod load;
mod map;
mod misnamed;
pub(crate) mod molecule;
mod named_files;
mod places;
mod plane;
mod probe;
pub(crate) mod problem;
pub(crate) mod read;
mod reduce;
pub(crate) mod resolved;
mod salt;
pub(crate) mod schema;
mod sensitivity;
mod stack;
mod surface;
pub(crate) mod sweep;
pub(crate) mod toml_text;

pub(crate) use choices::{Density, Format, Method, Viewer, density_name, method_name};
pub use choices::{Overrides, VtkMode};
pub use definition::Case;
pub(crate) use diagnostics::quoted;
pub(crate) use goal::parse_target;
pub(crate) use map::file as potential_map;
pub(crate) use probe::{file as probe_file, map as probe_map, picture as probe_picture};
