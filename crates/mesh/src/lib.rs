//! Triangle surfaces: readers, generators, topology and quality checks. No physics.
//!
//! A [`Mesh`] comes from [`files::read`] or from a generator such as [`generate::Sphere`].
//! [`check::Report`] describes it, [`conductors::assign`] gives each triangle its conductor. All
//! tolerances are relative to the mesh's size, so that the unit of length does not matter.

// Each of these uses those before it alone: vector, wording, patch, surface, measure, topology,
// geometry, queries, generate, planar, bodies, repair, refine, io.
mod bodies;
pub mod generate;
mod geometry;
#[doc(hidden)]
pub mod internals;
mod io;
mod measure;
pub mod patch;
mod planar;
mod queries;
pub mod refine;
pub mod repair;
mod surface;
pub mod topology;
pub mod vector;
mod wording;

pub use bodies::{cells, check, conductors, orient, regions};
pub use geometry::{curved, join, mirror, quality, transform, weld};
pub use io::{fastcap, files, gmsh, numbering};
pub use planar::{conform, outlines, overlay, polygon, prisms};
pub use queries::{contact, intersect, locate, proximity};
pub use refine::{coarsen, lift, local_refine, shadows, spheres, split};
pub use repair::stitch;
pub use surface::{InvalidMesh, MAX_COORDINATE, Mesh, Patches, PhysicalGroup};
pub use topology::{creases, disjoint};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
