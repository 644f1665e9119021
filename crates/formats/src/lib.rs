//! Files of other programs: FastCap's lists and layouts of chips make problems of [`farad`], PQR
//! files make atoms, and capacitance matrices become text for circuit simulators. Readers take the
//! bytes of files and writers fill a `Write`: nothing here opens files or prints.
//!
//! | module | files |
//! |---|---|
//! | [`fastcap`] | FastCap's lists and panels: .lst, .qui, .neu |
//! | [`layout`] | layouts: GDSII with a stack file, PEX25D |
//! | [`pqr`], [`atoms`] | atoms with charges and radii |
//! | [`matrices`], [`network`] | SPICE, Q3D, Palace, Matrix Market |
//! | [`printable`] | names of others, made harmless for terminals and files |

pub mod atoms;
pub mod fastcap;
pub mod layout;
pub mod matrices;
pub mod network;
pub mod pqr;
pub mod printable;
mod roles;

#[doc(hidden)]
pub mod internals;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
