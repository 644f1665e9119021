//! `farad mesh check`.

use std::path::{Path, PathBuf};

use mesh::Mesh;
use mesh::check::Defects;

use super::info;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{files, vtk};

/// Arguments of `farad mesh check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Gmsh mesh, MSH 2.2 or 4.1, ASCII or binary
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
    if report.defects.is_empty() {
        return output.data("\nOK: the mesh can be solved on.");
    }
    let target = args.output.clone().unwrap_or_else(|| default_output(&args.file));
    files::replace(&target, |out| write_defects(out, &mesh, &report.defects))?;
    Err(Failure::with_help(
        Exit::BadInput,
        format!("the mesh cannot be solved on:\n{}", report.defects),
        format!("the triangles are in {}; mesh the geometry again without them", target.display()),
    ))
}

fn default_output(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.defects.vtu", file.file_stem().unwrap_or_default().to_string_lossy()))
}

/// The defective triangles with what is wrong with them.
fn write_defects(
    out: &mut impl std::io::Write,
    mesh: &Mesh,
    defects: &Defects,
) -> std::io::Result<()> {
    let zero_area = defects.zero_area.iter().map(|&triangle| (triangle, 1));
    let duplicates = defects.duplicates.iter().map(|duplicate| (duplicate.triangle, 2));
    let (indices, kinds): (Vec<u32>, Vec<i32>) = zero_area.chain(duplicates).unzip();
    let triangles: Vec<[u32; 3]> = indices.iter().map(|&t| mesh.triangles[t as usize]).collect();
    let data = vec![
        vtk::array("defect (1 zero area, 2 duplicate)", kinds),
        vtk::array("triangle", indices),
    ];
    let surface = vtk::Surface { vertices: &mesh.vertices, triangles: &triangles, data };
    vtk::write(out, surface, true)
}
