//! Choices of a case and of the command line, and overrides by the command line.

use std::path::PathBuf;

use farad::{LengthUnit, Target};

use crate::words::{Word, words};

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

words!(VtkMode { "compressed" = Self::Compressed, "plain" = Self::Plain, "none" = Self::None });

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

words!(Format {
    "matrix_market" = Self::MatrixMarket,
    "spice" = Self::Spice,
    "palace" = Self::Palace,
    "q3d" = Self::Q3d,
});

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

words!(Viewer { "chimerax" = Self::ChimeraX, "pymol" = Self::PyMol, "vmd" = Self::Vmd });

/// Settings of the command line that override those of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub(crate) tolerance: Option<f64>,
    pub(crate) accuracy: Option<f64>,
    pub(crate) accuracy_target: Option<Target>,
    pub(crate) max_seconds: Option<f64>,
    pub(crate) method: Option<bem::Method>,
    pub(crate) density: Option<bem::Density>,
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

words!(bem::Method { "auto" = Self::Auto, "fmm" = Self::Fmm, "dense" = Self::Dense });

words!(bem::Density { "constant" = Self::Constant, "linear" = Self::Linear });

/// Units of length, largest first.
pub const UNITS: [&str; 6] = ["m", "cm", "mm", "um", "nm", "angstrom"];

impl Word for LengthUnit {
    const WORDS: &'static [&'static str] = &UNITS;
    const ALL: &'static [Self] = &LengthUnit::ALL;
}

/// An axis by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AxisIndex(pub(super) usize);

words!(AxisIndex { "x" = Self(0), "y" = Self(1), "z" = Self(2) });
