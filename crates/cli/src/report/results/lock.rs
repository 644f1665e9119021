//! One writer per folder: a lock that the system releases when the process dies.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::machine::system::identity;
use crate::temporaries;

/// The file that is locked where the system cannot lock folders.
pub(super) const LOCK: &str = ".farad-lock";

/// The outcome of an attempt to lock a folder.
#[derive(Debug)]
pub(super) enum Lock {
    /// Nobody else writes while this lives.
    Held { _folder: File },
    /// The same by a file in the folder.
    ByFile { _file: File, path: PathBuf },
    /// The file system has no locks.
    None,
    /// Another process writes.
    Busy,
    /// The folder was removed or exchanged meanwhile.
    Gone,
}

impl Lock {
    /// Locks a folder that is there.
    pub(super) fn take(folder: &Path) -> io::Result<Self> {
        if cfg!(unix) {
            let opened = File::open(folder)?;
            match opened.try_lock() {
                Ok(()) if is_at(&opened, folder) => return Ok(Self::Held { _folder: opened }),
                Ok(()) => return Ok(Self::Gone),
                Err(TryLockError::WouldBlock) => return Ok(Self::Busy),
                // Network file systems lock files alone.
                Err(TryLockError::Error(_)) => {}
            }
        }
        let path = folder.join(LOCK);
        let file = OpenOptions::new().create(true).write(true).truncate(false).open(&path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, &path) => Ok(Self::ByFile { _file: file, path }),
            Ok(()) => Ok(Self::Gone),
            Err(TryLockError::WouldBlock) => Ok(Self::Busy),
            Err(TryLockError::Error(error)) => {
                tracing::warn!("{} cannot be locked: {error}", folder.display());
                temporaries::remove(&path);
                Ok(Self::None)
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Self::ByFile { path, .. } = self {
            temporaries::remove(path);
        }
    }
}

/// Whether what was opened still lies at this path.
fn is_at(opened: &File, path: &Path) -> bool {
    let (Ok(opened), Ok(found)) = (opened.metadata(), fs::metadata(path)) else { return false };
    identity(&opened) == identity(&found)
}
