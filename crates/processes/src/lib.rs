//! Ranks that are processes, which MPI started together: [`comm`] has what they do.
//!
//! With the feature `mpi`, which is off by default, `World` is a process's end of the group. To
//! build it takes an MPI library (Open MPI or MPICH), found by `mpicc`, and libclang, which reads
//! the library's header. It is a crate of its own so that all others are built once, whether
//! processes are wanted or not.

#[cfg(feature = "mpi")]
mod world;

#[cfg(feature = "mpi")]
pub use world::World;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
