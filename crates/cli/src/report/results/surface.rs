//! `surface.vtu`: the surface with its charges and potentials. Processes that share its triangles
//! write a piece each, `surface_0.vtu` and so on, and the first of them `surface.pvtu`, which names
//! the pieces.
//!
//! Coordinates are in the case's unit, everything else is in the SI units that the arrays name.

use std::io::{self, Write};

use parallel::prelude::*;

use super::folder::Folder;
use super::run::Run;
use crate::case::{Case, VtkMode};
use crate::report::surface_files::{SURFACE, SURFACE_INDEX};
use crate::report::units::{self, ELEMENTARY_CHARGE, EPSILON_0};
use crate::report::vtk::{self, Array};
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;

/// The series over excitations.
pub(super) const SERIES: &str = "excitations.pvd";

/// The file that shows the surface, in one piece or with those it names.
pub(super) fn file(pieces: Option<usize>) -> &'static str {
    if pieces.is_some() { SURFACE_INDEX } else { SURFACE }
}

/// The files of pieces, if there are any.
pub(super) fn piece_files(pieces: Option<usize>) -> impl Iterator<Item = String> {
    (0..pieces.unwrap_or(0)).map(piece_file)
}

/// The file of an excitation in the series.
fn step_file(column: usize) -> String {
    format!("excitation_{:04}.vtu", column + 1)
}

fn piece_file(rank: usize) -> String {
    format!("surface_{rank}.vtu")
}

/// All files of the surface, for this number of excitations.
pub(super) fn file_names(case: &Case, excitations: usize, pieces: Option<usize>) -> Vec<String> {
    if case.vtk == VtkMode::None {
        return Vec::new();
    }
    let mut names: Vec<String> =
        [file(pieces).to_owned()].into_iter().chain(piece_files(pieces)).collect();
    if case.vtk_series {
        names.push(SERIES.to_owned());
        names.extend((0..excitations.min(case.vtk_excitations)).map(step_file));
    }
    names
}

/// Writes a series with a step for each excitation, whose arrays have the same names in all steps.
pub(super) fn stage_series(folder: &mut Folder, run: &Run<'_>) -> Result<(), Failure> {
    let all: Vec<usize> = (0..run.problem.mesh().triangles.len()).collect();
    let compressed = run.case.vtk == VtkMode::Compressed;
    let columns = run.solution.column_names();
    let count = columns.len().min(run.case.vtk_excitations);
    for column in 0..count {
        interrupt::check()?;
        let mut data = bodies_and_areas(run, &all);
        let [Some(free), all_charge] = densities(run, &all, column) else { break };
        let has_all = all_charge.is_some();
        let free = vtk::array("charge density [C/m^2]", free);
        data.push(if has_all { free } else { free.first() });
        data.extend(
            all_charge.map(|all| vtk::array("charge density, free and bound [C/m^2]", all).first()),
        );
        data.push(vtk::array("potential [V]", potential(run, &all, column)));
        let grid = vtk::SurfaceGrid::of(run.problem.mesh(), all.iter().copied(), data);
        folder.stage(&step_file(column), |out| vtk::write(out, grid, compressed))?;
    }
    let is_there = |k: &usize| folder.staged().contains(&step_file(*k));
    let steps: Vec<_> =
        columns.iter().take(count).enumerate().filter(|(k, _)| is_there(k)).collect();
    let steps =
        steps.into_iter().map(|(k, name)| ((k + 1) as f64, step_file(k), format!("{name} at 1 V")));
    folder.stage(SERIES, |out| vtk::write_series(out, steps))
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

/// Properties of the triangles that do not depend on the excitation.
fn bodies_and_areas(run: &Run<'_>, triangles: &[usize]) -> Vec<Array> {
    let owners = triangles.par_iter().map(|&t| run.problem.conductors().of_triangle[t]);
    let ids: Vec<i32> = owners.map(|id| id.map_or(-1, |id| id as i32)).collect();
    let square = run.case.description.unit.metres().powi(2);
    let areas = triangles.par_iter().map(|&t| run.problem.areas()[t] * square).collect::<Vec<_>>();
    vec![
        vtk::array("conductor id", ids),
        vtk::array("body id", bodies(run, triangles)),
        vtk::array("area [m^2]", areas),
    ]
}

/// Charges of triangles over their areas.
fn per_area(run: &Run<'_>, triangles: &[usize], charges: &[f64]) -> Vec<f64> {
    let square = run.case.description.unit.metres().powi(2);
    triangles.par_iter().map(|&t| charges[t] / (run.problem.areas()[t] * square)).collect()
}

/// The density of free charge in an excitation and, with dielectrics, that of all charge.
fn densities(run: &Run<'_>, triangles: &[usize], column: usize) -> [Option<Vec<f64>>; 2] {
    let unit = run.case.description.unit.metres();
    // The solver's density is per permittivity and in 1/(mesh unit).
    let coulomb_per_m2 = EPSILON_0 * run.problem.description().relative_permittivity / unit;
    let density = run.solution.answer.density.get(column);
    let free =
        density.map(|density| triangles.par_iter().map(|&t| density[t] * coulomb_per_m2).collect());
    let all = run.solution.all_charge.get(column).map(|all| per_area(run, triangles, all));
    [free, all]
}

/// The potential in an excitation; that of ignored triangles and of interfaces is not known.
fn potential(run: &Run<'_>, triangles: &[usize], column: usize) -> Vec<f64> {
    let excited = run.solution.columns[column];
    let of = |id: Option<u32>| match id {
        Some(id) if id as usize == excited => 1.0,
        Some(_) => 0.0,
        None => f64::NAN,
    };
    triangles.par_iter().map(|&t| of(run.problem.conductors().of_triangle[t])).collect()
}

/// Values on these triangles, in their order.
fn arrays(run: &Run<'_>, triangles: &[usize]) -> Vec<Array> {
    let conductors = &run.problem.conductors();
    let mut data = bodies_and_areas(run, triangles);
    // Viewers show the first array of all charge.
    let mut first = Some(());
    let mut charge_density = |name: String, values: Vec<f64>, shown: bool| {
        let array = vtk::array(name, values);
        if shown && first.take().is_some() { array.first() } else { array }
    };
    let has_state = run.solution.state.is_some();
    let shown = run.solution.columns.len().min(run.case.vtk_excitations);
    for column in 0..shown {
        let name = &conductors.names[run.solution.columns[column]];
        let [free, all] = densities(run, triangles, column);
        let Some(free) = free else { break };
        let title = format!("charge density, {name} at 1 V [C/m^2]");
        data.push(charge_density(title, free, !has_state && all.is_none()));
        if let Some(all) = all {
            let title = format!("charge density, free and bound, {name} at 1 V [C/m^2]");
            data.push(charge_density(title, all, !has_state));
        }
        let values = potential(run, triangles, column);
        data.push(vtk::array(format!("potential, {name} at 1 V [V]"), values));
    }
    if let Some(state) = &run.solution.state {
        for (name, charges, shown) in [
            ("charge density, free and bound [C/m^2]", &state.charge, true),
            ("charge density, free [C/m^2]", &state.free_charge, false),
        ] {
            data.push(charge_density(name.to_owned(), per_area(run, triangles, charges), shown));
        }
        if let Some(potential) = &state.potential {
            let potential: Vec<f64> = triangles.iter().map(|&t| potential[t]).collect();
            data.push(vtk::array("potential [V]", &potential));
            if run.case.has_atoms() {
                let temperature = run.case.kelvin();
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
