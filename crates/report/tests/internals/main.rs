//! Tests of what the library has inside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod page;
mod units;
mod vtk;
