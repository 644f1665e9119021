//! `surface.vtu`: the surface with its charges and potentials.

use std::io::{self, Write};

use super::Run;
use crate::case::VtkMode;
use crate::units::EPSILON_0;
use crate::vtk;

/// Writes the surface of `run`: coordinates in the case's unit, everything else in the SI units that the arrays name.
pub(crate) fn write(out: &mut impl Write, run: &Run<'_>) -> io::Result<()> {
    let conductors = &run.problem.conductors;
    let unit = run.case.mesh.unit.metres();
    let ids: Vec<i32> =
        conductors.of_triangle.iter().map(|id| id.map_or(-1, |id| id as i32)).collect();
    let areas: Vec<f64> = run.problem.areas.iter().map(|area| area * unit * unit).collect();
    let mut data = vec![vtk::array("conductor id", ids), vtk::array("area [m^2]", areas)];
    // The solver's density is per permittivity and in 1/(mesh unit).
    let coulomb_per_m2 = EPSILON_0 * run.case.relative_permittivity / unit;
    for (index, (name, density)) in conductors.names.iter().zip(&run.answer.density).enumerate() {
        let charge: Vec<f64> = density.iter().map(|value| value * coulomb_per_m2).collect();
        data.push(vtk::array(format!("charge density, {name} at 1 V [C/m^2]"), charge));
        // Nothing is known of the potential of what is ignored.
        let potential = |id: &Option<u32>| match id {
            Some(id) if *id as usize == index => 1.0,
            Some(_) => 0.0,
            None => f64::NAN,
        };
        let potential: Vec<f64> = conductors.of_triangle.iter().map(potential).collect();
        data.push(vtk::array(format!("potential, {name} at 1 V [V]"), potential));
    }
    if let Some(state) = &run.more.state {
        let square = unit * unit;
        for (name, charges) in [
            ("charge density, free and bound [C/m^2]", &state.charge),
            ("charge density, free [C/m^2]", &state.free_charge),
        ] {
            let areas = &run.problem.areas;
            let density = charges.iter().zip(areas).map(|(q, area)| q / (area * square));
            data.push(vtk::array(name, density.collect::<Vec<f64>>()));
        }
        data.push(vtk::array("potential [V]", state.potential.clone()));
    }
    let mesh = &run.problem.mesh;
    let surface = vtk::Surface { vertices: &mesh.vertices, triangles: &mesh.triangles, data };
    vtk::write(out, &surface, run.case.vtk == VtkMode::Compressed)
}
