//! Tests of the vectors of every instruction set, and of the choice of one.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod level;
mod vectors;
