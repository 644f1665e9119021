//! Preconditioners.

mod clusters;
mod entries;
mod gradients;
mod local;
