//! `farad mesh check`.

use std::path::{Path, PathBuf};

use mesh::Mesh;
use mesh::check::{Defects, Report};
use mesh::conductors::{self, UNGROUPED};
use mesh::contact::{Touch, contacts};
use mesh::intersect::{Intersection, Meeting, intersections};

use super::{info, info_text};
use crate::case::problem;
use crate::case::{Case, Overrides};
use crate::files;
use crate::paths;
use crate::report::text::printable;
use crate::report::{units, vtk};
use crate::surfaces;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Arguments of `farad mesh check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Mesh: .msh, .vert or .face, .off, .ply, .stl, FastCap's .lst, .qui or .neu, or a
    /// layout: .pex25d, or .gds with its --stack
    file: PathBuf,
    /// The file that says what the layers of a GDSII layout are
    #[arg(long, value_name = "STACK.toml")]
    stack: Option<PathBuf>,
    /// VTK file for the defects, if there are any [default: FILE.defects.vtu in the current folder]
    #[arg(short, long, value_name = "FILE.vtu")]
    output: Option<PathBuf>,
    /// Replace that file if it exists
    #[arg(long)]
    overwrite: bool,
}

/// Prints the description and the verdict. Defects are always an error. Whether surfaces may meet
/// depends on what a case makes of them, so the verdict says in which cases they may. FastCap's
/// files are cases themselves.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(target) = &args.output {
        check_target(target, args)?;
    }
    let (mesh, read, report) = info::study(&args.file, args.stack.as_deref())?;
    let output = Output::default();
    output.data(&info_text::describe(&args.file, &read, &report))?;
    let is_case = surfaces::has_nets(&args.file);
    if let Some(loose) = report.loose().filter(|_| !is_case) {
        return Err(Failure::new(Exit::BadInput, format!("the mesh cannot be solved on: {loose}")));
    }
    let crossings = intersections(&mesh);
    let faulty = !report.defects.is_empty() || !crossings.is_empty();
    let target = args.output.clone().unwrap_or_else(|| default_output(&args.file));
    let written = if faulty {
        check_target(&target, args).and_then(|()| {
            files::replace(&target, |out| write_defects(out, &mesh, &report.defects, &crossings))
        })
    } else {
        Ok(())
    };
    if !report.defects.is_empty() {
        let where_they_are = match written {
            Ok(()) => format!("the triangles are in {}", target.display()),
            Err(failure) => format!("the triangles are not written: {failure}"),
        };
        return Err(Failure::with_help(
            Exit::BadInput,
            format!("the mesh cannot be solved on:\n{}", report.defects),
            format!(
                "{where_they_are}; `farad mesh repair` removes them, or mesh the geometry again without them"
            ),
        ));
    }
    let (mut remarks, mut conditions, mut refused) = (Vec::new(), Vec::new(), None);
    if is_case {
        remarks.extend((!crossings.is_empty()).then(|| describe(&crossings)));
        let overrides = Overrides { stack: args.stack.clone(), ..Overrides::default() };
        let case = Case::load(&args.file, &overrides);
        refused = case.and_then(|case| problem::prepare(&case, mesh)).err();
    } else {
        let meeting = [touching(&mesh), crossing(&mesh, &report, &crossings)];
        for found in meeting.into_iter().flatten() {
            remarks.push(found.what);
            conditions.extend(found.condition);
        }
    }
    if faulty && written.is_ok() {
        remarks.push(format!("They are in {}.", target.display()));
    }
    match (&refused, conditions.is_empty()) {
        (Some(_), _) => {}
        (None, true) => remarks.push("OK: the mesh can be solved on.".to_owned()),
        (None, false) => remarks.push(format!(
            "The mesh can be solved on only in a case in which {}.",
            conditions.join(", and ")
        )),
    }
    output.data(&printable(&format!("\n{}", remarks.join("\n"))))?;
    refused.map_or(written, Err)
}

/// Surfaces that meet, and where that may be.
struct Found {
    what: String,
    /// The condition on a case under which they may meet; `None` if they always may.
    condition: Option<String>,
}

/// Groups, or bodies of a mesh without groups, that touch along a line.
fn touching(mesh: &Mesh) -> Option<Found> {
    let ungrouped = || conductors::assign(mesh, &[], &[UNGROUPED.to_owned()]);
    let parts = conductors::assign(mesh, &[], &[]).or_else(|_| ungrouped()).ok()?;
    let found = contacts(mesh, &parts.of_triangle);
    let first = found.first().filter(|contact| contact.touch == Touch::Line)?;
    let [a, b] = first.triangles.map(|t| {
        parts.of_triangle[t as usize].map_or("", |part| parts.names[part as usize].as_str())
    });
    let [x, y, z] = first.place;
    Some(Found {
        what: format!("\"{a}\" and \"{b}\" touch along a line or an area, at ({x}, {y}, {z})."),
        condition: Some(format!(
            "surfaces that touch so are not of two conductors (without [[conductor]] tables they are; {} makes them one)",
            one_conductor(mesh, [a, b])
        )),
    })
}

/// Triangles that go through each other or cover each other.
fn crossing(mesh: &Mesh, report: &Report, crossings: &[Intersection]) -> Option<Found> {
    if crossings.is_empty() {
        return None;
    }
    let mut what = describe(crossings);
    let part = |t: u32| (mesh.membership[t as usize], report.component_of[t as usize]);
    let of_two = |pair: &&Intersection| part(pair.triangles[0]) != part(pair.triangles[1]);
    let Some(first) = crossings.iter().find(of_two) else {
        what += " Each is of one part of the surface; values near them are doubtful.";
        return Some(Found { what, condition: None });
    };
    let names = first.triangles.map(|t| match mesh.groups_of(t as usize).first() {
        Some(group) => mesh.groups[*group as usize].label(),
        None => report.components[report.component_of[t as usize] as usize].label.clone(),
    });
    let [(a, s), (b, t)] = [0, 1].map(|k| (names[k].as_str(), first.triangles[k]));
    what += &format!(
        " Of {}, first triangle {s} of \"{a}\" and triangle {t} of \"{b}\".",
        match crossings.iter().filter(of_two).count() {
            1 => "different surfaces: 1 pair".to_owned(),
            count => format!("different surfaces: {} pairs", units::count(count as u64)),
        }
    );
    let condition = format!(
        "surfaces that meet so are of one conductor ({}) or ignored, not of two bodies or parts of a dielectric",
        one_conductor(mesh, [a, b])
    );
    Some(Found { what, condition: Some(condition) })
}

/// Lines of a case that make two groups one conductor.
fn one_conductor(mesh: &Mesh, [a, b]: [&str; 2]) -> String {
    match (mesh.groups.is_empty(), a == b) {
        (true, _) => format!("group = \"{UNGROUPED}\""),
        (false, true) => format!("group = {a:?}"),
        (false, false) => format!("group = [{a:?}, {b:?}]"),
    }
}

/// Refuses to write over the mesh in any case, and over another file unless it may be replaced.
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
        "Surfaces go through each other ({} of triangles) or cover each other in a plane ({}).",
        units::counted(count(Meeting::Crossing), "pair"),
        units::counted(count(Meeting::Overlap), "pair")
    )
}

fn default_output(file: &Path) -> PathBuf {
    paths::ending_in(file.file_stem().unwrap_or_default(), ".defects.vtu")
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
    let folds = defects.folds.iter().map(|fold| (fold.triangle, 4));
    let (indices, kinds): (Vec<u32>, Vec<i32>) =
        zero_area.chain(duplicates).chain(crossing).chain(folds).unzip();
    let triangles: Vec<usize> = indices.iter().map(|&t| t as usize).collect();
    let data = vec![
        vtk::array("defect (1 zero area, 2 duplicate, 3 intersecting, 4 folded)", kinds),
        vtk::array("triangle", indices),
    ];
    let surface = vtk::SurfaceGrid::of(mesh, triangles.into_iter(), data);
    vtk::write(out, surface, true)
}
