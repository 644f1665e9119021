//! Preconditioners: overlapping local inverses of the near field below one or two coarse levels.

pub(crate) mod clusters;
pub(crate) mod coarse;
pub(crate) mod entries;
pub(crate) mod gradients;
pub(crate) mod interfaces;
pub(crate) mod local;
pub(crate) mod local_inverse;
pub(crate) mod mode_inverse;
pub(crate) mod shared;
pub(crate) mod slopes;
