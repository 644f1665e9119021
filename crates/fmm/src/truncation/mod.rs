//! The truncation number p' of every batch of translations, from measured errors (docs/math.md,
//! "Truncation").
//!
//! For charges of random sign the squared errors of all translations add up, each weighted by the
//! sources and targets that it serves. So the batches of one level and class (equal up to the
//! symmetries of the cube) are given the truncation numbers that cost least for a given sum:
//! minimise `sum count cost(p') + lambda sum weight error(p')^2`, with the multiplier lambda that
//! meets the tolerance. Errors are measured on the plan's own points: pairs of points placed in two
//! boxes of the class, the truncated expansion against 1/r, for every p' at once. High powers of
//! the radius decide, which few points near the corners of a box contribute, so those are sampled
//! more often and weighted less. Paper 001's eq. 24 equalises worst-case bounds instead, which is
//! far from optimal (docs/experiments.md has the comparison).

mod candidates;
mod choose;
mod class;
pub(crate) mod expected;
mod limits;
mod measure;
mod norms;
mod optimise;
mod ranks;
mod sampling;
mod screened;
pub(crate) mod series;
pub(crate) mod treecode;

pub(crate) use crate::expansions::truncation_numbers::P_MAX;
pub use crate::expansions::truncation_numbers::TruncationNumbers;
pub(crate) use candidates::PointSets;
pub(crate) use choose::choose;
pub use class::Class;
pub(crate) use class::class_of;
pub(crate) use limits::choose_by;
pub(crate) use norms::ENCOUNTER;
pub(crate) use optimise::{Method, Rule, Statistics};
pub(crate) use ranks::choose_on_ranks;
pub(crate) use treecode::choose_for_treecode;
