//! The text format PEX25D of KLayout-PEX: records of layers, dielectrics, conductors and shapes.
//!
//! ```
//! use farad::{Options, Problem, NoProgress};
//! use formats::layout::pex25d;
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "PEX25D 1.0\nUNITS LENGTH um GRID 0.001\nGROUND_PLANE sub Z_OFFSETS -0.3 0\n\
//!             METAL met1 Z_OFFSETS 1 1.4\nCONDUCTOR a a\n\
//!             BOX CONDUCTOR a LAYER met1 LL 0 0 UR 4 1\n";
//! let model = pex25d::read(Path::new("bar.pex25d"), false, |_| Ok(text.into()))?;
//! let problem = Problem::new(model.description, model.mesh)?;
//! let solution = problem.solve(&Options::default(), &NoProgress)?;
//! assert_eq!(solution.matrices().maxwell_farad.len(), 1);
//! # Ok(())
//! # }
//! ```

mod text;
mod words;

use std::path::Path;

use mesh::files::{Error, in_file};
use mesh::gmsh::Place as Where;
use mesh::prisms;

use super::Model;
use super::content::{At, Layout};
use super::faults::no_surface;
use super::scene::Scene;
use text::Text;
use words::{Record, Words, records};

/// Files within files, at most.
const DEEPEST: usize = 16;

/// Gets the bytes of a file.
type Load<'a> = &'a mut dyn FnMut(&Path) -> Result<Vec<u8>, Error>;

/// Whether the name ends in .pex25d.
pub fn is_name(path: &Path) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case("pex25d"))
}

/// Reads a file and those that it includes, whose bytes `load` gets; [`mesh::files::load`] gets
/// them from the disk. Records that are not known are skipped if this is `lenient`.
///
/// # Errors
/// Errors of `load`; [`Error::Format`], with the line, what is wrong and what to do.
pub fn read(
    path: &Path,
    lenient: bool,
    mut load: impl FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    Model::new(layout(path, lenient, &mut load)?)
}

/// What a file and those that it includes say.
fn layout(path: &Path, lenient: bool, load: Load<'_>) -> Result<Layout, Error> {
    let mut text = Text::default();
    text.layout.background = 1.0;
    text.layout.domain_said_by = "DOMAIN_MARGIN and DOMAIN_BOX say";
    add_file(&mut text, path, lenient, load)?;
    let Text { mut layout, has_background, skipped } = text;
    if layout.shapes.is_empty() {
        let at = At { file: 0, place: Where::Line(1) };
        let message = "there is no shape in it; shapes are records BOX and POLYGON";
        return Err(layout.error(at, message));
    }
    if !skipped.is_empty() {
        layout
            .notes
            .push(format!("records that are not known are skipped: {}", skipped.join(", ")));
    }
    if !has_background {
        layout.notes.push("there is no DIELECTRIC_BACKGROUND: it is vacuum".into());
    }
    Ok(layout)
}

/// The error of a file in the format PEX25D if no surface can be made of its shapes.
pub(crate) fn without_surface(file: &[u8], fault: prisms::Fault) -> Result<Error, Error> {
    let layout = layout(Path::new("file.pex25d"), false, &mut |_| Ok(file.to_vec()))?;
    let scene = Scene::new(&layout)?;
    Ok(no_surface(&layout, &scene, fault))
}

/// Adds what a file and those that it includes say.
fn add_file(text: &mut Text, path: &Path, lenient: bool, load: Load<'_>) -> Result<(), Error> {
    let bytes = load(path)?;
    let file = text.layout.files.len();
    text.layout.files.push(path.to_path_buf());
    let records = records(&bytes).map_err(in_file(path))?;
    if file == 0 && records.first().is_none_or(|first| first.words[0] != "PEX25D") {
        let line = records.first().map_or(1, |first| first.line);
        let message = "the first record must be the version, such as PEX25D 1.0";
        return Err(text.layout.error(At { file, place: Where::Line(line) }, message));
    }
    for Record { line, words } in records {
        let at = At { file, place: Where::Line(line) };
        let Some((head, rest)) = words.split_first() else { continue };
        if head != "INCLUDE" {
            text.add(head, rest, at, lenient)?;
            continue;
        }
        let name = included(Words { head, rest, at, layout: &text.layout })?;
        let named = path.parent().unwrap_or(Path::new("")).join(name);
        add_file(text, &named, lenient, load).map_err(|error| match error {
            Error::Io { path, source } => {
                let message = format!("the file {} cannot be read: {source}", path.display());
                text.layout.error(at, message)
            }
            other => other,
        })?;
    }
    Ok(())
}

/// The name of the file that a record includes.
fn included(mut words: Words<'_>) -> Result<&str, Error> {
    let name = words.word("the name of a file")?;
    words.end()?;
    if words.layout.files.len() > DEEPEST {
        return Err(words.refused("too many files are included, or they include each other"));
    }
    Ok(name)
}
