//! Expansions of boxes in solid harmonics: the functions and their gradients, with and without
//! screening, what translates them, and where those of all boxes are kept.

pub mod coaxial;
pub(crate) mod costs;
pub mod harmonics;
mod kept;
pub mod product;
pub mod radial;
pub mod rotation;
pub mod screened;
pub(crate) mod screened_tables;
mod storage;
pub mod translate;
pub mod truncation_numbers;

pub(crate) use storage::{Expansions, Level};
