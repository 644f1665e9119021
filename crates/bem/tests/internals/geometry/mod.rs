//! Panels and images.

mod far;
mod neighbours;
mod patch;
mod stack;
