//! The program's output: tables, pictures and files of results.

pub(crate) mod json;
pub(crate) mod made;
pub(crate) mod results;
pub(crate) mod text;
pub(crate) mod text_table;
pub(crate) mod warnings;

pub(crate) use ::report::{page, surface_files, units, vtk};
