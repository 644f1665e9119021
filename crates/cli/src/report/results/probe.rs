//! Potential and field at the probes: a table of points, or an image of a grid for ParaView.

use std::io::{self, Write};

use farad::{Probe, ProbePoints, Probed, Solution};

use super::folder::Folder;
use super::opendx;
use crate::case::{Case, VtkMode, probe_file, probe_map, probe_picture};
use crate::report::vtk;
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;

/// Writes the files of all probes, with `tag` at the end of their names; returns these.
pub(crate) fn write_all(
    folder: &mut Folder,
    case: &Case,
    solution: &Solution,
    tag: &str,
) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    let found = solution.state.iter().flat_map(|state| &state.probes);
    for (probe, found) in case.description.probes.iter().zip(found) {
        interrupt::check()?;
        let file = tagged(&probe_file(probe), tag);
        folder.stage(&file, |out| write(out, case, probe, found))?;
        names.push(file);
        if let Some(map) = probe_map(probe, case) {
            let file = tagged(&map, tag);
            folder.stage(&file, |out| opendx::write(out, case, &probe.place, found))?;
            names.push(file);
        }
        if let Some(picture) = probe_picture(probe, case.vtk) {
            let file = tagged(&picture, tag);
            folder.stage(&file, |out| write_picture(out, case, probe, found))?;
            names.push(file);
        }
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
fn write(out: &mut impl Write, case: &Case, probe: &Probe, found: &Probed) -> io::Result<()> {
    let &ProbePoints::Grid { low, counts, .. } = &probe.place else {
        return table(out, case, found);
    };
    let image = vtk::Image { low, spacing: probe.place.spacing(), counts, data: arrays(found) };
    vtk::write_image(out, &image, case.vtk != VtkMode::Plain)
}

/// Writes a line of points, or points, with their values for ParaView.
fn write_picture(
    out: &mut impl Write,
    case: &Case,
    probe: &Probe,
    found: &Probed,
) -> io::Result<()> {
    let is_line = matches!(probe.place, ProbePoints::Line { .. });
    vtk::write_points(out, &found.points, is_line, &arrays(found), case.vtk != VtkMode::Plain)
}

fn arrays(found: &Probed) -> Vec<vtk::Array> {
    let mut all = vec![
        vtk::array("potential [V]", &found.potential).first(),
        vtk::vectors("electric field [V/m]", found.field.as_flattened()),
    ];
    if let Some(bars) = &found.bars {
        all.push(vtk::array("potential error [V]", &bars.potential_v));
        all.push(vtk::array("electric field error [V/m]", &bars.field_v_per_m));
    }
    all
}

fn table(out: &mut impl Write, case: &Case, found: &Probed) -> io::Result<()> {
    let unit = case.description.unit.name();
    let errors = if found.bars.is_some() { ",potential error [V],field error [V/m]" } else { "" };
    writeln!(
        out,
        "x [{unit}],y [{unit}],z [{unit}],potential [V],Ex [V/m],Ey [V/m],Ez [V/m]{errors}"
    )?;
    for (index, (x, field)) in found.points.iter().zip(&found.field).enumerate() {
        let ([x, y, z], [ex, ey, ez], volt) = (x, field, found.potential[index]);
        write!(out, "{x:e},{y:e},{z:e},{volt:e},{ex:e},{ey:e},{ez:e}")?;
        match &found.bars {
            Some(bars) => {
                let (volt, field) = (bars.potential_v[index], bars.field_v_per_m[index]);
                writeln!(out, ",{volt:.3e},{field:.3e}")?;
            }
            None => writeln!(out)?,
        }
    }
    Ok(())
}
