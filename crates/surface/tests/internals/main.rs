//! The parts that meshing is made of, each by itself, through [`surface::internals`].

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

mod arcs;
mod balls;
mod connectivity;
mod gaussian;
mod measure;
mod offset;
