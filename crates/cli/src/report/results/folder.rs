//! The output folder: files of an earlier run are replaced, anything else in it is never touched.
//!
//! Files are written into a hidden folder inside, which takes the place of the old results at once
//! when all are there (`commit`). A folder has one writer at a time (`lock`).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checkpoint::{Checkpoint, Inputs};
use super::commit::{self, Staging};
use super::index::{INDEX, previous_files};
use super::lock::Lock;
use crate::files;
use crate::machine::ranks::Ranks;
use crate::report::page;
use crate::temporaries::{self, Temporary};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Files that wait for the disk at the same time, at most.
const TOGETHER: usize = 64;

/// An output folder that can be written to. Dropped before [`Folder::commit`], it leaves nothing
/// behind.
#[derive(Debug)]
pub struct Folder {
    /// `None` where another rank has it, and this one adds files.
    held: Option<Held>,
    path: PathBuf,
    /// Where files are written to.
    staging: PathBuf,
    /// Files written, by their final names.
    staged: Vec<String>,
    /// Files among these that may not be on the disk yet.
    unsynced: Vec<(String, File)>,
    /// Why others are not; `None` while a file that cannot be written ends the run.
    left_out: Option<Vec<Failure>>,
}

/// Possessions of the one writer of a folder, in the order of their removal: the files, the folder
/// if it was made for them, the lock.
#[derive(Debug)]
struct Held {
    staging: Staging,
    created: Option<Temporary>,
    _lock: Lock,
    /// The path without links, which the working folder may change under.
    real: PathBuf,
    /// Files of the earlier run that lies here.
    previous: Vec<String>,
}

impl Folder {
    /// Makes the folder, or checks that files called `names` may be written to the one that is
    /// there. What a run that was killed has left in it is finished or removed.
    pub(crate) fn open(path: &Path, names: &[&str], overwrite: bool) -> Result<Self, Failure> {
        refuse_file(path)?;
        let cannot = |what| move |error| Failure::io(what, path, &error);
        let (real, lock, created) = loop {
            // A folder made here is removed again on Ctrl-C or an error, unless results come.
            let created = (!path.exists()).then(|| Temporary::if_empty(path.to_owned()));
            fs::create_dir_all(path).map_err(cannot("create the output folder"))?;
            let opened = path.canonicalize().and_then(|real| Ok((Lock::take(&real)?, real)));
            match opened {
                Ok((Lock::Gone, _)) => {}
                Ok((Lock::Busy, _)) => {
                    if let Some(created) = &created {
                        created.keep();
                    }
                    return Err(busy(path));
                }
                Ok((lock, real)) => break (real, lock, created),
                // Another run that made it may have removed it again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(cannot("read the output folder")(error)),
            }
        };
        commit::recover(&real).map_err(cannot("finish what an earlier run has left in"))?;
        let previous = check(path, names, overwrite)?;
        let staging = Staging::new(&real).map_err(cannot("write to the output folder"))?;
        let (path, folder) = (path.to_owned(), staging.folder().to_owned());
        let held = Some(Held { staging, created, _lock: lock, real, previous });
        let (staged, unsynced) = (Vec::new(), Vec::new());
        Ok(Self { held, path, staging: folder, staged, unsynced, left_out: None })
    }

    /// The folder that rank 0 opens, for all ranks to write files to; `help` is what to do where
    /// one does not see it. Collective.
    pub(crate) fn open_among(
        ranks: &Ranks,
        path: &Path,
        names: &[&str],
        overwrite: bool,
        help: &str,
    ) -> Result<Self, Failure> {
        let opened = ranks.on_first(|| Self::open(path, names, overwrite))?;
        let staging = opened.as_ref().map(|folder| folder.held.as_ref().map(Held::staging));
        let staging = ranks.of_first(staging.flatten().as_deref())?;
        ranks.agree(opened.map_or_else(|| Self::joined(path, &staging, help), Ok))
    }

