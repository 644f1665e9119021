//! One path as seen from another folder.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// `target` as seen from `folder`, with forward slashes; absolute where there is no way (another
/// drive).
///
/// Neither needs to exist; symbolic links are resolved as far as they do.
pub fn relative(folder: &Path, target: &Path) -> String {
    let (folder, target) = (resolve(folder), resolve(target));
    let shared = folder.components().zip(target.components()).take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return slashes(&target);
    }
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(target.components().skip(shared)).collect();
    if relative.as_os_str().is_empty() { ".".to_owned() } else { slashes(&relative) }
}

/// A name with this after it, also where it is no text.
pub(crate) fn ending_in(name: &OsStr, end: &str) -> PathBuf {
    let mut name = name.to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The absolute path; links are resolved as far as the path exists.
fn resolve(path: &Path) -> PathBuf {
    // The folder of a bare file name is empty: the current one.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut existing = absolute.as_path();
    let mut rest: Vec<OsString> = Vec::new();
    loop {
        if let Ok(real) = existing.canonicalize() {
            return rest.iter().rev().fold(real, |path, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                existing = parent;
            }
            _ => return absolute,
        }
    }
}

fn slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' { text.into_owned() } else { text.replace('\\', "/") }
}
