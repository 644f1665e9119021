//! FastCap's input: list files (.lst) and the panel files that they name, in the generic format (.qui) or as PATRAN neutral
//! files (.neu).
//!
//! A list has a surface a line: a conductor (`C`), an interface of two dielectrics (`D`), or a thin conductor on such an
//! interface (`B`); each with the relative permittivities at its sides, a translation, and for interfaces a point that tells
//! which side is which. Panels name their conductor; names hold within a chain of lines joined by `+`. Lengths are metres.
//! Format: K. Nabors, S. Kim, J. White and S. Senturia, FastCap User's Guide, MIT 1992.

mod list;
mod names;
mod neutral;
mod panels;

use crate::files::{Assembly, Error, FormatError, Problem, in_file, load};
use crate::gmsh::Place;
use crate::surface::Mesh;
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};
use crate::wording::counted;
use list::{Entry, Kind};
use names::Names;
use panels::Panel;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Corners closer than this times the size of the whole are one vertex: the files hold five or six digits.
const WELD: f64 = 1e-6;

/// More panels are refused before they are made: a short list may name a long file many times.
pub const MOST_PANELS: usize = 16 << 20;

/// A reference point nearer than this times its distance to a panel's plane does not tell the panel's sides.
const IN_PLANE: f64 = 1e-9;

/// What a part of the surface is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Metal in a dielectric.
    Conductor {
        /// Index into [`Model::conductors`].
        conductor: usize,
        /// Relative permittivity around it.
        outer: f64,
    },
    /// Where two dielectrics meet; normals point to the outer one.
    Interface {
        /// Relative permittivity on the side of the normal.
        outer: f64,
        /// Relative permittivity on the other side.
        inner: f64,
    },
    /// Metal of no thickness where two dielectrics meet; normals point to the outer one.
    ThinConductor {
        /// Index into [`Model::conductors`].
        conductor: usize,
        /// Relative permittivity on the side of the normal.
        outer: f64,
        /// Relative permittivity on the other side.
        inner: f64,
    },
}

/// A part of the surface: one group of the mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The label of the group.
    pub group: String,
    /// What it is.
    pub role: Role,
}

/// A list file with all that it names, or a file of panels alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The title of the first file of panels that has one.
    pub title: Option<String>,
    /// Names of the conductors, in the order in which the files give them.
    pub conductors: Vec<String>,
    /// The parts, in the order of the mesh's groups.
    pub parts: Vec<Part>,
    /// All panels as triangles, each in one group.
    pub mesh: Mesh,
    /// Panels of three corners and of four.
    pub panels: [usize; 2],
    /// Sentences for people.
    pub notes: Vec<String>,
}

impl Model {
    /// The relative permittivity around all conductors, if there is but one and no interface.
    pub fn single_medium(&self) -> Option<f64> {
        let mut permittivities = self.parts.iter().map(|part| match part.role {
            Role::Conductor { outer, .. } => Some(outer),
            Role::ThinConductor { outer, inner, .. } => (outer == inner).then_some(outer),
            Role::Interface { .. } => None,
        });
        let first = permittivities.next()??;
        permittivities.all(|permittivity| permittivity == Some(first)).then_some(first)
    }
}

/// Reads a list file (.lst) and all that it names, or a file of panels alone.
///
/// # Errors
/// [`Error`], with the file's name, the line, what is wrong and what to do.
pub fn read(path: &Path) -> Result<Model, Error> {
    let is_list = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("lst"));
    let bytes = load(path)?;
    let entries = if is_list {
        list::parse(&bytes).map_err(in_file(path))?
    } else {
        vec![Entry::alone(path)]
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut builder = Builder::default();
    let mut surfaces = Vec::with_capacity(entries.len());
    let mut total = 0;
    for entry in &entries {
        let file = if is_list { find(path, folder, entry)? } else { path.to_path_buf() };
        let panels = builder.panels(&file)?;
        total += panels.panels.len();
        if total > MOST_PANELS {
            let message = format!(
                "with the {} panels of {} there are {total}, more than the {MOST_PANELS} that are read",
                panels.panels.len(),
                entry.file
            );
            return Err(in_file(path)(Problem::Other(message).on_line(entry.line)));
        }
        surfaces.push((entry, file, panels));
    }
    for (entry, file, panels) in surfaces {
        builder.add(&panels, entry, &file, path)?;
        if entry.kind != Kind::Interface {
            builder.rename(&panels, entry, &file)?;
        }
    }
    let mut model = builder.finish().map_err(|problem| {
        in_file(path)(FormatError {
            place: Place::Line(entries.last().map_or(1, |e| e.line)),
            problem,
        })
    })?;
    if model.conductors.is_empty() {
        model.notes.push("there is no conductor in it".into());
    }
    Ok(model)
}

