//! Replacement of old results by new ones: whenever the process is killed or the system refuses a
//! call, the folder holds the old results or the new ones, whole.
//!
//! All files lie in a folder of their own, inside the output folder until the commit. Where the
//! system lets two folders change places at once, the inner one gets links to everything else that
//! is in the output folder and takes its place. What remains is to clear the old folder away, and
//! the next run does that if this one could not.
//!
//! Where folders cannot be exchanged (another system, a mount point, a parent that may not be
//! written to, folders of the user inside, the working folder), a rename to `.farad-commit` decides
//! that the new results hold; then the old results.json goes, files get their places, and
//! results.json comes last: whoever finds one may rely on what it lists. If that is cut short, the
//! next run brings it to its end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::CHECKPOINT;
use super::index::{INDEX, previous_files};
use super::lock::LOCK;
use crate::case::number;
use crate::files;
use crate::machine::system;
use crate::temporaries::{self, Temporary};

/// The folder whose files hold, although they are not yet in their places.
const DECIDED: &str = ".farad-commit";

/// The file next to new files that names their owner.
const OWNER: &str = "owner";

/// The steps to be done with the files of [`DECIDED`].
const JOURNAL: &str = ".farad-journal";

/// How often a call that must succeed is tried.
const ATTEMPTS: usize = 3;

/// New files on their way to an output folder.
#[derive(Debug)]
pub(super) struct Staging {
    wrapper: Temporary,
    folder: PathBuf,
}

/// The steps of a commit in the folder itself.
#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    /// Files that get their places.
    moved: Vec<String>,
    /// Files that only the earlier run had.
    removed: Vec<String>,
    /// Whether the checkpoint stays.
    #[serde(default)]
    goes_on: bool,
}

/// Whether a name in an output folder is one of these modules.
pub(super) fn is_ours(name: &OsStr) -> bool {
    name == LOCK || name == DECIDED || name == CHECKPOINT || temporaries::is_temporary(name)
}

/// Whether a folder holds results of this program whose commit was cut short.
pub(super) fn is_pending(folder: &Path) -> bool {
    folder.join(DECIDED).is_dir()
}

impl Staging {
    /// Makes the folder for new files of the output folder `real`; this shows early whether it can
    /// be written to.
    pub(super) fn new(real: &Path) -> io::Result<Self> {
        let wrapper = Temporary::new(real.join(temporaries::temporary_name(None)));
        fs::create_dir(wrapper.path())?;
        fs::write(wrapper.path().join(OWNER), system::this_process())?;
        let made = wrapper.path().join("new");
        fs::create_dir(&made)?;
        // By its name the folder is distinguished from the one that it is exchanged with.
        let folder = wrapper.path().join(own_name(&made)?);
        fs::rename(&made, &folder)?;
        let probe = folder.join("probe");
        files::write_new(&probe, |file| file.write_all(b"probe"))?;
        fs::remove_file(&probe)?;
        Ok(Self { wrapper, folder })
    }

    /// Where files are written to.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lets the files called `staged`, all there are, take the place of those called `previous`;
    /// the checkpoint stays if the run `goes_on`.
    pub(super) fn commit(
        &mut self,
        real: &Path,
        staged: &[String],
        previous: &[String],
        goes_on: bool,
    ) -> io::Result<()> {
        let _finishing = temporaries::finishing();
        match self.exchange(real, staged, previous, goes_on) {
            Ok(()) => Ok(()),
            Err(error) => {
                tracing::debug!("{} is not exchanged as a whole: {error}", real.display());
                self.move_in(real, staged, previous, goes_on)
            }
        }
    }

