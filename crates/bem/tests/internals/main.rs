//! Tests of what the crate has inside, through its hidden module `internals`.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are not seen as tests

mod device;
mod geometry;
mod integrals;
mod kernels;
mod near;
mod operator;
mod ordered;
mod physics;
mod precondition;
mod quadrature;
mod sampling;
mod solve;
mod testing;
