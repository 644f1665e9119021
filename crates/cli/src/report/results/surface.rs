//! `surface.vtu`: the surface with its charges and potentials. Processes that share its triangles
//! write a piece each, `surface_0.vtu` and so on, and the first of them `surface.pvtu`, which names
//! the pieces.
//!
//! Coordinates are in the case's unit, everything else is in the SI units that the arrays name.

use std::io::{self, Write};

use super::{Folder, Run};
use crate::case::{Case, VtkMode};
use crate::report::units::{self, ELEMENTARY_CHARGE, EPSILON_0};
use crate::report::vtk::{self, Array};
use crate::terminal::exit::Failure;

pub(crate) const WHOLE: &str = "surface.vtu";
pub(crate) const INDEX: &str = "surface.pvtu";

/// The file that shows the surface, in one piece or with those it names.
pub(super) fn file(pieces: Option<usize>) -> &'static str {
    if pieces.is_some() { INDEX } else { WHOLE }
}

/// The files of pieces, if there are any.
pub(super) fn piece_files(pieces: Option<usize>) -> impl Iterator<Item = String> {
    (0..pieces.unwrap_or(0)).map(piece_file)
}

fn piece_file(rank: usize) -> String {
    format!("surface_{rank}.vtu")
}

/// All files of the surface.
pub(super) fn file_names(case: &Case, pieces: Option<usize>) -> Vec<String> {
    match case.vtk {
        VtkMode::None => Vec::new(),
        _ => [file(pieces).to_owned()].into_iter().chain(piece_files(pieces)).collect(),
    }
}

/// Writes the whole surface of `run`.
pub(crate) fn write(out: &mut impl Write, run: &Run<'_>) -> io::Result<()> {
    let all: Vec<usize> = (0..run.problem.mesh().triangles.len()).collect();
    vtk::write(out, grid(run, &all), run.case.vtk == VtkMode::Compressed)
}

/// Stages the piece of the rank of this number, if there are pieces: triangles next to each other
/// along the space-filling curve, about those that it solved with. It has no triangles where there
/// are more ranks.
pub(crate) fn stage_piece(folder: &mut Folder, run: &Run<'_>, rank: usize) -> Result<(), Failure> {
    let Some(ranks) = run.pieces.filter(|_| run.case.vtk != VtkMode::None) else { return Ok(()) };
    let centroids = mesh::quality::centroids(run.problem.mesh());
    let owners = fmm::distributed::along_curve(&centroids, ranks);
    let owned = owners.iter().zip(0..).filter(|(owner, _)| **owner as usize == rank);
    let own: Vec<usize> = owned.map(|(_, t)| t).collect();
    let piece = grid(run, &own).compact();
    let compressed = run.case.vtk == VtkMode::Compressed;
    folder.stage(&piece_file(rank), |out| vtk::write(out, piece, compressed))
}

/// Writes the index of all pieces.
pub(super) fn write_index(out: &mut impl Write, run: &Run<'_>) -> io::Result<()> {
    vtk::write_pieces(out, &arrays(run, &[]), piece_files(run.pieces))
}

fn grid(run: &Run<'_>, triangles: &[usize]) -> vtk::SurfaceGrid {
    let data = arrays(run, triangles);
    vtk::SurfaceGrid::of(run.problem.mesh(), triangles.iter().copied(), data)
}