/// The file that a line of the list names, which must be there.
fn find(list: &Path, folder: &Path, entry: &Entry) -> Result<PathBuf, Error> {
    let file = folder.join(&entry.file);
    if file.is_file() {
        return Ok(file);
    }
    let what = if file.is_dir() { "is a folder" } else { "does not exist" };
    Err(Error::Missing {
        path: list.to_path_buf(),
        place: Place::Line(entry.line),
        why: format!("{what}; names in a list are relative to the folder of the list"),
        missing: file,
    })
}

#[derive(Default)]
struct Builder {
    assembly: Assembly,
    /// Files read already: lists name one file many times, at different places.
    known: HashMap<PathBuf, std::rc::Rc<panels::Panels>>,
    title: Option<String>,
    names: Names,
    /// What the groups of the assembly are, whose labels are provisional.
    roles: Vec<Role>,
    /// Where each role is in `roles`.
    role_at: HashMap<RoleKey, usize>,
    panels: [usize; 2],
    notes: Vec<String>,
}

/// A role as a key: its conductor, if it has one, and the bits of its permittivities.
type RoleKey = (bool, Option<usize>, u64, u64);

fn key(role: &Role) -> RoleKey {
    match *role {
        Role::Conductor { conductor, outer } => (false, Some(conductor), outer.to_bits(), 0),
        Role::Interface { outer, inner } => (false, None, outer.to_bits(), inner.to_bits()),
        Role::ThinConductor { conductor, outer, inner } => {
            (true, Some(conductor), outer.to_bits(), inner.to_bits())
        }
    }
}

impl Builder {
    /// The panels of a file.
    fn panels(&mut self, file: &Path) -> Result<std::rc::Rc<panels::Panels>, Error> {
        if let Some(panels) = self.known.get(file) {
            return Ok(panels.clone());
        }
        let bytes = load(file)?;
        let parsed = if neutral::is_neutral(&bytes) {
            neutral::parse(&bytes)
        } else {
            panels::parse(&bytes)
        };
        let panels = std::rc::Rc::new(parsed.map_err(in_file(file))?);
        let notes = panels.notes.iter().map(|note| format!("{}: {note}", file.display()));
        self.notes.extend(notes);
        self.known.insert(file.to_path_buf(), panels.clone());
        if self.title.is_none() {
            self.title.clone_from(&panels.title);
        }
        Ok(panels)
    }

    /// Adds the panels of a line of the list.
    fn add(
        &mut self,
        panels: &panels::Panels,
        entry: &Entry,
        file: &Path,
        list: &Path,
    ) -> Result<(), Error> {
        for panel in &panels.panels {
            let fault = |problem: Problem| in_file(file)(problem.on_line(panel.line));
            let mut corners = panel.corners.clone();
            for corner in &mut corners {
                *corner = add(*corner, entry.translation);
            }
            if entry.kind != Kind::Conductor {
                let faces_outer = faces_outer(panel, &corners, entry).ok_or_else(|| {
                    let message = format!(
                        "the reference point {:?} of line {} of {} lies in the plane of this panel, so it does not tell \
                         which side has which permittivity; choose a point off every panel's plane, or split the file",
                        panel.reference.or(entry.reference).unwrap_or_default(),
                        entry.line,
                        list.display()
                    );
                    fault(Problem::Other(message))
                })?;
                if !faces_outer {
                    corners.reverse();
                }
            }
            let role = self.role(entry, &panel.conductor);
            self.open(role);
            self.panels[usize::from(corners.len() == 4)] += 1;
            let mut indices = Vec::with_capacity(4);
            for &corner in &corners {
                indices.push(self.assembly.vertex(corner).map_err(fault)?);
            }
            self.assembly.face(&indices).map_err(fault)?;
        }
        Ok(())
    }

    fn role(&mut self, entry: &Entry, name: &str) -> Role {
        let (outer, inner) = (entry.outer, entry.inner);
        if entry.kind == Kind::Interface {
            return Role::Interface { outer, inner };
        }
        let conductor = self.names.conductor(&entry.chain, name);
        match entry.kind {
            Kind::Both => Role::ThinConductor { conductor, outer, inner },
            _ => Role::Conductor { conductor, outer },
        }
    }

    /// Later panels belong to `role`.
    fn open(&mut self, role: Role) {
        let next = self.roles.len();
        let index = *self.role_at.entry(key(&role)).or_insert(next);
        if index == next {
            self.roles.push(role);
        }
        self.assembly.group(&index.to_string());
    }

