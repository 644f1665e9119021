//! Triangle meshes of molecular surfaces, made of atoms.
//!
//! ```
//! use surface::{Atom, Options, molecular};
//!
//! let atoms = [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0]].map(|centre| Atom { centre, radius: 1.7 });
//! let surface = molecular(&atoms, &Options::default())?;
//! assert_eq!(surface.info.parts.len(), 1);
//! assert!(surface.info.min_angle() >= 15.0);
//! # Ok::<(), surface::Error>(())
//! ```
//!
//! A surface is the boundary of a solid that a field describes (`field`): by exact distances from
//! where probes can be (`offset`, over `arcs` and `cells`), or by a sum of Gaussian functions
//! (`gaussian`). A first mesh comes from a lattice (`lattice`); edges are put along creases
//! (`crease`), triangles get their size (`remesh`) and shape (`improve`), by changes that keep the
//! surface closed (`connectivity`, `shape`) and, where asked, free of crossings (`checked`, over
//! the grid of `guard`). At last areas and volumes are measured (`measure`; of unions of balls
//! without a mesh, too: `union`), bodies and cavities found (`parts`), and triangles made
//! curved (`curved`). Equations are in docs/math.md, "Molecular surfaces".

mod arcs;
mod balls;
mod build;
mod cells;
mod checked;
mod connectivity;
mod crease;
mod curved;
mod error;
mod field;
mod gaussian;
mod guard;
mod improve;
mod independent;
mod lattice;
mod measure;
mod offset;
mod options;
mod parts;
mod remesh;
mod shape;
mod triangle;
mod union;

pub use build::{Info, Surface, molecular};
pub use error::Error;
pub use mesh;
pub use options::{Atom, Cavities, Kind, Options, Resolution};
pub use parts::{Filled, Part, PartKind};
pub use union::Union;

/// What the program `tests/internals` looks into: no part of the interface, free to change.
#[doc(hidden)]
pub mod internals {
    pub mod arcs {
        pub use crate::arcs::{Arc, arcs, are_covered, frame};
    }
    pub mod balls {
        pub use crate::balls::{Ball, Neighbours, balls};
    }
    pub mod connectivity {
        pub use crate::connectivity::Connectivity;
    }
    pub mod field {
        pub use crate::field::{Feature, Field, Foot};
    }
    pub mod gaussian {
        pub use crate::gaussian::Gaussian;
    }
    pub mod lattice {
        pub use crate::lattice::{FirstMesh, first_mesh};
    }
    pub mod measure {
        pub use crate::measure::measure;
    }
    pub mod offset {
        pub use crate::offset::Offset;
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
