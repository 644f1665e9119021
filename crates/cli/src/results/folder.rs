//! The output folder: files of an earlier run are replaced, anything else in it is never touched.
//!
//! Files are first written under temporary names. When all are there, `results.json` of the earlier run is removed, the
//! files are renamed, and the new `results.json` comes last: whoever finds one may rely on what it lists.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::exit::{Exit, Failure};
use crate::files;

/// How the schema of every results.json of this program begins.
const FAMILY: &str = "farad-";

/// The file that lists the others.
pub(crate) const INDEX: &str = "results.json";

/// An output folder that has been found fit to write to. Dropped before [`Folder::commit`], it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Files of the earlier run that lies here.
    previous: Vec<String>,
    /// Files written under their temporary names, by their final ones.
    staged: Vec<String>,
    created: bool,
    committed: bool,
}

/// The part of a results.json that says whose the folder is.
#[derive(Deserialize)]
struct Index {
    schema: String,
    files: Vec<String>,
}

impl Folder {
    /// Makes the folder, or checks that files called `names` may be written to the one that is there.
    pub(crate) fn open(path: &Path, names: &[&str], overwrite: bool) -> Result<Self, Failure> {
        let previous = check(path, names, overwrite)?;
        let created = !path.exists();
        fs::create_dir_all(path)
            .map_err(|error| Failure::io("create the output folder", path, &error))?;
        let folder =
            Self { path: path.to_owned(), previous, staged: Vec::new(), created, committed: false };
        folder.probe()?;
        Ok(folder)
    }

    /// The checks of [`Folder::open`] alone, for a dry run.
    pub(crate) fn check(path: &Path, names: &[&str], overwrite: bool) -> Result<(), Failure> {
        check(path, names, overwrite).map(|_| ())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file under a temporary name.
    pub(crate) fn stage(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let temporary = self.temporary(name);
        self.staged.push(name.to_owned());
        files::write_whole(&temporary, write)
            .map_err(|error| Failure::io("write", &self.path.join(name), &error))
    }

    /// The names of all files that the run will have written, the index among them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.staged.iter().cloned().chain([INDEX.to_owned()]).collect()
    }

    /// Gives the staged files their names, removes what only the earlier run had, and writes `index` as results.json.
    pub(crate) fn commit(mut self, index: &str) -> Result<(), Failure> {
        let target = self.path.join(INDEX);
        let temporary = self.temporary(INDEX);
        let staged = files::write_whole(&temporary, |file| file.write_all(index.as_bytes()));
        let result = staged.and_then(|()| self.replace(&temporary, &target));
        if result.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        result.map_err(|error| Failure::io("write", &target, &error))?;
        self.committed = true;
        Ok(())
    }

    fn replace(&mut self, temporary_index: &Path, index: &Path) -> io::Result<()> {
        remove_if_there(index)?;
        for name in std::mem::take(&mut self.previous) {
            if !self.staged.contains(&name) && name != INDEX {
                remove_if_there(&self.path.join(name))?;
            }
        }
        for name in std::mem::take(&mut self.staged) {
            fs::rename(self.temporary(&name), self.path.join(name))?;
        }
        fs::rename(temporary_index, index)
    }

    /// Finds out now, not after hours, whether files can be written.
    fn probe(&self) -> Result<(), Failure> {
        let probe = self.temporary("probe");
        File::create(&probe)
            .and_then(|_| fs::remove_file(&probe))
            .map_err(|error| Failure::io("write to the output folder", &self.path, &error))
    }

    fn temporary(&self, name: &str) -> PathBuf {
        files::temporary(&self.path.join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing more can be done about a file that refuses to go.
        for name in &self.staged {
            let _ = fs::remove_file(self.temporary(name));
        }
        if self.created && !self.committed {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Whether `names` may be written to `path`; the files of the earlier run in it.
fn check(path: &Path, names: &[&str], overwrite: bool) -> Result<Vec<String>, Failure> {
    let unreadable = |error: io::Error| Failure::io("read the output folder", path, &error);
    let refuse = |what: String| {
        Failure::with_help(
            Exit::Io,
            format!("the output folder {} {what}", path.display()),
            "choose another folder with --output, or allow files of the same names to be replaced \
             with --overwrite",
        )
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
        Ok(found) if !found.is_dir() => {
            let message = format!("the output folder {} is a file", path.display());
            return Err(Failure::with_help(Exit::Io, message, "choose another with --output"));
        }
        Ok(_) => {}
    }
    let previous = previous_files(path);
    if overwrite {
        return Ok(previous.unwrap_or_default());
    }
    let Some(previous) = previous else {
        let mut entries = fs::read_dir(path).map_err(unreadable)?.filter_map(Result::ok);
        let empty = entries.all(|entry| files::is_temporary(&entry.file_name()));
        let what = "holds something else than results of farad";
        return if empty { Ok(Vec::new()) } else { Err(refuse(what.to_owned())) };
    };
    let strangers: Vec<_> = names
        .iter()
        .filter(|name| path.join(name).exists() && !previous.iter().any(|known| known == *name))
        .copied()
        .collect();
    if strangers.is_empty() {
        Ok(previous)
    } else {
        Err(refuse(format!("holds {} from elsewhere", strangers.join(", "))))
    }
}

/// The files that the results.json in `path` lists; `None` if there is none of this program.
fn previous_files(path: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(path.join(INDEX)).ok()?;
    let index: Index = serde_json::from_str(&text).ok()?;
    let ours = index.schema.starts_with(FAMILY);
    // A list that was tampered with must not lead out of the folder.
    let plain = |name: &String| Path::new(name).file_name() == Some(name.as_ref());
    ours.then(|| index.files.into_iter().filter(plain).collect())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
