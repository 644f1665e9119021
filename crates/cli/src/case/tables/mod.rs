//! The tables of case files, one module each: its rows, what it makes of them, and back.

pub(super) mod charge;
pub(super) mod conductor;
pub(super) mod dielectric;
pub(super) mod diffusion;
mod file_names;
pub(super) mod film;
pub(super) mod medium;
pub(super) mod mesh;
pub(crate) mod molecule;
pub(super) mod named_files;
pub(super) mod output;
pub(super) mod plane;
mod prelude;
pub(super) mod probe;
pub(super) mod reduce;
pub(super) mod sensitivity;
pub(super) mod solver;
pub(super) mod stack;
pub(super) mod surface;
pub(crate) mod sweep;
pub(super) mod top;

pub(super) use charge::{ChargeTable, ExternalTable};
pub(super) use conductor::ConductorTable;
pub(super) use dielectric::DielectricTable;
pub(super) use diffusion::DiffusionTable;
pub(super) use film::FilmTable;
pub(super) use medium::MediumTable;
pub(super) use mesh::MeshTable;
pub(super) use molecule::MoleculeTable;
pub(super) use output::OutputTable;
pub(super) use plane::PlaneTable;
pub(super) use probe::ProbeTable;
pub(super) use reduce::ReduceTable;
pub(super) use sensitivity::SensitivityTable;
pub(super) use solver::{FmmTable, SolverTable};
pub(super) use stack::{LayerTable, StackTable};
pub(super) use surface::SurfaceTable;
pub(super) use sweep::SweepTable;
pub(super) use top::{FORMAT, TopTable};

use super::schema::Schema;
use super::table::Table as _;

/// The tables and keys of case files.
pub const SCHEMA: Schema = Schema {
    top: TopTable::INFO,
    tables: &[
        MeshTable::INFO,
        MediumTable::INFO,
        StackTable::INFO,
        LayerTable::INFO,
        DielectricTable::INFO,
        MoleculeTable::INFO,
        SurfaceTable::INFO,
        ConductorTable::INFO,
        PlaneTable::INFO,
        ChargeTable::INFO,
        ExternalTable::INFO,
        ProbeTable::INFO,
        DiffusionTable::INFO,
        SolverTable::INFO,
        FmmTable::INFO,
        OutputTable::INFO,
        ReduceTable::INFO,
        SensitivityTable::INFO,
        FilmTable::INFO,
        SweepTable::INFO,
    ],
};