    /// Applies the N lines of a file: names hold in the whole chain, so that what earlier files have is renamed too.
    fn rename(&mut self, panels: &panels::Panels, entry: &Entry, file: &Path) -> Result<(), Error> {
        for rename in &panels.renames {
            if !self.names.rename(&entry.chain, &rename.old, &rename.new) {
                let message = format!(
                    "there is no conductor \"{}\" to be renamed, neither in this file nor in those before it that + joins to it",
                    rename.old
                );
                return Err(in_file(file)(Problem::Other(message).on_line(rename.line)));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Model, Problem> {
        let welded = self.assembly.weld(WELD);
        if welded.collapsed > 0 {
            self.notes.push(format!(
                "{} left out: two corners are one point",
                counted(welded.collapsed, "triangle is", "triangles are")
            ));
        }
        if self.assembly.split > 0 {
            self.notes.push(crate::files::note_split(self.assembly.split));
        }
        let (conductors, renumbered) = self.names.finish();
        let mut mesh = self.assembly.into_mesh()?;
        // Conductors that were given one name are one: their parts may have become the same.
        let mut roles: Vec<Role> = Vec::with_capacity(self.roles.len());
        let mut role_at: HashMap<RoleKey, u32> = HashMap::with_capacity(self.roles.len());
        let mut group_of: Vec<u32> = Vec::with_capacity(self.roles.len());
        for mut role in self.roles {
            if let Role::Conductor { conductor, .. } | Role::ThinConductor { conductor, .. } =
                &mut role
            {
                *conductor = renumbered[*conductor];
            }
            let next = roles.len() as u32;
            let index = *role_at.entry(key(&role)).or_insert(next);
            if index == next {
                roles.push(role);
            }
            group_of.push(index);
        }
        for set in mesh.membership.iter_mut().filter(|set| **set > 0) {
            *set = group_of[*set as usize - 1] + 1;
        }
        mesh.groups.truncate(roles.len());
        mesh.memberships.truncate(roles.len() + 1);
        let mut count = vec![0usize; conductors.len()];
        roles.iter().filter_map(conductor_of).for_each(|conductor| count[conductor] += 1);
        let parts: Vec<Part> = roles
            .iter()
            .map(|role| Part { group: label(*role, &count, &conductors), role: *role })
            .collect();
        for (group, part) in mesh.groups.iter_mut().zip(&parts) {
            group.name = Some(part.group.clone());
        }
        Ok(Model {
            title: self.title,
            conductors,
            parts,
            mesh,
            panels: self.panels,
            notes: self.notes,
        })
    }
}

/// Whether a panel's normal points to the outer side; `None` if the reference point does not tell.
fn faces_outer(panel: &Panel, corners: &[Vector], entry: &Entry) -> Option<bool> {
    let normal = match *corners {
        [a, b, c] => cross(sub(b, a), sub(c, a)),
        [a, b, c, d] => cross(sub(c, a), sub(d, b)),
        _ => return None,
    };
    let reference = panel.reference.or(entry.reference)?;
    let sum = corners.iter().fold([0.0; 3], |sum, corner| add(sum, *corner));
    let centre = scale(1.0 / corners.len() as f64, sum);
    let toward = sub(reference, centre);
    let height = dot(normal, toward);
    let told = height.abs() > IN_PLANE * norm(normal) * norm(toward);
    // A panel without area has no sides, and no charge either.
    (told || norm(normal) == 0.0).then_some((height > 0.0) != entry.reference_is_inside)
}

fn conductor_of(role: &Role) -> Option<usize> {
    match *role {
        Role::Conductor { conductor, .. } | Role::ThinConductor { conductor, .. } => {
            Some(conductor)
        }
        Role::Interface { .. } => None,
    }
}

/// The label of a part: its conductor's name where that is all there is to say. `count` is the number of each conductor's parts.
fn label(role: Role, count: &[usize], conductors: &[String]) -> String {
    match role {
        Role::Interface { outer, inner } => format!("interface {inner}|{outer}"),
        Role::Conductor { conductor, .. } | Role::ThinConductor { conductor, .. }
            if count[conductor] == 1 =>
        {
            conductors[conductor].clone()
        }
        Role::ThinConductor { conductor, outer, inner } => {
            format!("{} on {inner}|{outer}", conductors[conductor])
        }
        Role::Conductor { conductor, outer } => format!("{} in {outer}", conductors[conductor]),
    }
}

/// A title without line breaks and other control characters; `None` if nothing is left.
fn printable(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let text = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
