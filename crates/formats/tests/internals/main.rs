//! Tests of what the library has inside, in the order of its files.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod atoms;
mod layout;
mod matrices;
mod network;
mod pqr;