    /// The commit at once. If it fails, the files are still where they were.
    fn exchange(
        &mut self,
        real: &Path,
        staged: &[String],
        previous: &[String],
        goes_on: bool,
    ) -> io::Result<()> {
        let other = |why: &str| Err(io::Error::other(why.to_owned()));
        let Some(parent) = real.parent() else { return other("it has no parent") };
        if std::env::current_dir()?.canonicalize()?.starts_with(real) {
            return other("it is the working folder");
        }
        if real.join(LOCK).exists() || !system::make_alike(&self.folder, real)? {
            return other("a new folder would have other owners or attributes");
        }
        let is_result = |name: &OsStr| {
            name == INDEX || staged.iter().chain(previous).any(|known| name == known.as_str())
        };
        for entry in fs::read_dir(real)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_result(&name) || is_ours(&name) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                return other("there are other folders in it");
            }
            fs::hard_link(entry.path(), self.folder.join(name))?;
        }
        remove_if_present(&self.wrapper.path().join(OWNER))?;
        files::sync_folder(&self.folder)?;
        // Whoever finds the new folder before this has ended is to find it locked.
        let _lock = File::open(&self.folder)
            .and_then(|folder| Ok(folder.try_lock().map(|()| folder)?))?;

        let inside = self.wrapper.path().to_owned();
        let temporary = parent.join(temporaries::temporary_name(Some(owner(real))));
        let name = own_name(&self.folder)?;
        self.put_wrapper(&temporary, &name)?;
        if let Err(error) = system::exchange(&self.folder, real) {
            attempt(|| self.put_wrapper(&inside, &name))?;
            return Err(error);
        }
        // The new results hold from here on, whatever happens.
        self.wrapper.keep();
        if let Err(error) = files::sync_folder(parent) {
            tracing::warn!("cannot see {} to the disk: {error}", real.display());
        }
        let cleared = attempt(|| clear(&self.folder, real, &is_result, goes_on))
            .and_then(|()| attempt(|| remove_folder(self.wrapper.path())));
        if let Err(error) = cleared {
            tracing::warn!(
                "the old results could not be removed from {}: {error}; the next run will try again",
                self.wrapper.path().display()
            );
        }
        Ok(())
    }

    fn put_wrapper(&mut self, path: &Path, name: &str) -> io::Result<()> {
        fs::rename(self.wrapper.path(), path)?;
        self.wrapper.moved(path.to_owned());
        self.folder = path.join(name);
        Ok(())
    }

    /// The commit file by file.
    fn move_in(
        &mut self,
        real: &Path,
        staged: &[String],
        previous: &[String],
        goes_on: bool,
    ) -> io::Result<()> {
        let removed = previous.iter().filter(|name| !staged.contains(name)).cloned().collect();
        let journal = Journal { moved: staged.to_vec(), removed, goes_on };
        let text = serde_json::to_vec(&journal)?;
        files::write_whole(&self.folder.join(JOURNAL), |file| file.write_all(&text))?;
        files::sync_folder(&self.folder)?;
        attempt(|| fs::rename(&self.folder, real.join(DECIDED)))?;
        finish(real)
    }
}

/// Whose new files there are in an output folder that another run has locked.
pub(super) fn owner_of(folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let wrappers = entries.filter(|entry| temporaries::is_temporary(&entry.file_name()));
    let newest = wrappers.max_by_key(|entry| entry.metadata().and_then(|of| of.modified()).ok())?;
    let owner = fs::read_to_string(newest.path().join(OWNER)).ok()?;
    Some(owner.trim().to_owned()).filter(|owner| !owner.is_empty())
}

/// Completes or removes what killed runs have left behind. The folder must be locked.
pub(super) fn recover(real: &Path) -> io::Result<()> {
    if is_pending(real) {
        finish(real)?;
    }
    for entry in fs::read_dir(real)?.filter_map(Result::ok) {
        if temporaries::is_temporary(&entry.file_name()) {
            temporaries::remove(&entry.path());
        }
    }
    let Some(entries) = real.parent().and_then(|parent| fs::read_dir(parent).ok()) else {
        return Ok(());
    };
    for wrapper in entries.filter_map(Result::ok) {
        if !temporaries::is_temporary_of(&wrapper.file_name(), owner(real)) {
            continue;
        }
        for folder in fs::read_dir(wrapper.path())? {
            let folder = folder?.path();
            let is_new = folder.file_name() == Some(OsStr::new(&own_name(&folder)?));
            if is_new {
                // It never took its place; files of the user in it are links to those in the
                // folder.
                remove_folder(&folder)?;
            } else {
                let known: Vec<String> = [folder.as_path(), real]
                    .into_iter()
                    .filter_map(previous_files)
                    .flatten()
                    .collect();
                let is_result =
                    |name: &OsStr| name == INDEX || known.iter().any(|k| name == k.as_str());
                clear(&folder, real, &is_result, false)?;
            }
        }
        remove_folder(&wrapper.path())?;
    }
    Ok(())
}

