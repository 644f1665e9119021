//! Conductors, dielectric interfaces, point charges and a uniform field in piecewise constant
//! media.
//!
//! All surface charge, free and bound, is one density in vacuum (docs/math.md, "Media"). On
//! conductors the potential is given, an equation of the first kind; on interfaces the jump of the
//! permittivity relates the density to the normal field, an equation of the second kind. Both share
//! one fast sum.
//!
//! - `prepared`: the solver; `fast` (with `iteration`) and `dense`: its two methods; `shared`:
//!   excitations distributed over ranks; `cost`, `warm_up`.
//! - `system`, `rows`, `interfaces`, `external`: equations and right-hand sides; `gauss`, `means`,
//!   `metal`, `reciprocal`, `pieces`: Gauss's law and free charge next to high permittivities;
//!   `seen`: images in layers.
//! - `state`, `capacitance`, `recovery`, `evaluate`, `coulomb`, `forces`, `derivatives`: results
//!   from charges.
//! - `estimate`, `force_changes`, `convergence`: errors; `checks`, `sampled`, `reciprocity`:
//!   self-checks.

pub(crate) mod capacitance;
mod charges;
pub mod checks;
mod closed;
pub mod convergence;
mod cost;
mod coulomb;
mod dense;
pub mod derivatives;
pub(crate) mod estimate;
pub(crate) mod evaluate;
mod external;
mod fast;
mod force_changes;
mod forces;
mod found;
mod free_charge;
mod gauss;
mod interfaces;
mod iteration;
mod means;
mod metal;
mod pieces;
mod prepared;
mod reciprocal;
mod reciprocity;
mod recovery;
pub(crate) mod rows;
pub(crate) mod sampled;
mod seen;
pub(crate) mod shared;
mod state;
pub(crate) mod system;
pub(crate) mod warm_up;

use mesh::Mesh;
use mesh::regions::Region;
use serde::{Deserialize, Serialize};

use crate::solve::gmres::StopReason;
use crate::{Capacitance, Error, Images, Method, Progress, Solve, SolveOptions, Timings};
pub use charges::Charges;
pub use coulomb::coulomb_potentials;
pub use estimate::{ChildCharges, ErrorEstimate};
pub use evaluate::{SurfaceCharge, Values};
pub use force_changes::force_changes;
pub use forces::{Body, Force, dipole_moment, forces, neutral_dipole_moment};
pub use prepared::{Prepared, Refined};
pub use reciprocal::Replaced;
pub use reciprocity::{Reciprocity, reciprocity};
pub use sampled::{SampledResidual, sampled_residual};
pub use seen::SeenImages;
pub use state::{Condition, State};
pub use system::System;

/// Surfaces in piecewise constant media.
#[derive(Clone, Copy, Debug)]
pub struct Media<'a> {
    /// Index of the conductor, one per triangle; `None` = an interface between two media, or
    /// nothing where these are equal.
    pub conductor: &'a [Option<u32>],
    /// Number of conductors.
    pub conductors: usize,
    /// Relative permittivity on the side that the triangle's normal points to and on the other
    /// side, one pair per triangle. For the surface of a metal body give the medium around it on
    /// both sides.
    pub permittivity: &'a [[f64; 2]],
    /// Mirror images of everything.
    pub images: &'a Images,
    /// Bodies in the mesh with all its images ([`Images::mesh`]) on whose surfaces Gauss's law must
    /// hold: those that share walls or are partly covered by metal. Interfaces that enclose a body
    /// by themselves are found automatically.
    pub bodies: &'a [Region],
}

/// A point charge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointCharge {
    /// In the mesh's unit.
    pub position: [f64; 3],
    /// Charge over 4 pi eps0, so that the potential in vacuum is `charge` / distance.
    pub charge: f64,
    /// Relative permittivity of the medium around it.
    pub permittivity: f64,
}

options::options! {
    /// Sources of one solve.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Excitation {
        /// Potential of each conductor.
        potentials: Vec<f64> = Vec::new(),
        /// Charges outside conductors.
        charges: Vec<PointCharge> = Vec::new(),
        /// Uniform external field E, of potential -E . (x - origin): potential over the mesh's unit
        /// of length. It must be its own image: perpendicular to odd planes, parallel to even ones.
        field: [f64; 3] = [0.0; 3],
        /// Point where its potential is 0: on all odd planes.
        origin: [f64; 3] = [0.0; 3],
    }
}

impl Excitation {
    /// Whether there are sources other than conductors at potentials.
    pub(crate) fn has_sources(&self) -> bool {
        !self.charges.is_empty() || self.field != [0.0; 3]
    }

    /// Adds the images of its charges, image by image, in those images for which `which` is true. A
    /// charge in a plane of symmetry is shared among its images.
    pub fn with_images(&self, images: &Images, which: impl Fn(usize) -> bool) -> Self {
        let charges = (0..images.count()).filter(|&g| which(g)).flat_map(|g| {
            self.charges.iter().map(move |q| PointCharge {
                position: images.reflect(g, q.position),
                charge: images.factor(g) * q.charge / images.coincident(q.position) as f64,
                ..*q
            })
        });
        Self { charges: charges.collect(), ..self.clone() }
    }
}

