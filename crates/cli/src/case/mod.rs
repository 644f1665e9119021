//! The case file: what to compute. On what machine (backend, threads, memory) is the command line's business.
//!
//! docs/case-file.md is the reference for users, [`schema`] its counterpart in code.

mod diagnostics;
mod document;
pub(crate) mod fastcap;
mod foreign;
pub(crate) mod plane;
pub(crate) mod probe;
mod read;
mod resolved;
mod schema;
mod surface;
pub(crate) mod sweep;

use std::path::{Path, PathBuf};

use mesh::transform::Motion;

pub(crate) use diagnostics::{Defect, Located, MOST_SHOWN, Sort, nearest, quoted};
pub(crate) use read::SURROUNDINGS;
pub(crate) use surface::Surface;

use crate::exit::Failure;
use crate::units::{ELEMENTARY_CHARGE, LengthUnit};

/// One case, every default filled in.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) mesh: MeshInput,
    pub(crate) relative_permittivity: f64,
    pub(crate) dielectrics: Vec<Dielectric>,
    /// Media by surfaces; only without dielectrics.
    pub(crate) surfaces: Vec<Surface>,
    /// As the file lists them; empty = found in the mesh.
    pub(crate) conductors: Vec<Conductor>,
    /// Planes in which everything is mirrored, no two of them parallel.
    pub(crate) planes: Vec<plane::Plane>,
    pub(crate) charges: Vec<Charge>,
    /// Uniform external field, V/m.
    pub(crate) field: [f64; 3],
    pub(crate) probes: Vec<probe::Probe>,
    /// Whether a diffusion constant is wanted, and in what.
    pub(crate) diffusion: Option<Diffusion>,
    pub(crate) solver: Solver,
    /// `None` follows the solver's.
    pub(crate) fmm_tolerance: Option<f64>,
    /// Where results go unless the command line says otherwise.
    pub(crate) directory: PathBuf,
    pub(crate) vtk: VtkMode,
    /// Whether forces and torques are wanted.
    pub(crate) forces: bool,
    /// Whether the polarisability tensor is wanted.
    pub(crate) polarisability: bool,
    /// What `farad sweep` varies; all else leaves it alone.
    pub(crate) sweeps: Vec<sweep::Sweep>,
    source: Source,
}

/// The mesh and how to read it.
#[derive(Clone, Debug)]
pub(crate) struct MeshInput {
    /// The file, relative to the current directory or absolute.
    pub(crate) file: PathBuf,
    /// The place in the case file that names it.
    pub(crate) place: std::ops::Range<usize>,
    pub(crate) unit: LengthUnit,
    /// Groups whose triangles are left out.
    pub(crate) ignore: Vec<Located<String>>,
}

/// One `[[dielectric]]`.
#[derive(Clone, Debug)]
pub(crate) struct Dielectric {
    pub(crate) name: Located<String>,
    pub(crate) relative_permittivity: f64,
    /// Groups of the closed surface that bounds it.
    pub(crate) groups: Vec<Located<String>>,
    /// PQR file of the atoms in it, which makes it a molecule.
    pub(crate) charges: Option<Located<PathBuf>>,
    /// Where a sweep puts the body, one motion after the other: the file's atoms go with it.
    pub(crate) motions: Vec<Motion>,
}

/// One `[[conductor]]`.
#[derive(Clone, Debug)]
pub(crate) struct Conductor {
    pub(crate) name: Located<String>,
    pub(crate) groups: Vec<Located<String>>,
    /// What the case sets, if it does.
    pub(crate) setting: Option<Setting>,
}

/// What a case sets on a conductor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Setting {
    /// Volt.
    Potential(f64),
    /// Coulomb; the conductor floats.
    Charge(f64),
}

/// One `[[charge]]`.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    /// In the mesh's unit.
    pub(crate) position: Located<[f64; 3]>,
    /// As the case gives it.
    pub(crate) value: f64,
    /// Whether `value` is in elementary charges, not in coulomb.
    pub(crate) elementary: bool,
}

impl Charge {
    /// The charge in coulomb.
    pub(crate) fn coulomb(&self) -> f64 {
        if self.elementary { self.value * ELEMENTARY_CHARGE } else { self.value }
    }
}

/// `[diffusion]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Diffusion {
    /// Kelvin.
    pub(crate) temperature: f64,
    /// Pascal seconds.
    pub(crate) viscosity: f64,
}

/// `[solver]`.
#[derive(Clone, Debug)]
pub(crate) struct Solver {
    pub(crate) tolerance: f64,
    pub(crate) method: Method,
    pub(crate) restart: usize,
    pub(crate) max_iterations: usize,
}

/// How the equations are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Method {
    /// Whichever the cost model says is faster
    Auto,
    /// GMRES over the fast multipole method
    Fmm,
    /// A dense matrix, factorised
    Dense,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Fmm => "fmm",
            Self::Dense => "dense",
        }
    }
}

/// How `surface.vtu` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VtkMode {
    /// zlib: smaller by about half.
    Compressed,
    /// Without compression, for readers that lack zlib.
    Plain,
    /// Not at all.
    None,
}

impl VtkMode {
    fn name(self) -> &'static str {
        match self {
            Self::Compressed => "compressed",
            Self::Plain => "plain",
            Self::None => "none",
        }
    }
}

/// What the command line sets over the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) tolerance: Option<f64>,
    pub(crate) method: Option<Method>,
}

/// A conductor as the run used it, for the resolved case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedConductor {
    pub(crate) name: String,
    /// Empty when the conductor is a component of a mesh without groups.
    pub(crate) groups: Vec<String>,
}

/// The text that the case came from, for messages that point into it.
#[derive(Clone, Debug)]
struct Source {
    path: PathBuf,
    text: String,
}

impl Case {
    /// Reads and checks the file at `path`; all its defects come in one failure.
    pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Self, Failure> {
        read::load(path, overrides)
    }

    /// The file that the case was read from.
    pub(crate) fn path(&self) -> &Path {
        &self.source.path
    }

    /// Whether the case sets potentials, charges or a field, so that there is a state to solve for beside the matrix.
    pub(crate) fn has_state(&self) -> bool {
        self.has_sources() || self.conductors.iter().any(|c| c.setting.is_some())
    }

    /// Whether there are sources other than conductors.
    pub(crate) fn has_sources(&self) -> bool {
        self.has_charges() || self.field != [0.0; 3]
    }

    /// Groups that are interfaces unless they are metal.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &Located<String>> {
        let bounding = self.dielectrics.iter().flat_map(|dielectric| &dielectric.groups);
        bounding.chain(self.surfaces.iter().flat_map(|surface| &surface.groups))
    }

    /// Whether there are point charges.
    pub(crate) fn has_charges(&self) -> bool {
        !self.charges.is_empty() || self.dielectrics.iter().any(|d| d.charges.is_some())
    }

    /// The failure that shows `defects` at their places in the file.
    pub(crate) fn failure(&self, defects: Vec<Defect>) -> Failure {
        diagnostics::failure(&self.source.path, &self.source.text, defects)
    }

    /// The case with every default filled in, as the text of a case file that lies in `folder` and writes its results
    /// there.
    pub(crate) fn resolved(&self, folder: &Path, conductors: &[ResolvedConductor]) -> String {
        resolved::text(self, folder, conductors)
    }
}
