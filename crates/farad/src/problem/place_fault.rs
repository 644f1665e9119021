//! Faults in the places of planes, layers, charges and atoms.

use mesh::mirror;
use thiserror::Error;

/// Where an atom cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// Outside of its molecule.
    Outside,
    /// Not on the mesh's side of a plane.
    Beyond,
    /// Closer to the surface than an atom can be.
    Close,
}

impl Misplaced {
    /// The words between the atoms and the name of the molecule.
    pub fn words(self) -> &'static str {
        match self {
            Self::Outside => "outside of molecule",
            Self::Beyond => "not on the mesh's side of a plane, in molecule",
            Self::Close => "within 0.1 angstrom of the surface of molecule",
        }
    }
}

/// A fault of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneFault {
    /// The mesh has no image in it.
    NotMirrored(mirror::Error),
    /// This triangle of a conductor touches the plane, which is grounded.
    Shorted(u32),
    /// The external field has a part along the plane, which is grounded.
    FieldAlong,
    /// The external field goes through the plane, which is one of symmetry.
    FieldThrough,
    /// Polarisability over ground.
    Polarisability,
    /// Diffusion over ground.
    Diffusion,
}

impl PlaneFault {
    /// In words, of the plane of this name.
    pub(crate) fn of(&self, name: &str) -> String {
        match self {
            Self::NotMirrored(problem) => {
                format!("the mesh cannot be mirrored in {name}: {problem}")
            }
            Self::Shorted(triangle) => {
                format!(
                    "a conductor touches {name}, which is at 0 V: triangle {triangle} reaches it"
                )
            }
            Self::FieldAlong => {
                format!("the external field has a component along {name}, which must be 0")
            }
            Self::FieldThrough => {
                format!("the external field goes through {name}, and is not its own image")
            }
            Self::Polarisability => {
                format!(
                    "the polarisability needs fields along all axes, which {name} does not allow"
                )
            }
            Self::Diffusion => format!("diffusion applies to a single body, not one over {name}"),
        }
    }
}

/// A fault of layers, or of something in them.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum StackFault {
    /// Surfaces reach from one layer into another.
    #[error(
        "triangle {triangle} reaches from {low} to {high}, through the interface of layers at {at}"
    )]
    Through {
        /// Which one.
        triangle: u32,
        /// The lowest height.
        low: f64,
        /// The largest.
        high: f64,
        /// An interface between.
        at: f64,
    },
    /// Surfaces lie in metal.
    #[error("surfaces reach from {low} to {high}, where the ground of the layers is")]
    InGround {
        /// The lowest height.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Metal at the ground.
    #[error(
        "a conductor touches the ground of the layers at {at}, which is at 0 V: triangle {triangle} reaches it"
    )]
    Shorted {
        /// The triangle.
        triangle: u32,
        /// The ground's height.
        at: f64,
    },
    /// No sum of images is good enough.
    #[error(
        "the effect of layers on a charge is not a sum of images to this tolerance: {0} relative to the charge's own potential; choose a solver.tolerance of {tolerance:.0e}, or a solver.accuracy of {accuracy:.0e}",
        tolerance = .0.left * 12.0,
        accuracy = .0.left * 120.0
    )]
    TooCoarse(bem::TooCoarse),
    /// Nothing between two grounds.
    #[error("there is no layer between the grounds below and above")]
    Empty,
    /// A plane along the layers.
    #[error(
        "a plane lies along the layers, which are not mirrored in it; the ground of layers is what is below or above them"
    )]
    Plane,
    /// A request that the program does not support in layers.
    #[error("{0} cannot be given together with layers")]
    Not(&'static str),
    /// A face of a dielectric between two layers.
    #[error("triangle {0} of a dielectric lies in an interface of layers")]
    OnInterface(u32),
    /// A request that the program does not support for surfaces in several layers.
    #[error("{0} cannot be given together with surfaces in several layers")]
    InSeveral(&'static str),
    /// A probe in the ground.
    #[error("a probe at {0} is in the ground of the layers")]
    Probe(f64),
}

/// A fault in the place of a charge.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChargeFault {
    /// It lies in the grounded plane of this name.
    #[error("lies in {0}")]
    InGround(String),
    /// It lies where only images are, across the plane of this name.
    #[error("and the mesh lie on different sides of {0}")]
    Beyond(String),
    /// It lies between two media.
    #[error("lies on the surface of a dielectric, where it has no medium")]
    OnDielectric,
    /// It lies on this triangle.
    #[error("lies on a surface, that of triangle {0}")]
    OnSurface(u32),
}
