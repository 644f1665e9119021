//! Names in a case that its mesh does not have: reported with all other faults, though the mesh is
//! only read afterwards.

use farad::{Fault, Problem};
use mesh::{Mesh, PhysicalGroup, conductors};

use super::definition::Case;
use super::diagnostics::{Defect, MOST_SHOWN, Sort, meant};
use super::faults;
use super::tables::sweep::Sweep;
use crate::surfaces;
use crate::terminal::exit::Failure;

/// Such names in a case that has `found` defects of its own, if its mesh can be read: faults of the
/// mesh are reported when the case is right.
pub(super) fn unknown_names(case: &Case, found: &[Defect]) -> Vec<Defect> {
    let read = case.mesh.as_ref().map(|file| surfaces::read(file, case.stack.as_deref(), true));
    let Some(Ok((mut mesh, _))) = read else { return Vec::new() };
    // Surfaces of molecules are groups of its that are made later.
    let made = case.description.dielectrics.iter().zip(&case.places.dielectrics);
    for name in made.filter(|(_, entry)| entry.is_made).flat_map(|(made, _)| &made.groups) {
        mesh.groups.push(PhysicalGroup { tag: 0, name: Some(name.clone()) });
    }
    // A conductor whose name is missing is none that others can name.
    let is_whole = found.iter().all(|defect| defect.sort != Sort::Missing);
    names(case, &mesh, |fault| match fault {
        Fault::UnknownGroup { .. } | Fault::Conductors(conductors::Error::UnknownGroup { .. }) => {
            true
        }
        // Nets of the command line have no place in the file.
        Fault::UnknownNet { .. } => is_whole && !case.places.nets.is_empty(),
        Fault::Reduction { .. } => is_whole,
        _ => false,
    })
}

impl Case {
    /// Refuses groups that a sweep moves and the mesh of a run does not have, with all other names
    /// that are not there.
    pub(crate) fn check_moved(&self, mesh: &Mesh) -> Result<(), Failure> {
        if of_sweeps(self, mesh).is_empty() {
            return Ok(());
        }
        Err(self.failure(names(self, mesh, |_| true)))
    }
}

/// Names that the mesh does not have: in faults that `is_reported` selects, and all of sweeps.
fn names(case: &Case, mesh: &Mesh, is_reported: impl Fn(&Fault) -> bool) -> Vec<Defect> {
    let found = Problem::misnamed(&case.description, mesh);
    let defect = |(index, fault): (usize, &Fault)| {
        faults::defect(&case.description, &case.places, fault, index < MOST_SHOWN)
    };
    let named = found.iter().filter(|fault| is_reported(fault)).enumerate().map(defect);
    named.chain(of_sweeps(case, mesh)).collect()
}

fn of_sweeps(case: &Case, mesh: &Mesh) -> Vec<Defect> {
    let of = |sweep: &Sweep| {
        let missing = sweep.change().map_or_else(Vec::new, |change| change.missing(mesh));
        let defect = |missing: &farad::NoGroup| {
            let place = sweep.groups[missing.index].clone();
            let defect = Defect::new(Sort::Value, place, missing.to_string()).label("not there");
            defect.help(meant(&missing.group, &missing.available))
        };
        missing.iter().map(defect).collect::<Vec<_>>()
    };
    case.sweeps.iter().flat_map(of).collect()
}
