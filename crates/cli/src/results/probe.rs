//! Potential and field at the probes: a table of points, or an image of a grid for ParaView.

use std::io::{self, Write};

use crate::case::{Case, VtkMode};
use crate::probes::Probed;
use crate::vtk;

/// Writes the values of one probe.
pub(super) fn write(out: &mut impl Write, case: &Case, probed: &Probed) -> io::Result<()> {
    let Some(grid) = &probed.grid else { return table(out, case, probed) };
    let data = vec![
        vtk::array("potential [V]", probed.potential.clone()),
        vtk::vectors("electric field [V/m]", probed.field.as_flattened().to_vec()),
    ];
    let image = vtk::Image { low: grid.low, spacing: grid.spacing, counts: grid.counts, data };
    vtk::write_image(out, &image, case.vtk != VtkMode::Plain)
}

fn table(out: &mut impl Write, case: &Case, probed: &Probed) -> io::Result<()> {
    let unit = case.mesh.unit.name();
    writeln!(out, "x [{unit}],y [{unit}],z [{unit}],potential [V],Ex [V/m],Ey [V/m],Ez [V/m]")?;
    for ((x, volt), field) in probed.points.iter().zip(&probed.potential).zip(&probed.field) {
        let [x, y, z] = x;
        let [ex, ey, ez] = field;
        writeln!(out, "{x:e},{y:e},{z:e},{volt:e},{ex:e},{ey:e},{ez:e}")?;
    }
    Ok(())
}
