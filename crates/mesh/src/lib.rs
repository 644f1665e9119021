//! Triangle surfaces: readers, generators, topology and quality checks. No physics.
//!
//! A [`Mesh`] comes from [`files::read`] or from a generator such as [`generate::Sphere`].
//! [`check::Report`] describes it, [`conductors::assign`] gives each triangle its conductor. All
//! tolerances are relative to the mesh's size, so that the unit of length does not matter.

mod bezier;
mod bvh;
pub mod cells;
pub mod check;
pub mod coarsen;
pub mod conductors;
pub mod conform;
pub mod contact;
pub mod creases;
mod crossing;
pub mod curved;
pub mod disjoint;
pub mod fastcap;
pub mod files;
pub mod generate;
pub mod gmsh;
#[doc(hidden)]
pub mod internals;
pub mod intersect;
pub mod join;
pub mod lift;
pub mod local_refine;
pub mod locate;
mod measure;
mod meeting;
pub mod mirror;
pub mod numbering;
pub mod orient;
pub mod outlines;
pub mod overlay;
pub mod patch;
pub mod polygon;
pub mod prisms;
mod probe;
pub mod proximity;
pub mod quality;
pub mod refine;
pub mod regions;
pub mod repair;
mod sheet;
pub mod spheres;
pub mod split;
pub mod stitch;
mod surface;
pub mod topology;
pub mod transform;
mod triangle;
pub mod vector;
pub mod weld;
mod wording;

pub use surface::{InvalidMesh, MAX_COORDINATE, Mesh, Patches, PhysicalGroup};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
