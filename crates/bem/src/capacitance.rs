//! The Maxwell capacitance matrix of conductors in a homogeneous medium.

use mesh::Mesh;

use crate::{Error, Excitation, Images, Media, StopReason, electrostatics};

/// Which conductor each triangle belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Conductors<'a> {
    /// Index of the conductor, one a triangle; `None` = the triangle is ignored.
    pub of_triangle: &'a [Option<u32>],
    /// How many conductors there are; each has at least one triangle.
    pub count: usize,
}

/// That no triangle is of a conductor beyond the `count` that there are.
///
/// # Errors
/// [`Error::Conductor`].
pub(crate) fn check_conductors(of_triangle: &[Option<u32>], count: usize) -> Result<(), Error> {
    let beyond = |(triangle, c): (usize, &Option<u32>)| {
        c.filter(|&c| c as usize >= count).map(|conductor| (triangle, conductor))
    };
    match of_triangle.iter().enumerate().find_map(beyond) {
        Some((triangle, conductor)) => Err(Error::Conductor { triangle, conductor, count }),
        None => Ok(()),
    }
}

/// Dense or fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Whichever the cost model says is faster.
    #[default]
    Auto,
    /// Dense Galerkin matrix, factorised.
    Dense,
    /// GMRES over the FMM with near-field correction.
    Fmm,
}

/// Choices for [`capacitance`].
#[derive(Clone, Debug, PartialEq)]
pub struct CapacitanceOptions {
    /// Dense or fast.
    pub method: Method,
    /// Relative residual of each conductor's rows in the area-scaled norm.
    pub tolerance: f64,
    /// Relative L2 error of the FMM; `None` follows the solver's.
    pub fmm_tolerance: Option<f64>,
    /// Whether products of GMRES may be less exact as the residual falls; never on a GPU.
    pub relax: bool,
    /// Krylov vectors before GMRES restarts.
    pub restart: usize,
    /// Iterations after which a solve is given up.
    pub max_iterations: usize,
    /// Orders added to every quadrature rule (0 = as the accuracy asks), for checking that quadrature does not limit C.
    pub quadrature_increment: usize,
    /// Bytes the solve may use; `None` = no limit.
    pub memory_limit: Option<u64>,
    /// Where the FMM computes.
    pub backend: fmm::Backend,
    /// Which GPU, counted from 0.
    pub gpu: usize,
}

impl Default for CapacitanceOptions {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            tolerance: 1e-6,
            fmm_tolerance: None,
            relax: true,
            restart: 60,
            max_iterations: 200,
            quadrature_increment: 0,
            memory_limit: None,
            backend: fmm::Backend::default(),
            gpu: 0,
        }
    }
}

/// Parts of a solve, in the order they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Tree, lists, tables.
    Plan,
    /// Exact integrals of close pairs (rows done of all rows), preconditioner.
    NearField,
    /// GMRES iterations.
    Solve,
}

/// How a caller follows and stops a solve.
pub trait Progress: Sync {
    /// Called as work advances; `total` 0 = unknown. Returns false to stop, which ends in [`Error::Interrupted`].
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool;
    /// Called after each GMRES iteration with the largest relative residual of the columns still running.
    fn residual(&self, _iteration: usize, _relative: f64) {}
}

/// No progress, never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn advance(&self, _: Stage, _: u64, _: u64) -> bool {
        true
    }
}

/// One excitation: conductor `excitation` at potential 1, the others at 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Solve {
    /// Index of the conductor at potential 1.
    pub excitation: usize,
    /// Matvecs taken.
    pub iterations: usize,
    /// Why it stopped.
    pub reason: StopReason,
    /// True residual at the end, relative to the excitation's potential: the largest over the conductors of the root mean
    /// square over the conductor's area of b - A x, where b is 1 on the excited conductor and 0 on the others.
    pub relative_residual: f64,
    /// Relative residual after each iteration, beginning with 1: the root of the sum over the conductors of those squares.
    pub history: Vec<f64>,
}

/// Wall seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings {
    /// Tree, lists, tables.
    pub plan: f64,
    /// Close pairs and preconditioner.
    pub near_field: f64,
    /// Iterations.
    pub solve: f64,
    /// Direct sums that the fast sum's error is measured against.
    pub fmm_check: f64,
    /// Mean of one matvec over all its densities.
    pub matvec_mean: f64,
}

/// The answer, in the mesh's unit of length.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacitance {
    /// Dense or fast, as it was done.
    pub method: Method,
    /// Maxwell matrix over 4 pi eps: a length, rows as computed (not symmetrised, except for `replaced`), shape (conductors, conductors).
    pub maxwell: Vec<Vec<f64>>,
    /// Entries that their own row did not resolve, and what it had given.
    pub replaced: Vec<crate::Replaced>,
    /// For each excitation the charge density over eps at 1 V, in 1/length: sigma_j = eps * density * V. 0 on ignored triangles. Shape (conductors, triangles).
    pub density: Vec<Vec<f64>>,
    /// How each solve went.
    pub solves: Vec<Solve>,
    /// The solver tolerance that was used.
    pub tolerance: f64,
    /// The FMM tolerance that was used, none when dense.
    pub fmm_tolerance: Option<f64>,
    /// Relative L2 error of the FMM for a solved density at 1000 or more sampled targets (all, if fewer), against direct sums.
    pub fmm_error_sampled: Option<f64>,
    /// Root mean square error of the fast sum's potentials at the same points, at 1 V: what is left of its digits where charges nearly
    /// cancel. Above ten times the tolerance no [`Solve`] counts as converged. None when dense.
    pub fmm_error_potential: Option<f64>,
    /// The FMM's plan, none when dense.
    pub fmm: Option<fmm::Info>,
    /// Wall seconds.
    pub timings: Timings,
}

/// Solves for the Maxwell capacitance matrix: V s = eps phi with phi = 1 on each conductor in turn.
///
/// A solve that does not converge is no error here: its [`Solve::reason`] says so and its column is partial.
///
/// # Errors
/// [`Error::Length`], [`Error::Conductor`], [`Error::Interrupted`], [`Error::Memory`], [`Error::Fmm`].
pub fn capacitance(
    mesh: &Mesh,
    conductors: Conductors<'_>,
    options: &CapacitanceOptions,
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
