//! FastCap's input as a problem: list files (.lst) and the panel files that they name (.qui, .neu).
//!
//! A list has one surface per line: a conductor (`C`), an interface of two dielectrics (`D`), or a
//! thin conductor on such an interface (`B`), each with the relative permittivities on its sides, a
//! translation, and for interfaces a reference point, which shows which side is which. Panels name
//! their conductor; names hold within a chain of lines joined by `+`. Lengths are metres unless one
//! says otherwise. Format: K. Nabors, S. Kim, J. White and S. Senturia, FastCap User's Guide, MIT
//! 1992. FasterCap's sections of panels within a list, colours and reference points of panels are
//! read too.
//!
//! Programs write panels that meet in T's, cover each other or have no area. They are made a
//! surface whose triangles meet in common edges, in which each place occurs once.
//!
//! ```
//! use farad::{Options, Problem, NoProgress};
//! use formats::fastcap;
//! use mesh::files::Error;
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // `mesh::files::load` reads the files from the disk.
//! let load = |path: &Path| match path.to_str() {
//!     Some("pair.lst") => Ok("C plate.qui 1 0 0 0\nC plate.qui 1 0 0 0.5\n".into()),
//!     Some("plate.qui") => Ok("0 plate\nQ p 0 0 0 1 0 0 1 1 0 0 1 0\n".into()),
//!     _ => Err(Error::Io { path: path.to_owned(), source: std::io::ErrorKind::NotFound.into() }),
//! };
//! let model = fastcap::read(Path::new("pair.lst"), load)?;
//! let problem = Problem::new(model.description, model.mesh)?;
//! let solution = problem.solve(&Options::default(), &NoProgress)?;
//! assert_eq!(solution.matrices().maxwell_farad.len(), 2);
//! # Ok(())
//! # }
//! ```

mod list;
mod names;
mod origin;
mod overlay;
mod sides;
mod statement;
mod surface;
mod triangles;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use farad::Description;
use mesh::fastcap::{Panel, Panels};
use mesh::files::{Assembly, Cause, Error, FormatError, Reading, in_file};
use mesh::gmsh::{Encoding, Place};
use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};
use mesh::{Mesh, weld};

use crate::roles::{self, Role, Roles};
use list::{LineKind, List, ListLine};
use names::Names;
use origin::{Origin, counted, place_of};
use overlay::Rules;
use triangles::Triangles;

pub use names::Net;

/// Corners closer than this times the size of the whole are one vertex: the files hold five or six
/// digits.
const WELD: f64 = 1e-6;

/// More panels are refused before they are made: a short list may name a long file many times.
pub const MOST_PANELS: usize = 16 << 20;

/// A reference point whose height over a panel's plane is less than this times its distance does
/// not define the panel's sides.
const IN_PLANE: f64 = 1e-9;

/// A list file with all that it names, or a file of panels alone, as conductors in vacuum.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The title of the first file of panels that has one.
    pub title: Option<String>,
    /// Where each conductor of the description is from, in the same order.
    pub nets: Vec<Net>,
    /// The conductors in the order in which the files name them, and the media: one around all
    /// conductors, or else those on both sides of each group.
    pub description: Description,
    /// All panels as triangles, each in one group; normals of interfaces point to the outer medium.
    pub mesh: Mesh,
    /// Counts of the file's content, and sentences for people about it.
    pub reading: Reading,
    /// The panel that each triangle is of.
    panel_of: Vec<Origin>,
    /// The files of panels, as the list names them.
    files: Vec<String>,
}

impl Model {
    /// Where the panel that a triangle is of stands: "line 5 of bar.qui (line 2 of the list)".
    pub fn place_of(&self, triangle: usize) -> Option<String> {
        self.panel_of.get(triangle).map(|panel| place_of(&self.files, *panel))
    }
}

/// Whether the name ends as those of lists and of panels do.
pub fn is_name(path: &Path) -> bool {
    is_list(path) || ["qui", "neu"].iter().any(|ending| ends_in(path, ending))
}

fn is_list(path: &Path) -> bool {
    ends_in(path, "lst")
}

