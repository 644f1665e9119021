//! `farad mesh check`.

use std::path::{Path, PathBuf};

use mesh::Mesh;
use mesh::check::Defects;
use mesh::intersect::{Intersection, Meeting, intersections};

use super::info;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{files, vtk};

/// Arguments of `farad mesh check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Mesh: .msh, .vert or .face, .off, .ply, .stl, or FastCap's .lst, .qui or .neu
    file: PathBuf,
    /// VTK file for the defects, if there are any [default: FILE.defects.vtu in the current folder]
    #[arg(short, long, value_name = "FILE.vtu")]
    output: Option<PathBuf>,
}

/// Prints the description and the verdict; defects are an error.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (mesh, read, report) = info::study(&args.file)?;
    let output = Output::default();
    output.data(&info::describe(&args.file, &read, &report))?;
    let crossings = intersections(&mesh);
    if report.defects.is_empty() && crossings.is_empty() {
        return output.data("\nOK: the mesh can be solved on.");
    }
    let target = args.output.clone().unwrap_or_else(|| default_output(&args.file));
    files::replace(&target, |out| write_defects(out, &mesh, &report.defects, &crossings))?;
    if report.defects.is_empty() {
        return output.data(&format!(
            "\n{}; those of different conductors cannot be solved on. They are in {}.",
            describe(&crossings),
            target.display()
        ));
    }
    Err(Failure::with_help(
        Exit::BadInput,
        format!("the mesh cannot be solved on:\n{}", report.defects),
        format!("the triangles are in {}; mesh the geometry again without them", target.display()),
    ))
}

/// How many pairs of triangles meet that should not.
fn describe(crossings: &[Intersection]) -> String {
    let count = |wanted: Meeting| crossings.iter().filter(|pair| pair.meeting == wanted).count();
    format!(
        "Surfaces go through each other ({} pairs of triangles) or cover each other in a plane ({} pairs)",
        count(Meeting::Crossing),
        count(Meeting::Overlap)
    )
}

fn default_output(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.defects.vtu", file.file_stem().unwrap_or_default().to_string_lossy()))
}

/// The defective triangles with what is wrong with them.
fn write_defects(
    out: &mut impl std::io::Write,
    mesh: &Mesh,
    defects: &Defects,
    crossings: &[Intersection],
) -> std::io::Result<()> {
    let zero_area = defects.zero_area.iter().map(|&triangle| (triangle, 1));
    let duplicates = defects.duplicates.iter().map(|duplicate| (duplicate.triangle, 2));
    let mut crossing: Vec<u32> = crossings.iter().flat_map(|pair| pair.triangles).collect();
    crossing.sort_unstable();
    crossing.dedup();
    let crossing = crossing.into_iter().map(|triangle| (triangle, 3));
    let (indices, kinds): (Vec<u32>, Vec<i32>) =
        zero_area.chain(duplicates).chain(crossing).unzip();
    let triangles: Vec<[u32; 3]> = indices.iter().map(|&t| mesh.triangles[t as usize]).collect();
    let data = vec![
        vtk::array("defect (1 zero area, 2 duplicate, 3 intersecting)", kinds),
        vtk::array("triangle", indices),
    ];
    let surface = vtk::Surface { vertices: &mesh.vertices, triangles: &triangles, data };
    vtk::write(out, &surface, true)
}
