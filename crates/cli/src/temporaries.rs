//! Temporary files and folders, and the end of the process without anything of them left.
//!
//! Their names are in a table that can be read at the end whatever has happened: it needs no lock,
//! which a blocked thread may hold, and no memory, which the system may just have refused.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU8, Ordering};
use std::time::Duration;

use crate::machine::system;

/// Beginning of temporary names.
const TEMPORARY: &str = ".farad-tmp-";

/// An unpredictable name, short enough for every file system. `owner` marks whose it is, if that
/// matters.
pub fn temporary_name(owner: Option<u64>) -> String {
    // The keys of a hasher are random numbers of the operating system.
    let random = RandomState::new().hash_one(std::process::id());
    match owner {
        Some(owner) => format!("{TEMPORARY}{owner:016x}-{random:016x}"),
        None => format!("{TEMPORARY}{random:016x}"),
    }
}

/// Whether a name is one that [`temporary_name`] gives: left by a killed run.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(TEMPORARY)
}

/// Whether a name is one that [`temporary_name`] gives to this owner.
pub(crate) fn is_temporary_of(name: &OsStr, owner: u64) -> bool {
    name.to_string_lossy().starts_with(&format!("{TEMPORARY}{owner:016x}-"))
}

/// Removes a file, or a folder with its content; gives up after two attempts.
pub(crate) fn remove(path: &Path) {
    for _ in 0..2 {
        let Ok(found) = fs::symlink_metadata(path) else { continue };
        let _ = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

/// So many are known at the same time: more are only removed when they are dropped.
pub const PLACES: usize = 64;

/// Bytes of a path with the zero after it, as Linux limits them; what is longer is not known
/// either.
pub const LONGEST: usize = 4096;

// States of a place of the table.
const FREE: u8 = 0;
const BEING_WRITTEN: u8 = 1;
const THERE: u8 = 2;
const BEING_REMOVED: u8 = 3;

/// A place of the table. Whoever changes its state from [`FREE`] or [`THERE`] is alone with the
/// rest.
struct Place {
    state: AtomicU8,
    is_whole: AtomicBool,
    path: [AtomicU8; LONGEST],
}

static TABLE: [Place; PLACES] = [const {
    Place {
        state: AtomicU8::new(FREE),
        is_whole: AtomicBool::new(false),
        path: [const { AtomicU8::new(0) }; LONGEST],
    }
}; PLACES];

impl Place {
    /// Takes the place in one state over to another one; whether it was in that state.
    fn take(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Fills a place that was taken to be written; what does not fit leaves it free.
    fn fill(&self, path: &Path, is_whole: bool) {
        let bytes = path.as_os_str().as_encoded_bytes();
        let fits = bytes.len() < LONGEST;
        if fits {
            for (to, byte) in self.path.iter().zip(bytes.iter().chain([&0])) {
                to.store(*byte, Ordering::Relaxed);
            }
            self.is_whole.store(is_whole, Ordering::Relaxed);
        }
        self.state.store(if fits { THERE } else { FREE }, Ordering::Release);
    }

    /// The path with its zero, and whether all that is in it goes with it.
    fn read(&self) -> ([u8; LONGEST], bool) {
        let path = std::array::from_fn(|k| self.path[k].load(Ordering::Relaxed));
        (path, self.is_whole.load(Ordering::Relaxed))
    }
}

/// Whether the table has the path, and whether all that is in it goes with it: for tests.
pub fn known(path: &Path) -> Option<bool> {
    let is_it = |place: &&Place| {
        let (bytes, _) = place.read();
        place.state.load(Ordering::Acquire) == THERE && system::path_of(&bytes) == Some(path)
    };
    TABLE.iter().find(is_it).map(|place| place.read().1)
}

/// Threads at which files get their final names, or [`ENDING`].
static FINISHING: AtomicIsize = AtomicIsize::new(0);

/// The process is being ended: nothing gets a final name any more.
const ENDING: isize = -1;

/// While it lives, files get their final names, and [`remove_and_exit`] waits. To be held for
/// moments only.
#[derive(Debug)]
pub(crate) struct Finishing(());

/// Keeps the end of the process waiting, or waits for that end.
pub(crate) fn finishing() -> Finishing {
    let one_more = |threads: isize| (threads != ENDING).then_some(threads + 1);
    while FINISHING.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_err() {
        std::thread::sleep(Duration::from_secs(1));
    }
    Finishing(())
}

impl Drop for Finishing {
    fn drop(&mut self) {
        FINISHING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A path that is removed when this is dropped or the process is asked to end at once.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    /// Whether a folder goes with all that is in it, or only if it is empty.
    is_whole: bool,
    is_kept: AtomicBool,
    /// Its place in the table, if it has one.
    place: Option<usize>,
}

impl Temporary {
    /// A path at which a file or a folder is about to be made; it is removed with its content.
    pub fn new(path: PathBuf) -> Self {
        Self::known(path, true)
    }

    /// A folder that is removed only if it is empty then.
    pub fn if_empty(path: PathBuf) -> Self {
        Self::known(path, false)
    }

    fn known(path: PathBuf, is_whole: bool) -> Self {
        let place = TABLE.iter().position(|place| place.take(FREE, BEING_WRITTEN));
        if let Some(place) = place {
            TABLE[place].fill(&path, is_whole);
        }
        // The end of the process has looked through the table, or finds this in it.
        while FINISHING.load(Ordering::Acquire) == ENDING {
            std::thread::sleep(Duration::from_secs(1));
        }
        Self { path, is_whole, is_kept: AtomicBool::new(false), place }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It lies at another path now.
    pub fn moved(&mut self, path: PathBuf) {
        match self.place.map(|place| &TABLE[place]) {
            Some(place) if place.take(THERE, BEING_WRITTEN) => place.fill(&path, self.is_whole),
            _ => self.place = None,
        }
        self.path = path;
    }

    /// It stays.
    pub fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
        self.forget();
    }

    /// Frees its place, unless the end of the process has that.
    fn forget(&self) {
        if let Some(place) = self.place {
            TABLE[place].take(THERE, FREE);
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !*self.is_kept.get_mut() {
            discard(&self.path, self.is_whole);
            self.forget();
        }
    }
}

fn discard(path: &Path, is_whole: bool) {
    if is_whole {
        remove(path);
    } else {
        let _ = fs::remove_dir(path);
    }
}

/// Takes all remaining names out of the table: first those that go with their content, then the
/// folders that may be empty by then.
fn take_all(mut each: impl FnMut(&[u8; LONGEST], bool)) {
    for wanted in [true, false] {
        for place in &TABLE {
            if place.is_whole.load(Ordering::Relaxed) == wanted && place.take(THERE, BEING_REMOVED)
            {
                let (path, is_whole) = place.read();
                each(&path, is_whole);
            }
        }
    }
}

/// Ends the process at once, without anything temporary left.
pub(crate) fn remove_and_exit(code: i32) -> ! {
    while FINISHING.compare_exchange(0, ENDING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
    take_all(|path, is_whole| {
        if let Some(path) = system::path_of(path) {
            discard(path, is_whole);
        }
    });
    std::process::exit(code)
}

/// The same where the system has refused memory. Of files that get their final names at this
/// moment nothing is touched, as if the process were killed: the next run ends what is begun.
pub(crate) fn remove_and_exit_without_memory(code: i32) -> ! {
    if FINISHING.compare_exchange(0, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        take_all(|path, is_whole| system::remove_without_memory(path, is_whole));
    }
    system::exit_at_once(code)
}
