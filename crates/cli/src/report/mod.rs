//! The program's output: tables, pictures and files of results.

pub(crate) mod json;
pub(crate) mod made;
pub(crate) mod page;
pub(crate) mod plot;
pub(crate) mod results;
pub(crate) mod surface_files;
pub(crate) mod text;
pub(crate) mod text_table;
pub(crate) mod units;
pub(crate) mod vtk;
pub(crate) mod warnings;
