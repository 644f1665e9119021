//! The case file: what to compute. How (backend, threads, memory) is for the command line.
//!
//! docs/case-file.md is the reference for users, [`schema`] its counterpart in code.

pub(crate) mod described;
pub(crate) mod diagnostics;
mod document;
mod faults;
mod file_names;
mod film;
mod foreign;
mod goal;
mod known;
mod map;
mod misnamed;
pub(crate) mod molecule;
mod places;
mod plane;
mod probe;
pub(crate) mod problem;
pub(crate) mod read;
mod reduce;
pub(crate) mod resolved;
mod salt;
pub(crate) mod schema;
mod sensitivity;
mod stack;
mod surface;
pub(crate) mod sweep;

use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

use bem::SolveOptions;
use farad::{Description, Goal, LengthUnit, Of, Problem, pqr};
use mesh::Mesh;

use diagnostics::Defect;
pub(crate) use diagnostics::quoted;
pub(crate) use faults::told;
pub(crate) use goal::parse_of;
use known::Known;
pub(crate) use map::file as potential_map;
pub(crate) use molecule::Molecule;
use places::Places;
pub(crate) use probe::{file as probe_file, map as probe_map, picture as probe_picture};

use crate::surfaces;
use crate::terminal::exit::Failure;

/// One case, every default filled in.
#[derive(Clone, Debug)]
pub struct Case {
    pub title: String,
    /// The mesh's file, relative to the current directory or absolute; with molecules there need be
    /// none.
    pub(crate) mesh: Option<PathBuf>,
    /// Molecules whose surfaces are made of their atoms.
    pub(crate) molecules: Vec<Molecule>,
    /// The atoms of each dielectric, as the PQR files have them.
    pub(crate) atoms: Vec<Vec<pqr::Atom>>,
    /// The file that says what the layers of a GDSII layout are.
    pub(crate) stack: Option<PathBuf>,
    /// Its flat triangles become curved; edges sharper than this angle in degrees stay sharp.
    pub(crate) smooth: Option<f64>,
    pub description: Description,
    pub options: SolveOptions,
    /// How exact `farad solve` is to be, if the mesh may be refined for it.
    pub(crate) goal: Option<Goal>,
    /// Where results go unless the command line says otherwise.
    pub directory: PathBuf,
    pub vtk: VtkMode,
    /// So many excitations have arrays in `surface.vtu`.
    pub(crate) vtk_excitations: usize,
    /// Whether each of them also has a file of its own, as steps of a series.
    pub(crate) vtk_series: bool,
    /// Further forms of matrices that are written.
    pub(crate) formats: Vec<Format>,
    /// Kelvin, as `[medium]` has it.
    pub(crate) temperature: Option<f64>,
    /// Sentences on values that are hardly meant.
    pub(crate) notes: Vec<String>,
    /// Programs for which scripts are written that show molecules.
    pub(crate) viewers: Vec<Viewer>,
    /// Spacing in angstrom of the map of potentials around all atoms, if one is wanted.
    pub(crate) map_spacing: Option<f64>,
    /// Couplings below this share of their nets' diagonals are left out of SPICE files.
    pub(crate) spice_threshold: f64,
    /// What `farad sweep` varies; other commands ignore it.
    pub(crate) sweeps: Vec<sweep::Sweep>,
    places: Places,
    source: SourceText,
    /// What the files were, of which surfaces are read.
    known: Known,
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

impl From<Method> for bem::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Auto => Self::Auto,
            Method::Fmm => Self::Fmm,
            Method::Dense => Self::Dense,
        }
    }
}

/// How charge may vary over a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Density {
    /// The same everywhere on it
    Constant,
    /// Linear: three times the unknowns, far fewer triangles for digits beyond the third
    Linear,
}

impl From<Density> for bem::Density {
    fn from(density: Density) -> Self {
        match density {
            Density::Constant => Self::Constant,
            Density::Linear => Self::Linear,
        }
    }
}

/// How `surface.vtu` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VtkMode {
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

/// A form of matrices that other programs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Matrix Market's coordinates of a symmetric matrix
    #[value(name = "matrix_market")]
    MatrixMarket,
    /// A subcircuit of capacitors
    Spice,
    /// The tables of Palace's terminals
    Palace,
    /// The text of Ansys Q3D
    Q3d,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::MatrixMarket => "matrix_market",
            Self::Spice => "spice",
            Self::Palace => "palace",
            Self::Q3d => "q3d",
        }
    }
}

/// A program that shows molecules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Viewer {
    /// UCSF ChimeraX
    #[value(name = "chimerax")]
    ChimeraX,
    /// PyMOL
    #[value(name = "pymol")]
    PyMol,
    /// VMD
    #[value(name = "vmd")]
    Vmd,
}

impl Viewer {
    fn name(self) -> &'static str {
        match self {
            Self::ChimeraX => "chimerax",
            Self::PyMol => "pymol",
            Self::Vmd => "vmd",
        }
    }
}