fn ends_in(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

/// Reads a list file (.lst) and all that it names, or a file of panels alone, whose bytes `load`
/// gets; [`mesh::files::load`] gets them from the disk.
///
/// # Errors
/// Errors of `load`; [`Error::Missing`] if a file of the list does not exist; [`Error::Format`],
/// with the file's name, the line, what is wrong and what to do.
pub fn read(
    path: &Path,
    load: impl FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    read_as(path, false, load)
}

/// As [`read`], but panels on one place may contradict each other: those of later lines count, and
/// a note says how many.
///
/// # Errors
/// The others of [`read`].
pub fn read_lenient(
    path: &Path,
    load: impl FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    read_as(path, true, load)
}

fn read_as(
    path: &Path,
    lenient: bool,
    mut load: impl FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    let mut builder = Builder::default();
    let List { surfaces: lines, sections } = if is_list(path) {
        list::parse(&load(path)?).map_err(in_file(path))?
    } else {
        List { surfaces: vec![ListLine::alone(path)], sections: HashMap::new() }
    };
    let sections: HashMap<String, Rc<Panels>> =
        sections.into_iter().map(|(name, panels)| (name, Rc::new(panels))).collect();
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut surfaces = Vec::with_capacity(lines.len());
    let mut total = 0;
    for line in &lines {
        let (file, panels) = if let Some(panels) = sections.get(&line.file) {
            (path.to_path_buf(), Ok(panels.clone()))
        } else {
            let file = if is_list(path) { folder.join(&line.file) } else { path.to_path_buf() };
            let panels = builder.panels(&file, &mut load);
            (file, panels)
        };
        let panels = panels
            .map_err(|error| if is_list(path) { missing(path, line, error) } else { error })?;
        total += panels.panels.len();
        if total > MOST_PANELS {
            let message = format!(
                "with the {} panels of {} there are {total}, more than the {MOST_PANELS} that are read",
                panels.panels.len(),
                line.file
            );
            return Err(in_file(path)(Cause::Other(message).on_line(line.number)));
        }
        surfaces.push((line, file, panels));
    }
    for (line, file, panels) in surfaces {
        builder.add(&panels, line, &file, path).map_err(in_file(&file))?;
        if line.kind != LineKind::Interface {
            builder.rename(&panels, line).map_err(in_file(&file))?;
        }
    }
    let last = lines.last().map_or(1, |line| line.number);
    let mut model = builder.finish(lenient, last).map_err(in_file(path))?;
    if model.description.conductors.is_empty() {
        model.reading.notes.push("there is no conductor in it".into());
    }
    Ok(model)
}

/// The error of loading a file that a line of `list` names: where the file is not there, it names
/// that line.
fn missing(list: &Path, line: &ListLine, error: Error) -> Error {
    let (missing, what) = match error {
        Error::Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            (path, "does not exist")
        }
        Error::NotAFile { path, what: "a folder" } => (path, "is a folder"),
        other => return other,
    };
    Error::Missing {
        path: list.to_path_buf(),
        place: Place::Line(line.number),
        why: format!("{what}; names in a list are relative to the folder of the list"),
        missing,
    }
}

#[derive(Default)]
struct Builder {
    assembly: Assembly,
    /// Files read already: lists name one file many times, at different places.
    known: HashMap<PathBuf, Rc<Panels>>,
    title: Option<String>,
    names: Names,
    /// What the groups of the assembly are, whose labels are provisional.
    roles: Roles,
    notes: Vec<String>,
    /// The files that panels are of, and each panel's file and line, by the faces of the assembly.
    files: Vec<String>,
    panel_of: Vec<Origin>,
    /// Panels between equal media.
    equal: usize,
}

impl Builder {
    /// The panels of a file.
    fn panels(
        &mut self,
        file: &Path,
        load: &mut impl FnMut(&Path) -> Result<Vec<u8>, Error>,
    ) -> Result<Rc<Panels>, Error> {
        if let Some(panels) = self.known.get(file) {
            return Ok(panels.clone());
        }
        let panels = Rc::new(mesh::fastcap::parse(&load(file)?).map_err(in_file(file))?);
        let notes = panels.notes.iter().map(|note| format!("{}: {note}", file.display()));
        self.notes.extend(notes);
        self.known.insert(file.to_path_buf(), panels.clone());
        if self.title.is_none() {
            self.title.clone_from(&panels.title);
        }
        Ok(panels)
    }

