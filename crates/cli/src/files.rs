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

/// The bytes of a file; a device or a pipe, which might have no end, is refused.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: io::Error| Failure::io("read", path, &error);
    let kind = fs::metadata(path).map_err(unreadable)?.file_type();
    if !(kind.is_file() || kind.is_dir()) {
        let message = format!("{} is not a file but a device or a pipe", path.display());
        return Err(Failure::with_help(Exit::Io, message, "save what it gives to a file first"));
    }
    fs::read(path).map_err(unreadable)
}

/// The same as text.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let invalid = |error: std::string::FromUtf8Error| {
        let error = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
        Failure::io("read", path, &error)
    };
    String::from_utf8(bytes(path)?).map_err(invalid)
}