/// The answer to one excitation. Charges are over 4 pi eps0: a potential times the mesh's unit of
/// length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Response {
    /// Potential of each conductor in this excitation.
    pub potentials: Vec<f64>,
    /// Total charge of each triangle, free and bound: the potential of the surface is sum_j
    /// charge_j <1/|x - y|>_j.
    pub charge: Vec<f64>,
    /// Charge that each triangle would carry if its density were everywhere that at one of its
    /// corners, shape (triangles, 3); empty for constant densities.
    pub at_corners: Vec<[f64; 3]>,
    /// Free charge of each triangle of a conductor, 0 elsewhere.
    pub free_charge: Vec<f64>,
    /// Free charge on each conductor, its images in even planes included.
    pub conductor_charge: Vec<f64>,
    /// GMRES iterations, 0 when dense.
    pub iterations: usize,
    /// Why the solve stopped.
    pub reason: StopReason,
    /// True residual at the end: the largest over conductors and interfaces of its root mean square
    /// over the area (fields times the interface's radius, to be potentials), relative to the
    /// largest of the right-hand side.
    pub relative_residual: f64,
    /// Relative residual after each iteration, beginning with 1.
    pub history: Vec<f64>,
}

/// All answers, and how they were found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Electrostatics {
    /// One for each excitation.
    pub responses: Vec<Response>,
    /// Charges of conductors in the first of these that were replaced by the transposed entry of
    /// the capacitance matrix.
    pub replaced: Vec<Replaced>,
    /// Entries, by row and column, that their own row does not resolve and whose transposes are
    /// missing, since the conductor of the row is not excited.
    pub unresolved: Vec<[usize; 2]>,
    /// Dense or fast, as it was solved.
    pub method: Method,
    /// The solver tolerance that was used.
    pub tolerance: f64,
    /// The FMM tolerance that was used, `None` when dense.
    pub fmm_tolerance: Option<f64>,
    /// Relative L2 error of the FMM for the first density of the last product at 1000 or more
    /// points, against direct sums.
    pub fmm_error_sampled: Option<f64>,
    /// Root mean square error of the FMM's potentials on conductors, in the unit of the
    /// excitations' potentials: its remaining error where charges nearly cancel. `None` when dense.
    pub fmm_error_potential: Option<f64>,
    /// Largest defect of Gauss's law on a closed interface that was corrected, relative to the
    /// charge that causes the flux.
    pub gauss_defect: f64,
    /// The FMM's plan, `None` when dense.
    pub fmm: Option<fmm::Info>,
    /// Wall seconds.
    pub timings: Timings,
}

/// Solves for the surface charges of `media` under each excitation.
///
/// A solve that does not converge is not an error here: its [`Response::reason`] says so.
///
/// # Errors
/// [`Error::Length`], [`Error::Interrupted`], [`Error::Memory`], [`Error::Fmm`].
pub fn electrostatics(
    mesh: &Mesh,
    media: Media<'_>,
    excitations: &[Excitation],
    options: &SolveOptions,
    progress: &dyn Progress,
) -> Result<Electrostatics, Error> {
    Prepared::new(mesh, media, excitations.len(), options)?.solve(excitations, progress)
}

impl Electrostatics {
    /// The capacitance matrix, if the first excitations were each conductor in turn at potential 1
    /// and the others at 0, in the form of [`capacitance`](crate::capacitance()) for a medium of
    /// relative permittivity `eps`: `maxwell` and `density` are divided by 4 pi eps and eps,
    /// whatever the media. `areas` are those of the triangles.
    #[must_use]
    pub fn into_capacitance(self, eps: f64, areas: &[f64]) -> Capacitance {
        let conductors = self.responses.first().map_or(0, |r| r.conductor_charge.len());
        let columns = &self.responses[..conductors.min(self.responses.len())];
        let row = |i: usize| columns.iter().map(|r| r.conductor_charge[i] / eps).collect();
        let density = |response: &Response| {
            let of = |(q, area): (&f64, &f64)| 4.0 * std::f64::consts::PI * q / (area * eps);
            response.free_charge.iter().zip(areas).map(of).collect()
        };
        Capacitance {
            method: self.method,
            maxwell: (0..conductors).map(row).collect(),
            unresolved: self.unresolved,
            replaced: self
                .replaced
                .iter()
                .map(|entry| Replaced { was: entry.was / eps, ..*entry })
                .collect(),
            density: columns.iter().map(density).collect(),
            solves: self
                .responses
                .into_iter()
                .enumerate()
                .map(|(excitation, response)| Solve {
                    excitation,
                    iterations: response.iterations,
                    reason: response.reason,
                    relative_residual: response.relative_residual,
                    history: response.history,
                })
                .collect(),
            tolerance: self.tolerance,
            fmm_tolerance: self.fmm_tolerance,
            fmm_error_sampled: self.fmm_error_sampled,
            fmm_error_potential: self.fmm_error_potential,
            fmm: self.fmm,
            timings: self.timings,
        }
    }
}
