//! Writing whole files: never half of one, never over another by accident.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};

/// What temporary names begin with.
const TEMPORARY: &str = ".farad-tmp-";

/// The temporary name under which `path` is written, hidden and in the same folder.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{TEMPORARY}{name}.{}", std::process::id()))
}

/// Whether a name is one that [`temporary`] gives: what a killed run has left.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(TEMPORARY)
}

/// Writes a whole file and sees it to the disk, so that a rename never shows half of it.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Refuses a path at which something lies already, unless it may be overwritten.
pub(crate) fn check_vacant(path: &Path, overwrite: bool) -> Result<(), Failure> {
    if overwrite || !path.exists() {
        return Ok(());
    }
    Err(Failure::with_help(
        Exit::Io,
        format!("{} exists already", path.display()),
        "choose another name, or allow it to be replaced with --overwrite",
    ))
}

/// Writes `path` under a temporary name in the same folder and renames it; what lay there is replaced.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Failure> {
    let temporary = temporary(path);
    let result = write_whole(&temporary, write).and_then(|()| fs::rename(&temporary, path));
    result.map_err(|error| {
        // Best effort: the error that matters is the one being reported.
        let _ = fs::remove_file(&temporary);
        Failure::io("write", path, &error)
    })
}
