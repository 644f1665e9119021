//! Problems of electrostatics as one describes them, and their answers in SI units: conductors,
//! dielectrics, charges, planes and fields on triangle meshes. It knows no case files, opens no
//! files and prints nothing; the crate `formats` reads and writes those of other programs.
//!
//! A [`Description`] and a [`mesh::Mesh`] make a [`Problem`], which is checked and then solved; a
//! [`Solver`] keeps what several solves of one geometry have in common. A metal sphere in a coat of
//! glass, at 1 kV:
//!
//! ```
//! use farad::mesh::generate::{ConcentricSpheres, Resolution, SphereBase};
//! use farad::{Conductor, Description, Dielectric, LengthUnit, NoProgress, Options, Problem};
//! use farad::Setting;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(2000));
//! let shells = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
//! let mesh = shells.build()?;
//! let description = Description::default()
//!     .unit(LengthUnit::Millimetre)
//!     .conductors(vec![Conductor::new("inner").with(Setting::Potential(1e3))])
//!     .dielectrics(vec![Dielectric::new("outer", 4.0)]);
//! let solution = Problem::new(description, mesh)?.solve(&Options::default(), &NoProgress)?;
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

mod analysis;
mod piece;
mod problem;
mod refine;
mod result;
mod scene;
mod series;
mod set_up;
mod solver;
pub mod units;

pub use bem;
pub use bem::{Method, Mirror, NoProgress, Progress, Ranks, SolveOptions as Options};
pub use mesh;
pub use mesh::mirror::Plane;
pub use problem::Problem;
pub use problem::conductors::{Conductors, Summary};
pub use problem::fault::{Error, Fault, Note, Touching};
pub use problem::media::{Media, SURROUNDINGS, Summary as Medium};
pub use problem::place_fault::{ChargeFault, Misplaced, PlaneFault, StackFault};
pub use problem::request_fault::{FilmFault, Listed, ReductionFault, SensitivityFault};
pub use problem::sources::Source;
pub use refine::goal::{FINEST, Goal, TOLERANCE_PER_ACCURACY, density_for};
pub use refine::level::{Attained, CompletedLevel, Level, Outcome, RefinementObserver};
pub use refine::run::{FinerSurfaces, Refinement, refine};
pub use refine::target::{ParseTargetError, Target};
pub use result::bars::Bars;
pub use result::body::{Hydrodynamics, Polarisability, Viscosity};
pub use result::key::{Axis, Key, MatrixEntry};
pub use result::labelled::Labelled;
pub use result::matrices::{
    CapacitanceMatrix, MANY, Matrices, distinct_entries, entry_name, mutual,
};
pub use result::participation::{Derivative, FilmShare};
pub use result::quantities::Measured;
pub use result::record::Record;
pub use result::reduction::{Reduced, Reducer};
pub use result::solution::Solution;
pub use result::state::{
    Balance, ConductorState, Energies, Force, Molecule, ProbeBars, Probed, Solvation, State,
};
pub use result::unit::{Unit, UnknownUnit};
pub use result::warning::{Remedy, Warning};
pub use scene::description::{
    Amount, Atom, Charge, Conductor, Description, Dielectric, Setting, SurfaceMedia, axis_name,
};
pub use scene::ranges;
pub use scene::requests::{
    Diffusion, Film, Parameter, Place, Probe, ProbePoints, Reduction, Sensitivity, Toward,
};
pub use series::study::{Entry, FACETS_OVER_GAP, Gap, MeshValues, Verdict, study_entries};
pub use series::sweep::{Change, NoGroup, combinations};
pub use solver::Solver;
pub use units::LengthUnit;

#[doc(hidden)]
pub mod internals;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