    /// Adds the panels of a line of the list, from this file.
    fn add(
        &mut self,
        panels: &Panels,
        line: &ListLine,
        file: &Path,
        list: &Path,
    ) -> Result<(), FormatError> {
        if line.kind == LineKind::Interface && line.outer == line.inner {
            self.equal += panels.panels.len();
            return Ok(());
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if self.files.last() != Some(&name) {
            self.files.push(name);
        }
        let file = self.files.len() as u32 - 1;
        for panel in &panels.panels {
            let fault = |cause: Cause| cause.on_line(panel.line);
            let mut corners = panel.corners.clone();
            for corner in &mut corners {
                *corner = add(*corner, line.translation);
            }
            if line.kind != LineKind::Conductor {
                let faces_outer = faces_outer(panel, &corners, line).ok_or_else(|| {
                    let message = format!(
                        "the reference point {:?} of line {} of {} lies in the plane of this panel, so it does not say \
                        which side has which permittivity; choose a point off every panel's plane, or split the file",
                        panel.reference.or(line.reference).unwrap_or_default(),
                        line.number,
                        list.display()
                    );
                    fault(Cause::Other(message))
                })?;
                if !faces_outer {
                    // From the same corner, so that it is cut along the same diagonal.
                    corners[1..].reverse();
                }
            }
            let role = Role {
                conductor: (line.kind != LineKind::Interface)
                    .then(|| self.names.conductor(&line.chain, &panel.conductor)),
                thin: line.kind == LineKind::Both,
                sides: [line.outer, line.inner].map(f64::to_bits),
            };
            self.assembly.group(&self.roles.index(role).to_string());
            let mut indices = Vec::with_capacity(4);
            for &corner in &corners {
                indices.push(self.assembly.vertex(corner).map_err(fault)?);
            }
            self.assembly.face(&indices).map_err(fault)?;
            let listed = if is_list(list) { line.number as u32 } else { 0 };
            self.panel_of.push(Origin { file, line: panel.line as u32, listed });
        }
        Ok(())
    }

    /// Applies the N lines of a file: names hold in the whole chain, so that what earlier files
    /// have is renamed too.
    fn rename(&mut self, panels: &Panels, line: &ListLine) -> Result<(), FormatError> {
        for rename in &panels.renames {
            if !self.names.rename(&line.chain, &rename.old, &rename.new) {
                let message = format!(
                    "there is no conductor \"{}\" to be renamed, neither in this file nor in those before it that + joins to it",
                    rename.old
                );
                return Err(Cause::Other(message).on_line(rename.line));
            }
        }
        Ok(())
    }

    fn finish(mut self, lenient: bool, last: usize) -> Result<Model, FormatError> {
        if self.equal > 0 && self.panel_of.is_empty() {
            let message = "all panels are interfaces with the same permittivity on both sides, which have no effect";
            return Err(Cause::Other(message.into()).on_line(last));
        }
        self.assembly.weld(WELD);
        let panel_of: Vec<Origin> =
            self.assembly.face_of().iter().map(|&face| self.panel_of[face as usize]).collect();
        let (mesh, mut reading) = self
            .assembly
            .finish("FastCap", Encoding::Ascii)
            .map_err(|cause| cause.on_line(last))?;
        if self.equal > 0 {
            self.notes.push(counted(
                self.equal,
                "panel of an interface with the same permittivity on both sides is left out",
                "panels of interfaces with the same permittivity on both sides are left out",
            ));
        }
        let names::Finished { names, nets, renumbered } = self.names.finish();
        // Conductors that were given one name are one: their roles may have become the same.
        let mut roles = Roles::default();
        let merged = self.roles.all.into_iter().map(|role| {
            let conductor = role.conductor.map(|conductor| renumbered[conductor]);
            roles.index(Role { conductor, ..role }) as u32
        });
        let merged: Vec<u32> = merged.collect();
        let role_of = mesh.membership.iter().map(|&set| merged[set as usize - 1]).collect();
        let tolerance = weld::tolerance(&mesh.vertices, WELD);
        let mut triangles = Triangles { mesh, roles, role_of, panel_of, files: self.files };
        let rules = Rules { tolerance, lenient, names: &names };
        surface::clean(&mut triangles, rules, last, &mut self.notes)?;
        reading.notes.splice(0..0, self.notes);
        let Triangles { mut mesh, roles, role_of, panel_of, files } = triangles;
        let description = roles::grouped(&mut mesh, &roles.all, &role_of, names);
        Ok(Model { title: self.title, nets, description, mesh, reading, panel_of, files })
    }
}

/// Whether a panel's normal points to the outer side; `None` if the reference point lies in the
/// panel's plane.
fn faces_outer(panel: &Panel, corners: &[Vector], line: &ListLine) -> Option<bool> {
    let normal = match *corners {
        [a, b, c] => cross(sub(b, a), sub(c, a)),
        [a, b, c, d] => cross(sub(c, a), sub(d, b)),
        _ => return None,
    };
    let reference = panel.reference.or(line.reference)?;
    let sum = corners.iter().fold([0.0; 3], |sum, corner| add(sum, *corner));
    let centre = scale(1.0 / corners.len() as f64, sum);
    let toward = sub(reference, centre);
    let height = dot(normal, toward);
    let is_off_plane = height.abs() > IN_PLANE * norm(normal) * norm(toward);
    // A panel without area has no sides, and no charge either.
    (is_off_plane || norm(normal) == 0.0).then_some((height > 0.0) != line.reference_is_inside)
}
