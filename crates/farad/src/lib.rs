//! Problems of electrostatics as one describes them, and their answers in SI units: conductors,
//! dielectrics, charges, planes and fields on triangle meshes. It knows no case files, opens no
//! files and prints nothing; [`fastcap`], [`layout`] and [`pqr`] read the content of files that
//! the caller loads.
//!
//! A [`Description`] and a [`mesh::Mesh`] make a [`Problem`], which is checked and then solved; a
//! [`Solver`] keeps what several solves of one geometry have in common. A metal sphere in a coat of
//! glass, at 1 kV:
//!
//! ```
//! use farad::mesh::generate::{ConcentricSpheres, Resolution, SphereBase};
//! use farad::{Conductor, Description, Dielectric, LengthUnit, Options, Problem, Quiet, Setting};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(2000));
//! let shells = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
//! let mesh = shells.build()?;
//! let description = Description {
//!     unit: LengthUnit::Millimetre,
//!     conductors: vec![Conductor::new("inner").with(Setting::Potential(1e3))],
//!     dielectrics: vec![Dielectric::new("outer", 4.0)],
//!     ..Description::default()
//! };
//! let solution = Problem::new(description, mesh)?.solve(&Options::default(), &Quiet)?;
//! let capacitance = solution.matrices().maxwell_farad[0][0];
//! println!("C = {capacitance:e} F, energy {:e} J", 0.5 * capacitance * 1e3 * 1e3);
//!
//! // 4 pi eps0 / ((1/a - 1/b) / eps + 1/b); facets within the spheres make it some 0.5 % less.
//! let exact = farad::units::farads(1.0 / ((1.0 - 0.5) / 4.0 + 0.5), LengthUnit::Millimetre);
//! assert!((capacitance / exact - 1.0).abs() < 1e-2, "{capacitance:e} {exact:e}");
//! let state = solution.state.ok_or("no potential is set")?;
//! assert!((state.conductors[0].charge_c / (1e3 * capacitance) - 1.0).abs() < 1e-6);
//! # Ok(())
//! # }
//! ```

mod accuracy;
mod among;
pub mod atoms;
mod bars;
mod checks;
mod conductors;
mod descent;
mod description;
mod edges;
pub mod fastcap;
mod fault;
mod films;
mod first_mesh;
mod forces;
pub mod formats;
mod fringes;
mod goal;
mod hydrodynamics;
mod in_metal;
mod layers;
pub mod layout;
mod marking;
mod media;
mod media_check;
mod meetings;
mod missing;
mod names;
mod near_surface;
pub mod network;
mod permittivities;
mod piece;
mod planes;
pub mod pqr;
pub mod printable;
mod probes;
mod problem;
mod reduction;
mod roles;
mod salt;
mod sensitivity;
mod solution;
mod solver;
mod sources;
mod state;
mod study;
mod sweep;
pub mod units;

pub use accuracy::{
    Attained, Ended, FINEST, Goal, Level, OF_ACCURACY, Passed, Way, density_for, solve_to,
    solve_to_after, solve_to_among,
};
pub use bars::{Bars, ConductorBars, ForceBar, ProbeBars};
pub use bem;
pub use bem::{Method, Mirror, Progress, Quiet, Ranks, SolveOptions as Options};
pub use checks::{Remedy, Warning};
pub use conductors::{Conductors, Summary};
pub use description::{
    Amount, Atom, Charge, Conductor, Description, Dielectric, Diffusion, Probe, ProbePoints,
    Setting, SurfaceMedia, axis_name,
};
pub use fault::{ChargeFault, Error, Fault, Misplaced, Note, PlaneFault, StackFault, Touching};
pub use films::{Film, FilmFault, FilmShare, Place, Toward};
pub use forces::{Balance, Force};
pub use goal::{Of, UnknownOf};
pub use hydrodynamics::{Hydrodynamics, Viscosity};
pub use media::{Media, SURROUNDINGS, Summary as Medium};
pub use mesh;
pub use mesh::mirror::Plane;
pub use probes::Probed;
pub use problem::Problem;
pub use reduction::{Listed, Reduced, Reducer, Reduction, ReductionFault};
pub use sensitivity::{Derivative, Parameter, Sensitivity, SensitivityFault};
pub use solution::{
    COULOMB_ENERGY, ConductorState, Energies, Matrices, Molecule, Polarisability, Quantity,
    SOLVATION_ENERGY, Solution, Solvation, State, TOTAL_ENERGY, distinct_entries, mutual,
};
pub use solver::Solver;
pub use sources::Source;
pub use study::{Entry, FACETS_OVER_GAP, Gap, OfMesh, Study, Verdict, entry_name};
pub use sweep::{Change, NoGroup, combinations};
pub use units::{LengthUnit, unit_named};

#[doc(hidden)]
pub mod internals;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
