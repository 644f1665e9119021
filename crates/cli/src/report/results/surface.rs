//! `surface.vtu`: the surface with its charges and potentials.

use std::io::{self, Write};

use super::Run;
use crate::case::VtkMode;
use crate::report::units::{self, ELEMENTARY_CHARGE, EPSILON_0};
use crate::report::vtk;

/// Writes the surface of `run`: coordinates in the case's unit, everything else in the SI units
/// that the arrays name.
pub(crate) fn write(out: &mut impl Write, run: &Run<'_>) -> io::Result<()> {
    let conductors = &run.problem.conductors();
    let unit = run.case.description.unit.metres();
    let ids: Vec<i32> =
        conductors.of_triangle.iter().map(|id| id.map_or(-1, |id| id as i32)).collect();
    let areas: Vec<f64> = run.problem.areas().iter().map(|area| area * unit * unit).collect();
    let mut data = vec![
        vtk::array("conductor id", ids),
        vtk::array("body id", bodies(run)),
        vtk::array("area [m^2]", areas),
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
        let charge: Vec<f64> = density.iter().map(|value| value * coulomb_per_m2).collect();
        let title = format!("charge density, {name} at 1 V [C/m^2]");
        let all = run.solution.all_charge.get(column);
        data.push(charge_density(title, charge, !has_state && all.is_none()));
        if let Some(all) = all {
            let title = format!("charge density, free and bound, {name} at 1 V [C/m^2]");
            data.push(charge_density(title, per_area(run, all), !has_state));
        }
        // The potential of ignored triangles is not known.
        let potential = |id: &Option<u32>| match id {
            Some(id) if *id as usize == index => 1.0,
            Some(_) => 0.0,
            None => f64::NAN,
        };
        let potential: Vec<f64> = conductors.of_triangle.iter().map(potential).collect();
        data.push(vtk::array(format!("potential, {name} at 1 V [V]"), potential));
    }
    if let Some(state) = &run.solution.state {
        for (name, charges, shown) in [
            ("charge density, free and bound [C/m^2]", &state.charge, true),
            ("charge density, free [C/m^2]", &state.free_charge, false),
        ] {
            data.push(charge_density(name.to_owned(), per_area(run, charges), shown));
        }
        if let Some(potential) = &state.potential {
            data.push(vtk::array("potential [V]", potential.clone()));
            if run.case.has_atoms() {
                let temperature = units::temperature(run.case);
                let thermal = |volt: &f64| units::thermal(volt * ELEMENTARY_CHARGE, temperature);
                let values: Vec<f64> = potential.iter().map(thermal).collect();
                data.push(vtk::array("potential [kT/e]", values));
            }
        }
    }
    let mesh = &run.problem.mesh();
    let surface = vtk::SurfaceGrid::of(mesh, 0..mesh.triangles.len(), data);
    vtk::write(out, surface, run.case.vtk == VtkMode::Compressed)
}

/// Charges of triangles, in coulomb, as densities.
fn per_area(run: &Run<'_>, charges: &[f64]) -> Vec<f64> {
    let square = run.case.description.unit.metres().powi(2);
    charges.iter().zip(run.problem.areas()).map(|(q, area)| q / (area * square)).collect()
}

/// The body that each triangle bounds: the index of a conductor, then of a dielectric, then of an
/// interface, as the case lists them; -1 for none.
fn bodies(run: &Run<'_>) -> Vec<i32> {
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
    let owners = run.problem.conductors().of_triangle.iter().enumerate();
    let body = |(t, owner): (usize, &Option<u32>)| match (owner, mesh.groups_of(t)) {
        (Some(owner), _) => *owner as i32,
        (None, []) => ungrouped.unwrap_or(-1),
        (None, groups) => groups.iter().find_map(|&group| of_group[group as usize]).unwrap_or(-1),
    };
    owners.map(body).collect()
}
