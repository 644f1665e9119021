//! `[output]`: what is written, and where.

use std::ops::Range;

use farad::Description;

use crate::case::choices::{Format, Overrides, Viewer, VtkMode};
use crate::case::definition::Case;

use super::prelude::*;

table! {
    /// `[output]`.
    OutputTable = "output";
    @written_last ["viewers", "dx"];
    directory: String = PATH, or("`<case>.out` next to the case file"),
        "folder of the results; `--output` overrides it";
    vtk: VtkMode = Spec::choice(VtkMode::WORDS), or("compressed"),
        "how `surface.vtu` is written: with zlib, without compression, or not at all";
    vtk_excitations: usize = Spec::integer(0, 1_000_000_000), or("64"),
        "of how many excitations `surface.vtu` has arrays, conductors in matrix order; with many conductors it is most of the \
         results";
    vtk_series: bool = BOOL, or("false"),
        "whether each of these excitations also has a file of its own, as steps of `excitations.pvd` \
         ([ParaView](report.md#paraview))";
    forces: bool = BOOL, or("false"),
        "whether to compute forces and torques on conductors and dielectrics; this takes one fast sum per body";
    polarisability: bool = BOOL, or("false"),
        "whether to compute the dipole moment in unit fields along the axes, with conductors uncharged; this takes three more \
         solves. For a part with planes of symmetry it is that of the whole body";
    formats: List<Format> = Spec::choices(Format::WORDS), or("[]"),
        "further forms of the capacitance matrix (below); `--format`, which may be repeated, overrides it";
    viewers: List<Viewer> = Spec::choices(Viewer::WORDS), or("[]"),
        "for cases with atoms: scripts for these programs that show the surface in colours of the potential, with what they \
         open ([below](#for-programs-that-show-molecules)); `--viewer`, which may be repeated, overrides it";
    dx: f64 = Spec::number(0.01, 100.0), or("none; 1.0 with `viewers`"),
        "for cases with atoms: spacing in angstrom of a map of the potential that reaches 10 angstrom beyond the outermost \
         atoms, `probe_potential.dx`; the case then has a probe `potential`";
    spice_threshold: f64 = Spec::number(0.0, 1.0), or("1e-3"),
        "couplings below this share are left out of SPICE files (below)";
}

impl OutputTable {
    /// The forms of matrices that the command line names, or else the file; each once.
    pub(in crate::case) fn formats(&self, overrides: &Overrides) -> Vec<Format> {
        chosen(Format::ALL, &overrides.formats, self.formats.value.as_ref())
    }

    /// Refuses forms of the whole matrix where only the columns of chosen nets are computed, whose
    /// places in the file are `nets`.
    pub(in crate::case) fn check_formats(
        &self,
        top: &Section<'_>,
        overrides: &Overrides,
        description: &Description,
        nets: &[Range<usize>],
    ) {
        let formats = self.formats(overrides);
        let (Some(format), false) = (formats.first(), description.nets.is_empty()) else { return };
        let listed = self.formats.value.as_ref().and_then(|words| words.places.first());
        let place = listed.or(nets.first()).cloned().unwrap_or(0..0);
        let name = format.word();
        let message =
            format!("\"{name}\" needs the whole matrix, not the columns of chosen nets alone");
        top.report(Defect::new(Sort::Value, place, message).help("leave out formats, or nets"));
    }

    /// The viewers that the command line names, or else the file; each once.
    pub(in crate::case) fn viewers(&self, overrides: &Overrides) -> Vec<Viewer> {
        chosen(Viewer::ALL, &overrides.viewers, self.viewers.value.as_ref())
    }

    /// The table of a case which lies in the folder of its results.
    pub(in crate::case) fn of(case: &Case) -> Self {
        let description = &case.description;
        let formats = List::of(&case.formats);
        let viewers = List::of(&case.viewers);
        Self {
            directory: ".".to_owned().into(),
            vtk: case.vtk.into(),
            vtk_excitations: case.vtk_excitations.into(),
            vtk_series: case.vtk_series.into(),
            forces: description.forces.into(),
            polarisability: description.polarisability.into(),
            formats: formats.into(),
            viewers: Some(viewers).filter(|viewers| !viewers.items.is_empty()).into(),
            dx: case.map_spacing.into(),
            spice_threshold: case.spice_threshold.into(),
            ..Self::default()
        }
    }
}

/// Elements of `all` that the command line lists, or else the file.
fn chosen<W: Copy + PartialEq>(all: &[W], listed: &[W], of_file: Option<&List<W>>) -> Vec<W> {
    let of_file = of_file.map_or(&[][..], |words| &words.items);
    let wanted = if listed.is_empty() { of_file } else { listed };
    all.iter().copied().filter(|word| wanted.contains(word)).collect()
}