    /// The folder of another rank, which writes files to this folder in it.
    fn joined(path: &Path, staging: &str, help: &str) -> Result<Self, Failure> {
        let staging = path.join(staging);
        if !staging.is_dir() {
            return Err(Failure::with_help(
                Exit::Io,
                format!("{} of rank 0 is not seen here", path.display()),
                help.to_owned(),
            ));
        }
        let (path, staged, unsynced) = (path.to_owned(), Vec::new(), Vec::new());
        Ok(Self { held: None, path, staging, staged, unsynced, left_out: None })
    }

    /// The checkpoint in this folder, by [`Checkpoint::open`]; `None` where another rank has the
    /// folder.
    pub(crate) fn checkpoint(
        &self,
        inputs: Inputs,
        resume: bool,
        pause: Duration,
        output: &Output,
    ) -> Result<Option<Checkpoint>, Failure> {
        let open = |held: &Held| Checkpoint::open(&held.real, inputs, resume, pause, output);
        self.held.as_ref().map(open).transpose()
    }

    /// Where a file that is staged lies until the commit.
    pub(crate) fn staged_at(&self, name: &str) -> PathBuf {
        self.staging.join(name)
    }

    /// The files that were written so far.
    pub(crate) fn staged(&self) -> &[String] {
        &self.staged
    }

    /// Takes over what other ranks have written.
    pub(crate) fn add_staged(&mut self, names: impl IntoIterator<Item = String>) {
        self.staged.extend(names);
    }

    /// The checks of [`Folder::open`] alone, for a dry run.
    pub(crate) fn check(path: &Path, names: &[&str], overwrite: bool) -> Result<(), Failure> {
        refuse_file(path)?;
        check(path, names, overwrite).map(|_| ())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// From now on a file that cannot be written is left out: on a full disk the largest ones fail,
    /// and what was computed is in the others, too.
    pub(crate) fn leave_out_what_fails(&mut self) {
        self.left_out.get_or_insert_default();
    }

    /// Whether a file was left out.
    pub(crate) fn lacks_any(&self) -> bool {
        self.left_out.as_ref().is_some_and(|failures| !failures.is_empty())
    }

    fn leave_out(&mut self, name: &str, error: &io::Error) -> Result<(), Failure> {
        temporaries::remove(&self.staging.join(name));
        self.keep_failure(Failure::io("write", &self.path.join(name), error))
    }

    fn keep_failure(&mut self, failure: Failure) -> Result<(), Failure> {
        match &mut self.left_out {
            Some(failures) => {
                failures.push(failure);
                Ok(())
            }
            None => Err(failure),
        }
    }

    /// Writes a file, which is not yet seen under its name.
    pub(crate) fn stage(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match files::write_new(&self.staging.join(name), write) {
            Ok(file) => {
                self.staged.push(name.to_owned());
                self.unsynced.push((name.to_owned(), file));
            }
            Err(error) => self.leave_out(name, &error)?,
        }
        // At once in the commit itself, and for that of another rank.
        if self.held.is_none() || self.unsynced.len() == TOGETHER { self.sync() } else { Ok(()) }
    }

    /// Waits until all files are on the disk.
    fn sync(&mut self) -> Result<(), Failure> {
        let files = std::mem::take(&mut self.unsynced);
        let results = files::sync_all(files.iter().map(|(_, file)| file));
        for ((name, _), result) in files.iter().zip(results) {
            if let Err(error) = result {
                self.staged.retain(|staged| staged != name);
                self.leave_out(name, &error)?;
            }
        }
        Ok(())
    }

    /// Writes the page of what is staged, whose results.json will have the text `index`; whether it
    /// is there.
    pub(crate) fn stage_page(&mut self, index: &str) -> Result<bool, Failure> {
        match page::make(&self.staging, index) {
            Ok(page) => self.stage(page::FILE, |out| out.write_all(page.as_bytes()))?,
            Err(error) => self.keep_failure(error.into())?,
        }
        self.sync()?;
        Ok(self.staged.last().is_some_and(|name| name == page::FILE))
    }

    /// The names of all files that the run will have written, the index among them; those that the
    /// disk has no room for are not.
    pub(crate) fn names(&mut self) -> Result<Vec<String>, Failure> {
        self.sync()?;
        Ok(self.staged.iter().cloned().chain([INDEX.to_owned()]).collect())
    }

    /// Lets the staged files, with `index` as results.json, take the place of the earlier run's;
    /// where another rank has the folder, that rank does. The checkpoint stays if files
    /// were left out, and the failure that names them is returned.
    pub(crate) fn commit(mut self, index: &str) -> Result<Option<Failure>, Failure> {
        let target = self.path.join(INDEX);
        let Some(mut held) = self.held.take() else { return Ok(None) };
        let left_out = self.left_out.take().unwrap_or_default();
        self.stage(INDEX, |file| file.write_all(index.as_bytes()))?;
        refuse_special(&self.path, &self.staged)?;
        held.staging
            .commit(&held.real, &self.staged, &held.previous, !left_out.is_empty())
            .map_err(|error| Failure::io("write", &target, &error))?;
        if let Some(created) = &held.created {
            created.keep();
        }
        let why: Vec<String> = left_out.iter().map(Failure::to_string).collect();
        if why.is_empty() {
            return Ok(None);
        }
        Ok(Some(Failure::with_help(
            Exit::Io,
            format!("{}\nall other results are in {}", why.join("\n"), self.path.display()),
            "make room, and run the same command again",
        )))
    }
}

impl Held {
    /// Where files are written to, in the folder.
    fn staging(&self) -> String {
        let folder = self.staging.folder();
        folder.strip_prefix(&self.real).unwrap_or(folder).to_string_lossy().into_owned()
    }
}

fn busy(path: &Path) -> Failure {
    let who = commit::owner_of(path).map_or_else(String::new, |owner| format!(": {owner}"));
    Failure::with_help(
        Exit::Io,
        format!("another run is writing to the output folder {}{who}", path.display()),
        "wait until it has ended, or choose another folder with --output",
    )
}

/// Refuses what is there and no folder.
fn refuse_file(path: &Path) -> Result<(), Failure> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::io("read the output folder", path, &error)),
        Ok(found) if !found.is_dir() => {
            let message = format!("the output folder {} is a file", path.display());
            Err(Failure::with_help(Exit::Io, message, "choose another with --output"))
        }
        Ok(_) => Ok(()),
    }
}

