//! Ranks that are processes started together by MPI: [`comm`] defines what they can do.
//!
//! With the feature `mpi`, which is off by default, `World` is a process's end of the group.
//! Building it needs an MPI library (Open MPI or MPICH), found by `mpicc`, and libclang, which
//! reads the library's header. It is a separate crate so that all others are built only once, with
//! or without processes.

#[cfg(feature = "mpi")]
mod world;

#[cfg(feature = "mpi")]
pub use world::World;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
