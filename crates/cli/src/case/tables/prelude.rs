//! Common imports of the modules of tables.

pub(super) use crate::case::diagnostics::{Defect, Located, Sort};
pub(super) use crate::case::document::Section;
pub(super) use crate::case::places::Entry;
pub(super) use crate::case::schema::{
    BOOL, FILE_LETTERS, FILE_NAME, GROUPS, HALF_SPACE, NAMES, NUMBERS, PATH, PERMITTIVITY,
    POSITIVE, QUANTITY, REQUIRED, Rule, SCREENING, Spec, TEXT, THREE, TOLERANCE, VECTOR, ValueKind,
    or, unless,
};
pub(super) use crate::case::table::{Table as _, table};
pub(super) use crate::case::values::{Field, Group, List, Names};
pub(super) use crate::words::{Word, words};
