//! Results as files for people: a page for browsers, and VTK's files for ParaView.
//!
//! [`page::make`] reads nothing but the folder of results that the page is of; [`vtk`] fills any
//! `Write`. Nothing here prints.

pub mod dates;
pub mod files;
pub mod page;
pub mod surface_files;
pub mod units;
pub mod vtk;

#[doc(hidden)]
pub mod internals;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
