//! Molecules: atoms of PQR files, and the surfaces made of them.

use std::path::Path;

use farad::LengthUnit;
use formats::pqr;
use mesh::PhysicalGroup;
use mesh::files::{in_file, load};
use pyo3::prelude::*;
use surface::{Cavities, Kind, Options, Resolution};

use crate::choices::choice;
use crate::error::Failure;

/// Choices for the surface of a molecule.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Choices {
    surface: String,
    probe: f64,
    density: Option<f64>,
    elements: Option<usize>,
    order: usize,
    cavities: String,
}

impl Choices {
    fn options(&self) -> Result<Options, Failure> {
        let kinds = [
            ("ses", Kind::SolventExcluded),
            ("gaussian", Kind::Gaussian),
            ("vdw", Kind::VanDerWaals),
            ("sas", Kind::SolventAccessible),
        ];
        let cavities = [("keep", Cavities::Keep), ("drop", Cavities::Drop)];
        let usual = Options::default();
        Ok(usual
            .kind(choice("surface", &self.surface, &kinds)?)
            .probe(self.probe)
            .resolution(match (self.density, self.elements) {
                (_, Some(elements)) => Resolution::Elements(elements),
                (Some(density), None) => Resolution::Density(density),
                (None, None) => usual.resolution,
            })
            .order(self.order)
            .cavities(choice("cavities", &self.cavities, &cavities)?))
    }
}

/// The atoms of a PQR file.
pub(crate) fn atoms(path: &Path) -> Result<Vec<pqr::Atom>, Failure> {
    let of_ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !of_ending.eq_ignore_ascii_case("pqr") {
        return Err(Failure::input(format!(
            "{}: the name does not end in .pqr; a PQR file has a charge and a radius for each atom, and pdb2pqr makes one of a PDB file",
            path.display()
        )));
    }
    let content = load(path)?;
    Ok(pqr::parse(&content).map_err(in_file(path))?)
}

/// The surface of a PQR file's atoms, as one group, and what of it is not as the atoms have it.
pub(crate) fn surface(
    path: &Path,
    name: String,
    choices: &Choices,
    unit: LengthUnit,
) -> Result<(mesh::Mesh, Vec<String>), Failure> {
    let options = choices.options()?;
    let atoms = atoms(path)?;
    let without = formats::atoms::uncovered(&atoms);
    if !without.is_empty() {
        return Err(Failure::input(format!(
            "{}: atoms of radius 0 lie in no other atom: {}; give them radii, or leave them out",
            path.display(),
            formats::atoms::named(without.iter().map(|&index| &atoms[index]))
        )));
    }
    let spheres = atoms.iter().map(|atom| (atom.position, atom.radius));
    let spheres: Vec<surface::Atom> =
        spheres.map(|(centre, radius)| surface::Atom { centre, radius }).collect();
    let made = surface::molecular(&spheres, &options)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let mut notes = Vec::new();
    let surface::Filled { count, volume, .. } = made.info.filled;
    if count > 0 {
        notes.push(format!("{name}: cavities filled: {count}, of {volume:.3} A^3 in all"));
    }
    if made.info.unresolved > 0 {
        let count = made.info.unresolved;
        notes.push(format!(
            "{name}: parts of the surface too small for these triangles, left out: {count}"
        ));
    }
    let mut mesh = made.mesh;
    let factor = LengthUnit::Angstrom.metres() / unit.metres();
    if factor != 1.0 {
        let nodes = mesh.patches.iter_mut().flat_map(|patches| &mut patches.nodes);
        mesh.vertices.iter_mut().chain(nodes).flatten().for_each(|x| *x *= factor);
    }
    mesh.groups = vec![PhysicalGroup { tag: 1, name: Some(name) }];
    mesh.memberships = vec![vec![], vec![0]];
    mesh.membership = vec![1; mesh.triangles.len()];
    Ok((mesh, notes))
}
