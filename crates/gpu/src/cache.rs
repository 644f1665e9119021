//! Compiled kernels under the user's cache folder. The cache is a convenience: whatever fails here only costs a compilation.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// First bytes of a file, so that a truncated or foreign one is not taken for a kernel.
const MAGIC: &[u8; 8] = b"farad\0k1";

/// What decides a compiled kernel.
#[derive(Hash)]
pub(crate) struct Key<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) options: &'a [String],
    pub(crate) compiler: (i32, i32),
}

impl Key<'_> {
    /// Two independent 64-bit hashes: 128 bits, as a file name.
    fn file(&self) -> String {
        let hash = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            self.hash(&mut hasher);
            hasher.finish()
        };
        format!("{}-{:016x}{:016x}.cubin", self.name.replace('.', "_"), hash(1), hash(2))
    }

    fn path(&self) -> Option<PathBuf> {
        Some(folder()?.join(self.file()))
    }

    /// The kernel, if it was compiled before.
    pub(crate) fn load(&self) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path()?).ok()?;
        let (header, image) = bytes.split_at_checked(16)?;
        let length = u64::from_le_bytes(header[8..].try_into().ok()?);
        (&header[..8] == MAGIC && length == image.len() as u64).then(|| image.to_vec())
    }

    /// Keeps a kernel: written beside, then renamed, so that no reader ever sees half of it.
    pub(crate) fn store(&self, image: &[u8]) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Some(path) = self.path() else { return };
        let Some(folder) = path.parent() else { return };
        let unique = COUNT.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{unique}", process::id()));
        let mut bytes = MAGIC.to_vec();
        bytes.extend((image.len() as u64).to_le_bytes());
        bytes.extend(image);
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&beside, bytes))
            .and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
    }
}

/// `$FARAD_CACHE_DIR`, or `farad` in the user's cache folder; `None` where there is none.
fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("FARAD_CACHE_DIR") {
        return Some(folder.join("kernels"));
    }
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    Some(base?.join("farad").join("kernels"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_decides_a_kernel_decides_its_file() {
        let options = vec!["-DREAL=float".to_owned()];
        let key = || Key {
            name: "p2p.cu",
            text: "a",
            headers: &[("shared/real.cuh", "b")],
            options: &options,
            compiler: (12, 8),
        };
        let file = key().file();
        assert_eq!(file, key().file());
        assert!(file.starts_with("p2p_cu-") && file.ends_with(".cubin"));
        assert_ne!(file, Key { text: "b", ..key() }.file());
        assert_ne!(file, Key { headers: &[("shared/real.cuh", "c")], ..key() }.file());
        assert_ne!(file, Key { options: &[], ..key() }.file());
        assert_ne!(file, Key { compiler: (12, 9), ..key() }.file());
    }
}
