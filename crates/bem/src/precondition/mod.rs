//! Preconditioners: overlapping local inverses of the near field below one or two coarse levels.
//!
//! `local_inverse` has the local inverses (`local`: in vector lanes), `coarse` the levels above,
//! over `clusters` with the matrix of `entries` and `gradients` of smooth potentials.
//! `mode_inverse` and `slopes` serve linear densities, `interfaces` adds interfaces, `shared`
//! distributes all of it over ranks.

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