/// Values on these triangles, in their order.
fn arrays(run: &Run<'_>, triangles: &[usize]) -> Vec<Array> {
    let conductors = &run.problem.conductors();
    let unit = run.case.description.unit.metres();
    let owners = || triangles.iter().map(|&t| conductors.of_triangle[t]);
    let of = |values: &[f64]| triangles.iter().map(|&t| values[t]).collect::<Vec<f64>>();
    let areas = of(run.problem.areas());
    let per_area = |charges: &[f64]| -> Vec<f64> {
        of(charges).iter().zip(&areas).map(|(q, area)| q / (area * unit.powi(2))).collect()
    };
    let areas_m2: Vec<f64> = areas.iter().map(|area| area * unit * unit).collect();
    let ids: Vec<i32> = owners().map(|id| id.map_or(-1, |id| id as i32)).collect();
    let mut data = vec![
        vtk::array("conductor id", ids),
        vtk::array("body id", bodies(run, triangles)),
        vtk::array("area [m^2]", areas_m2),
    ];
    // Viewers show the first array of all charge.
    let mut first = Some(());
    let mut charge_density = |name: String, values: Vec<f64>, shown: bool| {
        let array = vtk::array(name, values);
        if shown && first.take().is_some() { array.first() } else { array }
    };
    let has_state = run.solution.state.is_some();
    // The solver's density is per permittivity and in 1/(mesh unit).
    let coulomb_per_m2 = EPSILON_0 * run.problem.description().relative_permittivity / unit;
    let excited = run.solution.columns.iter().take(run.case.vtk_excitations);
    for (column, (&index, density)) in excited.zip(&run.solution.answer.density).enumerate() {
        let name = &conductors.names[index];
        let charge = of(density).into_iter().map(|value| value * coulomb_per_m2).collect();
        let title = format!("charge density, {name} at 1 V [C/m^2]");
        let all = run.solution.all_charge.get(column);
        data.push(charge_density(title, charge, !has_state && all.is_none()));
        if let Some(all) = all {
            let title = format!("charge density, free and bound, {name} at 1 V [C/m^2]");
            data.push(charge_density(title, per_area(all), !has_state));
        }
        // The potential of ignored triangles is not known.
        let potential = |id: Option<u32>| match id {
            Some(id) if id as usize == index => 1.0,
            Some(_) => 0.0,
            None => f64::NAN,
        };
        let potential: Vec<f64> = owners().map(potential).collect();
        data.push(vtk::array(format!("potential, {name} at 1 V [V]"), potential));
    }
    if let Some(state) = &run.solution.state {
        for (name, charges, shown) in [
            ("charge density, free and bound [C/m^2]", &state.charge, true),
            ("charge density, free [C/m^2]", &state.free_charge, false),
        ] {
            data.push(charge_density(name.to_owned(), per_area(charges), shown));
        }
        if let Some(potential) = &state.potential {
            let potential = of(potential);
            data.push(vtk::array("potential [V]", potential.clone()));
            if run.case.has_atoms() {
                let temperature = units::temperature(run.case);
                let thermal = |volt: &f64| units::thermal(volt * ELEMENTARY_CHARGE, temperature);
                let values: Vec<f64> = potential.iter().map(thermal).collect();
                data.push(vtk::array("potential [kT/e]", values));
            }
        }
    }
    data
}

/// The body that each of these triangles bounds: the index of a conductor, then of a dielectric,
/// then of an interface, as the case lists them; -1 for none.
fn bodies(run: &Run<'_>, triangles: &[usize]) -> Vec<i32> {
    let (description, mesh) = (&run.case.description, &run.problem.mesh());
    let listed: Vec<&[_]> = description
        .dielectrics
        .iter()
        .map(|dielectric| dielectric.groups.as_slice())
        .chain(description.surfaces.iter().map(|surface| surface.groups.as_slice()))
        .collect();
    let first = run.problem.conductors().names.len();
    let body_of = |label: &str| -> Option<i32> {
        let mut bodies = listed.iter();
        let found = bodies.position(|groups| groups.iter().any(|group| group == label))?;
        Some((first + found) as i32)
    };
    let of_group: Vec<Option<i32>> =
        mesh.groups.iter().map(|group| body_of(&group.label())).collect();
    let ungrouped = body_of(mesh::conductors::UNGROUPED);
    let owners = &run.problem.conductors().of_triangle;
    let body = |&t: &usize| match (owners[t], mesh.groups_of(t)) {
        (Some(owner), _) => owner as i32,
        (None, []) => ungrouped.unwrap_or(-1),
        (None, groups) => groups.iter().find_map(|&group| of_group[group as usize]).unwrap_or(-1),
    };
    triangles.iter().map(body).collect()
}
