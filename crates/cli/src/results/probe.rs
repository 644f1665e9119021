//! Potential and field at the probes: a table of points, or an image of a grid for ParaView.

use std::io::{self, Write};

use super::Folder;
use crate::case::{Case, VtkMode};
use crate::exit::Failure;
use crate::probes::Probed;
use crate::vtk;

/// Writes the files of one probe, with `tag` at the end of their names; returns these.
pub(crate) fn write_all(
    folder: &mut Folder,
    case: &Case,
    probed: &Probed,
    tag: &str,
) -> Result<Vec<String>, Failure> {
    let mut names = vec![tagged(&probed.file, tag)];
    folder.stage(&names[0], |out| write(out, case, probed))?;
    if let Some(picture) = &probed.picture {
        names.push(tagged(picture, tag));
        folder.stage(&names[1], |out| write_picture(out, case, probed))?;
    }
    Ok(names)
}

/// The name of a file with something before its ending.
pub(crate) fn tagged(name: &str, tag: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}{tag}.{ending}"),
        None => format!("{name}{tag}"),
    }
}

/// Writes the values of one probe.
fn write(out: &mut impl Write, case: &Case, probed: &Probed) -> io::Result<()> {
    let Some(grid) = &probed.grid else { return table(out, case, probed) };
    let data = values(probed);
    let image = vtk::Image { low: grid.low, spacing: grid.spacing, counts: grid.counts, data };
    vtk::write_image(out, &image, case.vtk != VtkMode::Plain)
}

/// Writes a line of points, or points, with their values for ParaView.
fn write_picture(out: &mut impl Write, case: &Case, probed: &Probed) -> io::Result<()> {
    let data = values(probed);
    vtk::write_points(out, &probed.points, probed.is_line, &data, case.vtk != VtkMode::Plain)
}

fn values(probed: &Probed) -> Vec<vtk::Array> {
    vec![
        vtk::array("potential [V]", probed.potential.clone()).first(),
        vtk::vectors("electric field [V/m]", probed.field.as_flattened().to_vec()),
    ]
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
