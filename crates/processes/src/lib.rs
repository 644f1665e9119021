//! Ranks that are processes started together by MPI: [`comm`] defines what they can do.
//!
//! With the feature `mpi`, which is off by default, `World` is a process's end of the group.
//! Building it needs an MPI library (Open MPI or MPICH), found by `mpicc`, and libclang, which
//! reads the library's header. It is a separate crate so that all others are built only once, with
//! or without processes.
//!
//! The crate `mpi` starts MPI and declares its functions from the header of the installed library,
//! because types and constants differ between Open MPI and MPICH. Little else of it is used, so
//! that every error code is returned and arrays may be longer than MPI's `int`.

#[cfg(feature = "mpi")]
mod calls;
#[cfg(feature = "mpi")]
mod world;

#[cfg(feature = "mpi")]
pub use world::World;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
