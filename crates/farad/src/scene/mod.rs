//! A problem as a case describes it: bodies, media, charges, planes, fields, requested results.
//! Plain data; nothing here is computed or checked.

pub(crate) mod description;
pub mod ranges;
pub(crate) mod requests;
