//! The inputs of a batch: PQR files, folders and lists of them, and a template.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::case::{molecule, number};
use crate::files;
use crate::molecules;
use crate::terminal::exit::{Exit, Failure};

/// A template, if there is one, and the molecules.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) template: Option<PathBuf>,
    pub(super) molecules: Vec<Molecule>,
}

/// A molecule of a batch.
#[derive(Debug)]
pub(super) struct Molecule {
    /// Unlike that of any other.
    pub(super) name: String,
    pub(super) pqr: PathBuf,
}

impl Inputs {
    /// A hash of the content of all files; unreadable ones are reported when they are solved for.
    pub(super) fn hash(&self) -> u64 {
        let pqrs = self.molecules.iter().map(|molecule| &molecule.pqr);
        let contents = self.template.iter().chain(pqrs).map(|file| files::bytes(file).ok());
        number(&contents.collect::<Vec<_>>())
    }
}

/// Sorts the words of the command line out. Folders stand for the PQR files in them, in the order
/// of their names, other text files for the paths in them, a line each.
pub(super) fn find(words: &[PathBuf]) -> Result<Inputs, Failure> {
    let mut inputs = Inputs::default();
    let mut paths = Vec::new();
    for word in words {
        if word.is_dir() {
            paths.extend(of_folder(word)?);
        } else if molecules::is_pqr(word) {
            paths.push(word.clone());
        } else if molecules::ends_in(word, &["toml"]) {
            if let Some(first) = inputs.template.replace(word.clone()) {
                let both = format!("{} and {}", first.display(), word.display());
                return Err(Failure::with_help(
                    Exit::Usage,
                    format!("{both} are two templates"),
                    "a batch has one template, a case file with one [[molecule]]",
                ));
            }
        } else if let Some((message, help)) = molecules::no_pqr(word).filter(|_| is_structure(word))
        {
            return Err(Failure::with_help(Exit::BadInput, message, help));
        } else {
            paths.extend(of_list(word)?);
        }
    }
    if paths.is_empty() {
        return Err(Failure::with_help(
            Exit::Usage,
            "there is no PQR file to solve for",
            "name some, a folder with some, or a text file with a path on each line",
        ));
    }
    let mut taken = HashSet::new();
    for path in paths {
        let stem = molecule::stem(&path);
        let mut names = std::iter::once(stem.clone()).chain((2..).map(|k| format!("{stem}_{k}")));
        let Some(name) = names.find(|name| taken.insert(name.to_ascii_lowercase())) else {
            continue;
        };
        inputs.molecules.push(Molecule { name, pqr: path });
    }
    Ok(inputs)
}

/// Whether it is a molecule's file of another kind.
fn is_structure(path: &Path) -> bool {
    molecules::ends_in(path, &["pdb", "ent", "cif", "mmcif"])
}

fn of_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot = |error| Failure::io("read", folder, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if molecules::is_pqr(&path) && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The paths in a list, relative to it; `#` begins a comment.
fn of_list(list: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = files::text(list)?;
    let base = list.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let path = base.join(line);
        if !molecules::is_pqr(&path) {
            // Not quoted: any file may be named as a list.
            let place = format!("{}: line {}", list.display(), index + 1);
            return Err(Failure::with_help(
                Exit::BadInput,
                format!("{place} is no path of a PQR file"),
                "a list has a path that ends in .pqr on each line; # begins a comment",
            ));
        }
        found.push(path);
    }
    Ok(found)
}
