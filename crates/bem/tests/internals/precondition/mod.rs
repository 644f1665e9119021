//! Preconditioners.

mod clusters;
mod gradients;
mod local;