/// Refuses names at which something lies that is no file.
fn refuse_special(path: &Path, names: &[String]) -> Result<(), Failure> {
    for name in names {
        let place = path.join(name);
        if let Some(what) = fs::symlink_metadata(&place).ok().as_ref().and_then(files::special) {
            return Err(Failure::with_help(
                Exit::Io,
                format!("{} is {what}, which is never replaced", place.display()),
                "choose another folder with --output",
            ));
        }
    }
    Ok(())
}

/// Whether `names` may be written to `path`; the files of the earlier run in it.
fn check(path: &Path, names: &[&str], overwrite: bool) -> Result<Vec<String>, Failure> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let refuse = |what: String| {
        Failure::with_help(
            Exit::Io,
            format!("the output folder {} {what}", path.display()),
            "choose another folder with --output, or allow files of the same names to be replaced \
             with --overwrite",
        )
    };
    let all: Vec<String> = names.iter().copied().chain([INDEX]).map(str::to_owned).collect();
    refuse_special(path, &all)?;
    let previous = previous_files(path);
    if overwrite || commit::is_pending(path) {
        return Ok(previous.unwrap_or_default());
    }
    let Some(previous) = previous else {
        let entries = fs::read_dir(path)
            .map_err(|error| Failure::io("read the output folder", path, &error))?;
        let mut entries = entries.filter_map(Result::ok);
        let empty = entries.all(|entry| commit::is_ours(&entry.file_name()));
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

/// Keeps runs from writing to a folder of results while this lives; one that was cut short is
/// finished first.
pub(crate) fn held(path: &Path) -> Result<impl Drop, Failure> {
    let cannot = |what| move |error| Failure::io(what, path, &error);
    let real = path.canonicalize().map_err(cannot("read"))?;
    match Lock::take(&real).map_err(cannot("write to"))? {
        Lock::Busy | Lock::Gone => Err(busy(path)),
        lock => {
            commit::recover(&real).map_err(cannot("finish what an earlier run has left in"))?;
            Ok(lock)
        }
    }
}
