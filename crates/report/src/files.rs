//! Files of a folder of results.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file that lies at its path itself: what a link leads to may be of others, and no page of
/// results shows it.
pub(crate) fn open_itself(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        let name = path.file_name().unwrap_or_default().display();
        return Err(io::Error::other(format!(
            "{name} is a link, or no file, and only files of the folder itself are shown; put the file in its place"
        )));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    options.open(path)
}

/// The text of a file that lies at its path itself; `None` if there is none.
///
/// # Errors
/// [`io::Error`] if it is a link, is no file, or cannot be read.
pub fn text_itself(path: &Path) -> io::Result<Option<String>> {
    match open_itself(path).and_then(io::read_to_string) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