/// What the command line sets over the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub(crate) tolerance: Option<f64>,
    pub(crate) accuracy: Option<f64>,
    pub(crate) accuracy_of: Option<Of>,
    pub(crate) max_seconds: Option<f64>,
    pub(crate) method: Option<Method>,
    pub(crate) density: Option<Density>,
    /// Instead of the file's, unless empty.
    pub(crate) formats: Vec<Format>,
    /// Instead of the file's, unless empty.
    pub(crate) viewers: Vec<Viewer>,
    /// Instead of the file's, unless empty.
    pub(crate) nets: Vec<String>,
    /// Whether faults of the geometry are notes, where the case does not say so.
    pub(crate) lenient: bool,
    /// The stack file of a GDSII layout.
    pub(crate) stack: Option<PathBuf>,
    /// The unit of a FastCap file.
    pub(crate) unit: Option<LengthUnit>,
    /// The PQR file of the case's only molecule, instead of the one that it names.
    pub(crate) pqr: Option<PathBuf>,
}

/// The text that the case came from, for messages that point into it.
#[derive(Clone, Debug)]
struct SourceText {
    path: PathBuf,
    text: String,
}

impl Case {
    /// Reads and checks the file at `path`; all its defects come in one failure.
    pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Self, Failure> {
        read::load(path, overrides)
    }

    /// The case as it was read; `None` where it is no text.
    pub(crate) fn text(&self) -> Option<String> {
        Some(self.source.text.clone()).filter(|text| !text.is_empty())
    }

    /// The file that the case was read from.
    pub(crate) fn path(&self) -> &Path {
        &self.source.path
    }

    /// A number for all that results follow from, and how they are written.
    pub(crate) fn fingerprint(&self) -> Result<u64, Failure> {
        let inputs = self.inputs()?;
        Ok(number(&(inputs, format!("{:?} {:?} {:?}", self.goal, self.formats, self.viewers))))
    }

    /// All that results follow from, with a number for each: the case, what the command line
    /// changed in it, and the bytes of the files that it names, and of those that these name.
    pub(crate) fn inputs(&self) -> Result<Vec<(String, u64)>, Failure> {
        let Self { description, options, goal, sweeps, atoms, vtk, .. } = self;
        let goal = goal.as_ref().map(|goal| (goal.accuracy, &goal.of));
        let settings = format!("{description:?} {options:?} {goal:?} {sweeps:?} {atoms:?} {vtk:?}");
        let mut inputs = vec![
            (format!("the case {}", name_of(&self.source.path)), number(&self.source.text)),
            ("what it comes to with the command line's options".to_owned(), number(&settings)),
        ];
        inputs.extend(self.contents()?);
        Ok(inputs)
    }

    /// The files that surfaces are read from, with a number for the content of each: the very bytes
    /// that surfaces were made of, or will be.
    pub(crate) fn contents(&self) -> Result<Vec<(String, u64)>, Failure> {
        let swept = self.sweeps.iter().flat_map(|sweep| match &sweep.values {
            sweep::Values::Files(files) => &files[..],
            sweep::Values::Of(_) => &[],
        });
        for file in self.mesh.iter().chain(&self.stack).chain(swept) {
            if self.known.has(file) {
                continue;
            }
            if surfaces::names_others(file) {
                self.surface(file)?;
            } else {
                self.known.load(file).map_err(surfaces::unreadable)?;
            }
        }
        let named =
            |(file, content): (PathBuf, u64)| (format!("the file {}", name_of(&file)), content);
        let mut files: Vec<_> = self.known.all().into_iter().map(named).collect();
        // In whatever order they were read.
        files.sort();
        Ok(files)
    }

    /// The surface in a file that the case, or a run of its sweep, names.
    pub(crate) fn surface(&self, file: &Path) -> Result<(Mesh, mesh::files::Reading), Failure> {
        // A sweep may vary the mesh.
        let stack = self.stack.as_deref().filter(|_| farad::layout::gds::is_name(file));
        surfaces::read_by(file, stack, self.description.lenient, &|path| self.known.load(path))
    }

    /// Whether there are molecules with atoms.
    pub(crate) fn has_atoms(&self) -> bool {
        self.atoms.iter().any(|atoms| !atoms.is_empty())
    }

    /// What messages call the surfaces: the mesh's file, or those of molecules.
    pub(crate) fn surfaces(&self) -> String {
        match (&self.mesh, &self.molecules[..]) {
            (Some(mesh), _) => mesh.display().to_string(),
            (None, [one]) => format!("the surface of {}", one.file.display()),
            (None, _) => "the surfaces of the molecules".to_owned(),
        }
    }

    /// Whether it was made of a FastCap file, and is in no file itself.
    pub(crate) fn is_list(&self) -> bool {
        farad::fastcap::is_name(&self.source.path)
    }

    /// The failure that shows `defects` at their places in the file.
    pub(crate) fn failure(&self, defects: Vec<Defect>) -> Failure {
        diagnostics::failure(&self.source.path, &self.source.text, defects)
    }

    /// The failure that shows `error`, at its places in the file where it has any.
    pub(crate) fn failed(&self, error: farad::Error) -> Failure {
        faults::failure(self, error)
    }

    /// Refuses names of groups that sweeps move and the mesh of a run does not have.
    pub(crate) fn check_moved(&self, mesh: &Mesh) -> Result<(), Failure> {
        misnamed::check(self, mesh)
    }

    /// The case with every default filled in, as the text of a case file that lies in `folder` and
    /// writes its results there; `problem` has the conductors that were found in the mesh.
    pub(crate) fn resolved(&self, folder: &Path, problem: &Problem) -> String {
        resolved::text(self, folder, problem)
    }
}

/// The name of a file, wherever it lies.
fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A number that stands for a value.
fn number(of: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
