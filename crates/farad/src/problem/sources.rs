//! The point charges of a problem: its own, and the atoms of its molecules, each in its medium.

use mesh::Mesh;
use mesh::locate::Locator;
use mesh::regions::{self, Region};

use crate::problem::fault::Fault;
use crate::problem::place_fault::{ChargeFault, Misplaced};
use crate::problem::planes::{Side, Symmetry};
use crate::scene::description::{Charge, Description, plane_name};
use crate::units::{ELEMENTARY_CHARGE, LengthUnit};

/// Atoms closer to a surface than this, in angstrom, make no sense in a model of surfaces without
/// thickness.
const NEAREST_ATOM: f64 = 0.1;

/// Other charges must keep this distance from surfaces, relative to the mesh's size.
const NEAREST_CHARGE: f64 = 1e-9;

/// A point charge in its medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// In the problem's unit.
    pub position: [f64; 3],
    /// Coulomb.
    pub coulomb: f64,
    /// Permittivity of the medium around it.
    pub relative_permittivity: f64,
    /// The dielectric whose atom it is, in the order of the description; `None` for a charge that
    /// is no atom.
    pub molecule: Option<usize>,
    /// Name of the atom; empty for a charge that is no atom.
    pub atom: String,
}

impl Source {
    /// The charge in elementary charges.
    pub fn elementary(&self) -> f64 {
        self.coulomb / ELEMENTARY_CHARGE
    }

    /// Its name in messages, as number `index` of all.
    pub(crate) fn called(&self, index: usize) -> String {
        if self.atom.is_empty() {
            format!("charge {}", index + 1)
        } else {
            format!("atom {}", self.atom)
        }
    }
}

/// All point charges of a problem whose dielectrics fill `regions`.
pub(crate) fn find(
    description: &Description,
    mesh: &Mesh,
    symmetry: &Symmetry,
    regions: &[Region],
    surfaces: &Locator,
) -> Result<Vec<Source>, Vec<Fault>> {
    let (mut sources, mut faults) = alone(description, mesh, symmetry, regions, surfaces);
    let nearest = NEAREST_ATOM * LengthUnit::Angstrom.metres() / description.unit.metres();
    for (index, (dielectric, region)) in description.dielectrics.iter().zip(regions).enumerate() {
        let (mut outside, mut close, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
        for (k, atom) in dielectric.atoms.iter().enumerate() {
            let position = symmetry.snapped(atom.position);
            if symmetry.side(position) != Side::Here {
                beyond.push(k);
            } else if regions::around(regions, position) != Some(index as u32) {
                outside.push(k);
            } else if region.distance(position) < nearest {
                close.push(k);
            }
            sources.push(Source {
                position,
                coulomb: atom.charge * ELEMENTARY_CHARGE,
                relative_permittivity: dielectric.relative_permittivity,
                molecule: Some(index),
                atom: atom.name.clone(),
            });
        }
        let misplaced =
            [(outside, Misplaced::Outside), (beyond, Misplaced::Beyond), (close, Misplaced::Close)];
        faults.extend(misplaced.into_iter().filter(|(atoms, _)| !atoms.is_empty()).map(
            |(atoms, why)| {
                let name = dielectric.name.clone();
                Fault::Atoms { dielectric: index, name, atoms, why }
            },
        ));
    }
    if faults.is_empty() { Ok(sources) } else { Err(faults) }
}

/// The charges that are in no molecule, and what is wrong with their places.
fn alone(
    description: &Description,
    mesh: &Mesh,
    symmetry: &Symmetry,
    regions: &[Region],
    surfaces: &Locator,
) -> (Vec<Source>, Vec<Fault>) {
    let [low, high] = mesh::quality::bounding_box(mesh);
    let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let mut faults = Vec::new();
    let mut source = |(index, charge): (usize, &Charge)| {
        let position = symmetry.snapped(charge.position);
        let mut fault = |problem| faults.push(Fault::Charge { charge: index, problem });
        let plane = |index: usize| plane_name(&description.planes[index]);
        match symmetry.side(position) {
            Side::Here => {}
            Side::InGround(index) => fault(ChargeFault::InGround(plane(index))),
            Side::Beyond(index) => fault(ChargeFault::Beyond(plane(index))),
        }
        let distance = regions.iter().map(|r| r.distance(position)).fold(f64::INFINITY, f64::min);
        if distance <= NEAREST_CHARGE * size {
            fault(ChargeFault::OnDielectric);
        } else if let Some(near) = surfaces.nearest(position)
            && near.distance <= NEAREST_CHARGE * size
        {
            fault(ChargeFault::OnSurface(near.triangle));
        }
        let medium = regions::around(regions, position);
        Source {
            position,
            coulomb: charge.amount.coulomb(),
            relative_permittivity: description.permittivity_of(medium),
            molecule: None,
            atom: String::new(),
        }
    };
    let sources = description.charges.iter().enumerate().map(&mut source).collect();
    (sources, faults)
}
