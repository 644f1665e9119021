//! Tests of what the crate has inside, through its hidden module `internals`.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod cache;
mod error;
mod kernel;
mod memory;
mod testing;
