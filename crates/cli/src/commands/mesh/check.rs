//! `farad mesh check`.

use std::path::{Path, PathBuf};

use mesh::Mesh;
use mesh::check::Defects;
use mesh::conductors;
use mesh::contact::{Touch, contacts};
use mesh::files::Format;
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
    /// Replace that file if it exists
    #[arg(long)]
    overwrite: bool,
}

/// Prints the description and the verdict; defects are an error.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(target) = &args.output {
        check_target(target, args)?;
    }
    let (mesh, read, report) = info::study(&args.file)?;
    let output = Output::default();
    output.data(&info::describe(&args.file, &read, &report))?;
    if let Some(loose) = report.loose() {
        return Err(Failure::new(Exit::BadInput, format!("the mesh cannot be solved on: {loose}")));
    }
    if let Some(note) = touching(&mesh, &args.file) {
        output.data(&format!("\n{note}"))?;
    }
    let crossings = intersections(&mesh);
    if report.defects.is_empty() && crossings.is_empty() {
        return output.data("\nOK: the mesh can be solved on.");
    }
    let target = args.output.clone().unwrap_or_else(|| default_output(&args.file));
    let written = check_target(&target, args).and_then(|()| {
        files::replace(&target, |out| write_defects(out, &mesh, &report.defects, &crossings))
    });
    if report.defects.is_empty() {
        let verdict = describe(&crossings);
        output.data(&format!("\n{verdict}; those of different conductors cannot be solved on."))?;
        written?;
        return output.data(&format!("They are in {}.", target.display()));
    }
    let where_they_are = match written {
        Ok(()) => format!("the triangles are in {}", target.display()),
        Err(failure) => format!("the triangles are not written: {failure}"),
    };
    Err(Failure::with_help(
        Exit::BadInput,
        format!("the mesh cannot be solved on:\n{}", report.defects),
        format!("{where_they_are}; mesh the geometry again without them"),
    ))
}

/// What there is to know of groups or bodies that touch. Groups of FastCap's files are parts of conductors, which may touch.
fn touching(mesh: &Mesh, file: &Path) -> Option<String> {
    if Format::of(file) == Some(Format::FastCap) {
        return None;
    }
    let parts = conductors::assign(mesh, &[], &[]).ok()?;
    let found = contacts(mesh, &parts.of_triangle);
    let first = found.first().filter(|contact| contact.touch == Touch::Line)?;
    let [a, b] = first.triangles.map(|t| {
        parts.of_triangle[t as usize].map_or("", |part| parts.names[part as usize].as_str())
    });
    let [x, y, z] = first.place;
    Some(format!(
        "\"{a}\" and \"{b}\" touch along a line or an area, at ({x}, {y}, {z}): as two conductors they cannot be solved on."
    ))
}

/// Refuses to write over the mesh, whatever is asked for, and over another file unless that may be replaced.
fn check_target(target: &Path, args: &Args) -> Result<(), Failure> {
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    if same(target, &args.file) {
        return Err(Failure::with_help(
            Exit::Usage,
            format!("{} is the mesh itself", target.display()),
            "choose another name for the file of defects",
        ));
    }
    files::check_vacant(target, args.overwrite)
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
