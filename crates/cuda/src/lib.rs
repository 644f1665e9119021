//! CUDA devices for Farad: probing, kernels compiled at run time and cached, memory, streams,
//! graphs. No numerics.
//!
//! Driver and run-time compiler are loaded when first asked for, so a program that uses this crate
//! starts on any machine; without them every entry point returns an [`Error`] that says what is
//! missing.

mod cache;
mod compiler;
mod device;
mod error;
mod graph;
mod kernel;
mod library;
mod memory;
mod peer;
mod probe;
mod reals;
mod stream;
pub mod testing;

pub use compiler::{Constant, Source};
pub use device::{Device, Grid, Module, count};
pub use error::{Error, in_units};
pub use graph::Graph;
pub use kernel::{
    Argument, Arguments, Element, Kernel, Launch, Length, Lengths, Parameter, Pointer,
};
pub use memory::{Buffer, Pinned, Plain};
pub use peer::{Address, Shared, VARIABLE as PEER_VARIABLE, process};
pub use probe::{Capability, DeviceInfo, devices};
pub use reals::{OfReals, Point, Precision, Real, Reals};
pub use stream::{Event, Stream};

/// Turns a driver's answer into this crate's error.
fn check(what: &'static str, answer: Result<(), cudarc::driver::DriverError>) -> Result<(), Error> {
    answer.map_err(|error| failure(what, error))
}

/// A driver's error in this crate's words.
fn failure(what: &'static str, error: cudarc::driver::DriverError) -> Error {
    let reason = match (error.error_name(), error.error_string()) {
        (Ok(name), Ok(text)) => format!("{} ({})", text.to_string_lossy(), name.to_string_lossy()),
        _ => format!("{:?}", error.0),
    };
    Error::Driver { what, reason }
}

/// What the program `tests/internals` looks into: no part of the interface, free to change.
#[doc(hidden)]
pub mod internals {
    pub use crate::cache::Key;
    pub use crate::memory::{Held, bytes_of, within};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
