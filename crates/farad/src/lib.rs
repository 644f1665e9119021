//! Problems of electrostatics as one describes them: conductors, dielectrics, charges and fields on triangle meshes, in SI units.
//! No files and no printing.

pub mod contradictions;
pub mod units;

pub use units::LengthUnit;
