//! Panels and images.

mod far;
mod neighbours;
mod partition;
mod patch;
mod stack;
