//! Contents of the files of a case when they were first read.

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mesh::files::{self, Error};
use parallel::prelude::*;

/// Bytes of a file that are hashed together.
const HASHED: usize = 1 << 20;

/// Files that were read, each with a number for the bytes that it gave. What is kept under such a
/// number is of these bytes, also where the file is saved again meanwhile: no second read of it may
/// give others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(Arc<Mutex<Vec<(PathBuf, u64)>>>);

impl Known {
    /// The bytes of a file.
    pub(crate) fn load(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let bytes = files::load(path)?;
        let found = content(&bytes);
        let mut known = self.lock();
        match known.iter().find(|(file, _)| file == path) {
            Some((_, before)) if *before != found => Err(Error::Io {
                path: path.to_owned(),
                source: io::Error::other(
                    "it was saved again since this run first read it; run again once nobody writes to it",
                ),
            }),
            Some(_) => Ok(bytes),
            None => {
                known.push((path.to_owned(), found));
                Ok(bytes)
            }
        }
    }

    /// Whether a file was read.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.lock().iter().any(|(file, _)| file == path)
    }

    /// All files that were read, with their numbers.
    pub(super) fn all(&self) -> Vec<(PathBuf, u64)> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number that stands for the bytes of a file, made in pieces side by side: meshes may be large.
fn content(bytes: &[u8]) -> u64 {
    let pieces: Vec<u64> = bytes.par_chunks(HASHED).map(|piece| number(&piece)).collect();
    number(&(bytes.len(), pieces))
}

/// A number that stands for a value.
pub(crate) fn number(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