/// Empties and removes a folder of old results that new ones have taken the place of. Files of the
/// user, which lie in both, and whatever came in between is never lost.
fn clear(
    old: &Path,
    real: &Path,
    is_result: &dyn Fn(&OsStr) -> bool,
    goes_on: bool,
) -> io::Result<()> {
    if !old.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(old)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let place = real.join(&name);
        if name == INDEX {
            // The list must be known until all its files are removed.
        } else if goes_on && name == CHECKPOINT {
            fs::rename(&path, &place)?;
        } else if is_ours(&name) {
            temporaries::remove(&path);
        } else if is_result(&name) {
            fs::remove_file(&path)?;
        } else if let Ok(found) = fs::symlink_metadata(&place) {
            let same = system::identity(&found) == system::identity(&fs::symlink_metadata(&path)?);
            if same {
                fs::remove_file(&path)?;
            }
        } else {
            fs::rename(&path, &place)?;
        }
    }
    remove_if_present(&old.join(INDEX))?;
    fs::remove_dir(old)
}

/// Gives the files of [`DECIDED`] their places.
fn finish(real: &Path) -> io::Result<()> {
    let decided = real.join(DECIDED);
    let unfinished = |error: io::Error| {
        let message = format!(
            "{error}; the new results are complete in {}, and the next run will bring them to their places",
            decided.display()
        );
        io::Error::new(error.kind(), message)
    };
    let index = decided.join(INDEX);
    let mut is_over = true;
    if index.exists() {
        let text = attempt(|| fs::read(decided.join(JOURNAL))).map_err(unfinished)?;
        let Journal { moved, removed, goes_on } = serde_json::from_slice(&text)?;
        is_over = !goes_on;
        let plain = |name: &&String| Path::new(name).file_name() == Some(name.as_ref());
        let result = attempt(|| {
            remove_if_present(&real.join(INDEX))?;
            for name in removed.iter().filter(plain).filter(|name| *name != INDEX) {
                remove_if_present(&real.join(name))?;
            }
            for name in moved.iter().filter(plain).filter(|name| *name != INDEX) {
                let from = decided.join(name);
                if from.exists() {
                    fs::rename(from, real.join(name))?;
                }
            }
            files::sync_folder(real)?;
            fs::rename(&index, real.join(INDEX))
        });
        result.map_err(unfinished)?;
    }
    if let Err(error) = files::sync_folder(real) {
        tracing::warn!("cannot see {} to the disk: {error}", real.display());
    }
    if is_over {
        temporaries::remove(&real.join(CHECKPOINT));
    }
    if let Err(error) = attempt(|| remove_folder(&decided)) {
        tracing::warn!("cannot remove {}: {error}; the next run will try again", decided.display());
    }
    Ok(())
}

/// Tries once more if the system refuses: the call may have been interrupted or met a passing
/// fault.
fn attempt<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut result = call();
    for _ in 1..ATTEMPTS {
        if result.is_err() {
            result = call();
        }
    }
    result
}

/// A number that distinguishes the temporary folders of one output folder from those of others in
/// the same parent.
fn owner(real: &Path) -> u64 {
    number(&real.file_name())
}

/// The name of a new folder, which no other folder has at the same time.
fn own_name(folder: &Path) -> io::Result<String> {
    let (device, number) = system::identity(&fs::metadata(folder)?);
    Ok(format!("{device:x}-{number:x}"))
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
