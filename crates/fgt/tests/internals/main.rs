//! The parts that sums are made of, each by itself, through [`fgt::internals`].

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "shown where a test fails")]

mod bandwidths;
mod boxes;
mod gpu;
mod group_plan;
mod plan;
mod scratch;
mod tuning;
mod window;
