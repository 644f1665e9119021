//! The parts that sums are made of, each by itself, through [`fmm::internals`].

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::explicit_write, reason = "the harness hides what passing tests print otherwise")]

mod all_pairs;
mod direct;
mod distributed;
mod gpu;
mod harmonics;
mod lists;
mod morton;
mod plan;
mod product;
mod radial;
mod rotation;
mod scale;
mod screened;
mod stop;
mod translate;
mod tree;
mod treecode;
mod truncation;
mod vectors;
