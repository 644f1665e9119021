//! A case: what its file says, every default filled in.

use std::path::{Path, PathBuf};

use bem::SolveOptions;
use farad::{Description, Goal};
use formats::pqr;
use mesh::Mesh;

use super::choices::{Format, Viewer, VtkMode};
use super::diagnostics::{self, Defect};
use super::known::{Known, number};
use super::places::Places;
use super::tables::molecule::Molecule;
use super::tables::sweep::{Sweep, Values};
use crate::surfaces;
use crate::terminal::exit::Failure;

/// Kelvin that energies in kT are at where a case does not say: 25 degrees Celsius.
const ROOM: f64 = 298.15;

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
    /// Variations for `farad sweep`; other commands ignore them.
    pub(crate) sweeps: Vec<Sweep>,
    pub(super) places: Places,
    pub(super) source: SourceText,
    /// Contents of the files that surfaces are read from.
    pub(super) known: Known,
}

/// The text that the case came from, for messages that point into it.
#[derive(Clone, Debug)]
pub(super) struct SourceText {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Case {
    /// The temperature in kelvin for energies and potentials in multiples of kT.
    pub(crate) fn kelvin(&self) -> f64 {
        self.temperature.unwrap_or(ROOM)
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
        let goal = goal.as_ref().map(|goal| (goal.accuracy, &goal.target));
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
            Values::Files(files) => &files[..],
            Values::Of(_) => &[],
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
        let stack = self.stack.as_deref().filter(|_| formats::layout::gds::is_name(file));
        surfaces::read_by(file, stack, self.description.lenient, &|path| self.known.load(path))
    }

    /// Whether there are molecules with atoms.
    pub(crate) fn has_atoms(&self) -> bool {
        self.atoms.iter().any(|atoms| !atoms.is_empty())
    }

    /// Name of the surfaces in messages: the mesh's file, or those of molecules.
    pub(crate) fn surfaces(&self) -> String {
        match (&self.mesh, &self.molecules[..]) {
            (Some(mesh), _) => mesh.display().to_string(),
            (None, [one]) => format!("the surface of {}", one.file.display()),
            (None, _) => "the surfaces of the molecules".to_owned(),
        }
    }

    /// Whether it was made of a FastCap file, and is in no file itself.
    pub(crate) fn is_list(&self) -> bool {
        formats::fastcap::is_name(&self.source.path)
    }

    /// The failure that shows `defects` at their places in the file.
    pub(crate) fn failure(&self, defects: Vec<Defect>) -> Failure {
        diagnostics::failure(&self.source.path, &self.source.text, defects)
    }
}

/// The name of a file, wherever it lies.
fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
