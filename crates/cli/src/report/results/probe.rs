//! Potential and field at the probes: a table of points, or an image of a grid for ParaView.

use std::io::{self, Write};

use farad::{Probe, ProbePoints, Probed};

use super::Folder;
use crate::case::{Case, VtkMode, probe_file, probe_picture};
use crate::report::vtk;
use crate::terminal::exit::Failure;

/// Writes the files of one probe, with `tag` at the end of their names; returns these.
pub(crate) fn write_all(
    folder: &mut Folder,
    case: &Case,
    (probe, probed): (&Probe, &Probed),
    tag: &str,
) -> Result<Vec<String>, Failure> {
    let mut names = vec![tagged(&probe_file(probe), tag)];
    folder.stage(&names[0], |out| write(out, case, probe, probed))?;
    if let Some(picture) = probe_picture(probe, case.vtk) {
        names.push(tagged(&picture, tag));
        folder.stage(&names[1], |out| write_picture(out, case, probe, probed))?;
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
fn write(out: &mut impl Write, case: &Case, probe: &Probe, probed: &Probed) -> io::Result<()> {
    let ProbePoints::Grid { low, counts, .. } = probe.place else {
        return table(out, case, probed);
    };
    let (spacing, data) = (probe.place.spacing(), values(probed));
    let image = vtk::Image { low, spacing, counts, data };
    vtk::write_image(out, &image, case.vtk != VtkMode::Plain)
}

/// Writes a line of points, or points, with their values for ParaView.
fn write_picture(
    out: &mut impl Write,
    case: &Case,
    probe: &Probe,
    probed: &Probed,
) -> io::Result<()> {
    let (data, is_line) = (values(probed), matches!(probe.place, ProbePoints::Line { .. }));
    vtk::write_points(out, &probed.points, is_line, &data, case.vtk != VtkMode::Plain)
}

fn values(probed: &Probed) -> Vec<vtk::Array> {
    vec![
        vtk::array("potential [V]", probed.potential.clone()).first(),
        vtk::vectors("electric field [V/m]", probed.field.as_flattened().to_vec()),
    ]
}

fn table(out: &mut impl Write, case: &Case, probed: &Probed) -> io::Result<()> {
    let unit = case.description.unit.name();
    writeln!(out, "x [{unit}],y [{unit}],z [{unit}],potential [V],Ex [V/m],Ey [V/m],Ez [V/m]")?;
    for ((x, volt), field) in probed.points.iter().zip(&probed.potential).zip(&probed.field) {
        let [x, y, z] = x;
        let [ex, ey, ez] = field;
        writeln!(out, "{x:e},{y:e},{z:e},{volt:e},{ex:e},{ey:e},{ez:e}")?;
    }
    Ok(())
}
