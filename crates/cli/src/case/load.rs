//! A case from a file of any kind: a case file, or what a FastCap file, a layout or a PQR file
//! describes.

use std::path::Path;

use farad::ProbePoints;

use super::choices::Overrides;
use super::definition::Case;
use super::known::Known;
use super::tables::probe;
use super::{described, foreign, map, read};
use crate::files;
use crate::molecules;
use crate::surfaces::{check_stack, fastcap_model, has_nets, is_layout, layout};
use crate::terminal::exit::{Exit, Failure};

/// No case file is this long. A mesh passed by mistake is, and should not be read whole.
const LARGEST: u64 = 4 << 20;

impl Case {
    /// Reads and checks the file at `path`; all its defects come in one failure.
    pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Self, Failure> {
        load(path, overrides)
    }
}

fn load(path: &Path, overrides: &Overrides) -> Result<Case, Failure> {
    let known = Known::default();
    let load = |path: &Path| known.load(path);
    if has_nets(path) {
        check_stack(path, overrides.stack.as_deref())?;
    }
    let text = if formats::fastcap::is_name(path) {
        let model = fastcap_model(path, overrides.lenient, &load)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        described::of_list(&model, path, &file, overrides)?
    } else if overrides.unit.is_some() {
        let (what, help) = if is_layout(path) {
            ("a layout that names its unit", "leave it out")
        } else if molecules::is_pqr(path) {
            ("a molecule in angstrom", "leave it out")
        } else {
            read_text(path)?; // tells what is no case file
            ("a case file", "change `unit` in its [mesh] table")
        };
        return Err(Failure::with_help(
            Exit::Usage,
            format!(
                "--unit is for FastCap's files, which name none, and {} is {what}",
                path.display()
            ),
            help,
        ));
    } else if is_layout(path) {
        let model = layout(path, overrides.stack.as_deref(), overrides.lenient, &load)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        described::of_layout(&model, path, &file, overrides)?
    } else if molecules::is_pqr(path) {
        described::of_molecule(path)?
    } else {
        read_text(path)?
    };
    let mut case = read::parse(path, &text, overrides)?;
    if let Some(mesh) = &case.mesh {
        check_stack(mesh, case.stack.as_deref())?;
    }
    read_files(&mut case)?;
    Ok(Case { known, ..case })
}

/// Reads the atoms and points that the case names files of.
fn read_files(case: &mut Case) -> Result<(), Failure> {
    let Case { description, places, molecules, atoms, .. } = case;
    for (dielectric, entry) in description.dielectrics.iter_mut().zip(&mut places.dielectrics) {
        let read = match &entry.file {
            Some(file) => molecules::atoms(&file.value)?,
            None => Vec::new(),
        };
        entry.lines = read.iter().map(|atom| atom.line).collect();
        dielectric.atoms = read.iter().map(|atom| atom.in_scene(description.unit)).collect();
        atoms.push(read);
    }
    for molecule in molecules {
        let atoms = &atoms[molecule.dielectric];
        molecules::check_radii(&molecule.file, atoms)?;
        if molecule.has_usual_density {
            molecule.options.resolution = molecules::usual_resolution(atoms);
        }
    }
    for (probe, entry) in description.probes.iter_mut().zip(&places.probes) {
        if let Some(file) = &entry.file {
            probe.place = ProbePoints::Points(probe::points(&file.value)?);
        }
    }
    map::add(case)
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    if let Some((what, help)) = foreign::by_name(path) {
        return Err(not_a_case(path, what, help));
    }
    if size > LARGEST {
        return Err(not_a_case(path, "it is longer than 4 MiB", foreign::HELP));
    }
    let bytes = files::bytes(path)?;
    if let Some((what, help)) = foreign::by_content(&bytes) {
        return Err(not_a_case(path, what, help));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        not_a_case(path, &format!("line {line} is not UTF-8 text"), foreign::HELP)
    })
}

fn not_a_case(path: &Path, what: &str, help: &str) -> Failure {
    Failure::with_help(Exit::BadInput, format!("{} is no case file: {what}", path.display()), help)
}
