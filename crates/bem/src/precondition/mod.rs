//! Preconditioners: overlapping local inverses of the near field below one or two coarse levels.
//!
//! `local_inverse` has the local inverses, computed in vector lanes (`local`): `local_panels` of
//! panels with constant densities, `local_modes` of those with linear ones, `local_clusters` of
//! clusters. `levels` are those above, over `clusters` with the matrix of `entries` and `gradients`
//! of smooth potentials; `coarse` solves them. `interfaces` adds interfaces, `shared` distributes
//! all of it over ranks.

pub(crate) mod clusters;
pub(crate) mod coarse;
pub(crate) mod entries;
pub(crate) mod gradients;
pub(crate) mod interfaces;
pub(crate) mod levels;
pub(crate) mod local;
mod local_clusters;
pub(crate) mod local_inverse;
pub(crate) mod local_modes;
pub(crate) mod local_panels;
pub(crate) mod shared;
