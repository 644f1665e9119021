//! Atomic writing of files: never half of one, never over another by accident, and nothing left
//! behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::Path;
use std::thread;

use crate::temporaries::{Temporary, finishing, temporary_name};
use crate::terminal::exit::{Exit, Failure};

/// Writes a new file. Until it is flushed to the disk ([`File::sync_all`]), a rename may show half
/// of it after a crash of the machine.
pub(crate) fn write_new(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<File> {
    let new = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut file = BufWriter::new(new);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Writes a new file and flushes it to the disk, so that a rename never shows half of it.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    write_new(path, write)?.sync_all()
}

/// Flushes files to the disk and tells for each whether it is there. All wait for the disk at the
/// same time: together they take about as long as one.
pub(crate) fn sync_all<'a>(files: impl Iterator<Item = &'a File>) -> Vec<io::Result<()>> {
    thread::scope(|scope| {
        let begun: Vec<_> = files
            .map(|file| (file, thread::Builder::new().spawn_scoped(scope, || file.sync_all())))
            .collect();
        let ended = begun.into_iter().map(|(file, thread)| {
            // Without a thread, this one waits.
            let result = thread.ok().and_then(|thread| thread.join().ok());
            result.unwrap_or_else(|| file.sync_all())
        });
        ended.collect()
    })
}

/// Flushes the names in a folder to the disk, where the system can do that.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        // Some file systems cannot, and have no need to.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Refuses a path at which something lies already, unless it is a file and may be overwritten.
pub(crate) fn check_vacant(path: &Path, overwrite: bool) -> Result<(), Failure> {
    // The target of a link counts: /dev/stdout is one.
    let found = fs::metadata(path).or_else(|_| fs::symlink_metadata(path));
    match found {
        Err(_) => Ok(()),
        Ok(found) if special(&found).is_some() => {
            let what = special(&found).unwrap_or_default();
            Err(Failure::with_help(
                Exit::Io,
                format!("{} is {what}, which is never replaced", path.display()),
                "choose the name of a file",
            ))
        }
        Ok(_) if overwrite => Ok(()),
        Ok(_) => Err(Failure::with_help(
            Exit::Io,
            format!("{} exists already", path.display()),
            "choose another name, or allow it to be replaced with --overwrite",
        )),
    }
}

/// The kind of a path, in words, if it is neither a file nor a link and so must not be replaced.
pub(crate) fn special(found: &fs::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    if kind.is_file() || kind.is_symlink() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    Some(if kind.is_dir() { "a folder" } else { "no file" })
}

/// Writes `path` under a temporary name in the same folder and renames it; a file that lay there is
/// replaced.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Failure> {
    check_vacant(path, true)?;
    let temporary = Temporary::new(path.with_file_name(temporary_name(None)));
    let result = write_whole(temporary.path(), write).and_then(|()| {
        let _finishing = finishing();
        fs::rename(temporary.path(), path)?;
        temporary.keep();
        Ok(())
    });
    result.map_err(|error| Failure::io("write", path, &error))?;
    // The file is whole in any case; only a crash of the machine might still undo it.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Err(error) = sync_folder(folder.unwrap_or(Path::new("."))) {
        tracing::warn!("cannot see the name of {} to the disk: {error}", path.display());
    }
    Ok(())
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

/// The text of a file; devices and pipes are refused as by [`bytes`].
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let invalid = |error: std::string::FromUtf8Error| {
        let error = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
        Failure::io("read", path, &error)
    };
    String::from_utf8(bytes(path)?).map_err(invalid)
}
