//! The Maxwell capacitance matrix of conductors in a homogeneous medium.

use mesh::Mesh;

use crate::physics::electrostatics;
use crate::{Error, Excitation, Images, Media, Method, Progress, Solve, SolveOptions, Timings};

/// Which conductor each triangle belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Conductors<'a> {
    /// Index of the conductor, one per triangle; `None` = the triangle is ignored.
    pub of_triangle: &'a [Option<u32>],
    /// Number of conductors; each has at least one triangle.
    pub count: usize,
}

/// Checks that every conductor index is below `count`.
pub(crate) fn check_conductors(of_triangle: &[Option<u32>], count: usize) -> Result<(), Error> {
    let beyond = |(triangle, c): (usize, &Option<u32>)| {
        c.filter(|&c| c as usize >= count).map(|conductor| (triangle, conductor))
    };
    match of_triangle.iter().enumerate().find_map(beyond) {
        Some((triangle, conductor)) => Err(Error::Conductor { triangle, conductor, count }),
        None => Ok(()),
    }
}

/// The answer, in the mesh's unit of length.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Capacitance {
    /// Dense or fast, as it was solved.
    pub method: Method,
    /// Maxwell matrix over 4 pi eps: a length, rows as computed (not symmetrised, except for
    /// `replaced`), shape (conductors, conductors).
    pub maxwell: Vec<Vec<f64>>,
    /// Entries that their own row did not resolve, and the values from that row.
    pub replaced: Vec<crate::Replaced>,
    /// Unresolved entries whose transposes are missing, by row and column.
    pub unresolved: Vec<[usize; 2]>,
    /// For each excitation the charge density over eps at 1 V, in 1/length:
    /// sigma_j = eps * density * V. 0 on ignored triangles. Shape (conductors, triangles).
    pub density: Vec<Vec<f64>>,
    /// How each solve went.
    pub solves: Vec<Solve>,
    /// The solver tolerance that was used.
    pub tolerance: f64,
    /// The FMM tolerance that was used, `None` when dense.
    pub fmm_tolerance: Option<f64>,
    /// Relative L2 error of the FMM for a solved density at 1000 or more sampled targets (all, if
    /// fewer), against direct sums.
    pub fmm_error_sampled: Option<f64>,
    /// Root mean square error of the FMM's potentials at the same points, at 1 V: its remaining
    /// error where charges nearly cancel. Above ten times the tolerance no [`Solve`] counts as
    /// converged. `None` when dense.
    pub fmm_error_potential: Option<f64>,
    /// The FMM's plan, `None` when dense.
    pub fmm: Option<fmm::Info>,
    /// Wall seconds.
    pub timings: Timings,
}

/// Solves for the Maxwell capacitance matrix: V s = eps phi with phi = 1 on each conductor in turn.
///
/// A solve that does not converge is not an error here: its [`Solve::reason`] says so, and its
/// column is incomplete.
///
/// # Errors
/// [`Error::Length`], [`Error::Conductor`], [`Error::Interrupted`], [`Error::Memory`],
/// [`Error::Fmm`].
pub fn capacitance(
    mesh: &Mesh,
    conductors: Conductors<'_>,
    options: &SolveOptions,
    progress: &dyn Progress,
) -> Result<Capacitance, Error> {
    let (expected, found) = (mesh.triangles.len(), conductors.of_triangle.len());
    if found != expected {
        return Err(Error::Length { what: "conductors.of_triangle", expected, found });
    }
    let media = Media {
        conductor: conductors.of_triangle,
        conductors: conductors.count,
        permittivity: &vec![[1.0; 2]; expected],
        images: &Images::default(),
        bodies: &[],
    };
    let excitation = |k: usize| Excitation {
        potentials: (0..conductors.count).map(|c| if c == k { 1.0 } else { 0.0 }).collect(),
        ..Excitation::default()
    };
    let excitations: Vec<Excitation> = (0..conductors.count).map(excitation).collect();
    let answer = electrostatics(mesh, media, &excitations, options, progress)?;
    Ok(answer.into_capacitance(1.0, &mesh::quality::areas(mesh)))
}
